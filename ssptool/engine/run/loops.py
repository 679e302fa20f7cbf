"""Algebraic loops of running FMUs: solve, diagnose failures, report."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
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
from ssptool.engine.kernel.interface import Code, Floats, Outcome, holds_integer
from ssptool.engine.loops.chain import Chain, Homotopy, default_chain
from ssptool.engine.loops.fixed_point import Aitken, Anderson, FixedPoint
from ssptool.engine.loops.newton import (
    FiniteDifferences,
    LoopJacobian,
    Newton,
    Products,
    contradicted,
    null_direction,
    probe,
)
from ssptool.engine.loops.solution import Convergence, Domain, LoopSolver, Solution, Status
from ssptool.engine.method_names import InitName
from ssptool.engine.planning.plan import Plan, PlannedLoop
from ssptool.engine.trace import NUMBERED
from ssptool.errors import abbreviated, counted
from ssptool.fmu.units import with_unit
from ssptool.network.dependencies import Stage
from ssptool.network.network import Signal

_FLATNESS = 1e-8
"""Change of the residual over that of the unknowns, both in nominal values, which is as good as none."""


def judged(
    solution: Solution,
    jacobian: tuple[Floats, float],
    g: Callable[[Floats], Floats],
    domain: Domain,
    torn: Sequence[Signal],
) -> tuple[Solution, str]:
    """The solution of g(x) = x for the `torn` signals unless the equations leave it open, or why there is none.

    `jacobian` is that of g there, with how precise it is. Afterwards the components are at the solution.
    """
    matrix, precision = jacobian
    direction = null_direction(matrix, precision) if np.all(np.isfinite(matrix)) else None
    if solution.converged:
        if direction is None or not _flat(g, domain, solution.x, direction):
            return solution, ""
        return replace(solution, status=Status.UNDETERMINED), _along(torn, direction)
    if direction is not None:
        return replace(solution, status=Status.INCONSISTENT), _along(torn, direction)
    return solution, _at_bounds(torn, domain, solution.x)


def _flat(g: Callable[[Floats], Floats], domain: Domain, x: Floats, direction: Floats) -> bool:
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


def _along(torn: Sequence[Signal], direction: Floats) -> str:
    parts = [
        f"{signal} by {share:.3g}" for signal, share in zip(torn, direction.tolist(), strict=True) if abs(share) > 1e-6
    ]
    return f"a change of {', '.join(parts)} comes back unchanged around the loop"


def _at_bounds(torn: Sequence[Signal], domain: Domain, x: Floats) -> str:
    reached = [
        f"{signal} is at {bound:g}, its {kind} or that of an input that it feeds"
        for kind, bounds in (("min", domain.minimum), ("max", domain.maximum))
        for signal, value, bound in zip(torn, x.tolist(), bounds.tolist(), strict=True)
        if value == bound
    ]
    return ", ".join(reached)


_PROBE = 1e-6
"""Relative step over which a Jacobian is checked; values are accurate to its square, where loops are inside loops."""

_WRONG_DERIVATIVES = (
    "directional derivatives of a component in an algebraic loop are wrong: finite differences replace them"
)


G = Callable[[Floats], Floats]
"""Guesses of the torn signals → their values."""


def jacobians(planned: PlannedLoop, product: G) -> "list[LoopJacobian]":
    """Directional derivatives where all FMUs give them, and differences, should those be wrong or missing.

    `product` is that of the Jacobian with a vector, where the components are.
    """
    size = len(planned.torn)
    pattern = np.zeros((size, size), dtype=bool)
    for row, column in planned.pattern:
        pattern[row, column] = True
    # √ε balances truncation and rounding of a one-sided difference.
    differences = FiniteDifferences(pattern, math.sqrt(planned.rounding))
    return [Products(product), differences] if planned.directional else [differences]


def jacobian_at(
    x: Floats, g: G, domain: Domain, sources: "Iterable[LoopJacobian]", remark: Callable[[str], None]
) -> tuple[Floats, float]:
    """Jacobian at x, where the components are left, and its precision. The torn slots hold g(x), which is farther from
    the solution than x. `remark` is called for a source of derivatives that is wrong.
    """
    matrix, precision = np.full((len(x), len(x)), np.nan), np.inf
    for source in sources:
        matrix, precision = source.at(g, x, g(x), domain), source.precision
        fits = not isinstance(source, Products) or _fits(matrix, x, g, domain)
        if not fits:
            remark(_WRONG_DERIVATIVES)
        g(x)
        if fits and np.all(np.isfinite(matrix)):
            break
    return matrix, precision


def _fits(matrix: Floats, x: Floats, g: G, domain: Domain) -> bool:
    """True if the loop changes beside x as a Jacobian predicts, or cannot be evaluated there."""
    step = domain.clip(x + probe(_PROBE * np.maximum(np.abs(x), domain.nominal))) - x
    value = g(x)
    noise = _PROBE**2 * np.maximum(np.abs(value), domain.nominal)
    return not contradicted(matrix, step, g(x + step) - value, noise)


_SHOWN = 12
"""Signals of a loop that a message shows; of more unknowns those with the largest residuals."""


@dataclass(frozen=True, slots=True)
class LoopReport:
    """Report on the solution of one algebraic loop.

    `torn` are its unknowns, in the order of `solution.x`; `cause` says what stood in the way, if that is known: which
    component could not be evaluated, in which direction nothing changes, which bounds were reached. `iteration` is that
    of a loop that was not solved, and `units` are those of `torn` then.
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
        """The best point found."""
        return dict(zip(self.torn, self.solution.x.tolist(), strict=True))

    @property
    def relative_residual(self) -> str:
        """The largest residual over the nominal value, in words, with its limit for a loop that was not solved."""
        allowed = None if self.iteration is None else self.iteration.allowed
        limit = "" if allowed is None else f" (allowed {allowed:.3g})"
        return f"relative residual {self.solution.residual_norm:.3g}{limit}"

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
    """The unit of a signal of a component in the results; "": none."""
    ports = plan.network.components[signal.component].ports
    return next((port.unit or "" for port in ports if port.signal == signal), "")


