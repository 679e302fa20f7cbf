"""A system graph in the DOT language of Graphviz."""

from collections.abc import Iterator

from ssptool.network.arrays import connected
from ssptool.network.network import Component
from ssptool.network.signals import Signal
from ssptool.network.system_graph import SystemGraph


def graph_dot(graph: SystemGraph) -> str:
    """Components are clusters, signals are nodes; feedthrough is dashed, algebraic loops are red."""
    marked = loop_edges(graph)
    lines = [f"digraph {_quoted(graph.network.name)} {{", "  rankdir=LR;", "  node [shape=box];"]
    for number, component in enumerate(graph.network.components.values()):
        lines += [f"  {line}" for line in _cluster(number, component)]
    lines += [f"  {_quoted(str(port.signal))};" for port in graph.network.ports]
    for edge in graph.feedthrough:
        lines.append(_edge(edge.source, edge.destination, "dashed", (edge.source, edge.destination) in marked))
    for ends in connected(graph.network):
        lines.append(_edge(*ends, "solid", ends in marked))
    return "\n".join([*lines, "}"])


def loop_edges(graph: SystemGraph) -> frozenset[tuple[Signal, Signal]]:
    """The edges that close algebraic loops."""
    loops = (loop for cycle in graph.cycles for loop in cycle.loops)
    return frozenset((edge.source, edge.destination) for loop in loops for edge in loop.closed_by)


def _cluster(number: int, component: Component) -> Iterator[str]:
    yield f"subgraph cluster_{number} {{"
    yield f"  label={_quoted(component.name)};"
    for port in component.ports:
        yield f"  {_quoted(str(port.signal))} [label={_quoted(port.signal.variable)}];"
    yield "}"


def _edge(source: Signal, destination: Signal, style: str, marked: bool) -> str:
    colour = ", color=red, penwidth=2" if marked else ""
    return f"  {_quoted(str(source))} -> {_quoted(str(destination))} [style={style}{colour}];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
