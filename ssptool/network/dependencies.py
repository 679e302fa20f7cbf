"""The dependency graph of a system: needs between signals at one instant, evaluation order and cycles.

There are cycles at two levels. A component cycle decides how a master algorithm couples; an algebraic loop has to be
solved. The first does not imply the second: an output that does not depend on an input lets the loop be evaluated in
sequence. `analyze` returns all of this in one value."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ssptool.documents.document import garbage_collection_paused
from ssptool.errors import counted
from ssptool.fmu.description import Variability
from ssptool.network.arrays import wholes, with_whole_arrays
from ssptool.network.conversion import is_float
from ssptool.network.graph_algorithms import (
    cyclic_components,
    feedback_vertex_set,
    induced,
    is_acyclic,
    topological_order,
)
from ssptool.network.network import FlatComponent, Network, Port, Signal
from ssptool.printed import Printed
from ssptool.work_in_progress import tell

if TYPE_CHECKING:
    from networkx import DiGraph


class Stage(StrEnum):
    """The stage of dependencies: an FMU states those of initialization mode separately."""

    INITIALIZATION = "initialization"
    COMMUNICATION = "communication"
    """A communication point of co-simulation: outputs with respect to inputs at that instant."""
    CONTINUOUS = "continuous"
    """Continuous-time mode of model exchange: the same table of the FMU, states being known."""


class Need(StrEnum):
    """The reason why one signal needs another: an attribute of an edge."""

    WIRE = "wire"
    DECLARED = "declared feedthrough"
    UNDECLARED = "undeclared feedthrough"
    """The FMU declares no dependencies of the output, so it may depend on every input."""


DependencyGraph: TypeAlias = "DiGraph[Signal]"
"""A graph of networkx: an edge leads from a signal to one that needs it, and has the attribute `need`, a `Need`.

A node has the attribute `type` where that is not Float64.
"""


RUNNING_DESTINATIONS = frozenset({"input", "output", "inout", "local"})
"""Kinds that take values while the system runs; parameters take theirs during initialization only."""


def dependency_graph(network: Network, stage: Stage) -> DependencyGraph:
    """Vertices: the ports that are wired or are outputs; an array is one vertex, because FMUs take and give it whole.

    Vertices and edges are in an order that depends on the network alone.
    """
    from networkx import DiGraph

    graph: DependencyGraph = DiGraph()
    kinds = port_kinds(network)
    whole = wholes(network)
    arriving: dict[str, dict[str, Signal]] = defaultdict(dict)
    leaving: dict[str, set[str]] = defaultdict(set)
    wires = []
    for source, destination, _, _ in network.wires:
        if stage is Stage.INITIALIZATION or kinds.get(destination, "input") in RUNNING_DESTINATIONS:
            if whole:
                source, destination = whole.get(source, source), whole.get(destination, destination)
            wires.append((source, destination))
            arriving[destination.component][destination.variable] = destination
            leaving[source.component].add(source.variable)
    graph.add_edges_from(wires, need=Need.WIRE)
    for component in network.components.values():
        left = leaving[component.name]
        ports: Iterable[tuple[Signal, str]] = ((port.signal, port.kind) for port in component.ports)
        if whole:
            ports = {whole.get(signal, signal): kind for signal, kind in ports}.items()
        outputs = [signal for signal, kind in ports if kind == "output" or signal.variable in left]
        graph.add_nodes_from(outputs)
        graph.add_edges_from(_feedthrough(component, arriving[component.name], outputs, stage))
    everywhere = (network.ports, *(component.ports for component in network.components.values()))
    _state_types(graph, chain.from_iterable(everywhere), whole)
    return graph


def _feedthrough(
    component: FlatComponent, inputs: Mapping[str, Signal], outputs: Iterable[Signal], stage: Stage
) -> Iterator[tuple[Signal, Signal, dict[str, Need]]]:
    """The edges inside a component, from its wired inputs, in their order, to each of the outputs."""
    number = {variable: number for number, variable in enumerate(inputs)}
    for output in outputs:
        declared = needs(component, output.variable, stage)
        if declared is None:
            for signal in inputs.values():
                yield signal, output, {"need": Need.UNDECLARED}
            continue
        known = [variable for variable in declared if variable in number]
        for variable in sorted(known, key=number.__getitem__):
            yield inputs[variable], output, {"need": Need.DECLARED}


def _state_types(graph: DependencyGraph, ports: Iterable[Port], whole: Mapping[Signal, Signal]) -> None:
    for port in ports:
        signal = whole.get(port.signal, port.signal)
        if port.type != "Float64" and signal in graph:
            graph.nodes[signal]["type"] = port.type


def needs_in(graph: DependencyGraph) -> Iterable[tuple[Signal, Signal, Need]]:
    """The edges of a graph, each with its `need`."""
    edges: Iterable[tuple[Signal, Signal, Need]] = graph.edges(data="need")
    return edges


def port_kinds(network: Network) -> Mapping[Signal, str]:
    """The kind of every port, the root system's included."""
    kinds = {port.signal: port.kind for port in network.ports}
    for component in network.components.values():
        kinds.update((port.signal, port.kind) for port in component.ports)
    return kinds


