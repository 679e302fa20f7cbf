"""Several solvers, tried in order."""

from collections.abc import Sequence
from dataclasses import field, replace

from ssptool.dataclass import dataclass
from ssptool.engine.loops.aitken import Aitken
from ssptool.engine.loops.anderson import Anderson
from ssptool.engine.loops.fixed_point import FixedPoint
from ssptool.engine.loops.homotopy import Homotopy
from ssptool.engine.loops.jacobian import FiniteDifferences, Jacobian
from ssptool.engine.loops.newton import Newton
from ssptool.engine.loops.solution import (
    Convergence,
    Domain,
    Floats,
    Function,
    LoopSolver,
    Solution,
    Watch,
    unwatched,
)

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
    jacobians: Sequence[Jacobian] | None = None,
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
