"""Whether one trace agrees with another, signal by signal."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.columns import NUMBERED
from ssptool.engine.recording.patterns import check_patterns, fits_any
from ssptool.engine.trace import Column, Trace
from ssptool.results.alignment import aligned
from ssptool.results.codes import coded, fits_doubles
from ssptool.results.tolerance import EXACT, Tolerance, ToleranceFor, tolerance_of
from ssptool.results.tube import Curve, Floats, tube


class Verdict(StrEnum):
    AGREES = "agrees"
    DIFFERS = "differs"
    MISSING = "missing"
    OTHER_UNIT = "other unit"
    OTHER_TYPE = "other type"


@dataclass(frozen=True, slots=True)
class SignalComparison:
    """One signal of the reference and what the trace has under its name.

    Attributes
    ----------
    deviation
        Largest distance from the reference at the same time, in the unit of the signal; nan if it was not compared.
    excess
        Largest distance from the tube; 0: it is inside everywhere. inf: a value is not a number, and the other is; or
        texts, or integers that no double can hold, are not equal.
    at [s]
        Where it is outside the most; where it deviates the most, if it is inside.
    first_outside [s]
        Where it leaves the tube for the first time; None: nowhere.
    half_width
        Of the tube in the direction of the values, in the unit of the signal.
    """

    signal: str
    unit: str | None
    verdict: Verdict
    tolerance: Tolerance
    deviation: float = float("nan")
    excess: float = float("nan")
    at: float | None = None
    first_outside: float | None = None
    half_width: float = float("nan")
    remark: str = ""

    @property
    def compared(self) -> bool:
        """Whether there were values to compare."""
        return self.verdict in (Verdict.AGREES, Verdict.DIFFERS)

    @property
    def judgement(self) -> str:
        """The verdict in words."""
        since = f", outside since {self.first_outside:g} s" if self.first_outside is not None else ""
        return self.verdict.value + since


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """A trace against its reference.

    Attributes
    ----------
    signals
        All that were compared, those that agree the least first.
    extra
        Signals of the trace that the reference does not have.
    remarks
        What is wrong with the trace as a whole: each keeps it from agreeing.
    """

    signals: tuple[SignalComparison, ...]
    extra: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not self.remarks and all(one.verdict is Verdict.AGREES for one in self.signals)

    def _repr_html_(self) -> str:
        from ssptool.results.comparison_html import comparison_html  # only notebooks draw a comparison at once

        return comparison_html(self)


class NothingToCompare(ValueError):
    """There are no rows or no signals."""


def compare_traces(
    trace: Trace,
    reference: Trace,
    *,
    patterns: Sequence[str] = (),
    tolerance: Tolerance | None = None,
    special: Sequence[ToleranceFor] = (),
) -> TraceComparison:
    """Compare every signal of the reference with the one of the same name in the trace.

    Units are converted where both are common ones. A signal agrees if it is inside the tube around its reference at all
    times of both. Signals of type Float64 and Float32 are lines between their samples, if they are not discrete; all
    others are held, and must be equal unless a special tolerance says otherwise. Texts are equal or not, whatever the
    tolerance.

    Parameters
    ----------
    patterns
        Only signals that one of them fits; without, all.
    tolerance
        Of continuous signals.
    special
        Tolerances of single signals or patterns; the last that fits counts.

    Raises
    ------
    NothingMatches
        A pattern fits no signal of the reference.
    NothingToCompare
        A trace has no rows, its times go back, or the reference has no signals.
    """
    check_patterns([*patterns, *(one.pattern for one in special)], reference.signals, "signal of the reference")
    if not len(trace) or not len(reference):
        raise NothingToCompare("a trace without rows cannot be compared")
    for name, one in (("trace", trace), ("reference", reference)):
        _check_times(name, one.t)
    alignment = aligned(trace, reference)
    trace, reference = alignment.trace, alignment.reference
    chosen = [c for c in reference.columns if not patterns or fits_any(patterns, c.signal)]
    if not chosen:
        raise NothingToCompare("the reference has no signals")
    default = tolerance or Tolerance()
    results = [
        _signal(trace, reference, column, tolerance_of(column.signal, special, default if column.real else EXACT))
        for column in chosen
    ]
    results = [replace(one, remark=alignment.remarks.get(one.signal, one.remark)) for one in results]
    known = set(reference.signals)
    return TraceComparison(
        signals=tuple(sorted(results, key=_rank)),
        extra=tuple(name for name in trace.signals if name not in known),
        remarks=tuple(_ends(trace, reference, default.time)),
    )


def _check_times(name: str, t: Floats) -> None:
    wrong = np.flatnonzero(~(np.diff(t) >= 0.0))
    if wrong.size:
        row = int(wrong[0])
        raise NothingToCompare(f"the times of the {name} go back: {t[row]:g} s is followed by {t[row + 1]:g} s")


def _ends(trace: Trace, reference: Trace, time: float) -> list[str]:
    """Where the trace does not cover the interval of its reference."""
    slack = time + 1e-9 * max(1.0, abs(float(reference.t[-1])))
    remarks = []
    if trace.t[0] > reference.t[0] + slack:
        remarks.append(f"it begins at {trace.t[0]:g} s, its reference at {reference.t[0]:g} s")
    if trace.t[-1] < reference.t[-1] - slack:
        remarks.append(f"it ends at {trace.t[-1]:g} s, its reference at {reference.t[-1]:g} s")
    return remarks


def _signal(trace: Trace, reference: Trace, wanted: Column, tolerance: Tolerance) -> SignalComparison:
    found = next((column for column in trace.columns if column.signal == wanted.signal), None)

    def verdict(verdict: Verdict, remark: str) -> SignalComparison:
        return SignalComparison(wanted.signal, wanted.unit, verdict, tolerance, remark=remark)

    if found is None:
        return verdict(Verdict.MISSING, _near(wanted.signal, trace.signals))
    if None not in (found.unit, wanted.unit) and found.unit != wanted.unit:
        return verdict(Verdict.OTHER_UNIT, f"it is in {found.unit}, its reference in {wanted.unit}")
    if found.real != wanted.real or (NUMBERED & {found.type, wanted.type} and found.type != wanted.type):
        return verdict(Verdict.OTHER_TYPE, f"it is {found.type}, its reference {wanted.type}")
    values, expected = trace[wanted.signal], reference[wanted.signal]
    held = wanted.held or found.held
    if wanted.type in NUMBERED or (_wants_equal(tolerance) and not (fits_doubles(values) and fits_doubles(expected))):
        return _equal(_Samples(trace.t, values), _Samples(reference.t, expected), wanted, tolerance)
    return _inside(
        Curve(trace.t, values.astype(np.float64), held),
        Curve(reference.t, expected.astype(np.float64), held),
        wanted,
        tolerance,
    )


def _near(signal: str, there: Sequence[str]) -> str:
    """What may have been meant; other tools put the name of the model before all names."""
    for name in there:
        longer, shorter = sorted((signal, name), key=len, reverse=True)
        if longer.endswith("." + shorter):
            return f"it is called {name} there: drop the prefix {longer.removesuffix(shorter)}"
    near = get_close_matches(signal, there, 1)
    return f"did you mean {near[0]}?" if near else ""


def _wants_equal(tolerance: Tolerance) -> bool:
    return tolerance.absolute == tolerance.relative == 0.0


@dataclass(frozen=True, slots=True)
class _Samples:
    """A discrete signal over time: values (n,) of any type."""

    t: Floats
    y: NDArray[Any]

    def at(self, time: float) -> Any:
        last = max(0, int(np.searchsorted(self.t, time, side="right")) - 1)
        return self.y[last : last + 1].tolist()[0]


def _equal(samples: _Samples, reference: _Samples, column: Column, tolerance: Tolerance) -> SignalComparison:
    """As `_inside`, of values that have no difference; where they are not equal the deviation is infinite."""
    found, expected = coded(samples.y, reference.y)
    exact = replace(tolerance, absolute=0.0, relative=0.0)
    one = _inside(Curve(samples.t, found, held=True), Curve(reference.t, expected, held=True), column, exact)
    if one.first_outside is None:
        return replace(one, tolerance=tolerance)
    time = one.first_outside
    remark = f"{samples.at(time)!r} instead of {reference.at(time)!r}"
    return replace(one, tolerance=tolerance, deviation=float("inf"), excess=float("inf"), at=time, remark=remark)


def _inside(curve: Curve, reference: Curve, column: Column, tolerance: Tolerance) -> SignalComparison:
    t, y = _points(curve, reference)
    finite = np.abs(reference.y[np.isfinite(reference.y)])
    half_width = tolerance.width(float(finite.max(initial=0.0)))
    far = tube(reference, t, half_width, tolerance.time).excess(y)
    # At an event either side may be meant: a tube of no width has both.
    deviation = tube(reference, t, 0.0, 0.0).excess(y)
    outside = np.flatnonzero(far > 0.0)
    worst = int(np.argmax(far if outside.size else deviation))
    return SignalComparison(
        signal=column.signal,
        unit=column.unit,
        verdict=Verdict.DIFFERS if outside.size else Verdict.AGREES,
        tolerance=tolerance,
        deviation=float(deviation.max()),
        excess=float(far.max()),
        at=float(t[worst]),
        first_outside=float(t[outside[0]]) if outside.size else None,
        half_width=half_width,
    )


def _points(curve: Curve, reference: Curve) -> tuple[Floats, Floats]:
    """The samples of the curve inside the reference's interval, and its values at the reference's other times.

    Of two lines with kinks only at these times, the difference is largest at one of them.
    """
    begin, end = max(curve.t[0], reference.t[0]), min(curve.t[-1], reference.t[-1])
    own = (curve.t >= begin) & (curve.t <= end)
    others = reference.t[(reference.t >= begin) & (reference.t <= end)]
    others = np.setdiff1d(others, curve.t)
    t = np.concatenate([curve.t[own], others])
    y = np.concatenate([curve.y[own], curve.at(others)])
    order = np.argsort(t, kind="stable")
    return t[order], y[order]


def _rank(one: SignalComparison) -> tuple[bool, float, float]:
    """Those that cannot be compared first, then by how far they are outside, then by how near to the border."""
    if not one.compared:
        return (False, 0.0, 0.0)
    scale = one.half_width if one.half_width > 0.0 else 1.0
    return (True, -one.excess / scale, -one.deviation / scale)
