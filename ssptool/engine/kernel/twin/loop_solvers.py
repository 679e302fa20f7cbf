"""Solvers of algebraic loops x = g(x): fixed-point methods, Newton's method, homotopy, and chains of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.solutions import Convergence, LoopMethod, Solution, SolutionStatus
from ssptool.engine.kernel.twin.dense import FullPivotLu, dot, norm
from ssptool.engine.kernel.twin.jacobians import Domain, FiniteDifferences, Function, LoopJacobian, null_direction
from ssptool.engine.kernel.twin.proposals import AitkenRelaxation, AndersonMixing, Proposal, Relaxation

Watch: TypeAlias = Callable[[str, int, Floats, Floats], None]
"""Told of every iterate: (solver, its number in the order of that solver, x, g(x) − x)."""


def unwatched(_solver: str, _iteration: int, _x: Floats, _residual: Floats) -> None:
    """Default observer of iterates: does nothing."""


class LoopSolver(Protocol):
    """A method for x = g(x)."""

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        """Iterate from `x0` (m,) until converged or hopeless."""
        ...


GROWTH_LIMIT = 1e6
"""An iteration whose residual has grown by this factor over its smallest one is called diverged."""

MAX_RETREATS = 20
"""Halvings of a step that leads to a point at which g cannot be evaluated."""


def iterate(
    g: Function,
    x0: Floats,
    domain: Domain,
    propose: Proposal,
    convergence: Convergence,
    max_iterations: int,
    name: str,
    watch: Watch = unwatched,
) -> Solution:
    """Evaluate, judge, propose; until converged, diverged, not finite, or out of iterations.

    From a point at which g cannot be evaluated it goes back halfway towards the last one at which it could.
    """
    nominal = domain.nominal
    x = good = domain.clip(np.array(x0, dtype=float))
    best, best_residual, best_norm = x, np.full_like(x, np.nan), np.inf
    history: list[float] = []
    status = SolutionStatus.MAX_ITERATIONS
    retreats = 0
    for number in range(1, max_iterations + 1):
        value = g(x)
        residual = value - x
        watch(name, number, x, residual)
        norm = scaled_norm(residual, nominal)
        if not np.isfinite(norm):
            retreats += 1
            if not history or retreats > MAX_RETREATS:
                history.append(norm)
                status = SolutionStatus.NONFINITE
                break
            x = good + (x - good) / 2
            continue
        retreats, good = 0, x
        history.append(norm)
        if norm <= best_norm:
            best, best_residual, best_norm = x, residual, norm
        if convergence.reached(residual, x, nominal):
            status = SolutionStatus.CONVERGED
            best, best_residual, best_norm = x, residual, norm
            break
        if norm > GROWTH_LIMIT * best_norm:
            status = SolutionStatus.DIVERGED
            break
        x = domain.clip(nominal * propose(x / nominal, value / nominal))
    if status is SolutionStatus.MAX_ITERATIONS and _growing(history):
        status = SolutionStatus.DIVERGED
    return Solution(best, status, len(history), best_norm, best_residual, tuple(history), name)


def scaled_norm(residual: Floats, nominal: Floats) -> float:
    """Largest |residual| / nominal; 0 for an empty loop, nan where a residual is."""
    return float(np.max(np.abs(residual) / nominal, initial=0.0))


def _growing(history: list[float]) -> bool:
    return len(history) > 1 and history[-1] > history[0]


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Fixed-point iteration with constant relaxation."""

    relaxation: float = 1.0
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.relaxation <= 1:
            raise ValueError(f"relaxation must be in (0, 1], found {self.relaxation}")

    @property
    def name(self) -> str:
        return "fixed point" if self.relaxation == 1 else f"fixed point (relaxation {self.relaxation:g})"

    def proposal(self) -> Proposal:
        return Relaxation(self.relaxation)

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        return iterate(g, x0, domain, self.proposal(), self.convergence, self.max_iterations, self.name, watch)


@dataclass(frozen=True, slots=True)
class Aitken:
    """Fixed-point iteration with Aitken relaxation."""

    first_relaxation: float = 0.5
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 200

    @property
    def name(self) -> str:
        return "Aitken"

    def proposal(self) -> Proposal:
        return AitkenRelaxation(self.first_relaxation)

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        return iterate(g, x0, domain, self.proposal(), self.convergence, self.max_iterations, self.name, watch)


