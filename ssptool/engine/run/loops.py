"""Algebraic loops of running FMUs: reports, and messages about failures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.failure import (
    Ending,
    FailedIteration,
    Failure,
    IteratedConnection,
    finite,
    largest_first,
    residual_curves,
)
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.solutions import Convergence, Iterate, Solution, SolutionStatus
from ssptool.engine.planning.plan import Plan, PlannedLoop
from ssptool.engine.trace import NUMBERED, holds_integer
from ssptool.errors import abbreviated, counted
from ssptool.fmu.units import with_unit
from ssptool.network.network import Signal
from ssptool.network.signal_graph import Stage

WRONG_DERIVATIVES = (
    "directional derivatives of a component in an algebraic loop are wrong: finite differences replace them"
)

_SHOWN = 12
"""Number of signals of a loop in a message; if there are more unknowns, those with the largest residuals are shown."""


@dataclass(frozen=True, slots=True)
class LoopReport:
    """Report on the solution of one algebraic loop.

    `torn` are its unknowns, in the order of `solution.x`. `cause` is the reason of a failure, if known: a component
    that could not be evaluated, a direction in which nothing changes, or bounds that were reached. If the loop was not
    solved, `iteration` describes the iteration and `units` are the units of `torn`.
    """

    stage: Stage
    time: float
    signals: tuple[Signal, ...]
    torn: tuple[Signal, ...]
    solution: Solution
    cause: str = ""
    iteration: FailedIteration | None = None
    units: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.solution.converged

    @property
    def residuals(self) -> Mapping[Signal, float]:
        """g(x) − x of each unknown, in its unit."""
        return dict(zip(self.torn, self.solution.residual.tolist(), strict=True))

    @property
    def values(self) -> Mapping[Signal, float]:
        """Values of the unknowns at the best point found."""
        return dict(zip(self.torn, self.solution.x.tolist(), strict=True))

    @property
    def relative_residual(self) -> str:
        """Text for the largest residual relative to the nominal value, with its limit if the loop was not solved."""
        allowed = None if self.iteration is None else self.iteration.allowed
        limit = "" if allowed is None else f" (allowed {allowed:.3g})"
        return f"relative residual {self.solution.residual_norm:.3g}{limit}"

    def facts(self) -> dict[str, Any]:
        """Content of the report as JSON."""
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
        count = counted(solution.iterations, "iteration")
        return Failure(
            Ending.LOOP,
            f"the algebraic loop {{{abbreviated(self.signals, _SHOWN)}}} was not solved by {solution.solver}: "
            f"{solution.status} after {count}{cause}{self._best_point()}",
            solution.status.advice,
            self.time,
            iteration=self.iteration,
        )

    def _best_point(self) -> str:
        residuals, values, shown = self.residuals, self.values, list(self.torn)
        if not shown:
            return ""
        if len(shown) > _SHOWN:
            shown.sort(key=lambda signal: -abs(residuals[signal]))
        units = dict(zip(self.torn, self.units, strict=False))
        points = (
            f"{signal} = {with_unit(f'{values[signal]:.6g}', units.get(signal))} "
            f"(residual {with_unit(f'{residuals[signal]:.3g}', units.get(signal))})"
            for signal in shown
        )
        return f"; best point: {abbreviated(points, _SHOWN)}; {self.relative_residual}"


def unit_of(plan: Plan, signal: Signal) -> str:
    """The unit of a signal of a component in the results; empty if it has none."""
    ports = plan.network.components[signal.component].ports
    return next((port.unit or "" for port in ports if port.signal == signal), "")


class RunningLoop:
    """A planned loop, registered with the `kernel` of an assembly."""

    def __init__(self, assembly: Assembly, planned: PlannedLoop, number: int, index: int = -1) -> None:
        """`index`: index of the loop in the kernel, after initialization."""
        self.planned = planned
        self.number = number
        self._assembly = assembly
        self.kernel = assembly.kernel
        self.index = index
        self.rtol = planned.calls.rtol

    def report(self, solution: Solution, time: float, iterates: Sequence[Iterate] = ()) -> LoopReport:
        """Report on a solution of this loop. If derivatives were wrong, a remark on the run is added. `iterates` are
        those of all methods that were tried, where they are known.
        """
        if solution.contradicted:
            self._assembly.remark(WRONG_DERIVATIVES)
        planned, cause = self.planned, self._cause(solution, time)
        report = LoopReport(planned.stage, time, planned.signals, planned.torn, solution, cause)
        return report if report.ok else self._explained(report, iterates)

    def _explained(self, report: LoopReport, iterates: Sequence[Iterate]) -> LoopReport:
        """Report on a loop that was not solved, with its iteration."""
        x, residual, plan = report.solution.x, report.solution.residual, self._assembly.plan
        nominal = np.array(self.planned.calls.nominal)
        allowed = self._convergence.allowed(x, nominal)
        connections, left_out = largest_first(self._connections(x, residual, allowed))
        relative = np.abs(residual) / nominal
        iteration = FailedIteration(
            method=report.solution.solver,
            iterations=report.solution.iterations,
            residual=finite(report.solution.residual_norm),
            allowed=finite((allowed / nominal)[np.argmax(relative)]) if len(x) else None,
            relative_to="nominal value",
            connections=connections,
            left_out=left_out,
            curves=residual_curves(self._points(report.solution, iterates)),
        )
        return replace(report, iteration=iteration, units=tuple(unit_of(plan, one) for one in report.torn))

    @property
    def _convergence(self) -> Convergence:
        return Convergence(self.rtol, self.planned.calls.atol)

    def _points(self, solution: Solution, iterates: Sequence[Iterate]) -> dict[str, list[tuple[int, float, float]]]:
        """Points of the residual curve of each method: number, largest residual and its limit, both relative to the
        nominal value.
        """
        nominal = np.array(self.planned.calls.nominal)
        found: dict[str, list[tuple[int, float, float]]] = {}
        if not len(nominal):
            return found
        for one in iterates:
            relative, allowed = np.abs(one.residual) / nominal, self._convergence.allowed(one.x, nominal) / nominal
            worst = int(np.argmax(relative))
            found.setdefault(one.solver, []).append((one.number, float(relative[worst]), float(allowed[worst])))
        if not found:
            limit = float((self._convergence.allowed(solution.x, nominal) / nominal).min())
            numbered = enumerate(solution.history, start=1)
            found[solution.solver] = [(number, norm, limit) for number, norm in numbered]
        return found

    def _connections(self, x: Floats, residual: Floats, allowed: Floats) -> Iterator[IteratedConnection]:
        """Connections of real numbers in the loop. Values that are not iterated are the present values of the
        components.
        """
        plan, torn = self._assembly.plan, {slot: place for place, slot in enumerate(self.planned.calls.torn)}
        inside = set(self.planned.signals)
        for wire in plan.wires:
            source, destination = plan.signals[wire.source], plan.signals[wire.destination]
            if source not in inside or destination not in inside or plan.types[wire.source] in NUMBERED:
                continue
            slot = wire.destination if wire.destination in torn else wire.source
            ends = str(source), str(destination), source.component, destination.component
            unit = unit_of(plan, plan.signals[slot])
            if slot not in torn:
                yield IteratedConnection(*ends, finite(self._value(slot)), unit)
                continue
            place = torn[slot]
            left, limit = (float(one[place]) for one in (residual, allowed))
            relative = finite(abs(left) / self.planned.calls.nominal[place])
            yield IteratedConnection(*ends, finite(x[place]), unit, finite(left), finite(limit), relative)

    def _value(self, slot: int) -> float:
        integer = holds_integer(self._assembly.plan.types[slot])
        return float(self.kernel.integers[slot] if integer else self.kernel.values[slot])

    def _cause(self, solution: Solution, time: float) -> str:
        match solution.status:
            case SolutionStatus.CONVERGED:
                return ""
            case SolutionStatus.NONFINITE:
                return "" if solution.rejected.ok else self._assembly.explain(solution.rejected, time).message
            case SolutionStatus.SWITCHING:
                return _switching(self.planned.frozen, solution.switched.tolist())
            case SolutionStatus.INCONSISTENT | SolutionStatus.UNDETERMINED:
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


def _along(torn: Sequence[Signal], direction: Floats) -> str:
    parts = [
        f"{signal} by {share:.3g}" for signal, share in zip(torn, direction.tolist(), strict=True) if abs(share) > 1e-6
    ]
    return f"a change of {', '.join(parts)} comes back unchanged around the loop"


def _switching(frozen: Sequence[Signal], seen: Sequence[Sequence[int]]) -> str:
    """Text for the discrete signals that change, with their values."""
    columns = zip(frozen, zip(*seen, strict=True), strict=True)
    changing = ((signal, dict.fromkeys(values)) for signal, values in columns)
    return "; ".join(f"{signal} goes through {', '.join(map(str, v))}" for signal, v in changing if len(v) > 1)
