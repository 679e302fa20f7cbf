"""The variables of an instance: slots of eight bytes on one side, what FMI functions take on the other."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import ACCESS, FLOAT, HELD, REAL_TYPES, Floats, InstanceTable, Slots, prefix
from ssptool.engine.kernel.twin.slot_values import TwinStringTable

References = NDArray[np.uint32]

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

    def machine(self, values: Floats, contents: TwinStringTable) -> tuple[NDArray[Any], int | None]:
        """Values as the FMU takes them, and the first slot whose value is out of range."""
        if self.kind in REAL_TYPES:
            wanted = values[self.slots]
            with np.errstate(over="ignore"):
                taken = wanted.astype(self._machine_type())
            wrong = np.flatnonzero(np.isinf(taken) & np.isfinite(wanted))
            return taken, self.slots[wrong[0]] if wrong.size else None
        numbers: NDArray[Any] = values.view(np.int64)[self.slots]
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

    def keep(self, found: NDArray[Any], values: Floats, contents: TwinStringTable) -> None:
        """Put what the FMU gave into slots."""
        if self.kind in REAL_TYPES:
            values[self.slots] = found
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
        values.view(np.int64)[self.slots] = found

    def nonfinite(self, values: Floats) -> int | None:
        """The first slot with nan or inf."""
        if self.kind not in REAL_TYPES:
            return None
        return next((slot for slot in self.slots if not np.isfinite(values[slot])), None)

    def _machine_type(self) -> np.dtype[Any]:
        if self.kind == "Boolean":
            return _BOOLEAN[self.major]
        if self.kind == HELD:
            return np.dtype(np.float64)
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
        if kind != FLOAT:
            kinds.setdefault(suffix, kind)
    found: list[Typed] = []
    for suffix, kind in kinds.items():
        places = [place for place, own in enumerate(types) if own != FLOAT and access[own] == suffix]
        if places:
            numbers = np.array([references[place] for place in places if elements[place] == 0], dtype=np.uint32)
            found.append(Typed(kind, major, [slots[place] for place in places], numbers))
    return tuple(found)


def _text(address: int) -> bytes:
    return ctypes.string_at(address) if address else b""


def _address(text: bytes) -> int:
    """Address of the characters, which stay in place as long as the text is kept."""
    return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0


class TwinVariable(NamedTuple):
    """`element` is its place in its array."""

    slot: int
    reference: int
    kind: str
    element: int


def inputs_of(table: InstanceTable) -> tuple[TwinVariable, ...]:
    return tuple(map(TwinVariable, table.input_slots, table.input_references, table.input_types, table.input_elements))


def outputs_of(table: InstanceTable) -> tuple[TwinVariable, ...]:
    return tuple(
        map(TwinVariable, table.output_slots, table.output_references, table.output_types, table.output_elements)
    )


def observed_of(table: InstanceTable) -> tuple[TwinVariable, ...]:
    observed = table.observed_slots, table.observed_references, table.observed_types, table.observed_elements
    return tuple(map(TwinVariable, *observed))


def known_of(slots: Slots, known: Sequence[TwinVariable], what: str) -> tuple[TwinVariable, ...]:
    """Those in these slots; of an array all or none. Raises ValueError."""
    places = {variable.slot: place for place, variable in enumerate(known)}
    for slot in slots:
        if slot not in places:
            raise ValueError(f"slot {slot} is no {what} of the instance called")
    found = [places[slot] for slot in slots]
    for rank, place in enumerate(found):
        before = known[place].element == 0 or (rank > 0 and found[rank - 1] == place - 1)
        last = place + 1 == len(known) or known[place + 1].element == 0
        if not before or not (last or (rank + 1 < len(found) and found[rank + 1] == place + 1)):
            raise ValueError(f"slot {slots[rank]} is an element of an array, which is set and got as a whole")
    return tuple(known[place] for place in found)


def float_references(references: Sequence[int], types: Sequence[str], elements: Sequence[int]) -> References:
    """Those of type Float64, of an array one."""
    known = zip(references, types, elements, strict=True)
    return np.array([r for r, kind, element in known if kind == FLOAT and element == 0], dtype=np.uint32)


def references_of(variables: Sequence[TwinVariable]) -> References:
    return float_references(*_columns(variables))


def typed_of(major: int, variables: Sequence[TwinVariable]) -> tuple[Typed, ...]:
    return by_type(major, [variable.slot for variable in variables], *_columns(variables))


def _columns(variables: Sequence[TwinVariable]) -> tuple[list[int], list[str], list[int]]:
    return [v.reference for v in variables], [v.kind for v in variables], [v.element for v in variables]


def complete(table: InstanceTable) -> InstanceTable:
    """Complete missing types and element numbers: Float64 scalars."""
    inputs, outputs = tuple(table.input_types), tuple(table.output_types)
    if not inputs and not outputs:
        inputs, outputs = (FLOAT,) * len(table.input_slots), (FLOAT,) * len(table.output_slots)
    if (len(inputs), len(outputs)) != (len(table.input_slots), len(table.output_slots)):
        raise ValueError("as many types as slots are needed, or none at all")
    elements = tuple(table.input_elements) or (0,) * len(inputs), tuple(table.output_elements) or (0,) * len(outputs)
    if (len(elements[0]), len(elements[1])) != (len(inputs), len(outputs)):
        raise ValueError("as many elements as slots are needed, or none at all")
    count = len(table.observed_slots)
    observed = tuple(table.observed_types) or (FLOAT,) * count, tuple(table.observed_elements) or (0,) * count
    if (len(observed[0]), len(observed[1])) != (count, count):
        raise ValueError("as many types and elements as observed slots are needed, or none at all")
    return replace(
        table,
        input_types=inputs,
        output_types=outputs,
        input_elements=elements[0],
        output_elements=elements[1],
        observed_types=observed[0],
        observed_elements=observed[1],
    )
