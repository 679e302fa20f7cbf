"""Sources of the values of a factor: levels, ranges, distributions, expressions, columns of tables.

Grids take their levels, random designs their quantiles. scipy.stats is imported where it is needed: it takes as long to
load as many a study runs, and workers do without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssptool.studies.expressions import Expression

Floats = NDArray[np.float64]
FactorValue: TypeAlias = float | int | bool | str


@dataclass(frozen=True, slots=True)
class Levels:
    """These values; random designs draw each with equal probability."""

    values: tuple[FactorValue, ...]
    words: ClassVar[str] = "values"

    @property
    def size(self) -> int:
        return len(self.values)

    def levels(self) -> tuple[FactorValue, ...]:
        return self.values

    def at(self, u: Floats) -> Sequence[FactorValue]:
        return [self.values[k] for k in np.minimum((u * len(self.values)).astype(int), len(self.values) - 1)]


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`: `count` levels, or a uniform distribution; both on a logarithmic scale with `log`."""

    low: float
    high: float
    count: int | None = None
    log: bool = False
    words: ClassVar[str] = "low, high"

    @property
    def size(self) -> int:
        """How many levels there are."""
        return self.count or 2

    def levels(self) -> tuple[float, ...]:
        space = np.geomspace if self.log else np.linspace
        return tuple(float(value) for value in space(self.low, self.high, self.size))

    def at(self, u: Floats) -> Floats:
        if self.log:
            from scipy import stats

            return np.asarray(stats.loguniform(self.low, self.high).ppf(u))
        return np.asarray(self.low + (self.high - self.low) * u)


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal, cut off at `low` and `high` where these are given."""

    mean: float
    std: float
    low: float = -np.inf
    high: float = np.inf
    distribution: ClassVar[str] = "normal"
    words: ClassVar[str] = "a normal distribution"

    def at(self, u: Floats) -> Floats:
        from scipy import stats

        a, b = (self.low - self.mean) / self.std, (self.high - self.mean) / self.std
        return np.asarray(stats.truncnorm(a, b, self.mean, self.std).ppf(u))


@dataclass(frozen=True, slots=True)
class LogNormal:
    """The logarithm is normal with the standard deviation `spread` around that of `median`."""

    median: float
    spread: float
    distribution: ClassVar[str] = "lognormal"
    words: ClassVar[str] = "a lognormal distribution"

    def at(self, u: Floats) -> Floats:
        from scipy import stats

        return np.asarray(stats.lognorm(self.spread, scale=self.median).ppf(u))


@dataclass(frozen=True, slots=True)
class Triangular:
    """From `low` to `high`, most likely `mode`."""

    low: float
    mode: float
    high: float
    distribution: ClassVar[str] = "triangular"
    words: ClassVar[str] = "a triangular distribution"

    def at(self, u: Floats) -> Floats:
        from scipy import stats

        shape = (self.mode - self.low) / (self.high - self.low)
        return np.asarray(stats.triang(shape, self.low, self.high - self.low).ppf(u))


@dataclass(frozen=True, slots=True)
class Computed:
    """From other factors."""

    expression: Expression
    words: ClassVar[str] = "an expression"


@dataclass(frozen=True, slots=True)
class Tabled:
    """A column of the table."""

    words: ClassVar[str] = "a column of the table"


FactorSource: TypeAlias = Levels | Range | Normal | LogNormal | Triangular | Computed | Tabled
RANDOM = (Levels, Range, Normal, LogNormal, Triangular)
STEPPED = (Levels, Range)


def random_values(source: Any, u: Floats) -> Sequence[FactorValue]:
    """The quantiles of a source at 0 < u < 1."""
    values: Sequence[FactorValue] | Floats = source.at(u)
    if isinstance(values, np.ndarray):
        return [float(value) for value in values]
    return values
