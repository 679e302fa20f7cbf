"""Graph algorithms on plain mappings, with reproducible results: cycles, orders, and small feedback vertex sets.

A graph is a mapping from each node to its successors, such as the `adj` of a graph of networkx. The order of results
follows from the order of the nodes and their successors, or from names. Loading networkx takes longer than checking a
small system, and it would take several times as long for larger systems.
"""

import heapq
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Any, Protocol, TypeVar

Node = TypeVar("Node", bound=Hashable)
Ordered = TypeVar("Ordered", bound=Any)
"""Nodes that can be sorted."""

EXACT_LIMIT = 12
"""Largest irreducible remainder that is searched exhaustively (at most 2¹² subsets)."""


class Successors(Protocol[Node]):
    """Successors of each node: a mapping, or a sequence if nodes are numbers."""

    def __getitem__(self, node: Node, /) -> Iterable[Node]: ...


def induced(after: Successors[Node], nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """The graph of these nodes, in this order, and the edges between them."""
    part: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node, others in part.items():
        others.extend(other for other in after[node] if other in part)
    return part


def is_acyclic(after: Mapping[Any, Iterable[Any]]) -> bool:
    """True if a graph has no cycle."""
    try:
        TopologicalSorter(after).prepare()
    except CycleError:
        return False
    return True


def topological_order(after: Mapping[Ordered, Collection[Ordered]]) -> list[Ordered]:
    """Every node after its predecessors; if several nodes are possible, the least one comes first. Nodes that can be
    reached from cycles are left out.
    """
    nodes = sorted(after)
    number = {node: place for place, node in enumerate(nodes)}
    numbered = [[number[other] for other in after[node]] for node in nodes]
    return [nodes[place] for place in least_first(numbered)]


def least_first(after: Sequence[Iterable[int]]) -> list[int]:
    """Topological order of a graph; node numbers are the indices of their successors in `after`."""
    waiting = [0] * len(after)
    for others in after:
        for other in others:
            waiting[other] += 1
    ready = [node for node, number in enumerate(waiting) if number == 0]  # ascending, so that it is a heap
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for other in after[node]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, other)
    return order


def reached(after: Successors[Node], start: Node) -> set[Node]:
    """Nodes that can be reached from a node; the node itself only if it is on a cycle."""
    found: set[Node] = set()
    frontier = [start]
    while frontier:
        for other in after[frontier.pop()]:
            if other not in found:
                found.add(other)
                frontier.append(other)
    return found


def cyclic_components(after: Mapping[Node, Iterable[Node]]) -> Iterator[list[Node]]:
    """Strong components with a cycle: more than one node, or a node with an edge to itself.

    Nodes without predecessors or without successors are removed repeatedly before the search. Nodes are in the order of
    a depth-first search.
    """
    left = between_cycles(after)
    part = induced(after, left) if left else {}
    for nodes in strong_components(part):
        if len(nodes) > 1 or nodes[0] in part[nodes[0]]:
            yield nodes


def strong_components(after: Mapping[Node, Iterable[Node]]) -> Iterator[list[Node]]:
    """Strong components, each after those to which its edges lead; nodes in the order of a depth-first search.

    References
    ----------
    Tarjan 1972, "Depth-first search and linear graph algorithms", without recursion.
    """
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}  # smallest number that can be reached from below through nodes without component
    unassigned: list[Node] = []
    for root in after:
        way = [] if root in number else [(root, iter(after[root]))]
        while way:
            node, others = way[-1]
            if node not in number:
                number[node] = lowest[node] = len(number)
                unassigned.append(node)
            onward = next((other for other in others if other not in number), None)
            if onward is not None:
                way.append((onward, iter(after[onward])))
                continue
            way.pop()
            lowest[node] = min([lowest[node], *(lowest[other] for other in after[node] if other in lowest)])
            if lowest[node] == number[node]:
                yield _popped(unassigned, node, lowest)


def _popped(unassigned: list[Node], first: Node, lowest: dict[Node, int]) -> list[Node]:
    """Remove a component from the end of the nodes without component."""
    component: list[Node] = []
    while not component or component[-1] != first:
        component.append(unassigned.pop())
        del lowest[component[-1]]
    component.reverse()
    return component


def between_cycles(after: Mapping[Node, Iterable[Node]]) -> Collection[Node]:
    """The nodes on cycles and on paths between cycles, in the order of the graph."""
    first = _peeled(after)
    before: dict[Node, list[Node]] = {node: [] for node in first}
    for node in first:
        for other in after[node]:
            if other in before:
                before[other].append(node)
    return _peeled(before)


def _peeled(after: Mapping[Node, Iterable[Node]]) -> Collection[Node]:
    """Nodes that remain after repeated removal of nodes without predecessors."""
    arriving = dict.fromkeys(after, 0)
    for others in after.values():
        for other in others:
            arriving[other] += 1
    bare = [node for node, number in arriving.items() if number == 0]
    for node in bare:  # grows during the loop
        del arriving[node]
        for other in after[node]:
            if other in arriving:
                arriving[other] -= 1
                if arriving[other] == 0:
                    bare.append(other)
    return arriving


