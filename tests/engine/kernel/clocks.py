"""The next ticks of clocks by exact fractions, as FMI 3.0 §2.2.8 says: what the core is compared with."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

from ssptool.documents.vocabulary import IntervalVariability
from ssptool.fmu.description import FmuClock


class Qualifier(IntEnum):
    """Qualifier of an interval (FMI 3.0, fmi3IntervalQualifier)."""

    NOT_YET_KNOWN = 0
    UNCHANGED = 1
    CHANGED = 2


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

    def begin(self, modes: dict) -> None:
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

    def after(self, t: float, ticked: Collection[int], modes: dict) -> None:
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

    def _move_on(self, timer: Timer, mode) -> None:
        last = timer.next or Fraction(0)
        match timer.clock.variability:
            case IntervalVariability.CHANGING:
                interval, qualifier = mode.interval(timer.clock)
                if qualifier is not Qualifier.UNCHANGED:
                    timer.interval = interval if qualifier is Qualifier.CHANGED else None
            case IntervalVariability.COUNTDOWN:
                timer.interval = None
        timer.next = None if timer.interval is None else last + timer.interval

    def _count_down(self, timer: Timer, mode, t: float) -> None:
        interval, qualifier = mode.interval(timer.clock)
        if qualifier is Qualifier.CHANGED:
            timer.next = Fraction(t) - self._start + interval
        elif qualifier is Qualifier.NOT_YET_KNOWN:
            timer.next = None

    def _tune(self, timer: Timer, mode, t: float) -> None:
        """Start the new interval at the present time, not at the last tick."""
        interval, qualifier = mode.interval(timer.clock)
        if qualifier is Qualifier.CHANGED and interval != timer.interval:
            timer.interval = _checked(mode, timer.clock, interval)
            timer.next = Fraction(t) - self._start + interval

    def save_state(self) -> list[str]:
        return [f"{timer.next} {timer.interval}" for timer in self.timers]


def _positive(mode, clock: FmuClock) -> Fraction:
    return _checked(mode, clock, mode.interval(clock)[0])


def _checked(mode, clock: FmuClock, interval: Fraction) -> Fraction:
    if interval <= 0:
        raise WithoutInterval(mode.name, clock, interval)
    return interval
