"""Fixed-point iteration with Aitken's dynamic relaxation."""

from dataclasses import field

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.loops.iterate import Proposal, iterate
from ssptool.engine.loops.solution import Convergence, Domain, Floats, Function, Solution, Watch, unwatched


@dataclass(frozen=True, slots=True)
class Aitken:
    """x ← x + ω_k (g(x) − x), with ω_k from the last two residuals. Exact in three evaluations for a scalar
    linear loop.

    References
    ----------
    Irons and Tuck 1969, "A version of the Aitken accelerator for computer iteration".
    Küttler and Wall 2008, "Fixed-point fluid-structure interaction solvers with dynamic relaxation", eq.
    (44).
    """

    first_relaxation: float = 0.5
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 200

    @property
    def name(self) -> str:
        return "Aitken"

    def proposal(self) -> Proposal:
        return _Relaxation(self.first_relaxation)

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        return iterate(g, x0, domain, self.proposal(), self.convergence, self.max_iterations, self.name, watch)


class _Relaxation:
    """Remembers the last relaxation factor and residual."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.residual: Floats | None = None

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        if self.residual is not None:
            change = residual - self.residual
            square = float(change @ change)
            if square > 0:
                factor = -self.factor * float(self.residual @ change) / square
                # 0 would stop the iteration where it is; then the old factor serves once more.
                self.factor = factor if factor != 0 and np.isfinite(factor) else self.factor
        self.residual = residual
        return x + self.factor * residual
