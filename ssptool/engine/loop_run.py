"""An algebraic loop of running FMUs: solve it, and say how that went."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ssptool.engine import loops
from ssptool.engine.assembly import Assembly
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.loop_jacobian import jacobian_at, jacobians
from ssptool.engine.loop_judgement import judged
from ssptool.engine.loop_report import LoopReport, LoopWork
from ssptool.engine.loops.solution import Convergence, Domain, LoopSolver, Solution, Status, unwatched
from ssptool.engine.plan import PlannedLoop
from ssptool.engine.settings import InitName

_SETTLING = 100
"""Times that the discrete signals of a loop may change."""

_DISCARD = 2  # the FMI status of values that an FMU cannot be evaluated at, after which it can go on


class ComponentFailed(Exception):
    """An FMU failed while a loop was evaluated, in a way after which it cannot go on."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


class RunningLoop:
    """A planned loop, registered with the `kernel` of an assembly. Calling it is g: guesses of the torn signals → their
    values.
    """

    def __init__(self, assembly: Assembly, planned: PlannedLoop, number: int) -> None:
        self.planned = planned
        self.number = number
        self.chord = -np.eye(len(planned.torn))
        self._assembly = assembly
        self.kernel = assembly.kernel
        self._torn = list(planned.calls.torn)
        self._domain = Domain(np.array(planned.calls.nominal), np.array(planned.minimum), np.array(planned.maximum))
        self._convergence = Convergence(planned.calls.rtol, planned.calls.atol)
        self.index = self.kernel.loop(planned.calls)
        self.swept = LoopWork()
        self._rejected: Outcome | None = None  # what a component said last of a point that it cannot be at
        self._matrix: Floats | None = None  # the Jacobian at the last solution

    def __call__(self, x: Floats) -> Floats:
        outcome, value = self.kernel.residual(self.index, x)
        return value if self._usable(outcome) else np.full_like(x, np.nan)

    def product(self, seed: Floats) -> Floats:
        outcome, value = self.kernel.jacobian_product(self.index, seed)
        return value if self._usable(outcome) else np.full_like(seed, np.nan)

    def _usable(self, outcome: Outcome) -> bool:
        if outcome.code is Code.FMI and outcome.fmi_status != _DISCARD:
            raise ComponentFailed(outcome)
        if not outcome.ok:
            self._rejected = outcome
        return outcome.ok

    def solve(self, how: InitName, time: float, second: Mapping[int, float] = MappingProxyType({})) -> LoopReport:
        """From the present values, or where the components cannot be there, from the `second` ones (by slot).

        Discrete signals at which the loop is cut are held while the unknowns are solved for, and renewed after that,
        until they stay. Afterwards the components are at the solution, if there is one.

        Raises
        ------
        ComponentFailed
            An FMU cannot go on.
        """
        report = self._solve(how, time, self._start(second))
        seen = [self._held_values()]
        while report.ok and self.kernel.settle(self.index):
            seen.append(self._held_values())
            if seen[-1] in seen[:-1] or len(seen) > _SETTLING:
                cause = self._switching(seen[seen.index(seen[-1]) :])
                return replace(report, solution=replace(report.solution, status=Status.SWITCHING), cause=cause)
            again = self._solve(how, time, report.solution.x)
            iterations = report.solution.iterations + again.solution.iterations
            report = replace(again, solution=replace(again.solution, iterations=iterations))
        return report

    def _held_values(self) -> tuple[int, ...]:
        return tuple(self.kernel.integers[list(self.planned.calls.held)].tolist())

    def _switching(self, seen: Sequence[tuple[int, ...]]) -> str:
        """The discrete signals that change, with the values that they took."""
        columns = zip(self.planned.held, zip(*seen, strict=True), strict=True)
        changing = ((signal, dict.fromkeys(values)) for signal, values in columns)
        return "; ".join(f"{signal} goes through {', '.join(map(str, v))}" for signal, v in changing if len(v) > 1)

    def _solve(self, how: InitName, time: float, start: Floats) -> LoopReport:
        """With the discrete signals held."""
        if not len(start):
            return self._evaluated(time)

        def watch(solver: str, iteration: int, x: Floats, residual: Floats) -> None:
            self.write(time, solver, iteration, x, residual)

        log = self._assembly.loop_log
        solution = self._solver(how).solve(self, start, self._domain, unwatched if log is None else watch)
        if solution.status is Status.NONFINITE:
            cause = "" if self._rejected is None else self._assembly.explain(self._rejected, time).message
        else:
            jacobian = self._jacobian(solution.x)
            self._matrix = jacobian[0]
            solution, cause = judged(solution, jacobian, self, self._domain, self.planned.torn)
        return LoopReport(self.planned.stage, time, self.planned.signals, self.planned.torn, solution, cause)

    def _evaluated(self, time: float) -> LoopReport:
        """Of a loop of discrete signals only: there is nothing to solve for."""
        nothing = np.empty(0)
        status = Status.CONVERGED if self._usable(self.kernel.residual(self.index, nothing)[0]) else Status.NONFINITE
        cause = "" if self._rejected is None else self._assembly.explain(self._rejected, time).message
        solution = Solution(nothing, status, 1, 0.0, nothing, (), "evaluation")
        return LoopReport(self.planned.stage, time, self.planned.signals, (), solution, cause)

    def _start(self, second: Mapping[int, float]) -> Floats:
        first = np.array(self.kernel.values[self._torn])
        other = np.array([second.get(slot, value) for slot, value in zip(self._torn, first, strict=True)])
        if np.array_equal(first, other) or np.all(np.isfinite(self(first))):
            return first
        return other if np.all(np.isfinite(self(other))) else first

    def write(self, time: float, solver: str, iteration: int, x: Floats, residual: Floats) -> None:
        """Write an iterate to the log, if there is one."""
        if self._assembly.loop_log is not None:
            names = [str(signal) for signal in self.planned.torn]
            values, residuals = (dict(zip(names, numbers.tolist(), strict=True)) for numbers in (x, residual))
            facts = (time, str(self.planned.stage), self.number, solver, iteration)
            self._assembly.loop_log.write(facts, values, residuals)

    def _solver(self, how: InitName) -> LoopSolver:
        sources, convergence = jacobians(self.planned, self.product), self._convergence
        match how:
            case InitName.AUTO:
                return loops.default_chain(convergence, sources)
            case InitName.NEWTON:
                return loops.Chain(tuple(loops.Newton(jacobian, convergence) for jacobian in sources))
            case InitName.AITKEN:
                return loops.Aitken(convergence=convergence)
            case InitName.ANDERSON:
                return loops.Anderson(convergence=convergence)
            case InitName.FIXED_POINT:
                return loops.FixedPoint(convergence=convergence)
            case InitName.HOMOTOPY:
                return loops.Homotopy(sources[0], convergence)

    def _jacobian(self, x: Floats) -> tuple[Floats, float]:
        sources = jacobians(self.planned, self.product)
        return jacobian_at(x, self, self._domain, sources, self._assembly.remark)

    def refresh(self, x: Floats) -> None:
        """Give the kernel a new chord, from the Jacobian at the solution x."""
        self._set_chord(self._at(x))

    def for_sweeps(self, x: Floats) -> "RunningLoop":
        """The loop with the chord of its solution x, and a tolerance that rounding allows.

        A gain of γ turns the rounding ε of x into a residual of γ ε x, which no iteration can remove.
        """
        jacobian, nominal = self._at(x), self._domain.nominal
        rows = np.sum(np.abs(jacobian) * nominal / nominal[:, None], axis=1)
        rounding = 4 * self.planned.rounding * float(np.max(rows, initial=0.0))
        loop = self
        if rounding > self.planned.calls.rtol:
            calls = replace(self.planned.calls, rtol=rounding)
            loop = RunningLoop(self._assembly, replace(self.planned, calls=calls), self.number)
        loop._set_chord(jacobian)
        return loop

    def _set_chord(self, jacobian: Floats) -> None:
        system = jacobian - np.eye(len(jacobian))
        if np.all(np.isfinite(system)) and np.linalg.matrix_rank(system) == len(system):
            self.chord = np.ascontiguousarray(np.linalg.inv(system))
            self.kernel.set_chord(self.index, self.chord)

    def _at(self, x: Floats) -> Floats:
        """The Jacobian at the solution x, which `solve` has judged with it."""
        return self._jacobian(x)[0] if self._matrix is None else self._matrix

    def sweep(self, time: float) -> Outcome:
        """What the kernel does with this loop in a sweep, iterate by iterate, so that each can be logged."""
        calls, nominal = self.planned.calls, self._domain.nominal
        x = np.array(self.kernel.values[self._torn])
        self.swept.solved += 1
        for iteration in range(1, calls.max_iterations + 1):
            self.swept.iterations += 1
            outcome, value = self.kernel.residual(self.index, x)
            residual = value - x
            self.write(time, "chord", iteration, x, residual)
            if outcome.code is Code.NONFINITE and iteration > 1:
                return replace(outcome, code=Code.LOOP)
            if not outcome.ok:
                return outcome
            if self._convergence.reached(residual, x, nominal):
                if self.kernel.settle(self.index):
                    continue
                return outcome
            for row in range(len(x)):
                # In the order of the kernel's own sum: a log must not change the last bit of a result.
                x[row] -= sum((self.chord[row, column] * residual[column] for column in range(len(x))), 0.0)
        return Outcome(Code.LOOP, loop=self.index)
