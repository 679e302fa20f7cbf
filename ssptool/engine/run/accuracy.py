"""Accuracy of a run: its error, estimated from differences between runs with smaller and smaller steps."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from math import inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.trace import NUMBERED, Column, Floats, Trace, as_doubles, from_content

LEAST_FALL = sqrt(2)
"""Ratio of consecutive differences below which they do not count as decreasing: order 0.5 in the step."""

ASSUMED_FALL = 2.0
"""Assumed ratio if none was observed: order 1 in the step, the lowest of all methods."""

LARGE = 0.1
"""Difference, relative to the range, above which an observed order does not apply to smaller steps."""

AT_ONCE = 1e-6
"""Fraction of a macro step within which an event of one run counts as at a communication point of another."""

ROUNDING = 1e-12
"""Range relative to the size of a signal, and difference relative to its range, that can be rounding."""


SMALLEST = 1e-3
"""Smallest jump that is examined, relative to the range of the signal."""

OUTSTANDING = 2.0
"""Smallest ratio of a jump to the changes in the steps before and after it."""

MOST_JUMPS = 100
"""Largest number of jumps that are examined; if there are more, they are evenly selected."""

HALVINGS = 16
"""Number of communication points before each jump; each is half as far away as the one before."""


APART = 1e3
"""Growth of a signal over its start and nominal value, and ratio to its size with finer steps, from which on a run has
blown up.
"""

NOT_FALLING = "it does not fall with smaller steps"

_OPTION = re.compile(r"`--([a-z-]+) ([^` ]+)`")


class AccuracyLimit(StrEnum):
    """Limit of an error estimate that decides what follows from it; the remark explains it."""

    NONE = ""
    UNSEEN = "unseen"
    """The results do not depend on the step."""
    LATE = "late"
    """All runs notice a jump late; the estimate contains it."""
    PERHAPS_LATE = "perhaps late"
    """All runs may notice a jump late; the delay may cost more than the estimate."""
    TOO_LARGE = "too large"
    """The steps are too large for a reliable estimate."""
    INSIDE = "inside"
    """The error is inside the FMUs, so that smaller steps do not reduce it."""
    OWN_GRID = "own grid"
    """An output changes on a grid of its FMU only; if the FMU integrates on it, the error of that is not seen."""


_REMARKS = {
    AccuracyLimit.UNSEEN: "the results do not depend on the step, so there is no coupling error; errors inside the "
    "FMUs are not seen",
    AccuracyLimit.TOO_LARGE: "the steps are too large for a reliable estimate",
    AccuracyLimit.INSIDE: "more than smaller steps show: it is inside the FMUs; `--implementation me` has none of it",
}
"""Remarks that follow from the limit alone."""


class AccuracyMethod(StrEnum):
    """Origin of the error estimate of a run."""

    HALVED = "halved"
    MODEL_EXCHANGE = "model exchange"
    ADAPTIVE = "adaptive"
    TOLERANCE = "tolerance"
    NOT_CHECKED = "not checked"

    @property
    def is_of_coupling(self) -> bool:
        """True if the compared runs differ in their macro steps, so that errors inside FMUs may be the same in all."""
        return self in (AccuracyMethod.HALVED, AccuracyMethod.ADAPTIVE)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Estimated error of a run.

    Attributes
    ----------
    error
        Largest error of all recorded signals at communication points, relative to the range of the signal; of signals
        that switch, the largest shift of a switch relative to the interval, or 1 if the number of switches changes.
        None: not known.
    signal, time
        Signal with the largest error, and when [s].
    order
        Observed order of convergence of this signal; None: not observed.
    method
        Origin of the estimate: `halved` (macro steps), `adaptive` (tolerance of adaptive steps), `model exchange` (all
        components integrated as one ODE, which also shows errors inside FMUs), `tolerance` (of the ODE integrator) or
        `not checked`.
    steps
        Macro steps [s], or tolerances, of the runs that were compared; the first is that of the run.
    remark
        Reason for a missing check, or a limit of the estimate (default: the words for `limit`).
    limit
        Kind of this limit, if the use of the estimate depends on it.
    wanted
        Requested error; None: no error was requested.
    errors
        Error of each recorded signal, relative to its own range (or to the interval, if it switches). Signals with an
        error of at most 1e-12 are omitted; empty if the error is not known.
    blown_up
        True if the coupling is unstable with these steps: a signal that has grown is larger than in finer runs by
        orders of magnitude, or smaller.
    default
        Text on the error of the default step, if a finer one was chosen instead.
    """

    error: float | None = None
    signal: str = ""
    time: float | None = None
    order: float | None = None
    method: AccuracyMethod = AccuracyMethod.NOT_CHECKED
    steps: tuple[float, ...] = ()
    remark: str = ""
    wanted: float | None = None
    errors: Mapping[str, float] = field(default_factory=dict, hash=False)
    blown_up: bool = False
    default: str = ""
    limit: AccuracyLimit = AccuracyLimit.NONE

    def __post_init__(self) -> None:
        if not self.remark:
            object.__setattr__(self, "remark", _REMARKS.get(self.limit, ""))

    @property
    def asked(self) -> bool:
        """True if an accuracy check was requested and the run did not fail."""
        return self != UNCHECKED

    @property
    def met(self) -> bool:
        """True if the error is at most the requested one, or if no error was requested."""
        return is_within(self.wanted, self.error, self.limit)

    def __str__(self) -> str:
        if self.method is AccuracyMethod.NOT_CHECKED:
            return "; ".join(filter(None, (str(self.method), self.remark)))
        if self.error is None:
            return f"not known ({self._compared()}); {self.remark}"
        return "; ".join([f"{self._worst(self.error)} ({self._compared()})", *self._remarks()])

    def brief(self) -> str:
        """Short text: the error and limits of its estimate, without the compared steps."""
        if self.method is AccuracyMethod.NOT_CHECKED:
            return str(self)
        known = "not known" if self.error is None else self._worst(self.error)
        asked = f"asked for: {self.wanted:g}" if self.wanted is not None else ""
        return "; ".join(filter(None, (known, self.remark or asked, self.default)))

    def finer(self) -> str | None:
        """Macro step for a tenth of the error, if the observed order determines one."""
        if self.error is None or self.remark or self.wanted is not None or self.order is None:
            return None
        return f"{self.steps[0] / self._times():.2g}" if self.method is AccuracyMethod.HALVED else None

    def told(self, option: Callable[[str, str], str]) -> str:
        """The full text; `option` (name, value) formats each option of the command line."""
        return _OPTION.sub(lambda found: option(found[1], found[2]), str(self))

    def _worst(self, error: float) -> str:
        what = "coupling error " if self.method.is_of_coupling else ""
        where = f" of the range of {self.signal} at {self.time:.6g} s" if self.signal else ""
        return f"{what}{size_of(error)}{where}"

    def _remarks(self) -> Iterator[str]:
        if self.default:
            yield self.default
        if self.remark:
            yield self.remark
        elif self.wanted is not None:
            yield f"asked for: {self.wanted:g}"
        elif (step := self.finer()) is not None:
            yield f"`--step-size {step}` for a tenth of it takes about {self._times():.0f} × longer"

    def _times(self) -> float:
        """Ratio of the step to the step with a tenth of the error."""
        return 10 ** (1 / self.order) if self.order else inf

    def _compared(self) -> str:
        """Text for the compared steps or tolerances, and the observed order."""
        if self.method is AccuracyMethod.MODEL_EXCHANGE:
            return f"steps of {self.steps[0]:.4g} s and model exchange, tolerance {self.steps[1]:.4g}"
        *others, last = (f"{step:.4g}" for step in self.steps)
        order = "" if self.order is None else f"; order {self.order:.1f}"
        if self.method is not AccuracyMethod.HALVED:
            return f"tolerances {', '.join(others)} and {last}{order}"
        return f"steps of {', '.join(others)} and {last} s{order}"


