"""A system graph as a picture: components as boxes, wires, feedthrough inside the boxes, algebraic loops in red."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ssptool.drawing.diagram import Box, Line, draw
from ssptool.drawing.graph_dot import loop_edges
from ssptool.network.arrays import connected
from ssptool.network.cycles import component_graph
from ssptool.network.digraph import condensation, topological_order
from ssptool.network.network import Network
from ssptool.network.system_graph import SystemGraph

INFLOWS = frozenset({"input", "parameter", "structuralParameter", "inout"})


def graph_svg(graph: SystemGraph) -> str:
    """Columns from left to right in the direction of the wires; the members of a cycle side by side by name."""
    boxes = _boxes(graph)
    marked = loop_edges(graph)
    lines = [
        Line(
            (source.component, source.variable),
            (destination.component, destination.variable),
            (source, destination) in marked,
        )
        for source, destination in connected(graph.network)
        if source.component in boxes and destination.component in boxes
    ]
    inner = frozenset(
        (source.component, source.variable, destination.variable)
        for source, destination in marked
        if source.component == destination.component
    )
    columns = [[boxes[name] for name in column] for column in _columns(graph.network, list(boxes))]
    return draw(columns, lines, inner)


def _boxes(graph: SystemGraph) -> Mapping[str, Box]:
    boxes = {}
    for component in graph.network.components.values():
        inner = tuple(
            (edge.source.variable, edge.destination.variable)
            for edge in graph.feedthrough
            if edge.source.component == component.name
        )
        used = {name for pair in inner for name in pair} | set(_wired(graph.network, component.name))
        ports = [port for port in component.ports if port.kind in ("input", "output") or port.signal.variable in used]
        inputs = tuple(port.signal.variable for port in ports if port.kind in INFLOWS)
        outputs = tuple(port.signal.variable for port in ports if port.kind not in INFLOWS)
        boxes[component.name] = Box(component.name, inputs, outputs, inner)
    return boxes


def _wired(network: Network, component: str) -> Iterator[str]:
    for ends in connected(network):
        for signal in ends:
            if signal.component == component:
                yield signal.variable


def _columns(network: Network, names: list[str]) -> Iterator[list[str]]:
    """Generations of the acyclic order; a cycle is laid out over as many columns as it has members."""
    place = {name: number for number, name in enumerate(names)}
    groups = condensation(component_graph(network))
    depth: dict[frozenset[str], int] = {}
    generations: dict[int, list[list[str]]] = defaultdict(list)
    for group in topological_order(groups, lambda group: min(map(place.__getitem__, group))):
        depth[group] = 1 + max((depth[before] for before in groups.before[group]), default=0)
        generations[depth[group]].append(sorted(group, key=place.__getitem__))
    for members in generations.values():
        for column in range(max(map(len, members))):
            yield [group[column] for group in members if column < len(group)]
