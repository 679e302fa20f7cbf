"""Several solvers, tried in order."""

from dataclasses import dataclass, field, replace

from ssptool.engine.loops.fixed_point import FixedPoint
from ssptool.engine.loops.jacobian import FiniteDifferences, Jacobian
from ssptool.engine.loops.newton import Newton
from ssptool.engine.loops.solution import Convergence, Domain, Floats, Function, LoopSolver, Solution


@dataclass(frozen=True, slots=True)
class Chain:
    """Each solver starts where the best one before it ended; the first that converges gives the answer."""

    solvers: tuple[LoopSolver, ...] = field(default_factory=lambda: (Newton(), FixedPoint(relaxation=0.5)))

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None) -> Solution:
        best: Solution | None = None
        iterations = 0
        for solver in self.solvers:
            solution = solver.solve(g, x0 if best is None else best.x, domain)
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
    jacobian: Jacobian | None = None,
    max_iterations: int | None = None,
) -> Chain:
    """Newton's method, then damped fixed-point iteration, with common tolerances."""
    convergence = convergence or Convergence()
    newton = Newton(jacobian or FiniteDifferences(), convergence)
    damped = FixedPoint(0.5, convergence)
    if max_iterations is not None:
        newton = replace(newton, max_iterations=max_iterations)
        damped = replace(damped, max_iterations=max_iterations)
    return Chain((newton, damped))
