"""Clocks of an exported system: its own connectors of type Clock, and exposed clocks of components."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ssptool.documents.vocabulary import IntervalVariability
from ssptool.engine.failure import Unsupported
from ssptool.engine.planning.events import CLOCK, NO_EVENT_MODES, EventModes, clock_wires
from ssptool.engine.planning.plan import Plan
from ssptool.exporting.interface import ExportedClock, ExportedVariable
from ssptool.fmu.description import Causality, Variability, clock_time
from ssptool.network.network import Port, Signal, Wire

_OF_SYSTEM = (IntervalVariability.TRIGGERED, IntervalVariability.CONSTANT)
"""Interval variabilities of input clocks of an exported system; for others, it would have to provide the intervals."""


def _offered(plan: Plan) -> EventModes:
    """The event modes that importers can use."""
    return plan.event_modes if plan.ode is None else NO_EVENT_MODES


def clocks_of_components(plan: Plan) -> frozenset[Signal]:
    """Clocks that tick in an event mode that importers can use."""
    members = _offered(plan).members.values()
    return frozenset(Signal(member.name, clock.name) for member in members for clock in member.clocks)


def output_clocks(plan: Plan, component: str) -> Iterator[Signal]:
    """Output clocks of a component in such an event mode."""
    member = _offered(plan).members.get(component)
    for clock in () if member is None else member.ticking:
        yield Signal(component, clock.name)


def own_clock(plan: Plan, port: Port) -> ExportedVariable | None:
    """The variable of a system connector of type Clock; None if no connected clock ticks."""
    known = clocks_of_components(plan)
    wires = [wire for wire in _root_clock_wires(plan) if port.signal in (wire.source, wire.destination)]
    triggers = tuple(wire.destination for wire in wires if wire.destination in known)
    source = next((wire.source for wire in wires if wire.source in known), None)
    if port.kind == "input" and triggers:
        stated = {"intervalVariability": str(IntervalVariability.TRIGGERED), **dict(port.clock)}
        clock = ExportedClock(stated, clock_time(stated, "interval"), clock_time(stated, "shift"), triggers)
        return _clock(port.signal, Causality.INPUT, port.description, clock)
    if port.kind == "output" and source is not None:
        return _clock(port.signal, Causality.OUTPUT, port.description, ExportedClock(source=source))
    return None


def exposed_clock(plan: Plan, signal: Signal) -> ExportedVariable:
    """A clock of a component as an output clock, whatever its causality: both tick together."""
    description = plan.network.variable(signal).description
    return _clock(signal, Causality.OUTPUT, description, ExportedClock(source=signal))


def _clock(signal: Signal, causality: Causality, description: str, clock: ExportedClock) -> ExportedVariable:
    return ExportedVariable(
        name=str(signal) if signal.component else signal.variable,
        signal=signal,
        type=CLOCK,
        causality=causality,
        variability=Variability.DISCRETE,
        unit=None,
        description=description,
        clock=clock,
    )


def _root_clock_wires(plan: Plan) -> Iterator[Wire]:
    """Wires between clocks of the system and clocks of components."""
    own = plan.network.own_clocks
    for wire in (*plan.network.wires, *plan.network.dangling):
        if wire.source in own or wire.destination in own:
            yield wire


def clock_problems(plan: Plan) -> Iterator[Unsupported]:
    """Clocks of the system that an exported FMU does not support."""
    known = clocks_of_components(plan)
    for wire in _root_clock_wires(plan):
        own, other = (wire.destination, wire.source) if wire.source.component else (wire.source, wire.destination)
        if other.component in plan.network.components and other not in known:
            integrated = other.component in {one.name for one in plan.integrated}
            where = "of a component of model exchange" if integrated else "in a mixed system"
            what = f"the clock {other} {where} cannot be a clock of an exported FMU"
            yield Unsupported(f"connector {own.variable}", what, "remove the connection")
        elif not other.component:
            what = "a connection of two clocks of the system is not supported in an exported FMU"
            yield Unsupported(f"connector {own.variable}", what, "remove the connection")
    for port in plan.network.ports:
        stated = dict(port.clock)
        kind = IntervalVariability(stated.get("intervalVariability", IntervalVariability.TRIGGERED))
        if port.type != CLOCK or port.kind != "input":
            continue
        if kind not in _OF_SYSTEM:
            what = f"{kind} clocks of the system are not supported in an exported FMU"
            yield Unsupported(f"connector {port.signal.variable}", what, "declare it as a triggered or constant clock")
        elif kind is IntervalVariability.CONSTANT and clock_time(stated, "interval") is None:
            yield Unsupported(
                f"connector {port.signal.variable}",
                "a constant clock needs an interval",
                "state the interval of the clock",
            )


def with_clocks(plan: Plan, variables: Sequence[ExportedVariable]) -> tuple[ExportedVariable, ...]:
    """The variables with the numbers of their clocks: all clocks at which a variable can change must be variables
    too.
    """
    own = {clock: number for number, one in enumerate(variables) for clock in _followed(one.clock)}
    sources = {other: clock for clock, found in clock_wires(plan.network).items() for other in found}
    clocked = {
        one.signal: tuple(Signal(one.signal.component, name) for name in one.clocks)
        for member in plan.event_modes.members.values()
        for one in (*member.inputs, *member.outputs)
    }
    ends = ends_of_connectors(plan)

    def number(clock: Signal) -> int | None:
        return own.get(clock, own.get(sources.get(clock, clock)))

    def clocks_of(variable: ExportedVariable) -> tuple[int, ...]:
        signals = [end for slot in variable.slots for end in ends.get(plan.signals[slot], (plan.signals[slot],))]
        found = [clocked.get(signal, ()) for signal in signals]
        numbers = {number(clock) for clocks in found for clock in clocks}
        known = {one for one in numbers if one is not None}
        return tuple(sorted(known)) if found and all(found) and known == numbers else ()

    return tuple(replace(one, clocks=clocks_of(one)) if one.slots else one for one in variables)


def _followed(clock: ExportedClock | None) -> tuple[Signal, ...]:
    """Clocks of components that tick together with this one."""
    if clock is None:
        return ()
    return clock.triggers if clock.source is None else (clock.source,)


def ends_of_connectors(plan: Plan) -> Mapping[Signal, Sequence[Signal]]:
    """Signal of the system → signals of components at the other ends of its wires."""
    found: dict[Signal, list[Signal]] = defaultdict(list)
    for wire in plan.network.wires:
        if not wire.source.component:
            found[wire.source].append(wire.destination)
        if not wire.destination.component:
            found[wire.destination].append(wire.source)
    return found


def at_events_only(plan: Plan, ends: Sequence[Signal]) -> bool:
    """True if a signal of the system changes only at events: all its destinations are set there, or its source is
    discrete.
    """
    discrete = plan.event_modes.inputs | plan.event_modes.outputs
    return bool(ends) and all(end in discrete or _is_discrete_output(plan, end) for end in ends)


def _is_discrete_output(plan: Plan, signal: Signal) -> bool:
    if signal.component not in plan.event_modes.members:
        return False
    variable = plan.network.variable(signal)
    return variable.causality is Causality.OUTPUT and variable.variability is Variability.DISCRETE
