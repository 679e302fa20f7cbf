"""Integrators of x' = f(t, x) by one-step formulas, with roots of g(t, x) on the way.

Powers in the control of steps are made of square roots, which are rounded alike everywhere: equal values of f and g
give equal bits on every platform, and in the core.

References
----------
Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", 2nd ed., §II.4; Hairer, Wanner 1996, "…II",
2nd ed., §IV.2 (control of steps). Dowell, Jarratt 1971, "A modified regula falsi method for computing the root of an
equation" (the Illinois method).
"""

import math
from collections.abc import Callable

import numpy as np

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.ode import Arrival, Effort, Indicators, IntegrationFailed, Matrix, Slopes, SolverKind
from ssptool.engine.kernel.twin.dense import dot
from ssptool.engine.kernel.twin.dormand_prince import DormandPrince
from ssptool.engine.kernel.twin.rosenbrock import Rosenbrock
from ssptool.engine.kernel.twin.step_formulas import OdeEvaluation, StepFormula, StepStart

_EPSILON = 2.0**-52
_MOST_STEPS = 500  # of one call
_MOST_FAILURES = 100  # of one step
_MOST_TRIES = 10  # for the size of the first step
_SAFETY = 0.9
_MOST_GROWTH = 6.0
_LEAST_SHRINKAGE = 0.1
_LEAST_ERROR = 1e-4  # that counts for the size of the step after the next


def _eighth_root(a: float) -> float:
    return math.sqrt(math.sqrt(math.sqrt(a)))


def _growth(error: float, last_error: float) -> float:
    """error^(−5/32) last^(1/16): a proportional and an integral part."""
    if error == 0.0:
        return _MOST_GROWTH
    root = _eighth_root(error)
    factor = _SAFETY * math.sqrt(_eighth_root(last_error)) / (root * math.sqrt(math.sqrt(root)))
    return _clamp(factor, _LEAST_SHRINKAGE, _MOST_GROWTH)


def _shrinkage(error: float) -> float:
    """error^(−3/16)"""
    root = _eighth_root(error)
    return max(_SAFETY / (root * math.sqrt(root)), _LEAST_SHRINKAGE)


def _clamp(value: float, low: float, high: float) -> float:
    return low if value < low else min(value, high)


def _any_differ(a: Floats, b: Floats) -> bool:
    return not np.array_equal(a > 0.0, b > 0.0)


