"""Programs that are repeated for many macro steps, and the rows that they leave."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ssptool.engine.kernel.interface import LONG_AGO, OK, Code, Floats, Instruction, Kernel, Op, Outcome, Slots
from ssptool.engine.kernel.twin.access import observe
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.checks import check_index, check_order
from ssptool.engine.kernel.twin.iterations import Iterations
from ssptool.engine.kernel.twin.members import Members
from ssptool.engine.kernel.twin.sweeps import Sweeps
from ssptool.engine.kernel.twin.wires import Wires

CLOSE = 1e-9  # of a macro step: so much before its end an instance is not there yet


class Programs:
    """Most instructions are operations of `kernel`."""

    def __init__(
        self, kernel: Kernel, cells: Cells, members: Members, wires: Wires, sweeps: Sweeps, iterations: Iterations
    ) -> None:
        self._kernel, self._cells, self._members, self._wires = kernel, cells, members, wires
        self._sweeps, self._iterations = sweeps, iterations
        self._recorded: list[int] = []

    def record_slots(self, slots: Slots) -> None:
        for slot in slots:
            self._cells.check(slot)
        self._recorded = list(slots)

    def run(self, program: Sequence[Instruction], start: float, h: float, first: int, rows: Floats) -> Outcome:
        self._check(program, rows)
        reports = self._members.reports
        self._iterations.counts = []
        for k in range(len(rows)):
            t, reached = start + float(first + k) * h, start + float(first + k + 1) * h
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
                self._kernel.between(to, end)
                self._kernel.write(to)
            for number, instruction in enumerate(step if h else jump):
                outcome = self._execute(instruction, t, to if h else t, h, rows[k])
                if not outcome.ok:
                    return replace(outcome, steps=k, instruction=number)
        return Outcome(steps=len(rows))

    def _returned_before(self, end: float) -> bool:
        return any(report[1] < end for report in self._members.reports)

    def _execute(self, instruction: Instruction, t: float, reached: float, h: float, row: Floats) -> Outcome:
        argument, order, kernel = instruction.argument, instruction.order, self._kernel
        operations: dict[Op, Callable[[], Outcome | None]] = {
            Op.EXCHANGE: lambda: kernel.exchange(argument),
            Op.HOLD: lambda: kernel.hold(argument),
            Op.EXTRAPOLATE: lambda: kernel.extrapolate(argument, order),
            Op.INTERPOLATE: lambda: kernel.interpolate(argument, order, h),
            Op.ADVANCE: lambda: kernel.advance(argument, t, h),
            Op.EVALUATE: lambda: kernel.evaluate(argument),
            Op.ACCEPT: lambda: kernel.accept(reached),
            Op.ITERATE: lambda: self._iterations.converge(argument, t, h),
            Op.RECORD: lambda: self.record(reached, row),
            Op.DRIVE: lambda: kernel.drive(reached, h),
            Op.SAVE: lambda: kernel.save(argument),
            Op.FORGET: lambda: kernel.accept(LONG_AGO),
        }
        return operations[instruction.op]() or OK

    def record(self, t: float, row: Floats) -> Outcome:
        if row.shape != (1 + len(self._recorded),):
            raise ValueError(f"row has shape {row.shape}, must be ({1 + len(self._recorded)},)")
        outcome = self._observe()
        row[0] = t
        row[1:].view(np.int64)[:] = self._cells.integers[self._recorded]
        return outcome

    def _observe(self) -> Outcome:
        observed = [member for member in self._members if member.is_observed]
        for member in observed:
            outcome = observe(member, self._cells)
            if not outcome.ok:
                return outcome
        if observed:
            self._wires.copy(self._wires.outer)
        return OK

    def _check(self, program: Sequence[Instruction], rows: Floats) -> None:
        for instruction in program:
            if instruction.op in (Op.EXTRAPOLATE, Op.INTERPOLATE):
                check_order(instruction.order)
            if instruction.op is Op.EVALUATE:
                check_index(instruction.argument, self._sweeps, "sweep")
            elif instruction.op is Op.ITERATE:
                check_index(instruction.argument, self._iterations, "iteration")
            elif instruction.op not in (Op.ACCEPT, Op.RECORD, Op.DRIVE, Op.FORGET):
                self._members.check_group(instruction.argument)
        if sum(instruction.op is Op.RECORD for instruction in program) > 1:
            raise ValueError("a program may record one row per macro step")
        if rows.ndim != 2 or rows.shape[1] != 1 + len(self._recorded):
            raise ValueError(f"rows has shape {rows.shape}, must be (steps, {1 + len(self._recorded)})")
