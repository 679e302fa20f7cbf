"""Commands that show a system: info, graph, draw, explain, parameters; and rule, which explains a rule."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import ssptool
from ssptool.cli.app import say
from ssptool.cli.completion import elements, full_names
from ssptool.cli.options import (
    Accept,
    AllowOutside,
    SystemPath,
    TextOrJson,
    Variant,
    bundled,
    changes_from,
    codes,
    judged_by,
    stimuli_from,
)
from ssptool.cli.terminal import busy
from ssptool.documents.foreign_files import own_output
from ssptool.documents.saving import save_file
from ssptool.errors import counted
from ssptool.foreign_text import several_lines
from ssptool.option_words import DrawnConnections, Highlight


def rule_command(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="Code of a rule: SSD-CONN-003.")] = None,
    all: Annotated[bool, typer.Option("--all", help="List all rules, one per line.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the page of each rule as Markdown, with --all.")
    ] = False,
) -> None:
    """Explain a rule: its requirement, its reason, and the fix.

    Examples:
      ssptool rule SSD-CONN-003
    """
    if (code is None) is not all:
        raise typer.BadParameter("give the code of a rule, or --all", param_hint="CODE")
    if code is not None:
        try:
            say(ssptool.renderers.rule_page(code))
        except ssptool.exceptions.UnknownName as problem:
            raise typer.BadParameter(str(problem), param_hint="CODE") from None
    else:
        say(
            ssptool.renderers.catalogue_page() if markdown else ssptool.renderers.rule_list(),
            nl=not markdown,
            verbatim=markdown,
        )


@bundled(judged=judged_by)
def info_command(
    system: SystemPath,
    component: Annotated[
        str | None,
        typer.Argument(
            metavar="COMPONENT",
            help="List the variables of this component, or of a nested system.",
            autocompletion=elements,
        ),
    ] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option("--variables", metavar="PATTERN", help="List only variables that match: 'x*' or '*.x1'."),
    ] = None,
    variant: Variant = None,
    *,
    judged: dict[str, Any],
    format: Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")] = TextOrJson.TEXT,
) -> None:
    """List components and variants of a system, or variables of an FMU.

    For a system: its components and variants. For an FMU: version, interface types, capabilities, and the parameter
    sets and other SSP documents in it. For a variable: causality, variability, type, unit, start value, range and
    description. `run --record` can record each of them.

    The text output stops after 40 variables of a component. Use --variables '*' or --format json to list all.

    Examples:
      ssptool info plant.ssp
      ssptool info plant.ssp Motor
      ssptool info motor.fmu --variables 'x*'
    """
    inventory = ssptool.info(
        system,
        variant=variant,
        component=component,
        variables=variables or (),
        **judged,
    )
    whole = variables or format is TextOrJson.JSON
    say(
        ssptool.renderers.INVENTORY_RENDERERS[format.value if whole else "screenful"](inventory),
        verbatim=format is TextOrJson.JSON,
    )


class GraphFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    SVG = "svg"


@bundled(judged=judged_by)
def graph_command(
    system: SystemPath,
    variant: Variant = None,
    accept: Accept = None,
    *,
    judged: dict[str, Any],
    format: Annotated[
        GraphFormat | None,
        typer.Option("--format", help="Print as text, json, dot or svg (default: text, or by the ending of --output)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the graph to this .svg, .png, .html, .dot, .json or .txt file (default: print it).",
        ),
    ] = None,
) -> None:
    """Show dependencies, component cycles and algebraic loops.

    The output lists components, wires, component cycles, algebraic loops with the dependencies that close them, and the
    evaluation order.

    Examples:
      ssptool graph plant
      ssptool graph plant --output graph.svg
    """
    from ssptool.drawing.graph import GRAPH_ENDINGS, graph_content  # loads the network

    ending = "" if output is None or format is not None else output.suffix.lower()
    if ending not in GRAPH_ENDINGS:
        endings = ", ".join(filter(None, GRAPH_ENDINGS))
        raise typer.BadParameter(f"{output}: the ending must be one of {endings}; or give --format")
    with busy():
        graph = ssptool.graph(system, variant=variant, accept=codes(accept), **judged)
        content = (
            graph_content(graph, ending) if ending else ssptool.renderers.GRAPH_RENDERERS[(format or "text")](graph)
        )
    if output is None:
        say(str(content), verbatim=format not in (None, GraphFormat.TEXT))
    else:
        save_file(output, f"{several_lines(content)}\n" if isinstance(content, str) else content)
        say(f"graph: {output}")


def draw_command(
    system: SystemPath,
    variant: Variant = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write a .svg or .png picture, or an .html page (default: SYSTEM.svg).",
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option("--level", metavar="NAME", help="Draw this nested system, by its full name (default: the root)."),
    ] = "",
    depth: Annotated[
        int,
        typer.Option(
            "--depth", metavar="N", min=0, help="Show this number of levels of nested systems inside their boxes."
        ),
    ] = 0,
    highlight: Annotated[
        list[Highlight] | None,
        typer.Option("--highlight", help="Mark algebraic loops (loops) or findings (findings)."),
    ] = None,
    connections: Annotated[
        DrawnConnections,
        typer.Option(
            "--connections", help="Draw more than 8 connections of two components as one line (bundled) or each (all)."
        ),
    ] = DrawnConnections.BUNDLED,
    wires: Annotated[
        DrawnConnections | None, typer.Option("--wires", hidden=True, help="Earlier name of --connections.")
    ] = None,
    allow_outside: AllowOutside = None,
) -> None:
    """Draw a system as a diagram.

    The diagram shows elements, connectors, connections, icons and notes. Elements without a position are laid out in
    layers. A page (.html) zooms and opens nested systems.

    Examples:
      ssptool draw plant --output plant.html --highlight loops --highlight findings
    """
    path = output or own_output(Path(f"{system.resolve().stem}.svg"))
    marks: list[Any] = [one.value for one in highlight or ()]
    drawn: Any = (wires or connections).value
    with busy():
        ssptool.draw(
            system,
            path,
            variant=variant,
            level=level,
            depth=depth,
            highlight=marks,
            connections=drawn,
            allow_outside=allow_outside or [],
        )
    if wires is not None:
        say("note: --wires is called --connections now", err=True)
    say(f"drawing: {path}")


@bundled(changes=changes_from, stimuli=stimuli_from)
def explain_command(
    system: SystemPath,
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME…",
            help="Full names of variables, connectors or components: System1.m1, System1.",
            autocompletion=full_names,
        ),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="List all parameters and connectors in a table.")] = False,
    format: Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")] = TextOrJson.TEXT,
) -> None:
    """Explain the value of a parameter or connector, step by step.

    For a parameter or start value: each binding, prefix, mapping, unit and transformation, and the values it overrides,
    with file and line. For a connector: the path of the signal through all boundaries and conversions. With --inputs or
    --scenario, also their effect during a run.

    The name of a component lists its connectors and parameters in a table.

    Examples:
      ssptool explain plant Motor.m
      ssptool explain plant Motor
      ssptool explain plant --all
    """
    if bool(names) == all:
        raise typer.BadParameter("give the names of variables or connectors, or --all", param_hint="NAME…")
    problem: Exception | None = None
    try:
        explained = ssptool.explain(system, *(names or ()), **changes, **stimuli)
    except ssptool.exceptions.UnknownName as unknown:
        problem = unknown
        explained = unknown.found
        if not explained:
            raise
    as_json = format is TextOrJson.JSON
    say(ssptool.renderers.EXPLANATION_RENDERERS["json"](explained) if as_json else str(explained), verbatim=as_json)
    if problem is not None:
        raise problem


@bundled(changes=changes_from)
def parameters_command(
    system: SystemPath,
    changes: dict[str, Any],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the table to this .xlsx, .csv or .ssv file (default: print it).",
        ),
    ] = None,
) -> None:
    """List all parameters in a table, or write it to a file.

    A file has the name, type, unit, value, origin, range and description of each parameter; a parameter set (.ssv) has
    no origin and range. To change values, edit the file and run `ssptool set SYSTEM --from FILE`, which writes the
    changed ones to the system.

    Other variables are listed if the documents of the system give them a value.

    Examples:
      ssptool parameters plant
      ssptool parameters plant -o plant.xlsx
    """
    with busy():
        table = ssptool.parameters(system, output, **changes)
    if output is None:
        say(str(table))
    else:
        say(f"{counted(len(table), 'parameter')}: {output}")