def size_of(error: float) -> str:
    """Text for an error with one digit: a share of the range, in percent if it is not tiny."""
    if error <= ROUNDING:
        return f"below {ROUNDING:.0e}"
    return f"{error:.0e}".replace("e-0", "e-") if error < 1e-3 else f"{float(f'{100 * error:.1g}'):g} %"


class StatedErrors(NamedTuple):
    """Errors in the manifest of a run, relative to the range of each signal.

    `largest` is the error of the worst signal, `each` contains the errors above rounding; None: only the largest is
    known.
    """

    largest: float
    each: Mapping[str, float] | None = None

    def of(self, signal: str) -> float:
        return self.largest if self.each is None else self.each.get(signal, 0.0)

    def largest_of(self, signals: Iterable[str]) -> float:
        """The largest error of some signals; 0 for none."""
        return max(map(self.of, signals), default=0.0)

    def without_prefix(self, prefix: str) -> "StatedErrors":
        """The errors with this prefix removed from the names of signals."""
        if self.each is None:
            return self
        return self._replace(each={signal.removeprefix(prefix): error for signal, error in self.each.items()})

    def band(self, signals: Iterable[str]) -> str:
        """Explanation of the bands around some signals, such as those in a plot; empty if they have none."""
        largest = self.largest_of(signals)
        if not largest:
            return ""
        if self.each is None:
            return f"estimated error of the worst signal, {size_of(largest)} of the range of each"
        return f"estimated error of each signal, at most {size_of(largest)} of its range"


