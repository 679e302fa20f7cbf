"""Scalars from signals: what the results of a study are made of.

Between two rows a signal is taken for a straight line; integrals of that are exact.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ssptool.engine.trace import Floats, Trace
from ssptool.studies.expressions import FUNCTIONS, Function, NoValue


def final(t: Floats, y: Floats) -> float:
    return float(y[-1])


def initial(t: Floats, y: Floats) -> float:
    return float(y[0])


def minimum(t: Floats, y: Floats) -> float:
    return float(np.min(y))


def maximum(t: Floats, y: Floats) -> float:
    return float(np.max(y))


def integral(t: Floats, y: Floats) -> float:
    """Over the interval of the run."""
    return float(np.trapezoid(y, t))


def mean(t: Floats, y: Floats) -> float:
    """Over time."""
    return integral(t, y) / _span(t)


def rms(t: Floats, y: Floats) -> float:
    """Root of the mean square over time: the integral of the square of a line from a to b is h (a² + ab + b²)/3."""
    a, b = y[:-1], y[1:]
    return float(np.sqrt(np.sum(np.diff(t) * (a * a + a * b + b * b)) / 3 / _span(t)))


def time_of_min(t: Floats, y: Floats) -> float:
    """The first [s]."""
    return float(t[np.argmin(y)])


def time_of_max(t: Floats, y: Floats) -> float:
    """The first [s]."""
    return float(t[np.argmax(y)])


def at(t: Floats, y: Floats, time: float) -> float:
    """The value at a time [s]."""
    if not t[0] <= time <= t[-1]:
        raise NoValue(f"at {time:g} s there is no value: the run is from {t[0]:g} s to {t[-1]:g} s")
    return float(np.interp(time, t, y))


def crossing(t: Floats, y: Floats, level: float, direction: str = "any", number: int = 1) -> float:
    """The time [s] at which the signal passes a level for the n-th time: "up", "down" or "any".

    `number` -1 is the last. It starts on a side: to begin on the level and leave it is no crossing.
    """
    if direction not in ("up", "down", "any"):
        raise ValueError(f"a crossing is 'up', 'down' or 'any', not {direction!r}")
    side = np.sign(y - level)
    # On the level it is still on the side that it comes from.
    last = np.maximum.accumulate(np.where(side != 0, np.arange(len(side)), 0))
    side = side[last]
    change = np.diff(side)
    wanted = {"up": change > 0, "down": change < 0, "any": change != 0}[direction] & (side[:-1] != 0)
    places = np.flatnonzero(wanted)
    if number == 0 or abs(number) > len(places):
        raise NoValue(f"there are {len(places)} crossings of {level:g}, and no number {number}")
    k = int(places[number - 1 if number > 0 else number])
    k = int(last[k])  # where it left the side; from there it may have run along the level
    first = k + 1
    share = (level - y[k]) / (y[first] - y[k])
    return float(t[k] + share * (t[first] - t[k]))


MEASURES: Mapping[str, Any] = {
    "final": final,
    "initial": initial,
    "min": minimum,
    "max": maximum,
    "mean": mean,
    "rms": rms,
    "integral": integral,
    "time_of_min": time_of_min,
    "time_of_max": time_of_max,
    "at": at,
    "crossing": crossing,
}
"""Name → function of the times (n,) [s], the values (n,), and what else it is called with."""


def functions_of(trace: Trace | None, values: Mapping[str, Any]) -> dict[str, Function]:
    """What result expressions may call: `max("System1.x1")` of a signal, or `max(a, b)` of numbers."""
    measured = {name: partial(_measured, name, trace) for name in MEASURES}
    return {**FUNCTIONS, **measured, "value": lambda name: values[name]}


def _measured(name: str, trace: Trace | None, *arguments: Any) -> Any:
    if arguments and isinstance(arguments[0], str) and trace is not None:
        values = trace[arguments[0]]
        if values.dtype == object:
            raise NoValue(f"{arguments[0]} has texts, or bytes, of which there is no {name}")
        return MEASURES[name](trace.t, values.astype(np.float64, copy=False), *arguments[1:])
    if name in FUNCTIONS:
        return FUNCTIONS[name](*arguments)
    raise ValueError(f'{name} wants the name of a signal in quotes, such as {name}("System1.x1")')


def _span(t: Floats) -> float:
    if not t[-1] > t[0]:
        raise NoValue("a mean over time needs a run of some length")
    return float(t[-1] - t[0])
