"""The dependency graph: which signal needs which other at the same instant."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum

import networkx as nx

from ssptool.fmu.description import Variability
from ssptool.network.network import Component, Network
from ssptool.network.signals import Signal


class Stage(StrEnum):
    """When: an FMU states the dependencies of its initialization mode apart from the others."""

    INITIALIZATION = "initialization"
    COMMUNICATION = "communication"
    """A communication point of co-simulation: outputs with respect to inputs at that instant."""
    CONTINUOUS = "continuous"
    """Continuous-time mode of model exchange: the same table of the FMU, states being known."""


RUNNING_DESTINATIONS = frozenset({"input", "output", "inout", "local"})
"""Kinds that take values while the system runs; parameters take theirs during initialization only."""


def dependency_graph(network: Network, stage: Stage) -> "nx.DiGraph[Signal]":
    """Vertices: the ports that are wired or are outputs. An edge leads from a signal to one that needs it.

    Edges carry `kind`: "wire", or "feedthrough" inside a component. A feedthrough edge carries `declared`: False where
    the FMU does not state what the output depends on, so that it may depend on every input. Vertices that are not of
    type Float64 carry their `type`.

    Vertices and edges are in an order that depends on the network alone.
    """
    graph: nx.DiGraph[Signal] = nx.DiGraph()
    kinds = port_kinds(network)
    arriving: dict[str, dict[str, Signal]] = defaultdict(dict)
    leaving: dict[str, set[str]] = defaultdict(set)
    for wire in network.wires:
        kind = kinds.get(wire.destination, "input")
        if stage is Stage.INITIALIZATION or kind in RUNNING_DESTINATIONS:
            graph.add_edge(wire.source, wire.destination, kind="wire")
            arriving[wire.destination.component][wire.destination.variable] = wire.destination
            leaving[wire.source.component].add(wire.source.variable)
    for component in network.components.values():
        inputs = arriving[component.name]
        number = {variable: number for number, variable in enumerate(inputs)}
        for output in _outputs(component, leaving[component.name]):
            signal = Signal(component.name, output)
            graph.add_node(signal)
            declared = needs(component, output, stage)
            needed = inputs if declared is None else sorted(declared & inputs.keys(), key=number.__getitem__)
            for variable in needed:
                graph.add_edge(inputs[variable], signal, kind="feedthrough", declared=declared is not None)
    for ports in (network.ports, *(component.ports for component in network.components.values())):
        for port in ports:
            if port.type != "Float64" and port.signal in graph:
                graph.nodes[port.signal]["type"] = port.type
    return graph


def port_kinds(network: Network) -> Mapping[Signal, str]:
    """The kind of every port, the root system's included."""
    kinds = {port.signal: port.kind for port in network.ports}
    for component in network.components.values():
        kinds.update((port.signal, port.kind) for port in component.ports)
    return kinds


def _outputs(component: Component, wired: set[str]) -> Iterator[str]:
    for port in component.ports:
        if port.kind == "output" or port.signal.variable in wired:
            yield port.signal.variable


def needs(component: Component, output: str, stage: Stage) -> frozenset[str] | None:
    """What an output depends on at one instant; None if the FMU declares nothing: on everything."""
    fmu = component.description
    variable = fmu.variables.get(output)
    if variable is not None and variable.variability is Variability.CONSTANT:
        return frozenset()
    if stage is not Stage.INITIALIZATION:
        # What is fixed after initialization depends on nothing any more.
        if variable is not None and variable.variability is Variability.FIXED:
            return frozenset()
        return fmu.outputs.get(output)
    if output not in fmu.initial_unknowns and variable is not None and variable.initial == "exact":
        return frozenset()
    return fmu.initial_unknowns.get(output)
