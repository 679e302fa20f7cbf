"""Check whether a sensitivity design has enough runs to determine the size and the order of the factors.

Intervals shrink with the square root of the number of points or trajectories, which gives the necessary number.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np

from ssptool.studies.sensitivity import Morris, Saltelli, Sensitivity, SensitivityDesign, SensitivityMeasure

INDEX_TOLERANCE = 0.1
"""Half-width of the interval of a Sobol' index (a part of the variance) that is narrow enough."""

EFFECT_TOLERANCE = 0.25
"""The same of an elementary effect, relative to the largest one: its design is for screening."""

MARGIN = 1.25
"""Points that are advised, relative to those that the present intervals ask for, which are estimates themselves."""

LEAST = 10
"""Points or trajectories from which intervals can be drawn: those of fewer are too narrow."""


@dataclass(frozen=True, slots=True)
class TooFewRuns:
    """Intervals of a result that are too wide.

    Attributes
    ----------
    result
        Its name.
    reason
        The interval, or the two intervals that overlap, in words.
    key, wanted
        Entry of `[design]`, and a value of it with which the intervals would be narrow enough.
    runs
        Runs of that design.
    """

    result: str
    reason: str
    key: str
    wanted: int
    runs: int

    def __str__(self) -> str:
        return f"too few runs: {self.reason}; `{self.key} = {self.wanted}` ({self.runs} runs) would do"


class _Need(NamedTuple):
    """Points that an interval needs, and the reason."""

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
    """Intervals that do not tell the size of a measure."""
    tolerance = _tolerance(found)
    needs = []
    for name, measures in found.measures.items():
        for factor, one in zip(found.factors, measures, strict=True):
            if (half := (one.high - one.low) / 2) > tolerance:
                told = f"{name} of {factor} is {_told(one)}, wider than ± {tolerance:.3g}"
                needs.append(_Need(found.used * (half / tolerance) ** 2, told))
    return needs


def _orders(found: Sensitivity) -> list[_Need]:
    """Neighbours in the ranking whose intervals overlap, though they differ by more than the tolerance."""
    measures, ranking, needs = found.measures[found.ranked], found.ranking, []
    for upper, lower in pairwise(ranking):
        first, second = measures[upper], measures[lower]
        apart = first.value - second.value
        if apart > _tolerance(found) and first.low < second.high:
            ends = (first.value - first.low) + (second.high - second.value)
            told = (
                f"{found.ranked} of {found.factors[upper]}, {_told(first)}, overlaps with that of "
                f"{found.factors[lower]}, {_told(second)}"
            )
            needs.append(_Need(found.used * (ends / apart) ** 2, told))
    return needs


def _intervals(found: Sensitivity) -> list[_Need]:
    """Intervals from so few points that their width is not known."""
    scatter = any(one.high > one.low for one in found.measures[found.ranked])
    if found.used >= LEAST or not scatter:
        return []
    return [_Need(LEAST, f"intervals need at least {LEAST} values, found {found.used}")]


def _told(one: SensitivityMeasure) -> str:
    return f"{one.value:.3g} [{one.low:.3g}, {one.high:.3g}]"
