"""Values of all types in the cells of a kernel, and in the rows that are made of them."""

from collections.abc import Sequence

import numpy as np

from ssptool.engine.kernel.interface import REAL_TYPES, Floats, Kernel
from ssptool.fmu.description import Value


def holds_integer(kind: str) -> bool:
    """Whether signals of this type are 64-bit integers in their cells."""
    return kind not in REAL_TYPES


def read_cell(kernel: Kernel, slot: int, kind: str) -> Value:
    """The value in a slot that holds a signal of this type."""
    if not holds_integer(kind):
        return float(kernel.values[slot])
    number = int(kernel.integers[slot])
    match kind:
        case "String":
            return kernel.text(number)
        case "Binary":
            return bytes.fromhex(kernel.text(number))
        case "Boolean":
            return number != 0
        case "UInt64":
            return number % 2**64
        case _:
            return number


def write_cell(kernel: Kernel, slot: int, kind: str, value: Value) -> None:
    """Put a value into a slot that holds a signal of this type.

    Raises
    ------
    TypeError, ValueError, OverflowError
        It is none of this type.
    """
    if kind == "String":
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is not a value of type String")
        kernel.integers[slot] = kernel.number(value)
    elif kind == "Binary":
        if not isinstance(value, bytes):
            raise TypeError(f"{value!r} is not a value of type Binary")
        kernel.integers[slot] = kernel.number(value.hex())
    elif holds_integer(kind):
        number = int(value)
        # The same bits stand for the upper half of UInt64.
        kernel.integers[slot] = number - 2**64 if kind == "UInt64" and number >= 2**63 else number
    else:
        kernel.values[slot] = float(value)


def as_numbers(rows: Floats, kinds: Sequence[str]) -> Floats:
    """Rows of cells (k, 1 + p), the time first, as rows of numbers: a copy if some are integers.

    Integers beyond 2⁵³ become the nearest double.
    """
    places = [1 + place for place, kind in enumerate(kinds) if holds_integer(kind)]
    if not places:
        return rows
    numbers = rows.copy()
    integers = np.ascontiguousarray(rows).view(np.int64)[:, places]
    numbers[:, places] = integers
    for column, place in enumerate(places):
        if kinds[place - 1] == "UInt64":
            numbers[:, place] = integers[:, column].astype(np.uint64)
    return numbers
