"""Tearing: the few signals of an algebraic loop that have to be guessed for the others to follow in sequence.

The torn signals are a feedback vertex set of the loop's dependency graph. A smallest one is NP-hard to find
in general; the reductions below keep the optimum, and what they leave is searched exhaustively while it is
small.
"""

import heapq
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from itertools import combinations

from ssptool.network.dependencies import DependencyGraph, Need
from ssptool.network.digraph import Digraph, is_acyclic, topological_order
from ssptool.network.signals import Signal
from ssptool.network.types import is_float

EXACT_LIMIT = 12
"""The largest irreducible rest that is searched exhaustively (2¹² subsets at most)."""


def tear(loop: DependencyGraph) -> tuple[Signal, ...]:
    """A small set of signals, sorted, without which `loop` has no cycle; smallest if the loop is small.

    Outputs (signals that a component computes: an edge inside of it leads to them) are preferred to
    inputs, because they are what a guess can be compared with. Discrete signals cannot be calculated with: where they
    are all that closes the cycles, few of them are torn; where real ones do as well, all of them are, so that what is
    left between real unknowns is smooth. Equal loops give equal results.

    References
    ----------
    Levy and Low 1988, "A contraction algorithm for finding small cycle cutsets".
    """
    outputs = {node for _, node, need in loop.edges() if need is not Need.WIRE}
    discrete = {node for node in outputs if not is_float(loop.types.get(node, "Float64"))}
    smooth = loop.part(node for node in loop if node not in discrete)
    if discrete and is_acyclic(smooth):
        return tuple(sorted(_cut(loop, discrete)))
    return tuple(sorted(discrete | _cut(smooth, _candidates(smooth, outputs - discrete))))


def _cut(loop: DependencyGraph, choice: AbstractSet[Signal]) -> set[Signal]:
    """Signals of the choice without which there is no cycle; every cycle has one of the choice."""
    candidates = sorted(choice)
    contraction = _Contraction(candidates, loop)
    ranks = contraction.cut_set()
    if contraction.greedy:
        ranks = _irredundant(loop, candidates, ranks)
    return {candidates[rank] for rank in ranks}


def sequence(loop: DependencyGraph, torn: Iterable[Signal]) -> tuple[Signal, ...]:
    """The order in which the signals follow from guesses of the torn ones, which come last; ties by name."""
    guessed = set(torn)
    rest = loop.part(signal for signal in loop if signal not in guessed)
    return (*topological_order(rest, lambda signal: signal), *sorted(guessed))


def _candidates(loop: DependencyGraph, outputs: AbstractSet[Signal]) -> AbstractSet[Signal]:
    # In a network every cycle passes an output. In any other graph every vertex may be torn.
    return outputs if is_acyclic(loop.part(node for node in loop if node not in outputs)) else set(loop)


class _Contraction:
    """The loop with its candidates as numbers in order of their names, shrunk in place while it is cut."""

    def __init__(self, candidates: list[Signal], loop: DependencyGraph) -> None:
        rank = {signal: number for number, signal in enumerate(candidates)}
        others = (signal for signal in loop if signal not in rank)
        rank.update({signal: len(candidates) + number for number, signal in enumerate(others)})
        self.greedy = False
        self._after: dict[int, set[int]] = {rank[s]: {rank[t] for t in loop.after[s]} for s in loop}
        self._before: dict[int, set[int]] = {rank[s]: {rank[t] for t in loop.before[s]} for s in loop}
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
        rest = Digraph((source, target, None) for source, after in self._after.items() for target in after)
        vertices = sorted(rest)
        for size in range(len(vertices)):
            for chosen in combinations(vertices, size):
                left = rest.part(vertex for vertex in vertices if vertex not in chosen)
                if is_acyclic(left):
                    return set(chosen)
        return set()


def _irredundant(loop: DependencyGraph, candidates: list[Signal], ranks: set[int]) -> set[int]:
    """Put back, last name first, what the others already cut."""
    kept = set(ranks)
    removed = {candidates[rank] for rank in ranks}
    for rank in sorted(ranks, reverse=True):
        if not _closes_cycle(loop, candidates[rank], removed):
            kept.remove(rank)
            removed.remove(candidates[rank])
    return kept


def _closes_cycle(loop: DependencyGraph, signal: Signal, removed: set[Signal]) -> bool:
    """Whether a way leads from a removed signal back to it past all others that are removed."""
    reached: set[Signal] = set()
    frontier = [signal]
    while frontier:
        for destination in loop.after[frontier.pop()]:
            if destination == signal:
                return True
            if destination not in removed and destination not in reached:
                reached.add(destination)
                frontier.append(destination)
    return False
