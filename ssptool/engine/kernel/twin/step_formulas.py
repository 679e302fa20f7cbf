"""Steps of x' = f(t, x) by formulas, and the problems that they are for."""

from typing import NamedTuple, Protocol

import numpy as np

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.ode import Effort, Indicators, Matrix, Slopes

_BELOW_ZERO = -1e-300  # counts where an indicator is exactly zero


class OdeEvaluation:
    """f, g and df/dx on the clock of a solver, which counts from its last start [s]."""

    def __init__(self, f: Slopes, g: Indicators | None, jacobian: Matrix | None, states: int) -> None:
        self._f, self._g, self._jacobian = f, g, jacobian
        self._origin = 0.0
        self.states = states
        self.counts = dict.fromkeys(Effort.__dataclass_fields__, 0)

    def start(self, t: float) -> None:
        self._origin = t

    def absolute(self, elapsed: float) -> float:
        return self._origin + elapsed

    def elapsed(self, t: float) -> float:
        return t - self._origin

    def slopes(self, elapsed: float, x: Floats, found: Floats) -> bool:
        """Write x' at (elapsed, x); False where it cannot be evaluated, or is no number."""
        self.counts["evaluations"] += 1
        done = self._f(self.absolute(elapsed), x.ctypes.data, found.ctypes.data)
        return done and bool(np.isfinite(found).all())

    def indicators(self, elapsed: float, x: Floats, found: Floats) -> bool:
        """Write g at (elapsed, x), likewise."""
        if self._g is None or not found.size:
            return True
        self.counts["root_evaluations"] += 1
        if not self._g(self.absolute(elapsed), x.ctypes.data, found.ctypes.data) or not np.isfinite(found).all():
            return False
        found[found == 0.0] = _BELOW_ZERO
        return True

    @property
    def has_jacobian(self) -> bool:
        return self._jacobian is not None

    def jacobian(self, elapsed: float, x: Floats, found: Floats) -> bool:
        """Write df/dx at (elapsed, x), likewise."""
        assert self._jacobian is not None
        return self._jacobian(self.absolute(elapsed), x.ctypes.data, found) and bool(np.isfinite(found).all())


class StepStart(NamedTuple):
    """Where a step begins: elapsed time [s], x and x' (n,), and the usual sizes of x (n,)."""

    t: float
    x: Floats
    slopes: Floats
    nominal: Floats


class StepFormula(Protocol):
    """One step of a pair of formulas of orders 5 and 4: x (n,) at its end with an estimate of its `error` (n,)."""

    x: Floats
    error: Floats

    def attempt(self, start: StepStart, h: float) -> bool:
        """From there over h [s]; False: that leads to a point to avoid. The start may be the same as before."""
        ...

    def slopes_at_end(self, t: float, found: Floats) -> bool:
        """Write x' at the end; False: it cannot be evaluated."""
        ...

    def prepare(self, start: StepStart) -> None:
        """Prepare `interpolate` for the last attempt."""
        ...

    def interpolate(self, part: float, x: Floats) -> None:
        """Write x (n,) at a part of the step that was prepared."""
        ...

    def leave_start(self) -> None:
        """The next step starts elsewhere."""
        ...
