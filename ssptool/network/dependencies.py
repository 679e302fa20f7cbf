"""The dependency graph: which signal needs which other at the same instant."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from ssptool.fmu.description import FmuDescription, Variability
from ssptool.network.arrays import wholes
from ssptool.network.digraph import Digraph
from ssptool.network.network import Component, Network
from ssptool.network.signals import Signal

if TYPE_CHECKING:
    from networkx import DiGraph


class Stage(StrEnum):
    """When: an FMU states the dependencies of its initialization mode apart from the others."""

    INITIALIZATION = "initialization"
    COMMUNICATION = "communication"
    """A communication point of co-simulation: outputs with respect to inputs at that instant."""
    CONTINUOUS = "continuous"
    """Continuous-time mode of model exchange: the same table of the FMU, states being known."""


class Need(StrEnum):
    """Why one signal needs another; what stands at an edge."""

    WIRE = "wire"
    DECLARED = "declared feedthrough"
    UNDECLARED = "undeclared feedthrough"
    """The FMU does not state what the output depends on, so that it may depend on every input."""


class DependencyGraph(Digraph[Signal, Need]):
    """Vertices are signals; an edge leads from one to another that needs it. `types` are those that are not Float64."""

    def __init__(self, edges: Iterable[tuple[Signal, Signal, Need]] = (), vertices: Iterable[Signal] = ()) -> None:
        super().__init__(edges, vertices)
        self.types: Mapping[Signal, str] = {}

    def _empty(self) -> Self:
        part = super()._empty()
        part.types = self.types
        return part

    def to_networkx(self) -> "DiGraph[Signal]":
        """The same as a graph of networkx, for all that it can compute; the edges have the attribute `need`."""
        from networkx import DiGraph

        graph: DiGraph[Signal] = DiGraph()
        graph.add_nodes_from(self)
        graph.add_edges_from((signal, needing, {"need": need}) for signal, needing, need in self.edges())
        return graph


RUNNING_DESTINATIONS = frozenset({"input", "output", "inout", "local"})
"""Kinds that take values while the system runs; parameters take theirs during initialization only."""


def dependency_graph(network: Network, stage: Stage) -> DependencyGraph:
    """Vertices: the ports that are wired or are outputs; an array is one vertex, because FMUs take and give it whole.

    Vertices and edges are in an order that depends on the network alone.
    """
    graph = DependencyGraph()
    kinds = port_kinds(network)
    whole = wholes(network)
    arriving: dict[str, dict[str, Signal]] = defaultdict(dict)
    leaving: dict[str, set[str]] = defaultdict(set)
    for source, destination, _, _ in network.wires:
        if stage is Stage.INITIALIZATION or kinds.get(destination, "input") in RUNNING_DESTINATIONS:
            if whole:
                source, destination = whole.get(source, source), whole.get(destination, destination)
            graph.add_edge(source, destination, Need.WIRE)
            arriving[destination.component][destination.variable] = destination
            leaving[source.component].add(source.variable)
    for component in network.components.values():
        inputs, left = arriving[component.name], leaving[component.name]
        number = {variable: number for number, variable in enumerate(inputs)}
        ports: Iterable[tuple[Signal, str]] = ((port.signal, port.kind) for port in component.ports)
        if whole:
            ports = {whole.get(signal, signal): kind for signal, kind in ports}.items()
        for signal, kind in ports:
            output = signal.variable
            if kind != "output" and output not in left:
                continue
            graph.add_vertex(signal)
            declared = needs(component, output, stage)
            needed: Iterable[str] = inputs
            if declared is not None:
                needed = sorted([name for name in declared if name in number], key=number.__getitem__)
            need = Need.UNDECLARED if declared is None else Need.DECLARED
            for variable in needed:
                graph.add_edge(inputs[variable], signal, need)
    everywhere = (network.ports, *(component.ports for component in network.components.values()))
    graph.types = {
        whole.get(port.signal, port.signal): port.type
        for ports in everywhere
        for port in ports
        if port.type != "Float64"
    }
    return graph


def port_kinds(network: Network) -> Mapping[Signal, str]:
    """The kind of every port, the root system's included."""
    kinds = {port.signal: port.kind for port in network.ports}
    for component in network.components.values():
        kinds.update((port.signal, port.kind) for port in component.ports)
    return kinds


def needs(component: Component, output: str, stage: Stage) -> frozenset[str] | None:
    """What an output, which may be an array, depends on at one instant, arrays being whole.

    None if the FMU declares nothing: on everything.
    """
    fmu = component.description
    variable = (fmu.whole or fmu.variables).get(output)
    if variable is not None and variable.variability is Variability.CONSTANT:
        return frozenset()
    if stage is not Stage.INITIALIZATION:
        # What is fixed after initialization depends on nothing any more.
        if variable is not None and variable.variability is Variability.FIXED:
            return frozenset()
        if output not in fmu.outputs and _is_state(fmu, output):
            return frozenset()
        return fmu.outputs.get(output, fmu.derivatives.get(output))
    if output not in fmu.initial_unknowns and variable is not None and variable.initial == "exact":
        return frozenset()
    return fmu.initial_unknowns.get(output)


def _is_state(fmu: FmuDescription, name: str) -> bool:
    """Whether this is a continuous state, which is known at a communication point."""
    variables = fmu.whole or fmu.variables
    return any(variables[slope].derivative_of == name for slope in fmu.derivatives if slope in variables)
