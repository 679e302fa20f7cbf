"""What a user wants a variable to be: a value of its type, in a unit that fits."""

from math import isclose, isnan

from ssptool.dataclass import dataclass
from ssptool.documents.converters import boolean, hex_binary
from ssptool.editing.draft import Draft
from ssptool.editing.errors import EditError, UnknownName
from ssptool.editing.numbers import number_text
from ssptool.editing.parameters import Addressees
from ssptool.editing.units import unit_named
from ssptool.fmu.description import Value
from ssptool.fmu.units import Unit
from ssptool.network.targets import Target, VariableTarget
from ssptool.network.types import is_float
from ssptool.network.units import IncompatibleUnits, conversion
from ssptool.network.values import from_text

ROUNDING = 1e-12
"""Relative; a value that went to another unit and back is the same to within a few roundings."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A value for a target; `unit` is the one the value is in, `stated` whether the user said so."""

    name: str
    text: str
    value: Value
    target: Target
    unit: Unit | None
    stated: bool

    def __str__(self) -> str:
        unit = self.unit if is_float(self.target.type) else None
        return f"{self.name} = {self.text}" + ("" if unit is None else f" {unit.name}")

    @property
    def in_target_unit(self) -> Value:
        """The value as the target takes it."""
        if not self.stated or not isinstance(self.value, float):
            return self.value
        return self.converted(self.value, self.unit, self.target.unit)

    def converted(self, value: float, source: Unit | None, target: Unit | None) -> float:
        """Raises EditError if the units do not fit."""
        try:
            return conversion(source, target, self.target.relative)(value)
        except IncompatibleUnits as problem:
            raise EditError(f"{self.name} = {self.text}: {problem}") from problem

    def granted_by(self, value: Value) -> bool:
        """Whether the target has what was wished for if it has this value."""
        wanted = self.in_target_unit
        if isinstance(value, float) and isinstance(wanted, int | float):
            both_nan = isnan(value) and isnan(wanted)
            return both_nan or isclose(value, wanted, rel_tol=ROUNDING, abs_tol=ROUNDING)
        return value == wanted or self.target.items.get(str(wanted)) == value


def wish_for(draft: Draft, addressees: Addressees, name: str, value: object, unit: str | None) -> Wish:
    """The wish that a variable or connector called `name` has a value, given as such or as text.

    Raises
    ------
    UnknownName
        There is no such variable, or no such unit.
    InvalidValue
        The value is not of the target's type.
    EditError
        The variable takes no value, not in this unit, or none of this size.
    """
    targets = addressees.of(name)
    if not targets:
        raise UnknownName("variable or connector", name, addressees.names())
    target = targets[0]
    if not target.settable:
        raise EditError(f"{name} takes no value: its FMU calculates it")
    if isinstance(target, VariableTarget) and target.variable.shape:
        raise EditError(f"{name} is an array, of which single values cannot be set: edit the parameter set")
    if unit is not None and not is_float(target.type):
        raise EditError(f"{name} is of type {target.type}, which has no unit")
    text = value.strip() if isinstance(value, str) and target.type != "String" else _text(value)
    given = target.unit if unit is None else unit_named(draft, unit)
    read = from_text(name, text, target.type, target.items)
    if target.type == "Enumeration":
        # The item's name is written, not its number.
        read = next((item for item, number in target.items.items() if number == read), text)
    wish = Wish(name, text, read, target, given, unit is not None)
    _require_within(wish)
    return wish


def _require_within(wish: Wish) -> None:
    value, (lowest, highest) = wish.in_target_unit, wish.target.bounds
    if isinstance(value, int | float) and not isinstance(value, bool) and not lowest <= value <= highest:
        raise EditError(f"{wish.name} cannot be {wish.text}: its FMU allows {lowest:g} to {highest:g}")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return boolean.write(value)
    if isinstance(value, bytes):
        return hex_binary.write(value)
    return number_text(value) if isinstance(value, float) else str(value)
