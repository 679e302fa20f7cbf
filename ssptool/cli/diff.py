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
    """Compare two systems by meaning: components, connectors, connections, parameter values, units, variants.

    Formatting, order, prefixes, descriptions, geometry and annotations do not matter. Exits with 0 if the systems are
    equal, with 1 if not.

    For example `ssptool diff before.ssp after.ssp`, or `ssptool diff plant plant --variant Summer --variant Winter`.
    """
    names: tuple[str | None, ...] = tuple(variant) if variant else (None,)
    if len(names) > 2:
        raise typer.BadParameter("give it once for both systems, or twice", param_hint="--variant")
    comparison = ssptool.diff(a, b, variant=names[0], variant_b=names[-1])
    typer.echo(ssptool.DIFF_RENDERERS[format.value](comparison))
    raise typer.Exit(0 if comparison.equal else 1)
