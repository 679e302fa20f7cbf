"""Times at equal distances, as in decimal arithmetic: 0.018, not 18 · 0.001 = 0.018000000000000002."""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import lcm

import numpy as np

from ssptool.engine.trace import Floats

EXACT = 1 << 53
"""Integers up to this one are exact as doubles."""


def grid_time(start: float, step: float, point: int) -> float:
    """The double nearest to the decimal number start + point·step [s]; the same bits as core/time_grid.hpp."""
    first, distance, denominator = _integers(start, step)
    return (first + point * distance) / denominator  # quotient of integers, so it is rounded once


def grid_times(start: float, step: float, points: Iterable[int]) -> Floats:
    """The same for several points (n,)."""
    numbers = np.array(list(points), dtype=np.int64)
    first, distance, denominator = _integers(start, step)
    largest = int(np.max(np.abs(numbers), initial=1)) * distance + abs(first)
    if max(largest, denominator) < EXACT:
        found: Floats = (first + numbers * distance) / denominator
        return found
    return np.array([grid_time(start, step, point) for point in numbers.tolist()], dtype=np.float64)


def exactly(size: float) -> Fraction:
    """The exact value of the decimal text of a number."""
    return Fraction(repr(float(size)))


@lru_cache(maxsize=64)
def _integers(start: float, step: float) -> tuple[int, int, int]:
    """Numerators of start and step with their common denominator, from their decimal text."""
    first, distance = exactly(start), exactly(step)
    denominator = lcm(first.denominator, distance.denominator)
    return int(first * denominator), int(distance * denominator), denominator
