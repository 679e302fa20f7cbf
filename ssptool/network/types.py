"""The types of connectors and parameters, and which may be connected to which (catalogue: table 2.5.2)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

_CANONICAL = {"Real": "Float64", "Integer": "Int32"}

INTEGER_RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "Int8": (-(2**7), 2**7 - 1),
        "UInt8": (0, 2**8 - 1),
        "Int16": (-(2**15), 2**15 - 1),
        "UInt16": (0, 2**16 - 1),
        "Int32": (-(2**31), 2**31 - 1),
        "UInt32": (0, 2**32 - 1),
        "Int64": (-(2**63), 2**63 - 1),
        "UInt64": (0, 2**64 - 1),
    }
)
FLOAT_PRECISION: Mapping[str, int] = MappingProxyType({"Float32": 24, "Float64": 53})
"""Bits of the significand: integers up to 2ⁿ in magnitude are represented exactly."""


def canonical(name: str) -> str:
    """SSP's Real and Integer are Float64 and Int32; every other name stands for itself."""
    return _CANONICAL.get(name, name)


def is_float(name: str) -> bool:
    return canonical(name) in FLOAT_PRECISION


def is_integer(name: str) -> bool:
    return canonical(name) in INTEGER_RANGES


def is_number(name: str) -> bool:
    return is_float(name) or is_integer(name)


class Relation(StrEnum):
    """How the type of a source relates to the type of a destination."""

    IDENTICAL = "the same type"
    WIDENING = "converted without loss"
    ENUMERATION = "an integer type and an enumeration"
    NARROWING = "conversion may lose information"
    BOOLEAN_NUMBER = "a Boolean and a number"
    INCOMPATIBLE = "no conversion"


class Verdict(StrEnum):
    """What to do about a pair of types. A mapping transformation turns a WARNING into OK."""

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
    """The relation of two types by their names in SSP.

    Two enumerations are IDENTICAL here; whether their items agree is another question.
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
    """What table 2.5.2 says of a connection from one type to another."""
    return VERDICTS[relation(source, destination)]


def _lossless(source: str, destination: str) -> bool:
    if is_float(source):
        return is_float(destination) and FLOAT_PRECISION[source] <= FLOAT_PRECISION[destination]
    low, high = INTEGER_RANGES[source]
    if is_float(destination):
        exact: int = 1 << FLOAT_PRECISION[destination]
        return -exact <= low and high <= exact
    lowest, highest = INTEGER_RANGES[destination]
    return lowest <= low and high <= highest
