"""Fixed-point iteration: with constant relaxation, Aitken relaxation, or Anderson acceleration."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ssptool.engine.loops.solution import (
    Convergence,
    Domain,
    Floats,
    Function,
    Proposal,
    Solution,
    Watch,
    iterate,
    unwatched,
)


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """x ← x + ω (g(x) − x). Of a scalar loop with gain γ it converges for |1 − ω (1 − γ)| < 1.

    References
    ----------
    Quarteroni, Sacco, Saleri 2007, "Numerical Mathematics", §6.3 (relaxation).
    """

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
        # Without relaxation g(x) is taken as it is, not as x + (g(x) − x), which would round.
        if self.relaxation == 1:
            return lambda x, value: value
        return lambda x, value: x + self.relaxation * (value - x)

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        return iterate(g, x0, domain, self.proposal(), self.convergence, self.max_iterations, self.name, watch)


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
