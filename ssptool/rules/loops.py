"""Algebraic loops, found without solving anything (SSP 2.0 §5.3.2)."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ssptool.documents import ssd
from ssptool.fmu.description import Causality, FmuDescription
from ssptool.rules.catalogue import DERIVED, INFO, Finding, rule
from ssptool.rules.links import links
from ssptool.rules.subjects import Structure

Signal = tuple[ssd.SystemElement, str]


@rule("SSD-CONN-015", severity=INFO, basis=DERIVED, source="SSP 2.0 §5.3.2")
def algebraic_loops(structure: Structure) -> Iterator[Finding]:
    """Signals do not depend on themselves at one instant.

    If each of two components needs the other's output to compute its own, their outputs are unknowns of a system of
    equations, which has to be solved at every communication point. That is legal, and ssptool solves it; other tools
    may not. Dependencies are those that the FMUs declare; one that declares nothing depends on everything.

    Fix: nothing has to be; `ssptool graph` says what closes the loop.
    """
    graph, wires = _graph(structure)
    _prune(graph)
    while cycle := _cycle(graph):
        path = " → ".join(_name(signal) for signal in reversed(cycle))
        wired = [wires[wire] for wire in pairwise(cycle) if wire in wires]
        yield Finding(min(wired, key=structure.line_of), f"algebraic loop: {path}")
        for signal in cycle:
            graph.pop(signal, None)


Graph = dict[Signal, set[Signal]]
"""What each signal directly depends on."""


def _graph(structure: Structure) -> tuple[Graph, dict[tuple[Signal, Signal], ssd.Connection]]:
    graph: Graph = {}
    wires = {}
    for system in structure.root.systems():
        for link in links(system, structure):
            if link.flow is not None:
                source, destination = ((end.owner, end.end.connector) for end in link.flow)
                graph.setdefault(destination, set()).add(source)
                wires[destination, source] = link.connection
        for component in system.elements:
            description = structure.fmu_of(component)
            if description is not None:
                _add_feedthrough(graph, component, description)
    return graph, wires


def _prune(graph: Graph) -> None:
    """Drop signals on which nothing depends, or which depend on nothing: most of a large system, and in no loop."""
    while True:
        before = len(graph)
        needed = set().union(*graph.values())
        for signal in [signal for signal in graph if signal not in needed]:
            del graph[signal]
        for sources in graph.values():
            sources &= graph.keys()
        for signal in [signal for signal, sources in graph.items() if not sources]:
            del graph[signal]
        if len(graph) == before:
            return


def _add_feedthrough(graph: Graph, component: ssd.SystemElement, description: FmuDescription) -> None:
    names = {connector.name for connector in component.connectors}
    inputs = {name for name in names if _is(description, name, Causality.INPUT)}
    for output in names:
        if _is(description, output, Causality.OUTPUT):
            declared = description.outputs.get(output)
            needed = inputs if declared is None else inputs & declared
            graph.setdefault((component, output), set()).update((component, name) for name in needed)


def _is(description: FmuDescription, name: str, causality: Causality) -> bool:
    variable = description.variables.get(name)
    return variable is not None and variable.causality is causality


def _cycle(graph: Graph) -> list[Signal]:
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
