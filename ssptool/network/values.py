"""Values of parameters: from one type to another, and from text."""

import math
import shlex
from collections.abc import Mapping

from ssptool.documents.converters import boolean, double, hex_binary, signed
from ssptool.fmu.description import Value
from ssptool.fmu.texts import is_text
from ssptool.network.types import INTEGER_RANGES, canonical, is_float, is_integer
from ssptool.wrong_usage import WrongUsage

Items = Mapping[str, int]
NO_ITEMS: Items = {}


class InvalidValue(WrongUsage, ValueError):
    """A value that the variable `name` cannot take: what was `found`, and what was `expected`."""

    def __init__(self, name: str, found: object, expected: str) -> None:
        super().__init__(f"{name} cannot be {found!r}: expected {expected}")
        self.name = name
        self.found = found
        self.expected = expected


def expected(type_name: str, items: Items = NO_ITEMS) -> str:
    """In words, what a variable of this type takes."""
    if type_name == "Enumeration":
        return "one of " + ", ".join(items) if items else "an item of its enumeration"
    if type_name in INTEGER_RANGES:
        lowest, highest = INTEGER_RANGES[type_name]
        return f"an integer from {lowest} to {highest}"
    words = {"Boolean": "true or false", "String": "a text", "Binary": "pairs of hexadecimal digits"}
    return words.get(type_name, "a number")


def convert(name: str, value: Value, target: str, items: Items = NO_ITEMS) -> Value:
    """`value` as the machine type of `target`; an enumeration's items become its numbers.

    Integers become floating-point numbers, and numbers of one width another as long as the value fits;
    nothing else is converted.

    Raises
    ------
    InvalidValue
        The value is of another type, out of range, or no item of the enumeration.
    """
    target = canonical(target)
    if target == "Enumeration":
        return _item(name, value, items)
    if is_float(target) and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if is_integer(target) and isinstance(value, int) and not isinstance(value, bool):
        lowest, highest = INTEGER_RANGES[target]
        if lowest <= value <= highest:
            return value
    elif type(value) is {"Boolean": bool, "String": str, "Binary": bytes}.get(target):
        return value
    raise InvalidValue(name, value, expected(target, items))


def _item(name: str, value: Value, items: Items) -> Value:
    if isinstance(value, str) and (value in items or not items):
        return items.get(value, value)
    if isinstance(value, int) and not isinstance(value, bool) and (value in items.values() or not items):
        return value
    raise InvalidValue(name, value, expected("Enumeration", items))


def split_values(name: str, text: str) -> list[str]:
    """The values of an array, apart by white space; one with white space in it stands in quotes.

    Raises
    ------
    InvalidValue
        A quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError:
        raise InvalidValue(name, text, "values apart by blanks, and a quote at both ends of a text") from None


def _within_doubles(name: str, text: str, value: float) -> float:
    """Infinity has to be meant: what is too large for a double would silently become that."""
    if math.isinf(value) and "inf" not in text.lower():
        raise InvalidValue(name, text, "a number that a double can hold, up to 1.8e308")
    return value


def from_cell(name: str, text: str, target: str, items: Items) -> Value:
    """The same of a cell of a table, in which all may be written as doubles. Raises InvalidValue."""
    if target == "Boolean" and text in ("0.0", "1.0"):
        text = text[0]
    elif not is_float(target) and target != "String":
        text = text.removesuffix(".0")
    return from_text(name, text.strip() if target != "String" else text, target, items)


def from_text(name: str, text: str, target: str, items: Items) -> Value:
    """The value of a variable of type `target` that a text states, as a person types it.

    Raises
    ------
    InvalidValue
        The text is no value of that type.
    """
    target = canonical(target)
    if not isinstance(text, str):
        raise InvalidValue(name, text, f"it as a text, such as {str(text)!r}")
    try:
        if is_float(target):
            return _within_doubles(name, text, double.read(text))
        if is_integer(target):
            return convert(name, signed(128).read(text), target)
        if target == "Enumeration":
            return _item(name, text if text in items else signed(64).read(text), items)
        if target == "Boolean":
            return boolean.read(text.lower())
        if target == "Binary":
            return hex_binary.read(text)
        if not is_text(text):
            raise InvalidValue(name, text, "a text of Unicode without zeros, at which it would end")
        return text
    except InvalidValue:
        raise
    except ValueError:
        raise InvalidValue(name, text, expected(target, items)) from None
