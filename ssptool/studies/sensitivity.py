"""Sensitivity of results to factors: designs for Sobol' indices and for elementary effects, and their evaluation.

Sobol' indices are the fractions of the variance of a result that are due to a factor alone (first order), or that
vanish with it (total), for independent factors. Elementary effects need fewer runs and show which factors have an
influence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssptool.studies.designs import (
    MOST_DIMENSIONS,
    RANDOM,
    Columns,
    FactorSource,
    FactorValue,
    Floats,
    quantiles,
    too_many,
    unusable_sources,
)

RESAMPLES = 1000
"""Number of resamples of the points, for the confidence intervals."""
CONFIDENCE = 0.95
LEVELS = 4
"""Default number of levels of factors in trajectories."""


@dataclass(frozen=True, slots=True)
class Saltelli:
    """Two samples A and B of `runs` points each, and for every factor the sample A with the values of B for this
    factor.

    The rows are A, B, then one block for each factor: runs · (factors + 2) points.

    References
    ----------
    Saltelli et al. 2010, "Variance based sensitivity analysis of model output", table 2.
    """

    runs: int
    seed: int
    word: ClassVar[str] = "saltelli"
    ranked: ClassVar[str] = "ST"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return self.runs * (len(sources) + 2)

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        if 2 * len(sources) > MOST_DIMENSIONS:
            yield "", f"it is for at most {MOST_DIMENSIONS // 2} factors, found {len(sources)}"
        if self.runs & (self.runs - 1):
            lower = 1 << (self.runs.bit_length() - 1)
            yield "runs", f"must be a power of 2 for the points to be balanced: {lower} or {2 * lower}, not {self.runs}"
        yield from _problems(self.word, self.size(sources), sources)

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        from scipy.stats import qmc

        count = len(sources)
        u = qmc.Sobol(2 * count, scramble=True, rng=np.random.default_rng(self.seed)).random(self.runs)
        a, b = u[:, :count], u[:, count:]
        mixed = np.repeat(a[np.newaxis], count, axis=0)
        for factor in range(count):
            mixed[factor, :, factor] = b[:, factor]
        return quantiles(np.concatenate([a, b, mixed.reshape(-1, count)]), sources)


@dataclass(frozen=True, slots=True)
class Morris:
    """Elementary effects of a number of `trajectories`: from a random point, each factor moves once, in random order,
    by half of its range.

    Points lie in the middle of `levels` classes of equal probability, so that unbounded distributions can be used.

    References
    ----------
    Morris 1991, "Factorial sampling plans for preliminary computational experiments".
    """

    trajectories: int
    seed: int
    levels: int = LEVELS
    word: ClassVar[str] = "morris"
    ranked: ClassVar[str] = "µ*"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return self.trajectories * (len(sources) + 1)

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        if self.levels % 2:
            yield "levels", f"must be even, for steps of half the range, not {self.levels}"
        yield from _problems(self.word, self.size(sources), sources)

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        return quantiles(np.concatenate([path for path, _, _ in self.paths(len(sources))]), sources)

    def paths(self, factors: int) -> Iterator[tuple[Floats, Sequence[int], Floats]]:
        """Points of each trajectory (factors + 1, factors) in the unit cube, the factor that moves in each step, and
        its direction: up (1) or down (-1).
        """
        random = np.random.default_rng(self.seed)
        for _ in range(self.trajectories):
            place = random.integers(self.levels, size=factors)
            order = random.permutation(factors)
            points, signs = [place.copy()], np.empty(factors)
            for step, factor in enumerate(order):
                signs[step] = 1.0 if place[factor] < self.levels // 2 else -1.0
                place[factor] += int(signs[step]) * (self.levels // 2)
                points.append(place.copy())
            yield (np.array(points) + 0.5) / self.levels, order.tolist(), signs


def _problems(word: str, size: int, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
    yield from unusable_sources(sources, RANDOM, word)
    yield from too_many(size)
    if not sources:
        yield "", "there is nothing to vary: no factor has values or a distribution"


class SensitivityMeasure(NamedTuple):
    """A number with its confidence interval; the ends are nan if there is none."""

    value: float
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Dependency of a result on factors.

    Attributes
    ----------
    result
        Name of the result.
    measures
        Measures by name (`S1`, `ST`; `µ*`, `µ`, `σ`), one per factor, in the order of the factors. Indices have no
        unit, elementary effects the unit of the result.
    factors
        Names of the factors.
    used, lost
        Numbers of points (Sobol' indices) or steps (elementary effects) with and without a value.
    """

    result: str
    measures: Mapping[str, tuple[SensitivityMeasure, ...]]
    factors: tuple[str, ...]
    used: int
    lost: int

    @property
    def ranked(self) -> str:
        """Name of the measure that ranks the factors: `ST` or `µ*`."""
        return Saltelli.ranked if Saltelli.ranked in self.measures else Morris.ranked

    @property
    def ranking(self) -> tuple[int, ...]:
        """Indices of the factors, the most important one first."""
        measures = self.measures[self.ranked]
        return tuple(sorted(range(len(measures)), key=lambda place: -measures[place].value))

    def ranks(self, place: int) -> tuple[int, int]:
        """The best and the worst rank of a factor, from 1, that the intervals allow."""
        measures = self.measures[self.ranked]
        own = measures[place]
        better = sum(one.low > own.high for one in measures)
        worse = sum(one.high < own.low for one in measures)
        return 1 + better, len(measures) - worse


