"""Blocks: the signals of a dependency graph in an order in which they can be evaluated."""

from dataclasses import dataclass

import networkx as nx

from ssptool.network.signals import Signal
from ssptool.network.tearing import sequence, tear


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


def evaluation_order(graph: "nx.DiGraph[Signal]") -> tuple[Block, ...]:
    """Strongly connected components in topological order: every edge leads forward or stays in its block.

    Of blocks that could come next the one with the first name does, so that equal graphs give equal orders.
    """
    blocks = nx.condensation(graph)
    members: dict[int, set[Signal]] = {number: data["members"] for number, data in blocks.nodes(data=True)}
    first = {number: min(signals) for number, signals in members.items()}
    order = nx.lexicographical_topological_sort(blocks, key=first.__getitem__)
    return tuple(_block(graph, members[number]) for number in order)


def _block(graph: "nx.DiGraph[Signal]", signals: set[Signal]) -> Block:
    if len(signals) == 1:
        (signal,) = signals
        return Block((signal,), (signal,) if graph.has_edge(signal, signal) else ())
    loop: nx.DiGraph[Signal] = nx.DiGraph(graph.subgraph(signals))
    torn = tear(loop)
    return Block(sequence(loop, torn), torn)
