"""Variables of an exported system: its own connectors, and those of its components that are exposed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import chain, count
from typing import NamedTuple

from ssptool.engine.kernel.interface import ACCESS, NOTHING
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.errors import WrongUsage, similar_names
from ssptool.fmu.description import Causality, Value, Variability, Variable
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.network import IDENTITY, Conversion, Port, Signal


@dataclass(frozen=True, slots=True)
class PartVariable:
    """A variable of a part that a variable of the system sets or shows, converted; `suffix` is that of FMI's functions
    for its type.
    """

    part: int
    reference: int
    suffix: str
    conversion: Conversion = IDENTITY


class ContinuousRole(StrEnum):
    """The vector of model exchange that a variable belongs to."""

    STATE = "state"
    DERIVATIVE = "derivative"
    INDICATOR = "indicator"


class ContinuousPlace(NamedTuple):
    """The place of a variable in a vector of model exchange."""

    role: ContinuousRole
    number: int


@dataclass(frozen=True, slots=True)
class ExportedVariable:
    """A variable of the exported system; its place among all is its value reference.

    Attributes
    ----------
    type
        As FMI 3.0 spells it.
    start
        Of inputs and parameters; None for what is calculated.
    slot
        Where the kernel has it; None if only parts know it, the `targets`.
    continuous
        Its place among the states, derivatives or event indicators of the system, if it is one of these.
    """

    name: str
    signal: Signal
    type: str
    causality: Causality
    variability: Variability
    unit: str | None
    description: str
    start: Value | None = None
    nominal: float = 1.0
    slot: int | None = None
    targets: tuple[PartVariable, ...] = ()
    items: tuple[tuple[str, int], ...] = ()
    continuous: ContinuousPlace | None = None


class UnknownPattern(WrongUsage):
    """No variable of a component matches a pattern of what is to be exposed."""

    def __init__(self, pattern: str, near: Sequence[str]) -> None:
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"--expose {pattern}: no component has such a variable{hint}")
        self.pattern = pattern


def exported_variables(plan: Plan, patterns: Sequence[str]) -> tuple[ExportedVariable, ...]:
    """The connectors of the system itself, then what the patterns of full names expose. A system without connectors
    that is exported without patterns exposes the outputs of its components.

    Raises
    ------
    UnknownPattern
        A pattern matches nothing.
    """
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    own = tuple(_own(plan, slots))
    if not own and not patterns:
        outputs = (signal for one in plan.instances for signal in (*one.outputs, *_of_clocks(plan, one)))
        return tuple(_inner(plan, slots, signal) for signal in outputs)
    chosen = dict.fromkeys(signal for pattern in patterns for signal in _matching(plan, pattern))
    return (*own, *(_inner(plan, slots, signal) for signal in chosen))


def _of_clocks(plan: Plan, one: PlannedInstance) -> Iterator[Signal]:
    """Outputs that change when a clock ticks only."""
    member = plan.event_modes.members.get(one.name)
    return (clocked.signal for clocked in (() if member is None else member.outputs))


def independent(variables: Sequence[ExportedVariable]) -> ExportedVariable:
    """The independent variable [s], which FMI 3.0 demands, beside the variables of a system; its name is free there."""
    taken = {one.name for one in variables}
    name = next(name for name in chain(["time"], (f"time_{number}" for number in count(1))) if name not in taken)
    return ExportedVariable(
        name=name,
        signal=Signal("", name),
        type="Float64",
        causality=Causality.INDEPENDENT,
        variability=Variability.CONTINUOUS,
        unit="s",
        description="simulation time",
    )


def root_starts(plan: Plan) -> Mapping[int, Value]:
    """Slot → start value of each input of the system."""
    inputs = {slot for slot, signal in enumerate(plan.signals) if not signal.component}
    return {slot: value for slot, value in {**plan.constants, **plan.guesses}.items() if slot in inputs}


def _own(plan: Plan, slots: Mapping[Signal, int]) -> Iterator[ExportedVariable]:
    starts = root_starts(plan)
    for port in plan.network.ports:
        if port.kind in ("input", "output") and port.signal in slots:
            slot = slots[port.signal]
            yield ExportedVariable(
                name=port.signal.variable,
                signal=port.signal,
                type=port.type,
                causality=Causality(port.kind),
                variability=_of_type(port.type),
                unit=port.unit,
                description=port.description,
                start=starts.get(slot) if port.kind == "input" else None,
                nominal=_nominal(plan, slot),
                slot=slot,
                items=_items(plan, port),
            )
        elif port.kind == "parameter" and (found := _own_parameter(plan, port)) is not None:
            yield found


def _nominal(plan: Plan, slot: int) -> float:
    """The nominal value of a connector of the system is that of the component at its other end, in its own unit."""
    for wire in plan.wires:
        if wire.source == slot and wire.conversion.factor:
            return plan.nominal[wire.destination] / abs(wire.conversion.factor)
        if wire.destination == slot and wire.conversion.factor:
            return plan.nominal[wire.source] * abs(wire.conversion.factor)
    return plan.nominal[slot]


def _own_parameter(plan: Plan, port: Port) -> ExportedVariable | None:
    """A parameter of the system, if it leads to parameters of components; these have its value already."""
    numbers = {one.name: number for number, one in enumerate(plan.instances)}
    wires = [wire for wire in plan.network.dangling if wire.source == port.signal and wire.destination.component]
    targets = []
    for wire in wires:
        if wire.destination.component in numbers:
            number = numbers[wire.destination.component]
            variable = plan.instances[number].description.variables[wire.destination.variable]
            targets.append(_target(plan.instances[number], number, variable, wire.conversion))
    given = plan.network.assignments.get(port.signal)
    if not targets or given is None:
        return None
    return ExportedVariable(
        name=port.signal.variable,
        signal=port.signal,
        type=port.type,
        causality=Causality.PARAMETER,
        variability=Variability.FIXED,
        unit=port.unit,
        description=port.description,
        start=given.value,
        targets=tuple(targets),
        items=_items(plan, port),
    )


def _items(plan: Plan, port: Port) -> tuple[tuple[str, int], ...]:
    """Items of an enumeration, as the component has them to which the connector leads or that leads to it."""
    for wire in plan.network.wires:
        if port.type == "Enumeration" and port.signal in (wire.source, wire.destination):
            other = wire.destination if wire.source == port.signal else wire.source
            component = plan.network.components.get(other.component)
            if component is not None:
                return tuple(component.description.variables[other.variable].items.items())
    return ()


def _matching(plan: Plan, pattern: str) -> list[Signal]:
    names = {
        str(signal): signal
        for one in plan.instances
        for name, variable in one.description.variables.items()
        if variable.type in ACCESS[one.description.fmi_major] and not variable.shape
        for signal in [Signal(one.name, name)]
    }
    if pattern in names:  # such as Plant.x[1], which is a pattern too
        found = [names[pattern]]
    else:
        found = [signal for name, signal in names.items() if fnmatchcase(name, pattern)]
    if not found:
        raise UnknownPattern(pattern, similar_names(pattern, list(names)))
    return found


def _inner(plan: Plan, slots: Mapping[Signal, int], signal: Signal) -> ExportedVariable:
    number = next(number for number, one in enumerate(plan.instances) if one.name == signal.component)
    one = plan.instances[number]
    variable = one.description.variables[signal.variable]
    parameter = variable.causality is Causality.PARAMETER  # structural ones are settled when the system is exported
    shown = Causality.OUTPUT if variable.causality is Causality.OUTPUT else Causality.LOCAL
    start = one.starts.get(variable.name, variable.start) if parameter else None
    return ExportedVariable(
        name=str(signal),
        signal=signal,
        type=variable.type,
        causality=Causality.PARAMETER if parameter else shown,
        variability=_shown_variability(variable, shown),
        unit=variable.unit,
        description=variable.description,
        start=NOTHING.get(variable.type, 0) if parameter and start is None else start,
        nominal=variable.nominal,
        slot=slots.get(signal),
        targets=() if signal in slots else (_target(one, number, variable),),
        items=tuple(variable.items.items()),
    )


def _shown_variability(variable: Variable, shown: Causality) -> Variability:
    """Constants are calculated by the system for whoever asks, so they are fixed, or outputs that do not change."""
    if variable.variability is not Variability.CONSTANT:
        return variable.variability
    return _of_type(variable.type) if shown is Causality.OUTPUT else Variability.FIXED


def _target(one: PlannedInstance, number: int, variable: Variable, conversion: Conversion = IDENTITY) -> PartVariable:
    return PartVariable(number, variable.reference, ACCESS[one.description.fmi_major][variable.type], conversion)


def _of_type(kind: str) -> Variability:
    return Variability.CONTINUOUS if kind in ("Float64", "Float32") else Variability.DISCRETE


def known_units(plan: Plan) -> dict[str, PhysicalUnit]:
    """Units of the components' FMUs, by name; the first definition with base units wins."""
    found: dict[str, PhysicalUnit] = {}
    for one in plan.instances:
        for name, unit in one.description.units.items():
            if name not in found or found[name].exponents is None:
                found[name] = unit
    return found