def stated_errors(manifest: Mapping[str, Any]) -> StatedErrors | None:
    """The estimated errors of a run from its manifest; None if it contains none."""
    accuracy = manifest.get("accuracy", {})
    error = accuracy.get("error")
    return StatedErrors(float(error), accuracy.get("errors")) if isinstance(error, int | float) else None


def is_within(wanted: float | None, error: float | None, limit: AccuracyLimit) -> bool:
    """True if an estimated error with this limit is at most the requested one, or if none is requested. A run that does
    not depend on its steps has no error. If a jump may be noticed late, the delay may cost more than the estimate.
    """
    if wanted is None or limit is AccuracyLimit.UNSEEN:
        return True
    return limit is not AccuracyLimit.PERHAPS_LATE and error is not None and error <= wanted


UNCHECKED = Accuracy()
"""Accuracy of a run that failed or was not checked."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """Difference of a signal between two runs: the largest value, relative to the range, and its time [s]."""

    size: float
    time: float
    remark: str = ""


def estimated(traces: Sequence[Trace], method: AccuracyMethod, steps: Sequence[float], spacing: float) -> Accuracy:
    """Estimate the error of the first of several traces.

    Parameters
    ----------
    traces
        Traces (at least two) with the same columns, of runs with these `steps` (or tolerances), each the same fraction
        of the previous one; for model exchange two traces, the second of which counts as exact.
    spacing : [s]
        Macro step of the first run: times count as equal within a billionth of it.

    References
    ----------
    Richardson 1911, "The approximate arithmetical solution by finite differences of physical problems"; Roache 1998,
    "Verification and validation in computational science and engineering", §5 (observed order of three solutions).
    """
    base, *finer = traces
    rows = [rows_at(base.t, trace, spacing) for trace in finer]
    compared = np.append(base.t[1:] > base.t[:-1], True) & np.logical_and.reduce([found >= 0 for found in rows])
    if not compared.any():
        return Accuracy(method=method, steps=tuple(steps), remark="the runs have no time in common")
    t = base.t[compared]
    common = [np.flatnonzero(compared), *(at[compared] for at in rows)]
    worst, errors = Accuracy(0.0, method=method, steps=tuple(steps)), {}
    exact = method is AccuracyMethod.MODEL_EXCHANGE
    for place, column in enumerate(base.columns):
        values = [numbers_of(column, trace.cells[:, place], trace) for trace in traces]
        at_points = [one[at] for one, at in zip(values, common, strict=True)]
        if column.held and not column.real:
            found = _of_switches(t, at_points, [trace.t for trace in traces], values, inf if exact else ASSUMED_FALL)
        elif exact:
            scale = extent(values[1]) or extent(values[0])
            found = _of_exact(t, at_points[0], *_around(t, traces[1].t, values[1], spacing), scale)
        else:
            found = _of_real(t, at_points, steps[0] / steps[1])
        if found.error is not None and found.error > ROUNDING:
            errors[column.signal] = found.error
        if found.error is not None and worst.error is not None and found.error > worst.error:
            worst = replace(found, signal=column.signal, method=method, steps=tuple(steps))
    if method.is_of_coupling and worst.error is not None and worst.error <= ROUNDING:
        return Accuracy(method=method, steps=tuple(steps), limit=AccuracyLimit.UNSEEN)
    return replace(worst, errors=errors)


def with_larger(found: Accuracy, other: Accuracy, ratio: float = 1.0) -> Accuracy:
    """The accuracy `found`, in which errors are replaced by those of `other` if these are more than `ratio` times as
    large; no error exceeds that of the worst signal.
    """
    most = inf if found.error is None else found.error
    larger = {
        signal: min(error, most)
        for signal, error in other.errors.items()
        if error > ratio * found.errors.get(signal, 0.0)
    }
    return replace(found, errors={**found.errors, **larger})


def growth(trace: Trace, nominal: Mapping[str, float]) -> dict[int, tuple[float, float]]:
    """Continuous signals, by column, that grow to more than APART times their start and their nominal value: how many
    times, and to which size.
    """
    found: dict[int, tuple[float, float]] = {}
    for place, column in enumerate(trace.columns):
        if not column.real or column.held or not len(trace.t):
            continue
        values = np.abs(numbers_of(column, trace.cells[:, place], trace))
        size, before = float(values.max()), max(float(values[0]), abs(nominal.get(column.signal, 1.0)))
        if size > APART * before:
            found[place] = size / before, size
    return found


def grown_apart(traces: Sequence[Trace], nominal: Mapping[str, float], step: str, *, failed: bool) -> Accuracy | None:
    """The accuracy of the first of several traces if it has blown up: of a signal that has grown, the size in a finer
    run differs by orders of magnitude, or is infinite because the finer run has `failed` with it. `step` is the step of
    that run in words.
    """
    base = traces[0]
    for place, (_, size) in growth(base, nominal).items():
        column = base.columns[place]
        values, *others = (np.abs(numbers_of(column, one.cells[:, place], one)) for one in traces)
        sizes = [float(one.max()) for one in others]
        if failed or any(not size / APART < one < size * APART for one in sizes):
            ends = "the run fails" if failed else f"to {sizes[-1]:.2g}"
            growth_here = f"{column.signal} grows to {size:.2g}, and with {step} {ends}"
            return Accuracy(
                signal=column.signal,
                time=float(base.t[np.flatnonzero(values > size / APART)[0]]),
                remark=f"the coupling is unstable with these steps: {growth_here}",
                blown_up=True,
            )
    return None


def _of_exact(t: Floats, values: Floats, least: Floats, most: Floats, scale: float) -> Accuracy:
    """Error, relative to `scale`, of values (n,), given the limits of the exact values: at an event, both sides are
    valid.
    """
    with np.errstate(invalid="ignore"):
        nearest = np.where(np.isfinite(values), np.clip(values, least, most), least)
    found = _distance(t, values, nearest, scale)
    return Accuracy(found.size, "", found.time, remark=found.remark)


def _around(t: Floats, times: Floats, values: Floats, spacing: float) -> tuple[Floats, Floats]:
    """The smallest and the largest of the values (n,) of a run at `times` (n,) at each of the times `t`."""
    near = AT_ONCE * spacing
    begin = np.searchsorted(times, t - near, side="left")
    end = np.maximum(np.searchsorted(times, t + near, side="right"), begin + 1)
    edges = np.minimum(np.column_stack([begin, end]).ravel(), len(times))
    padded = np.append(values, values[-1:])  # the upper edge may lie after the last value
    least, most = (of.reduceat(padded, edges)[::2] for of in (np.minimum, np.maximum))
    return least, most


def _of_real(t: Floats, values: Sequence[Floats], ratio: float) -> Accuracy:
    """Error of a signal with these values (n,) in each run; the steps of each run are smaller by `ratio`."""
    scale = next(filter(None, map(extent, reversed(values))), 0.0)
    first, *others = found = [_distance(t, *pair, scale) for pair in pairwise(values)]
    worst = max(found, key=lambda one: one.size)
    if worst.size <= ROUNDING or first.remark:
        return Accuracy(first.size, "", first.time, remark=first.remark)
    fall = first.size / others[0].size if others and 0 < others[0].size < inf > first.size > 0 else None
    order = None if fall is None else log(fall) / log(ratio)
    if first.size < worst.size:  # for example, two runs see a jump at the same time, and a finer run earlier
        return Accuracy(worst.size / (1 - 1 / LEAST_FALL), "", worst.time, order, remark=worst.remark or NOT_FALLING)
    remark, limit, falling = "", AccuracyLimit.NONE, ASSUMED_FALL if fall is None else fall
    if fall is not None and fall < LEAST_FALL:
        remark, falling = NOT_FALLING, LEAST_FALL
    elif first.size > LARGE:
        limit, falling = AccuracyLimit.TOO_LARGE, min(falling, ASSUMED_FALL)
    return Accuracy(first.size / (1 - 1 / falling), "", first.time, order, remark=remark, limit=limit)


def extent(values: Floats) -> float:
    """Difference of the largest and the smallest finite value; 0 if it can be rounding."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0
    apart = float(finite.max() - finite.min())
    return apart if apart > ROUNDING * np.abs(finite).max() else 0.0


