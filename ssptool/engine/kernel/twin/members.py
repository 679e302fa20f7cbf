"""The instances of a kernel, and groups of them."""

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ssptool.engine.kernel.interface import FLOAT, REAL_TYPES, Floats, InstanceTable
from ssptool.engine.kernel.twin.before_fmi3 import TwinFmi1Instance, TwinFmi2Instance
from ssptool.engine.kernel.twin.fmi3 import IntermediateUpdate, TwinFmi3Instance
from ssptool.engine.kernel.twin.instance import FmiInstance
from ssptool.engine.kernel.twin.slot_values import SlotValues, item
from ssptool.engine.kernel.twin.time_tables import DrivenInputs
from ssptool.engine.kernel.twin.variables import (
    References,
    Typed,
    complete,
    inputs_of,
    observed_of,
    outputs_of,
    references_of,
    typed_of,
)
from ssptool.engine.kernel.twin.wires import TwinWire, Wires


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
    def __init__(self, slot_values: SlotValues) -> None:
        self._slot_values = slot_values
        self._every: list[TwinMember] = []
        self.owner: dict[int, int] = {}  # slot → instance, of all inputs and outputs
        self.reports: list[Floats] = []  # of instances in event mode
        self._environments: dict[int, TwinFmi3Instance | None] = {}
        self._intermediate_update = IntermediateUpdate(self._on_intermediate_update)

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, index: int) -> TwinMember:
        return item(self._every, index, "instance")

    def __iter__(self) -> Iterator[TwinMember]:
        return iter(self._every)

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
            return TwinFmi1Instance(table)
        if table.fmi_major != 3:
            return TwinFmi2Instance(table)
        instance = TwinFmi3Instance(table)
        if table.environment:
            if table.environment not in self._environments:
                raise ValueError("the environment of an instance must come from the same kernel")
            self._environments[table.environment] = instance
        return instance

    def _check_types(self, slots: Sequence[int], types: Sequence[str]) -> None:
        for slot, kind in zip(slots, types, strict=True):
            self._slot_values.check(slot)
            if (kind not in REAL_TYPES) != (slot in self._slot_values.holds_integer):
                holds = "integers" if slot in self._slot_values.holds_integer else "doubles"
                raise ValueError(f"slot {slot} holds {holds}, which a variable of type {kind} has not")

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


class Group(NamedTuple):
    """Instances, the wires that lead to their inputs, and those of these, by type, that time tables do not drive."""

    members: tuple[TwinMember, ...]
    wires: tuple[TwinWire, ...]
    floats: list[int]
    typed: list[int]


class Groups:
    def __init__(self, members: Members, wires: Wires, driven: DrivenInputs) -> None:
        self._members, self._wires, self._driven = members, wires, driven
        self._every: list[Group] = []

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, group: int) -> Group:
        return item(self._every, group, "group")

    def add(self, instances: Sequence[int]) -> int:
        members = tuple(self._members[index] for index in instances)
        wires = (wire for member in members for wire in self._wires.into(member.table.input_slots))
        floats = (slot for member in members for slot in member.inputs)
        typed = (slot for member in members for one in member.typed_inputs for slot in one.slots)
        drives = self._driven.drives
        self._every.append(
            Group(
                members,
                tuple(wires),
                [slot for slot in floats if not drives(slot)],
                [slot for slot in typed if not drives(slot)],
            )
        )
        return len(self._every) - 1
