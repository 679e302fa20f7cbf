"""Accuracy of a run: its error, estimated from the differences between runs of ever finer steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf, log2

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.trace import NUMBERED, Column, Floats, Trace, as_doubles, from_content

LEAST_ORDER = 0.5
"""Order below which differences do not count as falling."""

ASSUMED_ORDER = 1.0
"""Order of which an error is assumed to be where none was observed: the lowest of all methods."""

LARGE = 0.1
"""Difference, relative to the range, above which an observed order says nothing of smaller steps."""

ROUNDING = 1e-12
"""Range relative to the size of a signal, and difference relative to its range, that rounding may cause."""


TOO_LARGE = "the steps are too large for a reliable estimate"
UNSEEN = "the results do not depend on the step, so there is no coupling error; errors inside the FMUs are not seen"


class AccuracyMethod(StrEnum):
    """Origin of the estimated error of a run."""

    HALVED = "halved"
    TOLERANCE = "tolerance"
    NOT_CHECKED = "not checked"


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
        Origin of the estimate: `halved` (macro steps), `tolerance` (of the ODE integrator) or `not checked`.
    steps
        Macro steps [s], or tolerances, of the runs that were compared; the first is that of the run.
    remark
        Reason for a missing check, or a limit of the estimate.
    """

    error: float | None = None
    signal: str = ""
    time: float | None = None
    order: float | None = None
    method: AccuracyMethod = AccuracyMethod.NOT_CHECKED
    steps: tuple[float, ...] = ()
    remark: str = ""

    @property
    def asked(self) -> bool:
        """True unless nobody asked for it, or the run failed."""
        return self != UNCHECKED

    def __str__(self) -> str:
        if self.method is AccuracyMethod.NOT_CHECKED:
            return "; ".join(filter(None, (str(self.method), self.remark)))
        if self.error is None:
            return f"not known ({self._compared()}); {self.remark}"
        return "; ".join(self._parts(self.error))

    def _parts(self, error: float) -> Iterator[str]:
        what = "coupling error " if self.method is AccuracyMethod.HALVED else ""
        where = f" of the range of {self.signal} at {self.time:.6g} s" if self.signal else ""
        yield f"{what}{_size(error)}{where} ({self._compared()})"
        if self.remark:
            yield self.remark
        elif self.method is AccuracyMethod.HALVED and self.order is not None:
            times = 10 ** (1 / self.order)
            yield f"`--step-size {self.steps[0] / times:.2g}` for a tenth of it takes about {times:.0f} × longer"

    def _compared(self) -> str:
        """Steps or tolerances that were compared, and the observed order."""
        *others, last = (f"{step:.4g}" for step in self.steps)
        order = "" if self.order is None else f"; order {self.order:.1f}"
        if self.method is AccuracyMethod.TOLERANCE:
            return f"tolerances {', '.join(others)} and {last}{order}"
        return f"steps of {', '.join(others)} and {last} s{order}"


def _size(error: float) -> str:
    """One digit of an error: a share of the range, in percent if it is not tiny."""
    if error <= ROUNDING:
        return f"below {ROUNDING:.0e}"
    return f"{error:.0e}".replace("e-0", "e-") if error < 1e-3 else f"{float(f'{100 * error:.1g}'):g} %"


