"""Convergence of iterated steps: measures with their limits; stagnation and divergence told apart."""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.protocols import NONE_UNCONVERGED, SavedState, Unconverged, UnplannedSteps
from ssptool.engine.settings import ASKED, Settings
from ssptool.errors import WrongValue, counted

Judge: TypeAlias = Callable[[Floats, Floats], float]
"""x and found − x (m,), m ≥ 1 → how many times too large the second is: 1 or less has converged; nan has not."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""To which part of themselves values are taken to be the same: a few operations on them leave as much."""


def same(x: Floats, found: Floats) -> bool:
    """True if both agree within rounding."""
    return bool(np.all(np.abs(found - x) <= ROUNDING * np.abs(x)))


class MeasureName(StrEnum):
    """Name of a convergence criterion."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    RESIDUAL_RELATIVE = "residual-relative"


class Measure(Protocol):
    """A limit of the difference between values that went into a step and those that came out for them."""

    @property
    def name(self) -> str: ...

    def begin(self, nominal: Floats) -> Judge:
        """Start the iterations of one step; nominal values (m,) are in the units of the signals."""
        ...

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        """The largest |found − x| of each signal that passes, in its unit; inf where signals are not judged one by one.

        All (m,).
        """
        ...


@dataclass(frozen=True, slots=True)
class Absolute:
    """Every |found − x| is at most the limit, in the unit of its signal."""

    limit: float

    @property
    def name(self) -> str:
        return f"absolute {self.limit:g}"

    def begin(self, nominal: Floats) -> Judge:
        return lambda x, change: float(np.abs(change).max()) / self.limit

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.full_like(x, self.limit)


@dataclass(frozen=True, slots=True)
class Relative:
    """Every |found − x| is at most limit · max(|x|, nominal)."""

    limit: float

    @property
    def name(self) -> str:
        return f"relative {self.limit:g}"

    def begin(self, nominal: Floats) -> Judge:
        return lambda x, change: float((np.abs(change) / (self.limit * np.maximum(np.abs(x), nominal))).max())

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.asarray(self.limit * np.maximum(np.abs(x), nominal))


@dataclass(frozen=True, slots=True)
class ResidualRelative:
    """‖found − x‖ has become `limit` of what it was at the first guess, or what rounding leaves; 2-norm in nominal
    values.

    References
    ----------
    Uekermann 2016, "Partitioned fluid-structure interaction on massively parallel systems", §3.5.
    """

    limit: float

    @property
    def name(self) -> str:
        return f"residual-relative {self.limit:g}"

    def begin(self, nominal: Floats) -> Judge:
        first: list[float] = []

        def judge(x: Floats, change: Floats) -> float:
            size = float(np.linalg.norm(change / nominal))
            first.append(size)
            # A first guess that is exact cannot be improved, for example at rest.
            rounding = ROUNDING * float(np.linalg.norm(np.maximum(np.abs(x) / nominal, 1.0)))
            return size / max(self.limit * first[0], rounding)

        return judge

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.full_like(x, np.inf)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Several measures that must all be met."""

    measures: tuple[Measure, ...]

    @property
    def name(self) -> str:
        return " and ".join(measure.name for measure in self.measures)

    def begin(self, nominal: Floats) -> Judge:
        judges = [measure.begin(nominal) for measure in self.measures]
        if len(judges) == 1:
            return judges[0]
        # Each is asked, so that each sees every iterate; max() of Python would drop a nan.
        return lambda x, change: float(np.max([judge(x, change) for judge in judges]))

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.asarray(np.min([measure.allowed(x, nominal) for measure in self.measures], axis=0))


DEFAULT_TOLERANCE = 1e-8
SINGLE_TOLERANCE = 1e-5
"""Tolerance of signals of type Float32."""


