"""An algebraic loop of running FMUs: solve it, and say how that went."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ssptool.engine.assembly import Assembly
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.loops.chain import Chain
from ssptool.engine.loops.fixed_point import FixedPoint
from ssptool.engine.loops.jacobian import FiniteDifferences, Jacobian, Products
from ssptool.engine.loops.newton import Newton
from ssptool.engine.loops.solution import Convergence, Domain, LoopSolver, Solution, Status
from ssptool.engine.plan import PlannedLoop
from ssptool.engine.settings import InitName
from ssptool.network.dependencies import Stage
from ssptool.network.signals import Signal

_DISCARD = 2  # the FMI status of values that an FMU cannot be evaluated at, after which it can go on


class ComponentFailed(Exception):
    """An FMU failed while a loop was evaluated, in a way after which it cannot go on."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class LoopReport:
    """How one algebraic loop was solved.

    `torn` are its unknowns, in the order of `solution.x`; `cause` says which component could not be
    evaluated, if that ended it.
    """

    stage: Stage
    time: float
    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...]
    solution: Solution
    cause: str = ""

    @property
    def ok(self) -> bool:
        return self.solution.converged

    @property
    def residuals(self) -> Mapping[Signal, float]:
        """g(x) − x of each unknown, in its unit."""
        return dict(zip(self.torn, self.solution.residual.tolist(), strict=True))

    @property
    def values(self) -> Mapping[Signal, float]:
        """The best point found."""
        return dict(zip(self.torn, self.solution.x.tolist(), strict=True))

    def failure(self) -> Failure:
        """For a report that is not `ok`."""
        solution = self.solution
        cause = f"{self.cause}; " if self.cause else ""
        points = ", ".join(
            f"{signal} = {value:.6g} (residual {self.residuals[signal]:.3g})" for signal, value in self.values.items()
        )
        return Failure(
            Ending.LOOP,
            f"the algebraic loop {{{', '.join(map(str, self.signals))}}} was not solved by {solution.solver}: "
            f"{solution.status} after {solution.iterations} iterations; {cause}best point: {points}",
            solution.status.advice,
            self.time,
        )


class RunningLoop:
    """A planned loop, registered with the kernel. Calling it is g: guesses of the torn signals → their
    values.
    """

    def __init__(self, assembly: Assembly, planned: PlannedLoop) -> None:
        self.planned = planned
        self._assembly = assembly
        self._kernel = assembly.kernel
        self._torn = list(planned.calls.torn)
        self._domain = Domain(np.array(planned.calls.nominal), np.array(planned.minimum), np.array(planned.maximum))
        self._convergence = Convergence(planned.calls.rtol, planned.calls.atol)
        self.index = self._kernel.loop(planned.calls)
        self._rejected: Outcome | None = None  # what a component said last of a point that it cannot be at

    def __call__(self, x: Floats) -> Floats:
        outcome, value = self._kernel.residual(self.index, x)
        return value if self._usable(outcome) else np.full_like(x, np.nan)

    def product(self, seed: Floats) -> Floats:
        outcome, value = self._kernel.jacobian_product(self.index, seed)
        return value if self._usable(outcome) else np.full_like(seed, np.nan)

    def _usable(self, outcome: Outcome) -> bool:
        if outcome.code is Code.FMI and outcome.fmi_status != _DISCARD:
            raise ComponentFailed(outcome)
        if not outcome.ok:
            self._rejected = outcome
        return outcome.ok

    def solve(self, how: InitName, time: float) -> LoopReport:
        """From the present values. Afterwards the components are at the solution, if there is one.

        Raises
        ------
        ComponentFailed
            An FMU cannot go on.
        """
        start = np.array(self._kernel.values[self._torn])
        solution = self._solver(how).solve(self, start, self._domain)
        cause = ""
        if solution.status is Status.NONFINITE and self._rejected is not None:
            cause = self._assembly.explain(self._rejected, time).message
        return LoopReport(self.planned.stage, time, self.planned.signals, self.planned.torn, solution, cause)

    def _solver(self, how: InitName) -> LoopSolver:
        newton = [Newton(jacobian, self._convergence) for jacobian in self._jacobians()]
        if how is InitName.FIXED_POINT:
            return FixedPoint(convergence=self._convergence)
        if how is InitName.NEWTON:
            return Chain(tuple(newton))
        return Chain((*newton, FixedPoint(0.5, self._convergence)))

    def _jacobians(self) -> list[Jacobian]:
        """Directional derivatives where all FMUs give them, and differences, should those be wrong or
        missing.
        """
        size = len(self._torn)
        pattern = np.zeros((size, size), dtype=bool)
        for row, column in self.planned.pattern:
            pattern[row, column] = True
        differences = FiniteDifferences(pattern)
        return [Products(self.product), differences] if self.planned.directional else [differences]

    def refresh(self, x: Floats) -> None:
        """Give the kernel a new chord, from the Jacobian at the solution x."""
        self._set_chord(self._jacobian(x))

    def for_sweeps(self, x: Floats) -> "RunningLoop":
        """The loop with the chord of its solution x, and a tolerance that rounding allows.

        A gain of γ turns the rounding of x into a residual of γ ε x, which no iteration can remove.
        """
        jacobian, nominal = self._jacobian(x), self._domain.nominal
        rows = np.sum(np.abs(jacobian) * nominal / nominal[:, None], axis=1)
        rounding = 4 * float(np.finfo(float).eps) * float(np.max(rows, initial=0.0))
        loop = self
        if rounding > self.planned.calls.rtol:
            calls = replace(self.planned.calls, rtol=rounding)
            loop = RunningLoop(self._assembly, replace(self.planned, calls=calls))
        loop._set_chord(jacobian)
        return loop

    def _set_chord(self, jacobian: Floats) -> None:
        system = jacobian - np.eye(len(jacobian))
        if np.all(np.isfinite(system)) and np.linalg.matrix_rank(system) == len(system):
            self._kernel.set_chord(self.index, np.ascontiguousarray(np.linalg.inv(system)))

    def _jacobian(self, x: Floats) -> Floats:
        """At x, where the components are left. Not at the torn slots' values: those are g(x), farther off
        than x.
        """
        matrix = np.full((len(x), len(x)), np.nan)
        for source in self._jacobians():
            matrix = source.at(self, x, self(x), self._domain)
            self(x)
            if np.all(np.isfinite(matrix)):
                break
        return matrix
