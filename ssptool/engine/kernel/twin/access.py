"""Variables of instances that are set and got, and what goes wrong there."""

import math
from collections.abc import Sequence

import numpy as np

from ssptool.engine.kernel.interface import OK, Code, Floats, Outcome
from ssptool.engine.kernel.twin.instance import TwinFailure
from ssptool.engine.kernel.twin.members import Members, TwinMember
from ssptool.engine.kernel.twin.slot_values import SlotValues
from ssptool.engine.kernel.twin.variables import References, Typed


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
        """From `values`, those of all slots."""
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
        return OK

    def observe(self) -> Outcome:
        """What is observed of all instances, finite or not, with their inputs as they are now."""
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
