"""Convergence of iterated steps: agreement, stagnation, noise and divergence, told from iterates and what they give."""

import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ssptool.engine.iterated.dense import norm
from ssptool.engine.kernel.calls import JUDGED, Floats, MeasureKind, MeasureLimit

Judge: TypeAlias = Callable[[Floats, Floats], float]
"""x and found − x (m,), m ≥ 1 → how many times too large the second is: 1 or less has converged; nan has not."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""To which part of themselves values are taken to be the same: a few operations on them leave as much."""

GROWTH_LIMIT = 1e6
"""Iterates that come to differ by this factor more than they once did will not come back."""

WINDOW, FALL = 6, 0.5
"""So many iterations that do not bring the change below this part of the least one before them: it has stopped falling.
"""

NOISE_LIMIT = 1e-3
"""Up to this part of the size of a signal (the larger of value and nominal value), noise of FMUs explains a change that
stops falling."""

NOISE_MARGIN = 10.0
"""Largest remaining change that noise explains, as a multiple of the noise, which also moves iterates away from the
solution.
"""

FOURTH_DIFFERENCE = math.sqrt(70.0)
"""The standard deviation of a fourth difference of independent values: of 1, -4, 6, -4, 1 times the value."""

PROBED = (0, -3, 2, -1, 3, -2, 1)
"""Places around an iterate, in an order in which noise that changes slowly from call to call is no smooth response."""

MISSES, MISSES_WITHIN = 5, 50
"""Number of steps in which plain iteration may fail, within this number of steps, before it is skipped."""


def same(x: Floats, found: Floats) -> bool:
    """True if both agree within rounding."""
    return bool(np.all(np.abs(found - x) <= ROUNDING * np.abs(x)))


def judge_of(measures: Sequence[MeasureLimit], nominal: Floats) -> Judge:
    """Judge one step by all measures; nominal values (m,)."""
    judges = [_judge(measure, nominal) for measure in measures]
    # Each is asked, so that each sees every iterate; max() of Python would drop a nan.
    return lambda x, change: float(np.max([judge(x, change) for judge in judges]))


def _judge(measure: MeasureLimit, nominal: Floats) -> Judge:
    match measure.kind:
        case MeasureKind.ABSOLUTE:
            return lambda x, change: float((np.abs(change) / measure.limit).max())
        case MeasureKind.RELATIVE:
            return lambda x, change: float((np.abs(change) / (measure.limit * np.maximum(np.abs(x), nominal))).max())
        case MeasureKind.RESIDUAL_RELATIVE:
            return _residual_judge(measure.limit, nominal)


def _residual_judge(limit: float, nominal: Floats) -> Judge:
    first: list[float] = []

    def judge(x: Floats, change: Floats) -> float:
        size = norm(change / nominal)
        first.append(size)
        # A first guess that is exact cannot be improved, for example at rest.
        rounding = ROUNDING * norm(np.maximum(np.abs(x) / nominal, 1.0))
        return size / max(limit * first[0], rounding)

    return judge


def counting_judge(count: int) -> Judge:
    """Judge a step of a fixed number of iterations; values that are not finite never pass."""
    done = itertools.count(1)
    return lambda x, change: count / next(done) if np.all(np.isfinite(change)) else np.nan


