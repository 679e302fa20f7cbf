"""`ssptool remove`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant


def remove_command(
    system: SystemPath,
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Elements or connectors, by full names.")],
    with_resource: Annotated[
        bool, typer.Option("--with-resource", help="Delete a component's file as well, if nothing else uses it.")
    ] = False,
    variant: Variant = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Remove elements or connectors, and the connections that touch them."""
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        editor.remove(*names, with_resource=with_resource)