class TwinOdeSolver:
    """One integrator; `ssptool.engine.kernel.ode.OdeSolver` states what it offers.

    A local error is measured by rtol |x| + atol of its state, in the root mean square of all.
    """

    def __init__(
        self,
        kind: SolverKind,
        f: Slopes,
        n: int,
        rtol: float,
        g: Indicators | None = None,
        roots: int = 0,
        jacobian: Matrix | None = None,
    ) -> None:
        self._evaluation = OdeEvaluation(f, g, jacobian, n)
        self._formula = _FORMULAS[kind](self._evaluation)
        self._rtol = rtol
        self.x, self.between, self._nominal, self._scale = (np.zeros(n) for _ in range(4))
        self.atol = np.full(n, rtol)
        self._slopes, self._next_slopes, self._probe = (np.zeros(n) for _ in range(3))
        # Indicators where it is, and around a root.
        self._signs, self._low, self._middle, self._high = (np.zeros(roots) for _ in range(4))
        self._t = 0.0  # elapsed, like all times here
        self._from = self._length = 0.0  # of the last step
        self._h = 0.0  # of the next step; 0: to be estimated
        self._longest_step = math.inf
        self._first_step = self._error = self._last_error = 0.0
        self._rejected = False  # a step since the start
        self._shrunk = False  # the present step
        self._known = False  # slopes and indicators where it is

    # -- what users call ---------------------------------------------------------------------------------------

    def start(self, t: float, first_step: float = 0.0) -> None:
        self._evaluation.start(t)
        self._t = self._from = self._length = 0.0
        self._h = first_step
        self._first_step = self._last_error = 0.0
        self._rejected = self._shrunk = self._known = False
        self._nominal[:] = self.atol / self._rtol
        self._formula.leave_start()

    def reach(self, limit: float, *, step_by_step: bool = True) -> Arrival:
        end = self._evaluation.elapsed(limit)
        roots: tuple[int, ...] = ()
        with np.errstate(all="ignore"):
            for _ in range(_MOST_STEPS):
                if not self._t < end:
                    break
                roots = self._step(end)
                if step_by_step or roots:
                    break
        return Arrival(limit if self._t == end else self.time, roots)

    def interpolate(self, t: float) -> None:
        elapsed = self._evaluation.elapsed(t)
        slack = 8.0 * _EPSILON * (abs(self.time) + abs(t) + self._length)
        if elapsed < self._from - slack or elapsed > self._t + slack:
            raise IntegrationFailed(self.time, "the time asked for is not within its last step")
        if elapsed >= self._t or self._length == 0.0:
            self.between[:] = self.x
        else:
            self._formula.interpolate(max(elapsed - self._from, 0.0) / self._length, self.between)

    def limit_step(self, h: float) -> None:
        self._longest_step = h

    @property
    def time(self) -> float:
        return self._evaluation.absolute(self._t)

    @property
    def elapsed(self) -> float:
        return self._t

    @property
    def first_step(self) -> float:
        return 0.0 if self._rejected else self._first_step

    @property
    def has_moved(self) -> bool:
        return self._first_step > 0.0

    @property
    def effort(self) -> Effort:
        return Effort(**self._evaluation.counts)

    def close(self) -> None:
        pass

    # -- one step ----------------------------------------------------------------------------------------------

    def _look_around(self) -> None:
        if self._known:
            return
        if not self._evaluation.slopes(self._t, self.x, self._slopes):
            raise IntegrationFailed(self.time, "the state derivatives cannot be evaluated where it starts")
        if not self._evaluation.indicators(self._t, self.x, self._signs):
            raise IntegrationFailed(self.time, "the event indicators cannot be evaluated where it starts")
        self._known = True

    def _first_size(self, end: float) -> float:
        """With D the change of x in the time T = |x'| / |x''| in which x' changes, in tolerances, an error of order 5
        is D (h/T)^5. No unit of time is hidden in the choice.
        """
        span = min(end - self._t, self._longest_step)
        self._measure(self.x)
        speed = self._size(self._slopes)
        pace = self._rtol * speed
        h = min(0.01 / pace if pace > 0.0 else 1e-4 * span, span)
        if h == 0.0:
            return h
        for number in range(1, _MOST_TRIES + 1):
            self._probe[:] = self.x + h * self._slopes
            if self._evaluation.slopes(self._t + h, self._probe, self._next_slopes):
                break
            h = 0.1 * h
            if number == _MOST_TRIES:
                return h
        self._next_slopes -= self._slopes
        bend = self._size(self._next_slopes) / h
        found = 100.0 * h
        if bend > 0.0:
            time = speed / bend
            change = speed * time
            by_order = 0.0
            if change > 0.0:
                root = _eighth_root(0.01 / change)
                by_order = time * (root * math.sqrt(root))
            found = min(found, max(by_order, math.sqrt(0.01 / bend)))
        return min(found, span)

    def _step(self, end: float) -> tuple[int, ...]:
        self._look_around()
        if self._h == 0.0:
            self._h = self._first_size(end)
        for _ in range(_MOST_FAILURES):
            h = self._planned(end)
            if not self._t + h > self._t:
                break
            stop = end if h == end - self._t else self._t + h
            if not self._attempt(h, stop):
                continue
            self._formula.prepare(self._begin())
            if not _any_differ(self._signs, self._high):
                self._accept(h, stop)
                return ()
            root = self._locate(h, stop)
            if root is not None:
                roots = np.flatnonzero((self._low > 0.0) != (self._high > 0.0))
                self._accept(h, stop)
                if root < stop:
                    self._go_back(root)
                return tuple(roots.tolist())
            self._avoid(h)
        raise IntegrationFailed(self.time, "no step is small enough")

    def _planned(self, end: float) -> float:
        h, left = min(self._h, self._longest_step), end - self._t
        if h >= left:
            return left
        # Two equal steps rather than a tiny one at the end.
        return 0.5 * left if 2.0 * h > left else h

    def _attempt(self, h: float, end: float) -> bool:
        formula = self._formula
        if not formula.attempt(self._begin(), h) or not np.isfinite(formula.x).all():
            self._avoid(h)
            return False
        self._measure(formula.x)
        self._error = self._size(formula.error)
        finite = math.isfinite(self._error)
        if finite and self._error > 1.0:
            self._evaluation.counts["error_test_failures"] += 1
            self._rejected = self._shrunk = True
            self._h = h * _shrinkage(self._error)
            return False
        if (
            not finite
            or not formula.slopes_at_end(end, self._next_slopes)
            or not self._evaluation.indicators(end, formula.x, self._high)
        ):
            self._avoid(h)
            return False
        return True

    def _avoid(self, h: float) -> None:
        self._evaluation.counts["convergence_failures"] += 1
        self._shrunk = True
        self._h = 0.25 * h

    def _accept(self, h: float, end: float) -> None:
        self._evaluation.counts["steps"] += 1
        factor = _growth(self._error, max(self._last_error, _LEAST_ERROR))
        if self._shrunk:
            self._h = h * min(factor, 1.0)
        else:
            # A step that only the limit has made short tells nothing against a longer one.
            self._h = max(h * factor, self._h if h < self._h else 0.0)
        self._last_error = self._error
        if self._first_step == 0.0:
            self._first_step = h
        self._shrunk = False
        self._from, self._length, self._t = self._t, h, end
        self.x[:] = self._formula.x
        self._slopes, self._next_slopes = self._next_slopes, self._slopes
        self._signs, self._high = self._high, self._signs
        self._formula.leave_start()

    def _go_back(self, t: float) -> None:
        self._formula.interpolate((t - self._from) / self._length, self.x)
        self._t = t
        self._known = False

    def _begin(self) -> StepStart:
        return StepStart(self._t, self.x, self._slopes, self._nominal)

    def _measure(self, end: Floats) -> None:
        self._scale = self._rtol * np.maximum(np.abs(self.x), np.abs(end)) + self.atol

    def _size(self, vector: Floats) -> float:
        parts = vector / self._scale
        return math.sqrt(dot(parts, parts) / len(parts))

    # -- roots -------------------------------------------------------------------------------------------------

    def _locate(self, h: float, end: float) -> float | None:
        """Just behind the first root; None: an indicator cannot be evaluated before it.

        Regula falsi with halved weights of an end that stays, on the indicator that crosses first; each third guess is
        the middle, so that the work is bounded for any function.
        """
        self._low[:] = self._signs
        low, high, weight, side = self._t, end, 1.0, 0
        close = 4.0 * _EPSILON * end
        number = 0
        while high - low > close:
            number += 1
            width = high - low
            part = 0.5
            if number % 3 != 0:
                at_low, at_high = self._leading()
                part = at_high / (at_high - weight * at_low)
            middle = _clamp(high - width * part, low + 0.5 * close, high - 0.5 * close)
            if not low < middle < high:
                break
            self._formula.interpolate((middle - self._t) / h, self._probe)
            if not self._evaluation.indicators(middle, self._probe, self._middle):
                return None
            if _any_differ(self._low, self._middle):
                high = middle
                self._high, self._middle = self._middle, self._high
                weight = 0.5 * weight if side == 1 else 1.0
                side = 1
            else:
                low = middle
                self._low, self._middle = self._middle, self._low
                weight = 2.0 * weight if side == -1 else 1.0
                side = -1
        return high

    def _leading(self) -> tuple[float, float]:
        """The indicator that crosses first by its values at both ends, which are returned."""
        parts = np.abs(self._high) / np.abs(self._high - self._low)
        parts[(self._low > 0.0) == (self._high > 0.0)] = -1.0
        first = int(np.argmax(parts))
        return float(self._low[first]), float(self._high[first])


_FORMULAS: dict[SolverKind, Callable[[OdeEvaluation], StepFormula]] = {
    SolverKind.DORMAND_PRINCE: DormandPrince,
    SolverKind.ROSENBROCK: Rosenbrock,
}
