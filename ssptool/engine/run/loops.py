"""Algebraic loops of running FMUs: have them solved, report, put failures into words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.interface import Floats, Outcome
from ssptool.engine.kernel.solutions import Iterate, LoopMethod, Solution, Status
from ssptool.engine.method_names import InitName
from ssptool.engine.planning.plan import PlannedLoop
from ssptool.errors import abbreviated, counted
from ssptool.network.dependencies import Stage
from ssptool.network.network import Signal

METHODS: Mapping[InitName, LoopMethod] = {
    InitName.AUTO: LoopMethod.AUTO,
    InitName.NEWTON: LoopMethod.NEWTON,
    InitName.AITKEN: LoopMethod.AITKEN,
    InitName.ANDERSON: LoopMethod.ANDERSON,
    InitName.FIXED_POINT: LoopMethod.FIXED_POINT,
    InitName.HOMOTOPY: LoopMethod.HOMOTOPY,
}

WRONG_DERIVATIVES = (
    "directional derivatives of a component in an algebraic loop are wrong: finite differences replace them"
)

_SHOWN = 12
"""Signals of a loop that a message shows; of more unknowns those with the largest residuals."""


@dataclass(frozen=True, slots=True)
class LoopReport:
    """Report on the solution of one algebraic loop.

    `torn` are its unknowns, in the order of `solution.x`; `cause` says what stood in the way, if that is known: which
    component could not be evaluated, in which direction nothing changes, which bounds were reached.
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

    def facts(self) -> dict[str, Any]:
        """Content of the report for JSON."""
        return {
            "stage": self.stage,
            "signals": list(map(str, self.signals)),
            "torn": list(map(str, self.torn)),
            "solver": self.solution.solver,
            "status": self.solution.status,
            "iterations": self.solution.iterations,
            "residual_norm": self.solution.residual_norm,
        }

    def failure(self) -> Failure:
        """Failure for a report that is not `ok`."""
        solution = self.solution
        cause = f"; {self.cause}" if self.cause else ""
        residuals, values, shown = self.residuals, self.values, list(self.torn)
        if len(shown) > _SHOWN:
            shown.sort(key=lambda signal: -abs(residuals[signal]))
        best = "; best point: " if shown else ""
        points = abbreviated((f"{s} = {values[s]:.6g} (residual {residuals[s]:.3g})" for s in shown), _SHOWN)
        count = counted(solution.iterations, "iteration")
        return Failure(
            Ending.LOOP,
            f"the algebraic loop {{{abbreviated(self.signals, _SHOWN)}}} was not solved by {solution.solver}: "
            f"{solution.status} after {count}{cause}{best}{points}",
            solution.status.advice,
            self.time,
        )


@dataclass(slots=True)
class LoopWork:
    """Counts of loop solves and of their iterations."""

    solved: int = 0
    iterations: int = 0


class ComponentFailed(Exception):
    """An FMU failed while a loop was evaluated, and cannot continue."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


class RunningLoop:
    """A planned loop, registered with the `kernel` of an assembly."""

    def __init__(self, assembly: Assembly, planned: PlannedLoop, number: int) -> None:
        self.planned = planned
        self.number = number
        self._assembly = assembly
        self.kernel = assembly.kernel
        self.index = self.kernel.loop(planned.calls)
        self.rtol = planned.calls.rtol

    @property
    def chord(self) -> Floats:
        """The matrix (m, m) of the chord iteration in schedules."""
        return self.kernel.chord(self.index)

    def solve(self, how: InitName, time: float, second: Mapping[int, float] = MappingProxyType({})) -> LoopReport:
        """Solve the loop from the present values or, where the components cannot be evaluated there, from the `second`
        ones (by slot).

        Discrete signals at which the loop is cut are frozen while the unknowns are solved for, then updated, until they
        no longer change. Afterwards the components are at the solution, if there is one.

        Raises
        ------
        ComponentFailed
            An FMU cannot continue.
        """
        values = self.kernel.values
        guesses = np.array([second.get(slot, values[slot]) for slot in self.planned.calls.torn], dtype=float)
        log = self._assembly.loop_log
        outcome, solution, iterates = self.kernel.solve(self.index, METHODS[how], guesses, log is not None)
        self.write(time, iterates)
        if not outcome.ok:
            raise ComponentFailed(outcome)
        return self.report(solution, time)

    def report(self, solution: Solution, time: float) -> LoopReport:
        """Report on a solution of this loop; a remark on the run, if derivatives were wrong."""
        if solution.contradicted:
            self._assembly.remark(WRONG_DERIVATIVES)
        planned = self.planned
        return LoopReport(planned.stage, time, planned.signals, planned.torn, solution, self._cause(solution, time))

    def _cause(self, solution: Solution, time: float) -> str:
        match solution.status:
            case Status.CONVERGED:
                return ""
            case Status.NONFINITE:
                return "" if solution.rejected.ok else self._assembly.explain(solution.rejected, time).message
            case Status.SWITCHING:
                return _switching(self.planned.frozen, solution.switched.tolist())
            case Status.INCONSISTENT | Status.UNDETERMINED:
                return _along(self.planned.torn, solution.direction)
            case _:
                return self._at_bounds(solution.x)

    def _at_bounds(self, x: Floats) -> str:
        planned = self.planned
        reached = [
            f"{signal} is at {bound:g}, its {kind} or that of an input that it feeds"
            for kind, bounds in (("min", planned.calls.minimum), ("max", planned.calls.maximum))
            for signal, value, bound in zip(planned.torn, x.tolist(), bounds, strict=True)
            if value == bound
        ]
        return ", ".join(reached)

    def write(self, time: float, iterates: Iterable[Iterate]) -> None:
        """Write iterates to the log, if there is one."""
        if self._assembly.loop_log is None:
            return
        names = [str(signal) for signal in self.planned.torn]
        for _, solver, number, x, residual in iterates:
            values, residuals = (dict(zip(names, numbers.tolist(), strict=True)) for numbers in (x, residual))
            facts = (time, str(self.planned.stage), self.number, solver, number)
            self._assembly.loop_log.write(facts, values, residuals)

    def for_kernel(self) -> None:
        """Make the loop ready for schedules: with the chord of its solution, and a tolerance that rounding allows."""
        self.rtol = self.kernel.allow_rounding(self.index)
        self.kernel.refresh_chord(self.index)


def _along(torn: Sequence[Signal], direction: Floats) -> str:
    parts = [
        f"{signal} by {share:.3g}" for signal, share in zip(torn, direction.tolist(), strict=True) if abs(share) > 1e-6
    ]
    return f"a change of {', '.join(parts)} comes back unchanged around the loop"


def _switching(frozen: Sequence[Signal], seen: Sequence[Sequence[int]]) -> str:
    """The discrete signals that change, with the values that they took."""
    columns = zip(frozen, zip(*seen, strict=True), strict=True)
    changing = ((signal, dict.fromkeys(values)) for signal, values in columns)
    return "; ".join(f"{signal} goes through {', '.join(map(str, v))}" for signal, v in changing if len(v) > 1)
