"""Chains of solvers that are tried in order, and homotopy from the uncoupled to the coupled loop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ssptool.engine.loops.fixed_point import Aitken, Anderson, FixedPoint
from ssptool.engine.loops.newton import FiniteDifferences, LoopJacobian, Newton
from ssptool.engine.loops.solution import (
    Convergence,
    Domain,
    Floats,
    Function,
    LoopSolver,
    Solution,
    Status,
    Watch,
    scaled_norm,
    unwatched,
)


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
            status = Status.NONFINITE if not np.all(np.isfinite(residual)) else Status.STALLED
            norm = scaled_norm(residual, domain.nominal)
            return Solution(x, status, steps, norm, residual, (norm,), self.name)

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
            if found is None or np.linalg.norm(found) > self.method.farthest:
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
            if found is not None and np.linalg.norm(found - z) <= 2 * size:
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
            residual = np.append(self._residual(z, value), tangent @ (z - predicted))
            if np.max(np.abs(residual)) <= self.method.path_tolerance * self.method.first_step:
                self.x, self.value = x, value
                return z
            matrix = np.vstack((self._derivatives(z, x, value), tangent))
            try:
                z = z - np.linalg.solve(matrix, residual)
            except np.linalg.LinAlgError:
                return None
            if not np.all(np.isfinite(z)):
                return None
        return None

    def _tangent(self, z: Floats, ahead: Floats) -> Floats | None:
        """Tangent of length 1, in the direction of the last one."""
        matrix = self._derivatives(z, self.x, self.value)
        if not np.all(np.isfinite(matrix)):
            return None
        tangent: Floats = np.linalg.svd(matrix)[2][-1]
        return tangent if tangent @ ahead >= 0 else -tangent

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
