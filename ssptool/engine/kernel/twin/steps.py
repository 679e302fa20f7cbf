"""Steps of instances, and their saved states."""

import ctypes

from ssptool.engine.kernel.interface import OK, Outcome
from ssptool.engine.kernel.twin.access import failed, get_floats, get_typed, set_typed
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.instance import Motion
from ssptool.engine.kernel.twin.members import Member, Members


class Steps:
    def __init__(self, cells: Cells, members: Members) -> None:
        self._cells, self._members = cells, members
        self._time: ctypes.c_double | None = None

    def report_time(self, place: int) -> None:
        self._time = ctypes.c_double.from_address(place) if place else None

    def advance(self, group: int, t: float, h: float) -> Outcome:
        if self._time is not None:
            self._time.value = t
        for member in self._members.of(group):
            outcome = self._step(member, t, h)
            if not outcome.ok:
                return outcome
        return OK

    def _step(self, member: Member, t: float, h: float) -> Outcome:
        cells, slots = self._cells, member.inputs
        outcome = set_typed(member, member.typed_inputs, cells.input_value, cells)
        if not outcome.ok:
            return outcome
        motion = Motion(cells.input_value[slots], cells.input_rates[0, slots], cells.input_rates[1, slots])
        if failure := member.fmu.step(t, h, motion):
            return failed(member, failure)
        outcome = get_floats(member, member.output_references, member.outputs, cells)
        return get_typed(member, member.typed_outputs, cells) if outcome.ok else outcome

    def save(self, group: int) -> Outcome:
        for member in self._members.of(group):
            if failure := member.fmu.save():
                return failed(member, failure)
        return OK

    def restore(self, group: int) -> Outcome:
        for member in self._members.of(group):
            if not member.fmu.has_saved_state:
                raise ValueError(f"no state of instance {member.number} was saved")
        for member in self._members.of(group):
            if failure := member.fmu.restore():
                return failed(member, failure)
        return OK

    def release(self) -> None:
        for member in self._members:
            member.fmu.release()