UNCHECKED = Accuracy()
"""Accuracy of a run of which nobody asked for it, or that failed."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """Difference of a signal between two runs: its largest size, relative to the range, and when [s]."""

    size: float
    time: float
    remark: str = ""


def estimated(traces: Sequence[Trace], method: AccuracyMethod, steps: Sequence[float], spacing: float) -> Accuracy:
    """Estimate the error of the first of several traces.

    Parameters
    ----------
    traces
        Traces (at least two) with the same columns, of runs with these `steps` (or tolerances), each half of the one
        before, or less.
    spacing : [s]
        Macro step of the first run: times count as equal within a billionth of it.

    References
    ----------
    Richardson 1911, "The approximate arithmetical solution by finite differences of physical problems"; Roache 1998,
    "Verification and validation in computational science and engineering", §5 (observed order of three solutions).
    """
    base, *finer = traces
    rows = [_rows_at(base.t, trace, spacing) for trace in finer]
    compared = np.append(base.t[1:] > base.t[:-1], True) & np.logical_and.reduce([found >= 0 for found in rows])
    if not compared.any():
        return Accuracy(method=method, steps=tuple(steps), remark="the runs have no time in common")
    t = base.t[compared]
    cells = [base.cells[compared], *(one.cells[at[compared]] for one, at in zip(finer, rows, strict=True))]
    worst = Accuracy(0.0, method=method, steps=tuple(steps))
    for place, column in enumerate(base.columns):
        values = [_numbers(column, one[:, place], trace) for one, trace in zip(cells, traces, strict=True)]
        found = _of_signal(column, t, values)
        if found.error is not None and worst.error is not None and found.error > worst.error:
            worst = Accuracy(found.error, column.signal, found.time, found.order, method, tuple(steps), found.remark)
    if method is AccuracyMethod.HALVED and worst.error is not None and worst.error <= ROUNDING:
        return Accuracy(method=method, steps=tuple(steps), remark=UNSEEN)
    return worst


def _of_signal(column: Column, t: Floats, values: Sequence[Floats]) -> Accuracy:
    """Error of a signal with these values (n,) in each run, the last being the finest."""
    pairs = pairwise(values)
    if column.held and not column.real:
        first, *others = (_switches(t, *pair) for pair in pairs)
    else:
        scale = next(filter(None, map(_range, reversed(values))), 0.0)
        first, *others = (_distance(t, *pair, scale) for pair in pairs)
    if first.size <= ROUNDING or first.remark:
        return Accuracy(first.size, "", first.time, remark=first.remark)
    order = log2(first.size / others[0].size) if others and 0 < others[0].size < inf > first.size else None
    if first.size > LARGE:
        remark, falling = TOO_LARGE, min(order or ASSUMED_ORDER, ASSUMED_ORDER)
    else:
        remark, falling = "", ASSUMED_ORDER if order is None else order
    if order is not None and order < LEAST_ORDER:
        remark, falling = "it does not fall with smaller steps", LEAST_ORDER
    return Accuracy(first.size / (1 - 2**-falling), "", first.time, order, remark=remark)


def _range(values: Floats) -> float:
    """Distance of the largest and the smallest finite value; 0 if rounding may cause it."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0
    apart = float(finite.max() - finite.min())
    return apart if apart > ROUNDING * np.abs(finite).max() else 0.0


def _numbers(column: Column, cells: Floats, trace: Trace) -> Floats:
    """Values (n,) of a signal as numbers that compare between traces; texts and bytes by their hash."""
    if column.type not in NUMBERED:
        return as_doubles(np.ascontiguousarray(cells[:, None]), [column.type])[:, 0]
    numbers = np.ascontiguousarray(cells).view(np.int64).tolist()
    hashes = (hash(from_content(trace.contents[number], column.type)) for number in numbers)
    return np.array([float(one >> 12) for one in hashes])


def _rows_at(t: Floats, trace: Trace, spacing: float) -> NDArray[np.intp]:
    """The last row (n,) of a trace at each of these times (n,) [s]; −1 where it has none."""
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


def _switches(t: Floats, one: Floats, other: Floats) -> _Difference:
    """Largest shift of a switch, relative to the interval; 1 if there are other switches."""
    before, after = (np.flatnonzero(values[1:] != values[:-1]) + 1 for values in (one, other))
    if one[0] != other[0] or len(before) != len(after) or (one[before] != other[after]).any():
        when = float(t[np.flatnonzero(one != other)[0]])
        return _Difference(1.0, when, f"it switches {len(before)} times, with smaller steps {len(after)} times")
    shifts = np.abs(t[before] - t[after])
    if not shifts.any():
        return _Difference(0.0, float(t[0]))
    worst = int(np.argmax(shifts))
    return _Difference(float(shifts[worst] / (t[-1] - t[0])), float(t[before[worst]]))
