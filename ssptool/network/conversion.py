"""Conversion of values between types and units, by transformations, and from text.

The permitted pairs of types are in table 2.5.2 of the rule catalogue. Units follow SSP 2.0 §4.4.2 and §5.3.2 and FMI
3.0 §2.4.4, transformations SSP 2.0 §4.5.2.
"""

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.documents.element import Element
from ssptool.documents.vocabulary import boolean, double, hex_binary, rounded_text, signed
from ssptool.errors import WrongUsage
from ssptool.fmu.description import INTEGER_RANGES, Value, is_text
from ssptool.fmu.units import Exponents, PhysicalUnit
from ssptool.foreign_text import number_name
from ssptool.network.network import IDENTITY, Conversion

_CANONICAL = {"Real": "Float64", "Integer": "Int32"}

FLOAT_PRECISION: Mapping[str, int] = MappingProxyType({"Float32": 24, "Float64": 53})
"""Bits of the significand: integers up to 2ⁿ in magnitude are represented exactly."""


def canonical(name: str) -> str:
    """Float64 and Int32 for SSP's Real and Integer; other names are unchanged."""
    return _CANONICAL.get(name, name)


def is_float(name: str) -> bool:
    return canonical(name) in FLOAT_PRECISION


def is_integer(name: str) -> bool:
    return canonical(name) in INTEGER_RANGES


def is_number(name: str) -> bool:
    return is_float(name) or is_integer(name)


class Relation(StrEnum):
    """Relation of the type of a source to the type of a destination."""

    IDENTICAL = "the same type"
    WIDENING = "converted without loss"
    ENUMERATION = "an integer type and an enumeration"
    NARROWING = "conversion may lose information"
    BOOLEAN_NUMBER = "a Boolean and a number"
    INCOMPATIBLE = "no conversion"