@dataclass(frozen=True, slots=True)
class FixedCount:
    """A fixed number of iterations per step, without a convergence measure.

    Some solvers of flows and structures offer nothing but a number of outer corrections. Values that are not finite
    never pass. A larger change than `limit` in the last iteration, relative to the size of a signal, is no convergence.
    """

    count: int
    limit: float = DEFAULT_TOLERANCE

    @property
    def name(self) -> str:
        return f"none, after {counted(self.count, 'iteration')}"

    def begin(self, nominal: Floats) -> Judge:
        done = itertools.count(1)
        return lambda x, change: self.count / next(done) if np.all(np.isfinite(change)) else np.nan

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        return np.asarray(self.limit * np.maximum(np.abs(x), nominal))


MEASURES: Mapping[MeasureName, Callable[[float], Measure]] = {
    MeasureName.ABSOLUTE: Absolute,
    MeasureName.RELATIVE: Relative,
    MeasureName.RESIDUAL_RELATIVE: ResidualRelative,
}


def choose_measure(settings: Settings, *, single: bool) -> tuple[Measure, str]:
    """The measure that was asked for, else a relative one, and why; `single`: some signals are of type Float32.

    Raises
    ------
    WrongValue
        A measure of this name does not exist, or its limit is not positive.
    """
    measures = list(_measures(settings))
    if not measures and single:
        return Relative(SINGLE_TOLERANCE), "signals of type Float32"
    if not measures:
        return Relative(DEFAULT_TOLERANCE), "default"
    return measures[0] if len(measures) == 1 else AllOf(tuple(measures)), ASKED


def _measures(settings: Settings) -> Iterator[Measure]:
    """`tolerance` is the short way to state a relative one."""
    limits: dict[str, float] = {} if settings.tolerance is None else {MeasureName.RELATIVE: settings.tolerance}
    for name, limit in (limits | dict(settings.convergence)).items():
        if name not in list(MeasureName):
            raise WrongValue(f"convergence must be one of {', '.join(MeasureName)}; found {name!r}")
        if not 0 < limit < float("inf"):
            raise WrongValue(f"the {name} limit of convergence must be positive, found {limit:g}")
        yield MEASURES[MeasureName(name)](limit)


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

