"""Charts of many runs, independent of the library that draws them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """A quantity along an axis; `labels` are names at 0, 1, … of one that is no number."""

    name: str
    unit: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class Scatter:
    """Results over factors: a panel for each pair. Values (n,) by name, nan where there are none."""

    factors: tuple[Axis, ...]
    results: tuple[Axis, ...]
    values: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Bar:
    """What one factor does to a result, all others being nominal: from its lowest to its highest value.

    `low` and `high` are the result at these two, `low_text` and `high_text` the values of the factor.
    """

    factor: str
    low: float
    high: float
    low_text: str
    high_text: str


@dataclass(frozen=True, slots=True)
class Tornado:
    """By result: its nominal value, and a bar for each factor, the widest first."""

    results: tuple[tuple[Axis, float, tuple[Bar, ...]], ...]


@dataclass(frozen=True, slots=True)
class Band:
    """A signal in many runs: at each time [s] its least and greatest value, the 5 % and 95 % quantiles, the median."""

    signal: Axis
    t: Floats
    least: Floats
    low: Floats
    median: Floats
    high: Floats
    greatest: Floats


@dataclass(frozen=True, slots=True)
class Envelope:
    """One panel for each signal."""

    bands: tuple[Band, ...]
    runs: int


Chart: TypeAlias = Scatter | Tornado | Envelope
