"""Variables of instances that are set and got, and what goes wrong there."""

import math
from collections.abc import Sequence

import numpy as np

from ssptool.engine.kernel.interface import OK, Code, Floats, Outcome
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.instance import Failure, References
from ssptool.engine.kernel.twin.members import Member
from ssptool.engine.kernel.twin.typed import Typed


def failed(member: Member, failure: Failure) -> Outcome:
    return Outcome(Code.FMI, instance=member.number, function=failure.function, fmi_status=failure.status)


def set_floats(member: Member, references: References, slots: list[int], cells: Cells) -> Outcome:
    if slots and (failure := member.fmu.set(references, cells.values[slots])):
        return failed(member, failure)
    return OK


def observe(member: Member, cells: Cells) -> Outcome:
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


def get_floats(member: Member, references: References, slots: list[int], cells: Cells) -> Outcome:
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


def set_typed(member: Member, inputs: Sequence[Typed], values: Floats, cells: Cells) -> Outcome:
    """From `values`, which are cells of all slots."""
    for typed in inputs:
        taken, unfit = typed.machine(values, cells.contents)
        if unfit is not None:
            return Outcome(Code.RANGE, instance=member.number, function=typed.set_function, slot=unfit)
        if failure := member.fmu.access(typed.set_function, typed.references, taken):
            return failed(member, failure)
    return OK


def get_typed(member: Member, outputs: Sequence[Typed], cells: Cells) -> Outcome:
    for typed in outputs:
        found = typed.room()
        if failure := member.fmu.access(typed.get_function, typed.references, found):
            return failed(member, failure)
        typed.keep(found, cells.values, cells.contents)
        if (slot := typed.nonfinite(cells.values)) is not None:
            return Outcome(Code.NONFINITE, instance=member.number, function=typed.get_function, slot=slot)
    return OK
