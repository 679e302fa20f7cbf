"""Steps of instances, and their saved states."""

import ctypes

from ssptool.engine.kernel.interface import OK, Outcome
from ssptool.engine.kernel.twin.instance import Motion
from ssptool.engine.kernel.twin.members import Groups, Members, TwinAccess, TwinMember, failed
from ssptool.engine.kernel.twin.slot_values import SlotValues


class TwinStepper:
    def __init__(self, slot_values: SlotValues, members: Members, groups: Groups, access: TwinAccess) -> None:
        self._slot_values, self._members, self._groups, self._access = slot_values, members, groups, access
        self._time: ctypes.c_double | None = None

    def report_time(self, place: int) -> None:
        self._time = ctypes.c_double.from_address(place) if place else None

    def use_threads(self, count: int) -> None:
        """One steps them all, however many there may be."""
        if count < 1:
            raise ValueError("at least 1 thread is needed")

    def advance(self, group: int, t: float, h: float) -> Outcome:
        self._report(t)
        for member in self._groups[group].members:
            outcome = self._substeps(member, t, h) if member.table.substeps.count > 1 else self._step(member, t, h)
            self._members.leave_mode(member.number)
            if not outcome.ok:
                return outcome
        return OK

    def _report(self, t: float) -> None:
        if self._time is not None:
            self._time.value = t

    def _substeps(self, member: TwinMember, t: float, h: float) -> Outcome:
        """Afterwards, inputs run as before: if the step is repeated, driven ones do so again."""
        own, slot_values = member.table.substeps, self._slot_values
        slots, size = list(own.moving), h / own.count
        input_value, (firsts, seconds) = slot_values.input_value, slot_values.input_rates
        value, first, second = input_value[slots], firsts[slots], seconds[slots]
        outcome = OK
        for number in range(own.count):
            past = number * size
            at = past if own.follows else past + size / 2
            input_value[slots] = value + at * (first + (0.5 * at) * second)
            firsts[slots] = first + at * second if own.follows else 0.0
            seconds[slots] = second if own.follows else 0.0
            self._report(t + past)
            outcome = self._step(member, t + past, size)
            if not outcome.ok:
                break
        input_value[slots], firsts[slots], seconds[slots] = value, first, second
        return outcome

    def _step(self, member: TwinMember, t: float, h: float) -> Outcome:
        slot_values, access, slots = self._slot_values, self._access, member.inputs
        outcome = access.set_typed(member, member.typed_inputs, slot_values.input_value)
        if not outcome.ok:
            return outcome
        first, second = slot_values.input_rates[:, slots]
        motion = Motion(slot_values.input_value[slots], first, second)
        if failure := member.fmu.step(t, h, motion):
            return failed(member, failure)
        outcome = access.get(member, member.output_references, member.outputs)
        return access.get_typed(member, member.typed_outputs) if outcome.ok else outcome

    def save(self, group: int) -> Outcome:
        for member in self._groups[group].members:
            if failure := member.fmu.save():
                return failed(member, failure)
        return OK

    def restore(self, group: int) -> Outcome:
        members = self._groups[group].members
        for member in members:
            if not member.fmu.has_saved_state:
                raise ValueError(f"no state of instance {member.number} was saved")
        for member in members:
            if failure := member.fmu.restore():
                return failed(member, failure)
        return OK

    def release(self) -> None:
        for member in self._members:
            member.fmu.release()
