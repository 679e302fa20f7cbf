"""Which box stands in which layer, and in which order: cycles cut, long edges given a station in each layer they pass.

References
----------
Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of hierarchical system structures".
Eades, Lin and Smyth 1993, "A fast and effective heuristic for the feedback arc set problem".
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from ssptool.dataclass import dataclass


class Edge(NamedTuple):
    """From (box, outlet) to (box, inlet)."""

    source: tuple[str, str]
    destination: tuple[str, str]


class Passage(NamedTuple):
    """Where all edges from one outlet pass a layer."""

    source: tuple[str, str]
    layer: int


Station: TypeAlias = str | Passage
"""What stands in a layer: a box by its name, or what passes from an outlet."""


@dataclass(frozen=True, slots=True)
class Layers:
    """`rows[n]` are the stations of layer n from bottom to top; `stations` those of each edge on its way.

    `backward` are the edges that close cycles: they have no stations.
    """

    rows: tuple[tuple[Station, ...], ...]
    stations: Mapping[Edge, tuple[Station, ...]]
    backward: tuple[Edge, ...]


def in_layers(
    boxes: Sequence[str], edges: Sequence[Edge], first: Collection[str] = (), last: Collection[str] = ()
) -> Layers:
    """Sources in layer 0, every other box behind the last that leads to it.

    Layers have about as many boxes as there are layers, `first` (sources) and `last` not counted, so that drawings fit
    on pages: what would make a layer too high goes to the next.

    Parameters
    ----------
    last
        Go to a layer behind all others.
    """
    number = {box: place for place, box in enumerate(boxes)}
    graph = _graph(n=len(boxes), edges=[(number[edge.source[0]], number[edge.destination[0]]) for edge in edges])
    cut = set(graph.feedback_arc_set(method="eades"))
    forward = [edge for place, edge in enumerate(edges) if place not in cut]
    graph.delete_edges(sorted(cut))
    most = max(_LEAST, math.ceil(math.sqrt(len(boxes))))
    depth = _depths(graph, most, {number[box] for box in (*first, *last)})
    end = 1 + max((depth[place] for box, place in number.items() if box not in last), default=-1)
    depth = [end if box in last else depth[place] for box, place in number.items()]
    stations = {edge: tuple(_stations(edge, depth, number)) for edge in forward}
    backward = tuple(edge for place, edge in enumerate(edges) if place in cut)
    return Layers(_ordered(boxes, depth, stations), stations, backward)


_LEAST = 5
"""A layer of so many boxes is not too high."""


def _graph(n: int, edges: Sequence[tuple[int, int]]) -> Any:
    import igraph  # type: ignore[import-untyped, unused-ignore]  # heavy, and few commands draw

    return igraph.Graph(n=n, edges=edges, directed=True)


def _depths(graph: Any, most: int, uncounted: Collection[int]) -> list[int]:
    """The longest way from a source to each vertex, or more where a layer is full."""
    depth = [0] * graph.vcount()
    full: Counter[int] = Counter()
    for vertex in graph.topological_sorting():
        depth[vertex] = 1 + max((depth[before] for before in graph.predecessors(vertex)), default=-1)
        if vertex not in uncounted:
            while full[depth[vertex]] == most:
                depth[vertex] += 1
            full[depth[vertex]] += 1
    return depth


def _stations(edge: Edge, depth: Sequence[int], number: Mapping[str, int]) -> Iterator[Station]:
    begin, end = edge.source[0], edge.destination[0]
    yield begin
    yield from (Passage(edge.source, layer) for layer in range(depth[number[begin]] + 1, depth[number[end]]))
    yield end


def _ordered(
    boxes: Sequence[str], depth: Sequence[int], stations: Mapping[Edge, Sequence[Station]]
) -> tuple[tuple[Station, ...], ...]:
    layer_of: dict[Station, int] = dict(zip(boxes, depth, strict=True))
    layer_of |= {one: one.layer for way in stations.values() for one in way if isinstance(one, Passage)}
    number = {station: place for place, station in enumerate(layer_of)}
    hops = {(number[a], number[b]) for way in stations.values() for a, b in pairwise(way)}
    graph = _graph(n=len(number), edges=sorted(hops))
    across = [x for x, _ in graph.layout_sugiyama(layers=list(layer_of.values()))] if number else []
    rows: list[list[Station]] = [[] for _ in range(1 + max(layer_of.values(), default=-1))]
    # The layout counts from the left of a layer that lies; ours stand, and are read from the top.
    for station in sorted(number, key=lambda one: (-across[number[one]], -number[one])):
        rows[layer_of[station]].append(station)
    return tuple(map(tuple, rows))
