"""From blocks of signals to few kernel calls: which inputs are set and which outputs are got together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeAlias

from ssptool.network.blocks import Block
from ssptool.network.dependencies import DependencyGraph
from ssptool.network.signals import Signal

Graph: TypeAlias = DependencyGraph


class Visit(NamedTuple):
    """Set these inputs of one component, then get these outputs; either may be empty."""

    component: str
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]


class Loop(NamedTuple):
    """An algebraic loop: from guesses of `torn`, `body` computes all its signals, those that are torn last.

    `pattern` holds the pairs (i, j) for which torn signal i depends on torn signal j at the same instant.
    """

    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...]
    body: tuple[Visit, ...]
    pattern: frozenset[tuple[int, int]]

    @property
    def components(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(signal.component for signal in self.signals))


Step: TypeAlias = Visit | Loop


def sweep(graph: Graph, blocks: Sequence[Block], outputs: AbstractSet[Signal]) -> tuple[Step, ...]:
    """Visits and loops in an order in which each finds its inputs computed.

    Visits at the same depth of the graph are independent of each other, and one component is visited once per
    depth: that keeps calls few.

    Parameters
    ----------
    graph
        Dependency graph; edges inside a component are feedthrough, all others wires.
    blocks
        What to evaluate, in evaluation order. Signals of `graph` that are in no block are there already.
    outputs
        The signals that components compute. All others are set.
    """
    return tuple(_Sweep(graph, outputs).steps(blocks))


def needed_again(graph: Graph, outputs: AbstractSet[Signal]) -> set[Signal]:
    """Outputs that depend on an input at the same instant, and these inputs.

    After a step all outputs are known for the inputs during it; only these change with the inputs at its end.
    """
    ends = [ends for *ends, _ in graph.edges() if ends[1] in outputs and ends[0].component == ends[1].component]
    return {signal for pair in ends for signal in pair}


class _Sweep:
    """Builds one sweep; remembers which inputs wait for their component's next visit."""

    def __init__(self, graph: Graph, outputs: AbstractSet[Signal]) -> None:
        self.graph = graph
        self.outputs = outputs
        self.waiting: dict[str, list[Signal]] = {}

    def steps(self, blocks: Sequence[Block]) -> Iterator[Step]:
        depth: dict[Signal, int] = {}
        levels: dict[int, list[Block]] = {}
        for block in blocks:
            level = self._depth(block, depth)
            depth.update(dict.fromkeys(block.signals, level))
            levels.setdefault(level, []).append(block)
        for level in sorted(levels):
            singles = [block.signals[0] for block in levels[level] if not block.is_loop]
            yield from self._visits(singles)
            for block in levels[level]:
                if block.is_loop:
                    yield self._loop(block)
            # Only now: the inputs of this level may come from its loops.
            self._wait(singles)
        yield from self._rest()

    def _depth(self, block: Block, depth: Mapping[Signal, int]) -> int:
        """Inputs are as deep as their source, outputs and loops one deeper than what they need."""
        members = set(block.signals)
        before = {
            depth[source]
            for signal in block.signals
            for source in self.graph.before[signal]
            if source in depth and source not in members
        }
        deepest = max(before, default=-1)
        return deepest + 1 if block.is_loop or block.signals[0] in self.outputs else max(deepest, 0)

    def _visits(self, signals: Iterable[Signal]) -> Iterator[Visit]:
        """One visit per component that computes some of `signals`, with all inputs that it waits for."""
        computed: dict[str, list[Signal]] = {}
        for signal in signals:
            if signal in self.outputs:
                computed.setdefault(signal.component, []).append(signal)
        for component, outputs in computed.items():
            yield Visit(component, tuple(self.waiting.pop(component, ())), tuple(outputs))

    def _wait(self, signals: Iterable[Signal]) -> None:
        """The inputs among `signals` wait for the next visit of their component."""
        for signal in signals:
            if signal not in self.outputs:
                self.waiting.setdefault(signal.component, []).append(signal)

    def _rest(self) -> Iterator[Visit]:
        """Inputs on which no output depends."""
        for component in list(self.waiting):
            yield Visit(component, tuple(self.waiting.pop(component)), ())

    def _loop(self, block: Block) -> Loop:
        torn = set(block.torn)
        inner = self.graph.part(block.signals)
        pattern = _pattern(inner, block.torn)
        guessed = DependencyGraph((edge for edge in inner.edges() if edge[0] not in torn), inner)
        body = _Sweep(guessed, self.outputs)
        # What this loop's components still wait for is set by their first visit inside.
        for component in dict.fromkeys(signal.component for signal in block.signals):
            if component in self.waiting:
                body.waiting[component] = self.waiting.pop(component)
        visits = list(body._body([signal for signal in block.signals if signal not in torn], block.torn))
        return Loop(block.signals, block.torn, tuple(visits), pattern)

    def _body(self, signals: Sequence[Signal], torn: Sequence[Signal]) -> Iterator[Visit]:
        depth: dict[Signal, int] = {}
        levels: dict[int, list[Signal]] = {}
        for signal in signals:
            depth[signal] = self._depth(Block((signal,)), depth)
            levels.setdefault(depth[signal], []).append(signal)
        for level in sorted(levels):
            yield from self._visits(levels[level])
            self._wait(levels[level])
        last = list(self._visits(torn))
        # Once a torn signal is computed its guess is gone, so what later visits take from guesses is set
        # before.
        for visit in last[1:]:
            if visit.inputs:
                yield Visit(visit.component, visit.inputs, ())
        yield from self._rest()
        yield from last[:1]
        yield from (Visit(visit.component, (), visit.outputs) for visit in last[1:])


def _pattern(inner: Graph, torn: Sequence[Signal]) -> frozenset[tuple[int, int]]:
    index = {signal: number for number, signal in enumerate(torn)}
    pairs: set[tuple[int, int]] = set()
    for signal, column in index.items():
        reached: set[Signal] = set()
        frontier = [signal]
        while frontier:
            for destination in inner.after[frontier.pop()]:
                if destination not in reached:
                    reached.add(destination)
                    # Beyond another torn signal its guess counts, not what reaches it.
                    if destination not in index:
                        frontier.append(destination)
        pairs.update((index[found], column) for found in reached if found in index)
    return frozenset(pairs)
