"""`ssptool connect`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant

First = Annotated[str, typer.Argument(metavar="A", help="A connector (System1.x1), a terminal or an element.")]
Second = Annotated[str, typer.Argument(metavar="B", help="The same, on the other side.")]


def connect_command(
    system: SystemPath, a: First, b: Second, variant: Variant = None, diff: Diff = False, force: Force = False
) -> None:
    """Connect two connectors, two terminals member by member, or two elements by the names of their connectors.

    Which one is the source follows from the kinds of the connectors.
    """
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        editor.connect(a, b)
