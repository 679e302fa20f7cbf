"""Events of components in event mode, their clocks, and the values that pass between them at events."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ssptool.engine.assembly.event_members import RunningMember
from ssptool.engine.failure import Ending, Failure, IntegrationStopped, wish_to_end
from ssptool.engine.kernel import native_events
from ssptool.engine.kernel.event_calls import (
    EventCalls,
    EventMemberCalls,
    EventVariables,
    EventWires,
    Refused,
    StopCode,
    Stopped,
)
from ssptool.engine.kernel.interface import NOTHING, Floats, InstanceTable, Kernel, signed_bits, write_slot
from ssptool.engine.masters.protocols import Updated
from ssptool.engine.planning.events import Clocked, EventModes
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.planning.stimuli import slot_override
from ssptool.engine.stimuli.stimuli import Stimuli
from ssptool.engine.stimuli.time_signals import SignalOverride, active
from ssptool.fmu.description import FmuClock
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.network.network import Signal, Wire

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeEvents


class Timer(NamedTuple):
    """A clock that ticks at known times: the number of its instance, and the time of its next tick [s]."""

    member: int
    clock: FmuClock
    next_time: float


class ClockSchedule:
    """The next ticks of all clocks, which the kernel has.

    Intervals that are stated are taken from the system or the model description, where a decimal number is exact;
    others are asked of the FMU in initialization mode. Those of changing clocks are asked again after each of their
    ticks, those of countdown clocks, and of tunable ones that the FMU decides on, after each event iteration (FMI 3.0
    §2.2.8). Sums of fractions are exact, so that ticks do not drift.
    """

    def __init__(self, events: "RunningEvents") -> None:
        self._events = events

    @property
    def next_time(self) -> float:
        """Time of the next tick of any clock [s]; inf if none is known."""
        return min((time for _, _, time in self._events.core.timers()), default=math.inf)

    def due(self, until: float) -> tuple[Timer, ...]:
        """Clocks that tick until this time [s]."""
        members = tuple(self._events.members.values())
        return tuple(
            Timer(members[place].index, members[place].planned.clocks[clock], time)
            for place, clock, time in self._events.core.due(until)
        )

    def begin(self) -> None:
        """Find the first ticks, and tell FMUs what the system states; in initialization mode.

        Raises
        ------
        FmiError, IntegrationStopped
            An FMU does not tell, or states that its clock has no interval.
        """
        with self._events.explained():
            self._events.core.begin(self._events.plan.interval.start)

    def save_state(self) -> list[str]:
        return [" ".join(map(_decimal, text.split())) for text in self._events.core.clock_state()]

    def restore_state(self, state: Iterable[str]) -> None:
        self._events.core.set_clock_state([" ".join(map(_hexadecimal, str(text).split())) for text in state])


def _decimal(time: str) -> str:
    if time == "-":
        return "None"
    numerator, denominator = time.split("/")
    return str(Fraction(int(numerator, 16), int(denominator, 16)))


def _hexadecimal(time: str) -> str:
    if time == "None":
        return "-"
    exact = Fraction(time)
    return f"{exact.numerator:x}/{exact.denominator:x}"


class EventOverrides:
    """Overrides by a scenario of connections that are exchanged at events; none before `go_to`."""

    def __init__(self, stimuli: Stimuli, inputs: Collection[Signal], events: "RunningEvents") -> None:
        self._connections = tuple(connection for connection in stimuli.connections if connection.destination in inputs)
        self._now: dict[Signal, tuple[SignalOverride | None, SignalOverride | None]] = {}
        self._events = events

    def go_to(self, t: float) -> None:
        """Apply the overrides that are in force at t [s] from now on."""
        for connection in self._connections:
            self._now[connection.destination] = active(connection.at_source, t), active(connection.at_destination, t)
        self.apply(self._events)

    def apply(self, events: "RunningEvents") -> None:
        """Let these events apply them from now on."""
        self._events = events
        for destination, (at_source, at_destination) in self._now.items():
            events.override_wire(destination, at_source, at_destination)


class RunningEvents:
    """Running instances in event mode, by the number of their instance; the kernel handles their events.

    Attributes
    ----------
    core
        The kernel's part.
    clock_schedule
        Times at which their clocks tick.
    overrides
        Overrides by a scenario of connections into their inputs.
    """

    core: "NativeEvents"

    def __init__(
        self,
        plan: Plan,
        kernel: Kernel,
        members: Iterable[RunningMember],
        modes: EventModes,
        tables: Sequence[InstanceTable],
    ) -> None:
        self.plan, self.kernel = plan, kernel
        self.members: Mapping[int, RunningMember] = {member.index: member for member in members}
        self.stepped = tuple(member for member in self.members.values() if member.step is not None)
        self._slots = {signal: slot for slot, signal in enumerate(plan.signals)}
        self._wires: Mapping[Signal, Wire] = {wire.destination: wire for wire in modes.wires}
        self._modes, self._tables = modes, tables
        self.core = native_events(kernel, self._calls())
        self.clock_schedule = ClockSchedule(self)
        self.overrides = EventOverrides(plan.stimuli, modes.inputs, self)

    def within(self, kernel: Kernel) -> "RunningEvents":
        """The same events in another kernel with the same slots; this object must not be used afterwards."""
        other = RunningEvents(self.plan, kernel, self.members.values(), self._modes, self._tables)
        other.core.set_clock_state(self.core.clock_state())
        other.overrides = self.overrides
        other.overrides.apply(other)
        return other

    @property
    def next_time(self) -> float:
        """Time of the next known tick or time event [s]."""
        return min((self.clock_schedule.next_time, *(member.next_time for member in self.members.values())))

    def present(self) -> None:
        """Give signals that are exchanged only at events their start values."""
        for member in self.members.values():
            planned = self.plan.instances[member.index]
            starts, variables = planned.starts, planned.description.variables
            for one in (*member.planned.inputs, *member.planned.outputs):
                value = starts.get(one.signal.variable, variables[one.signal.variable].start)
                kind = self.plan.types[self._slots[one.signal]]
                write_slot(self.kernel, self._slots[one.signal], kind, NOTHING.get(kind, 0) if value is None else value)

    def settle(
        self,
        nominal: Floats,
        evaluate: Callable[[float], None],
        update: Callable[[float], Sequence[Updated]],
        t: float,
        until: float,
    ) -> bool:
        """The event at t [s], with the ticks of all clocks that are due `until` then; whether anything has changed.

        Brings connected components in event mode to where they settle, and leaves them in event mode.

        Parameters
        ----------
        nominal : (slots,)
            Usual sizes of the signals.
        evaluate
            Everything else that is exchanged, at a time [s]. May raise `IntegrationStopped`.
        update
            The discrete states of all components, at a time [s]. May raise `IntegrationStopped`, `FmiError`.

        Raises
        ------
        IntegrationStopped
            The iteration does not settle, a component does not state when its clock ticks, or the bias of a scenario
            takes an integer out of its range.
        FmiError

        References
        ----------
        FMI 2.0.4 §3.2.3, FMI 3.0 §2.2.8 (clocks), §2.3.3 (event mode, fmi3UpdateDiscreteStates), §4.2.1.
        """
        with self.explained():
            return self.core.settle(nominal, evaluate, update, t, until)

    def update(self, t: float) -> list[Updated]:
        """Update the discrete states of all that are stepped. Raises `IntegrationStopped`, `FmiError`."""
        with self.explained():
            found = self.core.update(t)
        for member, time in zip(self.members.values(), self.core.next_times, strict=True):
            member.next_time = time
        return [Updated(name, again) for name, again in found]

    def propagate_at_start(self) -> list[Signal]:
        """In initialization mode, set inputs that belong to no clock; which have changed.

        Raises
        ------
        FmiError, IntegrationStopped
        """
        with self.explained():
            return [self.plan.signals[slot] for slot in self.core.propagate_at_start(self.plan.interval.start)]

    def enter(self) -> None:
        with self.explained():
            self.core.enter()

    def leave(self) -> None:
        with self.explained():
            self.core.leave()

    def pending(self) -> bool:
        """True if an unclocked input differs from the value that its wire delivers."""
        return self.core.pending()

    def show_ticks(self) -> None:
        """After an event: connectors of clocks that have ticked in it are true, until the next step or event."""
        self.core.show_ticks()

    def hide_ticks(self) -> None:
        self.core.hide_ticks()

    def override_wire(
        self, destination: Signal, at_source: SignalOverride | None, at_destination: SignalOverride | None
    ) -> None:
        """Override what the wire to this input carries, from now on."""
        slots, types = self._slots, self.plan.types
        source, slot = slots[self._wires[destination].source], slots[destination]
        self.core.override_wire(
            slot,
            slot_override(self.kernel, types[source], at_source),
            slot_override(self.kernel, types[slot], at_destination),
        )

    def save_state(self) -> dict[str, np.ndarray]:
        return {
            "agenda": np.array(self.clock_schedule.save_state(), dtype=np.str_),
            "next": np.array([member.next_time for member in self.members.values()]),
        }

    def restore_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.clock_schedule.restore_state(state["agenda"].tolist())
        for member, time in zip(self.members.values(), state["next"].tolist(), strict=True):
            member.next_time = time
        self.core.set_next_times(state["next"].tolist())

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raise what the kernel says as `IntegrationStopped` or `FmiError`."""
        try:
            yield
        except (Stopped, Refused) as error:
            raise self.explanation(error) from None

    def explanation(self, error: Stopped | Refused) -> IntegrationStopped | FmiError:
        """Explanation by the kernel."""
        return explanation(error, (member.instance for member in self.members.values()))

    # -- what the kernel is told ---------------------------------------------------------------------------------

    def _calls(self) -> EventCalls:
        plan, members = self.plan, tuple(self.members.values())
        places = {
            Signal(member.name, clock.name): (number, place)
            for number, member in enumerate(members)
            for place, clock in enumerate(member.planned.clocks)
        }
        return EventCalls(
            start=plan.interval.start,
            members=tuple(map(self._member, members)),
            wires=self._event_wires(),
            clock_wires=[
                (places[source], places[destination])
                for source, found in self._modes.clock_wires.items()
                for destination in found
                if source in places and destination in places
            ],
            inputs=[slot for one in plan.instances for slot in one.input_slots],
            signals=tuple(map(str, plan.signals)),
            unsigned=[slot for slot, kind in enumerate(plan.types) if kind == "UInt64"],
            single=any(loop.single for loop in plan.loops),
        )

    def _member(self, member: RunningMember) -> EventMemberCalls:
        planned, one = member.planned, self.plan.instances[member.index]
        places = {clock.name: place for place, clock in enumerate(planned.clocks)}
        return EventMemberCalls(
            instance=member.index,
            name=member.name,
            fmi_major=one.description.fmi_major,
            functions=self._tables[member.index].functions,
            inputs=self._variables(one, planned.inputs, places),
            outputs=self._variables(one, planned.outputs, places),
            clocks=planned.clocks,
            timed=len(planned.timed),
            triggered=len(planned.triggered),
            shown=[self._slots.get(Signal(member.name, clock.name)) for clock in planned.clocks],
            stepped=member.step is not None,
        )

    def _variables(
        self, one: PlannedInstance, exchanged: Sequence[Clocked], places: Mapping[str, int]
    ) -> EventVariables:
        variables = [one.description.variables[clocked.signal.variable] for clocked in exchanged]
        slots = [self._slots[clocked.signal] for clocked in exchanged]
        return EventVariables(
            slots=slots,
            references=[variable.reference for variable in variables],
            types=[self.plan.types[slot] for slot in slots],
            elements=[variable.element for variable in variables],
            clocks=[[places[name] for name in clocked.clocks if name in places] for clocked in exchanged],
        )

    def _event_wires(self) -> EventWires:
        wires = tuple(self._wires.values())
        return EventWires(
            sources=[self._slots[wire.source] for wire in wires],
            destinations=[self._slots[wire.destination] for wire in wires],
            factors=[wire.conversion.factor for wire in wires],
            # To add −0.0 changes nothing; to add 0.0 changes the sign of a zero.
            offsets=[wire.conversion.offset or -0.0 for wire in wires],
            tables={
                number: {signed_bits(source): signed_bits(target) for source, target in wire.conversion.table}
                for number, wire in enumerate(wires)
                if wire.conversion.table
            },
        )


