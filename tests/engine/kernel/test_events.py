"""Clocks and events without end in the kernel: as exact fractions and plain Python have them."""

import ctypes
import random
from fractions import Fraction

import numpy as np
import pytest

from ssptool.documents.vocabulary import IntervalVariability
from ssptool.engine.failure import RunError
from ssptool.engine.kernel._methods import NativeClocks, NativeZenoDetector
from ssptool.fmu.description import FmuClock
from tests.engine.kernel.clocks import ClockSchedule, Qualifier
from tests.engine.kernel.methods import create
from tests.engine.kernel.mock_fmu import Mock, Mocks
from tests.engine.kernel.zeno import Cause, ZenoDetector

TIMED = [one for one in IntervalVariability if one is not IntervalVariability.TRIGGERED]


def decimal(time):
    """A time as the kernel has it, in hexadecimal digits, as a fraction."""
    return "None" if time == "-" else str(Fraction(*(int(part, 16) for part in time.split("/"))))


class Script:
    """What an FMU answers about its clocks: for each of them a list of intervals with qualifiers, and a shift.

    `functions` are those of FMI, `interval`, `shift` and `tell` those of an `EventMode`; each asks from its own place.
    """

    name = "Mock"

    def __init__(self, random_numbers, clocks):
        self.clocks = clocks
        self.answers = {clock.reference: [answer(random_numbers) for _ in range(400)] for clock in clocks}
        self.shifts = {clock.reference: random_numbers.randrange(4) for clock in clocks}
        self.told = {"python": [], "kernel": []}
        self._places = {who: dict.fromkeys(self.answers, 0) for who in self.told}
        self._kept = self._callbacks()

    def next(self, who, reference):
        place = self._places[who][reference]
        self._places[who][reference] += 1
        return self.answers[reference][place]

    def interval(self, clock):
        counter, resolution, qualifier = self.next("python", clock.reference)
        exact = Fraction(counter, resolution)
        return exact if clock.supports_fraction else Fraction(float(exact)), Qualifier(qualifier)

    def shift(self, clock):
        exact = Fraction(self.shifts[clock.reference], 7)
        return exact if clock.supports_fraction else Fraction(float(exact))

    def tell(self, clock):
        for what in ("interval", "shift"):
            if what in clock.told:
                self.told["python"].append((clock.reference, what, float(getattr(clock, what))))

    @property
    def functions(self):
        return {name: ctypes.cast(one, ctypes.c_void_p).value for name, one in self._kept.items()}

    def _callbacks(self):
        number, size = ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t
        double, whole = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int)
        begin = (ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32), size)

        def interval_fraction(_, references, _count, counter, resolution, qualifier):
            counter[0], resolution[0], qualifier[0] = self.next("kernel", references[0])
            return 0

        def interval_decimal(_, references, _count, seconds, qualifier):
            counter, resolution, qualifier[0] = self.next("kernel", references[0])
            seconds[0] = float(Fraction(counter, resolution))
            return 0

        def shift_fraction(_, references, _count, counter, resolution):
            counter[0], resolution[0] = self.shifts[references[0]], 7
            return 0

        def shift_decimal(_, references, _count, seconds):
            seconds[0] = float(Fraction(self.shifts[references[0]], 7))
            return 0

        def told(what):
            def fraction(_, references, _count, counter, resolution):
                self.told["kernel"].append((references[0], what, float(Fraction(counter[0], resolution[0]))))
                return 0

            def decimal(_, references, _count, seconds):
                self.told["kernel"].append((references[0], what, seconds[0]))
                return 0

            return fraction, decimal

        pairs = {"Interval": told("interval"), "Shift": told("shift")}
        by_fraction, by_decimal = ctypes.CFUNCTYPE(*begin, number, number), ctypes.CFUNCTYPE(*begin, double)
        return {
            "fmi3GetIntervalFraction": ctypes.CFUNCTYPE(*begin, number, number, whole)(interval_fraction),
            "fmi3GetIntervalDecimal": ctypes.CFUNCTYPE(*begin, double, whole)(interval_decimal),
            "fmi3GetShiftFraction": by_fraction(shift_fraction),
            "fmi3GetShiftDecimal": by_decimal(shift_decimal),
            **{f"fmi3Set{what}Fraction": by_fraction(pair[0]) for what, pair in pairs.items()},
            **{f"fmi3Set{what}Decimal": by_decimal(pair[1]) for what, pair in pairs.items()},
        }


