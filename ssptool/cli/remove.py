"""`ssptool remove`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def remove_command(
    system: SystemPath,
    how: Editing,
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Elements or connectors, by full names.")],
    with_resource: Annotated[
        bool, typer.Option("--with-resource", help="Delete a component's file as well, if nothing else uses it.")
    ] = False,
) -> None:
    """Remove elements or connectors. The inverse of `add`.

    The connections that touch them go, too.

    For example `ssptool remove plant Gear --with-resource`, or `ssptool remove plant Motor.w`.
    """
    with edited(system, how) as editor:
        editor.remove(*names, with_resource=with_resource)
