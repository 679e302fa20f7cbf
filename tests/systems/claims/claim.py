"""Claims about example systems: an expected number, its source, and a function that measures it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Tolerance(Protocol):
    """How near to what is expected is near enough."""

    @property
    def text(self) -> str: ...

    def holds(self, found: float, expected: float) -> bool:
        """False also for nan."""
        ...


@dataclass(frozen=True, slots=True)
class Relative:
    """|found − expected| ≤ limit · |expected|."""

    limit: float

    @property
    def text(self) -> str:
        return f"± {self.limit:g} relative"

    def holds(self, found: float, expected: float) -> bool:
        return abs(found - expected) <= self.limit * abs(expected)


@dataclass(frozen=True, slots=True)
class Absolute:
    """|found − expected| ≤ limit, in the unit of what is claimed."""

    limit: float

    @property
    def text(self) -> str:
        return f"± {self.limit:g}"

    def holds(self, found: float, expected: float) -> bool:
        return abs(found - expected) <= self.limit


@dataclass(frozen=True, slots=True)
class AtMost:
    """found ≤ expected."""

    @property
    def text(self) -> str:
        return "at most"

    def holds(self, found: float, expected: float) -> bool:
        return found <= expected


@dataclass(frozen=True, slots=True)
class AtLeast:
    """found ≥ expected."""

    @property
    def text(self) -> str:
        return "at least"

    def holds(self, found: float, expected: float) -> bool:
        return found >= expected


@dataclass(frozen=True, slots=True)
class Claim:
    """One number of one system.

    Attributes
    ----------
    name
        What the number is; unique within the system.
    source
        Where the expected value comes from: a closed form, a conserved quantity, a paper or clause.
    expected
        In the unit of `unit`.
    measure
        Runs the system and gives the number; it raises if the run fails.
    digits
        Of the number found, in reports: no more than are the same on every machine.
    """

    name: str
    source: str
    expected: float
    tolerance: Tolerance
    measure: Callable[[], float]
    unit: str = ""
    digits: int = 2

    def judge(self) -> "Verdict":
        """Measure and compare."""
        found = float(self.measure())
        return Verdict(self, found, self.tolerance.holds(found, self.expected))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out."""

    claim: Claim
    found: float
    holds: bool

    def __str__(self) -> str:
        claim = self.claim
        unit = f" {claim.unit}" if claim.unit else ""
        return (
            f"{claim.name}: expected {claim.expected!r}{unit} ({claim.tolerance.text}), found {self.found!r}{unit}; "
            f"source: {claim.source}"
        )
