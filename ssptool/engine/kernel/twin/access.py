"""Access to the variables of instances: groups of instances, and values set and got by type."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import (
    ACCESS,
    FLOAT,
    OK,
    Code,
    Floats,
    InstanceTable,
    Outcome,
    Slots,
    prefix,
)
from ssptool.engine.kernel.twin.instances import (
    Fmi1Instance,
    Fmi2Instance,
    Fmi3Instance,
    FmiInstance,
    References,
    TwinFailure,
    float_references,
)
from ssptool.engine.kernel.twin.state import Cells, TwinStringTable, check_index, item
from ssptool.engine.trace import holds_integer

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

    def machine(self, cells: Floats, contents: TwinStringTable) -> tuple[NDArray[Any], int | None]:
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

    def keep(self, found: NDArray[Any], cells: Floats, contents: TwinStringTable) -> None:
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


def _text(address: int) -> bytes:
    return ctypes.string_at(address) if address else b""


def _address(text: bytes) -> int:
    """Of the characters, which stay where they are as long as the text is kept."""
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


def references_of(variables: Sequence[TwinVariable]) -> References:
    return float_references(*_columns(variables))


def typed_of(major: int, variables: Sequence[TwinVariable]) -> tuple[Typed, ...]:
    return by_type(major, [variable.slot for variable in variables], *_columns(variables))


def _columns(variables: Sequence[TwinVariable]) -> tuple[list[int], list[str], list[int]]:
    return [v.reference for v in variables], [v.kind for v in variables], [v.element for v in variables]


def complete(table: InstanceTable) -> InstanceTable:
    """All of them Float64 and scalars if nothing is stated."""
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


IntermediateUpdate = ctypes.CFUNCTYPE(
    *(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_bool, ctypes.c_bool, ctypes.c_bool, ctypes.c_bool),
    *(ctypes.POINTER(ctypes.c_bool), ctypes.POINTER(ctypes.c_double)),
)


class TwinMember(NamedTuple):
    """An instance and its variables, those of type Float64 apart from the others."""

    number: int
    fmu: FmiInstance
    table: InstanceTable
    inputs: list[int]
    outputs: list[int]
    output_references: References
    typed_inputs: tuple[Typed, ...]
    typed_outputs: tuple[Typed, ...]
    input_references: References
    observed: list[int]
    observed_references: References
    typed_observed: tuple[Typed, ...]

    @property
    def is_observed(self) -> bool:
        return bool(self.observed or self.typed_observed)


class Members:
    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._every: list[TwinMember] = []
        self._groups: list[tuple[TwinMember, ...]] = []
        self.owner: dict[int, int] = {}  # slot → instance, of all inputs and outputs
        self.reports: list[Floats] = []  # of instances in event mode
        self._environments: dict[int, Fmi3Instance | None] = {}
        self._intermediate_update = IntermediateUpdate(self._on_intermediate_update)

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, index: int) -> TwinMember:
        return item(self._every, index, "instance")

    def __iter__(self) -> Iterator[TwinMember]:
        return iter(self._every)

    # -- instances -------------------------------------------------------------------------------------------

    def add(self, table: InstanceTable) -> int:
        index = len(self._every)
        if len(table.input_slots) != len(table.input_references):
            raise ValueError("as many input slots as input references are needed")
        if len(table.output_slots) != len(table.output_references):
            raise ValueError("as many output slots as output references are needed")
        if len(table.observed_slots) != len(table.observed_references):
            raise ValueError("as many observed slots as observed references are needed")
        table = complete(table)
        fmu = self._make(table)
        slots = (*table.input_slots, *table.output_slots, *table.observed_slots)
        self._check_types(slots, (*table.input_types, *table.output_types, *table.observed_types))
        for slot in slots:
            if slot in self.owner:
                raise ValueError(f"slot {slot} already belongs to instance {self.owner[slot]}")
            self.owner[slot] = index
        if table.report is not None:
            self.reports.append(table.report)
        self._every.append(_member(index, fmu, table))
        return index

    def _make(self, table: InstanceTable) -> FmiInstance:
        if table.fmi_major == 1:
            return Fmi1Instance(table)
        if table.fmi_major != 3:
            return Fmi2Instance(table)
        instance = Fmi3Instance(table)
        if table.environment:
            if table.environment not in self._environments:
                raise ValueError("the environment of an instance must come from the same kernel")
            self._environments[table.environment] = instance
        return instance

    def _check_types(self, slots: Sequence[int], types: Sequence[str]) -> None:
        for slot, kind in zip(slots, types, strict=True):
            self._cells.check(slot)
            if holds_integer(kind) != (slot in self._cells.holds_integer):
                holds = "integers" if slot in self._cells.holds_integer else "doubles"
                raise ValueError(f"slot {slot} holds {holds}, which a variable of type {kind} has not")

    # -- groups ----------------------------------------------------------------------------------------------

    @property
    def grouped(self) -> bool:
        return bool(self._groups)

    def group(self, instances: Sequence[int]) -> int:
        self._groups.append(tuple(self[index] for index in instances))
        return len(self._groups) - 1

    def of(self, group: int) -> tuple[TwinMember, ...]:
        return item(self._groups, group, "group")

    def check_group(self, group: int) -> None:
        check_index(group, self._groups, "group")

    # -- intermediate update ---------------------------------------------------------------------------------

    def environment(self) -> int:
        handle = len(self._environments) + 1
        self._environments[handle] = None
        return handle

    def intermediate_update_address(self) -> int:
        return ctypes.cast(self._intermediate_update, ctypes.c_void_p).value or 0

    def _on_intermediate_update(
        self,
        environment: int | None,
        time: float,
        set_requested: bool,
        _get_allowed: bool,
        _step_finished: bool,
        _can_return_early: bool,
        early_return_requested: Any,
        _early_return_time: Any,
    ) -> None:
        early_return_requested[0] = False
        instance = self._environments.get(environment or 0)
        if set_requested and instance is not None:
            instance.intermediate_update(time)


def _member(index: int, fmu: FmiInstance, table: InstanceTable) -> TwinMember:
    inputs, outputs, observed = inputs_of(table), outputs_of(table), observed_of(table)
    return TwinMember(
        index,
        fmu,
        table,
        [variable.slot for variable in inputs if variable.kind == FLOAT],
        [variable.slot for variable in outputs if variable.kind == FLOAT],
        references_of(outputs),
        typed_of(table.fmi_major, inputs),
        typed_of(table.fmi_major, outputs),
        references_of(inputs),
        [variable.slot for variable in observed if variable.kind == FLOAT],
        references_of(observed),
        typed_of(table.fmi_major, observed),
    )


def failed(member: TwinMember, failure: TwinFailure) -> Outcome:
    return Outcome(Code.FMI, instance=member.number, function=failure.function, fmi_status=failure.status)


def set_floats(member: TwinMember, references: References, slots: list[int], cells: Cells) -> Outcome:
    if slots and (failure := member.fmu.set(references, cells.values[slots])):
        return failed(member, failure)
    return OK


def observe(member: TwinMember, cells: Cells) -> Outcome:
    """What is observed of it, finite or not, with its inputs as they are now."""
    if member.table.refreshed:
        outcome = set_floats(member, member.input_references, member.inputs, cells)
        outcome = set_typed(member, member.typed_inputs, cells.values, cells) if outcome.ok else outcome
        if not outcome.ok:
            return outcome
    outcome = get_floats(member, member.observed_references, member.observed, cells)
    if outcome.code is Code.FMI:
        return outcome
    for typed in member.typed_observed:
        outcome = get_typed(member, (typed,), cells)
        if outcome.code is Code.FMI:
            return outcome
    return OK


def get_floats(member: TwinMember, references: References, slots: list[int], cells: Cells) -> Outcome:
    if not slots:
        return OK
    values = np.empty(len(slots))
    if failure := member.fmu.get(references, values):
        return failed(member, failure)
    cells.values[slots] = values
    for slot in slots:
        if not math.isfinite(cells.values[slot]):
            return Outcome(Code.NONFINITE, instance=member.number, function=member.fmu.get_function, slot=slot)
    return OK


def set_typed(member: TwinMember, inputs: Sequence[Typed], values: Floats, cells: Cells) -> Outcome:
    """From `values`, which are cells of all slots."""
    for typed in inputs:
        taken, unfit = typed.machine(values, cells.contents)
        if unfit is not None:
            return Outcome(Code.RANGE, instance=member.number, function=typed.set_function, slot=unfit)
        if failure := member.fmu.access(typed.set_function, typed.references, taken):
            return failed(member, failure)
    return OK


def get_typed(member: TwinMember, outputs: Sequence[Typed], cells: Cells) -> Outcome:
    for typed in outputs:
        found = typed.room()
        if failure := member.fmu.access(typed.get_function, typed.references, found):
            return failed(member, failure)
        typed.keep(found, cells.values, cells.contents)
        if (slot := typed.nonfinite(cells.values)) is not None:
            return Outcome(Code.NONFINITE, instance=member.number, function=typed.get_function, slot=slot)
    return OK
