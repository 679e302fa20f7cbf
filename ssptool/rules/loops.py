"""Algebraic loops, found without solving anything (SSP 2.0 §5.3.2)."""

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from networkx import DiGraph

from ssptool.documents import ssd
from ssptool.fmu.description import Causality, FmuDescription
from ssptool.network.graph_algorithms import between_cycles, cyclic_components, induced
from ssptool.rules.catalogue import DERIVED, INFO, Chapter, Finding
from ssptool.rules.links import links, signal_flow, vertex_of
from ssptool.rules.subjects import Structure

LOOPS = Chapter("Algebraic loops, found without solving anything (SSP 2.0 §5.3.2)")

Signal = tuple[ssd.SystemElement, str]


@LOOPS.rule("SSD-CONN-015", severity=INFO, basis=DERIVED, source="SSP 2.0 §5.3.2")
def algebraic_loops(structure: Structure) -> Iterator[Finding]:
    """Signals do not depend on themselves at one instant.

    If each of two components needs the other's output to compute its own, their outputs are unknowns of a system of
    equations, which has to be solved at every communication point. That is legal, and ssptool solves it; other tools
    may not. Dependencies are those that the FMUs declare; one that declares nothing depends on everything.

    Fix: nothing has to be; `ssptool graph` says what closes the loop.
    """
    graph, wires = _graph(structure)
    for signals in cyclic_components(graph):
        left = {signal: list(after) for signal, after in induced(graph, signals).adjacency()}
        while cycle := _cycle(left):
            path = " → ".join(_name(signal) for signal in reversed(cycle))
            wired = [wires[wire] for wire in pairwise(cycle) if wire in wires]
            yield Finding(min(wired, key=structure.line_of), f"algebraic loop: {path}")
            for signal in cycle:
                left.pop(signal, None)


Graph: TypeAlias = "DiGraph[Signal]"
"""An edge leads from a signal to one that it directly depends on."""


def _graph(structure: Structure) -> tuple[Graph, dict[tuple[Signal, Signal], ssd.Connection]]:
    from networkx import DiGraph

    graph: Graph = DiGraph()
    wires = {}
    # Only between parts that feed each other can there be loops, so that the rest is left out.
    near = between_cycles(signal_flow(structure))
    for system in structure.root.systems() if near else ():
        for link in links(system, structure):
            if link.flow is not None and any(vertex_of(end, structure) in near for end in link.flow):
                source, destination = ((end.owner, end.name) for end in link.flow)
                graph.add_edge(destination, source)
                wires[destination, source] = link.connection
        for component in system.elements:
            description = structure.fmu_of(component) if component in near else None
            if description is not None:
                _add_feedthrough(graph, component, description)
    return graph, wires


def _add_feedthrough(graph: Graph, component: ssd.SystemElement, description: FmuDescription) -> None:
    names = dict.fromkeys(connector.name for connector in component.connectors)
    inputs = {name: place for place, name in enumerate(names) if _is(description, name, Causality.INPUT)}
    for output in names:
        if _is(description, output, Causality.OUTPUT):
            declared = description.outputs.get(output)
            needed = inputs if declared is None else sorted(declared & inputs.keys(), key=inputs.__getitem__)
            for name in needed:
                graph.add_edge((component, output), (component, name))


def _is(description: FmuDescription, name: str, causality: Causality) -> bool:
    variable = description.variables.get(name)
    return variable is not None and variable.causality is causality


def _cycle(graph: Mapping[Signal, Iterable[Signal]]) -> list[Signal]:
    """Signals each of which depends on the one behind it, the first one again at the end; none if there are none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        # Each is a predecessor of the next there.
        cycle: list[Signal] = found.args[1]
        return cycle[::-1]
    return []


def _name(signal: Signal) -> str:
    return f"{signal[0].name}.{signal[1]}"
