"""The twin as a whole: its parts, and who of them does what."""

from collections.abc import Sequence

import numpy as np

from ssptool.engine.kernel.interface import (
    NO_TABLES,
    Change,
    Courses,
    Floats,
    InstanceTable,
    Integers,
    Slots,
    Tables,
)
from ssptool.engine.kernel.twin.access import Members
from ssptool.engine.kernel.twin.evaluation import Calls, Loops, Steps, Sweeps
from ssptool.engine.kernel.twin.program import Iterations, Programs, TwinInputs
from ssptool.engine.kernel.twin.state import Acting, Cells, History, Wires


class TwinKernel:
    """See `ssptool.engine.kernel.interface.Kernel` for what each operation promises."""

    name = "twin"

    def __init__(self, slots: int, integers: Slots = ()) -> None:
        cells = Cells(slots, integers)
        self._contents = contents = cells.contents
        self._members = members = Members(cells)
        self._wires = wires = Wires(cells, members.owner)
        self._acting = acting = Acting(cells, wires)
        history, steps, calls = History(cells, wires), Steps(cells, members), Calls(cells, wires, members)
        inputs = TwinInputs(cells, wires, members, acting, history)
        self._loops = loops = Loops(cells, calls)
        self._sweeps = sweeps = Sweeps(calls, loops)

        self.values, self.integers = cells.values, cells.integers
        self.input_value, self.input_rates = cells.input_value, cells.input_rates
        self.content, self.number, self.forget = contents.__getitem__, contents.number, contents.forget
        self.environment = members.environment
        self.intermediate_update_address = members.intermediate_update_address
        self.group, self.loop, self.sweep = members.group, loops.register, sweeps.register
        self.write, self.drive, self.act = acting.write, acting.drive, wires.act
        self.exchange, self.hold = inputs.exchange, inputs.hold
        self.extrapolate, self.interpolate = inputs.extrapolate, inputs.interpolate
        self.advance, self.save, self.restore, self.release = steps.advance, steps.save, steps.restore, steps.release
        self.report_time = steps.report_time
        self.evaluate, self.accept, self.take_back = sweeps.evaluate, history.accept, history.take_back
        self.residual, self.settle = loops.residual, loops.settle
        self.jacobian_product, self.set_chord = loops.jacobian_product, loops.set_chord
        # What these do is put together from the operations above.
        self._iterations = iterations = Iterations(self, cells, members, sweeps)
        self.iteration, self.iterate = iterations.register, iterations.iterate
        programs = Programs(self, cells, members, wires, sweeps, iterations)
        self.run, self.run_through = programs.run, programs.run_through
        self.record_slots, self.record = programs.record_slots, programs.record

    @property
    def contents(self) -> int:
        return len(self._contents)

    @property
    def content_bytes(self) -> int:
        return self._contents.bytes

    @property
    def loops_solved(self) -> int:
        return self._loops.solved

    @property
    def loop_iterations(self) -> int:
        return self._loops.iterations

    def add(self, table: InstanceTable) -> int:
        if self._wires:
            raise ValueError("instances must be added before wires are stated")
        return self._members.add(table)

    def connect(
        self,
        sources: Slots,
        destinations: Slots,
        factors: Sequence[float],
        offsets: Sequence[float],
        tables: Tables = NO_TABLES,
    ) -> None:
        self._check_nothing_registered("wires")
        self._wires.connect(sources, destinations, factors, offsets, tables)

    def courses(self, courses: Courses) -> None:
        self._check_nothing_registered("courses")
        self._acting.state(courses)

    def _check_nothing_registered(self, what: str) -> None:
        if self._members.grouped or self._loops or self._sweeps:
            raise ValueError(f"{what} must be stated before groups, loops and sweeps")

    def course(self, column: int) -> Floats:
        return self._acting.courses.column(column)

    def change(self, column: int, change: Change) -> None:
        self._acting.courses.change(column, change)

    def between(self, begin: float, end: float) -> None:
        self._acting.courses.between(begin, end)

    def guess(self, iteration: int) -> Floats:
        return self._iterations[iteration].x

    def iterations(self) -> Integers:
        return np.array(self._iterations.counts, dtype=np.int64)

    @property
    def retreats(self) -> tuple[tuple[int, int, float, str, int], ...]:
        every = ((member.number, member.fmu.following) for member in self._members)
        return tuple((number, one.order, one.since, *(one.by or ("", 0))) for number, one in every if one.order < 2)

    def limit_inputs(self, instance: int, order: int) -> None:
        self._members[instance].fmu.following.order = order

    def use_threads(self, count: int) -> None:
        if count < 1:
            raise ValueError("at least 1 thread is needed")
