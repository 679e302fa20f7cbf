"""Instances of a kernel, groups of them, and setting and getting their variables."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import FLOAT, OK, REAL_TYPES, Code, Floats, InstanceTable, Outcome, Substeps
from ssptool.engine.kernel.twin.before_fmi3 import TwinFmi1Instance, TwinFmi2Instance
from ssptool.engine.kernel.twin.fmi3 import IntermediateUpdate, TwinFmi3Instance
from ssptool.engine.kernel.twin.instance import FmiInstance, TwinFailure
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
from ssptool.fmu.surroundings import FloatingPointMode


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
        self.changes: list[int] = []  # of the floating-point environment, by instance
        self._floating_point = FloatingPointMode()
        self._environments: dict[int, TwinFmi3Instance | None] = {}
        self._intermediate_update = IntermediateUpdate(self._on_intermediate_update)

    def __len__(self) -> int:
        return len(self._every)

    def leave_mode(self, index: int) -> None:
        """Restore the floating-point environment after calls of an instance."""
        self.changes[index] |= self._floating_point.restore()

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
        _check_substeps(table.substeps, self._slot_values)
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
        self.changes.append(0)
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


def _check_substeps(substeps: Substeps, slot_values: SlotValues) -> None:
    if substeps.count < 1:
        raise ValueError(f"an instance does {substeps.count} steps in a step, must be at least 1")
    for slot in substeps.moving:
        slot_values.check(slot)


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


class TwinAccess:
    def __init__(self, slot_values: SlotValues, members: Members) -> None:
        self._slot_values, self._members = slot_values, members

    def set(self, member: TwinMember, references: References, slots: list[int]) -> Outcome:
        if slots and (failure := member.fmu.set(references, self._slot_values.values[slots])):
            return failed(member, failure)
        return OK

    def get(self, member: TwinMember, references: References, slots: list[int]) -> Outcome:
        if not slots:
            return OK
        values = np.empty(len(slots))
        if failure := member.fmu.get(references, values):
            return failed(member, failure)
        self._slot_values.values[slots] = values
        for slot in slots:
            if not math.isfinite(self._slot_values.values[slot]):
                return Outcome(Code.NONFINITE, instance=member.number, function=member.fmu.get_function, slot=slot)
        return OK

    def set_typed(self, member: TwinMember, inputs: Sequence[Typed], values: Floats) -> Outcome:
        """Set variables from `values`, those of all slots."""
        for typed in inputs:
            taken, unfit = typed.machine(values, self._slot_values.contents)
            if unfit is not None:
                return Outcome(Code.RANGE, instance=member.number, function=typed.set_function, slot=unfit)
            if failure := member.fmu.access(typed.set_function, typed.references, taken):
                return failed(member, failure)
        return OK

    def get_typed(self, member: TwinMember, outputs: Sequence[Typed]) -> Outcome:
        slot_values = self._slot_values
        for typed in outputs:
            found = typed.room()
            if failure := member.fmu.access(typed.get_function, typed.references, found):
                return failed(member, failure)
            typed.keep(found, slot_values.values, slot_values.contents)
            if (slot := typed.nonfinite(slot_values.values)) is not None:
                return Outcome(Code.NONFINITE, instance=member.number, function=typed.get_function, slot=slot)
            for slot in typed.slots if slot_values.demands else ():
                if not slot_values.meets_demand(slot):
                    return Outcome(Code.RANGE, instance=member.number, function=typed.get_function, slot=slot)
        return OK

    def observe(self) -> Outcome:
        """Get the observed variables of all instances, finite or not, with the present inputs."""
        for member in self._members:
            outcome = self._observe(member) if member.is_observed else OK
            if not outcome.ok:
                return outcome
        return OK

    def _observe(self, member: TwinMember) -> Outcome:
        if member.table.refreshed:
            outcome = self.set(member, member.input_references, member.inputs)
            if outcome.ok:
                outcome = self.set_typed(member, member.typed_inputs, self._slot_values.values)
            if not outcome.ok:
                return outcome
        outcome = self.get(member, member.observed_references, member.observed)
        if outcome.code is Code.FMI:
            return outcome
        for typed in member.typed_observed:
            outcome = self.get_typed(member, (typed,))
            if outcome.code is Code.FMI:
                return outcome
        return OK


def failed(member: TwinMember, failure: TwinFailure) -> Outcome:
    return Outcome(Code.FMI, instance=member.number, function=failure.function, fmi_status=failure.status)
