"""Designs of experiments, and the sources of the values of their factors.

Sources are levels, ranges, distributions, expressions and columns of tables. Grids use their levels, random designs
their quantiles. Designs are the grid, one at a time, the Latin hypercube, the Sobol sequence and the table. Random
designs use scipy.stats.qmc, and a seed always gives the same points. Their factors may have rank correlations
(Spearman's rho), by the method of Iman and Conover or a Gaussian copula. scipy.stats is imported when it is needed,
because loading it takes as long as some studies, and workers do not need it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssptool.documents.vocabulary import double
from ssptool.errors import WrongValue
from ssptool.studies.expressions import Expression

Floats = NDArray[np.float64]
FactorValue: TypeAlias = float | int | bool | str


@dataclass(frozen=True, slots=True)
class Levels:
    """A list of values; random designs draw each with equal probability."""

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
    """Range from `low` to `high`: `count` levels, or a uniform distribution; with `log`, both on a logarithmic
    scale.
    """

    low: float
    high: float
    count: int | None = None
    log: bool = False
    words: ClassVar[str] = "low, high"

    @property
    def size(self) -> int:
        """Number of levels."""
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
    """Normal distribution, truncated at `low` and `high` if these are given."""

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
    """Log-normal distribution: the logarithm has the standard deviation `spread` around that of `median`."""

    median: float
    spread: float
    distribution: ClassVar[str] = "lognormal"
    words: ClassVar[str] = "a lognormal distribution"

    def at(self, u: Floats) -> Floats:
        from scipy import stats

        return np.asarray(stats.lognorm(self.spread, scale=self.median).ppf(u))


@dataclass(frozen=True, slots=True)
class Triangular:
    """Triangular distribution from `low` to `high` with the mode `mode`."""

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
    """Values computed from other factors."""

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
    """Quantiles of a source at 0 < u < 1."""
    values: Sequence[FactorValue] | Floats = source.at(u)
    if isinstance(values, np.ndarray):
        return [float(value) for value in values]
    return values


def value_text(value: float | int | bool | str) -> str:
    """Text of a value without loss of digits, as a user would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return double.write(value) if isinstance(value, float) else str(value)


MOST_RUNS = 10_000_000

Columns: TypeAlias = dict[str, Sequence[FactorValue]]
"""Values by factor, all of the same length."""


class Design(Protocol):
    """A design chooses points for factors whose sources it supports; it does not handle expressions."""

    @property
    def word(self) -> str:
        """Name of the design in study files."""
        ...

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        """Number of points."""
        ...

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        """Problems: the factor (or "" for the design, or the name of its key), and the reason."""
        ...

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        """The points. `nominal` contains the value of every factor in the system or in the study."""
        ...


def design_named(word: str) -> str:
    """Name of a design with its article."""
    return f"{'an' if word == 'optimize' else 'a'} {word} design"


def unusable_sources(
    sources: Mapping[str, FactorSource], kinds: tuple[type, ...], design: str
) -> Iterator[tuple[str, str]]:
    """Factors with a source that the design does not support."""
    words = " or ".join(str(kind.words) for kind in kinds)  # type: ignore[attr-defined]
    for name, source in sources.items():
        if not isinstance(source, kinds):
            yield name, f"{design_named(design)} cannot use {source.words}; give {words}"


def too_many(runs: int) -> Iterator[tuple[str, str]]:
    if runs > MOST_RUNS:
        yield "", f"there would be {min(runs, 10**300):.3g} runs; at most {MOST_RUNS} are possible"


@dataclass(frozen=True, slots=True)
class GridDesign:
    """Full factorial design; the last factor varies fastest."""

    word: str = "grid"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return prod(source.size for source in sources.values() if isinstance(source, STEPPED))

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        yield from unusable_sources(sources, STEPPED, self.word)
        yield from too_many(self.size(sources))

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        levels = {name: source.levels() for name, source in sources.items() if isinstance(source, STEPPED)}
        shape = tuple(map(len, levels.values()))
        places = np.unravel_index(np.arange(prod(shape)), shape) if shape else ()
        return {name: [each[k] for k in at] for (name, each), at in zip(levels.items(), places, strict=True)}


@dataclass(frozen=True, slots=True)
class OneAtATime:
    """The nominal point, followed by every level of each factor with all other factors at their nominal values."""

    word: str = "one-at-a-time"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return 1 + sum(source.size for source in sources.values() if isinstance(source, STEPPED))

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        yield from unusable_sources(sources, STEPPED, self.word)
        yield from too_many(self.size(sources))

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        points: list[dict[str, FactorValue]] = [{name: nominal[name] for name in sources}]
        for name, source in sources.items():
            if isinstance(source, STEPPED):
                points += [{**points[0], name: level} for level in source.levels() if level != nominal[name]]
        return {name: [point[name] for point in points] for name in sources}


Correlations: TypeAlias = tuple[tuple[str, str, float], ...]
"""Two factors and their rank correlation; all others are independent."""

_SMALLEST_EIGENVALUE = 1e-8


def normal_correlation(names: Sequence[str], correlations: Correlations) -> Floats:
    """The correlations (p, p) of normal variables that have these rank correlations: r = 2 sin(π ρ / 6).

    Raises
    ------
    WrongValue
        Such correlations are impossible: the matrix has an eigenvalue that is not positive.

    References
    ----------
    Pearson 1907; Kruskal 1958, "Ordinal measures of association", eq. 6.2.
    """
    matrix = np.eye(len(names))
    for one, other, rank in correlations:
        i, j = names.index(one), names.index(other)
        matrix[i, j] = matrix[j, i] = 2 * np.sin(np.pi * rank / 6)
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < _SMALLEST_EIGENVALUE:
        raise WrongValue(
            f"no factors can be correlated like that: the correlation matrix has the eigenvalue {lowest:.3g}, all must "
            "be positive; make the correlations weaker"
        )
    return matrix


