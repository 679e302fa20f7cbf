"""The kernel in plain Python: the specification of the native one, and the fallback without a compiler."""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.interface import (
    FLOAT,
    LONG_AGO,
    NO_TABLES,
    OK,
    UNCHANGED,
    ActedWire,
    Call,
    Change,
    ChangeKind,
    Code,
    Courses,
    DrivenInput,
    Floats,
    InstanceTable,
    Instruction,
    Integers,
    IterationCalls,
    LoopCalls,
    Op,
    Outcome,
    Running,
    Slots,
    SolveLoop,
    Tables,
)
from ssptool.engine.kernel.twin_courses import TwinCourses, changed_integer
from ssptool.engine.kernel.twin_fmi import (
    Failure,
    Fmi1Instance,
    Fmi2Instance,
    Fmi3Instance,
    FmiInstance,
    IntermediateUpdate,
    Motion,
    References,
)
from ssptool.engine.kernel.twin_tables import (
    Member,
    complete,
    inputs_of,
    known_of,
    member_of,
    outputs_of,
    references_of,
    typed_of,
)
from ssptool.engine.kernel.twin_typed import Contents, Typed, holds_integers

CLOSE = 1e-9  # of a macro step: so much before its end an instance is not there yet
MAX_ORDER = 2  # of the polynomials that inputs follow; the history holds one point more


Item = TypeVar("Item")


@dataclass(slots=True)
class _Wire:
    """`factor` and `offset` are with what is done to doubles at its ends, `stated` are those without."""

    source: int
    destination: int
    factor: float
    offset: float
    table: Mapping[int, int] | None
    stated: tuple[float, float]
    at_source: Change = UNCHANGED  # of integers, likewise the other
    at_destination: Change = UNCHANGED


class _Point(NamedTuple):
    """An accepted communication point."""

    t: float
    values: Floats


class _ResolvedCall(NamedTuple):
    """A `Call` with everything looked up; `inputs` and `outputs` are those of type Float64."""

    instance: int
    wires: tuple[_Wire, ...]
    inputs: list[int]
    input_references: References
    outputs: list[int]
    output_references: References
    typed_inputs: tuple[Typed, ...]
    typed_outputs: tuple[Typed, ...]


@dataclass(slots=True)
class _Loop:
    """`found` is what the held slots came out as at the last evaluation."""

    torn: list[int]
    held: list[int]
    found: Integers
    body: tuple[_ResolvedCall, ...]
    nominal: list[float]
    rtol: float
    atol: float
    max_iterations: int
    chord: Floats


class _Iteration(NamedTuple):
    calls: IterationCalls
    x: Floats
    tolerance: Floats


