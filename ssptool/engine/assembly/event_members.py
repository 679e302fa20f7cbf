"""Instances in event mode, their clocks, and the values that pass between them at events."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ssptool.documents.vocabulary import IntervalVariability
from ssptool.engine.failure import Ending, Failure, IntegrationStopped, wish_to_end
from ssptool.engine.kernel.interface import NOTHING, Floats, Kernel, read_slot, write_slot
from ssptool.engine.masters.protocols import Updated
from ssptool.engine.planning.events import Clocked, EventMember, EventModes
from ssptool.engine.planning.plan import Plan
from ssptool.engine.stimuli.stimuli import Stimuli
from ssptool.engine.stimuli.time_signals import SignalOverride, active
from ssptool.fmu.description import FmuClock, Value
from ssptool.fmu.instance import FmuInstance
from ssptool.fmu.model_exchange import EventMode, Qualifier
from ssptool.network.arrays import wholes
from ssptool.network.conversion import INTEGER_RANGES
from ssptool.network.network import Signal, Wire

Modes = Mapping[int, EventMode]
"""Running instances by their number."""

_PERIODIC = (IntervalVariability.CONSTANT, IntervalVariability.FIXED, IntervalVariability.TUNABLE)


class WithoutInterval(Exception):
    """An FMU does not say how often a periodic clock of its own ticks."""

    def __init__(self, component: str, clock: FmuClock, found: Fraction) -> None:
        super().__init__(
            f"component {component}: the {clock.variability} clock {clock.name} needs a positive interval, "
            f"the FMU states {float(found):g} s"
        )
        self.component = component
        self.clock = clock


@dataclass(slots=True)
class Timer:
    """One clock that ticks at known times: the next tick and the interval after it [s], None if unknown. Times are
    counted from the start of the run.
    """

    member: int
    clock: FmuClock
    next: Fraction | None = None
    interval: Fraction | None = None


class ClockSchedule:
    """The next ticks of all clocks.

    Intervals that are stated are taken from the system or the model description, where a decimal number is exact;
    others are asked of the FMU in initialization mode. Those of changing clocks are asked again after each of their
    ticks, those of countdown clocks, and of tunable ones that the FMU decides on, after each event iteration (FMI 3.0
    §2.2.8). Sums of fractions are exact, so that ticks do not drift.
    """

    def __init__(self, start: float, clocks: Iterable[tuple[int, FmuClock]]) -> None:
        self._start = Fraction(start)
        self.timers = tuple(Timer(member, clock) for member, clock in clocks)

    @property
    def next_time(self) -> float:
        """Time of the next tick of any clock [s]; inf if none is known."""
        return min(map(self.time, self.timers), default=math.inf)

    def time(self, timer: Timer) -> float:
        return math.inf if timer.next is None else float(self._start + timer.next)

    def due(self, until: float) -> tuple[Timer, ...]:
        """Clocks that tick until this time [s]."""
        return tuple(timer for timer in self.timers if self.time(timer) <= until)

    def begin(self, modes: Modes) -> None:
        """Find the first ticks, and tell FMUs what the system states; in initialization mode.

        Raises
        ------
        FmiError
            An FMU does not tell.
        WithoutInterval
            An FMU states that its clock has no interval.
        """
        for timer in self.timers:
            mode, clock = modes[timer.member], timer.clock
            if clock.variability in _PERIODIC:
                mode.tell(clock)
                timer.interval = _positive(mode, clock) if clock.interval is None else clock.interval
                timer.next = mode.shift(clock) if clock.shift is None and clock.interval is None else clock.shift
                timer.next = timer.next or Fraction(0)
            else:
                interval, qualifier = mode.interval(clock)
                known = qualifier is Qualifier.CHANGED
                timer.next = interval if known else clock.shift
                if known and clock.variability is IntervalVariability.CHANGING:
                    timer.interval = interval  # until the FMU says another

    def after(self, t: float, ticked: Collection[int], modes: Modes) -> None:
        """After the discrete states were updated at t [s], where timers of these numbers have ticked.

        Raises
        ------
        FmiError, WithoutInterval
        """
        for number, timer in enumerate(self.timers):
            if number in ticked:
                self._move_on(timer, modes[timer.member])
            if timer.clock.variability is IntervalVariability.COUNTDOWN:
                self._count_down(timer, modes[timer.member], t)
            elif timer.clock.variability is IntervalVariability.TUNABLE and timer.clock.interval is None:
                self._tune(timer, modes[timer.member], t)

    def _move_on(self, timer: Timer, mode: EventMode) -> None:
        last = timer.next or Fraction(0)
        match timer.clock.variability:
            case IntervalVariability.CHANGING:
                interval, qualifier = mode.interval(timer.clock)
                if qualifier is not Qualifier.UNCHANGED:
                    timer.interval = interval if qualifier is Qualifier.CHANGED else None
            case IntervalVariability.COUNTDOWN:
                timer.interval = None
        timer.next = None if timer.interval is None else last + timer.interval

    def _count_down(self, timer: Timer, mode: EventMode, t: float) -> None:
        interval, qualifier = mode.interval(timer.clock)
        if qualifier is Qualifier.CHANGED:
            timer.next = Fraction(t) - self._start + interval
        elif qualifier is Qualifier.NOT_YET_KNOWN:
            timer.next = None

    def _tune(self, timer: Timer, mode: EventMode, t: float) -> None:
        """Start the new interval at the present time, not at the last tick."""
        interval, qualifier = mode.interval(timer.clock)
        if qualifier is Qualifier.CHANGED and interval != timer.interval:
            timer.interval = _checked(mode, timer.clock, interval)
            timer.next = Fraction(t) - self._start + interval

    # -- to go on in another process ------------------------------------------------------------------------------

    def save_state(self) -> list[str]:
        return [f"{timer.next} {timer.interval}" for timer in self.timers]

    def restore_state(self, state: Iterable[str]) -> None:
        for timer, text in zip(self.timers, state, strict=True):
            timer.next, timer.interval = (None if one == "None" else Fraction(one) for one in str(text).split())


def _positive(mode: EventMode, clock: FmuClock) -> Fraction:
    return _checked(mode, clock, mode.interval(clock)[0])


def _checked(mode: EventMode, clock: FmuClock, interval: Fraction) -> Fraction:
    if interval <= 0:
        raise WithoutInterval(mode.name, clock, interval)
    return interval


def without_interval(error: WithoutInterval, t: float) -> Failure:
    return Failure(Ending.FMI, str(error), "see the messages of the FMU; check its parameters", t, error.component)


_EVENT, _REACHED, _WAITS, _RETURNS, _RESUMED = range(5)


class StepReport:
    """The report of one instance, to which its kernel writes; `returns_early`: the FMU may return early.

    Attributes
    ----------
    numbers : (5,)
        The report of its `InstanceTable`.
    """

    def __init__(self, *, returns_early: bool = True) -> None:
        self.numbers: Floats = np.array([0.0, math.nan, 0.0, returns_early, 0.0])

    @property
    def wanted(self) -> bool:
        """An event is to be handled where the last step has ended."""
        return bool(self.numbers[_EVENT])

    @property
    def reached(self) -> float | None:
        """Time at which the step ended [s]; None before the first report."""
        t = float(self.numbers[_REACHED])
        return None if math.isnan(t) else t

    @property
    def resumed(self) -> int:
        """Number of steps that the FMU ended early without permission, and that were completed with it alone."""
        return int(self.numbers[_RESUMED])

    def wait(self) -> None:
        """The instance is where the next step ends, and does nothing in it."""
        self.numbers[_WAITS] = 1.0

    def reset(self) -> None:
        """Clear the report before a step."""
        self.numbers[:_RETURNS] = 0.0, math.nan, 0.0

    def restore_state(self, *, wanted: bool) -> None:
        """Restore a saved step report."""
        self.reset()
        self.numbers[_EVENT] = wanted


class EventOverrides:
    """Overrides of connections that are exchanged at events; none before `go_to`."""

    def __init__(self, stimuli: Stimuli, inputs: Collection[Signal]) -> None:
        self._connections = tuple(connection for connection in stimuli.connections if connection.destination in inputs)
        self._now: dict[Signal, tuple[SignalOverride | None, SignalOverride | None]] = {}

    def go_to(self, t: float) -> None:
        """Apply the overrides that are in force at t [s] from now on."""
        for connection in self._connections:
            self._now[connection.destination] = active(connection.at_source, t), active(connection.at_destination, t)

    def carry(self, wire: Wire, value: Value) -> Value:
        """Value at the destination of a wire whose source has this value."""
        at_source, at_destination = self._now.get(wire.destination, (None, None))
        if at_source is not None:
            value = at_source(value)
        value = wire.conversion.carry(value)
        return value if at_destination is None else at_destination(value)


class OutOfRange(Exception):
    """An integer with the bias of a scenario leaves the range of its type."""

    def __init__(self, signal: Signal, value: Value, kind: str) -> None:
        super().__init__(f"component {signal.component}: {signal} cannot be {value!r}, because it is of type {kind}")
        self.component = signal.component

    def failure(self, t: float) -> Failure:
        return Failure(Ending.FMI, str(self), "reduce the bias in the scenario", t, self.component)


@dataclass(slots=True)
class RunningMember:
    """A running instance in event mode; `active` are its clocks that tick in the present event iteration.

    `next_time` [s] is that of its next time event. A component of the ODE has no `step` that could report; the
    integration handles its modes and discrete states.
    """

    index: int
    planned: EventMember
    instance: FmuInstance
    mode: EventMode
    step: StepReport | None = None
    active: set[str] = field(default_factory=set)
    next_time: float = math.inf

    @property
    def name(self) -> str:
        return self.planned.name

    def is_active(self, one: Clocked) -> bool:
        return not self.active.isdisjoint(one.clocks)


class RunningEvents:
    """Running instances in event mode, by the number of their instance.

    Attributes
    ----------
    clock_schedule
        Times at which their clocks tick.
    overrides
        Overrides by a scenario of connections into their inputs.
    inputs, real
        The slots of all inputs of components, and which slots (slots,) hold real numbers.
    single
        True if there are algebraic loops with signals of type Float32.
    """

    def __init__(self, plan: Plan, kernel: Kernel, members: Iterable[RunningMember], modes: EventModes) -> None:
        self.plan = plan
        self.kernel = kernel
        self.members: Mapping[int, RunningMember] = {member.index: member for member in members}
        self.stepped = tuple(member for member in self.members.values() if member.step is not None)
        self.modes = {index: member.mode for index, member in self.members.items()}
        timed = ((index, clock) for index, member in self.members.items() for clock in member.planned.timed)
        self.clock_schedule = ClockSchedule(plan.interval.start, timed)
        self.overrides = EventOverrides(plan.stimuli, modes.inputs)
        self._slots = {signal: slot for slot, signal in enumerate(plan.signals)}
        self._whole = wholes(plan.network)
        self._ticked: set[Signal] = set()
        self._wires: Mapping[Signal, Wire] = {wire.destination: wire for wire in modes.wires}
        self._modes = modes
        self._clocks = {
            Signal(member.name, clock.name): (member, clock)
            for member in self.members.values()
            for clock in member.planned.clocks
        }
        shown = (self._slots[signal] for signal in self._clocks if signal in self._slots)
        self._clock_slots = np.array(tuple(shown), dtype=np.intp)
        self.inputs = np.array([slot for one in plan.instances for slot in one.input_slots], dtype=np.intp)
        self.real = np.ones(len(plan.signals), dtype=bool)
        self.real[list(plan.integers)] = False
        self.single = any(loop.single for loop in plan.loops)

    def within(self, kernel: Kernel) -> "RunningEvents":
        """The same events in another kernel with the same slots; this object must not be used afterwards."""
        other = RunningEvents(self.plan, kernel, self.members.values(), self._modes)
        other.clock_schedule, other.overrides = self.clock_schedule, self.overrides
        return other

    @property
    def next_time(self) -> float:
        """Time of the next known tick or time event [s]."""
        return min((self.clock_schedule.next_time, *(member.next_time for member in self.members.values())))

    # -- initialization ------------------------------------------------------------------------------------------

    def present(self) -> None:
        """Give signals that are exchanged only at events their start values."""
        for member in self.members.values():
            planned = self.plan.instances[member.index]
            starts, variables = planned.starts, planned.description.variables
            for one in (*member.planned.inputs, *member.planned.outputs):
                value = starts.get(one.signal.variable, variables[one.signal.variable].start)
                kind = self.plan.types[self._slots[one.signal]]
                write_slot(self.kernel, self._slots[one.signal], kind, _nothing(kind) if value is None else value)

    def propagate_at_start(self) -> list[Signal]:
        """In initialization mode, set inputs that belong to no clock; which have changed.

        Raises
        ------
        FmiError, OutOfRange
        """
        changed = []
        for member in self.members.values():
            moved = [one.signal for one in member.planned.inputs if not one.clocks and self._take(one)]
            self._set(member, moved)
            changed += moved
        return changed

    # -- event mode ----------------------------------------------------------------------------------------------

    def enter(self) -> None:
        for member in self.stepped:
            member.mode.enter()

    def leave(self) -> None:
        for member in self.stepped:
            member.mode.leave()

    def update(self, t: float) -> list[Updated]:
        """Update the discrete states of all that are stepped. Raises `IntegrationStopped`, `FmiError`."""
        found = []
        for member in self.stepped:
            update = member.mode.update()
            if update.terminate:
                raise IntegrationStopped(wish_to_end(member.name, t))
            member.next_time = update.next_time
            found.append(Updated(member.name, update.again))
        return found

    def pending(self) -> bool:
        """True if an unclocked input differs from the value that its wire delivers."""
        return any(not one.clocks and self._delivered(one) is not None for _, one in self._inputs())

    def propagate(self, fresh: frozenset[Signal]) -> list[Signal]:
        """Set inputs that have changed, or that belong to clocks that are `fresh`; those that have changed."""
        changed = []
        for member in self.members.values():
            own, first = [], []
            for one in member.planned.inputs:
                if one.clocks and not member.is_active(one):
                    continue
                if self._take(one):
                    own.append(one.signal)
                elif any(Signal(member.name, name) in fresh for name in one.clocks):
                    first.append(one.signal)
            self._set(member, [*own, *first])
            changed += own
        return changed

    def collect(self) -> list[Signal]:
        """Read outputs whose clocks tick; those that have changed."""
        changed = []
        for member in self.members.values():
            signals = [one.signal for one in member.planned.outputs if member.is_active(one)]
            found = member.instance.get([signal.variable for signal in signals]) if signals else {}
            changed += [signal for signal in signals if self._write(signal, found[signal.variable])]
        return changed

    def tick(self, clocks: Iterable[Signal]) -> frozenset[Signal]:
        """Activate input clocks that are not active yet: those that are so now, and have not been before."""
        fresh = [signal for signal in clocks if signal.variable not in self._clocks[signal][0].active]
        for member in self.members.values():
            own = [self._clocks[signal][1] for signal in fresh if signal.component == member.name]
            if own:
                member.mode.tick(own)
                member.active.update(clock.name for clock in own)
        self._ticked.update(fresh)
        return frozenset(fresh)

    def listen(self) -> frozenset[Signal]:
        """Output clocks that tick, and have not done so before in this event iteration."""
        found = []
        for member in self.members.values():
            waiting = [clock for clock in member.planned.ticking if clock.name not in member.active]
            if waiting:
                ticking = member.mode.ticking(waiting)
                member.active.update(clock.name for clock in ticking)
                found += [Signal(member.name, clock.name) for clock in ticking]
        self._ticked.update(found)
        return frozenset(found)

    def triggered_by(self, clocks: Iterable[Signal]) -> Iterator[Signal]:
        """Input clocks that connections lead to from these."""
        for signal in clocks:
            yield from self._modes.clock_wires.get(signal, ())

    def show_ticks(self) -> None:
        """After an event: connectors of clocks that have ticked in it are true, until the next step or event."""
        for signal in self._ticked & self._slots.keys():
            self.kernel.integers[self._slots[signal]] = 1

    def hide_ticks(self) -> None:
        if self._clock_slots.size:
            self.kernel.integers[self._clock_slots] = 0
            self._ticked.clear()

    def rest(self) -> None:
        """An event iteration is over: no clock is active any more."""
        for member in self.members.values():
            member.active.clear()

    @property
    def ticking(self) -> tuple[str, ...]:
        """Names of the clocks that are active."""
        return tuple(
            str(Signal(member.name, name)) for member in self.members.values() for name in sorted(member.active)
        )

    # -- values --------------------------------------------------------------------------------------------------

    def _inputs(self) -> Iterator[tuple[RunningMember, Clocked]]:
        for member in self.members.values():
            for one in member.planned.inputs:
                yield member, one

    def _take(self, one: Clocked) -> bool:
        """Give an input what its wire delivers; whether that is something else. May raise OutOfRange."""
        value = self._delivered(one)
        if value is not None:
            kind = self.plan.types[self._slots[one.signal]]
            lowest, highest = INTEGER_RANGES.get(kind, (-math.inf, math.inf))
            if not isinstance(value, str | bytes) and not lowest <= value <= highest:
                raise OutOfRange(one.signal, value, kind)
            self._write(one.signal, value)
        return value is not None

    def _set(self, member: RunningMember, inputs: Sequence[Signal]) -> None:
        """Let the FMU have these, arrays as a whole."""
        if not inputs:
            return
        arrays = {self._whole[signal] for signal in inputs if signal in self._whole}
        beside = (one.signal for one in member.planned.inputs if self._whole.get(one.signal) in arrays)
        values = {}
        for signal in dict.fromkeys([*inputs, *beside]):
            slot = self._slots[signal]
            values[signal.variable] = read_slot(self.kernel, slot, self.plan.types[slot])
        member.instance.set(values)

    def _delivered(self, one: Clocked) -> Value | None:
        """Value that a wire delivers to an input; None if the input has it already, or there is no wire."""
        wire = self._wires.get(one.signal)
        if wire is None:
            return None
        source, slot = self._slots[wire.source], self._slots[one.signal]
        value = self.overrides.carry(wire, read_slot(self.kernel, source, self.plan.types[source]))
        kind = self.plan.types[slot]
        if kind in ("Float64", "Float32"):
            value = float(value)
        return None if value == read_slot(self.kernel, slot, kind) else value

    def _write(self, signal: Signal, value: Value) -> bool:
        slot = self._slots[signal]
        before = int(self.kernel.integers[slot])
        write_slot(self.kernel, slot, self.plan.types[slot], value)
        return int(self.kernel.integers[slot]) != before

    # -- to go on in another process -----------------------------------------------------------------------------

    def save_state(self) -> dict[str, np.ndarray]:
        return {
            "agenda": np.array(self.clock_schedule.save_state(), dtype=np.str_),
            "next": np.array([member.next_time for member in self.members.values()]),
        }

    def restore_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.clock_schedule.restore_state(state["agenda"].tolist())
        for member, time in zip(self.members.values(), state["next"].tolist(), strict=True):
            member.next_time = time


def _nothing(kind: str) -> Value:
    return NOTHING.get(kind, 0)