class Agreement:
    """Difference between the inputs of a step and their sources, over the iterations of that step.

    Changes are relative to the larger of value and nominal value.

    Attributes
    ----------
    excess
        Factor by which the difference exceeds the limit of the measure.
    noisy
        True if the step was accepted because its change is no larger than `floor`, which is known to be noise.
    first, last, least
        The largest change at the first, the last and the best iterate.
    grows
        In nominal values iterates differ by more than the first ones did.
    noise
        Scatter of the outputs around the best iterate, once that was `probed`; 0: none.
    best, worst
        The best iterate, and the index of its largest change; `last_worst` is that of the last iterate.
    change
        The difference at the best iterate, in the units of the signals.
    judged
        The largest change of each iterate, and its excess; of the first `JUDGED` ones.
    """

    def __init__(self, judge: Judge, nominal: Floats, floor: float = 0.0, *, counted: bool = False) -> None:
        self.excess = np.inf
        self.noisy = False
        self.first = self.last = self.least = np.inf
        self.best, self.change = np.zeros_like(nominal), np.full_like(nominal, np.nan)
        self.judged: list[tuple[float, float]] = []
        self.worst = self.last_worst = 0
        self._judge = judge
        self._nominal = nominal
        self._counted = counted  # the number of iterations is fixed
        self._floor = floor
        self.noise = 0.0
        self.probed = False
        self.grows = False
        self._first = self._smallest = np.inf  # in nominal values
        self._leasts: deque[float] = deque(maxlen=WINDOW + 1)

    def reached(self, x: Floats, found: Floats) -> bool:
        """True if the measure is met, or the remaining change is below the last digit."""
        self.excess = self._judge(x, found - x)
        done = self.excess <= 1.0
        if not self._counted and (done or same(x, found)):
            return True
        change = np.abs(found - x) / np.maximum(np.abs(x), self._nominal)
        worst = int(np.argmax(change))
        self.last, self.last_worst = float(change[worst]), worst
        if len(self.judged) < JUDGED:
            self.judged.append((self.last, self.excess))
        if not self._leasts:
            self.first = self.last
        if not self.last >= self.least:
            self.least, self.best, self.worst = self.last, np.array(x), worst
            self.change = found - x
        self._leasts.append(self.least)
        self.noisy = not self._counted and self.last <= self._floor
        return self.noisy or done

    def lost(self, x: Floats, found: Floats) -> bool:
        """True if the iterates diverge."""
        # Not the excess: where x diverges, its relative limit grows as well.
        size = float((np.abs(found - x) / self._nominal).max())
        if self._smallest == np.inf:
            self._first = size
        self.grows = not size <= self._first
        self._smallest = min(self._smallest, size)
        return not self._counted and not size <= GROWTH_LIMIT * self._smallest

    def probe(self, step: Callable[[Floats], Floats]) -> None:
        """Find the noise of the step, a function of the unknowns in nominal values."""
        self.probed = True
        self.noise = scatter(step, self.best / self._nominal, self.least) if self.least < np.inf else 0.0

    @property
    def is_noise(self) -> bool:
        """True if noise explains the remaining change at the best iterate."""
        return self.noise > 0.0 and self.least <= min(NOISE_MARGIN * self.noise, NOISE_LIMIT)

    @property
    def stagnates(self) -> bool:
        """True if the change has stopped falling."""
        return not self._counted and len(self._leasts) > WINDOW and self.least > FALL * self._leasts[0]


def scatter(step: Callable[[Floats], Floats], x: Floats, distance: float) -> float:
    """Scatter of step(x) around x (m,), relative to the sizes; 0: none. Steps are at most 3 distances long.

    Fourth differences of a smooth response vanish with the fourth power of the distance, however steep and bent it
    is; those of noise do not.
    """
    size = np.maximum(np.abs(x), 1.0)
    found = np.empty((len(PROBED), x.size))
    for place in PROBED:
        found[place + len(PROBED) // 2] = step(x + place * distance * size)
    first, second, third = np.square(np.diff(found, 4, axis=0) / size)
    stray = float((np.sqrt((first + second + third) / 3.0) / FOURTH_DIFFERENCE).max())
    return stray if np.isfinite(stray) else 0.0


class PlainIterationSwitch:
    """Decides when a step skips plain iterations: its first iterates are passed on without acceleration while that
    converges.

    Attributes
    ----------
    given_up
        True if plain iteration failed in several of the last steps.
    misses
        Starts of the last steps in which it failed [s].
    """

    def __init__(self, plain_iterations: int) -> None:
        self.given_up = plain_iterations == 1
        self._plain_iterations = plain_iterations
        self.misses: deque[float] = deque(maxlen=MISSES)

    def goes_on_plainly(self, iteration: int, t: float, h: float) -> bool:
        """After an iteration of the step of size h [s] from t [s] whose values do not agree."""
        if not self.given_up and iteration == self._plain_iterations:
            self.misses.append(t)
            within = t - self.misses[0] < MISSES_WITHIN * h
            self.given_up = len(self.misses) == MISSES and within
            return False
        return not self.given_up and iteration < self._plain_iterations