def answer(numbers):
    """(counter, resolution, qualifier) of an interval, mostly positive, seldom with a large resolution."""
    resolution = numbers.choice([1, 3, 10, 1000, 2**40, 2**63 + 11])
    return numbers.randrange(1, min(3 * resolution, 2**64)), resolution, numbers.choice([0, 1, 2, 2, 2])


def random_clock(numbers, reference):
    variability = numbers.choice(TIMED)
    stated = variability in TIMED[:3] and numbers.random() < 0.5
    interval = Fraction(numbers.randrange(1, 20), numbers.choice([3, 10, 7])) if stated else None
    shift = Fraction(numbers.randrange(5), 10) if numbers.random() < 0.5 else None
    told = frozenset({"interval", "shift"}) if stated and shift is not None and numbers.random() < 0.5 else frozenset()
    return FmuClock(f"c{reference}", reference, variability, interval, shift, numbers.random() < 0.5, told)


@pytest.mark.parametrize("seed", range(60))
def test_clocks_of_all_kinds_tick_at_the_same_times(seed, mock_library):
    numbers = random.Random(seed)
    clocks = tuple(random_clock(numbers, reference) for reference in range(numbers.randrange(1, 5)))
    script, start = Script(numbers, clocks), numbers.choice([0.0, 0.1, 1e9 / 3, -2.5])
    kernel = create(1)
    kernel.add(Mocks(mock_library, 3).table(kernel, Mock(x=[1.0]), [], [0]))
    native = NativeClocks(kernel, script.name, script.functions, script.clocks, start)
    schedule, modes = ClockSchedule(start, ((0, clock) for clock in clocks)), {0: script}
    schedule.begin(modes)
    native.begin(start)
    assert script.told["python"] == script.told["kernel"]
    for _ in range(30):
        t = schedule.next_time
        assert native.next_time == t
        if not np.isfinite(t):
            t = start + numbers.random()
        t = numbers.choice([t, t, float(np.nextafter(t, 1e300)), (t + start) / 2])
        due = schedule.due(t)
        ticked = [number for number, timer in enumerate(schedule.timers) if timer in due]
        assert [clock for clock, _ in native.due(t)] == [clocks.index(timer.clock) for timer in due]
        schedule.after(t, ticked, modes)
        native.after(t, ticked)
        assert [time for _, time in native.timers()] == [schedule.time(timer) for timer in schedule.timers]
        assert [" ".join(map(decimal, one.split())) for one in native.state()] == schedule.save_state()
    state = native.state()
    native.after(start, [0])
    native.set_state(state)
    assert native.state() == state


@pytest.mark.parametrize("seed", range(40))
def test_events_without_end_are_found_at_the_same_one(seed):
    """Intervals that shrink by a factor, stay, or are random, from about a step down to nothing."""
    numbers = random.Random(seed)
    python, native = ZenoDetector(0.1), NativeZenoDetector(0.1)
    t, interval, factor = numbers.choice([0.0, 3.7, 1e6]), 10 ** numbers.uniform(-9, -1), numbers.uniform(0.3, 1.05)
    for _ in range(60):
        causes = [("A", "an event"), ("B", "clock c")][: numbers.randrange(1, 3)]
        found = []
        for note in (
            lambda: python.note(t, tuple(Cause(*one) for one in causes)),  # noqa: B023
            lambda: native.note(t, causes),  # noqa: B023
        ):
            try:
                found.append(note())
            except RunError as stopped:
                found.append((stopped.failure.message, stopped.failure.advice, stopped.failure.component))
        assert found[0] == found[1]
        if isinstance(found[0], tuple):
            return
        interval *= factor if numbers.random() < 0.9 else numbers.uniform(0.1, 10)
        t += interval
