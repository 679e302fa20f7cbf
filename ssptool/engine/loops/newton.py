"""Newton's method with line search, for F(x) = g(x) − x = 0."""

from dataclasses import field

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.loops.iterate import scaled_norm
from ssptool.engine.loops.jacobian import FiniteDifferences, Jacobian
from ssptool.engine.loops.singular import null_direction
from ssptool.engine.loops.solution import (
    Convergence,
    Domain,
    Floats,
    Function,
    Solution,
    Status,
    Watch,
    unwatched,
)


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

    jacobian: Jacobian = field(default_factory=FiniteDifferences)
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
        residual = g(x) - x
        history = [scaled_norm(residual, domain.nominal)]
        watch(self.name, 1, x, residual)
        status = self._judge(x, residual, domain)
        tiny = False
        while status is None and len(history) < self.max_iterations:
            step = self._step(g, x, residual, domain)
            if step is None:
                status = Status.SINGULAR
                break
            tiny = self.convergence.reached(step, x, domain.nominal)
            moved = self._search(g, x, residual, step, domain)
            if moved is None:
                g(x)  # leave the components at the best point
                status = Status.CONVERGED if tiny else Status.STALLED
                break
            x, residual = moved
            history.append(scaled_norm(residual, domain.nominal))
            watch(self.name, len(history), x, residual)
            status = self._judge(x, residual, domain)
        norm = scaled_norm(residual, domain.nominal)
        final = status or (Status.CONVERGED if tiny else Status.MAX_ITERATIONS)
        return Solution(x, final, len(history), norm, residual, tuple(history), self.name)

    def _judge(self, x: Floats, residual: Floats, domain: Domain) -> Status | None:
        if not np.all(np.isfinite(residual)):
            return Status.NONFINITE
        return Status.CONVERGED if self.convergence.reached(residual, x, domain.nominal) else None

    def _step(self, g: Function, x: Floats, residual: Floats, domain: Domain) -> Floats | None:
        """The full Newton step, in the units of the signals; None where the Jacobian is singular or not
        finite.
        """
        jacobian = self.jacobian.at(g, x, residual + x, domain)
        if not np.all(np.isfinite(jacobian)) or null_direction(jacobian, self.jacobian.precision) is not None:
            return None
        scaled = jacobian * domain.nominal / domain.nominal[:, None] - np.eye(len(x))
        return np.asarray(np.linalg.solve(scaled, -residual / domain.nominal) * domain.nominal)

    def _search(
        self, g: Function, x: Floats, residual: Floats, step: Floats, domain: Domain
    ) -> tuple[Floats, Floats] | None:
        """The first point along the step with a residual sufficiently smaller, and that residual."""
        size = float(np.linalg.norm(residual / domain.nominal))
        alpha = 1.0
        for _ in range(self.max_halvings):
            trial = domain.clip(x + alpha * step)
            if np.array_equal(trial, x):
                return None
            found = g(trial) - trial
            if np.linalg.norm(found / domain.nominal) <= (1 - self.sufficient_decrease * alpha) * size:
                return trial, found
            alpha /= 2
        return None
