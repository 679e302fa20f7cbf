"""Layers of boxes without a position; the order in each layer has few crossings.

References
----------
Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of hierarchical system structures".
Eades, Lin and Smyth 1993, "A fast and effective heuristic for the feedback arc set problem".
"""

import math
from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import networkx


class Edge(NamedTuple):
    """Edge from (box, outlet) to (box, inlet)."""

    source: tuple[str, str]
    destination: tuple[str, str]


class Passage(NamedTuple):
    """The point at which all edges from one outlet cross a layer."""

    source: tuple[str, str]
    layer: int


Station: TypeAlias = str | Passage
"""A station of a layer: a box by its name, or the passage of an outlet."""


@dataclass(frozen=True, slots=True)
class Layers:
    """`rows[n]` are the stations of layer n from bottom to top; `stations` are those of each edge.

    `backward` are the edges that close cycles. They have no stations.
    """

    rows: tuple[tuple[Station, ...], ...]
    stations: Mapping[Edge, tuple[Station, ...]]
    backward: tuple[Edge, ...]


def in_layers(
    boxes: Sequence[str], edges: Sequence[Edge], first: Collection[str] = (), last: Collection[str] = ()
) -> Layers:
    """Assign layers: sources to layer 0, every other box behind its last predecessor.

    The number of boxes per layer is about the number of layers, without `first` (sources) and `last`, so that drawings
    fit on pages. Boxes that would make a layer too high go to the next one.

    Parameters
    ----------
    last
        Boxes for a layer after all others.
    """
    number = {box: place for place, box in enumerate(boxes)}
    arcs = [(number[edge.source[0]], number[edge.destination[0]]) for edge in edges]
    rank = {vertex: place for place, vertex in enumerate(_sequence(len(boxes), arcs))}
    cut = {place for place, (tail, head) in enumerate(arcs) if rank[tail] >= rank[head]}
    forward = [edge for place, edge in enumerate(edges) if place not in cut]
    graph = networkx.DiGraph([arc for place, arc in enumerate(arcs) if place not in cut])
    graph.add_nodes_from(range(len(boxes)))
    most = max(_LEAST, math.ceil(math.sqrt(len(boxes))))
    depth = _depths(graph, most, {number[box] for box in (*first, *last)})
    end = 1 + max((depth[place] for box, place in number.items() if box not in last), default=-1)
    depth = [end if box in last else depth[place] for box, place in number.items()]
    stations = {edge: tuple(_stations(edge, depth, number)) for edge in forward}
    backward = tuple(edge for place, edge in enumerate(edges) if place in cut)
    return Layers(_ordered(boxes, depth, stations), stations, backward)


_LEAST = 5
"""Largest number of boxes in a layer."""


def _sequence(vertices: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Vertices in a sequence with few backward arcs: sources first, sinks last, the others by out-degree minus
    in-degree.

    Eades, Lin and Smyth 1993, algorithm GR; among equal vertices, the first is taken.
    """
    after: list[list[int]] = [[] for _ in range(vertices)]
    before: list[list[int]] = [[] for _ in range(vertices)]
    for tail, head in arcs:
        if tail != head:
            after[tail].append(head)
            before[head].append(tail)
    out, into = [len(each) for each in after], [len(each) for each in before]
    left: list[int] = []
    right: list[int] = []
    waiting = dict.fromkeys(range(vertices))
    while waiting:
        sink = next((one for one in waiting if not out[one]), None)
        source = None if sink is not None else next((one for one in waiting if not into[one]), None)
        vertex = next(
            (one for one in (sink, source) if one is not None), max(waiting, key=lambda one: out[one] - into[one])
        )
        (left if sink is None else right).append(vertex)
        del waiting[vertex]
        for head in after[vertex]:
            into[head] -= 1
        for tail in before[vertex]:
            out[tail] -= 1
    return left + right[::-1]


def _depths(graph: "networkx.DiGraph[int]", most: int, uncounted: Collection[int]) -> list[int]:
    """The longest path from a source to each vertex; longer if a layer is full."""
    depth = [0] * len(graph)
    full: Counter[int] = Counter()
    for vertex in networkx.lexicographical_topological_sort(graph):
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
    rows: list[list[Station]] = [[] for _ in range(1 + max(layer_of.values(), default=-1))]
    for station, layer in layer_of.items():
        # Edges pass in the middle of equal boxes; otherwise, each layer would be lower than the one before.
        place = len(rows[layer]) // 2 if isinstance(station, Passage) else len(rows[layer])
        rows[layer].insert(place, station)
    hops = sorted({(a, b) for way in stations.values() for a, b in pairwise(way)}, key=str)
    before, after = _neighbours(hops)
    best, fewest, idle = rows, _crossings(rows, hops), 0
    for sweep in range(_ORDERING_SWEEPS):
        if not fewest or idle == _IDLE_SWEEPS:
            break
        rows = _swept(rows, before) if sweep % 2 == 0 else _swept(rows[::-1], after)[::-1]
        idle += 1
        if (crossings := _crossings(rows, hops)) < fewest:
            best, fewest, idle = rows, crossings, 0
    return tuple(tuple(reversed(row)) for row in best)  # y points up: the first of a layer is its lowest


_ORDERING_SWEEPS, _IDLE_SWEEPS = 12, 4
"""Largest number of sweeps, and of sweeps without improvement."""

_Neighbours: TypeAlias = Mapping[Station, Sequence[Station]]


def _neighbours(hops: Iterable[tuple[Station, Station]]) -> tuple[_Neighbours, _Neighbours]:
    """Neighbours of each station in the row before it, and in the row after it."""
    before: dict[Station, list[Station]] = defaultdict(list)
    after: dict[Station, list[Station]] = defaultdict(list)
    for one, other in hops:
        before[other].append(one)
        after[one].append(other)
    return before, after


def _swept(rows: Sequence[Sequence[Station]], neighbours: _Neighbours) -> list[list[Station]]:
    """Rows ordered by the mean position of each station's neighbours in the row before."""
    swept: list[list[Station]] = []
    place: dict[Station, int] = {}
    for row in rows:
        mean = {
            station: sum([place[one] for one in neighbours[station]]) / len(neighbours[station])
            if station in neighbours
            else float(number)
            for number, station in enumerate(row)
        }
        swept.append(sorted(row, key=mean.__getitem__))
        place = {station: number for number, station in enumerate(swept[-1])}
    return swept


def _crossings(rows: Sequence[Sequence[Station]], hops: Iterable[tuple[Station, Station]]) -> int:
    """Number of crossing pairs of hops between neighbouring rows."""
    place = {station: (layer, number) for layer, row in enumerate(rows) for number, station in enumerate(row)}
    crossings = 0
    seen: list[int] = []
    layer = -1
    for (at, _), end in sorted((place[a], place[b][1]) for a, b in hops):
        if at != layer:
            layer, seen = at, []
        crossings += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return crossings
