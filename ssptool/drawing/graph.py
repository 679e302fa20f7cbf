"""System graphs as text, DOT and JSON; as SVG by the layout of diagrams, loaded on first use."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ssptool.foreign_text import html_text, joined_lines, json_text, one_line
from ssptool.network.arrays import connected
from ssptool.network.dependencies import AlgebraicLoop, Block, ComponentCycle, SystemGraph, loop_edges
from ssptool.network.network import FlatComponent, Network, Port, Signal, Wire
from ssptool.network.signal_graph import Need
from ssptool.printed import prints


@prints(SystemGraph)
def graph_text(graph: SystemGraph) -> str:
    """Components, wires, component cycles, algebraic loops and the evaluation order."""
    network = graph.network
    sections = [
        [network.name],
        ["Components", *(f"  {line}" for line in _components(network))],
        ["Wires", *(f"  {_wire(wire)}" for wire in network.wires), *(f"  {line}" for line in _unresolved(network))],
        ["Component cycles", *(f"  {line}" for line in _cycles(graph))],
        [f"Evaluation order ({graph.stage})", *(f"  {line}" for line in _order(graph.order))],
    ]
    return "\n\n".join(map(joined_lines, sections))


def _components(network: Network) -> Iterator[str]:
    for component in network.components.values():
        yield from _component(component, network)
    units = {port.signal: port.unit for port in network.ports}
    for table in network.tables.values():
        yield f"{table.name}  ({table.source}, a table)"
        names = {signal: signal.variable.removeprefix(f"{table.name}.") for signal in table.outputs}
        yield f"  output: {', '.join(f'{n} [{units[s]}]' if units[s] else n for s, n in names.items())}"
    for missing in network.missing.values():
        yield f"{missing.name}  ({missing.kind} {missing.problem})"
        for kind in dict.fromkeys(port.kind for port in missing.ports):
            yield f"  {kind}: {', '.join(_port(port, network) for port in missing.ports if port.kind == kind)}"


def _component(component: FlatComponent, network: Network) -> Iterator[str]:
    yield f"{component.name}  ({component.source}, FMI {component.description.fmi_version})"
    for kind in dict.fromkeys(port.kind for port in component.ports):
        yield f"  {kind}: {', '.join(_port(port, network) for port in component.of_kind(kind))}"


def _port(port: Port, network: Network) -> str:
    shape = network.arrays.get(port.signal)
    extents = "" if shape is None else f" ({' × '.join(map(str, shape))})"
    return f"{port.signal.variable}{extents}" + (f" [{port.unit}]" if port.unit else "")


def _wire(wire: Wire) -> str:
    text = f"{wire.source} → {wire.destination}"
    factor, offset = wire.conversion.factor, wire.conversion.offset
    if wire.conversion.table:
        return f"{text}   {wire.conversion.formula('v')}"
    if (factor, offset) != (1.0, 0.0):
        text += f"   · {factor:g}" + (f" {offset:+g}" if offset else "")
    return text


def _unresolved(network: Network) -> Iterator[str]:
    for start, end, _ in network.unresolved:
        yield f"{start} – {end}   not followed, as a component is missing"


def _cycles(graph: SystemGraph) -> Iterator[str]:
    if graph.network.missing:
        yield f"not known of those through missing components: {', '.join(graph.network.missing)}"
    elif not graph.cycles:
        yield "none: the components can be run one after the other"
    for cycle in graph.cycles:
        yield " ⇄ ".join(cycle.components)
        for loop in cycle.loops:
            yield from (f"  {line}" for line in _loop(loop))
        if not cycle.loops:
            yield "  no algebraic loop" + (", because" if cycle.broken_by else "")
            yield from (f"    {independence}" for independence in cycle.broken_by)


def _loop(loop: AlgebraicLoop) -> Iterator[str]:
    yield f"algebraic loop {{{', '.join(map(str, loop.outputs))}}}, closed by"
    yield from (f"  {dependence}" for dependence in loop.closed_by)
    yield f"iterated on: {', '.join(map(str, loop.block.torn))}"


def _order(order: tuple[Block, ...]) -> Iterator[str]:
    for number, block in enumerate(order, start=1):
        names = ", ".join(map(str, block.signals))
        yield f"{number:>3}  " + (f"loop {{{names}}}" if block.is_loop else names)


def graph_dot(graph: SystemGraph) -> str:
    """The graph in DOT: components are clusters, signals are nodes, feedthrough is dashed, algebraic loops are red."""
    marked = loop_edges(graph)
    lines = [f"digraph {_quoted(graph.network.name)} {{", "  rankdir=LR;", "  node [shape=box];"]
    for number, component in enumerate(graph.network.components.values()):
        lines += [f"  {line}" for line in _cluster(number, component)]
    lines += [f"  {_quoted(str(port.signal))};" for port in graph.network.ports]
    for edge in graph.feedthrough:
        lines.append(_edge(edge.source, edge.destination, "dashed", (edge.source, edge.destination) in marked))
    for missing in graph.network.missing.values():
        label = f"{missing.name}: {missing.kind} {missing.problem}"
        lines.append(f"  {_quoted(missing.name)} [label={_quoted(label)}, style=dotted];")
    for ends in connected(graph.network):
        lines.append(_edge(*ends, "solid", ends in marked))
    return "\n".join([*lines, "}"])


def _cluster(number: int, component: FlatComponent) -> Iterator[str]:
    yield f"subgraph cluster_{number} {{"
    yield f"  label={_quoted(component.name)};"
    for port in component.ports:
        yield f"  {_quoted(str(port.signal))} [label={_quoted(port.signal.variable)}];"
    yield "}"


def _edge(source: Signal, destination: Signal, style: str, marked: bool) -> str:
    colour = ", color=red, penwidth=2" if marked else ""
    return f"  {_quoted(str(source))} -> {_quoted(str(destination))} [style={style}{colour}];"


def _quoted(text: str) -> str:
    escaped = one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def graph_json(graph: SystemGraph) -> str:
    """The graph as JSON, in the order of the text; names of signals are strings."""
    content = {
        "name": graph.network.name,
        "stage": graph.stage.value,
        "components": [_component_json(component) for component in graph.network.components.values()],
        "tables": [
            {"name": one.name, "source": one.source, "outputs": [str(signal) for signal in one.outputs]}
            for one in graph.network.tables.values()
        ],
        "missing": [
            {"name": one.name, "source": one.source, "problem": f"{one.kind} {one.problem}"}
            for one in graph.network.missing.values()
        ],
        "wires": [_wire_json(wire) for wire in graph.network.wires],
        "unresolved": [{"start": str(one.start), "end": str(one.end)} for one in graph.network.unresolved],
        "feedthrough": [
            {"input": str(edge.source), "output": str(edge.destination), "declared": edge.declared}
            for edge in graph.feedthrough
        ],
        "cycles": [_cycle(cycle) for cycle in graph.cycles],
        "order": [
            {"signals": [str(s) for s in block.signals], "torn": [str(s) for s in block.torn]} for block in graph.order
        ],
    }
    return json_text(content, indent=2)


def _component_json(component: FlatComponent) -> dict[str, Any]:
    ports = [{"name": p.signal.variable, "kind": p.kind, "type": p.type, "unit": p.unit} for p in component.ports]
    return {
        "name": component.name,
        "source": component.source,
        "fmiVersion": component.description.fmi_version,
        "connectors": ports,
    }


def _wire_json(wire: Wire) -> dict[str, Any]:
    return {
        "source": str(wire.source),
        "destination": str(wire.destination),
        "factor": wire.conversion.factor,
        "offset": wire.conversion.offset,
        "table": [list(pair) for pair in wire.conversion.table],
    }


def _cycle(cycle: ComponentCycle) -> dict[str, Any]:
    return {
        "components": list(cycle.components),
        "algebraicLoops": [_loop_json(loop) for loop in cycle.loops],
        "brokenBy": [{"output": str(i.output), "input": str(i.input)} for i in cycle.broken_by],
    }


def _loop_json(loop: AlgebraicLoop) -> dict[str, Any]:
    return {
        "outputs": [str(signal) for signal in loop.outputs],
        "torn": [str(signal) for signal in loop.block.torn],
        "closedBy": [
            {
                "source": str(e.source),
                "destination": str(e.destination),
                "kind": "wire" if e.need is Need.WIRE else "feedthrough",
                "declared": e.declared,
            }
            for e in loop.closed_by
        ],
    }


def _svg(graph: SystemGraph) -> str:
    from ssptool.drawing.diagram.drawing import graph_svg  # the layout loads numpy and scipy

    return graph_svg(graph)


GRAPH_RENDERERS: Mapping[str, Callable[[SystemGraph], str]] = MappingProxyType(
    {"text": graph_text, "json": graph_json, "dot": graph_dot, "svg": _svg}
)


GRAPH_ENDINGS = MappingProxyType(
    {"": "text", ".txt": "text", ".svg": "svg", ".png": "svg", ".html": "svg", ".dot": "dot", ".json": "json"}
)
"""Ending of a file → the renderer of its content."""


def graph_content(graph: SystemGraph, ending: str) -> str | bytes:
    """Content of a file with this ending, one of `GRAPH_ENDINGS`. Raises MissingPackage for a PNG."""
    text = GRAPH_RENDERERS[GRAPH_ENDINGS[ending]](graph)
    if ending == ".html":
        title = html_text(graph.network.name)
        return (
            f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n<body>{text}</body></html>'
        )
    if ending == ".png":
        from ssptool.drawing.diagram.drawing import png  # the layout loads numpy and scipy

        return png(text)
    return text
