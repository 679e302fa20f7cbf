"""Cycles at two levels: components that feed each other, and signals that need each other at one instant.

A component cycle decides how a master algorithm couples; an algebraic loop has to be solved. The first does
not imply the second: an output that does not depend on an input lets the loop be evaluated in sequence.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ssptool.network.blocks import Block
from ssptool.network.dependencies import DependencyGraph, Need
from ssptool.network.digraph import Digraph, cyclic_components, reached
from ssptool.network.network import Network
from ssptool.network.signals import Signal


class Dependence(NamedTuple):
    """An edge of the dependency graph."""

    source: Signal
    destination: Signal
    need: Need

    @property
    def declared(self) -> bool:
        """False if the FMU does not say what `destination` depends on."""
        return self.need is not Need.UNDECLARED

    def __str__(self) -> str:
        match self.need:
            case Need.WIRE:
                return f"{self.source} is connected to {self.destination}"
            case Need.DECLARED:
                return f"{self.destination} depends on {self.source}"
            case Need.UNDECLARED:
                return f"{self.destination} may depend on {self.source} (its FMU declares no dependencies)"


class Independence(NamedTuple):
    """A declared fact: this output does not depend on this input of the same component at one instant."""

    output: Signal
    input: Signal

    def __str__(self) -> str:
        return f"{self.output} does not depend on {self.input}"


class AlgebraicLoop(NamedTuple):
    """A block that is a loop, and the edges that close it, in evaluation order."""

    block: Block
    closed_by: tuple[Dependence, ...]

    @property
    def outputs(self) -> tuple[Signal, ...]:
        """Those of its signals that components compute, sorted: the unknowns of the loop."""
        return tuple(sorted({edge.destination for edge in self.closed_by if edge.need is not Need.WIRE}))

    @property
    def components(self) -> tuple[str, ...]:
        return tuple(sorted({signal.component for signal in self.block.signals}))


class ComponentCycle(NamedTuple):
    """Components that feed each other, the algebraic loops among them, and, if there is none, why not."""

    components: tuple[str, ...]
    loops: tuple[AlgebraicLoop, ...]
    broken_by: tuple[Independence, ...]


def algebraic_loops(graph: DependencyGraph, order: Iterable[Block]) -> tuple[AlgebraicLoop, ...]:
    """The loops of a dependency graph, of which `order` is the evaluation order."""
    return tuple(AlgebraicLoop(block, tuple(_dependences(graph, block))) for block in order if block.is_loop)


def _dependences(graph: DependencyGraph, block: Block) -> Iterator[Dependence]:
    place = {signal: number for number, signal in enumerate(block.signals)}
    edges = graph.part(block.signals).edges()
    for edge in sorted(edges, key=lambda edge: (place[edge[1]], place[edge[0]])):
        yield Dependence(*edge)


def component_graph(network: Network) -> Digraph[str, None]:
    """The components, in their order; an edge leads from one to another that has an input from it."""
    ends = {
        (wire.source.component, wire.destination.component): None
        for wire in network.wires
        if wire.source.component and wire.destination.component
    }
    return Digraph(((source, destination, None) for source, destination in ends), network.components)


def component_cycles(network: Network) -> tuple[tuple[str, ...], ...]:
    """Sets of components that feed each other, directly or through others; sorted."""
    graph = component_graph(network)
    return tuple(sorted(tuple(sorted(names)) for names in cyclic_components(graph)))


def cycles_in(network: Network, graph: DependencyGraph, order: Iterable[Block]) -> tuple[ComponentCycle, ...]:
    """Every component cycle with its algebraic loops, or with the declared independences that prevent one."""
    loops = algebraic_loops(graph, order)
    cycles = []
    for components in component_cycles(network):
        members = set(components)
        inside = tuple(loop for loop in loops if members.issuperset(loop.components))
        broken_by = () if inside else tuple(sorted(_independences(graph, members)))
        cycles.append(ComponentCycle(components, inside, broken_by))
    return tuple(cycles)


def _independences(graph: DependencyGraph, members: set[str]) -> Iterator[Independence]:
    """Pairs of one component, each of which would close a loop if the output needed the input."""
    inputs: dict[str, list[Signal]] = {name: [] for name in sorted(members)}
    outputs: dict[str, list[Signal]] = {name: [] for name in sorted(members)}
    for signal in graph:
        if signal.component in members:
            wired = Need.WIRE in graph.before[signal].values()
            (inputs if wired else outputs)[signal.component].append(signal)
    for name, candidates in outputs.items():
        for output in candidates:
            leads_to = reached(graph, output)
            for arriving in inputs[name]:
                if arriving in leads_to and output not in graph.after[arriving]:
                    yield Independence(output, arriving)
