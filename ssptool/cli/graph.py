"""`ssptool graph`."""

from enum import StrEnum
from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import Accept, AllowOutside, SystemPath, Variant, codes


class GraphFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    SVG = "svg"


def graph_command(
    system: SystemPath,
    variant: Variant = None,
    accept: Accept = None,
    allow_outside: AllowOutside = None,
    format: Annotated[GraphFormat, typer.Option("--format", help="How to show the graph.")] = GraphFormat.TEXT,
) -> None:
    """Show how the parts of a system depend on each other.

    Components, wires, component cycles, algebraic loops with the dependencies that close them, evaluation order.

    For example `ssptool graph plant`, or `ssptool graph plant --format dot`.
    """
    graph = ssptool.graph(system, variant=variant, accept=codes(accept), allow_outside=allow_outside or ())
    typer.echo(ssptool.GRAPH_RENDERERS[format.value](graph))