def explanation(error: Stopped | Refused, instances: Iterable[FmuInstance]) -> IntegrationStopped | FmiError:
    """Explanation by the kernel, which has called one of these instances."""
    if isinstance(error, Stopped):
        return IntegrationStopped(failure_of(error))
    instance = next(one for one in instances if one.name == error.component)
    instance.note(error.status)
    return FmiError(error.component, error.function, error.status, instance.log.latest())


def failure_of(stopped: Stopped) -> Failure:
    """The failure that the kernel has ended with."""
    known = stopped.details
    if isinstance(known, Failure):
        if (known.message, known.time) == (stopped.message, stopped.t):
            return known
        return replace(
            known,
            ending=Ending[stopped.code.name],
            message=stopped.message,
            time=stopped.t,
            recoverable=stopped.recoverable,
        )
    if stopped.code is StopCode.TERMINATED:
        return wish_to_end(stopped.component, stopped.t)
    return Failure(
        Ending[stopped.code.name],
        stopped.message,
        stopped.advice,
        stopped.t,
        stopped.component,
        stopped.function,
        recoverable=stopped.recoverable,
    )


def as_stopped(failure: Failure) -> Stopped:
    """A failure for the kernel, which does not know all endings."""
    code = StopCode.__members__.get(failure.ending.name, StopCode.FMI)
    return Stopped(
        code,
        failure.message,
        failure.advice,
        failure.time,
        failure.component,
        failure.recoverable,
        failure.function,
        failure,
    )
