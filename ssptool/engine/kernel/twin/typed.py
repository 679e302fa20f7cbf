"""Cells and what FMI functions take of them, for all types but Float64."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.interface import ACCESS, FLOAT, REAL_TYPES, Floats, Slots, prefix
from ssptool.engine.kernel.twin.contents import Contents
from ssptool.engine.kernel.twin.instance import References

_POINTER = np.dtype(np.uintp)
_BOOLEAN = {1: np.dtype(np.bool_), 2: np.dtype(np.int32), 3: np.dtype(np.bool_)}


@dataclass(frozen=True, slots=True)
class Typed:
    """Variables of one type that are set or got together."""

    kind: str
    major: int
    slots: list[int]
    references: References  # of an array one

    @property
    def set_function(self) -> str:
        return f"{prefix(self.major)}Set{ACCESS[self.major][self.kind]}"

    @property
    def get_function(self) -> str:
        return f"{prefix(self.major)}Get{ACCESS[self.major][self.kind]}"

    def room(self) -> NDArray[Any]:
        """An array for the FMU to fill; of binary variables (2, n), the numbers of bytes first."""
        count = len(self.slots)
        return np.zeros((2, count) if self.kind == "Binary" else count, dtype=self._machine_type())

    def machine(self, cells: Floats, contents: Contents) -> tuple[NDArray[Any], int | None]:
        """What the FMU takes, and the first slot whose value does not fit it."""
        if self.kind == "Float32":
            with np.errstate(over="ignore"):
                return cells[self.slots].astype(np.float32), None
        numbers: NDArray[Any] = cells.view(np.int64)[self.slots]
        if self.kind == "String":
            pointers = [_address(contents[int(number)]) for number in numbers]
            return np.array(pointers, dtype=_POINTER), None
        if self.kind == "Binary":
            every = [contents[int(number)] for number in numbers]
            return np.array([[len(one) for one in every], [_address(one) for one in every]], dtype=_POINTER), None
        if self.kind == "Boolean":
            return (numbers != 0).astype(self._machine_type()), None
        if self.kind == "UInt64":
            return numbers.view(np.uint64), None
        fitting = numbers.astype(self._machine_type())
        wrong = np.flatnonzero(fitting.astype(np.int64) != numbers)
        return fitting, self.slots[wrong[0]] if wrong.size else None

    def keep(self, found: NDArray[Any], cells: Floats, contents: Contents) -> None:
        """Put what the FMU gave into cells."""
        if self.kind == "Float32":
            cells[self.slots] = found
            return
        if self.kind == "String":
            found = np.array([contents.number(_text(int(pointer))) for pointer in found], dtype=np.int64)
        elif self.kind == "Binary":
            every = [ctypes.string_at(int(pointer), int(size)) if pointer else b"" for size, pointer in found.T]
            found = np.array([contents.number(one) for one in every], dtype=np.int64)
        elif self.kind == "Boolean":
            found = found != 0
        elif self.kind == "UInt64":
            found = found.view(np.int64)
        cells.view(np.int64)[self.slots] = found

    def nonfinite(self, cells: Floats) -> int | None:
        """The first slot with nan or inf."""
        if self.kind != "Float32":
            return None
        return next((slot for slot in self.slots if not np.isfinite(cells[slot])), None)

    def _machine_type(self) -> np.dtype[Any]:
        if self.kind == "Boolean":
            return _BOOLEAN[self.major]
        suffix = ACCESS[self.major][self.kind]
        return (
            _POINTER if suffix in ("String", "Binary") else np.dtype("int32" if suffix == "Integer" else suffix.lower())
        )


def by_type(
    major: int, slots: Slots, references: Sequence[int], types: Sequence[str], elements: Sequence[int]
) -> tuple[Typed, ...]:
    """One entry for each type but Float64."""
    access = ACCESS[major]
    kinds: dict[str, str] = {}  # of types that are set and got by the same function, the first
    for kind, suffix in access.items():
        kinds.setdefault(suffix, kind)
    found: list[Typed] = []
    for suffix, kind in kinds.items():
        places = [place for place, own in enumerate(types) if own != FLOAT and access[own] == suffix]
        if places:
            numbers = np.array([references[place] for place in places if elements[place] == 0], dtype=np.uint32)
            found.append(Typed(kind, major, [slots[place] for place in places], numbers))
    return tuple(found)


def holds_integers(kind: str) -> bool:
    return kind not in REAL_TYPES


def _text(address: int) -> bytes:
    return ctypes.string_at(address) if address else b""


def _address(text: bytes) -> int:
    """Of the characters, which stay where they are as long as the text is kept."""
    return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0
