"""Values that a user requests for variables and connectors: scalars, whole arrays, or one element of an array."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isclose, isnan, prod

from ssptool.editing.bind import Addressees
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.units import unit_named
from ssptool.errors import UnknownName, counted
from ssptool.fmu.description import Shape, Value, element_names, shape_text
from ssptool.fmu.units import PhysicalUnit, with_unit
from ssptool.network.conversion import (
    IncompatibleUnits,
    InvalidValue,
    allowed,
    bounds_text,
    conversion,
    from_text,
    is_float,
    number_and_unit,
    split_values,
)
from ssptool.network.network import Network, Signal
from ssptool.network.parameter_table import value_text
from ssptool.network.targets import NamedTarget

ROUNDING = 1e-12
"""Relative tolerance of comparisons: a conversion to another unit and back causes a few rounding errors."""


@dataclass(frozen=True, slots=True)
class RequestedValue:
    """A value for a target; for an array all values, row by row, or the value of one element with `index`.

    `name` is the name from the user, `whole` the variable that a parameter sets; `texts` are the values as written by
    the user. `unit` is the unit of the values; `stated` is True if the user gave it.
    """

    name: str
    whole: str
    texts: tuple[str, ...]
    values: tuple[Value, ...]
    target: NamedTarget
    unit: PhysicalUnit | None
    stated: bool
    shape: Shape = ()
    index: int | None = None

    def __str__(self) -> str:
        unit = self.unit if is_float(self.target.type) else None
        return f"{self.name} = {with_unit(self.text, unit and unit.name)}"

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    @property
    def size(self) -> int:
        """Number of values of a parameter for this request."""
        return prod(self.shape)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Signals of the flat network, one for each value."""
        array = self.target.signal
        names = element_names(array.variable, self.shape)
        meant = names if self.index is None else (names[self.index],)
        return tuple(Signal(array.component, name) for name in meant)

    @property
    def in_target_unit(self) -> tuple[Value, ...]:
        """The values in the unit of the target."""
        return tuple(map(self.to_target, self.values))

    def to_target(self, value: Value) -> Value:
        """One of the values in the unit of the target."""
        if not self.stated or not isinstance(value, float):
            return value
        return self.converted(value, self.unit, self.target.unit)

    def converted(self, value: float, source: PhysicalUnit | None, target: PhysicalUnit | None) -> float:
        """A value in another unit. Raises EditError if the units are incompatible."""
        try:
            return conversion(source, target, self.target.relative)(value)
        except IncompatibleUnits as problem:
            raise EditError(f"{self.name} = {self.text}: {problem}") from problem

    def satisfied_by(self, values: Iterable[Value]) -> bool:
        """True if these values of the target are the requested ones."""
        return all(map(self._is_satisfied_by, self.in_target_unit, values))

    def _is_satisfied_by(self, wanted: Value, value: Value) -> bool:
        if isinstance(value, float) and isinstance(wanted, int | float):
            both_nan = isnan(value) and isnan(wanted)
            return both_nan or isclose(value, wanted, rel_tol=ROUNDING, abs_tol=ROUNDING)
        return value == wanted or self.target.items.get(str(wanted)) == value

    def completed(self, network: Network) -> "RequestedValue":
        """The whole array with this element and the present values of the others, for an array that no parameter sets
        yet.
        """
        if self.index is None:
            return self
        every = replace(self, name=self.whole, index=None)
        values = [value_now(network, signal) for signal in every.signals]
        values[self.index] = self.in_target_unit[0]
        texts = [value_text(value) for value in values if value is not None]
        if len(texts) < len(values):
            raise EditError(
                f"{self.whole} has no values yet, so {self.name} cannot be set alone: "
                f"give {counted(self.size, 'value')}, as in '{self.whole}={' '.join(['0'] * self.size)}'"
            )
        known = tuple(_read(self.whole, text, self.target) for text in texts)
        return replace(every, texts=tuple(texts), values=known, unit=self.target.unit, stated=False)


def value_now(network: Network, signal: Signal) -> Value | None:
    """Present value of a variable; None if it has none."""
    if signal in network.assignments:
        return network.assignments[signal].value
    if signal.component in network.components:
        return network.variable(signal).start
    return None


