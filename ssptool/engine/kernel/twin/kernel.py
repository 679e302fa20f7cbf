"""A kernel as the sum of its parts."""

import math
from collections.abc import Sequence

import numpy as np

from ssptool.engine.kernel.interface import (
    NO_TABLES,
    Floats,
    InstanceTable,
    Integers,
    SlotOverride,
    Slots,
    Tables,
    TimeTables,
)
from ssptool.engine.kernel.solutions import RescueWork, Solution
from ssptool.engine.kernel.twin.evaluation import Calls, Loops, TwinSchedules
from ssptool.engine.kernel.twin.inputs import History, TwinInputs
from ssptool.engine.kernel.twin.iterations import Iterations
from ssptool.engine.kernel.twin.loop_solutions import LoopSolutions, Rescues
from ssptool.engine.kernel.twin.members import Groups, Members, TwinAccess
from ssptool.engine.kernel.twin.programs import Programs, TwinRecorder
from ssptool.engine.kernel.twin.slot_values import SlotValues
from ssptool.engine.kernel.twin.stepper import TwinStepper
from ssptool.engine.kernel.twin.time_tables import DrivenInputs
from ssptool.engine.kernel.twin.wires import Wires


class TwinKernel:
    """See `ssptool.engine.kernel.interface.Kernel` for what each operation promises."""

    name = "twin"

    def __init__(self, slots: int, integers: Slots = ()) -> None:
        slot_values = SlotValues(slots, integers)
        self._contents = contents = slot_values.contents
        self._members = members = Members(slot_values)
        self._wires = wires = Wires(slot_values, members.owner)
        self._driven = driven = DrivenInputs(slot_values, wires)
        self._groups = groups = Groups(members, wires, driven)
        access, history = TwinAccess(slot_values, members), History(slot_values, wires)
        inputs, calls = TwinInputs(slot_values, wires, groups, history), Calls(slot_values, wires, members, access)
        self._loops = loops = Loops(slot_values, calls)
        self._schedules = schedules = TwinSchedules(calls, loops)
        solutions = LoopSolutions(slot_values, loops)
        self._rescues = rescues = Rescues(schedules, loops, solutions)
        stepper = TwinStepper(slot_values, members, groups, access)
        self._iterations = iterations = Iterations(slot_values, groups, inputs, stepper, schedules, rescues)
        recorder = TwinRecorder(slot_values, wires, members, access)
        programs = Programs(groups, members, driven, history, inputs, stepper, schedules, iterations, recorder)

        self.values, self.integers = slot_values.values, slot_values.integers
        self.input_value, self.input_rates = slot_values.input_value, slot_values.input_rates
        self.demand = slot_values.demand
        self.content, self.number, self.forget = contents.__getitem__, contents.number, contents.forget
        self.environment = members.environment
        self.intermediate_update_address = members.intermediate_update_address
        self.follow, self.write, self.drive, self.override_wires = (
            driven.follow,
            driven.write,
            driven.drive,
            wires.override_wires,
        )
        self.group, self.loop, self.schedule, self.iteration = groups.add, solutions.add, schedules.add, iterations.add
        self.exchange, self.hold = inputs.exchange, inputs.hold
        self.extrapolate, self.interpolate = inputs.extrapolate, inputs.interpolate
        self.accept, self.discard_point = history.accept, history.discard_point
        self.evaluate, self.residual, self.update_frozen = schedules.evaluate, loops.residual, loops.update_frozen
        self.jacobian_product, self.set_chord, self.chord = loops.jacobian_product, loops.set_chord, loops.chord
        self.solve, self.refresh_chord = solutions.solve, solutions.refresh_chord
        self.allow_rounding, self.evaluate_surely = solutions.allow_rounding, rescues.evaluate
        self.advance, self.save, self.restore = stepper.advance, stepper.save, stepper.restore
        self.release, self.report_time, self.use_threads = stepper.release, stepper.report_time, stepper.use_threads
        self.iterate, self.iteration_report = iterations.iterate, iterations.report
        self.iteration_memory, self.set_iteration_memory = iterations.memory, iterations.set_memory
        self.accepted_steps, self.set_accepted_steps = iterations.accepted, iterations.set_accepted
        self.record_slots, self.record = recorder.record_slots, recorder.record
        self.run, self.run_through = programs.run, programs.run_through

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

    def time_tables(self, tables: TimeTables) -> None:
        self._check_nothing_registered("time tables")
        self._driven.state(tables)

    def _check_nothing_registered(self, what: str) -> None:
        if self._groups or self._loops or self._schedules:
            raise ValueError(f"{what} must be stated before groups, loops and schedules")

    def table_column(self, column: int) -> Floats:
        return self._driven.tables.column(column)

    def override_column(self, column: int, override: SlotOverride) -> None:
        self._driven.tables.override_column(column, override)

    def between(self, begin: float, end: float) -> None:
        self._driven.tables.between(begin, end)

    def iterations(self) -> Integers:
        return np.array(self._iterations.counts, dtype=np.int64)

    @property
    def latest_rescues(self) -> tuple[tuple[int, Solution], ...]:
        return tuple(self._rescues.latest.items())

    @property
    def rescue_work(self) -> RescueWork:
        return self._rescues.work

    @property
    def retreats(self) -> tuple[tuple[int, int, float, str, int], ...]:
        every = ((member.number, member.fmu.following) for member in self._members)
        return tuple((number, one.order, one.since, *(one.by or ("", 0))) for number, one in every if one.order < 2)

    def changes_of_mode(self, instance: int) -> int:
        return self._members.changes[instance]

    def ended(self, instance: int) -> float:
        return getattr(self._members[instance].fmu, "ended", math.nan)

    def limit_inputs(self, instance: int, order: int) -> None:
        self._members[instance].fmu.following.order = order
