"""How the parts of a system depend on each other, in one value: what `ssptool graph` shows."""

from ssptool.dataclass import dataclass
from ssptool.documents.uncollected import uncollected
from ssptool.network.arrays import with_whole_arrays
from ssptool.network.blocks import Block, evaluation_order
from ssptool.network.cycles import ComponentCycle, Dependence, cycles_in
from ssptool.network.dependencies import DependencyGraph, Need, Stage, dependency_graph
from ssptool.network.network import Network


@dataclass(frozen=True, slots=True)
class SystemGraph:
    """A network, its component cycles with their algebraic loops, and the order in which its signals follow.

    `feedthrough` holds every dependence of an output on an input at one instant. Arrays are single signals, also in the
    `network`, where only wires of their elements alone name these. `dependencies` is what all this was found in.
    """

    network: Network
    stage: Stage
    cycles: tuple[ComponentCycle, ...]
    feedthrough: tuple[Dependence, ...]
    order: tuple[Block, ...]
    dependencies: DependencyGraph


def analyze(network: Network, stage: Stage = Stage.COMMUNICATION) -> SystemGraph:
    """The system graph of a network, at the communication points of co-simulation or at another stage."""
    with uncollected():
        graph = dependency_graph(network, stage)
        feedthrough = tuple(
            Dependence(source, destination, need)
            for source, destination, need in graph.edges()
            if need is not Need.WIRE
        )
        order = evaluation_order(graph)
        cycles, whole = cycles_in(network, graph, order), with_whole_arrays(network)
        return SystemGraph(whole, stage, cycles, feedthrough, order, graph)
