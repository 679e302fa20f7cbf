"""`ssptool bind`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def bind_command(
    system: SystemPath,
    how: Editing,
    file: Annotated[str, typer.Argument(metavar="FILE.ssv", help="A parameter set: a file, or an entry.")],
    to: Annotated[str, typer.Option("--to", metavar="ELEMENT", help="Who gets the values; else the system.")] = "",
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="TEXT", help="Put in front of every name of the set, e.g. System1.")
    ] = "",
    mapping: Annotated[
        str | None, typer.Option("--mapping", metavar="FILE.ssm", help="New names for the parameters.")
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Copy the values into the system structure.")] = False,
) -> None:
    """Bind a parameter set to an element.

    Its values win over those of earlier bindings. A file is copied into the archive, and so is a parameter set in an
    FMU, named as in `resources/motor.fmu!extra/heavy.ssv`: `ssptool info` lists them. The inverse is `unbind`.

    For example `ssptool bind plant heavy.ssv --to Motor`.
    """
    with edited(system, how) as editor:
        editor.bind(file, to=to, prefix=prefix, mapping=mapping, inline=inline)
