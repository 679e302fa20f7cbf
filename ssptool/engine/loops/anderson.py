"""Fixed-point iteration with Anderson acceleration."""

from collections import deque
from dataclasses import field

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.loops.iterate import Proposal, iterate
from ssptool.engine.loops.solution import Convergence, Domain, Floats, Function, Solution, Watch, unwatched


@dataclass(frozen=True, slots=True)
class Anderson:
    """The next point is where the residual would be smallest if it were linear in the last `window` steps.

    For a linear loop of m signals the answer is exact after m + 2 evaluations, if `window` ≥ m.

    References
    ----------
    Walker and Ni 2011, "Anderson acceleration for fixed-point iterations", eq. (2.1) and §4 (the
    least-squares problem in differences); Anderson 1965, "Iterative procedures for nonlinear integral
    equations".
    """

    window: int = 8
    mixing: float = 1.0
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 200

    @property
    def name(self) -> str:
        return "Anderson"

    def proposal(self) -> Proposal:
        return _Mixing(self.window, self.mixing)

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        return iterate(g, x0, domain, self.proposal(), self.convergence, self.max_iterations, self.name, watch)


class _Mixing:
    """Remembers differences of points and of residuals, the newest last."""

    def __init__(self, window: int, mixing: float) -> None:
        self.mixing = mixing
        self.last: tuple[Floats, Floats] | None = None
        self.steps: deque[Floats] = deque(maxlen=window)
        self.changes: deque[Floats] = deque(maxlen=window)

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        if self.last is not None:
            self.steps.append(x - self.last[0])
            self.changes.append(residual - self.last[1])
        self.last = (x, residual)
        plain = x + self.mixing * residual
        if not self.steps:
            return plain
        steps, changes = np.column_stack(self.steps), np.column_stack(self.changes)
        # Differences shrink by orders of magnitude as the iteration converges; equilibrated columns keep the
        # small, newest ones from being dropped as numerically dependent.
        sizes = np.linalg.norm(changes, axis=0)
        used = sizes > 0
        if not used.any():
            return plain
        scaled = changes[:, used] / sizes[used]
        weights, *_ = np.linalg.lstsq(scaled, residual, rcond=1e-12)
        weights = weights / sizes[used]
        return np.asarray(plain - (steps[:, used] + self.mixing * changes[:, used]) @ weights)
