"""Registered loops solved from afar, judged, and made ready for the chord iteration of schedules."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ssptool.engine.kernel.calls import OK, Code, Floats, Integers, LoopCalls, Outcome
from ssptool.engine.kernel.solutions import (
    Convergence,
    Evaluated,
    Iterate,
    LoopMethod,
    RescueWork,
    Solution,
    SolutionStatus,
    Solved,
)
from ssptool.engine.kernel.twin.dense import inverse_of, times
from ssptool.engine.kernel.twin.evaluation import Loops, TwinLoop, TwinSchedules
from ssptool.engine.kernel.twin.jacobians import (
    Domain,
    FiniteDifferences,
    Function,
    LoopJacobian,
    Products,
    fits,
    null_direction,
)
from ssptool.engine.kernel.twin.loop_solvers import solver_for
from ssptool.engine.kernel.twin.slot_values import SlotValues, item

_FLATNESS = 1e-8
"""Change of the residual over that of the unknowns, both in nominal values, which is as good as none."""

_SETTLING = 100
"""Times that the discrete signals of a loop may change."""

_ROUNDINGS = 4
"""That a residual may be above the rounding of x times the gain."""

_DISCARD = 2  # the FMI status of values that an FMU cannot be evaluated at, after which it can go on


class _Broken(Exception):
    """An FMU failed while a loop was evaluated, and cannot continue."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


class _Equations:
    """The equations of a registered loop. Calling them is g: guesses of the torn slots → their values.

    `matrix` is the Jacobian at the last solution, `rejected` the last refusal since `begin`, `contradicted` whether
    directional derivatives were wrong since then.
    """

    def __init__(self, loops: Loops, number: int, calls: LoopCalls) -> None:
        self._loops, self._number, self.calls = loops, number, calls
        unbounded = Domain.of_size(len(calls.torn))
        self.domain = Domain(
            np.array(calls.nominal, dtype=float),
            np.array(calls.minimum, dtype=float) if len(calls.minimum) else unbounded.minimum,
            np.array(calls.maximum, dtype=float) if len(calls.maximum) else unbounded.maximum,
        )
        # √ε balances truncation and rounding of a one-sided difference.
        differences = FiniteDifferences(_pattern(calls), float(np.sqrt(calls.rounding)))
        self.sources: list[LoopJacobian] = [Products(self.product)] if calls.directional else []
        self.sources.append(differences)
        self.matrix: Floats | None = None
        self.rejected, self.contradicted = OK, False

    @property
    def loop(self) -> TwinLoop:
        return self._loops[self._number]

    def begin(self) -> None:
        self.rejected, self.contradicted = OK, False

    def __call__(self, x: Floats) -> Floats:
        return self._usable(*self._loops.residual(self._number, x))

    def product(self, seed: Floats) -> Floats:
        return self._usable(*self._loops.jacobian_product(self._number, seed))

    def _usable(self, outcome: Outcome, value: Floats) -> Floats:
        if outcome.ok:
            return value
        if outcome.code is Code.FMI and outcome.fmi_status != _DISCARD:
            raise _Broken(outcome)
        self.rejected = outcome
        return np.full_like(value, np.nan)

    def watch(self, solver: str, number: int, x: Floats, residual: Floats) -> None:
        self._loops.note(self._number, solver, number, x, residual)

    def update_frozen(self) -> bool:
        return self._loops.update_frozen(self._number)

    def jacobian_at(self, x: Floats) -> tuple[Floats, float]:
        """Jacobian at x, where the components are left, and its precision. The torn slots hold g(x), which is farther
        from the solution than x.
        """
        matrix, precision = np.full((len(x), len(x)), np.nan), np.inf
        for source in self.sources:
            matrix, precision = source.at(self, x, self(x), self.domain), source.precision
            right = not isinstance(source, Products) or fits(matrix, x, self, self.domain)
            self.contradicted = self.contradicted or not right
            self(x)
            if right and np.all(np.isfinite(matrix)):
                break
        return matrix, precision