def iman_conover(u: Floats, names: Sequence[str], correlations: Correlations, random: np.random.Generator) -> Floats:
    """The values of each column of `u` (n, p) in another order, which approximately has these rank correlations.

    References
    ----------
    Iman and Conover 1982, "A distribution-free approach to inducing rank correlation among input variables".
    """
    from scipy import stats

    wanted = np.linalg.cholesky(normal_correlation(names, correlations))
    count = len(u)
    scores = stats.norm.ppf(np.arange(1, count + 1) / (count + 1))
    start = np.column_stack([random.permutation(scores) for _ in names])
    # Remove the random correlation of the shuffled scores.
    have = np.linalg.cholesky(np.corrcoef(start, rowvar=False))
    ranked = start @ np.linalg.solve(have, np.eye(len(names))).T @ wanted.T
    order = np.argsort(np.argsort(ranked, axis=0), axis=0)
    return np.take_along_axis(np.sort(u, axis=0), order, axis=0)


def copula(u: Floats, names: Sequence[str], correlations: Correlations) -> Floats:
    """Points of the unit cube (n, p), transformed to a Gaussian copula with these rank correlations."""
    from scipy import stats

    factor = np.linalg.cholesky(normal_correlation(names, correlations))
    return np.asarray(stats.norm.cdf(stats.norm.ppf(np.clip(u, 1e-15, 1 - 1e-15)) @ factor.T))


MOST_DIMENSIONS = 21201
"""Largest number of dimensions for which scipy has direction numbers (Joe, Kuo 2008)."""

_INSIDE = 1e-12
"""Smallest distance of points from 0 and 1, where the quantiles of a normal distribution are infinite."""


@dataclass(frozen=True, slots=True)
class LatinHypercube:
    """Each factor has one value in each of `runs` classes of equal probability (McKay, Beckman, Conover 1979).

    Correlated factors keep this property, because only the order of their values changes (Iman, Conover 1982).
    """

    runs: int
    seed: int
    correlations: Correlations = ()
    word: str = "latin-hypercube"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return self.runs

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        yield from _problems(self, sources)

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        from scipy.stats import qmc

        random = np.random.default_rng(self.seed)
        u = qmc.LatinHypercube(len(sources), rng=random).random(self.runs)
        if self.correlations:
            u = iman_conover(u, list(sources), self.correlations, random)
        return quantiles(u, sources)


@dataclass(frozen=True, slots=True)
class Sobol:
    """A scrambled Sobol' sequence; it is balanced if `runs` is a power of 2.

    Correlated factors are transformed by a Gaussian copula, which preserves the even distribution of the points.
    """

    runs: int
    seed: int
    correlations: Correlations = ()
    word: str = "sobol"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return self.runs

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        if len(sources) > MOST_DIMENSIONS:
            yield "", f"it is for at most {MOST_DIMENSIONS} factors, found {len(sources)}"
        if self.runs & (self.runs - 1):
            lower = 1 << (self.runs.bit_length() - 1)
            yield "runs", f"must be a power of 2 for the points to be balanced: {lower} or {2 * lower}, not {self.runs}"
        yield from _problems(self, sources)

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        from scipy.stats import qmc

        u = qmc.Sobol(len(sources), scramble=True, rng=np.random.default_rng(self.seed)).random(self.runs)
        if self.correlations:
            u = copula(u, list(sources), self.correlations)
        return quantiles(u, sources)


def _problems(design: LatinHypercube | Sobol, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
    yield from unusable_sources(sources, RANDOM, design.word)
    yield from too_many(design.runs)
    if not sources:
        yield "", "there is nothing to draw: no factor has values or a distribution"
    if design.correlations and design.runs <= len(sources) + 1 and isinstance(design, LatinHypercube):
        yield "runs", f"{design.runs} runs are too few to correlate {len(sources)} factors"


def quantiles(u: Floats, sources: Mapping[str, FactorSource]) -> Columns:
    """Values of factors at points (n, factors) of the unit cube."""
    inside = np.clip(u, _INSIDE, 1 - _INSIDE)
    return {name: random_values(source, inside[:, k]) for k, (name, source) in enumerate(sources.items())}


@dataclass(frozen=True, slots=True)
class TableDesign:
    """Rows of values, by factor. `file` is their origin."""

    values: Mapping[str, Sequence[FactorValue]] = field(default_factory=dict)
    file: str = ""
    word: str = "table"

    def size(self, sources: Mapping[str, FactorSource]) -> int:
        return max(map(len, self.values.values()), default=0)

    def problems(self, sources: Mapping[str, FactorSource]) -> Iterator[tuple[str, str]]:
        yield from unusable_sources(sources, (Tabled,), self.word)
        for name in sources:
            if name not in self.values:
                yield name, f"the table has no column {name!r}; it has {', '.join(self.values) or 'none'}"
        if len({len(column) for column in self.values.values()}) > 1:
            yield "", f"its columns have different lengths: {', '.join(str(len(c)) for c in self.values.values())}"
        if not self.size(sources):
            yield "", "the table has no rows"
        yield from too_many(self.size(sources))

    def columns(self, sources: Mapping[str, FactorSource], nominal: Mapping[str, FactorValue]) -> Columns:
        return {name: list(self.values[name]) for name in sources}
