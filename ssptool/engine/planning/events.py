"""Components in event mode, their clocks, and the connections that are exchanged only at events."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.engine.kernel.calls import ACCESS
from ssptool.engine.masters.registry import SAVES, VARIES_STEP
from ssptool.fmu.description import (
    Causality,
    FmuClock,
    Interface,
    InterfaceType,
    Variability,
    Variable,
    clock_in_system,
    clock_of,
)
from ssptool.network.network import FlatComponent, Network, Port, Signal, Wire


def clock_in(component: FlatComponent, variable: Variable) -> FmuClock:
    """Clock of a variable of type Clock, with the properties of its connector, if it has one.

    Raises
    ------
    Unsupported
        Clock and connector contradict each other.
    """
    stated = {port.signal.variable: port.clock for port in component.ports}
    try:
        return clock_in_system(clock_of(variable), variable, stated.get(variable.name, ()))
    except ValueError as error:
        raise Unsupported(
            f"component {component.name}", str(error), "correct the connector, or ask for a corrected FMU"
        ) from None


def is_triggered(variable: Variable) -> bool:
    """True if a variable of type Clock is triggered."""
    return clock_of(variable).triggered


CLOCK = "Clock"


@dataclass(frozen=True, slots=True)
class Clocked:
    """A signal that changes only at events; with `clocks`, only when one of them ticks."""

    signal: Signal
    clocks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EventMember:
    """A component that uses event mode.

    Attributes
    ----------
    inputs
        Inputs that are set in event mode only.
    outputs
        Outputs that may be read only when a clock of theirs ticks.
    timed, triggered, ticking
        Input clocks that tick at known times, input clocks that something triggers, and output clocks.
    returns_early
        True if its steps may end early, at an event.
    """

    name: str
    inputs: tuple[Clocked, ...]
    outputs: tuple[Clocked, ...]
    timed: "tuple[FmuClock, ...]" = ()
    triggered: "tuple[FmuClock, ...]" = ()
    ticking: "tuple[FmuClock, ...]" = ()
    returns_early: bool = False

    @property
    def clocks(self) -> "tuple[FmuClock, ...]":
        return (*self.timed, *self.triggered, *self.ticking)


@dataclass(frozen=True, slots=True)
class EventModes:
    """Members of event mode by name, the wires into their event inputs, and those between clocks, from source to
    destinations. `rolls_back`: after an early end of a step, all other components can be restored to its start.
    `leader`: if they cannot, this component steps before them and is the only one that may end a step early.
    `with_ode`: events of model exchange are events of the whole system, and those components that exchange something at
    events are members too.
    """

    members: Mapping[str, EventMember] = field(default_factory=dict)
    wires: tuple[Wire, ...] = ()
    clock_wires: Mapping[Signal, tuple[Signal, ...]] = field(default_factory=dict)
    rolls_back: bool = False
    leader: str = ""
    with_ode: bool = False
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.members) or self.with_ode

    @property
    def outputs(self) -> frozenset[Signal]:
        """Outputs that are constant between events."""
        return frozenset(one.signal for member in self.members.values() for one in member.outputs)

    @property
    def signals(self) -> frozenset[Signal]:
        """Signals that change only at events, including clocks."""
        clocks = (Signal(member.name, clock.name) for member in self.members.values() for clock in member.clocks)
        return self.inputs | self.outputs | frozenset(clocks)

    @property
    def inputs(self) -> frozenset[Signal]:
        return frozenset(one.signal for member in self.members.values() for one in member.inputs)

    def beside(self, other: "EventModes") -> "EventModes":
        """Members of both, and wires into their event inputs."""
        return replace(self, members={**self.members, **other.members}, wires=(*self.wires, *other.wires))

    def between_events(self, network: Network) -> Network:
        """The network with only those wires that act between events."""
        inputs, clocks = self.inputs, clock_signals(network)
        if not inputs and not clocks:
            return network
        wires = tuple(
            wire
            for wire in network.wires
            if wire.destination not in inputs and wire.source not in clocks and wire.destination not in clocks
        )
        return network if len(wires) == len(network.wires) else replace(network, wires=wires)


NO_EVENT_MODES = EventModes()


def plan_event_modes(network: Network, implementations: Mapping[str, InterfaceType]) -> EventModes:
    """Components in event mode: FMI 3.0 co-simulation components that offer it and need it, because they have
    connectors that are clocks or belong to clocks, clocks that tick at known times, or discrete inputs and outputs.

    FMUs that accept only one step size exclude event mode. A component with discrete variables but no clocks then
    handles its events itself, as if it had no event mode; clocks are unsupported. FMUs with a fixed internal step
    exclude the event mode of others, unless these have clocks.

    Raises
    ------
    Unsupported, UnsupportedByFmu
        Connected clocks cannot tick.
    """
    _refuse_clocks(network, implementations)
    wanted = {
        name: component
        for name, component in network.components.items()
        if _offers(component, implementations[name]) and (_has_clocks(component) or _has_discrete(component))
    }
    ticking = any(map(_has_clocks, wanted.values()))
    fixed = [
        name
        for name, component in network.components.items()
        if (one := component.description.interface(implementations[name])) is not None
        and implementations[name] is InterfaceType.CO_SIMULATION
        and not (one.variable_step if ticking or list(wanted) == [name] else one.any_step)
    ]
    notes: tuple[str, ...] = ()
    if wanted and fixed:
        _refuse_ticks(wanted, fixed[0])
        why = f"{fixed[0]} accepts steps of one size only"
        notes = (f"events of {', '.join(wanted)} are handled inside their own steps, because {why}",)
        wanted = {}
    if not wanted:
        return EventModes(notes=notes)
    # No other component has to go back.
    rolls_back = not _unable(network, implementations) or len(network.components) == 1
    members = {name: event_member(component, returns_early=rolls_back) for name, component in wanted.items()}
    inputs = {one.signal for member in members.values() for one in member.inputs}
    return EventModes(
        members,
        tuple(wire for wire in network.wires if wire.destination in inputs),
        clock_wires(network),
        rolls_back,
    )


def with_leader(
    events: EventModes, network: Network, implementations: Mapping[str, InterfaceType], *, follows: bool
) -> EventModes:
    """The event modes with the one component that may end a step early, if the master `follows` a leader."""
    if not events.members or events.rolls_back:
        return events
    leader = _leader(events, network) if follows else ""
    late = [name for name in events.members if name != leader]
    why = f"because not every FMU {SAVES}: {', '.join(_unable(network, implementations))}"
    whose = f"events of {', '.join(late)}" if leader else "events"
    notes = (f"{whose} inside a macro step are handled at its end, {why}",) if late else ()
    members = {name: replace(one, returns_early=name == leader) for name, one in events.members.items()}
    return replace(events, members=members, leader=leader, notes=(*events.notes, *notes))


def _leader(events: EventModes, network: Network) -> str:
    """The only member, or the only one that declares that it may end a step early; otherwise empty."""
    names = list(events.members)
    if len(names) > 1:
        found = ((name, network.components[name].description.co_simulation) for name in names)
        names = [name for name, one in found if one is not None and one.may_return_early]
    return names[0] if len(names) == 1 else ""


def _unable(network: Network, implementations: Mapping[str, InterfaceType]) -> list[str]:
    """Components whose state cannot be restored."""
    return [name for name, component in network.components.items() if not saves(component, implementations[name])]


def _refuse_ticks(wanted: Mapping[str, FlatComponent], fixed: str) -> None:
    """Raise an error for a component with clocks, because macro steps cannot end at their ticks."""
    for name, component in wanted.items():
        if _has_clocks(component):
            raise UnsupportedByFmu(fixed, VARIES_STEP, f"event mode, for the clocks of {name},", "no clocks")


def clock_signals(network: Network) -> frozenset[Signal]:
    ports = network.every_port() if CLOCK in network.types else ()
    return frozenset(port.signal for port in ports if port.type == CLOCK)


def _offers(component: FlatComponent, kind: InterfaceType) -> bool:
    interface = component.description.co_simulation
    simulated = kind is InterfaceType.CO_SIMULATION and component.description.fmi_major == 3
    return simulated and interface is not None and interface.event_mode


def saves(component: FlatComponent, kind: InterfaceType) -> bool:
    """True if the state of a component can be restored to that at the start of a macro step."""
    interface: Interface | None = component.description.interface(kind)
    # The integrator restores components of model exchange.
    return kind is InterfaceType.MODEL_EXCHANGE or (interface is not None and interface.saves_state)


def _has_clocks(component: FlatComponent) -> bool:
    return any(_clock_like(variable) for _, variable in _exchanged(component)) or bool(_timed(component))


def _clock_like(variable: Variable) -> bool:
    return variable.type == CLOCK or bool(variable.clocks)


def _has_discrete(component: FlatComponent) -> bool:
    return any(variable.variability is Variability.DISCRETE for _, variable in _exchanged(component))


def _at_events(port: Port, variable: Variable) -> bool:
    continuous = variable.variability is Variability.CONTINUOUS
    return bool(variable.clocks) or (port.kind == "input" and not continuous)


def _exchanged(component: FlatComponent) -> Iterator[tuple[Port, Variable]]:
    variables = component.description.variables
    for port in component.ports:
        if port.kind in ("input", "output") and port.signal.variable in variables:
            yield port, variables[port.signal.variable]


def _timed(component: FlatComponent) -> "tuple[FmuClock, ...]":
    """Timed clocks, including those without a connector, which tick as well."""
    return tuple(clock for clock in _clocks(component, Causality.INPUT) if not clock.triggered)


def _clocks(component: FlatComponent, causality: Causality) -> "Iterator[FmuClock]":
    for variable in component.description.variables.values():
        if variable.type == CLOCK and variable.causality is causality:
            yield clock_in(component, variable)


def event_member(component: FlatComponent, *, returns_early: bool = False) -> EventMember:
    """Variables that a component sets and gets at events, and its clocks that tick."""
    inputs: list[Clocked] = []
    outputs: list[Clocked] = []
    for port, variable in _exchanged(component):
        if variable.type not in ACCESS[3]:
            continue
        one = Clocked(port.signal, variable.clocks)
        if _at_events(port, variable):
            (inputs if port.kind == "input" else outputs).append(one)
    connected = {port.signal.variable for port in component.ports if port.type == CLOCK}
    own = {name for one in (*inputs, *outputs) for name in one.clocks}
    return EventMember(
        name=component.name,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        timed=_timed(component),
        triggered=tuple(clock for clock in _clocks(component, Causality.INPUT) if clock.triggered),
        ticking=tuple(clock for clock in _clocks(component, Causality.OUTPUT) if clock.name in connected | own),
        returns_early=returns_early,
    )


def clock_wires(network: Network) -> Mapping[Signal, tuple[Signal, ...]]:
    """Clocks that each clock triggers."""
    clocks = clock_signals(network)
    found: dict[Signal, tuple[Signal, ...]] = {}
    for wire in network.wires:
        if wire.source in clocks and wire.destination.component:
            found[wire.source] = (*found.get(wire.source, ()), wire.destination)
    return found


def _refuse_clocks(network: Network, implementations: Mapping[str, InterfaceType]) -> None:
    """Raise an error for connected clocks that cannot tick."""
    own = network.own_clocks
    if not own and not any(_clock_like(one) for fmu in network.descriptions for one in fmu.variables.values()):
        return
    for wire in network.wires:
        ends = {signal: _is_clock(network, own, signal) for signal in (wire.source, wire.destination)}
        if any(ends.values()):
            for signal, is_clock in ends.items():
                reason = _cannot_tick(network, implementations, signal) if is_clock else f"{signal} is not a clock"
                if reason is not None:
                    raise Unsupported(f"connection {wire.source} → {wire.destination}", reason, "remove the connection")
            _check_trigger(network, wire)
    for name, component in network.components.items():
        for port, variable in _exchanged(component):
            if variable.clocks and not _ticks(component, implementations[name]) and _is_wired(network, port.signal):
                raise Unsupported(
                    f"connector {port.signal}",
                    f"it belongs to the clock {variable.clocks[0]}, which ticks in event mode only; the "
                    "co-simulation interface of the FMU has no event mode",
                    "ask for an FMU with hasEventMode, or run the component as model exchange",
                )


def _ticks(component: FlatComponent, kind: InterfaceType) -> bool:
    """True if clocks of the component tick in event mode, which model exchange always has."""
    return kind is InterfaceType.MODEL_EXCHANGE or _offers(component, kind)


def _is_wired(network: Network, signal: Signal) -> bool:
    return any(signal in (wire.source, wire.destination) for wire in network.wires)


def _is_clock(network: Network, own: Collection[Signal], signal: Signal) -> bool:
    component = network.components.get(signal.component)
    if component is None:
        return signal in own
    variable = component.description.variables.get(signal.variable)
    return variable is not None and variable.type == CLOCK


def _cannot_tick(network: Network, implementations: Mapping[str, InterfaceType], signal: Signal) -> str | None:
    component = network.components.get(signal.component)
    if component is None:
        return None  # the importer of the exported system ticks it
    if not _ticks(component, implementations[component.name]):
        return f"clocks tick in event mode, which the co-simulation of component {component.name} does not offer"
    return None


def _check_trigger(network: Network, wire: Wire) -> None:
    destination = wire.destination
    if not destination.component:
        return
    variable = network.variable(destination)
    if variable.causality is not Causality.INPUT or not is_triggered(variable):
        raise Unsupported(
            f"connection {wire.source} → {destination}",
            f"{destination} is time-based, so no connection can trigger it",
            "connect to a triggered input clock",
        )


def plan_ode_events(network: Network, implementations: Mapping[str, InterfaceType]) -> EventModes:
    """Components of the ODE with events: those with clocks, or with inputs that are not continuous and may therefore be
    set in event mode only.

    References
    ----------
    FMI 2.0.4 §3.2.3, FMI 3.0 §3.2 (which variables may be set in continuous-time mode).
    """
    integrated = [
        component
        for name, component in network.components.items()
        if implementations[name] is InterfaceType.MODEL_EXCHANGE
    ]
    members = {component.name: event_member(component) for component in integrated}
    members = {name: member for name, member in members.items() if member.inputs or member.outputs or member.clocks}
    inputs = {one.signal for member in members.values() for one in member.inputs}
    triggered = {source: found for source, found in clock_wires(network).items() if source.component in members}
    return EventModes(members, tuple(wire for wire in network.wires if wire.destination in inputs), triggered)
