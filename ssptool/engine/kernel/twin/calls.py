"""Calls at one instant, without a step."""

from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import FLOAT, OK, Call, Floats, Outcome
from ssptool.engine.kernel.twin.access import failed, get_floats, get_typed, set_floats, set_typed
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.instance import References
from ssptool.engine.kernel.twin.members import Member, Members
from ssptool.engine.kernel.twin.typed import Typed
from ssptool.engine.kernel.twin.variables import inputs_of, known_of, outputs_of, references_of, typed_of
from ssptool.engine.kernel.twin.wires import Wire, Wires


class ResolvedCall(NamedTuple):
    """A `Call` with everything looked up; `inputs` and `outputs` are those of type Float64."""

    member: Member
    wires: tuple[Wire, ...]
    inputs: list[int]
    input_references: References
    outputs: list[int]
    output_references: References
    typed_inputs: tuple[Typed, ...]
    typed_outputs: tuple[Typed, ...]


class Calls:
    def __init__(self, cells: Cells, wires: Wires, members: Members) -> None:
        self._cells, self._wires, self._members = cells, wires, members

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
        cells = self._cells
        self._wires.copy(call.wires)
        outcome = set_floats(call.member, call.input_references, call.inputs, cells)
        if outcome.ok:
            outcome = set_typed(call.member, call.typed_inputs, cells.values, cells)
        if outcome.ok:
            outcome = get_floats(call.member, call.output_references, call.outputs, cells)
        return get_typed(call.member, call.typed_outputs, cells) if outcome.ok else outcome

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