@dataclass(frozen=True, slots=True)
class Anderson:
    """Fixed-point iteration with Anderson acceleration."""

    window: int = 8
    mixing: float = 1.0
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 200

    @property
    def name(self) -> str:
        return "Anderson"

    def proposal(self) -> Proposal:
        return AndersonMixing(self.window, self.mixing)

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        return iterate(g, x0, domain, self.proposal(), self.convergence, self.max_iterations, self.name, watch)


@dataclass(frozen=True, slots=True)
class Newton:
    """Solve (dg/dx − 1) p = x − g(x), go to x + α p with the largest α = 1, ½, ¼ … that reduces the residual.

    Unknowns and residuals are scaled by nominal values; points are kept between min and max; a point at which
    g cannot be evaluated counts as one that does not reduce the residual.

    Converged also when the Newton step itself is within the tolerance and reduces the residual no further: with a
    large gain the residual of the best floating-point number may be far above it, although that number is as close to
    the solution as can be.

    References
    ----------
    Dennis and Schnabel 1996, "Numerical Methods for Unconstrained Optimization and Nonlinear Equations",
    §6.3.
    """

    jacobian: LoopJacobian = field(default_factory=FiniteDifferences)
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 50
    max_halvings: int = 30
    sufficient_decrease: float = 1e-4

    @property
    def name(self) -> str:
        return f"Newton ({self.jacobian.name})"

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        x = domain.clip(np.array(x0, dtype=float))
        value = g(x)
        residual = value - x
        history = [scaled_norm(residual, domain.nominal)]
        watch(self.name, 1, x, residual)
        status = self._judge(x, residual, domain)
        tiny = False
        while status is None and len(history) < self.max_iterations:
            step = self._step(g, x, value, domain)
            if step is None:
                status = SolutionStatus.SINGULAR
                break
            tiny = self.convergence.reached(step, x, domain.nominal)
            moved = self._search(g, x, residual, step, domain)
            if moved is None:
                g(x)  # leave the components at the best point
                status = SolutionStatus.CONVERGED if tiny else SolutionStatus.STALLED
                break
            x, value = moved
            residual = value - x
            history.append(scaled_norm(residual, domain.nominal))
            watch(self.name, len(history), x, residual)
            status = self._judge(x, residual, domain)
        size = scaled_norm(residual, domain.nominal)
        final = status or (SolutionStatus.CONVERGED if tiny else SolutionStatus.MAX_ITERATIONS)
        return Solution(x, final, len(history), size, residual, tuple(history), self.name)

    def _judge(self, x: Floats, residual: Floats, domain: Domain) -> SolutionStatus | None:
        if not np.all(np.isfinite(residual)):
            return SolutionStatus.NONFINITE
        return SolutionStatus.CONVERGED if self.convergence.reached(residual, x, domain.nominal) else None

    def _step(self, g: Function, x: Floats, value: Floats, domain: Domain) -> Floats | None:
        """The full Newton step, in the units of the signals; None where the Jacobian is singular or not
        finite.
        """
        jacobian = self.jacobian.at(g, x, value, domain)
        if not np.all(np.isfinite(jacobian)) or null_direction(jacobian, self.jacobian.precision) is not None:
            return None
        lu = FullPivotLu(jacobian * domain.nominal / domain.nominal[:, None] - np.eye(len(x)))
        if lu.smallest_pivot == 0:
            return None
        return np.asarray(lu.solve((x - value) / domain.nominal) * domain.nominal)

    def _search(
        self, g: Function, x: Floats, residual: Floats, step: Floats, domain: Domain
    ) -> tuple[Floats, Floats] | None:
        """The first point along the step with a residual sufficiently smaller, and the value of g there."""
        size = norm(residual / domain.nominal)
        alpha = 1.0
        for _ in range(self.max_halvings):
            trial = domain.clip(x + alpha * step)
            if np.array_equal(trial, x):
                return None
            found = g(trial)
            if norm((found - trial) / domain.nominal) <= (1 - self.sufficient_decrease * alpha) * size:
                return trial, found
            alpha /= 2
        return None


