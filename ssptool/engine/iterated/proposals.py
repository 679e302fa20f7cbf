"""Fixed-point iteration with constant relaxation, Aitken relaxation or Anderson acceleration: the next point from the
last ones."""

import math
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from ssptool.engine.iterated.dense import correction, dot
from ssptool.engine.kernel.calls import Floats

Proposal: TypeAlias = Callable[[Floats, Floats], Floats]
"""(x, g(x)) → next x, all (m,), in nominal values (all about 1). It may remember the pairs it has seen."""

_DEPENDENT = 1e-12
"""A difference of residuals of which only this much, relative, is independent of the newer ones says nothing more."""


class Relaxation:
    """x ← x + ω (g(x) − x). Of a scalar loop with gain γ it converges for |1 − ω (1 − γ)| < 1.

    References
    ----------
    Quarteroni, Sacco, Saleri 2007, "Numerical Mathematics", §6.3 (relaxation).
    """

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Floats, value: Floats) -> Floats:
        # Without relaxation g(x) is taken as it is, not as x + (g(x) − x), which would round.
        return value if self.factor == 1 else x + self.factor * (value - x)


class AitkenRelaxation:
    """x ← x + ω_k (g(x) − x), with ω_k from the last two residuals. Exact in three evaluations for a scalar
    linear loop.

    References
    ----------
    Irons and Tuck 1969, "A version of the Aitken accelerator for computer iteration".
    Küttler and Wall 2008, "Fixed-point fluid-structure interaction solvers with dynamic relaxation", eq.
    (44).
    """

    def __init__(self, first_relaxation: float) -> None:
        self.factor = first_relaxation
        self.residual: Floats | None = None

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        if self.residual is not None:
            change = residual - self.residual
            square = dot(change, change)
            if square > 0:
                factor = -self.factor * dot(self.residual, change) / square
                # 0 would stop the iteration where it is; then the old factor serves once more.
                self.factor = factor if factor != 0 and math.isfinite(factor) else self.factor
        self.residual = residual
        return x + self.factor * residual


class AndersonMixing:
    """The next point is where the residual would be smallest if it were linear in the last `window` steps.

    For a linear loop of m signals the answer is exact after m + 2 evaluations, if `window` ≥ m.

    References
    ----------
    Walker and Ni 2011, "Anderson acceleration for fixed-point iterations", eq. (2.1) and §4 (the
    least-squares problem in differences); Anderson 1965, "Iterative procedures for nonlinear integral
    equations".
    """

    def __init__(self, window: int, mixing: float) -> None:
        self.mixing = mixing
        self.last: tuple[Floats, Floats] | None = None
        self.columns: deque[tuple[Floats, Floats]] = deque(maxlen=window)

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        if self.last is not None:
            step, change = x - self.last[0], residual - self.last[1]
            self.columns.appendleft((change, step + self.mixing * change))
        self.last = (x, residual)
        return x + self.mixing * residual + correction(self.columns, residual, _DEPENDENT)
