"""`ssptool rename`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def rename_command(
    system: SystemPath,
    how: Editing,
    old: Annotated[str, typer.Argument(metavar="OLD", help="An element or a connector, by its full name.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name, without those of the systems around it.")],
) -> None:
    """Rename an element or a connector; all that refers to it follows.

    That is connections, parameters and mappings.

    For example `ssptool rename plant Drive.Motor Engine`: from now on it is Drive.Engine.
    """
    with edited(system, how) as editor:
        editor.rename(old, new)