SensitivityDesign: TypeAlias = Saltelli | Morris
SENSITIVITY_DESIGNS = (Saltelli.word, Morris.word)


def headings_of(found: Sensitivity) -> list[str]:
    """Headings of `rows_of`, except that of the factor."""
    intervals = f"{100 * CONFIDENCE:g} %"
    headings = ["rank"]
    for name, measures in found.measures.items():
        headings += [name, *([f"{intervals} from", "to"] if np.isfinite(measures[0].low) else [])]
    return headings


def rows_of(found: Sensitivity) -> list[list[str]]:
    """A row of a table for each factor, the most important first: name, ranks, and each measure with its interval."""
    rows = [[name, _rank_text(*found.ranks(place))] for place, name in enumerate(found.factors)]
    for measures in found.measures.values():
        for row, one in zip(rows, measures, strict=True):
            row += [f"{value:.4g}" for value in (one if np.isfinite(measures[0].low) else one[:1])]
    return [rows[place] for place in found.ranking]


def _rank_text(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best}–{worst}"


def sensitivity(design: SensitivityDesign, factors: Sequence[str], result: str, values: Floats) -> Sensitivity | None:
    """Sensitivity from the values of a result at the points of a design (nan if missing).

    None if too few points have a value, or if all values are equal.
    """
    if isinstance(design, Saltelli):
        return _indices(design, tuple(factors), result, values)
    return _effects(design, tuple(factors), result, values)


def _indices(design: Saltelli, factors: tuple[str, ...], result: str, values: Floats) -> Sensitivity | None:
    blocks = values.reshape(len(factors) + 2, design.runs)
    complete = blocks[:, np.isfinite(blocks).all(axis=0)]
    used = complete.shape[1]
    spread = complete[:2].std() if used >= _FEWEST else 0.0
    if not spread > 0:
        return None
    scaled = (complete - complete[:2].mean()) / spread
    first, total = _intervals(lambda chosen: _sobol_indices(scaled[:, chosen]), used, design.seed)
    return Sensitivity(result, {"S1": first, "ST": total}, factors, used, design.runs - used)


_FEWEST = 2


def _sobol_indices(blocks: Floats) -> Floats:
    """First order and total (2, factors): estimators b and f of Saltelli et al. 2010, table 2."""
    a, b, mixed = blocks[0], blocks[1], blocks[2:]
    variance = np.concatenate([a, b]).var()
    first = (b * (mixed - a)).mean(axis=1)
    total = ((a - mixed) ** 2).mean(axis=1) / 2
    return np.array([first, total]) / (variance or np.nan)


def _effects(design: Morris, factors: tuple[str, ...], result: str, values: Floats) -> Sensitivity | None:
    """Changes of the result divided by the fraction of a factor's range, with sign (`µ`, `σ`) and without (`µ*`).

    References
    ----------
    Campolongo, Cariboni and Saltelli 2007, "An effective screening design for sensitivity analysis of large models".
    """
    lines = values.reshape(design.trajectories, len(factors) + 1)
    effects = np.empty((design.trajectories, len(factors)))
    for line, row, (_, order, signs) in zip(lines, effects, design.paths(len(factors)), strict=True):
        row[order] = np.diff(line) * signs / 0.5
    complete = effects[np.isfinite(effects).all(axis=1)]
    if len(complete) < _FEWEST:
        return None
    (absolute,) = _intervals(lambda chosen: np.abs(complete[chosen]).mean(axis=0)[None], len(complete), design.seed)
    means = tuple(map(SensitivityMeasure, complete.mean(axis=0).tolist()))
    spreads = tuple(map(SensitivityMeasure, complete.std(axis=0, ddof=1).tolist()))
    measures = {"µ*": absolute, "µ": means, "σ": spreads}
    return Sensitivity(result, measures, factors, len(complete), len(effects) - len(complete))


def _intervals(
    estimate: Callable[[NDArray[np.int64]], Floats], count: int, seed: int
) -> Iterator[tuple[SensitivityMeasure, ...]]:
    """Values with intervals for each row of an estimate, by bootstrap: estimates from points that are drawn again."""
    random = np.random.default_rng(seed)
    value = estimate(np.arange(count))
    drawn = np.array([estimate(random.integers(count, size=count)) for _ in range(RESAMPLES)])
    ends = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    for row, low, high in zip(value, *ends, strict=True):
        yield tuple(SensitivityMeasure(*each) for each in zip(row.tolist(), low.tolist(), high.tolist(), strict=True))
