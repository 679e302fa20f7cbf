"""`ssptool map`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from, parted
from ssptool.cli.options import SystemPath

To = Annotated[str, typer.Option("--to", metavar="ELEMENT", help="Whose binding; else the system's.")]
Of = Annotated[
    str | None, typer.Option("--of", metavar="FILE.ssv", help="Which parameter set, if the element has several.")
]


@bundled(how=editing_from)
def map_command(
    system: SystemPath,
    how: Editing,
    entries: Annotated[
        list[str], typer.Argument(metavar="SOURCE=TARGET", help="Parameter of the set, and what it sets.")
    ],
    to: To = "",
    of: Of = None,
    factor: Annotated[float | None, typer.Option("--factor", metavar="X", help="Multiply the value.")] = None,
    offset: Annotated[float | None, typer.Option("--offset", metavar="X", help="Then add to it.")] = None,
) -> None:
    """Give parameters of a bound set other names.

    These are entries of the mapping of the binding. A binding that had no mapping keeps the names that it used. The
    inverse is `unmap`.

    For example `ssptool map plant mass=Motor.m`: the parameter `mass` of the set that is bound to the system sets `m`
    of Motor.
    """
    with edited(system, how) as editor:
        for source, target in parted(entries, "SOURCE=TARGET"):
            editor.map(source, target, to=to, of=of, factor=factor, offset=offset)
