"""Random designs, from scipy.stats.qmc; a seed gives the same points always."""

from collections.abc import Iterator, Mapping

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.studies.designs.correlation import Correlations, copula, iman_conover
from ssptool.studies.designs.design import Columns, too_many, unusable
from ssptool.studies.sources import RANDOM, Floats, Setting, Source, random_values

MOST_DIMENSIONS = 21201
"""For which scipy knows direction numbers (Joe, Kuo 2008)."""

_INSIDE = 1e-12
"""How far from 0 and 1 points stay, where the quantiles of a normal distribution are infinite."""


@dataclass(frozen=True, slots=True)
class LatinHypercube:
    """Each factor has one value in each of `runs` classes of equal probability (McKay, Beckman, Conover 1979).

    Correlated factors keep that: only the order of their values changes (Iman, Conover 1982).
    """

    runs: int
    seed: int
    correlations: Correlations = ()
    word: str = "latin-hypercube"

    def size(self, sources: Mapping[str, Source]) -> int:
        return self.runs

    def problems(self, sources: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
        yield from _problems(self, sources)

    def columns(self, sources: Mapping[str, Source], nominal: Mapping[str, Setting]) -> Columns:
        from scipy.stats import qmc

        random = np.random.default_rng(self.seed)
        u = qmc.LatinHypercube(len(sources), rng=random).random(self.runs)
        if self.correlations:
            u = iman_conover(u, list(sources), self.correlations, random)
        return _columns(u, sources)


@dataclass(frozen=True, slots=True)
class Sobol:
    """A scrambled Sobol' sequence; its balance holds for `runs` that are a power of 2.

    Correlated factors follow through a Gaussian copula, which keeps how evenly the points fill the space.
    """

    runs: int
    seed: int
    correlations: Correlations = ()
    word: str = "sobol"

    def size(self, sources: Mapping[str, Source]) -> int:
        return self.runs

    def problems(self, sources: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
        if len(sources) > MOST_DIMENSIONS:
            yield "", f"it is for at most {MOST_DIMENSIONS} factors, found {len(sources)}"
        if self.runs & (self.runs - 1):
            lower = 1 << (self.runs.bit_length() - 1)
            yield "runs", f"must be a power of 2 for the points to be balanced: {lower} or {2 * lower}, not {self.runs}"
        yield from _problems(self, sources)

    def columns(self, sources: Mapping[str, Source], nominal: Mapping[str, Setting]) -> Columns:
        from scipy.stats import qmc

        u = qmc.Sobol(len(sources), scramble=True, rng=np.random.default_rng(self.seed)).random(self.runs)
        if self.correlations:
            u = copula(u, list(sources), self.correlations)
        return _columns(u, sources)


def _problems(design: LatinHypercube | Sobol, sources: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
    yield from unusable(sources, RANDOM, design.word)
    yield from too_many(design.runs)
    if not sources:
        yield "", "there is nothing to draw: no factor has values or a distribution"
    if design.correlations and design.runs <= len(sources) + 1 and isinstance(design, LatinHypercube):
        yield "runs", f"{design.runs} runs are too few to correlate {len(sources)} factors"


def _columns(u: Floats, sources: Mapping[str, Source]) -> Columns:
    inside = np.clip(u, _INSIDE, 1 - _INSIDE)
    return {name: random_values(source, inside[:, k]) for k, (name, source) in enumerate(sources.items())}
