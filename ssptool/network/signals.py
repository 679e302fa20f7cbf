"""Signals, and the wires that carry them."""

from dataclasses import dataclass

from ssptool.documents.diagnostics import Position


@dataclass(frozen=True, slots=True, order=True)
class Signal:
    """The full address of one variable of one component, e.g. ("Plant.System1", "x1").

    The component "" is the root system itself: its own inputs, outputs and parameters.
    """

    component: str
    variable: str

    def __str__(self) -> str:
        return f"{self.component}.{self.variable}" if self.component else self.variable


@dataclass(frozen=True, slots=True)
class Conversion:
    """v ↦ factor · v + offset: unit conversion, then linear transformation (SSP 2.0 §4.5.2.1, §5.3.2)."""

    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, value: float) -> float:
        return self.factor * value + self.offset

    def then(self, following: "Conversion") -> "Conversion":
        """The conversion that applies this one first and `following` to its result."""
        return Conversion(following.factor * self.factor, following.factor * self.offset + following.offset)


IDENTITY = Conversion()


@dataclass(frozen=True, slots=True)
class Wire:
    """One directed flow: the value of `source`, converted, becomes that of `destination`."""

    source: Signal
    destination: Signal
    conversion: Conversion = IDENTITY
    origin: tuple[Position, ...] = ()
