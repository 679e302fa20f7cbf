"""Events of components in event mode in the native kernel: the same as `RunningEvents`, without Python in between."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ssptool.engine.assembly.event_members import ClockSchedule, EventOverrides, RunningEvents, RunningMember
from ssptool.engine.failure import Ending, Failure, IntegrationStopped, wish_to_end
from ssptool.engine.kernel import is_native, native_events
from ssptool.engine.kernel.event_calls import (
    EventCalls,
    EventMemberCalls,
    EventVariables,
    EventWires,
    Refused,
    StopCode,
    Stopped,
)
from ssptool.engine.kernel.interface import Floats, InstanceTable, Kernel, signed_bits
from ssptool.engine.masters.protocols import Updated
from ssptool.engine.planning.events import Clocked, EventModes
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.planning.stimuli import slot_override
from ssptool.engine.stimuli.stimuli import Stimuli
from ssptool.engine.stimuli.time_signals import SignalOverride
from ssptool.fmu.description import FmuClock
from ssptool.fmu.instance import FmiError
from ssptool.network.network import Signal

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeEvents


def running_events(
    plan: Plan, kernel: Kernel, members: Iterable[RunningMember], modes: EventModes, tables: Sequence[InstanceTable]
) -> RunningEvents:
    """Events of these members in the kernel, or in Python if it is not native; `tables` are those of all instances."""
    if is_native(kernel):
        return KernelEvents(plan, kernel, members, modes, tables)
    return RunningEvents(plan, kernel, members, modes)


class KernelTimer(NamedTuple):
    """A clock that ticks at known times: the number of its instance, and the time of its next tick [s]."""

    member: int
    clock: FmuClock
    next_time: float


class KernelClockSchedule(ClockSchedule):
    """The next ticks of all clocks, which the kernel has."""

    def __init__(self, events: "KernelEvents") -> None:
        self._events = events

    @property
    def timers(self) -> tuple[KernelTimer, ...]:  # type: ignore[override]
        return self._timers(self._events.core.timers())

    def time(self, timer: KernelTimer) -> float:  # type: ignore[override]
        return timer.next_time

    def due(self, until: float) -> tuple[KernelTimer, ...]:  # type: ignore[override]
        return self._timers(self._events.core.due(until))

    def begin(self, modes: object) -> None:
        with self._events.explained():
            self._events.core.begin(self._events.plan.interval.start)

    def save_state(self) -> list[str]:
        return [" ".join(map(_decimal, text.split())) for text in self._events.core.clock_state()]

    def restore_state(self, state: Iterable[str]) -> None:
        self._events.core.set_clock_state([" ".join(map(_hexadecimal, str(text).split())) for text in state])

    def _timers(self, found: Iterable[tuple[int, int, float]]) -> tuple[KernelTimer, ...]:
        members = tuple(self._events.members.values())
        return tuple(
            KernelTimer(members[place].index, members[place].planned.clocks[clock], time)
            for place, clock, time in found
        )


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


class KernelOverrides(EventOverrides):
    """Overrides that the kernel applies."""

    def __init__(self, stimuli: Stimuli, inputs: Collection[Signal], events: "KernelEvents") -> None:
        super().__init__(stimuli, inputs)
        self._events = events

    def go_to(self, t: float) -> None:
        super().go_to(t)
        self.apply(self._events)

    def apply(self, events: "KernelEvents") -> None:
        """Let this kernel apply them from now on."""
        self._events = events
        for destination, (at_source, at_destination) in self._now.items():
            events.override_wire(destination, at_source, at_destination)


class KernelEvents(RunningEvents):
    """Running instances in event mode, whose events the kernel handles.

    Attributes
    ----------
    core
        The kernel's part.
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
        super().__init__(plan, kernel, members, modes)
        self._tables = tables
        self.core = native_events(kernel, self._calls())
        self.clock_schedule = KernelClockSchedule(self)
        self.overrides = KernelOverrides(plan.stimuli, modes.inputs, self)

    def within(self, kernel: Kernel) -> "KernelEvents":
        other = KernelEvents(self.plan, kernel, self.members.values(), self._modes, self._tables)
        other.core.set_clock_state(self.core.clock_state())
        assert isinstance(self.overrides, KernelOverrides)
        other.overrides = self.overrides
        other.overrides.apply(other)
        return other

    def settle(
        self,
        nominal: Floats,
        evaluate: Callable[[float], None],
        update: Callable[[float], Sequence[Updated]],
        t: float,
        until: float,
    ) -> bool:
        """See `EventIteration.settle`."""
        with self.explained():
            return self.core.settle(nominal, evaluate, update, t, until)

    def update(self, t: float) -> list[Updated]:
        with self.explained():
            found = self.core.update(t)
        for member, time in zip(self.members.values(), self.core.next_times, strict=True):
            member.next_time = time
        return [Updated(name, again) for name, again in found]

    def propagate_at_start(self) -> list[Signal]:
        with self.explained():
            return [self.plan.signals[slot] for slot in self.core.propagate_at_start(self.plan.interval.start)]

    def enter(self) -> None:
        with self.explained():
            self.core.enter()

    def leave(self) -> None:
        with self.explained():
            self.core.leave()

    def pending(self) -> bool:
        return self.core.pending()

    def show_ticks(self) -> None:
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

    def restore_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().restore_state(state)
        self.core.set_next_times(state["next"].tolist())

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raise what the kernel says as `IntegrationStopped` or `FmiError`."""
        try:
            yield
        except (Stopped, Refused) as error:
            raise self.explanation(error) from None

    def explanation(self, error: Stopped | Refused) -> IntegrationStopped | FmiError:
        """What the kernel has said."""
        if isinstance(error, Stopped):
            return IntegrationStopped(failure_of(error))
        instance = next(one.instance for one in self.members.values() if one.name == error.component)
        instance.note(error.status)
        return FmiError(error.component, error.function, error.status, instance.log.latest())

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
            inputs=self.inputs.tolist(),
            signals=tuple(map(str, plan.signals)),
            unsigned=[slot for slot, kind in enumerate(plan.types) if kind == "UInt64"],
            single=self.single,
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