def needs(component: FlatComponent, output: str, stage: Stage) -> frozenset[str] | None:
    """The signals that an output (or whole array) depends on at one instant; arrays are whole.

    None if the FMU declares no dependencies: on all inputs.
    """
    fmu = component.description
    variable = (fmu.whole or fmu.variables).get(output)
    if variable is not None and variable.variability is Variability.CONSTANT:
        return frozenset()
    if stage is not Stage.INITIALIZATION:
        # Variables that are fixed after initialization have no dependencies.
        if variable is not None and variable.variability is Variability.FIXED:
            return frozenset()
        if output not in fmu.outputs and output in fmu.states:
            # A state is known at a communication point.
            return frozenset()
        return fmu.outputs.get(output, fmu.derivatives.get(output))
    if output not in fmu.initial_unknowns and variable is not None and variable.initial == "exact":
        return frozenset()
    return fmu.initial_unknowns.get(output)


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

    Independent blocks are in the order of their names, so equal graphs give equal orders.
    """
    order = topological_order(graph)
    if len(order) == len(graph):
        return tuple(Block((signal,)) for signal in order)
    loops = {min(loop): loop for loop in cyclic_components(graph.adj)}
    contracted = topological_order(_contracted(graph, loops))
    return tuple(_loop(graph, loops[name]) if name in loops else Block((name,)) for name in contracted)


def _contracted(graph: DependencyGraph, loops: Mapping[Signal, Iterable[Signal]]) -> DependencyGraph:
    """The graph with one node for each loop: its first signal."""
    from networkx import DiGraph

    first = {signal: name for name, loop in loops.items() for signal in loop}
    contracted: DependencyGraph = DiGraph()
    contracted.add_nodes_from(first.get(signal, signal) for signal in graph)
    ends = ((first.get(source, source), first.get(destination, destination)) for source, destination in graph.edges())
    contracted.add_edges_from((source, destination) for source, destination in ends if source != destination)
    return contracted


def _loop(graph: DependencyGraph, signals: Iterable[Signal]) -> Block:
    loop = induced(graph, signals)
    torn = tear(loop)
    return Block(sequence(loop, torn), torn)


def tear(loop: DependencyGraph) -> tuple[Signal, ...]:
    """A small set of signals, sorted, without which `loop` has no cycle; smallest if the loop is small.

    These few signals have to be guessed for the others to follow in sequence. Outputs (signals that a component
    computes: an edge inside of it leads to them) are preferred to inputs, because they are what a guess can be compared
    with. Discrete signals have no residuals: if only they close the cycles, few of them are torn; if real signals close
    cycles too, all discrete ones are torn, so that the equations of the real unknowns are smooth. Equal loops give
    equal results.
    """
    outputs = {node for _, node, need in needs_in(loop) if need is not Need.WIRE}
    discrete = {node for node in outputs if not is_float(loop.nodes[node].get("type", "Float64"))}
    smooth = induced(loop, [node for node in loop if node not in discrete])
    if discrete and is_acyclic(smooth):
        return tuple(sorted(feedback_vertex_set(loop, discrete)))
    candidates = _candidates(smooth, outputs - discrete)
    return tuple(sorted(discrete | feedback_vertex_set(smooth, candidates)))


def sequence(loop: DependencyGraph, torn: Iterable[Signal]) -> tuple[Signal, ...]:
    """The order in which the signals follow from guesses of the torn ones, which come last; ties by name."""
    guessed = set(torn)
    rest = induced(loop, [signal for signal in loop if signal not in guessed])
    return (*topological_order(rest), *sorted(guessed))


def _candidates(loop: DependencyGraph, outputs: AbstractSet[Signal]) -> AbstractSet[Signal]:
    # In a network every cycle passes an output. In any other graph every vertex may be torn.
    return outputs if is_acyclic(induced(loop, [node for node in loop if node not in outputs])) else set(loop)


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
    """A declared independence: an output does not depend on an input of the same component at one instant."""

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
        """The signals that components compute, sorted: the unknowns of the loop."""
        return tuple(sorted({edge.destination for edge in self.closed_by if edge.need is not Need.WIRE}))

    @property
    def components(self) -> tuple[str, ...]:
        return tuple(sorted({signal.component for signal in self.block.signals}))


class ComponentCycle(NamedTuple):
    """Mutually coupled components, their algebraic loops, and without loops the independences that prevent them."""

    components: tuple[str, ...]
    loops: tuple[AlgebraicLoop, ...]
    broken_by: tuple[Independence, ...]


def algebraic_loops(graph: DependencyGraph, order: Iterable[Block]) -> tuple[AlgebraicLoop, ...]:
    """The loops of a dependency graph, of which `order` is the evaluation order."""
    return tuple(AlgebraicLoop(block, tuple(_dependences(graph, block))) for block in order if block.is_loop)


def _dependences(graph: DependencyGraph, block: Block) -> Iterator[Dependence]:
    place = {signal: number for number, signal in enumerate(block.signals)}
    edges = needs_in(induced(graph, block.signals))
    for edge in sorted(edges, key=lambda edge: (place[edge[1]], place[edge[0]])):
        yield Dependence(*edge)


def component_graph(network: Network) -> "DiGraph[str]":
    """The graph of components; an edge leads from a component to one with an input from it."""
    from networkx import DiGraph

    graph: DiGraph[str] = DiGraph()
    graph.add_nodes_from(network.components)
    ends = dict.fromkeys((wire.source.component, wire.destination.component) for wire in network.wires)
    graph.add_edges_from((source, destination) for source, destination in ends if source and destination)
    return graph


def component_cycles(network: Network) -> tuple[tuple[str, ...], ...]:
    """Sets of mutually coupled components, directly or through others; sorted."""
    graph = component_graph(network)
    return tuple(sorted(tuple(sorted(names)) for names in cyclic_components(graph.adj)))


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
    from networkx import descendants

    inputs: dict[str, list[Signal]] = {name: [] for name in sorted(members)}
    outputs: dict[str, list[Signal]] = {name: [] for name in sorted(members)}
    for signal in graph:
        if signal.component in members:
            wired = any(graph.edges[source, signal]["need"] is Need.WIRE for source in graph.predecessors(signal))
            (inputs if wired else outputs)[signal.component].append(signal)
    for name, candidates in outputs.items():
        for output in candidates:
            leads_to = descendants(graph, output)
            for arriving in inputs[name]:
                if arriving in leads_to and not graph.has_edge(arriving, output):
                    yield Independence(output, arriving)


@dataclass(frozen=True, slots=True)
class SystemGraph(Printed):
    """A network, its component cycles with their algebraic loops, and the order in which its signals follow.

    `feedthrough` holds every dependence of an output on an input at one instant. Arrays are single signals, also in the
    `network`, except in wires of single elements. `dependencies` is the analyzed graph.
    """

    network: Network
    stage: Stage
    cycles: tuple[ComponentCycle, ...]
    feedthrough: tuple[Dependence, ...]
    order: tuple[Block, ...]
    dependencies: DependencyGraph

    def __repr__(self) -> str:
        loops = sum(block.is_loop for block in self.order)
        counts = counted(len(self.dependencies), "signal"), counted(loops, "algebraic loop")
        return f"<SystemGraph of {self.network.name}: {', '.join(counts)}, {self.stage}>"


def analyze(network: Network, stage: Stage = Stage.COMMUNICATION) -> SystemGraph:
    """The system graph of a network, at the communication points of co-simulation or at another stage."""
    tell("ordering signals")
    with garbage_collection_paused():
        graph = dependency_graph(network, stage)
        feedthrough = tuple(
            Dependence(source, destination, need)
            for source, destination, need in needs_in(graph)
            if need is not Need.WIRE
        )
        order = evaluation_order(graph)
        cycles, whole = cycles_in(network, graph, order), with_whole_arrays(network)
        return SystemGraph(whole, stage, cycles, feedthrough, order, graph)


def loop_edges(graph: SystemGraph) -> frozenset[tuple[Signal, Signal]]:
    """The edges that close algebraic loops."""
    loops = (loop for cycle in graph.cycles for loop in cycle.loops)
    return frozenset((edge.source, edge.destination) for loop in loops for edge in loop.closed_by)