def numbers_of(column: Column, cells: Floats, trace: Trace) -> Floats:
    """Values (n,) of a signal as numbers that are comparable between traces; strings and bytes by their hash."""
    if column.type not in NUMBERED:
        return as_doubles(np.ascontiguousarray(cells[:, None]), [column.type])[:, 0]
    numbers = np.ascontiguousarray(cells).view(np.int64).tolist()
    hashes = (hash(from_content(trace.contents[number], column.type)) for number in numbers)
    return np.array([float(one >> 12) for one in hashes])


def rows_at(t: Floats, trace: Trace, spacing: float) -> NDArray[np.intp]:
    """The last row (n,) of a trace at each of these times (n,) [s]; −1 if it has none."""
    near = 1e-9 * spacing + 4 * np.spacing(np.abs(t))
    last = np.searchsorted(trace.t, t + near, side="right") - 1
    return np.where((last >= 0) & (np.abs(trace.t[last] - t) <= near), last, -1)


def _distance(t: Floats, one: Floats, other: Floats, scale: float) -> _Difference:
    """Largest distance, relative to `scale`. Equal values that are not finite agree."""
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    apart = np.zeros(len(t))
    with np.errstate(invalid="ignore"):
        np.subtract(one, other, out=apart, where=~same)
    if len(broken := np.flatnonzero(~np.isfinite(apart))):
        return _Difference(inf, float(t[broken[0]]), "a value is not finite in one of the runs")
    worst = int(np.argmax(np.abs(apart)))
    return _Difference(float(abs(apart[worst]) / scale) if scale else 0.0, float(t[worst]))


