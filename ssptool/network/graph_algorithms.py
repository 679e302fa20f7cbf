"""Graph algorithms that networkx lacks: components with cycles in deterministic order, and small feedback vertex sets.

Graphs are `networkx.DiGraph`. Where the order of results matters it follows from the order of the nodes and edges or
from names; networkx's own subgraph views and sets of nodes have no order that repeats from process to process. networkx
takes longer to load than a small system takes to check, so it loads where a graph is made.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from networkx import DiGraph

Node = TypeVar("Node", bound=Hashable)
Ordered = TypeVar("Ordered", bound=Any)
"""Nodes that can be sorted."""

EXACT_LIMIT = 12
"""The largest irreducible rest that is searched exhaustively (2¹² subsets at most)."""


def induced(graph: DiGraph[Node], nodes: Iterable[Node]) -> DiGraph[Node]:
    """The graph of these nodes, in this order, and the edges between them; attributes are shared."""
    from networkx import DiGraph

    part: DiGraph[Node] = DiGraph()
    part.add_nodes_from((node, graph.nodes[node]) for node in nodes)
    after = dict(graph.adjacency())
    part.add_edges_from((node, other, after[node][other]) for node in part for other in after[node] if other in part)
    return part


def is_acyclic(graph: DiGraph[Any]) -> bool:
    """Whether a graph has no cycle."""
    return _is_acyclic(dict(graph.adjacency()))


def _is_acyclic(neighbours: Mapping[Any, Iterable[Any]]) -> bool:
    try:
        TopologicalSorter(neighbours).prepare()
    except CycleError:
        return False
    return True


def topological_order(graph: DiGraph[Ordered]) -> list[Ordered]:
    """Every node after its predecessors; of several possible next nodes the least. Nodes behind cycles are left out.

    networkx's `lexicographical_topological_sort` gives the same order, and takes four times as long.
    """
    after, waiting = dict(graph.adjacency()), dict(graph.in_degree())
    ready = [node for node, number in waiting.items() if number == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for other in after[node]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, other)
    return order


def cyclic_components(after: Mapping[Node, Iterable[Node]]) -> Iterator[list[Node]]:
    """Strong components with a cycle: more than one node, or a node with an edge to itself.

    `after` has the successors of every node, as the `adj` of a graph of networkx. Nodes without predecessors or without
    successors are removed repeatedly before the search. Nodes are in the order of a depth-first search.
    """
    left = between_cycles(after)
    if not left:
        return
    from networkx import DiGraph, dfs_preorder_nodes, strongly_connected_components

    part: DiGraph[Node] = DiGraph()
    part.add_nodes_from(left)
    part.add_edges_from((node, other) for node in left for other in after[node] if other in left)
    number = {node: place for place, node in enumerate(dfs_preorder_nodes(part))}
    for component in strongly_connected_components(part):
        nodes = sorted(component, key=number.__getitem__)
        if len(nodes) > 1 or part.has_edge(nodes[0], nodes[0]):
            yield nodes


def between_cycles(after: Mapping[Node, Iterable[Node]]) -> Collection[Node]:
    """The nodes on cycles and on paths between cycles, in the order of the graph.

    `after` has the successors of every node.
    """
    first = _peeled(after)
    before: dict[Node, list[Node]] = {node: [] for node in first}
    for node in first:
        for other in after[node]:
            if other in before:
                before[other].append(node)
    return _peeled(before)


def _peeled(after: Mapping[Node, Iterable[Node]]) -> Collection[Node]:
    """The nodes left after repeated removal of nodes without predecessors."""
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


def feedback_vertex_set(graph: DiGraph[Ordered], choice: AbstractSet[Ordered]) -> set[Ordered]:
    """A small set of nodes of `choice` that breaks all cycles; every cycle has a node of `choice`.

    A smallest one is NP-hard to find in general; the reductions keep the optimum, and a small rest is searched
    exhaustively. Equal graphs give equal results.

    References
    ----------
    Levy and Low 1988, "A contraction algorithm for finding small cycle cutsets".
    """
    candidates = sorted(choice)
    contraction = _Contraction(candidates, graph)
    ranks = contraction.cut_set()
    if contraction.greedy:
        ranks = _irredundant(graph, candidates, ranks)
    return {candidates[rank] for rank in ranks}


class _Contraction:
    """The graph with its candidates as numbers in order of their names, shrunk in place while it is cut."""

    def __init__(self, candidates: list[Ordered], graph: DiGraph[Ordered]) -> None:
        rank = {node: number for number, node in enumerate(candidates)}
        others = [node for node in graph if node not in rank]
        rank.update({node: len(candidates) + number for number, node in enumerate(others)})
        self.greedy = False
        self._after: dict[int, set[int]] = {rank[s]: {rank[t] for t in graph.successors(s)} for s in graph}
        self._before: dict[int, set[int]] = {rank[s]: {rank[t] for t in graph.predecessors(s)} for s in graph}
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
        """Apply the reductions that keep a smallest cut set until none applies; return what they force into
        it.

        Vertices are visited from the last name to the first, so that of equals the first name is left.
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
                self._bypass(vertex)  # Without predecessors or successors this just removes the vertex.
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
                if _is_acyclic({one: self._after[one] - chosen for one in vertices if one not in chosen}):
                    return chosen
        return set()


def _irredundant(graph: DiGraph[Ordered], candidates: list[Ordered], ranks: set[int]) -> set[int]:
    """Remove redundant nodes from the set, last name first."""
    kept = set(ranks)
    removed = {candidates[rank] for rank in ranks}
    for rank in sorted(ranks, reverse=True):
        if not _closes_cycle(graph, candidates[rank], removed):
            kept.remove(rank)
            removed.remove(candidates[rank])
    return kept


def _closes_cycle(graph: DiGraph[Ordered], node: Ordered, removed: set[Ordered]) -> bool:
    """Whether a removed node is on a cycle that avoids all other removed nodes."""
    reached: set[Ordered] = set()
    frontier = [node]
    while frontier:
        for destination in graph.successors(frontier.pop()):
            if destination == node:
                return True
            if destination not in removed and destination not in reached:
                reached.add(destination)
                frontier.append(destination)
    return False