def feedback_vertex_set(after: Mapping[Ordered, Collection[Ordered]], choice: AbstractSet[Ordered]) -> set[Ordered]:
    """A small subset of `choice` that breaks all cycles; every cycle must contain a node of `choice`.

    Finding a smallest set is NP-hard in general. The reductions preserve the optimum, and a small remainder is searched
    exhaustively. Equal graphs give equal results.

    References
    ----------
    Levy and Low 1988, "A contraction algorithm for finding small cycle cutsets".
    """
    candidates = sorted(choice)
    contraction = _Contraction(candidates, after)
    ranks = contraction.cut_set()
    if contraction.greedy:
        ranks = _irredundant(after, candidates, ranks)
    return {candidates[rank] for rank in ranks}


class _Contraction:
    """The graph, with its candidates numbered in the order of their names, which is reduced in place."""

    def __init__(self, candidates: list[Ordered], after: Mapping[Ordered, Collection[Ordered]]) -> None:
        rank = {node: number for number, node in enumerate(candidates)}
        others = [node for node in after if node not in rank]
        rank.update({node: len(candidates) + number for number, node in enumerate(others)})
        self.greedy = False
        self._after: dict[int, set[int]] = {rank[node]: {rank[other] for other in after[node]} for node in after}
        self._before: dict[int, set[int]] = {vertex: set() for vertex in self._after}
        for vertex, others_after in self._after.items():
            for other in others_after:
                self._before[other].add(vertex)
        self._dirty: list[int] = []
        for vertex in range(len(candidates), len(rank)):
            self._bypass(vertex)

    def cut_set(self) -> set[int]:
        chosen: set[int] = set()
        self._dirty = [-vertex for vertex in self._after]
        ranking = [self._rank(vertex) for vertex in self._after]
        heapq.heapify(self._dirty)
        heapq.heapify(ranking)
        while True:
            chosen |= self._reduce(ranking)
            if len(self._after) <= EXACT_LIMIT:
                return chosen | self._smallest_cut()
            self.greedy = True
            vertex = self._most_connected(ranking)
            chosen.add(vertex)
            self._remove(vertex)

    def _rank(self, vertex: int) -> tuple[int, int]:
        return -len(self._before[vertex]) * len(self._after[vertex]), vertex

    def _most_connected(self, ranking: list[tuple[int, int]]) -> int:
        while True:
            rank, vertex = heapq.heappop(ranking)
            if vertex in self._after and self._rank(vertex) == (rank, vertex):
                return vertex

    def _reduce(self, ranking: list[tuple[int, int]]) -> set[int]:
        """Apply reductions that preserve a smallest cut set until none applies; returns the vertices that must be in
        the set.

        Vertices are visited from the last name to the first, so that the first of equivalent names remains.
        """
        forced: set[int] = set()
        while self._dirty:
            vertex = -heapq.heappop(self._dirty)
            if vertex not in self._after:
                continue
            before, after = self._before[vertex], self._after[vertex]
            if vertex in after:
                forced.add(vertex)
                self._remove(vertex)
            elif len(before) <= 1 or len(after) <= 1:
                self._bypass(vertex)  # without predecessors or successors, this just removes the vertex
            else:
                heapq.heappush(ranking, self._rank(vertex))
        return forced

    def _bypass(self, vertex: int) -> None:
        before, after = self._before[vertex] - {vertex}, self._after[vertex] - {vertex}
        self._remove(vertex)
        for source in before:
            self._after[source] |= after
        for destination in after:
            self._before[destination] |= before

    def _remove(self, vertex: int) -> None:
        before, after = self._before.pop(vertex), self._after.pop(vertex)
        for source in before - {vertex}:
            self._after[source].discard(vertex)
            heapq.heappush(self._dirty, -source)
        for destination in after - {vertex}:
            self._before[destination].discard(vertex)
            heapq.heappush(self._dirty, -destination)

    def _smallest_cut(self) -> set[int]:
        vertices = sorted(self._after)
        for size in range(len(vertices)):
            for chosen in map(set, combinations(vertices, size)):
                if is_acyclic({one: self._after[one] - chosen for one in vertices if one not in chosen}):
                    return chosen
        return set()


def _irredundant(after: Mapping[Ordered, Collection[Ordered]], candidates: list[Ordered], ranks: set[int]) -> set[int]:
    """Remove redundant nodes from the set, last name first."""
    kept = set(ranks)
    removed = {candidates[rank] for rank in ranks}
    for rank in sorted(ranks, reverse=True):
        if not _closes_cycle(after, candidates[rank], removed):
            kept.remove(rank)
            removed.remove(candidates[rank])
    return kept


def _closes_cycle(after: Mapping[Ordered, Collection[Ordered]], node: Ordered, removed: set[Ordered]) -> bool:
    """True if a removed node is on a cycle that contains no other removed node."""
    reached: set[Ordered] = set()
    frontier = [node]
    while frontier:
        for destination in after[frontier.pop()]:
            if destination == node:
                return True
            if destination not in removed and destination not in reached:
                reached.add(destination)
                frontier.append(destination)
    return False