def _of_switches(
    t: Floats, at_points: Sequence[Floats], times: Sequence[Floats], values: Sequence[Floats], fall: float
) -> Accuracy:
    """Error of the times of switches, relative to the interval; 1 if the switches at communication points differ.

    `at_points` are the values (n,) of each run at the common times `t` (n,) [s]; `values` those at all its `times`. The
    true time of a switch lies between two rows, so their distance in the finest run limits the accuracy. Errors
    decrease from run to run by the ratio `fall`; if that is infinite, the last run is exact.
    """
    base, *finer = at_points
    before = _switches(base)
    for other in finer:
        after = _switches(other)
        if base[0] != other[0] or len(before) != len(after) or (base[before] != other[after]).any():
            when = float(t[np.flatnonzero(base != other)[0]])
            otherwise = "as model exchange" if fall == inf else "with smaller steps"
            told = f"it switches {len(before)} times, {otherwise} {len(after)} times"
            return Accuracy(1.0, "", when, remark=told)
    if not len(before):
        return Accuracy(0.0)
    found = [_switches(one) for one in values]
    if len({len(one) for one in found}) > 1:  # there are different switches between the common times
        found, times = [_switches(one) for one in at_points], [t] * len(at_points)
    own, *others = (moments[at] for moments, at in zip(times, found, strict=True))
    shifts = np.max([np.abs(own - one) for one in others], axis=0)
    unresolved = times[-1][found[-1]] - times[-1][found[-1] - 1]
    errors = np.maximum(shifts / (1 - 1 / fall), unresolved)
    worst = int(np.argmax(errors))
    return Accuracy(float(errors[worst] / (t[-1] - t[0])), "", float(own[worst]))


