"""Signals, and the wires that carry them."""

from enum import StrEnum
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import Position
from ssptool.fmu.description import Value


class Signal(NamedTuple):
    """The full address of one variable of one component, e.g. ("Plant.System1", "x1").

    The component "" is the root system itself: its own inputs, outputs and parameters. A tuple, because graphs and
    tables of large systems hash and compare signals millions of times.
    """

    component: str
    variable: str

    def __str__(self) -> str:
        return f"{self.component}.{self.variable}" if self.component else self.variable


@dataclass(frozen=True, slots=True)
class Conversion:
    """v ↦ factor · v + offset: unit conversion, then linear transformation (SSP 2.0 §4.5.2.1, §5.3.2).

    Or, of booleans, integers and the values of enumerations: v ↦ what `table` pairs it with, else v unchanged
    (SSP 2.0 §4.5.2.2–4); false and true are 0 and 1 there.
    """

    factor: float = 1.0
    offset: float = 0.0
    table: tuple[tuple[int, int], ...] = ()

    def __call__(self, value: float) -> float:
        if self.table:
            return dict(self.table).get(int(value), value)
        # Where nothing is done to it, a zero keeps its sign.
        return value if (self.factor, self.offset) == (1.0, 0.0) else self.factor * value + self.offset

    def carry(self, value: Value) -> Value:
        """What becomes of a value of any type: only numbers are calculated with, and only integers looked up."""
        if isinstance(value, float):
            return self(value)
        return type(value)(self(value)) if self.table and isinstance(value, int) else value

    def __str__(self) -> str:
        return self.formula("v")

    def formula(self, name: str) -> str:
        """What becomes of a quantity of this name, e.g. `0.001·T + 273.15`."""
        if self.table:
            return f"{name} with {', '.join(f'{source} → {target}' for source, target in self.table)}"
        factor = "" if self.factor == 1 else f"{self.factor:.12g}·"
        offset = "" if self.offset == 0 else f" {'-' if self.offset < 0 else '+'} {abs(self.offset):.12g}"
        return f"{factor}{name}{offset}"

    def then(self, following: "Conversion") -> "Conversion":
        """The conversion that applies this one first and `following` to its result."""
        if following is IDENTITY or self is IDENTITY:
            return following if self is IDENTITY else self
        first, second = dict(self.table), dict(following.table)
        composed = {**second, **{source: second.get(target, target) for source, target in first.items()}}
        return Conversion(
            following.factor * self.factor,
            following.factor * self.offset + following.offset,
            tuple((source, target) for source, target in composed.items() if source != target),
        )


IDENTITY = Conversion()


class LegKind(StrEnum):
    """What a signal passes through on one leg of its way."""

    CONNECTION = "connection"
    BOUNDARY = "boundary"
    """From the outside of a component that refers to a system to the inside of that system, or back."""
    DICTIONARY = "dictionary"
    """From a reference to a signal dictionary to the entry of that, or back."""
    VARIABLE = "variable"
    """Between the unit of an FMU's variable and another unit that the SSD states for its connector."""


class Leg(NamedTuple):
    """One step of a wire, from connector to connector.

    `units` are the names of the units between which the value is converted, or None where no unit is changed;
    `transformation` is what the connection does after that. `position` is that of the connection or connector.
    """

    kind: LegKind
    source: Signal
    destination: Signal
    position: Position
    units: tuple[str, str] | None = None
    unit_conversion: Conversion = IDENTITY
    transformation: Conversion = IDENTITY

    @property
    def conversion(self) -> Conversion:
        return self.unit_conversion.then(self.transformation)


class Wire(NamedTuple):
    """One directed flow: the value of `source`, converted, becomes that of `destination`.

    `conversion` is that of all `legs`, composed.
    """

    source: Signal
    destination: Signal
    conversion: Conversion = IDENTITY
    legs: tuple[Leg, ...] = ()

    @property
    def origin(self) -> tuple[Position, ...]:
        """The connections that the wire came from."""
        return tuple(leg.position for leg in self.legs if leg.kind is LegKind.CONNECTION)
