"""Check whether a sensitivity design has enough runs to determine the size and the order of the factors.

The width of intervals is inversely proportional to the square root of the number of points or trajectories, from which
the necessary number follows.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np

from ssptool.studies.sensitivity import Morris, Saltelli, Sensitivity, SensitivityDesign, SensitivityMeasure

INDEX_TOLERANCE = 0.1
"""Half-width of the interval of a Sobol' index (a fraction of the variance) that is narrow enough."""

EFFECT_TOLERANCE = 0.25
"""The same for an elementary effect, relative to the largest one; larger, because this design is for screening."""

MARGIN = 1.25
"""Ratio of the suggested number of points to the number that follows from the present intervals, which are estimates.
"""

LEAST = 10
"""Smallest number of points or trajectories for intervals; with fewer, they are too narrow."""


@dataclass(frozen=True, slots=True)
class TooFewRuns:
    """Intervals of a result that are too wide.

    Attributes
    ----------
    result
        Name of the result.
    reason
        Text for the interval, or the two overlapping intervals.
    key, wanted
        Entry of `[design]`, and a value for which the intervals would be narrow enough.
    runs
        Number of runs of that design.
    """

    result: str
    reason: str
    key: str
    wanted: int
    runs: int

    def __str__(self) -> str:
        return f"too few runs: {self.reason}; `{self.key} = {self.wanted}` ({self.runs} runs) would do"


class _Need(NamedTuple):
    """Number of points that an interval needs, and the reason."""

    points: float
    reason: str


def too_few_runs(design: SensitivityDesign, found: Sensitivity) -> TooFewRuns | None:
    """The interval that needs most runs; None if all are narrow enough."""
    needs = [*_sizes(found), *_orders(found), *_intervals(found)]
    if not needs:
        return None
    points, reason = max(needs)
    points *= MARGIN
    factors = len(found.factors)
    if isinstance(design, Saltelli):
        wanted = max(1 << ceil(np.log2(points)), 2 * design.runs)
        return TooFewRuns(found.result, reason, "runs", wanted, wanted * (factors + 2))
    wanted = max(ceil(points), design.trajectories + 1)
    return TooFewRuns(found.result, reason, "trajectories", wanted, wanted * (factors + 1))


def _tolerance(found: Sensitivity) -> float:
    """Half-width that is narrow enough, in the unit of the measures."""
    if found.ranked == Saltelli.ranked:
        return INDEX_TOLERANCE
    return EFFECT_TOLERANCE * max(one.value for one in found.measures[Morris.ranked])


def _sizes(found: Sensitivity) -> list[_Need]:
    """Intervals that are too wide for the size of a measure."""
    tolerance = _tolerance(found)
    needs = []
    for name, measures in found.measures.items():
        for factor, one in zip(found.factors, measures, strict=True):
            if (half := (one.high - one.low) / 2) > tolerance:
                told = f"{name} of {factor} is {_estimate_text(one)}, wider than ± {tolerance:.3g}"
                needs.append(_Need(found.used * (half / tolerance) ** 2, told))
    return needs


def _orders(found: Sensitivity) -> list[_Need]:
    """Neighbours in the ranking whose intervals overlap, although they differ by more than the tolerance."""
    measures, ranking, needs = found.measures[found.ranked], found.ranking, []
    for upper, lower in pairwise(ranking):
        first, second = measures[upper], measures[lower]
        apart = first.value - second.value
        if apart > _tolerance(found) and first.low < second.high:
            ends = (first.value - first.low) + (second.high - second.value)
            told = (
                f"{found.ranked} of {found.factors[upper]}, {_estimate_text(first)}, overlaps with that of "
                f"{found.factors[lower]}, {_estimate_text(second)}"
            )
            needs.append(_Need(found.used * (ends / apart) ** 2, told))
    return needs


def _intervals(found: Sensitivity) -> list[_Need]:
    """Intervals from so few points that their width is unreliable."""
    scatter = any(one.high > one.low for one in found.measures[found.ranked])
    if found.used >= LEAST or not scatter:
        return []
    return [_Need(LEAST, f"intervals need at least {LEAST} values, found {found.used}")]


def _estimate_text(one: SensitivityMeasure) -> str:
    return f"{one.value:.3g} [{one.low:.3g}, {one.high:.3g}]"
