"""The instants at which something jumps, and the stretches of time between them."""

import math
from collections.abc import Iterable
from typing import NamedTuple

SAME_TIME = 1e-12
"""Relative: jumps so close to each other, as 0.3 and 0.1 + 0.2, are one."""


class Boundary(NamedTuple):
    """One instant [s], as the earliest and the latest of the jumps that are at it state it."""

    first: float
    last: float


def boundaries(jumps: Iterable[float], start: float, stop: float) -> tuple[Boundary, ...]:
    """Those after the start and not after the stop [s], in order. What jumps at the start has done so then."""
    found: list[Boundary] = []
    for time in sorted(jumps):
        if same_time(time, start) or not start < time or (time > stop and not same_time(time, stop)):
            continue
        if found and same_time(found[-1].first, time):
            found[-1] = Boundary(found[-1].first, time)
        else:
            found.append(Boundary(time, time))
    return tuple(found)


def same_time(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=SAME_TIME, abs_tol=SAME_TIME)
