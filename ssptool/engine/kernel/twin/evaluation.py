"""Evaluation of instances at one instant, without a step."""

from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import FLOAT, OK, Call, Floats, Outcome
from ssptool.engine.kernel.twin.access import TwinAccess, failed
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.members import Members, TwinMember
from ssptool.engine.kernel.twin.variables import (
    References,
    Typed,
    inputs_of,
    known_of,
    outputs_of,
    references_of,
    typed_of,
)
from ssptool.engine.kernel.twin.wires import TwinWire, Wires


class ResolvedCall(NamedTuple):
    """A `Call` with everything looked up; `inputs` and `outputs` are those of type Float64."""

    member: TwinMember
    wires: tuple[TwinWire, ...]
    inputs: list[int]
    input_references: References
    outputs: list[int]
    output_references: References
    typed_inputs: tuple[Typed, ...]
    typed_outputs: tuple[Typed, ...]


class Calls:
    def __init__(self, cells: Cells, wires: Wires, members: Members, access: TwinAccess) -> None:
        self._cells, self._wires, self._members, self._access = cells, wires, members, access

    def resolve(self, call: Call) -> ResolvedCall:
        member = self._members[call.instance]
        major, inputs, outputs = member.table.fmi_major, sorted(call.inputs), sorted(call.outputs)
        arriving = known_of(inputs, inputs_of(member.table), "input")
        leaving = known_of(outputs, outputs_of(member.table), "output")
        return ResolvedCall(
            member,
            self._wires.into(inputs),
            [variable.slot for variable in arriving if variable.kind == FLOAT],
            references_of(arriving),
            [variable.slot for variable in leaving if variable.kind == FLOAT],
            references_of(leaving),
            typed_of(major, arriving),
            typed_of(major, leaving),
        )

    def perform(self, call: ResolvedCall) -> Outcome:
        access = self._access
        self._wires.copy(call.wires)
        outcome = access.set(call.member, call.input_references, call.inputs)
        if outcome.ok:
            outcome = access.set_typed(call.member, call.typed_inputs, self._cells.values)
        if outcome.ok:
            outcome = access.get(call.member, call.output_references, call.outputs)
        return access.get_typed(call.member, call.typed_outputs) if outcome.ok else outcome

    def pass_on(self, call: ResolvedCall, tangents: Floats) -> Outcome:
        """The tangents of the outputs from those of the inputs."""
        self._wires.copy_tangents(call.wires, tangents)
        sensitivity = np.zeros(len(call.outputs))
        if call.inputs and call.outputs:
            failure = call.member.fmu.directional(
                call.output_references, call.input_references, tangents[call.inputs], sensitivity
            )
            if failure:
                return failed(call.member, failure)
        tangents[call.outputs] = sensitivity
        return OK
