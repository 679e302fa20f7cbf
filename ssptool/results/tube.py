"""The tube around a reference signal, inside which another signal agrees with it."""

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """A signal over time; where a time occurs twice, both sides of an event.

    Attributes
    ----------
    t : (n,) [s]
        Not decreasing; n >= 1.
    y : (n,)
    held
        Between two samples the value is that of the first one (discrete signals); else on the line between them.
    """

    t: Floats
    y: Floats
    held: bool = False

    def at(self, t: Floats) -> Floats:
        """Values (m,) at times (m,) [s], at an event those after it; the first or last value outside."""
        if self.held:
            return self.y[np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, None)]
        values: Floats = np.interp(t, self.t, self.y)
        return values


@dataclass(frozen=True, slots=True)
class Tube:
    """Smallest and largest allowed values (m,) at the times (m,) [s] at which they are asked for."""

    t: Floats
    lower: Floats
    upper: Floats

    def excess(self, y: Floats) -> Floats:
        """How far values (m,) are outside, 0 inside; inf where they are not a number and the reference is, or vice
        versa.
        """
        with np.errstate(invalid="ignore"):  # infinities are seen to below
            far = np.maximum(np.maximum(self.lower - y, y - self.upper), 0.0)
        undefined, expected = np.isnan(y), np.isnan(self.lower) | np.isnan(self.upper)
        far[undefined != expected] = np.inf
        far[undefined & expected] = 0.0
        # Two equal infinities are the same value, though their difference is none.
        same = np.isinf(y) & (y >= self.lower) & (y <= self.upper)
        far[same] = 0.0
        return far


def tube(reference: Curve, t: Floats, half_width: float, time: float) -> Tube:
    """All values that the reference takes within `time` of each `t`, widened by `half_width`.

    Between its samples the reference is a line (or held), so its extremes over a window are at samples inside the
    window or at the window's ends: the tube is exact.

    Parameters
    ----------
    t : (m,) [s]
    half_width
        In the unit of the signal.
    time [s]
    """
    ends = reference.at(np.concatenate([t - time, t + time])).reshape(2, -1)
    lower, upper = ends.min(axis=0), ends.max(axis=0)
    first = np.searchsorted(reference.t, t - time, side="left")
    last = np.searchsorted(reference.t, t + time, side="right")
    inside = last > first
    if inside.any():
        low, high = _extremes(reference.y, first[inside], last[inside])
        lower[inside] = np.minimum(lower[inside], low)
        upper[inside] = np.maximum(upper[inside], high)
    return Tube(t, lower - half_width, upper + half_width)


def _extremes(y: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Minimum and maximum of y[first:last] for each pair: from blocks of powers of two, O(n log n) for any width."""
    length = last - first
    level = np.frexp(length)[1] - 1
    low, high = np.empty(len(first)), np.empty(len(first))
    lows, highs = y, y
    for exponent in range(int(level.max()) + 1):
        mine = level == exponent
        a, b = first[mine], last[mine] - (1 << exponent)
        low[mine] = np.minimum(lows[a], lows[b])
        high[mine] = np.maximum(highs[a], highs[b])
        shift = 1 << exponent
        lows, highs = np.minimum(lows[:-shift], lows[shift:]), np.maximum(highs[:-shift], highs[shift:])
    return low, high
