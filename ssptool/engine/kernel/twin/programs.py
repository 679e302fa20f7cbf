"""Programs that are repeated for many macro steps, and the rows that they leave."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ssptool.engine.kernel.interface import LONG_AGO, OK, Code, Floats, Instruction, Op, Outcome, Slots
from ssptool.engine.kernel.twin.evaluation import TwinSchedules
from ssptool.engine.kernel.twin.inputs import History, TwinInputs
from ssptool.engine.kernel.twin.iterations import Iterations
from ssptool.engine.kernel.twin.members import Groups, Members, TwinAccess
from ssptool.engine.kernel.twin.slot_values import SlotValues, check_index, check_order
from ssptool.engine.kernel.twin.stepper import TwinStepper
from ssptool.engine.kernel.twin.time_tables import DrivenInputs
from ssptool.engine.kernel.twin.wires import Wires
from ssptool.engine.time_grid import grid_time

CLOSE = 1e-9  # of a macro step: so much before its end an instance is not there yet


class TwinRecorder:
    def __init__(self, slot_values: SlotValues, wires: Wires, members: Members, access: TwinAccess) -> None:
        self._slot_values, self._wires, self._members, self._access = slot_values, wires, members, access
        self._recorded: list[int] = []

    @property
    def width(self) -> int:
        """Width of a row: the time and the recorded slots."""
        return 1 + len(self._recorded)

    def record_slots(self, slots: Slots) -> None:
        for slot in slots:
            self._slot_values.check(slot)
        self._recorded = list(slots)

    def record(self, t: float, row: Floats) -> Outcome:
        if row.shape != (self.width,):
            raise ValueError(f"row has shape {row.shape}, must be ({self.width},)")
        outcome = self._access.observe()
        if outcome.ok and any(member.is_observed for member in self._members):
            self._wires.copy(self._wires.outer)
        row[0] = t
        row[1:].view(np.int64)[:] = self._slot_values.integers[self._recorded]
        return outcome


class Programs:
    def __init__(
        self,
        groups: Groups,
        members: Members,
        driven: DrivenInputs,
        history: History,
        inputs: TwinInputs,
        stepper: TwinStepper,
        schedules: TwinSchedules,
        iterations: Iterations,
        recorder: TwinRecorder,
    ) -> None:
        self._groups, self._members, self._driven, self._history = groups, members, driven, history
        self._inputs, self._stepper, self._schedules = inputs, stepper, schedules
        self._iterations, self._recorder = iterations, recorder

    def run(
        self,
        program: Sequence[Instruction],
        start: float,
        h: float,
        first: int,
        rows: Floats,
    ) -> Outcome:
        self._check(program, rows)
        reports = self._members.reports
        self._iterations.counts = []
        for k in range(len(rows)):
            t, reached = (grid_time(start, h, point) for point in (first + k, first + k + 1))
            self._iterations.counts.append(1)
            for report in reports:
                report[1] = math.nan
            for number, instruction in enumerate(program):
                outcome = self._execute(instruction, t, reached, h, rows[k])
                if instruction.op in (Op.ADVANCE, Op.ITERATE) and self._returned_before(reached - CLOSE * h):
                    return Outcome(Code.EVENT, steps=k, instruction=number)
                if not outcome.ok:
                    return replace(outcome, steps=k, instruction=number)
            if any(report[0] for report in reports):
                return Outcome(steps=k + 1)
        return Outcome(steps=len(rows))

    def run_through(
        self, step: Sequence[Instruction], jump: Sequence[Instruction], points: Floats, rows: Floats
    ) -> Outcome:
        for program in (step, jump):
            self._check(program, rows)
        if points.shape != (len(rows), 4):
            raise ValueError(f"points has shape {points.shape}, must be ({len(rows)}, 4)")
        self._iterations.counts = []
        for k, (t, h, to, end) in enumerate(points.tolist()):
            self._iterations.counts.append(1)
            if h == 0.0:
                self._driven.tables.between(to, end)
                self._driven.write(to)
            for number, instruction in enumerate(step if h else jump):
                outcome = self._execute(instruction, t, to if h else t, h, rows[k])
                if not outcome.ok:
                    return replace(outcome, steps=k, instruction=number)
        return Outcome(steps=len(rows))

    def _returned_before(self, end: float) -> bool:
        return any(report[1] < end for report in self._members.reports)

    def _execute(self, instruction: Instruction, t: float, reached: float, h: float, row: Floats) -> Outcome:
        argument, order, inputs, stepper = instruction.argument, instruction.order, self._inputs, self._stepper
        operations: dict[Op, Callable[[], Outcome | None]] = {
            Op.EXCHANGE: lambda: inputs.exchange(argument),
            Op.HOLD: lambda: inputs.hold(argument),
            Op.EXTRAPOLATE: lambda: inputs.extrapolate(argument, order),
            Op.INTERPOLATE: lambda: inputs.interpolate(argument, order, h),
            Op.ADVANCE: lambda: stepper.advance(argument, t, h),
            Op.EVALUATE: lambda: self._schedules.evaluate(argument),
            Op.ACCEPT: lambda: self._history.accept(reached),
            Op.ITERATE: lambda: self._iterations.converge(argument, t, h),
            Op.RECORD: lambda: self._recorder.record(reached, row),
            Op.DRIVE: lambda: self._driven.drive(reached, h),
            Op.SAVE: lambda: stepper.save(argument),
            Op.FORGET: lambda: self._history.accept(LONG_AGO),
        }
        return operations[instruction.op]() or OK

    def _check(self, program: Sequence[Instruction], rows: Floats) -> None:
        for instruction in program:
            if instruction.op is Op.EXTRAPOLATE or (instruction.op is Op.INTERPOLATE and instruction.order):
                check_order(instruction.order)
            if instruction.op is Op.EVALUATE:
                check_index(instruction.argument, self._schedules, "schedule")
            elif instruction.op is Op.ITERATE:
                check_index(instruction.argument, self._iterations, "iteration")
            elif instruction.op not in (Op.ACCEPT, Op.RECORD, Op.DRIVE, Op.FORGET):
                check_index(instruction.argument, self._groups, "group")
        if sum(instruction.op is Op.RECORD for instruction in program) > 1:
            raise ValueError("a program may record one row per macro step")
        if rows.ndim != 2 or rows.shape[1] != self._recorder.width:
            raise ValueError(f"rows has shape {rows.shape}, must be (steps, {self._recorder.width})")
