"""States, derivatives and event indicators of an exported system, and their dependencies at one instant."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import NamedTuple

import networkx as nx

from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.run.frozen_variables import NumberedParts, numbered_parts, part_variable
from ssptool.exporting.interface import ContinuousPlace, ContinuousRole, ExportedVariable, PartTarget
from ssptool.fmu.description import Causality, Variability, Variable
from ssptool.network.arrays import whole
from ssptool.network.dependencies import DependencyGraph, dependency_graph
from ssptool.network.network import FlatComponent, Signal
from ssptool.network.signal_graph import Stage, needs


def with_continuous(plan: Plan, variables: Sequence[ExportedVariable], fmi: int) -> tuple[ExportedVariable, ...]:
    """The variables of a system of model exchange: the given ones, its states, their derivatives and, for FMI 3.0, its
    event indicators, in the order of the vectors.

    A state or derivative that is already a variable is marked with its position in the vector; a derivative that is
    itself a state becomes another variable.
    """
    places = {
        **{one.signal: one.place for one in _vectors(plan) if one.place.role is ContinuousRole.DERIVATIVE},
        **{one.signal: one.place for one in _vectors(plan) if one.place.role is ContinuousRole.STATE},
    }
    known = tuple(replace(one, continuous=places.get(one.signal)) for one in variables)
    present = {one.continuous for one in known}
    parts = numbered_parts(plan)
    more = (_local(parts, one, places[one.signal]) for one in _vectors(plan) if one.place not in present)
    return (*known, *more, *(_indicators(plan) if fmi >= 3 else ()))


def indicator_counts(plan: Plan) -> tuple[int, ...]:
    """Numbers of event indicators, component by component."""
    return tuple(one.description.event_indicators for one in plan.integrated)


class _Element(NamedTuple):
    """An element of the state vector or of its derivative; `state` is the name of the state in its component."""

    component: PlannedInstance
    variable: Variable
    state: str
    place: ContinuousPlace

    @property
    def signal(self) -> Signal:
        return Signal(self.component.name, self.variable.name)


def _vectors(plan: Plan) -> Iterator[_Element]:
    """All states, then all derivatives."""
    pairs = [(one, slope) for one in plan.integrated for slope in one.description.state_derivatives]
    for number, (one, slope) in enumerate(pairs):
        state = one.description.variables[slope.derivative_of or ""]
        yield _Element(one, state, state.name, ContinuousPlace(ContinuousRole.STATE, number))
    for number, (one, slope) in enumerate(pairs):
        place = ContinuousPlace(ContinuousRole.DERIVATIVE, number)
        yield _Element(one, slope, slope.derivative_of or "", place)


def _local(parts: NumberedParts, element: _Element, first: ContinuousPlace) -> ExportedVariable:
    """A local variable for an element; `first` is the variable of its signal, which a derivative may share with a
    state.
    """
    one, variable = element.component, element.variable
    name = variable.name if element.place == first else f"der({element.state})"
    return ExportedVariable(
        name=str(Signal(one.name, name)),
        signal=element.signal,
        type="Float64",
        causality=Causality.LOCAL,
        variability=Variability.CONTINUOUS,
        unit=variable.unit,
        description=variable.description,
        nominal=variable.nominal,
        minimum=variable.minimum,
        maximum=variable.maximum,
        targets=(PartTarget(part_variable(parts, element.signal)),),
        continuous=element.place,
    )


def _indicators(plan: Plan) -> Iterator[ExportedVariable]:
    number = count()
    for one, indicators in zip(plan.integrated, indicator_counts(plan), strict=True):
        for own in range(indicators):
            name = f"event indicator {own}"
            yield ExportedVariable(
                name=str(Signal(one.name, name)),
                signal=Signal(one.name, name),
                type="Float64",
                causality=Causality.LOCAL,
                variability=Variability.CONTINUOUS,
                unit=None,
                description="",
                continuous=ContinuousPlace(ContinuousRole.INDICATOR, next(number)),
            )


@dataclass(frozen=True, slots=True)
class ContinuousDependencies:
    """Numbers of the inputs and states on which outputs and derivatives depend; states are known.

    Attributes
    ----------
    graph
        An edge points from a signal to one that needs it.
    knowns
        Inputs of the system and states (whole arrays, if they are elements of one) → numbers of variables.
    """

    graph: DependencyGraph
    knowns: Mapping[Signal, tuple[int, ...]]

    def of(self, signal: Signal) -> list[int]:
        """Numbers of variables that a signal needs, in order."""
        if signal in self.knowns and not self.graph.pred.get(signal):
            return list(self.knowns[signal])
        before = nx.ancestors(self.graph, signal) if signal in self.graph else set()
        return sorted(chain.from_iterable(self.knowns[one] for one in before & self.knowns.keys()))


def continuous_dependencies(plan: Plan, variables: Sequence[ExportedVariable]) -> ContinuousDependencies:
    """Dependencies in continuous-time mode, from the declarations of the FMUs and the connections."""
    graph = dependency_graph(plan.network, Stage.CONTINUOUS)
    arrays = plan.network.arrays
    inputs = {whole(port.signal, arrays) for port in plan.network.every_port() if port.kind == "input"}
    signals: dict[str, list[Signal]] = defaultdict(list)
    for signal in graph:
        signals[signal.component].append(signal)
    for one in plan.integrated:
        own = signals[one.name]
        _add_component(
            graph,
            plan.network.components[one.name],
            [signal.variable for signal in own if signal in inputs],
            [signal.variable for signal in own if signal not in inputs],
        )
    knowns: dict[Signal, tuple[int, ...]] = {}
    for number, variable in enumerate(variables):
        state = variable.continuous is not None and variable.continuous.role is ContinuousRole.STATE
        if state or variable.causality is Causality.INPUT:
            signal = whole(variable.signal, arrays)
            knowns[signal] = (*knowns.get(signal, ()), number)
    return ContinuousDependencies(graph, knowns)


def _add_component(
    graph: DependencyGraph, component: FlatComponent, inputs: Sequence[str], others: Sequence[str]
) -> None:
    """Edges from the states and inputs of a component to its outputs and derivatives."""
    description = component.description
    slopes = description.state_derivatives
    states = {_name(description.variables[slope.derivative_of or ""]): None for slope in slopes}
    for variable in others:
        if variable in states:
            continue
        needed = needs(component, variable, Stage.CONTINUOUS)
        known = states if needed is None else [state for state in states if state in needed]
        graph.add_edges_from((Signal(component.name, state), Signal(component.name, variable)) for state in known)
    for slope in slopes:
        declared = description.derivatives.get(_name(slope))
        reaching = [*states, *inputs]
        known = reaching if declared is None else [name for name in reaching if name in declared]
        graph.add_edges_from((Signal(component.name, name), Signal(component.name, _name(slope))) for name in known)


def _name(variable: Variable) -> str:
    """Name by which an FMU declares dependencies of the variable."""
    return variable.array or variable.name
