"""Evaluation of instances at one instant without a step: calls, algebraic loops, and schedules over both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import FLOAT, OK, Call, Code, Floats, Integers, LoopCalls, Outcome, SolveLoop
from ssptool.engine.kernel.solutions import Iterate
from ssptool.engine.kernel.twin.members import Members, TwinAccess, TwinMember, failed
from ssptool.engine.kernel.twin.slot_values import SlotValues, check_index, item
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
    def __init__(self, slot_values: SlotValues, wires: Wires, members: Members, access: TwinAccess) -> None:
        self._slot_values, self._wires, self._members, self._access = slot_values, wires, members, access

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
            outcome = access.set_typed(call.member, call.typed_inputs, self._slot_values.values)
        if outcome.ok:
            outcome = access.get(call.member, call.output_references, call.outputs)
        return access.get_typed(call.member, call.typed_outputs) if outcome.ok else outcome

    def propagate(self, call: ResolvedCall, tangents: Floats) -> Outcome:
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


@dataclass(slots=True)
class TwinLoop:
    """`found` is what the frozen slots came out as at the last evaluation."""

    torn: list[int]
    frozen: list[int]
    found: Integers
    body: tuple[ResolvedCall, ...]
    nominal: list[float]
    rtol: float
    atol: float
    max_iterations: int
    chord: Floats


class Loops:
    """`solved` says how often a schedule looked for a solution, `iterations` how many evaluations that took; `iterates`
    collects those of operations that are watched.
    """

    def __init__(self, slot_values: SlotValues, calls: Calls) -> None:
        self._slot_values, self._calls = slot_values, calls
        self._every: list[TwinLoop] = []
        self.solved = 0
        self.iterations = 0
        self.iterates: list[Iterate] | None = None

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, loop: int) -> TwinLoop:
        return item(self._every, loop, "loop")

    def add(self, loop: LoopCalls) -> int:
        self._check(loop)
        body = tuple(self._calls.resolve(call) for call in loop.body)
        chord = np.diag(np.full(len(loop.torn), -1.0))  # no zeros with a sign
        nominal = [float(value) for value in loop.nominal]
        frozen, found = list(loop.frozen), np.zeros(len(loop.frozen), dtype=np.int64)
        limits = loop.rtol, loop.atol, loop.max_iterations
        self._every.append(TwinLoop(list(loop.torn), frozen, found, body, nominal, *limits, chord))
        return len(self._every) - 1

    def _check(self, loop: LoopCalls) -> None:
        if len(loop.nominal) != len(loop.torn):
            raise ValueError("as many nominal values as torn slots are needed")
        if loop.max_iterations < 1:
            raise ValueError(f"max_iterations is {loop.max_iterations}, must be at least 1")
        for slot in loop.torn:
            self._slot_values.check(slot)
            if slot in self._slot_values.holds_integer:
                raise ValueError(f"slot {slot} holds integers and cannot be torn")
        for slot in loop.frozen:
            self._slot_values.check(slot)
            if slot not in self._slot_values.holds_integer:
                raise ValueError(f"slot {slot} holds a double, which is torn and not frozen")

    def residual(self, loop: int, x: Floats) -> tuple[Outcome, Floats]:
        torn = self[loop].torn
        if x.shape != (len(torn),):
            raise ValueError(f"x has shape {x.shape}, must be ({len(torn)},)")
        outcome = self._evaluate_body(loop, x)
        return outcome, self._slot_values.values[torn]

    def _evaluate_body(self, index: int, x: Floats) -> Outcome:
        loop, slot_values = self[index], self._slot_values
        slot_values.values[loop.torn] = x
        kept = slot_values.integers[loop.frozen]
        outcome = OK
        for call in loop.body:
            outcome = self._calls.perform(call)
            if not outcome.ok:
                outcome = replace(outcome, loop=index)
                break
        loop.found = slot_values.integers[loop.frozen]
        slot_values.integers[loop.frozen] = kept
        return outcome

    def update_frozen(self, loop: int) -> bool:
        return self._settle(self[loop]) is not None

    def _settle(self, loop: TwinLoop) -> int | None:
        """The first of the frozen slots that changes."""
        changed = np.flatnonzero(loop.found != self._slot_values.integers[loop.frozen])
        self._slot_values.integers[loop.frozen] = loop.found
        return loop.frozen[changed[0]] if changed.size else None

    @np.errstate(over="ignore", invalid="ignore")  # an iterate that runs away is reported in the outcome
    def solve(self, index: int) -> Outcome:
        loop, values = self[index], self._slot_values.values
        x = values[loop.torn]
        first = x.copy()  # where a better method may start: iterates that ran away lead nowhere
        open_slot = None
        self.solved += 1
        for iteration in range(loop.max_iterations):
            self.iterations += 1
            outcome = self._evaluate_body(index, x)
            residual = values[loop.torn] - x
            self.note(index, "chord", iteration + 1, x, residual)
            if outcome.code is Code.NONFINITE and iteration > 0:
                values[loop.torn] = first
                return replace(outcome, code=Code.LOOP)  # the guess is to blame: an iterate ran away
            if not outcome.ok:
                return outcome
            open_slot = _unconverged(loop, x, residual)
            if open_slot is None:
                open_slot = self._settle(loop)
                if open_slot is None:
                    return OK
                continue
            _correct(x, loop.chord, residual)
        values[loop.torn] = first
        return Outcome(Code.LOOP, loop=index, slot=-1 if open_slot is None else open_slot)

    def note(self, loop: int, solver: str, number: int, x: Floats, residual: Floats) -> None:
        """Note an iterate, if the present operation is watched."""
        if self.iterates is not None:
            self.iterates.append(Iterate(loop, solver, number, x.copy(), residual))

    def jacobian_product(self, loop: int, seed: Floats) -> tuple[Outcome, Floats]:
        torn = self[loop].torn
        if seed.shape != (len(torn),):
            raise ValueError(f"seed has shape {seed.shape}, must be ({len(torn)},)")
        tangents = np.zeros_like(self._slot_values.values)
        tangents[torn] = seed
        outcome = OK
        for call in self[loop].body:
            outcome = self._calls.propagate(call, tangents)
            if not outcome.ok:
                outcome = replace(outcome, loop=loop)
                break
        return outcome, tangents[torn]

    def set_chord(self, loop: int, matrix: Floats) -> None:
        size = len(self[loop].torn)
        if matrix.shape != (size, size):
            raise ValueError(f"the chord matrix has shape {matrix.shape}, must be ({size}, {size})")
        self[loop].chord = np.array(matrix, dtype=np.float64)

    def chord(self, loop: int) -> Floats:
        return self[loop].chord.copy()


def _unconverged(loop: TwinLoop, x: Floats, residual: Floats) -> int | None:
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


class TwinSchedules:
    def __init__(self, calls: Calls, loops: Loops) -> None:
        self._calls, self._loops = calls, loops
        self._every: list[tuple[ResolvedCall | SolveLoop, ...]] = []

    def __len__(self) -> int:
        return len(self._every)

    def add(self, steps: Sequence[Call | SolveLoop]) -> int:
        resolved: list[ResolvedCall | SolveLoop] = []
        for step in steps:
            if isinstance(step, SolveLoop):
                check_index(step.loop, self._loops, "loop")
                resolved.append(step)
            else:
                resolved.append(self._calls.resolve(step))
        self._every.append(tuple(resolved))
        return len(self._every) - 1

    def evaluate(self, schedule: int) -> Outcome:
        for step in item(self._every, schedule, "schedule"):
            outcome = self._loops.solve(step.loop) if isinstance(step, SolveLoop) else self._calls.perform(step)
            if not outcome.ok:
                return outcome
        return OK
