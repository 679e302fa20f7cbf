"""What a transformation does to one value (SSP 2.0 §4.5.2)."""

from collections.abc import Mapping
from typing import TypeVar

from ssptool.documents import ssc
from ssptool.fmu.description import Value
from ssptool.network.signals import Conversion

V = TypeVar("V", bool, int, str)


def transformed(value: Value, transformation: ssc.Transformation, items: Mapping[str, int]) -> tuple[Value, str]:
    """The transformed value, and in words what was done. Values that a mapping does not list pass unchanged.

    `items` are those of the enumeration that the value is of: an integer mapping acts on their numbers.
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
    # Python takes True for 1 and 1.0 for 1; SSP does not.
    if type(value) is kind and value in table:
        return table[value], f"{value} → {table[value]}"
    return value, f"{value!r} is not in the mapping"
