"""Newton's method for a loop x = g(x)."""

from dataclasses import dataclass, field

import numpy as np

from ssptool.engine.iterated.dense import FullPivotLu, norm
from ssptool.engine.iterated.jacobians import Domain, FiniteDifferences, Function, LoopJacobian, null_direction
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.solutions import Convergence, Solution, SolutionStatus


def scaled_norm(residual: Floats, nominal: Floats) -> float:
    """Largest |residual| / nominal; 0 for an empty loop, nan where a residual is."""
    return float(np.max(np.abs(residual) / nominal, initial=0.0))


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

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        x = domain.clip(np.array(x0, dtype=float))
        value = g(x)
        residual = value - x
        history = [scaled_norm(residual, domain.nominal)]
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
