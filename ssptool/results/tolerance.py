"""Tolerances of signals in comparisons, chosen by patterns of signal names. Loads no numerics, because commands parse
tolerances.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ssptool.arguments import number
from ssptool.engine.recording.patterns import NamedColumn, fits_column
from ssptool.errors import WrongValue
from ssptool.public_calls import public


@public
@dataclass(frozen=True, slots=True)
class Tolerance:
    """The half-widths of the tube around a reference.

    Attributes
    ----------
    absolute
        Half-width in the unit of the signal.
    relative
        Half-width relative to the largest magnitude of the reference.
    time [s]
        Allowed shift in time of the reference.
    """

    absolute: float = 0.0
    relative: float = 1e-3
    time: float = 0.0

    def __post_init__(self) -> None:
        for name in ("absolute", "relative", "time"):
            value = number(name, getattr(self, name))
            if not (math.isfinite(value) and value >= 0.0):
                raise WrongValue(f"the {name} tolerance must be finite and not negative, found {value!r}")

    def width(self, magnitude: float) -> float:
        """Half-width in the direction of the values, for a reference with this largest magnitude."""
        return self.absolute + self.relative * magnitude


EXACT = Tolerance(relative=0.0)
"""Tolerance for signals that are not continuous: values must be equal."""


@public
@dataclass(frozen=True, slots=True)
class ToleranceFor:
    """The tolerance of signals whose full names match a pattern, in which * matches any text."""

    pattern: str
    tolerance: Tolerance


def tolerance_of(column: NamedColumn, special: Sequence[ToleranceFor], default: Tolerance) -> Tolerance:
    """The last special tolerance that matches; the default if none does."""
    return next((one.tolerance for one in reversed(special) if fits_column([one.pattern], column)), default)
