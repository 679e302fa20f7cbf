"""`ssptool bind`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant


def bind_command(
    system: SystemPath,
    file: Annotated[str, typer.Argument(metavar="FILE.ssv", help="A parameter set: a file, or an entry.")],
    to: Annotated[str, typer.Option("--to", metavar="ELEMENT", help="Who gets the values; else the system.")] = "",
    prefix: Annotated[str, typer.Option("--prefix", help="Put in front of every name of the set.")] = "",
    mapping: Annotated[
        str | None, typer.Option("--mapping", metavar="FILE.ssm", help="New names for the parameters.")
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Copy the values into the system structure.")] = False,
    variant: Variant = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Bind a parameter set to an element; its values win over those of earlier bindings."""
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        editor.bind(file, to=to, prefix=prefix, mapping=mapping, inline=inline)
