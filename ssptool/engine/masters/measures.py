"""When the values of an interface agree: measures of what is left to agree, each with its limit."""

import itertools
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.interface import Floats

Judge: TypeAlias = Callable[[Floats, Floats], float]
"""x and found − x (m,), m ≥ 1 → how many times too large the second is: 1 or less has converged; nan has not."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""To which part of themselves values are taken to be the same: a few operations on them leave as much."""


def same(x: Floats, found: Floats) -> bool:
    """Whether they agree as far as numbers can."""
    return bool(np.all(np.abs(found - x) <= ROUNDING * np.abs(x)))


class MeasureName(StrEnum):
    """What a difference is compared with."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    RESIDUAL_RELATIVE = "residual-relative"


class Measure(Protocol):
    """A limit of the difference between values that went into a step and those that came out for them."""

    @property
    def name(self) -> str: ...

    def begin(self, nominal: Floats) -> Judge:
        """For the iterations of one step; nominal values (m,) are in the units of the signals."""
        ...


@dataclass(frozen=True, slots=True)
class Absolute:
    """Every |found − x| is at most the limit, in the unit of its signal."""

    limit: float

    @property
    def name(self) -> str:
        return f"absolute {self.limit:g}"

    def begin(self, nominal: Floats) -> Judge:
        return lambda x, change: float(np.abs(change).max()) / self.limit


@dataclass(frozen=True, slots=True)
class Relative:
    """Every |found − x| is at most limit · max(|x|, nominal)."""

    limit: float

    @property
    def name(self) -> str:
        return f"relative {self.limit:g}"

    def begin(self, nominal: Floats) -> Judge:
        return lambda x, change: float((np.abs(change) / (self.limit * np.maximum(np.abs(x), nominal))).max())


@dataclass(frozen=True, slots=True)
class ResidualRelative:
    """‖found − x‖ has become `limit` of what it was at the first guess, or what rounding leaves; 2-norm in nominal
    values.

    References
    ----------
    Uekermann 2016, "Partitioned fluid-structure interaction on massively parallel systems", §3.5.
    """

    limit: float

    @property
    def name(self) -> str:
        return f"residual-relative {self.limit:g}"

    def begin(self, nominal: Floats) -> Judge:
        first: list[float] = []

        def judge(x: Floats, change: Floats) -> float:
            size = float(np.linalg.norm(change / nominal))
            first.append(size)
            # A first guess that is right to the last digit cannot be bettered: at rest, say.
            rounding = ROUNDING * float(np.linalg.norm(np.maximum(np.abs(x) / nominal, 1.0)))
            return size / max(self.limit * first[0], rounding)

        return judge


@dataclass(frozen=True, slots=True)
class AllOf:
    """Several measures, all of which have to be met."""

    measures: tuple[Measure, ...]

    @property
    def name(self) -> str:
        return " and ".join(measure.name for measure in self.measures)

    def begin(self, nominal: Floats) -> Judge:
        judges = [measure.begin(nominal) for measure in self.measures]
        if len(judges) == 1:
            return judges[0]
        # Each is asked, so that each sees every iterate; max() of Python would drop a nan.
        return lambda x, change: float(np.max([judge(x, change) for judge in judges]))


@dataclass(frozen=True, slots=True)
class FixedCount:
    """No measure at all: a step is over after exactly so many iterations, whatever is left to agree.

    What solvers of flows and structures do that know a number of outer corrections only. Values that are not finite
    never pass.
    """

    count: int

    @property
    def name(self) -> str:
        return f"none, after {self.count} iterations"

    def begin(self, nominal: Floats) -> Judge:
        done = itertools.count(1)
        return lambda x, change: self.count / next(done) if np.all(np.isfinite(change)) else np.nan


MEASURES: Mapping[MeasureName, Callable[[float], Measure]] = {
    MeasureName.ABSOLUTE: Absolute,
    MeasureName.RELATIVE: Relative,
    MeasureName.RESIDUAL_RELATIVE: ResidualRelative,
}
