"""`ssptool rename`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant


def rename_command(
    system: SystemPath,
    old: Annotated[str, typer.Argument(metavar="OLD", help="An element or a connector, by its full name.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name, without those of the systems around it.")],
    variant: Variant = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Rename an element or a connector; connections, parameters and mappings follow."""
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        editor.rename(old, new)