def _pattern(calls: LoopCalls) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None":
    if calls.pattern is None:
        return None
    pattern = np.zeros((len(calls.torn), len(calls.torn)), dtype=bool)
    for row, column in calls.pattern:
        pattern[row, column] = True
    return pattern


class LoopSolutions:
    def __init__(self, slot_values: SlotValues, loops: Loops) -> None:
        self._slot_values, self._loops = slot_values, loops
        self._every: list[_Equations] = []

    def add(self, calls: LoopCalls) -> int:
        _check(calls)
        number = self._loops.add(calls)
        self._every.append(_Equations(self._loops, number, calls))
        return number

    def __getitem__(self, loop: int) -> _Equations:
        return item(self._every, loop, "loop")

    def solve(self, loop: int, method: LoopMethod, second: Floats, watched: bool = False) -> Solved:
        equations = self[loop]
        if second.shape != (len(equations.calls.torn),):
            raise ValueError(f"second has shape {second.shape}, must be ({len(equations.calls.torn)},)")
        with self.watching(watched) as iterates:
            outcome, solution = self.solution_of(loop, LoopMethod(method), second)
        return Solved(outcome, solution, tuple(iterates))

    @contextmanager
    def watching(self, watched: bool) -> Iterator[list[Iterate]]:
        """The list that collects iterates, which stays empty unless they are `watched`."""
        iterates: list[Iterate] = []
        self._loops.iterates = iterates if watched else None
        try:
            yield iterates
        finally:
            self._loops.iterates = None

    @np.errstate(all="ignore")
    def solution_of(self, loop: int, method: LoopMethod, second: Floats | None = None) -> tuple[Outcome, Solution]:
        equations = self[loop]
        equations.begin()
        try:
            solution = self._settled(equations, method, self._start(equations, second))
        except _Broken as error:
            nothing = np.empty(0)
            return error.outcome, Solution(nothing, SolutionStatus.NONFINITE, 0, 0.0, nothing, (), "")
        return OK, replace(solution, rejected=equations.rejected, contradicted=equations.contradicted)

    def _settled(self, equations: _Equations, method: LoopMethod, start: Floats) -> Solution:
        """Solve, then update the frozen slots, until they no longer change."""
        solution = _solve(equations, method, start)
        seen = [self._frozen(equations)]
        while solution.converged and equations.update_frozen():
            seen.append(self._frozen(equations))
            if seen[-1] in seen[:-1] or len(seen) > _SETTLING:
                switched = np.array(seen[seen.index(seen[-1]) :], dtype=np.int64)
                return replace(solution, status=SolutionStatus.SWITCHING, switched=switched)
            again = _solve(equations, method, solution.x)
            solution = replace(again, iterations=solution.iterations + again.iterations)
        return solution

    def _frozen(self, equations: _Equations) -> tuple[int, ...]:
        values: Integers = self._slot_values.integers[list(equations.calls.frozen)]
        return tuple(values.tolist())

    def _start(self, equations: _Equations, second: Floats | None) -> Floats:
        first = self._slot_values.values[list(equations.calls.torn)]
        if second is None or np.array_equal(first, second) or np.all(np.isfinite(equations(first))):
            return first
        return second if np.all(np.isfinite(equations(second))) else first

    def refresh_chord(self, loop: int) -> None:
        matrix = self[loop].matrix
        inverse = None if matrix is None else inverse_of(matrix - np.eye(len(matrix)))
        if inverse is not None:
            self._loops.set_chord(loop, inverse)

    def allow_rounding(self, loop: int) -> float:
        equations, own = self[loop], self[loop].loop
        if equations.matrix is not None:
            nominal = equations.domain.nominal
            sizes = np.abs(equations.matrix) * nominal / nominal[:, None]
            largest = float(np.max(times(sizes, np.ones(len(nominal))), initial=0.0))
            rounding = _ROUNDINGS * equations.calls.rounding * largest
            own.rtol = rounding if rounding > own.rtol else own.rtol
        return own.rtol


def _check(calls: LoopCalls) -> None:
    size = len(calls.torn)
    for bounds in (calls.minimum, calls.maximum):
        if len(bounds) not in (0, size):
            raise ValueError("as many bounds as torn slots are needed, or none at all")
    if any(not (0 <= row < size and 0 <= column < size) for row, column in calls.pattern or ()):
        raise ValueError(f"the pattern leads out of ({size}, {size})")


