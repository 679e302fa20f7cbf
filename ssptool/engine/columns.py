"""Columns of cells as arrays of their types, and back.

A cell has eight bytes: a double for Float64 and Float32; for all other types an integer (of UInt64 the same bits, of a
Boolean 0 or 1, of a String or a Binary the number of its bytes among the contents of the run).
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssptool.engine.recording.contents import Contents

Floats = NDArray[np.float64]

REAL_TYPES = frozenset({"Float64", "Float32"})
"""Types whose cells hold doubles."""

TEXT, BYTES = "String", "Binary"
NUMBERED = frozenset({TEXT, BYTES})
"""Types whose cells are numbers of contents, which are bytes: of texts those of UTF-8."""

_MACHINE: dict[str, np.dtype[Any]] = {
    "Float64": np.dtype(np.float64),
    "Float32": np.dtype(np.float32),
    "Boolean": np.dtype(np.bool_),
    "Enumeration": np.dtype(np.int64),
    **{f"Int{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
}

NUMERIC_TYPES = frozenset(_MACHINE)
"""All but String and Binary."""


def holds_integer(kind: str) -> bool:
    """Whether signals of this type are 64-bit integers in their cells."""
    return kind not in REAL_TYPES


def machine_type(kind: str) -> np.dtype[Any]:
    """Of arrays of values of this type; those of texts and bytes hold objects."""
    return np.dtype(object) if kind in NUMBERED else _MACHINE[kind]


class ContentNumbers:
    """Contents and their numbers, counted from 0, which is the empty one."""

    def __init__(self) -> None:
        self.all: list[bytes] = [b""]
        self._numbers = {b"": 0}

    def number(self, content: bytes) -> int:
        found = self._numbers.setdefault(content, len(self.all))
        if found == len(self.all):
            self.all.append(content)
        return found


def from_content(content: bytes, kind: str) -> str | bytes:
    """The value of type String or Binary with these bytes. What is no UTF-8 in a text is marked as that."""
    return content.decode("utf-8", "replace") if kind == TEXT else content


def as_content(value: Any, kind: str) -> bytes:
    """The bytes of a value of type String or Binary.

    Raises
    ------
    TypeError, UnicodeEncodeError
        It is none.
    """
    wanted = str if kind == TEXT else bytes
    if not isinstance(value, wanted):
        raise TypeError(f"{value!r} is not a value of type {kind}")
    return value.encode() if isinstance(value, str) else value


def met(numbers: NDArray[np.int64], kind: str, contents: Contents) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The values of type String or Binary (k,) that these numbers (n,) of contents stand for, each of them once, and
    the place (n,) of each number among them.
    """
    used, places = np.unique(numbers, return_inverse=True)
    values = np.empty(len(used), dtype=object)
    values[:] = [from_content(contents[number], kind) for number in used.tolist()]
    return values, places


def values_of(cells: Floats, kind: str, contents: Contents = (b"",)) -> NDArray[Any]:
    """Cells (n,) as values (n,) of a type: the same memory, except for Float32, String and Binary."""
    if kind in NUMBERED:
        every, places = met(cells.view(np.int64), kind, contents)
        return every[places]
    machine = machine_type(kind)
    values: NDArray[Any]
    if kind == "Float32":
        with np.errstate(over="ignore"):
            values = cells.astype(machine)
        return values
    if machine.itemsize == 8:
        values = cells.view(machine)
        return values
    # The end of the eight bytes that has the small digits.
    place = 0 if sys.byteorder == "little" else 8 - machine.itemsize
    part = np.dtype({"names": ["value"], "formats": [machine], "offsets": [place], "itemsize": 8})
    values = cells.view(part)["value"]
    return values


def cells_of(values: ArrayLike, kind: str, number: Callable[[bytes], int]) -> Floats:
    """Values (n,) of a type as cells (n,); `number` gives contents their numbers.

    Raises
    ------
    OverflowError, TypeError, ValueError
        A value is none of this type.
    """
    if kind in NUMBERED:
        every: Iterable[Any] = np.asarray(values, dtype=object)
        integers: NDArray[Any] = np.array([number(as_content(value, kind)) for value in every], dtype=np.int64)
    elif holds_integer(kind):
        integers = _integers(values, np.uint64 if kind == "UInt64" else np.int64)
    else:
        return np.array(values, dtype=np.float64)
    cells: Floats = integers.view(np.float64)
    return cells


def _integers(values: Any, machine: type[np.signedinteger[Any] | np.unsignedinteger[Any]]) -> NDArray[Any]:
    if not isinstance(values, np.ndarray):
        return np.array([index(value) for value in values], dtype=machine)
    if values.dtype.kind not in "biu":
        raise TypeError(f"integers are expected, found numbers of type {values.dtype}")
    return values.astype(machine)


def integers_of(doubles: Floats, machine: np.dtype[Any]) -> NDArray[Any]:
    """Doubles as integers or Booleans of a machine type; those that rounding has moved out of its range at its end."""
    if machine.kind == "b":
        booleans: NDArray[Any] = doubles != 0.0
        return booleans
    limits = np.iinfo(machine)
    inside = (doubles >= float(limits.min)) & (doubles < float(limits.max))
    integers = np.full(doubles.shape, limits.max, dtype=machine)
    integers[inside] = doubles[inside].astype(machine)
    integers[doubles < float(limits.min)] = limits.min
    return integers


def as_doubles(cells: Floats, kinds: Sequence[str]) -> Floats:
    """Rows of cells (k, p) as rows of doubles: the same memory if all are.

    Integers beyond 2⁵³ become the nearest double, and texts and bytes their numbers.
    """
    places = [place for place, kind in enumerate(kinds) if holds_integer(kind)]
    if not places:
        return cells
    doubles = cells.copy()
    for place in places:
        kind = kinds[place]
        doubles[:, place] = values_of(cells[:, place], "Int64" if kind in NUMBERED else kind)
    return doubles
