"""Event mode of FMI 3.0 co-simulation: discrete states and clocks of one running instance (FMI 3.0 §4)."""

import math
from collections.abc import Sequence
from ctypes import byref, c_bool, c_double, c_int, c_uint, c_uint64
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

from ssptool.fmu.description import Clock
from ssptool.fmu.instance import FmuInstance
from ssptool.fmu.model_exchange import DiscreteUpdate


class Qualifier(IntEnum):
    """What an FMU says of an interval (FMI 3.0, fmi3IntervalQualifier)."""

    NOT_YET_KNOWN = 0
    UNCHANGED = 1
    CHANGED = 2


@dataclass(frozen=True, slots=True)
class EventMode:
    """Calls of event mode. Every method raises `FmiError` for a status worse than a warning.

    References
    ----------
    FMI 3.0 §2.3.3 (event mode), §2.2.8 (clocks), §4.2 (co-simulation).
    """

    instance: FmuInstance

    @property
    def name(self) -> str:
        return self.instance.name

    def enter(self) -> None:
        self.instance.call("enterEventMode")

    def leave(self) -> None:
        """Back to step mode."""
        self.instance.call("enterStepMode")

    def update(self) -> DiscreteUpdate:
        """One event iteration."""
        again, terminate, nominals, states, defined = (c_bool() for _ in range(5))
        time = c_double()
        flags = [byref(flag) for flag in (again, terminate, nominals, states, defined)]
        self._call("fmi3UpdateDiscreteStates", *flags, byref(time))
        next_time = time.value if defined else math.inf
        return DiscreteUpdate(again.value, terminate.value, nominals.value, states.value, next_time)

    def tick(self, clocks: Sequence[Clock]) -> None:
        """Activate input clocks."""
        count = len(clocks)
        self._call("fmi3SetClock", _references(clocks), count, (c_bool * count)(*(True for _ in clocks)))

    def ticking(self, clocks: Sequence[Clock]) -> tuple[Clock, ...]:
        """Those of these output clocks that are active; FMI lets an FMU say so only once."""
        found = (c_bool * len(clocks))()
        self._call("fmi3GetClock", _references(clocks), len(clocks), found)
        return tuple(clock for clock, active in zip(clocks, found, strict=True) if active)

    def interval(self, clock: Clock) -> tuple[Fraction, Qualifier]:
        """The time until the next tick [s], and what it is worth."""
        qualifier = (c_int * 1)()
        if clock.supports_fraction:
            counter, resolution = (c_uint64 * 1)(), (c_uint64 * 1)()
            self._call("fmi3GetIntervalFraction", _references([clock]), 1, counter, resolution, qualifier)
            return Fraction(counter[0], resolution[0] or 1), Qualifier(qualifier[0])
        decimal = (c_double * 1)()
        self._call("fmi3GetIntervalDecimal", _references([clock]), 1, decimal, qualifier)
        seconds = decimal[0] if math.isfinite(decimal[0]) else 0.0
        return Fraction(seconds), Qualifier(qualifier[0])

    def shift(self, clock: Clock) -> Fraction:
        """The time of the first tick after the start [s]."""
        if clock.supports_fraction:
            counter, resolution = (c_uint64 * 1)(), (c_uint64 * 1)()
            self._call("fmi3GetShiftFraction", _references([clock]), 1, counter, resolution)
            return Fraction(counter[0], resolution[0] or 1)
        decimal = (c_double * 1)()
        self._call("fmi3GetShiftDecimal", _references([clock]), 1, decimal)
        return Fraction(decimal[0] if math.isfinite(decimal[0]) else 0.0)

    def tell(self, clock: Clock) -> None:
        """The interval and the shift that were chosen for a clock; in initialization mode, or in event mode."""
        for what, function in (("interval", "fmi3SetInterval"), ("shift", "fmi3SetShift")):
            time = clock.interval if what == "interval" else clock.shift
            if what not in clock.told or time is None:
                continue
            if clock.supports_fraction:
                fraction = (c_uint64 * 1)(time.numerator), (c_uint64 * 1)(time.denominator)
                self._call(f"{function}Fraction", _references([clock]), 1, *fraction)
            else:
                self._call(f"{function}Decimal", _references([clock]), 1, (c_double * 1)(float(time)))

    def _call(self, function: str, *arguments: object) -> None:
        self.instance.call(function, self.instance.component, *arguments)


def _references(clocks: Sequence[Clock]) -> object:
    return (c_uint * len(clocks))(*(clock.reference for clock in clocks))
