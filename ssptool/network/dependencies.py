"""The dependency graph of a system: needs between signals at one instant, evaluation order and cycles.

There are cycles at two levels. A component cycle affects the choice of the master algorithm; an algebraic loop has to
be solved. A component cycle need not contain an algebraic loop: if an output does not depend on an input, the signals
can be evaluated in sequence. `analyze` returns all of this in one value.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ssptool.documents.document import garbage_collection_paused
from ssptool.errors import counted
from ssptool.network.arrays import with_whole_arrays
from ssptool.network.conversion import is_float
from ssptool.network.graph_algorithms import (
    cyclic_components,
    feedback_vertex_set,
    induced,
    is_acyclic,
    least_first,
    reached,
    topological_order,
)
from ssptool.network.network import Network, Signal
from ssptool.network.signal_graph import Need, SignalGraph, Stage, active_wires, signal_graph, wired_signals
from ssptool.printed import Printed
from ssptool.work_in_progress import tell

if TYPE_CHECKING:
    from networkx import DiGraph

DependencyGraph: TypeAlias = "DiGraph[Signal]"
"""A graph of networkx: an edge points from a signal to one that needs it, and has the attribute `need`, a `Need`.

A node has the attribute `type` if the type is not Float64.
"""


def dependency_graph(network: Network, stage: Stage) -> DependencyGraph:
    """The signal graph of a network as a graph of networkx.

    The order of vertices and edges depends only on the network.
    """
    return _in_networkx(_at(network, stage))


def _at(network: Network, stage: Stage) -> SignalGraph:
    return signal_graph(wired_signals(network, active_wires(network, stage)), stage)


def _in_networkx(graph: SignalGraph) -> DependencyGraph:
    from networkx import DiGraph

    made: DependencyGraph = DiGraph()
    signals = graph.signals
    made.add_nodes_from(signals[vertex] for vertex in graph.wired.met)
    for vertex in graph.wired.met:
        needs = ((other, graph.need(vertex, other)) for other in graph.after[vertex])
        made.add_edges_from((signals[vertex], signals[other], {"need": need}) for other, need in needs)
    for vertex, kind in graph.wired.types.items():
        made.nodes[signals[vertex]]["type"] = kind
    return made


def needs_in(graph: DependencyGraph) -> Iterable[tuple[Signal, Signal, Need]]:
    """The edges of a graph, each with its `need`."""
    edges: Iterable[tuple[Signal, Signal, Need]] = graph.edges(data="need")
    return edges


class Block(NamedTuple):
    """One entry of the evaluation order: a single signal, or an algebraic loop.

    The signals of a loop are in the order in which they are computed from guesses of the `torn` ones. The torn signals
    come last, and are then compared with the guesses.
    """

    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...] = ()

    @property
    def is_loop(self) -> bool:
        return bool(self.torn)


class Loop(NamedTuple):
    """A block that is a loop, given by its vertices."""

    vertices: tuple[int, ...]
    torn: tuple[int, ...]

    def block(self, graph: SignalGraph) -> Block:
        signals = graph.signals
        return Block(tuple(signals[vertex] for vertex in self.vertices), tuple(signals[vertex] for vertex in self.torn))


def blocks(graph: SignalGraph, order: Iterable[int | Loop]) -> tuple[Block, ...]:
    """The evaluation order, with signals instead of vertices."""
    signals = graph.signals
    return tuple(one.block(graph) if isinstance(one, Loop) else Block((signals[one],)) for one in order)


def evaluation_order(graph: SignalGraph) -> Sequence[int | Loop]:
    """Strongly connected components in topological order: every edge points forward or stays in its block.

    Independent blocks are in the order of their names, so equal graphs give equal orders.
    """
    order = least_first(graph.after)
    if len(order) == len(graph.after):
        return order
    loops = {min(loop): loop for loop in cyclic_components(dict(enumerate(graph.after)))}
    first = {vertex: least for least, loop in loops.items() for vertex in loop}
    contracted = least_first(_contracted(graph, first))
    alone = [vertex for vertex in contracted if first.get(vertex, vertex) == vertex]
    return [_loop(graph, loops[vertex]) if vertex in loops else vertex for vertex in alone]


def _contracted(graph: SignalGraph, first: Mapping[int, int]) -> list[list[int]]:
    """The graph in which the first vertex of each loop represents the loop; the other vertices of loops have no
    edges.
    """
    contracted: list[list[int]] = [[] for _ in graph.after]
    for vertex, others in enumerate(graph.after):
        source = first.get(vertex, vertex)
        ends = (first.get(other, other) for other in others)
        contracted[source].extend(destination for destination in ends if destination != source)
    return contracted


def _loop(graph: SignalGraph, vertices: Iterable[int]) -> Loop:
    members = sorted(vertices)
    torn = tear(graph, members)
    return Loop(sequence(graph, members, torn), torn)


def tear(graph: SignalGraph, loop: Iterable[int]) -> tuple[int, ...]:
    """A small set of vertices of a loop, sorted, whose removal leaves no cycle; for a small loop a smallest set.

    Guesses of these few signals determine all others in sequence. Outputs (signals computed by a component) are
    preferred to inputs, because a guess can be compared with the computed value. Discrete signals have no residuals: if
    only they close the cycles, few of them are torn; if real signals also close cycles, all discrete ones are torn, so
    that the equations of the real unknowns are smooth. Equal loops give equal results.
    """
    after = induced(graph.after, loop)
    outputs = {other for vertex in after for other in graph.feedthrough[vertex] if other in after}
    discrete = {vertex for vertex in outputs if not is_float(graph.wired.types.get(vertex, "Float64"))}
    smooth = induced(after, [vertex for vertex in after if vertex not in discrete])
    if discrete and is_acyclic(smooth):
        return tuple(sorted(feedback_vertex_set(after, discrete)))
    candidates = _candidates(smooth, outputs - discrete)
    return tuple(sorted(discrete | feedback_vertex_set(smooth, candidates)))


def sequence(graph: SignalGraph, loop: Iterable[int], torn: Iterable[int]) -> tuple[int, ...]:
    """Order in which vertices are computed from guesses of the torn ones, which come last. Ties are broken by name."""
    guessed = set(torn)
    rest = induced(graph.after, [vertex for vertex in loop if vertex not in guessed])
    return (*topological_order(rest), *sorted(guessed))


def _candidates(loop: Mapping[int, Sequence[int]], outputs: AbstractSet[int]) -> AbstractSet[int]:
    # In a network, every cycle contains an output. In any other graph, every vertex may be torn.
    return outputs if is_acyclic(induced(loop, [vertex for vertex in loop if vertex not in outputs])) else set(loop)


class Dependence(NamedTuple):
    """An edge of the dependency graph."""

    source: Signal
    destination: Signal
    need: Need

    @property
    def declared(self) -> bool:
        """False if the FMU does not declare the dependencies of `destination`."""
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
    """A loop in the evaluation order, and the edges that close it."""

    block: Block
    closed_by: tuple[Dependence, ...]

    @property
    def outputs(self) -> tuple[Signal, ...]:
        """Signals that components compute, sorted: the unknowns of the loop."""
        return tuple(sorted({edge.destination for edge in self.closed_by if edge.need is not Need.WIRE}))

    @property
    def components(self) -> tuple[str, ...]:
        return tuple(sorted({signal.component for signal in self.block.signals}))


class ComponentCycle(NamedTuple):
    """Mutually coupled components with their algebraic loops; if there are none, with the independences that prevent
    them.
    """

    components: tuple[str, ...]
    loops: tuple[AlgebraicLoop, ...]
    broken_by: tuple[Independence, ...]


def algebraic_loops(graph: SignalGraph, order: Iterable[int | Loop]) -> tuple[AlgebraicLoop, ...]:
    """The loops of a graph with this evaluation order."""
    loops = (one for one in order if isinstance(one, Loop))
    return tuple(AlgebraicLoop(loop.block(graph), tuple(_dependences(graph, loop))) for loop in loops)


def _dependences(graph: SignalGraph, loop: Loop) -> Iterator[Dependence]:
    place = {vertex: number for number, vertex in enumerate(loop.vertices)}
    edges = [(vertex, other) for vertex in place for other in graph.after[vertex] if other in place]
    for vertex, other in sorted(edges, key=lambda edge: (place[edge[1]], place[edge[0]])):
        yield Dependence(graph.signals[vertex], graph.signals[other], graph.need(vertex, other))


def component_graph(network: Network) -> dict[str, dict[str, None]]:
    """Graph of components: an edge points from a component to each component that has an input from it."""
    graph: dict[str, dict[str, None]] = {name: {} for name in network.components}
    for source, destination in {(wire[0][0], wire[1][0]): None for wire in network.wires}:
        if source and destination:
            graph[source][destination] = None
    return graph


def component_cycles(network: Network) -> tuple[tuple[str, ...], ...]:
    """Sets of components that are mutually coupled, directly or through others; sorted."""
    return tuple(sorted(tuple(sorted(names)) for names in cyclic_components(component_graph(network))))


def cycles_in(network: Network, graph: SignalGraph, order: Iterable[int | Loop]) -> tuple[ComponentCycle, ...]:
    """Every component cycle with its algebraic loops, or with the declared independences that prevent one."""
    loops = algebraic_loops(graph, order)
    cycles = []
    for components in component_cycles(network):
        members = set(components)
        inside = tuple(loop for loop in loops if members.issuperset(loop.components))
        broken_by = () if inside else tuple(sorted(_independences(graph, members)))
        cycles.append(ComponentCycle(components, inside, broken_by))
    return tuple(cycles)


def _independences(graph: SignalGraph, members: set[str]) -> Iterator[Independence]:
    """Pairs of an output and an input of one component that would close a loop if the output depended on the input."""
    signals = graph.signals
    wires = (set(others).difference(graph.feedthrough[vertex]) for vertex, others in enumerate(graph.wired.wires))
    wired = set[int]().union(*wires)
    inputs: dict[str, list[int]] = {name: [] for name in sorted(members)}
    outputs: dict[str, list[int]] = {name: [] for name in sorted(members)}
    for vertex, signal in enumerate(signals):
        if signal.component in members:
            (inputs if vertex in wired else outputs)[signal.component].append(vertex)
    for name, candidates in outputs.items():
        for output in candidates:
            leads_to = reached(graph.after, output)
            for arriving in inputs[name]:
                if arriving in leads_to and output not in graph.after[arriving]:
                    yield Independence(signals[output], signals[arriving])


@dataclass(frozen=True, slots=True)
class SystemGraph(Printed):
    """A network, its component cycles with their algebraic loops, and the evaluation order of its signals.

    `feedthrough` contains each dependency of an output on an input at the same instant. Arrays are single signals, even
    in the `network`, except in wires of single elements. `dependencies` is the analyzed graph.
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
        graph = _at(network, stage)
        order = evaluation_order(graph)
        dependencies = _in_networkx(graph)
        edges = needs_in(dependencies)
        feedthrough = tuple(Dependence(*edge) for edge in edges if edge[2] is not Need.WIRE)
        cycles, whole = cycles_in(network, graph, order), with_whole_arrays(network)
        return SystemGraph(whole, stage, cycles, feedthrough, blocks(graph, order), dependencies)


def loop_edges(graph: SystemGraph) -> frozenset[tuple[Signal, Signal]]:
    """Edges that close algebraic loops."""
    loops = (loop for cycle in graph.cycles for loop in cycle.loops)
    return frozenset((edge.source, edge.destination) for loop in loops for edge in loop.closed_by)