TRIED = 3
"""After so many steps in a row that a method has not done, the next one is taken at once."""


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
        The largest change of each iterate, and its excess.
    """

    def __init__(self, measure: Measure, nominal: Floats, floor: float = 0.0) -> None:
        self.excess = np.inf
        self.noisy = False
        self.first = self.last = self.least = np.inf
        self.best, self.change = np.zeros_like(nominal), np.full_like(nominal, np.nan)
        self.worst = self.last_worst = 0
        self.judged: list[tuple[float, float]] = []
        self._judge = measure.begin(nominal)
        self._nominal = nominal
        self._counted = isinstance(measure, FixedCount)
        self._floor = floor
        self.noise = 0.0
        self.probed = False
        self.grows = False
        self._first = self._smallest = np.inf  # in nominal values
        self._leasts: list[float] = []

    def reached(self, x: Floats, found: Floats) -> bool:
        """True if the measure is met, or the remaining change is below the last digit."""
        self.excess = self._judge(x, found - x)
        done = self.excess <= 1.0
        if not self._counted and (done or same(x, found)):
            return True
        change = np.abs(found - x) / np.maximum(np.abs(x), self._nominal)
        worst = int(np.argmax(change))
        self.last, self.last_worst = float(change[worst]), worst
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

    @property
    def is_noise(self) -> bool:
        """True if noise explains the remaining change at the best iterate."""
        return self.noise > 0.0 and self.least <= min(NOISE_MARGIN * self.noise, NOISE_LIMIT)

    @property
    def stagnates(self) -> bool:
        """True if the change has stopped falling."""
        before = self._leasts[: -WINDOW or None]
        return not self._counted and bool(before) and self.least > FALL * before[-1]


@dataclass(slots=True)
class UnconvergedSteps:
    """Steps of a group that were done although their iteration did not converge.

    Attributes
    ----------
    floor
        The largest change that is known to be noise.
    noisy, level, signal, time
        Steps that were accepted at the noise of the FMUs; the largest change left in one, of which signal, and the
        start of that step [s].
    damped, unrepeated
        Steps that were done with stronger damping, and without repetition.
    damped_from, unrepeated_from
        The start of the first one [s].
    unconverged
        Steps of a fixed number of iterations that had not converged, and the worst of them.
    failed, failed_damped
        Steps in a row in which the method of choice, and stronger damping, did not converge.
    """

    floor: float = 0.0
    noisy: int = 0
    level: float = 0.0
    signal: str = ""
    time: float = 0.0
    damped: int = 0
    damped_from: float = 0.0
    unrepeated: int = 0
    unrepeated_from: float = 0.0
    failed: int = 0
    failed_damped: int = 0
    unconverged: Unconverged = NONE_UNCONVERGED

    def note_unconverged(self, one: Unconverged) -> None:
        self.unconverged = self.unconverged.beside(one)

    def note_noise(self, t: float, level: float, signal: str) -> None:
        self.noisy += 1
        if level > self.level:
            self.level, self.signal, self.time = level, signal, t

    def note_damped(self, t: float) -> None:
        self.damped_from = self.damped_from if self.damped else t
        self.damped += 1
        self.failed_damped = 0

    def note_unrepeated(self, t: float) -> None:
        self.unrepeated_from = self.unrepeated_from if self.unrepeated else t
        self.unrepeated += 1
        self.failed_damped += 1

    def remarks(self, names: tuple[str, ...]) -> Iterator[str]:
        who = ", ".join(names)
        if self.noisy:
            yield (
                f"{_steps(self.noisy)} of {who} stagnated at the noise of the FMUs and were accepted: "
                f"{self.signal} changed by up to {self.level:.2g} of its size (step from t = {self.time:.6g} s)"
            )
        if self.damped:
            yield (
                f"{_steps(self.damped)} of {who} did not converge and were repeated with stronger damping, the first "
                f"from t = {self.damped_from:.6g} s"
            )
        if self.unrepeated:
            yield (
                f"{_steps(self.unrepeated)} of {who} did not converge and were done without iterations, with "
                f"extrapolated inputs, the first from t = {self.unrepeated_from:.6g} s; compare with a smaller step "
                "size"
            )
        if self.unconverged.steps:
            yield self.unconverged.text(who)

    def save_state(self) -> SavedState:
        return {"settled": np.array([self.floor, self.failed, self.failed_damped])}

    def restore_state(self, state: SavedState) -> None:
        floor, failed, failed_damped = state["settled"].tolist()
        self.floor, self.failed, self.failed_damped = floor, int(failed), int(failed_damped)


def settled_of(known: dict[tuple[str, ...], UnplannedSteps], names: tuple[str, ...]) -> UnconvergedSteps:
    """Counts of the group of these names, which outlast a restart of the master."""
    found = known.setdefault(names, UnconvergedSteps())
    assert isinstance(found, UnconvergedSteps)
    return found


def _steps(count: int) -> str:
    return counted(count, "macro step")


MISSES, MISSES_WITHIN = 5, 50
"""Number of steps in which plain iteration may fail, within this number of steps, before it is skipped."""


class PlainIterationSwitch:
    """Decides when a step skips plain iterations: its first iterates are passed on without acceleration while that
    converges.

    Attributes
    ----------
    given_up
        True if plain iteration failed in several of the last steps.
    """

    def __init__(self, plain_iterations: int) -> None:
        self.given_up = plain_iterations == 1
        self._plain_iterations = plain_iterations
        self._misses: deque[float] = deque(maxlen=MISSES)

    def goes_on_plainly(self, iteration: int, t: float, h: float) -> bool:
        """After an iteration of the step of size h [s] from t [s] whose values do not agree."""
        if not self.given_up and iteration == self._plain_iterations:
            self._misses.append(t)
            within = t - self._misses[0] < MISSES_WITHIN * h
            self.given_up = len(self._misses) == MISSES and within
            return False
        return not self.given_up and iteration < self._plain_iterations

    def save_state(self) -> SavedState:
        return {"cautious": np.array(self.given_up), "misses": np.array(self._misses, dtype=float)}

    def restore_state(self, state: SavedState) -> None:
        self.given_up = bool(state["cautious"])
        self._misses.extend(state["misses"].tolist())
