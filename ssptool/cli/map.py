"""`ssptool map`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant


def map_command(
    system: SystemPath,
    entries: Annotated[
        list[str], typer.Argument(metavar="SOURCE=TARGET", help="Parameter of the set, and what it sets.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="ELEMENT", help="Whose binding; else the system's.")] = "",
    of: Annotated[
        str | None, typer.Option("--of", metavar="FILE.ssv", help="Which set, if the element has several.")
    ] = None,
    factor: Annotated[float | None, typer.Option("--factor", help="Multiply the value.")] = None,
    offset: Annotated[float | None, typer.Option("--offset", help="Then add to it.")] = None,
    variant: Variant = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Add entries to the mapping of a binding: parameters of its set get other names.

    A binding that had no mapping keeps the names that it used.
    """
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        for entry in entries:
            source, equals, target = entry.partition("=")
            if not equals:
                raise typer.BadParameter(f"{entry!r} is not of the form SOURCE=TARGET")
            editor.map(source.strip(), target.strip(), to=to, of=of, factor=factor, offset=offset)