@dataclass(frozen=True, slots=True)
class Homotopy:
    """Follow x = (1 − λ) x0 + λ g(x) from λ = 0, where nothing is coupled and x0 solves it, to λ = 1.

    The curve is followed by its arc length, so that it may turn back in λ: a predictor along its tangent, and
    Newton's method across it. The end is polished by Newton's method at λ = 1. It reaches solutions that are behind
    a minimum of the residual, where a method that only descends stops. A curve that runs off to infinity, as that
    of a linear loop with a gain above 1 does, leads nowhere.

    References
    ----------
    Allgower and Georg 2003, "Introduction to Numerical Continuation Methods", ch. 2, 3 and 6; Chow, Mallet-Paret,
    Yorke 1978, "Finding zeroes of maps: homotopy methods that are constructive with probability one".
    """

    jacobian: LoopJacobian = field(default_factory=FiniteDifferences)
    convergence: Convergence = field(default_factory=Convergence)
    first_step: float = 0.05
    max_steps: int = 500
    max_corrections: int = 6
    path_tolerance: float = 1e-4
    farthest: float = 1e8

    @property
    def name(self) -> str:
        return f"homotopy ({self.jacobian.name})"

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        curve = _Curve(self, g, domain, domain.clip(np.array(x0, dtype=float)))
        steps = 0
        for steps, (x, value) in enumerate(curve.points(), start=1):
            watch(self.name, steps, x, value - x)
        x, residual = curve.x, curve.value - curve.x
        if not curve.arrived:
            status = SolutionStatus.NONFINITE if not np.all(np.isfinite(residual)) else SolutionStatus.STALLED
            size = scaled_norm(residual, domain.nominal)
            return Solution(x, status, steps, size, residual, (size,), self.name)

        def shifted(_solver: str, number: int, point: Floats, at_point: Floats) -> None:
            watch(self.name, steps + number, point, at_point)

        end = Newton(self.jacobian, self.convergence).solve(g, x, domain, shifted)
        return Solution(
            end.x, end.status, steps + end.iterations, end.residual_norm, end.residual, end.history, self.name
        )


class _Curve:
    """Points (x/nominal, λ) with λ (g(x) − x) + (1 − λ)(x0 − x) = 0, and where the walk along them is."""

    def __init__(self, method: Homotopy, g: Function, domain: Domain, x0: Floats) -> None:
        self.method, self.g, self.domain, self.x0 = method, g, domain, x0
        self.x, self.value = x0, g(x0)
        self.arrived = False

    def points(self) -> Iterator[tuple[Floats, Floats]]:
        """(x, g(x)) step by step, as far as the curve can be followed, or to where it has λ = 1."""
        z = np.append(self.x / self.domain.nominal, 0.0)
        size = self.method.first_step
        ahead = np.append(np.zeros_like(self.x), 1.0)
        for _ in range(self.method.max_steps):
            if not np.all(np.isfinite(self.value)):
                return
            yield self.x, self.value
            tangent = self._tangent(z, ahead)
            if tangent is None:
                return
            found, size = self._advance(z, tangent, size)
            if found is None or norm(found) > self.method.farthest:
                return
            z, ahead = found, tangent
            if z[-1] >= 1.0:
                self.arrived = True
                return

    def _advance(self, z: Floats, tangent: Floats, size: float) -> tuple[Floats | None, float]:
        """The next point of the curve and the next step size; None where no step, however small, leads to one."""
        while size > 1e-6:
            found = self._correct(z + size * tangent, tangent)
            # A point far off the prediction may be on another branch.
            if found is not None and norm(found - z) <= 2 * size:
                return found, 1.5 * size
            size /= 2
        return None, size

    def _correct(self, z: Floats, tangent: Floats) -> Floats | None:
        """Newton's method in the plane through z across the tangent."""
        predicted = z
        for _ in range(self.method.max_corrections):
            x = self._x(z)
            value = self.g(x)
            if not np.all(np.isfinite(value)):
                return None
            residual = np.append(self._residual(z, value), dot(tangent, z - predicted))
            if np.max(np.abs(residual)) <= self.method.path_tolerance * self.method.first_step:
                self.x, self.value = x, value
                return z
            matrix = np.vstack((self._derivatives(z, x, value), tangent))
            lu = FullPivotLu(matrix)
            if lu.smallest_pivot == 0:
                return None
            z = z - lu.solve(residual)
            if not np.all(np.isfinite(z)):
                return None
        return None

    def _tangent(self, z: Floats, ahead: Floats) -> Floats | None:
        """Tangent of length 1, in the direction of the last one."""
        matrix = self._derivatives(z, self.x, self.value)
        if not np.all(np.isfinite(matrix)):
            return None
        vector = FullPivotLu(matrix).null_vector()
        tangent = vector / norm(vector)
        return tangent if dot(tangent, ahead) >= 0 else -tangent

    def _derivatives(self, z: Floats, x: Floats, value: Floats) -> Floats:
        """Derivatives of the scaled residual with respect to (x/nominal, λ); (m, m + 1)."""
        nominal, share = self.domain.nominal, z[-1]
        jacobian = self.method.jacobian.at(self.g, x, value, self.domain) * nominal / nominal[:, None]
        return np.column_stack((share * jacobian - np.eye(len(x)), (value - self.x0) / nominal))

    def _residual(self, z: Floats, value: Floats) -> Floats:
        x, share = z[:-1] * self.domain.nominal, z[-1]
        return np.asarray((share * (value - x) + (1 - share) * (self.x0 - x)) / self.domain.nominal)

    def _x(self, z: Floats) -> Floats:
        return self.domain.clip(z[:-1] * self.domain.nominal)


