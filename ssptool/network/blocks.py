"""Blocks: the signals of a dependency graph in an order in which they can be evaluated."""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ssptool.network.dependencies import DependencyGraph
from ssptool.network.digraph import cyclic_components
from ssptool.network.signals import Signal
from ssptool.network.tearing import sequence, tear


class Block(NamedTuple):
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
    order = _in_order(graph, {})
    if len(order) < len(graph):  # There are loops.
        order = _in_order(graph, {min(loop): loop for loop in cyclic_components(graph)})
    return tuple(order)


def _in_order(graph: DependencyGraph, members: Mapping[Signal, list[Signal]]) -> list[Block]:
    """The blocks, of which these are the loops by their first signals, as far as no other loop is in the way."""
    following = graph.after
    first = {signal: name for name, loop in members.items() for signal in loop}  # any other signal names itself
    waiting = _arriving(graph, members, first)
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
    return order


def _arriving(
    graph: DependencyGraph, members: Mapping[Signal, list[Signal]], first: Mapping[Signal, Signal]
) -> dict[Signal, int]:
    """How many edges lead to each block from others, by its first signal."""
    number = {signal: len(before) for signal, before in graph.before.items() if signal not in first}
    for name, loop in members.items():
        number[name] = sum(first.get(other) != name for signal in loop for other in graph.before[signal])
    return number


def _loop(graph: DependencyGraph, signals: list[Signal]) -> Block:
    loop = graph.part(signals)
    torn = tear(loop)
    return Block(sequence(loop, torn), torn)
