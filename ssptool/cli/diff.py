"""`ssptool diff`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import TextOrJson


def diff_command(
    a: Annotated[Path, typer.Argument(metavar="A", help="An .ssp file, an unpacked one (folder), or an .ssd file.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The same: what is compared with it.")],
    variant: Annotated[
        list[str] | None,
        typer.Option("--variant", metavar="NAME", help="Of both systems; given twice, of the first and of the second."),
    ] = None,
    format: Annotated[TextOrJson, typer.Option("--format", help="How to print the differences.")] = TextOrJson.TEXT,
) -> None:
    """Compare two systems by meaning, not by text.

    Components, connectors, connections, parameter values, units and variants count; formatting, order, prefixes,
    descriptions, geometry and annotations do not. Exit status: 0 if the systems are equal, 1 if not.

    For example `ssptool diff before.ssp after.ssp`, or `ssptool diff plant plant --variant Summer --variant Winter`.
    """
    names: tuple[str | None, ...] = tuple(variant) if variant else (None,)
    if len(names) > 2:
        raise typer.BadParameter("give it once for both systems, or twice", param_hint="--variant")
    comparison = ssptool.diff(a, b, variant=names[0], variant_b=names[-1])
    typer.echo(ssptool.DIFF_RENDERERS[format.value](comparison))
    raise typer.Exit(0 if comparison.equal else 1)