class Verdict(StrEnum):
    """Verdict on a pair of types. A mapping transformation turns a WARNING into OK."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


VERDICTS: Mapping[Relation, Verdict] = MappingProxyType(
    {
        Relation.IDENTICAL: Verdict.OK,
        Relation.WIDENING: Verdict.INFO,
        Relation.ENUMERATION: Verdict.WARNING,
        Relation.NARROWING: Verdict.ERROR,
        Relation.BOOLEAN_NUMBER: Verdict.ERROR,
        Relation.INCOMPATIBLE: Verdict.ERROR,
    }
)


def relation(source: str, destination: str) -> Relation:
    """Relation of two types, given by their names in SSP.

    Two enumerations are IDENTICAL here; their items are compared elsewhere.
    """
    source, destination = canonical(source), canonical(destination)
    if source == destination:
        return Relation.IDENTICAL
    types = {source, destination}
    if "Enumeration" in types and any(map(is_integer, types)):
        return Relation.ENUMERATION
    if "Boolean" in types and any(map(is_number, types)):
        return Relation.BOOLEAN_NUMBER
    if not (is_number(source) and is_number(destination)):
        return Relation.INCOMPATIBLE
    return Relation.WIDENING if _lossless(source, destination) else Relation.NARROWING


def verdict(source: str, destination: str) -> Verdict:
    """The verdict of table 2.5.2 on a connection from one type to another."""
    return VERDICTS[relation(source, destination)]


class Narrowing(NamedTuple):
    """Condition under which a number keeps its value in a narrower type, and the `range` as text.

    `digits`: the largest number of binary digits from the first to the last one that is not zero; `nonnegative`: not
    negative as a signed 64-bit number.
    """

    nonnegative: bool
    digits: int
    range: str


def narrowing(source: str, destination: str) -> Narrowing | None:
    """Check for values that are passed to a narrower type; None if no check is needed, or the conversion is impossible
    (real numbers to integers).
    """
    if relation(source, destination) is not Relation.NARROWING or (is_float(source) and is_integer(destination)):
        return None
    if is_integer(source) and is_float(destination):
        digits = FLOAT_PRECISION[canonical(destination)]
        exact = f"integers that {destination} represents exactly (all from −2^{digits} to 2^{digits})"
        return Narrowing(source == "UInt64", digits, exact)
    if is_float(source):
        return Narrowing(False, 64, "−3.4028235e38 to 3.4028235e38")
    lowest, highest = INTEGER_RANGES[canonical(destination)]
    return Narrowing("UInt64" in (source, destination), 64, f"{lowest} to {highest}")


def _lossless(source: str, destination: str) -> bool:
    if is_float(source):
        return is_float(destination) and FLOAT_PRECISION[source] <= FLOAT_PRECISION[destination]
    low, high = INTEGER_RANGES[source]
    if is_float(destination):
        exact: int = 1 << FLOAT_PRECISION[destination]
        return -exact <= low and high <= exact
    lowest, highest = INTEGER_RANGES[destination]
    return lowest <= low and high <= highest


class IncompatibleUnits(ValueError):
    """Two units cannot be converted."""

    def __init__(self, source: PhysicalUnit, target: PhysicalUnit) -> None:
        super().__init__(f"a value in {source.name} cannot be converted to {target.name}")
        self.source = source
        self.target = target


def document_units(
    root: ssd.SystemStructureDescription | ssv.ParameterSet | ssb.SignalDictionary,
) -> Mapping[str, PhysicalUnit]:
    """Units that a document defines, by name; the first of each name counts (see rule UNIT-001)."""
    units: dict[str, PhysicalUnit] = {}
    for element in root.units:
        units.setdefault(element.name, _unit(element))
    return MappingProxyType(units)


def _unit(element: ssc.Unit) -> PhysicalUnit:
    base = element.base_unit
    exponents = Exponents(base.kg, base.m, base.s, base.A, base.K, base.mol, base.cd, base.rad)
    return PhysicalUnit(element.name, exponents, base.factor, base.offset)


def notes_on_units(assumed: Sequence[PhysicalUnit]) -> Iterator[str]:
    """Notes on undefined units whose meaning is derived from their names."""
    if assumed:
        what = "1 unit has" if len(assumed) == 1 else f"{len(assumed)} units have"
        meanings = {unit.name: unit.in_base_units for unit in assumed}
        read = ", ".join(name if name == meaning else f"{name} = {meaning}" for name, meaning in meanings.items())
        yield f"{what} no definition and {'is' if len(assumed) == 1 else 'are'} read by name: {read}"


def define_unit(root: Element, unit: PhysicalUnit) -> None:
    """Add the definition of a unit to a document."""
    base = ssc.BaseUnit.new()
    for symbol, exponent in (unit.exponents or Exponents())._asdict().items():
        if exponent:
            setattr(base, symbol, exponent)
    if unit.factor != 1.0:
        base.factor = unit.factor
    if unit.offset != 0.0:
        base.offset = unit.offset
    element = ssc.Unit.new(name=unit.name)
    element.append(base)
    root.add(element)


def convertible(a: PhysicalUnit, b: PhysicalUnit) -> bool:
    """True if a value in one of the units can be expressed in the other."""
    if _by_name(a, b):
        return True
    if a.exponents is None or b.exponents is None:
        return False
    return a.exponents == b.exponents and b.factor != 0 and a.factor != 0


def _by_name(a: PhysicalUnit, b: PhysicalUnit) -> bool:
    """True if undefined units can be converted by name: the names are equal, or one is a display unit of the other (FMI
    1.0).
    """
    same = a.name == b.name or a.display(b.name) is not None or b.display(a.name) is not None
    return same and not (a.defined and b.defined)


def conversion(source: PhysicalUnit | None, target: PhysicalUnit | None, relative: bool = False) -> Conversion:
    """The conversion of values in `source` to values in `target`: u = (f_s·v + o_s − o_t)/f_t.

    If one side has no unit, the value is unchanged. `relative` (FMI's relativeQuantity) omits the offsets, because a
    temperature difference in °C is the same in K.

    Raises
    ------
    IncompatibleUnits
        The exponents differ, or a unit is undefined and the names differ.
    """
    if source is None or target is None:
        return IDENTITY
    if not convertible(source, target):
        raise IncompatibleUnits(source, target)
    if _by_name(source, target):
        return _shown(source, target, relative)
    offset = 0.0 if relative else (source.offset - target.offset) / target.factor
    change = Conversion(source.factor / target.factor, offset)
    return IDENTITY if change == IDENTITY else change


def _shown(source: PhysicalUnit, target: PhysicalUnit, relative: bool) -> Conversion:
    """Conversion between a unit and its display unit (FMI 1.0), or between units of the same name."""
    if source.name == target.name:
        return IDENTITY
    if (shown := source.display(target.name)) is not None:
        return Conversion(shown.factor, 0.0 if relative else shown.offset)
    if (shown := target.display(source.name)) is not None:
        return Conversion(1.0 / shown.factor, 0.0 if relative else -shown.offset / shown.factor)
    return IDENTITY


V = TypeVar("V", bool, int, str)


def transformed(value: Value, transformation: ssc.Transformation, items: Mapping[str, int]) -> tuple[Value, str]:
    """The transformed value, and a description of the transformation. Values without a mapping entry pass unchanged.

    `items` are the items of the value's enumeration; an integer mapping uses their numbers.
    """
    match transformation:
        case ssc.LinearTransformation(factor=factor, offset=offset):
            if isinstance(value, bool) or not isinstance(value, int | float):
                return value, "a linear transformation does not apply"
            return factor * value + offset, str(Conversion(factor, offset))
        case ssc.BooleanMappingTransformation():
            return _mapped(value, transformation.table, bool)
        case ssc.IntegerMappingTransformation():
            number = items.get(value, value) if isinstance(value, str) else value
            return _mapped(number, transformation.table, int)
        case ssc.EnumerationMappingTransformation():
            return _mapped(value, transformation.table, str)
        case _:
            raise NotImplementedError(f"the transformation {transformation.tag}")


def _mapped(value: Value, table: dict[V, V], kind: type[V]) -> tuple[Value, str]:
    # In Python, True, 1 and 1.0 are equal; in SSP they are not.
    if type(value) is kind and value in table:
        return table[value], f"{value} → {table[value]}"
    return value, f"{value!r} is not in the mapping"


EnumerationItems = Mapping[str, int]
NO_ITEMS: EnumerationItems = {}


class InvalidValue(WrongUsage, ValueError):
    """The variable `name` does not accept the value `found`; `expected` describes valid values."""

    def __init__(self, name: str, found: object, expected: str) -> None:
        shown = number_name(found) if isinstance(found, float) and not math.isfinite(found) else repr(found)
        super().__init__(f"{name} cannot be {shown}: expected {expected}")
        self.name = name
        self.found = found
        self.expected = expected


def expected(type_name: str, items: EnumerationItems = NO_ITEMS) -> str:
    """Description of the values of a type."""
    if type_name == "Enumeration":
        return "one of " + ", ".join(items) if items else "an item of its enumeration"
    if type_name in INTEGER_RANGES:
        lowest, highest = INTEGER_RANGES[type_name]
        return f"an integer from {lowest} to {highest}"
    words = {"Boolean": "true or false", "String": "a text", "Binary": "pairs of hexadecimal digits"}
    return words.get(type_name, "a number")


def allowed(value: Value, bounds: tuple[float, float]) -> bool:
    """True if the bounds of a variable allow a value; they are nan if there are none."""
    if not isinstance(value, int | float):
        return True
    lowest, highest = bounds
    return lowest <= value <= highest or (math.isnan(value) and bounds == (-math.inf, math.inf))


def bounds_text(bounds: tuple[float, float]) -> str:
    """Text of bounds, such as `0 to INF`."""
    lowest, highest = bounds
    return f"{rounded_text(lowest, 6)} to {rounded_text(highest, 6)}"


def convert(name: str, value: Value, target: str, items: EnumerationItems = NO_ITEMS) -> Value:
    """`value` converted to the machine type of `target`; items of an enumeration become numbers.

    Integers are converted to floating-point numbers, and numbers to another width if the value fits; no other values
    are converted.

    Raises
    ------
    InvalidValue
        The value has another type, is out of range, or is not an item of the enumeration.
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


def _item(name: str, value: Value, items: EnumerationItems) -> Value:
    if isinstance(value, str) and (value in items or not items):
        return items.get(value, value)
    if isinstance(value, int) and not isinstance(value, bool) and (value in items.values() or not items):
        return value
    raise InvalidValue(name, value, expected("Enumeration", items))


def split_values(name: str, text: str) -> list[str]:
    """The values of an array, separated by white space; values with white space are in quotes.

    Raises
    ------
    InvalidValue
        A quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError:
        raise InvalidValue(name, text, "values separated by blanks, with each text in quotes") from None


def _real(name: str, text: str) -> float:
    """A number as a user types it, including `inf`, `Infinity` and `nan`. It must not become infinite by overflow."""
    if text.strip().lower().lstrip("+-") in ("inf", "infinity", "nan"):
        return float(text)
    value = double.read(text)
    if math.isinf(value):
        raise InvalidValue(name, text, "a number that a double can hold, up to 1.8e308")
    return value


def from_cell(name: str, text: str, target: str, items: EnumerationItems) -> Value:
    """Value of a table cell, in which numbers may be written as doubles. Raises InvalidValue."""
    if target == "Boolean" and text in ("0.0", "1.0"):
        text = text[0]
    elif not is_float(target) and target != "String":
        text = text.removesuffix(".0")
    return from_text(name, text.strip() if target != "String" else text, target, items)


_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s.,=+-]\S*)\s*")


def number_and_unit(text: str) -> tuple[str, str] | None:
    """Number and unit of a text such as `300 K` or `10mm`; None for a number alone, or any other text."""
    try:
        float(text)
    except ValueError:
        found = _QUANTITY.fullmatch(text)
        return None if found is None else (found[1], found[2])
    return None


def from_text(name: str, text: str, target: str, items: EnumerationItems) -> Value:
    """Value of type `target` from a text, as a user types it.

    Raises
    ------
    InvalidValue
        The text is not a value of that type.
    """
    target = canonical(target)
    if not isinstance(text, str):
        raise InvalidValue(name, text, f"the value as a text, such as {str(text)!r}")
    try:
        if is_float(target):
            return _real(name, text)
        if is_integer(target):
            return convert(name, signed(128).read(text), target)
        if target == "Enumeration":
            return _item(name, text if text in items else signed(64).read(text), items)
        if target == "Boolean":
            return boolean.read(text.lower())
        if target == "Binary":
            return hex_binary.read(text)
        if not is_text(text):
            raise InvalidValue(name, text, "a text without U+0000 and lone surrogates, which FMUs cannot receive")
        return text
    except InvalidValue:
        raise
    except ValueError:
        raise InvalidValue(name, text, expected(target, items)) from None


def items_of(typed: ssd.Connector | ssb.DictionaryEntry, enumerations: Iterable[ssc.Enumeration]) -> Mapping[str, int]:
    if not isinstance(typed.type, ssc.Enumeration):
        return MappingProxyType({})
    for enumeration in enumerations:
        if enumeration.name == typed.type.name:
            return MappingProxyType({item.name: item.value for item in enumeration.items})
    return MappingProxyType({})
