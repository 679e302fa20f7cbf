"""Inputs of a system that can be driven from outside, and the reasons why others cannot."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ssptool.errors import near_misses
from ssptool.fmu.description import Value, Variable
from ssptool.fmu.units import PhysicalUnit, named
from ssptool.network.conversion import NO_ITEMS, InvalidValue, conversion, convert, from_cell
from ssptool.network.network import Conversion, Network, Port, Signal

NAMED = 5
"""Inputs that a message names."""


@dataclass(frozen=True, slots=True)
class Target:
    """An input that nothing inside of the system drives: of the system itself, or of a component.

    `items` are those of an enumeration; `minimum` and `maximum` what the FMU allows.
    """

    signal: Signal
    type: str
    unit: str | None
    items: Mapping[str, int] = field(default_factory=dict)
    minimum: float = -math.inf
    maximum: float = math.inf
    relative: bool = False

    @property
    def name(self) -> str:
        return str(self.signal)

    @property
    def unbounded(self) -> bool:
        """Whether every finite double is a value."""
        return self.type == "Float64" and self.minimum == -math.inf and self.maximum == math.inf

    def read(self, text: str) -> Value:
        """The value that a text states. Raises InvalidValue."""
        return self.within(from_cell(self.name, text, self.type, self.items))

    def take(self, value: object) -> Value:
        """A value of Python or numpy as one of the type. Raises InvalidValue."""
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, float) and plain.is_integer() and self.type not in ("Float64", "Float32", "String"):
            plain = int(plain)  # a table of doubles
        if self.type == "Boolean" and plain in (0, 1):
            plain = bool(plain)
        if not isinstance(plain, bool | int | float | str):
            raise InvalidValue(self.name, value, "a number, a Boolean or a text")
        return self.within(convert(self.name, plain, self.type, self.items or NO_ITEMS))

    def within(self, value: Value) -> Value:
        """The value, if it is finite and the FMU allows it."""
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidValue(self.name, value, "a finite number")
        if isinstance(value, int | float) and not self.minimum <= value <= self.maximum:
            raise InvalidValue(self.name, value, f"a number from {self.minimum:g} to {self.maximum:g}")
        return value

    def conversion(self, unit: str, units: Mapping[str, PhysicalUnit]) -> Conversion:
        """From values in `unit` to those of the input. Raises IncompatibleUnits."""
        return conversion(named(units, unit), named(units, self.unit), self.relative)


def targets(network: Network) -> dict[str, Target]:
    """All inputs that can be driven, by full name."""
    driven = {wire.destination for wire in network.wires}
    found = {str(port.signal): _outer(network, port) for port in network.ports if port.kind == "input"}
    for component in network.components.values():
        for port in component.of_kind("input"):
            variable = component.description.variables.get(port.signal.variable)
            if port.signal not in driven and variable is not None:
                found[str(port.signal)] = of_variable(port.signal, variable)
    return found


def of_variable(signal: Signal, variable: Variable) -> Target:
    """A variable of an FMU as something that takes values."""
    return Target(
        signal,
        variable.type,
        variable.unit,
        variable.items,
        variable.minimum,
        variable.maximum,
        variable.relative_quantity,
    )


def _outer(network: Network, port: Port) -> Target:
    """Of the system itself: an enumeration has the items of what it leads to."""
    for wire in network.wires:
        component = network.components.get(wire.destination.component)
        if wire.source == port.signal and component is not None and port.type == "Enumeration":
            return Target(
                port.signal, port.type, port.unit, component.description.variables[wire.destination.variable].items
            )
    return Target(port.signal, port.type, port.unit)


def why_not(network: Network, name: str, known: Mapping[str, Target]) -> str:
    """In words, why nothing of this name can be driven."""
    for wire in network.wires:
        if str(wire.destination) == name:
            return f"it is connected: {wire.source} drives it"
    ports = [*network.ports, *(port for component in network.components.values() for port in component.ports)]
    for port in ports:
        if str(port.signal) == name:
            return f"it is of kind {port.kind}; only inputs can be driven"
    near = near_misses([name], tuple(known))[name]
    if near:
        hint = f"; did you mean {' or '.join(near)}?"
    else:
        hint = f"; its free inputs are {', '.join(list(known)[:NAMED])}" if known else "; all its inputs are connected"
    return f"the system has no input of this name{hint}"


def known_units(network: Network, more: Mapping[str, PhysicalUnit]) -> dict[str, PhysicalUnit]:
    """The units that the system defines: those of its documents, then those of its FMUs."""
    found = dict(more)
    for component in network.components.values():
        for name, unit in component.description.units.items():
            if name not in found or found[name].exponents is None:
                found[name] = unit
    return found
