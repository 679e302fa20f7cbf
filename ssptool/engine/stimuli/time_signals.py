"""Signals over time that drive inputs, and overrides of values."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ssptool.arguments import WrongArgument, word
from ssptool.fmu.description import Value
from ssptool.option_words import InterpolationWord
from ssptool.public_calls import public


class Interpolation(StrEnum):
    """Interpolation between two rows of a table: `hold` the earlier value, or `linear`."""

    HOLD = "hold"
    LINEAR = "linear"


class TimeSignal(Protocol):
    """Signal over time, with limits from the left and from the right at jumps.

    `continuous`: true for a continuous function of time between jumps; false for a constant or sampled signal between
    jumps.
    """

    @property
    def continuous(self) -> bool: ...

    @property
    def steady(self) -> bool:
        """True if the signal is constant between jumps."""
        ...

    @property
    def jumps(self) -> tuple[float, ...]:
        """Times [s] at which the two limits differ, ascending."""
        ...

    @property
    def knots(self) -> tuple[float, ...]:
        """Times [s] at which the slope jumps, ascending; an integrator must not step over them."""
        ...

    @property
    def first(self) -> float:
        """Time [s] of the first value."""
        ...

    def before(self, t: float) -> Value:
        """The limit from the left."""
        ...

    def after(self, t: float) -> Value:
        """The value at t [s], equal to the limit from the right."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant signal."""

    value: Value
    continuous: bool = False
    steady: bool = True
    jumps: tuple[float, ...] = ()
    knots: tuple[float, ...] = ()
    first: float = -math.inf

    def before(self, t: float) -> Value:
        return self.value

    def after(self, t: float) -> Value:
        return self.value


@public
@dataclass(frozen=True, slots=True)
class Table:
    """Rows of time [s] and value; times must not decrease. After the last row, its value stays.

    If several rows have the same time, the first is the limit from the left, the last the limit from the right.
    """

    times: Sequence[float]
    values: Sequence[Value]
    interpolation: Interpolation | InterpolationWord = Interpolation.LINEAR

    def __post_init__(self) -> None:
        """Accept lists, arrays and strings as well."""
        for name in ("times", "values"):
            given = getattr(self, name)
            if not isinstance(given, Iterable) or isinstance(given, str):
                raise WrongArgument(name, given, "a list or an array, one entry for each row")
            object.__setattr__(self, name, tuple(given))
        object.__setattr__(self, "interpolation", word("interpolation", self.interpolation, Interpolation))

    @property
    def continuous(self) -> bool:
        return self.interpolation is Interpolation.LINEAR

    @property
    def steady(self) -> bool:
        return not self.continuous

    @property
    def first(self) -> float:
        return self.times[0]

    @property
    def jumps(self) -> tuple[float, ...]:
        pairs = range(1, len(self.times))
        steps = (k for k in pairs if self.values[k] != self.values[k - 1])
        if self.continuous:
            steps = (k for k in steps if self.times[k] == self.times[k - 1])
        return tuple(dict.fromkeys(self.times[k] for k in steps))

    @property
    def knots(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(self.times)) if self.continuous else ()

    def before(self, t: float) -> Value:
        row = bisect_left(self.times, t)
        if row == 0:
            return self.values[0]
        if self.continuous and row < len(self.times):
            return self._between(row - 1, t)
        return self.values[row - 1]

    def after(self, t: float) -> Value:
        row = bisect_right(self.times, t)
        if row == 0:
            return self.values[0]
        if self.continuous and row < len(self.times):
            return self._between(row - 1, t)
        return self.values[row - 1]

    def _between(self, row: int, t: float) -> float:
        """Value on the line from this row to the next. At both ends, and on a horizontal line, it is exactly the stored
        number.
        """
        first, second = float(self.values[row]), float(self.values[row + 1])
        share = (t - self.times[row]) / (self.times[row + 1] - self.times[row])
        if share == 0.0 or first == second:
            return first
        return second if share == 1.0 else first + share * (second - first)


@public
@dataclass(frozen=True, slots=True)
class Function:
    """Signal given by a function of time [s].

    Parameters
    ----------
    steps : [s]
        Times of its jumps, ascending. A macro step ends at each jump. The limit from the left is the value at the
        preceding floating-point number.
    interpolation
        `hold`: constant over each macro step, with the value at its start.
    """

    function: Callable[[float], Value]
    steps: tuple[float, ...] = ()
    interpolation: Interpolation | InterpolationWord = Interpolation.LINEAR
    steady: bool = False
    first: float = -math.inf

    def __post_init__(self) -> None:
        """Accept strings as well."""
        object.__setattr__(self, "interpolation", word("interpolation", self.interpolation, Interpolation))

    @property
    def continuous(self) -> bool:
        return self.interpolation is Interpolation.LINEAR

    @property
    def jumps(self) -> tuple[float, ...]:
        return tuple(self.steps)

    @property
    def knots(self) -> tuple[float, ...]:
        return ()

    def before(self, t: float) -> Value:
        return self.function(math.nextafter(t, -math.inf) if t in self.steps else t)

    def after(self, t: float) -> Value:
        return self.function(t)


class Action(StrEnum):
    """Action of a scenario's event on a variable, named as in libcosim."""

    OVERRIDE = "override"
    BIAS = "bias"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class SignalOverride:
    """Override of a variable from `time` [s] on; `value` has the type of the variable, and is unused for a reset."""

    time: float
    action: Action
    value: Value = 0.0

    def __call__(self, value: Value) -> Value:
        match self.action:
            case Action.OVERRIDE:
                return self.value
            case Action.BIAS:
                assert not isinstance(value, str | bytes) and not isinstance(self.value, str | bytes)
                return value + self.value
            case Action.RESET:
                return value


def active(overrides: Iterable[SignalOverride], t: float, *, before: bool = False) -> SignalOverride | None:
    """The override in force at t [s], or just `before`; if two have the same time, the later one in the list."""
    found = None
    for one in overrides:
        if one.time < t or (one.time == t and not before):
            found = one
    return found


@dataclass(frozen=True, slots=True)
class Overridden:
    """A signal with the overrides of a scenario, in the order of time."""

    base: TimeSignal
    overrides: tuple[SignalOverride, ...]

    @property
    def continuous(self) -> bool:
        return self.base.continuous

    @property
    def steady(self) -> bool:
        return self.base.steady

    @property
    def first(self) -> float:
        return self.base.first

    @property
    def jumps(self) -> tuple[float, ...]:
        return tuple(sorted({*self.base.jumps, *(one.time for one in self.overrides)}))

    @property
    def knots(self) -> tuple[float, ...]:
        return self.base.knots

    def before(self, t: float) -> Value:
        value, change = self.base.before(t), active(self.overrides, t, before=True)
        return value if change is None else change(value)

    def after(self, t: float) -> Value:
        value, change = self.base.after(t), active(self.overrides, t)
        return value if change is None else change(value)


def is_function(signal: TimeSignal) -> bool:
    """True if the values come from a user's function, which may have side effects, or may not support going back in
    time.
    """
    return isinstance(signal, Function) or (isinstance(signal, Overridden) and is_function(signal.base))
