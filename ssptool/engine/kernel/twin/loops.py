"""Algebraic loops, and sweeps in which they are solved among calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ssptool.engine.kernel.interface import OK, Call, Code, Floats, Integers, LoopCalls, Outcome, SolveLoop
from ssptool.engine.kernel.twin.cells import Cells, check_index, item
from ssptool.engine.kernel.twin.evaluation import Calls, ResolvedCall


@dataclass(slots=True)
class Loop:
    """`found` is what the held slots came out as at the last evaluation."""

    torn: list[int]
    held: list[int]
    found: Integers
    body: tuple[ResolvedCall, ...]
    nominal: list[float]
    rtol: float
    atol: float
    max_iterations: int
    chord: Floats


class Loops:
    """`solved` says how often a sweep looked for a solution, `iterations` how many evaluations that took."""

    def __init__(self, cells: Cells, calls: Calls) -> None:
        self._cells, self._calls = cells, calls
        self._every: list[Loop] = []
        self.solved = 0
        self.iterations = 0

    def __len__(self) -> int:
        return len(self._every)

    def __getitem__(self, loop: int) -> Loop:
        return item(self._every, loop, "loop")

    def add(self, loop: LoopCalls) -> int:
        self._check(loop)
        body = tuple(self._calls.resolve(call) for call in loop.body)
        chord = -np.eye(len(loop.torn))
        nominal = [float(value) for value in loop.nominal]
        held, found = list(loop.held), np.zeros(len(loop.held), dtype=np.int64)
        limits = loop.rtol, loop.atol, loop.max_iterations
        self._every.append(Loop(list(loop.torn), held, found, body, nominal, *limits, chord))
        return len(self._every) - 1

    def _check(self, loop: LoopCalls) -> None:
        if len(loop.nominal) != len(loop.torn):
            raise ValueError("as many nominal values as torn slots are needed")
        if loop.max_iterations < 1:
            raise ValueError(f"max_iterations is {loop.max_iterations}, must be at least 1")
        for slot in loop.torn:
            self._cells.check(slot)
            if slot in self._cells.holds_integer:
                raise ValueError(f"slot {slot} holds integers and cannot be torn")
        for slot in loop.held:
            self._cells.check(slot)
            if slot not in self._cells.holds_integer:
                raise ValueError(f"slot {slot} holds a double, which is torn and not held")

    def residual(self, loop: int, x: Floats) -> tuple[Outcome, Floats]:
        torn = self[loop].torn
        if x.shape != (len(torn),):
            raise ValueError(f"x has shape {x.shape}, must be ({len(torn)},)")
        outcome = self._evaluate_body(loop, x)
        return outcome, self._cells.values[torn]

    def _evaluate_body(self, index: int, x: Floats) -> Outcome:
        loop, cells = self[index], self._cells
        cells.values[loop.torn] = x
        kept = cells.integers[loop.held]
        outcome = OK
        for call in loop.body:
            outcome = self._calls.perform(call)
            if not outcome.ok:
                outcome = replace(outcome, loop=index)
                break
        loop.found = cells.integers[loop.held]
        cells.integers[loop.held] = kept
        return outcome

    def settle(self, loop: int) -> bool:
        return self._settle(self[loop]) is not None

    def _settle(self, loop: Loop) -> int | None:
        """The first of the held slots that changes."""
        changed = np.flatnonzero(loop.found != self._cells.integers[loop.held])
        self._cells.integers[loop.held] = loop.found
        return loop.held[changed[0]] if changed.size else None

    @np.errstate(over="ignore", invalid="ignore")  # an iterate that runs away is reported in the outcome
    def solve(self, index: int) -> Outcome:
        loop, values = self[index], self._cells.values
        x = values[loop.torn]
        first = x.copy()  # where a better method may start: iterates that ran away lead nowhere
        open_slot = None
        self.solved += 1
        for iteration in range(loop.max_iterations):
            self.iterations += 1
            outcome = self._evaluate_body(index, x)
            if outcome.code is Code.NONFINITE and iteration > 0:
                values[loop.torn] = first
                return replace(outcome, code=Code.LOOP)  # the guess is to blame: an iterate ran away
            if not outcome.ok:
                return outcome
            residual = values[loop.torn] - x
            open_slot = _unconverged(loop, x, residual)
            if open_slot is None:
                open_slot = self._settle(loop)
                if open_slot is None:
                    return OK
                continue
            _correct(x, loop.chord, residual)
        values[loop.torn] = first
        return Outcome(Code.LOOP, loop=index, slot=-1 if open_slot is None else open_slot)

    def jacobian_product(self, loop: int, seed: Floats) -> tuple[Outcome, Floats]:
        torn = self[loop].torn
        if seed.shape != (len(torn),):
            raise ValueError(f"seed has shape {seed.shape}, must be ({len(torn)},)")
        tangents = np.zeros_like(self._cells.values)
        tangents[torn] = seed
        outcome = OK
        for call in self[loop].body:
            outcome = self._calls.pass_on(call, tangents)
            if not outcome.ok:
                outcome = replace(outcome, loop=loop)
                break
        return outcome, tangents[torn]

    def set_chord(self, loop: int, matrix: Floats) -> None:
        size = len(self[loop].torn)
        if matrix.shape != (size, size):
            raise ValueError(f"the chord matrix has shape {matrix.shape}, must be ({size}, {size})")
        self[loop].chord = np.array(matrix, dtype=np.float64)


def _unconverged(loop: Loop, x: Floats, residual: Floats) -> int | None:
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


class Sweeps:
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

    def evaluate(self, sweep: int) -> Outcome:
        for step in item(self._every, sweep, "sweep"):
            outcome = self._loops.solve(step.loop) if isinstance(step, SolveLoop) else self._calls.perform(step)
            if not outcome.ok:
                return outcome
        return OK
