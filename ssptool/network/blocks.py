"""Blocks: the signals of a dependency graph in an order in which they can be evaluated."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from ssptool.network.dependencies import DependencyGraph
from ssptool.network.digraph import strong_components
from ssptool.network.signals import Signal
from ssptool.network.tearing import sequence, tear

Following: TypeAlias = Mapping[Signal, Iterable[Signal]]
"""The edges of a graph: each signal, and those that it leads to."""


@dataclass(frozen=True, slots=True)
class Block:
    """One entry of the evaluation order: a single signal, or an algebraic loop.

    The signals of a loop are in the order in which they follow from guesses of the `torn` ones; these come
    last, when their values can be compared with the guesses.
    """

    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...] = ()

    @property
    def is_loop(self) -> bool:
        return bool(self.torn)


def evaluation_order(graph: DependencyGraph) -> tuple[Block, ...]:
    """Strongly connected components in topological order: every edge leads forward or stays in its block.

    Of blocks that could come next the one with the first name does, so that equal graphs give equal orders.
    """
    following = graph.after
    loops = _loops(graph, following)
    first = {signal: min(loop) for loop in loops for signal in loop}  # names a loop; any other signal names itself
    members = {first[next(iter(loop))]: loop for loop in loops}
    waiting = _arriving(following, first)
    ready = [name for name, number in waiting.items() if number == 0]
    heapify(ready)
    order = []
    while ready:
        name = heappop(ready)
        loop = members.get(name)
        order.append(Block((name,)) if loop is None else _loop(graph, loop))
        for signal in (name,) if loop is None else loop:
            for other in following[signal]:
                after = first.get(other, other)
                if after != name:
                    waiting[after] -= 1
                    if waiting[after] == 0:
                        heappush(ready, after)
    return tuple(order)


def _arriving(following: Following, first: Mapping[Signal, Signal]) -> dict[Signal, int]:
    """How many edges lead to each block from others, by its first signal."""
    number = dict.fromkeys((first.get(signal, signal) for signal in following), 0)
    for signal, others in following.items():
        for other in others:
            after = first.get(other, other)
            if after != first.get(signal, signal):
                number[after] += 1
    return number


def _loops(graph: DependencyGraph, following: Following) -> list[set[Signal]]:
    """The strongly connected components with a cycle: those of more signals than one, or of one that needs itself.

    They are looked for where they can be: among what is left when those signals that no other leads to are taken away,
    again and again, and those that lead to no other.
    """
    left = _peeled(following)
    if left:
        left = _peeled({signal: graph.before[signal] for signal in left}, left)
    components = strong_components(graph.part(left))
    return [loop for loop in components if len(loop) > 1 or not loop.isdisjoint(following[next(iter(loop))])]


def _peeled(following: Following, among: Set[Signal] | None = None) -> set[Signal]:
    """What is left of a graph without the signals to which nothing leads, again and again."""
    arriving = dict.fromkeys(following, 0)
    for others in following.values():
        for other in others:
            if among is None or other in among:
                arriving[other] += 1
    bare = [signal for signal, number in arriving.items() if number == 0]
    for signal in bare:  # grows meanwhile
        for other in following[signal]:
            if among is None or other in among:
                arriving[other] -= 1
                if arriving[other] == 0:
                    bare.append(other)
    return set(following).difference(bare)


def _loop(graph: DependencyGraph, signals: set[Signal]) -> Block:
    loop = graph.part(signals)
    torn = tear(loop)
    return Block(sequence(loop, torn), torn)
