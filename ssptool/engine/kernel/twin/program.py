"""Programs that are repeated for many macro steps: input extrapolation, iterated steps, recorded rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import (
    LONG_AGO,
    OK,
    Code,
    Floats,
    Instruction,
    IterationCalls,
    Kernel,
    Op,
    Outcome,
    Slots,
)
from ssptool.engine.kernel.twin.access import Members, observe
from ssptool.engine.kernel.twin.evaluation import Sweeps
from ssptool.engine.kernel.twin.state import MAX_ORDER, Acting, Cells, History, Wires, check_index, check_order, item


class TwinIteration(NamedTuple):
    calls: IterationCalls
    x: Floats

    def excess(self, values: Floats) -> float:
        """How many times too large the difference between what came out and what went in is."""
        absolute, relative = self.calls.absolute, self.calls.relative
        sizes = zip(self.x, self.calls.nominal, strict=True)
        return self._largest(values, [absolute + relative * max(abs(x), nominal) for x, nominal in sizes])

    def difference(self, values: Floats) -> float:
        """The difference in nominal values."""
        return self._largest(values, self.calls.nominal)

    def _largest(self, values: Floats, units: Sequence[float]) -> float:
        """In units of these; nan if one is nan."""
        most = 0.0
        for x, slot, unit in zip(self.x, self.calls.unknowns, units, strict=True):
            own = abs(values[slot] - x) / unit
            most = most if own <= most or math.isnan(most) else own
        return most


class Iterations:
    """Of one, `kernel` does each part at the request of a master, too. `counts` are those of the steps of a run."""

    def __init__(self, kernel: Kernel, cells: Cells, members: Members, sweeps: Sweeps) -> None:
        self._kernel, self._cells, self._members, self._sweeps = kernel, cells, members, sweeps
        self._every: list[TwinIteration] = []
        self.counts: list[int] = []

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, iteration: int) -> TwinIteration:
        return item(self._every, iteration, "iteration")

    def register(self, calls: IterationCalls) -> int:
        for group in (calls.group, calls.following, calls.held):
            self._members.check_group(group)
        check_index(calls.sweep, self._sweeps, "sweep")
        check_order(calls.prediction)
        if calls.order not in range(MAX_ORDER + 1):
            raise ValueError(f"polynomial order is {calls.order}, must be 0 to {MAX_ORDER}")
        if calls.max_iterations < 1:
            raise ValueError(f"max_iterations is {calls.max_iterations}, must be at least 1")
        if len(calls.nominal) != len(calls.unknowns):
            raise ValueError("as many nominal values as unknowns are needed")
        for slot in calls.unknowns:
            self._cells.check(slot)
            if slot in self._cells.holds_integer:
                raise ValueError(f"slot {slot} holds integers and cannot be iterated")
        self._every.append(TwinIteration(calls, np.zeros(len(calls.unknowns))))
        return len(self._every) - 1

    def iterate(self, iteration: int, t: float, h: float, first: bool) -> Outcome:
        kernel, own = self._kernel, self[iteration]
        calls = own.calls
        outcome = kernel.save(calls.group) if first else kernel.restore(calls.group)
        if not outcome.ok:
            return outcome
        if first:
            self._predict(own, h)
            kernel.exchange(calls.group)
        for i, slot in enumerate(calls.unknowns):
            self._cells.values[slot] = own.x[i]
        kernel.hold(calls.held)
        if calls.order:
            kernel.interpolate(calls.following, calls.order, h)
        else:
            kernel.hold(calls.following)
        outcome = kernel.advance(calls.group, t, h)
        if outcome.ok:
            outcome = kernel.evaluate(calls.sweep)
        if outcome.ok:
            kernel.exchange(calls.group)
        return outcome

    def _predict(self, own: TwinIteration, h: float) -> None:
        """Where the polynomial through the accepted points leads."""
        calls, cells = own.calls, self._cells
        self._kernel.extrapolate(calls.group, calls.prediction)
        for i, slot in enumerate(calls.unknowns):
            first, second = cells.input_rates[:, slot]
            own.x[i] = cells.input_value[slot] + h * first + h * h / 2 * second

    @np.errstate(over="ignore", invalid="ignore")  # an iterate that runs away is reported in the outcome
    def converge(self, iteration: int, t: float, h: float) -> Outcome:
        own, values = self[iteration], self._cells.values
        calls, least = own.calls, math.inf
        for count in range(1, calls.max_iterations + 1):
            outcome = self.iterate(iteration, t, h, count == 1)
            if not outcome.ok:
                return replace(outcome, iterations=count)
            if own.excess(values) <= 1.0:
                self.counts[-1] = max(self.counts[-1], count)
                return OK
            difference = own.difference(values)
            if count == calls.max_iterations or not difference <= calls.growth * least:
                break
            least = min(least, difference)
            for i, slot in enumerate(calls.unknowns):
                own.x[i] = _relaxed(own.x[i], values[slot], calls.nominal[i], calls.relaxation)
        return Outcome(Code.COUPLING, iterations=count)


def _relaxed(x: float, found: float, nominal: float, relaxation: float) -> float:
    if relaxation == 1.0:
        return nominal * (found / nominal)
    x, found = x / nominal, found / nominal
    return nominal * (x + relaxation * (found - x))


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


class TwinInputs:
    def __init__(self, cells: Cells, wires: Wires, members: Members, acting: Acting, history: History) -> None:
        self._cells, self._wires, self._members = cells, wires, members
        self._acting, self._history = acting, history

    def exchange(self, group: int) -> None:
        for member in self._members.of(group):
            self._wires.copy(self._wires.into(member.table.input_slots))

    def hold(self, group: int) -> None:
        for slot in self._slots(group):
            self._cells.move(slot, self._cells.values[slot], 0.0, 0.0)
        self._stay(group, self._cells.values)

    def _stay(self, group: int, values: Floats) -> None:
        """Inputs of types other than Float64, over the step."""
        for member in self._members.of(group):
            for typed in member.typed_inputs:
                slots = [slot for slot in typed.slots if slot not in self._acting.driven]
                self._cells.input_value.view(np.int64)[slots] = values.view(np.int64)[slots]

    def extrapolate(self, group: int, order: int) -> None:
        check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history) - 1)
        now, move = self._history[0], self._cells.move
        self._stay(group, now.values)
        for slot in self._slots(group):
            y0 = now.values[slot]
            if order == 0:
                move(slot, y0, 0.0, 0.0)
                continue
            before = self._history[1]
            d01 = (y0 - before.values[slot]) / (now.t - before.t)
            if order == 1:
                move(slot, y0, d01, 0.0)
                continue
            oldest = self._history[2]
            d12 = (before.values[slot] - oldest.values[slot]) / (before.t - oldest.t)
            curvature = (d01 - d12) / (now.t - oldest.t)
            move(slot, y0, d01 + curvature * (now.t - before.t), 2.0 * curvature)

    def interpolate(self, group: int, order: int, h: float) -> None:
        check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history))
        now, move = self._history[0], self._cells.move
        self._stay(group, now.values)
        for slot in self._slots(group):
            y0 = now.values[slot]
            slope = (self._cells.values[slot] - y0) / h
            if order == 1:
                move(slot, y0, slope, 0.0)
                continue
            before = self._history[1]
            d01 = (y0 - before.values[slot]) / (now.t - before.t)
            curvature = (slope - d01) / (h + (now.t - before.t))
            move(slot, y0, slope - curvature * h, 2.0 * curvature)

    def _slots(self, group: int) -> list[int]:
        """Of type Float64, that courses do not lead to."""
        every = (slot for member in self._members.of(group) for slot in member.inputs)
        return [slot for slot in every if slot not in self._acting.driven]