def _switches(values: Floats) -> NDArray[np.intp]:
    """Numbers of the rows at which the value differs from the row before."""
    return np.flatnonzero(values[1:] != values[:-1]) + 1


# -- jumps between communication points: runs with several step sizes may all notice them late, at the same point. A
# further run has points at decreasing distances before each jump. It notices the jump at most twice as early as it
# happens, so its distance is at least half the error.


class Jump(NamedTuple):
    """Jump of a signal that was noticed at a time [s], at the end of a step [s]."""

    time: float
    signal: str
    step: float


def noticed_jumps(traces: Sequence[Trace], spacing: float) -> tuple[Jump, ...]:
    """Jumps of recorded signals, in ascending order, one per time: changes in a single step of the finest (last) trace
    that the coarser traces may have noticed at the same time.

    Jumps with a row on each side are excluded, because their time is known. Times count as equal within a billionth of
    `spacing` [s].
    """
    *coarser, finest = traces
    t = finest.t
    common = np.logical_and.reduce([rows_at(t, trace, spacing) >= 0 for trace in coarser])
    common[:1] = False
    found: dict[int, Jump] = {}
    for place, column in enumerate(finest.columns):
        values = numbers_of(column, finest.cells[:, place], finest)
        switches = column.held and not column.real
        jumps = values[1:] != values[:-1] if switches else _jumps(t, values)
        apart = np.append(False, jumps & (t[1:] > t[:-1]))
        for row in np.flatnonzero(apart & common).tolist():
            found.setdefault(row, Jump(float(t[row]), column.signal, float(t[row] - t[row - 1])))
    rows = sorted(found)
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_JUMPS)).round().astype(int))
    return tuple(found[rows[one]] for one in chosen)


def _jumps(t: Floats, values: Floats) -> NDArray[np.bool_]:
    """True (n − 1,) for each change of continuous values (n,) that is much faster than those before and after it."""
    steps = np.diff(t)
    usual = (t[-1] - t[0]) / max(len(steps), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        changes = np.abs(np.diff(values))
        rates = changes / np.where(steps > 0, steps, usual)
        finite = values[np.isfinite(values)]
        scale = np.ptp(finite) if len(finite) else 0.0
        # No change follows the last one. Of smooth values, it is less than twice the largest of the four before it.
        last = np.max(rates[-5:-1]) if len(rates) > 4 else inf
        before, after = np.append(0.0, rates[:-1]), np.append(rates[1:], last)
        faster = rates >= OUTSTANDING * np.maximum(before, after)
        outstanding: NDArray[np.bool_] = faster & (changes >= SMALLEST * scale) & (changes > 0)
    return outstanding


def first_late(jumps: Sequence[Jump], closer: Trace) -> Jump:
    """The first jump that a run with points at decreasing distances notices earlier, within the last step; otherwise
    the first of all jumps.
    """
    places = {column.signal: place for place, column in enumerate(closer.columns)}
    for jump in jumps:
        place = places[jump.signal]
        values = numbers_of(closer.columns[place], closer.cells[:, place], closer)
        at = np.searchsorted(closer.t, [jump.time - 1.01 * jump.step, jump.time - jump.step * 0.5 ** (HALVINGS + 1)])
        before, last, after = values[[at[0], at[1] - 1, min(at[1], len(values) - 1)]]
        if abs(last - before) > abs(after - last):
            return jump
    return jumps[0]


def points_before(jumps: Sequence[Jump]) -> tuple[float, ...]:
    """Times [s] within the last step before each jump, in ascending order."""
    times, steps = (np.array(values)[:, None] for values in zip(*((one.time, one.step) for one in jumps), strict=True))
    return tuple(np.unique(times - steps * 0.5 ** np.arange(1, HALVINGS + 1)).tolist())