class TwinKernel:
    """See `ssptool.engine.kernel.interface.Kernel` for what each method promises."""

    name = "twin"

    def __init__(self, slots: int, integers: Slots = ()) -> None:
        self.values: Floats = np.zeros(slots)
        self.integers: Integers = self.values.view(np.int64)
        self.input_value: Floats = np.zeros(slots)
        self.input_rates: Floats = np.zeros((MAX_ORDER, slots))
        self._instances: list[FmiInstance] = []
        self._tables: list[InstanceTable] = []
        self._reports: list[Floats] = []  # of instances in event mode
        self._members: list[Member] = []
        self._owner: dict[int, int] = {}  # slot → instance, of all inputs and outputs
        self._wires: dict[int, _Wire] = {}  # by destination
        self._groups: list[tuple[int, ...]] = []
        self._loops: list[_Loop] = []
        self.loops_solved = 0
        self.loop_iterations = 0
        self._iterations: list[_Iteration] = []
        self._counts: list[int] = []
        self._sweeps: list[tuple[_ResolvedCall | SolveLoop, ...]] = []
        self._recorded: list[int] = []
        self._history: list[_Point] = []  # the latest first
        self._outer_wires: list[_Wire] = []  # into slots of no instance
        self._courses = TwinCourses()
        self._driven: dict[int, DrivenInput] = {}  # by slot
        self._environments: dict[int, Fmi3Instance | None] = {}
        self._intermediate_update = IntermediateUpdate(self._on_intermediate_update)
        self._contents = Contents()
        for slot in integers:
            self._check_slot(slot)
        self._holds_integer = frozenset(integers)

    # -- contents --------------------------------------------------------------------------------------------

    @property
    def contents(self) -> int:
        return len(self._contents)

    def content(self, number: int) -> bytes:
        return self._contents[number]

    def number(self, content: bytes, keep: bool = False) -> int:
        return self._contents.number(content, keep)

    def forget(self, needed: Sequence[int]) -> list[int]:
        return self._contents.forget(needed)

    @property
    def content_bytes(self) -> int:
        return self._contents.bytes

    # -- tables ----------------------------------------------------------------------------------------------

    def environment(self) -> int:
        handle = len(self._environments) + 1
        self._environments[handle] = None
        return handle

    def intermediate_update_address(self) -> int:
        return ctypes.cast(self._intermediate_update, ctypes.c_void_p).value or 0

    def add(self, table: InstanceTable) -> int:
        if self._wires:
            raise ValueError("instances must be added before wires are stated")
        index = len(self._tables)
        if len(table.input_slots) != len(table.input_references):
            raise ValueError("as many input slots as input references are needed")
        if len(table.output_slots) != len(table.output_references):
            raise ValueError("as many output slots as output references are needed")
        table = complete(table)
        instance = self._make_instance(table)
        self._check_types((*table.input_slots, *table.output_slots), (*table.input_types, *table.output_types))
        for slot in (*table.input_slots, *table.output_slots):
            self._check_slot(slot)
            if slot in self._owner:
                raise ValueError(f"slot {slot} already belongs to instance {self._owner[slot]}")
            self._owner[slot] = index
        self._members.append(member_of(table))
        self._tables.append(table)
        if table.report is not None:
            self._reports.append(table.report)
        self._instances.append(instance)
        return index

    def _make_instance(self, table: InstanceTable) -> FmiInstance:
        if table.fmi_major == 1:
            return Fmi1Instance(table)
        if table.fmi_major != 3:
            return Fmi2Instance(table)
        instance = Fmi3Instance(table)
        if table.environment:
            if table.environment not in self._environments:
                raise ValueError("the environment of an instance must come from the same kernel")
            self._environments[table.environment] = instance
        return instance

    def _check_types(self, slots: Sequence[int], types: Sequence[str]) -> None:
        for slot, kind in zip(slots, types, strict=True):
            self._check_slot(slot)
            if holds_integers(kind) != (slot in self._holds_integer):
                holds = "integers" if slot in self._holds_integer else "doubles"
                raise ValueError(f"slot {slot} holds {holds}, which a variable of type {kind} has not")

    def connect(
        self,
        sources: Slots,
        destinations: Slots,
        factors: Sequence[float],
        offsets: Sequence[float],
        tables: Tables = NO_TABLES,
    ) -> None:
        if self._groups or self._loops or self._sweeps:
            raise ValueError("wires must be stated before groups, loops and sweeps")
        rows = enumerate(zip(sources, destinations, factors, offsets, strict=True))
        for wire in (_Wire(*row, tables.get(number), (row[2], row[3])) for number, row in rows):
            self._check_slot(wire.source)
            self._check_slot(wire.destination)
            self._check_wire(wire)
            if wire.destination in self._wires:
                raise ValueError(f"two wires lead to slot {wire.destination}")
            self._wires[wire.destination] = wire
            if wire.destination not in self._owner:
                self._outer_wires.append(wire)

    def _check_wire(self, wire: _Wire) -> None:
        integer = wire.source in self._holds_integer
        if wire.destination in self._holds_integer:
            if not integer:
                raise ValueError(f"a wire leads from slot {wire.source}, a double, to {wire.destination}, an integer")
            if (wire.factor, wire.offset) != (1.0, 0.0):
                raise ValueError(f"the wire to slot {wire.destination}, an integer, has a factor or an offset")
        if wire.table and not integer:
            raise ValueError(f"the wire from slot {wire.source}, a double, has a table")

    def group(self, instances: Sequence[int]) -> int:
        for instance in instances:
            _check_index(instance, self._instances, "instance")
        self._groups.append(tuple(instances))
        return len(self._groups) - 1

    def loop(self, loop: LoopCalls) -> int:
        if len(loop.nominal) != len(loop.torn):
            raise ValueError("as many nominal values as torn slots are needed")
        if loop.max_iterations < 1:
            raise ValueError(f"max_iterations is {loop.max_iterations}, must be at least 1")
        for slot in loop.torn:
            self._check_slot(slot)
            if slot in self._holds_integer:
                raise ValueError(f"slot {slot} holds integers and cannot be torn")
        for slot in loop.held:
            self._check_slot(slot)
            if slot not in self._holds_integer:
                raise ValueError(f"slot {slot} holds a double, which is torn and not held")
        body = tuple(self._resolve(call) for call in loop.body)
        chord = -np.eye(len(loop.torn))
        nominal = [float(value) for value in loop.nominal]
        held, found = list(loop.held), np.zeros(len(loop.held), dtype=np.int64)
        limits = loop.rtol, loop.atol, loop.max_iterations
        self._loops.append(_Loop(list(loop.torn), held, found, body, nominal, *limits, chord))
        return len(self._loops) - 1

    def sweep(self, steps: Sequence[Call | SolveLoop]) -> int:
        resolved: list[_ResolvedCall | SolveLoop] = []
        for step in steps:
            if isinstance(step, SolveLoop):
                _check_index(step.loop, self._loops, "loop")
                resolved.append(step)
            else:
                resolved.append(self._resolve(step))
        self._sweeps.append(tuple(resolved))
        return len(self._sweeps) - 1

    def record_slots(self, slots: Slots) -> None:
        for slot in slots:
            self._check_slot(slot)
        self._recorded = list(slots)

    def _resolve(self, call: Call) -> _ResolvedCall:
        _check_index(call.instance, self._instances, "instance")
        table = self._tables[call.instance]
        inputs, outputs = sorted(call.inputs), sorted(call.outputs)
        arriving = known_of(inputs, inputs_of(table), "input")
        leaving = known_of(outputs, outputs_of(table), "output")
        return _ResolvedCall(
            call.instance,
            self._wires_into(inputs),
            [variable.slot for variable in arriving if variable.kind == FLOAT],
            references_of(arriving),
            [variable.slot for variable in leaving if variable.kind == FLOAT],
            references_of(leaving),
            typed_of(table.fmi_major, arriving),
            typed_of(table.fmi_major, leaving),
        )

    def _wires_into(self, slots: Slots) -> tuple[_Wire, ...]:
        return tuple(self._wires[slot] for slot in slots if slot in self._wires)

    def _check_slot(self, slot: int) -> None:
        _check_index(slot, self.values, "slot")

    # -- what acts from outside ------------------------------------------------------------------------------

    def courses(self, courses: Courses) -> None:
        if self._groups or self._loops or self._sweeps:
            raise ValueError("courses must be stated before groups, loops and sweeps")
        for slot in (*(one.slot for one in courses.columns), *(one.slot for one in courses.inputs)):
            self._check_slot(slot)
        for one in courses.inputs:
            if one.slot in self._holds_integer and one.running != Running.HELD:
                raise ValueError(f"slot {one.slot} holds integers, which are held")
        self._courses = TwinCourses(courses, self._holds_integer)
        self._driven = {one.slot: one for one in courses.inputs}

    def course(self, column: int) -> Floats:
        self._courses.check(column)
        return self._courses.cells[column]

    def change(self, column: int, change: Change) -> None:
        self._courses.change(column, change)

    def between(self, begin: float, end: float) -> None:
        self._courses.between(begin, end)

    def write(self, t: float) -> None:
        self._courses.write(t, self.values, self.integers)

    def drive(self, t: float, h: float) -> None:
        slots = list(self._driven)
        cells = self.integers[slots]
        self.write(t)
        self._copy(self._wires_into(slots))
        self.input_value.view(np.int64)[slots] = cells  # bits that need not be those of a number
        for (slot, one), start in zip(self._driven.items(), cells.view(np.float64), strict=True):
            end = self.values[slot]
            match one.running:
                case Running.HELD:
                    self.input_rates[:, slot] = 0.0, 0.0
                case Running.FOLLOWING:
                    self._move(slot, start, (end - start) / h, 0.0)
                case Running.MIDDLE:
                    self._move(slot, 0.5 * (start + end), 0.0, 0.0)

    def act(self, wires: Sequence[ActedWire]) -> None:
        for acted in wires:
            self._check_slot(acted.destination)
            if acted.destination not in self._wires:
                raise ValueError(f"no wire leads to slot {acted.destination}")
        for acted in wires:
            wire = self._wires[acted.destination]
            wire.factor, wire.offset = wire.stated
            if wire.source in self._holds_integer:
                wire.at_source = acted.at_source
            else:
                _change_source(wire, acted.at_source)
            if wire.destination in self._holds_integer:
                wire.at_destination = acted.at_destination
            else:
                _change_destination(wire, acted.at_destination)

    # -- inputs ----------------------------------------------------------------------------------------------

    def exchange(self, group: int) -> None:
        for instance in _item(self._groups, group, "group"):
            self._copy(self._wires_into(self._tables[instance].input_slots))

    def _copy(self, wires: Sequence[_Wire]) -> None:
        for wire in wires:
            if wire.source not in self._holds_integer:
                self.values[wire.destination] = _delivered(wire, self.values[wire.source])
                continue
            number = changed_integer(int(self.integers[wire.source]), wire.at_source)
            if wire.table:
                number = wire.table.get(number, number)
            if wire.destination in self._holds_integer:
                self.integers[wire.destination] = changed_integer(number, wire.at_destination)
            else:
                self.values[wire.destination] = wire.factor * float(number) + wire.offset

    def hold(self, group: int) -> None:
        for slot in self._input_slots(group):
            self._move(slot, self.values[slot], 0.0, 0.0)
        self._stay(group, self.values)

    def _stay(self, group: int, values: Floats) -> None:
        """Inputs of types other than Float64, over the step."""
        for instance in _item(self._groups, group, "group"):
            for typed in self._members[instance].typed_inputs:
                slots = [slot for slot in typed.slots if slot not in self._driven]
                self.input_value.view(np.int64)[slots] = values.view(np.int64)[slots]

    def extrapolate(self, group: int, order: int) -> None:
        _check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history) - 1)
        now = self._history[0]
        self._stay(group, now.values)
        for slot in self._input_slots(group):
            y0 = now.values[slot]
            if order == 0:
                self._move(slot, y0, 0.0, 0.0)
                continue
            before = self._history[1]
            d01 = (y0 - before.values[slot]) / (now.t - before.t)
            if order == 1:
                self._move(slot, y0, d01, 0.0)
                continue
            oldest = self._history[2]
            d12 = (before.values[slot] - oldest.values[slot]) / (before.t - oldest.t)
            curvature = (d01 - d12) / (now.t - oldest.t)
            self._move(slot, y0, d01 + curvature * (now.t - before.t), 2.0 * curvature)

    def interpolate(self, group: int, order: int, h: float) -> None:
        _check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history))
        now = self._history[0]
        self._stay(group, now.values)
        for slot in self._input_slots(group):
            y0 = now.values[slot]
            slope = (self.values[slot] - y0) / h
            if order == 1:
                self._move(slot, y0, slope, 0.0)
                continue
            before = self._history[1]
            d01 = (y0 - before.values[slot]) / (now.t - before.t)
            curvature = (slope - d01) / (h + (now.t - before.t))
            self._move(slot, y0, slope - curvature * h, 2.0 * curvature)

    def _input_slots(self, group: int) -> list[int]:
        """Of type Float64, that courses do not lead to."""
        instances = _item(self._groups, group, "group")
        every = (slot for instance in instances for slot in self._members[instance].inputs)
        return [slot for slot in every if slot not in self._driven]

    def _move(self, slot: int, value: float, first: float, second: float) -> None:
        self.input_value[slot] = value
        self.input_rates[:, slot] = first, second

    # -- steps -----------------------------------------------------------------------------------------------

    def advance(self, group: int, t: float, h: float) -> Outcome:
        for index in _item(self._groups, group, "group"):
            outcome = self._step(index, t, h)
            if not outcome.ok:
                return outcome
        return OK

    def _step(self, index: int, t: float, h: float) -> Outcome:
        member, slots = self._members[index], self._members[index].inputs
        outcome = self._set_typed(index, member.typed_inputs, self.input_value)
        if not outcome.ok:
            return outcome
        motion = Motion(self.input_value[slots], self.input_rates[0, slots], self.input_rates[1, slots])
        if failure := self._instances[index].step(t, h, motion):
            return _failed(index, failure)
        outcome = self._get(index, member.output_references, member.outputs)
        return self._get_typed(index, member.typed_outputs) if outcome.ok else outcome

    def _set_typed(self, index: int, inputs: Sequence[Typed], cells: Floats) -> Outcome:
        for typed in inputs:
            values, unfit = typed.machine(cells, self._contents)
            if unfit is not None:
                return Outcome(Code.RANGE, instance=index, function=typed.set_function, slot=unfit)
            if failure := self._instances[index].access(typed.set_function, typed.references, values):
                return _failed(index, failure)
        return OK

    def _get_typed(self, index: int, outputs: Sequence[Typed]) -> Outcome:
        for typed in outputs:
            found = typed.room()
            if failure := self._instances[index].access(typed.get_function, typed.references, found):
                return _failed(index, failure)
            typed.keep(found, self.values, self._contents)
            if (slot := typed.nonfinite(self.values)) is not None:
                return Outcome(Code.NONFINITE, instance=index, function=typed.get_function, slot=slot)
        return OK

    def _get(self, index: int, references: References, slots: list[int]) -> Outcome:
        if not slots:
            return OK
        instance = self._instances[index]
        values = np.empty(len(slots))
        if failure := instance.get(references, values):
            return _failed(index, failure)
        self.values[slots] = values
        for slot in slots:
            if not math.isfinite(self.values[slot]):
                return Outcome(Code.NONFINITE, instance=index, function=instance.get_function, slot=slot)
        return OK

    def _perform(self, call: _ResolvedCall) -> Outcome:
        self._copy(call.wires)
        if call.inputs:
            failure = self._instances[call.instance].set(call.input_references, self.values[call.inputs])
            if failure:
                return _failed(call.instance, failure)
        outcome = self._set_typed(call.instance, call.typed_inputs, self.values)
        if outcome.ok:
            outcome = self._get(call.instance, call.output_references, call.outputs)
        return self._get_typed(call.instance, call.typed_outputs) if outcome.ok else outcome

    def evaluate(self, sweep: int) -> Outcome:
        for step in _item(self._sweeps, sweep, "sweep"):
            outcome = self._solve(step.loop) if isinstance(step, SolveLoop) else self._perform(step)
            if not outcome.ok:
                return outcome
        return OK

    def accept(self, t: float) -> None:
        self._copy(self._outer_wires)
        while self._history and self._history[0].t >= t:
            del self._history[0]
        self._history.insert(0, _Point(t, self.values.copy()))
        del self._history[MAX_ORDER + 1 :]

    def take_back(self) -> None:
        if not self._history:
            raise ValueError("no point was accepted")
        self.values[:] = self._history[0].values

    def save(self, group: int) -> Outcome:
        for index in _item(self._groups, group, "group"):
            if failure := self._instances[index].save():
                return _failed(index, failure)
        return OK

    def restore(self, group: int) -> Outcome:
        for index in _item(self._groups, group, "group"):
            if not self._instances[index].has_saved_state:
                raise ValueError(f"no state of instance {index} was saved")
        for index in _item(self._groups, group, "group"):
            if failure := self._instances[index].restore():
                return _failed(index, failure)
        return OK

    def release(self) -> None:
        for instance in self._instances:
            instance.release()

    def use_threads(self, count: int) -> None:
        if count < 1:
            raise ValueError("at least 1 thread is needed")

    def run(self, program: Sequence[Instruction], start: float, h: float, first: int, rows: Floats) -> Outcome:
        self._check_program(program, rows)
        self._counts = []
        for k in range(len(rows)):
            t, reached = start + float(first + k) * h, start + float(first + k + 1) * h
            self._counts.append(1)
            for report in self._reports:
                report[1] = math.nan
            for number, instruction in enumerate(program):
                outcome = self._execute(instruction, t, reached, h, rows[k])
                if instruction.op in (Op.ADVANCE, Op.ITERATE) and self._returned_before(reached - CLOSE * h):
                    return Outcome(Code.EVENT, steps=k, instruction=number)
                if not outcome.ok:
                    return replace(outcome, steps=k, instruction=number)
            if any(report[0] for report in self._reports):
                return Outcome(steps=k + 1)
        return Outcome(steps=len(rows))

    def run_through(
        self, step: Sequence[Instruction], jump: Sequence[Instruction], points: Floats, rows: Floats
    ) -> Outcome:
        for program in (step, jump):
            self._check_program(program, rows)
        if points.shape != (len(rows), 4):
            raise ValueError(f"points has shape {points.shape}, must be ({len(rows)}, 4)")
        self._counts = []
        for k, (t, h, to, end) in enumerate(points.tolist()):
            self._counts.append(1)
            if h == 0.0:
                self.between(to, end)
                self.write(to)
            for number, instruction in enumerate(step if h else jump):
                outcome = self._execute(instruction, t, to if h else t, h, rows[k])
                if not outcome.ok:
                    return replace(outcome, steps=k, instruction=number)
        return Outcome(steps=len(rows))

    def _returned_before(self, end: float) -> bool:
        return any(report[1] < end for report in self._reports)

    def _execute(self, instruction: Instruction, t: float, reached: float, h: float, row: Floats) -> Outcome:
        argument, order = instruction.argument, instruction.order
        operations: dict[Op, Callable[[], Outcome | None]] = {
            Op.EXCHANGE: lambda: self.exchange(argument),
            Op.HOLD: lambda: self.hold(argument),
            Op.EXTRAPOLATE: lambda: self.extrapolate(argument, order),
            Op.INTERPOLATE: lambda: self.interpolate(argument, order, h),
            Op.ADVANCE: lambda: self.advance(argument, t, h),
            Op.EVALUATE: lambda: self.evaluate(argument),
            Op.ACCEPT: lambda: self.accept(reached),
            Op.ITERATE: lambda: self._converge(argument, t, h),
            Op.RECORD: lambda: self._record(reached, row),
            Op.DRIVE: lambda: self.drive(reached, h),
            Op.SAVE: lambda: self.save(argument),
            Op.FORGET: lambda: self.accept(LONG_AGO),
        }
        return operations[instruction.op]() or OK

    def _record(self, t: float, row: Floats) -> None:
        row[0] = t
        row[1:].view(np.int64)[:] = self.integers[self._recorded]

    def _check_program(self, program: Sequence[Instruction], rows: Floats) -> None:
        for instruction in program:
            if instruction.op in (Op.EXTRAPOLATE, Op.INTERPOLATE):
                _check_order(instruction.order)
            if instruction.op is Op.EVALUATE:
                _check_index(instruction.argument, self._sweeps, "sweep")
            elif instruction.op is Op.ITERATE:
                _check_index(instruction.argument, self._iterations, "iteration")
            elif instruction.op not in (Op.ACCEPT, Op.RECORD, Op.DRIVE, Op.FORGET):
                _check_index(instruction.argument, self._groups, "group")
        if sum(instruction.op is Op.RECORD for instruction in program) > 1:
            raise ValueError("a program may record one row per macro step")
        if rows.ndim != 2 or rows.shape[1] != 1 + len(self._recorded):
            raise ValueError(f"rows has shape {rows.shape}, must be (steps, {1 + len(self._recorded)})")

    # -- iterated steps --------------------------------------------------------------------------------------

    def iteration(self, calls: IterationCalls) -> int:
        for group in (calls.group, calls.following, calls.held):
            _check_index(group, self._groups, "group")
        _check_index(calls.sweep, self._sweeps, "sweep")
        _check_order(calls.prediction)
        if calls.order not in range(MAX_ORDER + 1):
            raise ValueError(f"polynomial order is {calls.order}, must be 0 to {MAX_ORDER}")
        if calls.max_iterations < 1:
            raise ValueError(f"max_iterations is {calls.max_iterations}, must be at least 1")
        if len(calls.nominal) != len(calls.unknowns):
            raise ValueError("as many nominal values as unknowns are needed")
        for slot in calls.unknowns:
            self._check_slot(slot)
            if slot in self._holds_integer:
                raise ValueError(f"slot {slot} holds integers and cannot be iterated")
        size = len(calls.unknowns)
        self._iterations.append(_Iteration(calls, np.zeros(size), np.zeros(size)))
        return len(self._iterations) - 1

    def guess(self, iteration: int) -> Floats:
        return _item(self._iterations, iteration, "iteration").x

    def tolerance(self, iteration: int) -> Floats:
        return _item(self._iterations, iteration, "iteration").tolerance

    def iterations(self) -> Integers:
        return np.array(self._counts, dtype=np.int64)

    def iterate(self, iteration: int, t: float, h: float, first: bool) -> Outcome:
        own = _item(self._iterations, iteration, "iteration")
        calls = own.calls
        outcome = self.save(calls.group) if first else self.restore(calls.group)
        if not outcome.ok:
            return outcome
        if first:
            self._predict(own, h)
            self.exchange(calls.group)
        for i, slot in enumerate(calls.unknowns):
            self.values[slot] = own.x[i]
        self.hold(calls.held)
        if calls.order:
            self.interpolate(calls.following, calls.order, h)
        else:
            self.hold(calls.following)
        outcome = self.advance(calls.group, t, h)
        if outcome.ok:
            outcome = self.evaluate(calls.sweep)
        if outcome.ok:
            self.exchange(calls.group)
        return outcome

    def _predict(self, own: _Iteration, h: float) -> None:
        """Where the polynomial through the accepted points leads."""
        calls = own.calls
        self.extrapolate(calls.group, calls.prediction)
        for i, slot in enumerate(calls.unknowns):
            first, second = self.input_rates[:, slot]
            x = self.input_value[slot] + h * first + h * h / 2 * second
            own.x[i] = x
            own.tolerance[i] = calls.absolute + calls.relative * max(abs(x), calls.nominal[i])

    @np.errstate(over="ignore", invalid="ignore")  # an iterate that runs away is reported in the outcome
    def _converge(self, iteration: int, t: float, h: float) -> Outcome:
        own, calls = self._iterations[iteration], self._iterations[iteration].calls
        least = math.inf
        for count in range(1, calls.max_iterations + 1):
            outcome = self.iterate(iteration, t, h, count == 1)
            if not outcome.ok:
                return replace(outcome, iterations=count)
            excess = 0.0
            for i, slot in enumerate(calls.unknowns):
                own_excess = abs(self.values[slot] - own.x[i]) / own.tolerance[i]
                excess = excess if own_excess <= excess or math.isnan(excess) else own_excess
            if excess <= 1.0:
                self._counts[-1] = max(self._counts[-1], count)
                return OK
            if count == calls.max_iterations or not excess <= calls.growth * least:
                break
            least = min(least, excess)
            for i, slot in enumerate(calls.unknowns):
                own.x[i] = _relaxed(own.x[i], self.values[slot], calls.nominal[i], calls.relaxation)
        return Outcome(Code.COUPLING, iterations=count)

    # -- algebraic loops -------------------------------------------------------------------------------------

    def residual(self, loop: int, x: Floats) -> tuple[Outcome, Floats]:
        torn = _item(self._loops, loop, "loop").torn
        if x.shape != (len(torn),):
            raise ValueError(f"x has shape {x.shape}, must be ({len(torn)},)")
        outcome = self._evaluate_body(loop, x)
        return outcome, self.values[torn]

    def _evaluate_body(self, loop: int, x: Floats) -> Outcome:
        torn, held = self._loops[loop].torn, self._loops[loop].held
        self.values[torn] = x
        kept = self.integers[held]
        outcome = OK
        for call in self._loops[loop].body:
            outcome = self._perform(call)
            if not outcome.ok:
                outcome = replace(outcome, loop=loop)
                break
        self._loops[loop].found = self.integers[held]
        self.integers[held] = kept
        return outcome

    def settle(self, loop: int) -> bool:
        return self._settle(_item(self._loops, loop, "loop")) is not None

    def _settle(self, loop: _Loop) -> int | None:
        """The first of the held slots that changes."""
        changed = np.flatnonzero(loop.found != self.integers[loop.held])
        self.integers[loop.held] = loop.found
        return loop.held[changed[0]] if changed.size else None

    @np.errstate(over="ignore", invalid="ignore")  # an iterate that runs away is reported in the outcome
    def _solve(self, index: int) -> Outcome:
        loop = self._loops[index]
        x = self.values[loop.torn]
        first = x.copy()  # where a better method may start: iterates that ran away lead nowhere
        open_slot = None
        self.loops_solved += 1
        for iteration in range(loop.max_iterations):
            self.loop_iterations += 1
            outcome = self._evaluate_body(index, x)
            if outcome.code is Code.NONFINITE and iteration > 0:
                self.values[loop.torn] = first
                return replace(outcome, code=Code.LOOP)  # the guess is to blame: an iterate ran away
            if not outcome.ok:
                return outcome
            residual = self.values[loop.torn] - x
            open_slot = _unconverged(loop, x, residual)
            if open_slot is None:
                open_slot = self._settle(loop)
                if open_slot is None:
                    return OK
                continue
            _correct(x, loop.chord, residual)
        self.values[loop.torn] = first
        return Outcome(Code.LOOP, loop=index, slot=-1 if open_slot is None else open_slot)

    def jacobian_product(self, loop: int, seed: Floats) -> tuple[Outcome, Floats]:
        torn = _item(self._loops, loop, "loop").torn
        if seed.shape != (len(torn),):
            raise ValueError(f"seed has shape {seed.shape}, must be ({len(torn)},)")
        tangent = np.zeros_like(self.values)
        tangent[torn] = seed
        for call in _item(self._loops, loop, "loop").body:
            for wire in call.wires:
                if wire.source not in self._holds_integer:  # integers do not move
                    tangent[wire.destination] = wire.factor * tangent[wire.source]
            sensitivity = np.zeros(len(call.outputs))
            if call.inputs and call.outputs:
                failure = self._instances[call.instance].directional(
                    call.output_references, call.input_references, tangent[call.inputs], sensitivity
                )
                if failure:
                    return replace(_failed(call.instance, failure), loop=loop), tangent[torn]
            tangent[call.outputs] = sensitivity
        return OK, tangent[torn]

    def set_chord(self, loop: int, matrix: Floats) -> None:
        size = len(_item(self._loops, loop, "loop").torn)
        if matrix.shape != (size, size):
            raise ValueError(f"the chord matrix has shape {matrix.shape}, must be ({size}, {size})")
        _item(self._loops, loop, "loop").chord = np.array(matrix, dtype=np.float64)

    # -- intermediate update ---------------------------------------------------------------------------------

    def _on_intermediate_update(
        self,
        environment: int | None,
        time: float,
        set_requested: bool,
        _get_allowed: bool,
        _step_finished: bool,
        _can_return_early: bool,
        early_return_requested: Any,
        _early_return_time: Any,
    ) -> None:
        early_return_requested[0] = False
        instance = self._environments.get(environment or 0)
        if set_requested and instance is not None:
            instance.intermediate_update(time)


