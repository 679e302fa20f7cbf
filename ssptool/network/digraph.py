"""Directed graphs, and what the project asks of them.

Small on purpose: a general library of graphs takes longer to load than a small system takes to check, and several times
the memory of these lists of neighbours.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Self, TypeVar

V = TypeVar("V")
L = TypeVar("L")


class Digraph(Generic[V, L]):
    """Vertices and labelled edges, in the order in which they came."""

    def __init__(self, edges: Iterable[tuple[V, V, L]] = (), vertices: Iterable[V] = ()) -> None:
        self._after: dict[V, dict[V, L]] = {}
        self._before: dict[V, dict[V, L]] = {}
        for vertex in vertices:
            self.add_vertex(vertex)
        for source, destination, label in edges:
            self.add_edge(source, destination, label)

    def add_vertex(self, vertex: V) -> None:
        if vertex not in self._after:
            self._after[vertex] = {}
            self._before[vertex] = {}

    def add_edge(self, source: V, destination: V, label: L) -> None:
        """Add an edge, and the vertices that are not there yet; one that is there gets the label."""
        if source not in self._after:
            self.add_vertex(source)
        if destination not in self._after:
            self.add_vertex(destination)
        self._after[source][destination] = label
        self._before[destination][source] = label

    def __iter__(self) -> Iterator[V]:
        return iter(self._after)

    def __len__(self) -> int:
        return len(self._after)

    def __contains__(self, vertex: object) -> bool:
        return vertex in self._after

    @property
    def after(self) -> Mapping[V, Mapping[V, L]]:
        """Each vertex, and those that it leads to with the labels of the edges."""
        return self._after

    @property
    def before(self) -> Mapping[V, Mapping[V, L]]:
        """Each vertex, and those that lead to it with the labels of the edges."""
        return self._before

    def edges(self) -> Iterator[tuple[V, V, L]]:
        for source, after in self._after.items():
            for destination, label in after.items():
                yield source, destination, label

    def part(self, vertices: Iterable[V]) -> Self:
        """The graph of these vertices, in this order, and the edges between them."""
        inside = dict.fromkeys(vertices)
        part = self._empty()
        part._after = {vertex: _only(self._after[vertex], inside) for vertex in inside}
        part._before = {vertex: _only(self._before[vertex], inside) for vertex in inside}
        return part

    def _empty(self) -> Self:
        return type(self)()


def _only(neighbours: dict[V, L], inside: Container[V]) -> dict[V, L]:
    return {vertex: label for vertex, label in neighbours.items() if vertex in inside}


def reached(graph: Digraph[V, Any], vertex: V) -> set[V]:
    """All that a way leads to from a vertex; the vertex itself only if it is in a cycle."""
    found: set[V] = set()
    frontier = [vertex]
    while frontier:
        new = [other for other in graph.after[frontier.pop()] if other not in found]
        found.update(new)
        frontier += new
    return found


def topological_order(graph: Digraph[V, Any], key: Callable[[V], Any]) -> list[V]:
    """Every vertex after all that lead to it; of those that could come next, the one with the least key.

    Raises
    ------
    ValueError
        The graph has a cycle.
    """
    waiting = {vertex: len(before) for vertex, before in graph.before.items()}
    # The number decides between equal keys: vertices need not be comparable.
    number = {vertex: place for place, vertex in enumerate(graph)}
    ready = [(key(vertex), number[vertex], vertex) for vertex, missing in waiting.items() if missing == 0]
    heapify(ready)
    order = []
    while ready:
        vertex = heappop(ready)[2]
        order.append(vertex)
        for other in graph.after[vertex]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heappush(ready, (key(other), number[other], other))
    if len(order) < len(graph):
        raise ValueError("the graph has a cycle, so that its vertices have no topological order")
    return order


def is_acyclic(graph: Digraph[Any, Any]) -> bool:
    waiting = {vertex: len(before) for vertex, before in graph.before.items()}
    bare = [vertex for vertex, missing in waiting.items() if missing == 0]
    for vertex in bare:  # grows meanwhile
        for other in graph.after[vertex]:
            waiting[other] -= 1
            if waiting[other] == 0:
                bare.append(other)
    return len(bare) == len(graph)


def strong_components(graph: Digraph[V, Any]) -> Iterator[list[V]]:
    """Vertices with ways from each to each; every vertex is in one component. The order follows from the graph's.

    References
    ----------
    Gabow 2000, "Path-based depth-first search for strong and biconnected components"; without recursion, which Python
    limits.
    """
    number: dict[V, int] = {}  # in the order of the first visit
    finished: set[V] = set()
    members: list[V] = []  # visited, and in no finished component
    roots: list[V] = []  # of these the first ones of what may yet be components of their own
    for start in graph:
        path = [] if start in number else [_enter(graph, start, number, members, roots)]
        while path:
            vertex, others = path[-1]
            other = next((other for other in others if other not in finished), None)
            if other is None:
                path.pop()
                if roots[-1] == vertex:
                    roots.pop()
                    component = _cut(members, vertex)
                    finished.update(component)
                    yield component
            elif other in number:
                while number[roots[-1]] > number[other]:
                    roots.pop()
            else:
                path.append(_enter(graph, other, number, members, roots))


def _enter(
    graph: Digraph[V, Any], vertex: V, number: dict[V, int], members: list[V], roots: list[V]
) -> tuple[V, Iterator[V]]:
    number[vertex] = len(number)
    members.append(vertex)
    roots.append(vertex)
    return vertex, iter(graph.after[vertex])


def _cut(members: list[V], first: V) -> list[V]:
    """Take `first` and all after it off the end of the list."""
    component = [members.pop()]
    while component[-1] != first:
        component.append(members.pop())
    return component[::-1]


def cyclic_components(graph: Digraph[V, Any]) -> Iterator[list[V]]:
    """The strong components with a cycle: those of more vertices than one, or of one that leads to itself.

    They are looked for where they can be: among what is left when those vertices that no other leads to are taken away,
    again and again, and those that lead to no other.
    """
    for component in strong_components(graph.part(between_cycles(graph))):
        if len(component) > 1 or component[0] in graph.after[component[0]]:
            yield component


def between_cycles(graph: Digraph[V, Any]) -> Collection[V]:
    """The vertices of cycles, and those on ways from one cycle to another, in the order of the graph."""
    left = _peeled(graph.after, {vertex: len(before) for vertex, before in graph.before.items()})
    # What is left of those that lead on, seen against the direction of the edges.
    leaving = {vertex: sum(other in left for other in graph.after[vertex]) for vertex in left}
    return _peeled(graph.before, leaving)


def _peeled(following: Mapping[V, Iterable[V]], arriving: dict[V, int]) -> Collection[V]:
    """What is left of `arriving`, the numbers of edges to vertices, without those to which no other of them leads."""
    bare = [vertex for vertex, number in arriving.items() if number == 0]
    for vertex in bare:  # grows meanwhile
        del arriving[vertex]
        for other in following[vertex]:
            if other in arriving:
                arriving[other] -= 1
                if arriving[other] == 0:
                    bare.append(other)
    return arriving


def condensation(graph: Digraph[V, Any]) -> Digraph[frozenset[V], None]:
    """The strong components, and which lead to which; it has no cycle."""
    parts = [frozenset(component) for component in strong_components(graph)]
    home = {vertex: part for part in parts for vertex in part}
    ends = {(home[source], home[destination]): None for source, destination, _ in graph.edges()}
    return Digraph(((one, other, None) for one, other in ends if one is not other), parts)