def requested_value(
    draft: Draft, addressees: Addressees, network: Network, name: str, value: object, unit: str | PhysicalUnit | None
) -> RequestedValue:
    """Requested value of a variable or connector `name`, from a value or a string.

    An array gets all its values, row by row: a sequence, nested or not, or a string with blanks between the values. A
    name with an index, such as `x0[2]` or `A[1,2]`, refers to one element.

    Raises
    ------
    UnknownName
        The variable or the unit does not exist.
    InvalidValue
        The value does not have the target's type, or an array has another number of values.
    EditError
        The variable cannot be set, not in this unit, or not with this size; or it has no unit for a conversion.
    """
    name, whole, target = target_called(addressees, name)
    if not target.settable:
        raise EditError(f"{name} takes no value: its FMU calculates it")
    shape = network.arrays.get(target.signal, ())
    index = None if name == whole else _index(name, whole, target, shape)
    is_number = is_float(target.type) and (index is not None or not shape)
    quantity = number_and_unit(value) if is_number and unit is None and isinstance(value, str) else None
    if quantity is not None:
        value, unit = quantity
    if unit is not None and not is_float(target.type):
        raise EditError(f"{name} is of type {target.type}, which has no unit")
    texts = _texts(name, value, target.type, shape if index is None else ())
    read = tuple(_read(name, text, target) for text in texts)
    given = unit_named(draft, unit) if isinstance(unit, str) else unit or target.unit
    if unit is not None and given is not None and given.changes_numbers and target.unit is None:
        raise EditError(
            f"{name} has no unit, so {' '.join(texts)} {given.name} cannot be converted: give the number in the unit "
            "that the model uses, without a unit"
        )
    requested = RequestedValue(name, whole, texts, read, target, given, unit is not None, shape, index)
    _require_within(requested)
    return requested


def target_called(addressees: Addressees, name: str) -> tuple[str, str, NamedTarget]:
    """Name in correct case, name of the array if it is that of an element, and the target."""
    array = name.rpartition("[")[0] if name.endswith("]") else ""
    for whole in (name, array):
        if whole and (targets := addressees.of(whole)):
            return name, whole, targets[0]
    if (own := addressees.in_other_case(name)) not in (None, name):
        return target_called(addressees, own)
    said = f"there is no variable or connector {name!r}"
    raise UnknownName(said, name, addressees.names(), because=addressees.why_unknown(name))


def _index(name: str, whole: str, target: NamedTarget, shape: Shape) -> int:
    """Index of an element among the values of its array."""
    array = target.signal.variable
    elements = [element.removeprefix(array) for element in element_names(array, shape)] if shape else []
    index = name.removeprefix(whole).replace(" ", "")
    if index not in elements:
        what = (
            f"is {shape_text(shape)}: its elements are {elements[0]} to {elements[-1]}" if shape else "is not an array"
        )
        raise EditError(f"there is no element {name!r}: {whole} {what}")
    return elements.index(index)


def _texts(name: str, value: object, type: str, shape: Shape) -> tuple[str, ...]:
    """The values of a variable as strings; their number must fit."""
    if not shape:
        return (value.strip() if isinstance(value, str) and type != "String" else value_text(value),)
    texts = split_values(name, value) if isinstance(value, str) else list(map(value_text, _flat(value)))
    if len(texts) != prod(shape):
        found = value if isinstance(value, str) else " ".join(texts)
        raise InvalidValue(name, found, f"{counted(prod(shape), 'value')} for {shape_text(shape)}, separated by blanks")
    return tuple(texts)


def _flat(value: object) -> Iterable[object]:
    """Items of a sequence, row by row; numpy arrays are also sequences."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        yield value.item() if hasattr(value, "item") else value
        return
    for item in value:
        yield from _flat(item)


def _read(name: str, text: str, target: NamedTarget) -> Value:
    value = from_text(name, text, target.type, target.items)
    if target.type == "Enumeration":
        # the name of the item is written, not its number
        return next((item for item, number in target.items.items() if number == value), text)
    return value


def _require_within(requested: RequestedValue) -> None:
    bounds = requested.target.bounds
    for text, value in zip(requested.texts, requested.in_target_unit, strict=True):
        if not isinstance(value, bool) and not allowed(value, bounds):
            raise EditError(f"{requested.name} cannot be {text}: its FMU allows {bounds_text(bounds)}")


def values_by_signal(network: Network) -> Mapping[Signal, Value]:
    """Values in force, of variables and of connectors of systems."""
    found = {**network.boundary_assignments, **network.assignments}
    return {signal: assignment.value for signal, assignment in found.items()}