def _delivered(wire: _Wire, value: float) -> float:
    """The value itself, also its sign if it is zero, where nothing is done to it."""
    return value if (wire.factor, wire.offset) == (1.0, 0.0) else wire.factor * value + wire.offset


def _change_source(wire: _Wire, change: Change) -> None:
    """With what is done to doubles at its ends, a wire still is a factor and an offset."""
    if change.kind != ChangeKind.NONE:
        wire.offset = wire.factor * change.cell + wire.offset
    if change.kind == ChangeKind.OVERRIDE:
        wire.factor = 0.0


def _change_destination(wire: _Wire, change: Change) -> None:
    if change.kind == ChangeKind.NONE:
        return
    replaced = change.kind == ChangeKind.OVERRIDE
    wire.offset = change.cell if replaced else wire.offset + change.cell
    if replaced:
        wire.factor = 0.0


def _relaxed(x: float, found: float, nominal: float, relaxation: float) -> float:
    if relaxation == 1.0:
        return nominal * (found / nominal)
    x, found = x / nominal, found / nominal
    return nominal * (x + relaxation * (found - x))


def _failed(instance: int, failure: Failure) -> Outcome:
    return Outcome(Code.FMI, instance=instance, function=failure.function, fmi_status=failure.status)


def _unconverged(loop: _Loop, x: Floats, residual: Floats) -> int | None:
    """The first torn slot whose residual is above its tolerance."""
    for i, slot in enumerate(loop.torn):
        if not abs(residual[i]) <= loop.atol + loop.rtol * max(abs(x[i]), loop.nominal[i]):
            return slot
    return None


def _correct(x: Floats, chord: Floats, residual: Floats) -> None:
    """x ← x − M r, in place. A plain double loop: sums of numpy's products depend on how BLAS was built."""
    for i in range(len(x)):
        correction = 0.0
        for j in range(len(x)):
            correction += chord[i, j] * residual[j]
        x[i] -= correction


def _check_index(index: int, items: Sequence[Any] | Floats, what: str) -> None:
    if not 0 <= index < len(items):
        raise IndexError(f"{what} {index} does not exist, there are {len(items)}")


def _item(items: Sequence[Item], index: int, what: str) -> Item:
    _check_index(index, items, what)
    return items[index]


def _check_order(order: int) -> None:
    if order not in range(1, MAX_ORDER + 1):
        raise ValueError(f"polynomial order is {order}, must be 1 to {MAX_ORDER}")