@dataclass(slots=True)
class LoopWork:
    """Counts of loop solves and of their iterations."""

    solved: int = 0
    iterations: int = 0


_SETTLING = 100
"""Times that the discrete signals of a loop may change."""

_DISCARD = 2  # the FMI status of values that an FMU cannot be evaluated at, after which it can go on


class ComponentFailed(Exception):
    """An FMU failed while a loop was evaluated, and cannot continue."""

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
        self.scheduled = LoopWork()
        self._rejected: Outcome | None = None  # what a component said last of a point that it cannot be at
        self._matrix: Floats | None = None  # the Jacobian at the last solution
        self._points: dict[str, list[tuple[int, float, float]]] = {}  # of residual curves, by method

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
        """Solve the loop from the present values or, where the components cannot be evaluated there, from the `second`
        ones (by slot).

        Discrete signals at which the loop is cut are frozen while the unknowns are solved for, then updated, until they
        no longer change. Afterwards the components are at the solution, if there is one.

        Raises
        ------
        ComponentFailed
            An FMU cannot continue.
        """
        report = self._solve(how, time, self._start(second))
        seen = [self._frozen_values()]
        while report.ok and self.kernel.update_frozen(self.index):
            seen.append(self._frozen_values())
            if seen[-1] in seen[:-1] or len(seen) > _SETTLING:
                cause = self._switching(seen[seen.index(seen[-1]) :])
                switching = replace(report.solution, status=Status.SWITCHING)
                return self._explained(replace(report, solution=switching, cause=cause))
            again = self._solve(how, time, report.solution.x)
            iterations = report.solution.iterations + again.solution.iterations
            report = replace(again, solution=replace(again.solution, iterations=iterations))
        return report if report.ok else self._explained(report)

    def _frozen_values(self) -> tuple[int, ...]:
        return tuple(self.kernel.integers[list(self.planned.calls.frozen)].tolist())

    def _switching(self, seen: Sequence[tuple[int, ...]]) -> str:
        """The discrete signals that change, with the values that they took."""
        columns = zip(self.planned.frozen, zip(*seen, strict=True), strict=True)
        changing = ((signal, dict.fromkeys(values)) for signal, values in columns)
        return "; ".join(f"{signal} goes through {', '.join(map(str, v))}" for signal, v in changing if len(v) > 1)

    def _solve(self, how: InitName, time: float, start: Floats) -> LoopReport:
        """Solve with the discrete signals frozen."""
        if not len(start):
            return self._evaluated(time)

        def watch(solver: str, iteration: int, x: Floats, residual: Floats) -> None:
            self._note(solver, iteration, x, residual)
            self.write(time, solver, iteration, x, residual)

        self._points = {}
        solution = self._solver(how).solve(self, start, self._domain, watch)
        if solution.status is Status.NONFINITE:
            cause = "" if self._rejected is None else self._assembly.explain(self._rejected, time).message
        else:
            jacobian = self._jacobian(solution.x)
            self._matrix = jacobian[0]
            solution, cause = judged(solution, jacobian, self, self._domain, self.planned.torn)
        return LoopReport(self.planned.stage, time, self.planned.signals, self.planned.torn, solution, cause)

    def _note(self, solver: str, iteration: int, x: Floats, residual: Floats) -> None:
        """Keep a point of the residual curve of this solver."""
        nominal = self._domain.nominal
        relative, allowed = np.abs(residual) / nominal, self._convergence.allowed(x, nominal) / nominal
        worst = int(np.argmax(relative))
        self._points.setdefault(solver, []).append((iteration, float(relative[worst]), float(allowed[worst])))

    def _explained(self, report: LoopReport) -> LoopReport:
        """The report on a loop that was not solved, with its iteration."""
        x, residual, plan = report.solution.x, report.solution.residual, self._assembly.plan
        nominal = self._domain.nominal
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
            curves=residual_curves(self._points),
        )
        return replace(report, iteration=iteration, units=tuple(unit_of(plan, one) for one in report.torn))

    def _connections(self, x: Floats, residual: Floats, allowed: Floats) -> Iterator[IteratedConnection]:
        """Connections of numbers in the loop; values of those that are not iterated are where the components are."""
        plan, torn = self._assembly.plan, {slot: place for place, slot in enumerate(self._torn)}
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
            left, limit, nominal = (float(one[place]) for one in (residual, allowed, self._domain.nominal))
            relative = finite(abs(left) / nominal)
            yield IteratedConnection(*ends, finite(x[place]), unit, finite(left), finite(limit), relative)

    def _value(self, slot: int) -> float:
        integer = holds_integer(self._assembly.plan.types[slot])
        return float(self.kernel.integers[slot] if integer else self.kernel.values[slot])

    def _evaluated(self, time: float) -> LoopReport:
        """Solution of a loop of discrete signals only, which has no unknowns."""
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
                return default_chain(convergence, sources)
            case InitName.NEWTON:
                return Chain(tuple(Newton(jacobian, convergence) for jacobian in sources))
            case InitName.AITKEN:
                return Aitken(convergence=convergence)
            case InitName.ANDERSON:
                return Anderson(convergence=convergence)
            case InitName.FIXED_POINT:
                return FixedPoint(convergence=convergence)
            case InitName.HOMOTOPY:
                return Homotopy(sources[0], convergence)

    def _jacobian(self, x: Floats) -> tuple[Floats, float]:
        sources = jacobians(self.planned, self.product)
        return jacobian_at(x, self, self._domain, sources, self._assembly.remark)

    def refresh(self, x: Floats) -> None:
        """Give the kernel a new chord, from the Jacobian at the solution x."""
        self._set_chord(self._at(x))

    def for_kernel(self, x: Floats) -> "RunningLoop":
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

    def iterate_chord(self, time: float) -> Outcome:
        """Do the kernel's chord iteration of this loop, iterate by iterate, so that each can be logged."""
        calls, nominal = self.planned.calls, self._domain.nominal
        x = np.array(self.kernel.values[self._torn])
        self.scheduled.solved += 1
        for iteration in range(1, calls.max_iterations + 1):
            self.scheduled.iterations += 1
            outcome, value = self.kernel.residual(self.index, x)
            residual = value - x
            self.write(time, "chord", iteration, x, residual)
            if outcome.code is Code.NONFINITE and iteration > 1:
                return replace(outcome, code=Code.LOOP)
            if not outcome.ok:
                return outcome
            if self._convergence.reached(residual, x, nominal):
                if self.kernel.update_frozen(self.index):
                    continue
                return outcome
            for row in range(len(x)):
                # In the order of the kernel's own sum: a log must not change the last bit of a result.
                x[row] -= sum((self.chord[row, column] * residual[column] for column in range(len(x))), 0.0)
        return Outcome(Code.LOOP, loop=self.index)