def _solve(equations: _Equations, method: LoopMethod, start: Floats) -> Solution:
    """Solve with the discrete signals frozen."""
    if not len(start):
        equations(start)
        status = SolutionStatus.CONVERGED if equations.rejected.ok else SolutionStatus.NONFINITE
        return Solution(start, status, 1, 0.0, start, (), "evaluation")
    convergence = Convergence(equations.loop.rtol, equations.loop.atol)
    solver = solver_for(method, equations.sources, convergence)
    solution = solver.solve(equations, start, equations.domain, equations.watch)
    if solution.status is SolutionStatus.NONFINITE:
        return solution
    equations.matrix, precision = equations.jacobian_at(solution.x)
    return judged(solution, equations.matrix, precision, equations, equations.domain)


def judged(solution: Solution, matrix: Floats, precision: float, g: Function, domain: Domain) -> Solution:
    """The solution of g(x) = x unless the equations leave it open, or the direction in which there is none.

    `matrix` (m, m) is the Jacobian of g there, with how precise it is. Afterwards the components are at the solution.
    """
    direction = null_direction(matrix, precision) if np.all(np.isfinite(matrix)) else None
    if direction is None:
        return solution
    if not solution.converged:
        return replace(solution, status=SolutionStatus.INCONSISTENT, direction=direction)
    if not _flat(g, domain, solution.x, direction):
        return solution
    return replace(solution, status=SolutionStatus.UNDETERMINED, direction=direction)


def _flat(g: Function, domain: Domain, x: Floats, direction: Floats) -> bool:
    """True if the equations still hold some way along a direction, so that x is one of many solutions.

    At a double root, where the Jacobian is singular as well, they do not: the residual grows with the square of
    the distance.
    """
    size = 1e-3 * float(np.min(np.maximum(np.abs(x), domain.nominal) / np.maximum(np.abs(direction), 1e-12)))
    moved = domain.clip(x + size * direction)
    residual = g(moved) - moved
    g(x)
    distance = np.max(np.abs(moved - x) / domain.nominal)
    return bool(np.all(np.abs(residual) <= _FLATNESS * distance * domain.nominal))


class Rescues:
    """Evaluations of schedules in which loops get the chain of all methods where they need it.

    Attributes
    ----------
    latest
        Loops that needed it in the last evaluation, with their solutions.
    work
        All that did inside steps.
    """

    def __init__(self, schedules: TwinSchedules, loops: Loops, solutions: LoopSolutions) -> None:
        self._schedules, self._loops, self._solutions = schedules, loops, solutions
        self.latest: dict[int, Solution] = {}
        self.work = RescueWork()

    def evaluate(self, schedule: int, watched: bool = False) -> Evaluated:
        self.latest = {}
        with self._solutions.watching(watched) as iterates:
            outcome = self._finished(schedule, self._schedules.evaluate(schedule))
        return Evaluated(outcome, tuple(self.latest.items()), tuple(iterates))

    def go_on(self, schedule: int, unsolved: Outcome) -> Outcome:
        """Go on after an evaluation that a loop has ended, inside a step; its rescues are counted."""
        self.latest = {}
        outcome = self._finished(schedule, unsolved)
        for solution in self.latest.values():
            solved, iterations, contradicted = self.work
            self.work = RescueWork(solved + 1, iterations + solution.iterations, contradicted or solution.contradicted)
        return outcome

    def _finished(self, schedule: int, outcome: Outcome) -> Outcome:
        # A loop that needs it twice at one point is not solvable.
        while outcome.code is Code.LOOP and outcome.loop not in self.latest:
            loop = outcome.loop
            broken, solution = self._solutions.solution_of(loop, LoopMethod.AUTO)
            if not broken.ok:
                return broken
            self.latest[loop] = solution
            if not solution.converged:
                break
            self._solutions.refresh_chord(loop)
            outcome = self._schedules.evaluate(schedule)
        return outcome