PATIENCE = 100
"""Iterations of each method that follows Newton's in the default chain."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Each solver starts where the best one before it ended; the first that converges gives the answer.

    A `fresh` solver starts from the start values instead, since it is to find what descent from there does not.
    """

    solvers: tuple[LoopSolver, ...] = field(default_factory=lambda: (Newton(), FixedPoint(relaxation=0.5)))
    fresh: LoopSolver | None = None

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        best: Solution | None = None
        iterations = 0
        for solver in (*self.solvers, *([self.fresh] if self.fresh else [])):
            start = x0 if best is None or solver is self.fresh else best.x
            solution = solver.solve(g, start, domain, watch)
            iterations += solution.iterations
            if best is None or solution.converged or solution.residual_norm < best.residual_norm:
                best = solution
            if solution.converged:
                break
        if best is None:
            raise ValueError("a chain needs at least one solver")
        return replace(best, iterations=iterations)


def default_chain(
    convergence: Convergence | None = None,
    jacobians: Sequence[LoopJacobian] | None = None,
    max_iterations: int | None = None,
) -> Chain:
    """Newton's method with each Jacobian, Aitken, Anderson, damped fixed-point iteration, and homotopy at last."""
    convergence = convergence or Convergence()
    jacobians = jacobians or [FiniteDifferences()]
    newton = [Newton(jacobian, convergence, max_iterations or 50) for jacobian in jacobians]
    limit = max_iterations or PATIENCE
    simple = (
        Aitken(convergence=convergence, max_iterations=limit),
        Anderson(convergence=convergence, max_iterations=limit),
        FixedPoint(0.5, convergence, limit),
    )
    return Chain((*newton, *simple), fresh=Homotopy(jacobians[0], convergence))


def solver_for(
    method: LoopMethod,
    jacobians: Sequence[LoopJacobian],
    convergence: Convergence,
    relaxation: float = 1.0,
    max_iterations: int | None = None,
) -> LoopSolver:
    """The solver that a method stands for, with the Jacobians that it tries in this order.

    `max_iterations` None: as many as each method has by default.
    """
    limit = {} if max_iterations is None else {"max_iterations": max_iterations}
    match method:
        case LoopMethod.AUTO:
            return default_chain(convergence, jacobians, max_iterations)
        case LoopMethod.NEWTON:
            return Chain(tuple(Newton(jacobian, convergence, **limit) for jacobian in jacobians))
        case LoopMethod.AITKEN:
            return Aitken(convergence=convergence, **limit)
        case LoopMethod.ANDERSON:
            return Anderson(convergence=convergence, **limit)
        case LoopMethod.FIXED_POINT:
            return FixedPoint(relaxation, convergence, **limit)
        case LoopMethod.HOMOTOPY:
            return Homotopy(jacobians[0], convergence)
