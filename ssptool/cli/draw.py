"""`ssptool draw`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import SystemPath, Variant


class Highlight(StrEnum):
    LOOPS = "loops"
    FINDINGS = "findings"


def draw_command(
    system: SystemPath,
    variant: Variant = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A .svg or .png picture, or an .html page; else SYSTEM.svg."
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option("--level", metavar="NAME", help="The nested system to draw, by its full name; a page has all."),
    ] = "",
    depth: Annotated[
        int,
        typer.Option("--depth", metavar="N", min=0, help="Show so many levels of nested systems inside their boxes."),
    ] = 0,
    highlight: Annotated[
        list[Highlight] | None, typer.Option("--highlight", help="What stands out; may be given twice.")
    ] = None,
) -> None:
    """Draw a system as a diagram, as its documents place it.

    Elements, connectors, connections, icons and notes; what has no place is laid out in layers. A page (.html) zooms
    and opens nested systems.

    For example `ssptool draw plant --output plant.html --highlight loops --highlight findings`.
    """
    path = output or Path(f"{system.resolve().stem}.svg")
    ssptool.draw(
        system, path, variant=variant, level=level, depth=depth, highlight=[one.value for one in highlight or ()]
    )
    typer.echo(f"drawing: {path}")
