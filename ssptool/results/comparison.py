"""Comparison of two traces, signal by signal, and its rendering as text, JSON and an HTML table for notebooks.

Names, units and types of the traces are first aligned as far as possible. Values that doubles cannot represent
(strings, bytes, large integers) are replaced by codes. A signal agrees if it stays in the tube of its tolerance around
the reference.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.recording.patterns import chosen as places_of
from ssptool.engine.recording.patterns import column_patterns
from ssptool.engine.run.accuracy import ROUNDING, StatedErrors, extent, rows_at
from ssptool.engine.trace import NUMBERED, Column, Trace, machine_type
from ssptool.errors import WrongValue, counted, similar_names
from ssptool.foreign_text import html_text, joined_lines, json_text
from ssptool.network.display import change_of_unit
from ssptool.network.network import Conversion
from ssptool.results.tolerance import EXACT, Tolerance, ToleranceFor, tolerance_of

Floats = NDArray[np.float64]


def fits_doubles(values: NDArray[Any]) -> bool:
    """True if values (n,) are numbers that doubles represent exactly."""
    if values.dtype == object:
        return False
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return True
    return int(values.min()) >= -(2**53) and int(values.max()) <= 2**53


def as_codes(one: NDArray[Any], other: NDArray[Any]) -> tuple[Floats, Floats]:
    """Codes (n,) and (m,) of values: equal if the values are equal."""
    every = [*one.tolist(), *other.tolist()]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(every))}
    places = np.array([numbers[value] for value in every], dtype=np.float64)
    return places[: len(one)], places[len(one) :]


@dataclass(frozen=True, slots=True)
class SampledCurve:
    """A signal over time; a time that occurs twice is an event with both sides.

    Attributes
    ----------
    t : (n,) [s]
        Not decreasing; n >= 1.
    y : (n,)
    held
        True: the value is constant between samples (discrete signals). False: it is interpolated linearly.
    """

    t: Floats
    y: Floats
    held: bool = False

    def at(self, t: Floats) -> Floats:
        """Values (m,) at times (m,) [s]: at events those after the event, outside of the interval the first or last
        value.
        """
        if self.held:
            return self.y[np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, None)]
        values: Floats = np.interp(t, self.t, self.y)
        return values


@dataclass(frozen=True, slots=True)
class Tube:
    """Smallest and largest allowed values (m,) at requested times (m,) [s]."""

    t: Floats
    lower: Floats
    upper: Floats

    def excess(self, y: Floats) -> Floats:
        """Distance of values (m,) from the tube, 0 inside; inf if only one of value and reference is a number."""
        with np.errstate(invalid="ignore"):  # infinities are handled below
            far = np.maximum(np.maximum(self.lower - y, y - self.upper), 0.0)
        undefined, expected = np.isnan(y), np.isnan(self.lower) | np.isnan(self.upper)
        far[undefined != expected] = np.inf
        far[undefined & expected] = 0.0
        # Equal infinities are equal values, although their difference is nan.
        same = np.isinf(y) & (y >= self.lower) & (y <= self.upper)
        far[same] = 0.0
        return far


def tube(reference: SampledCurve, t: Floats, half_width: float, time: float) -> Tube:
    """The tube of all values of the reference within `time` of each `t`, widened by `half_width`.

    Between its samples the reference is linear (or held), so its extremes over a window are at samples inside the
    window or at its ends. Therefore the tube is exact.

    Parameters
    ----------
    t : (m,) [s]
    half_width
        Half-width in the unit of the signal.
    time [s]
    """
    ends = reference.at(np.concatenate([t - time, t + time])).reshape(2, -1)
    lower, upper = ends.min(axis=0), ends.max(axis=0)
    first = np.searchsorted(reference.t, t - time, side="left")
    last = np.searchsorted(reference.t, t + time, side="right")
    inside = last > first
    if inside.any():
        low, high = _extremes(reference.y, first[inside], last[inside])
        lower[inside] = np.minimum(lower[inside], low)
        upper[inside] = np.maximum(upper[inside], high)
    return Tube(t, lower - half_width, upper + half_width)


def _extremes(y: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Minimum and maximum of y[first:last] for each pair, from blocks of powers of two: O(n log n) for any width."""
    length = last - first
    level = np.frexp(length)[1] - 1
    low, high = np.empty(len(first)), np.empty(len(first))
    lows, highs = y, y
    for exponent in range(int(level.max()) + 1):
        mine = level == exponent
        a, b = first[mine], last[mine] - (1 << exponent)
        low[mine] = np.minimum(lows[a], lows[b])
        high[mine] = np.maximum(highs[a], highs[b])
        shift = 1 << exponent
        lows, highs = np.minimum(lows[:-shift], lows[shift:]), np.maximum(highs[:-shift], highs[shift:])
    return low, high


def aligned(trace: Trace, reference: Trace) -> tuple[Trace, Trace, Mapping[str, str]]:
    """Align a trace with its reference: convert units as far as their names define them, and take integer and Boolean
    types from the other trace if a file stores only real numbers. Also returns notes on conversions, by signal.
    """
    theirs = {column.signal: column for column in trace.columns}
    ours = {column.signal: column for column in reference.columns}
    remarks: dict[str, str] = {}
    changed: dict[str, tuple[Column, NDArray[Any]]] = {}
    expected: dict[str, tuple[Column, NDArray[Any]]] = {}
    for signal in theirs.keys() & ours.keys():
        found, wanted = theirs[signal], ours[signal]
        if found.real and wanted.real:
            change = _conversion(found, wanted)
            if change is not None:
                changed[signal] = replace(found, unit=wanted.unit), trace[signal] * change.factor + change.offset
                remarks[signal] = f"converted from {found.unit}"
        elif found.real and _is_whole(trace[signal], wanted.type):
            changed[signal] = replace(found, type=wanted.type), trace[signal].astype(machine_type(wanted.type))
        elif wanted.real and _is_whole(reference[signal], found.type):
            expected[signal] = replace(wanted, type=found.type), reference[signal].astype(machine_type(found.type))
    return _with_columns_replaced(trace, changed), _with_columns_replaced(reference, expected), remarks


def without_prefix(trace: Trace, prefix: str) -> Trace:
    """The trace with this prefix removed from names."""
    columns = tuple(replace(column, signal=column.signal.removeprefix(prefix)) for column in trace.columns)
    return replace(trace, columns=columns)


def with_full_names(trace: Trace) -> Trace:
    """The trace of a lone FMU with the names that its signals have in a system; other traces are unchanged."""
    columns = (
        replace(one, signal=one.full_name or one.signal, full_name=one.full_name and one.signal)
        for one in trace.columns
    )
    return replace(trace, columns=tuple(columns))


def _conversion(found: Column, wanted: Column) -> Conversion | None:
    """Conversion to the unit of another column; None for equal names, and for unknown units."""
    if found.unit == wanted.unit or wanted.unit is None:
        return None
    relative = found.relative or wanted.relative
    try:
        return change_of_unit(found.signal, found.unit, wanted.unit, relative=relative, display=found.display)
    except WrongValue:
        return None


def _is_whole(values: NDArray[Any], kind: str) -> bool:
    """True if doubles are valid values of an integer or Boolean type."""
    if kind in NUMBERED:
        return False
    with np.errstate(invalid="ignore"):
        cast = values.astype(machine_type(kind))
    return bool(np.array_equal(cast.astype(np.float64), values))


def _with_columns_replaced(trace: Trace, changed: Mapping[str, tuple[Column, NDArray[Any]]]) -> Trace:
    if not changed:
        return trace
    return Trace.of(trace.t, (changed.get(column.signal) or (column, trace[column.signal]) for column in trace.columns))


class SignalVerdict(StrEnum):
    AGREES = "agrees"
    DIFFERS = "differs"
    MISSING = "missing"
    OTHER_UNIT = "other unit"
    OTHER_TYPE = "other type"


@dataclass(frozen=True, slots=True)
class SignalComparison:
    """One signal of the reference compared with the trace.

    Attributes
    ----------
    deviation
        Largest distance from the reference at the same time, in the unit of the signal; nan if it was not compared.
    excess
        Largest distance from the tube; 0: inside everywhere. inf: only one of two values is a number; or strings, or
        integers beyond the precision of doubles, differ.
    at [s]
        Time of the largest excess; of the largest deviation if it is inside.
    first_outside [s]
        Time at which it first leaves the tube; None: never.
    half_width
        Half-width of the tube in the direction of the values, in the unit of the signal.
    stated
        Sum of the errors that the runs state and of rounding, in the unit of the signal; nan if neither run states an
        error.
    apart
        Largest distance at times of rows that both have, in the unit of the signal, for which errors are stated; that
        at all times if there are none; nan like `stated`.
    """

    signal: str
    unit: str | None
    verdict: SignalVerdict
    tolerance: Tolerance
    deviation: float = float("nan")
    excess: float = float("nan")
    at: float | None = None
    first_outside: float | None = None
    half_width: float = float("nan")
    remark: str = ""
    stated: float = float("nan")
    apart: float = float("nan")

    @property
    def compared(self) -> bool:
        """True if values were compared."""
        return self.verdict in (SignalVerdict.AGREES, SignalVerdict.DIFFERS)

    @property
    def judgement(self) -> str:
        """The verdict as text."""
        since = f", outside since {self.first_outside:g} s" if self.first_outside is not None else ""
        return self.verdict.value + since


SAFETY = 1.25
"""Factor by which estimated errors may be too small (Roache 1998, §5.6, for estimates from three step sizes)."""


class RunDifference(NamedTuple):
    """An override or a setting that differs between the runs."""

    name: str
    trace: str
    reference: str

    def __str__(self) -> str:
        return f"runs with different {self.name}: {self.trace}, reference {self.reference}"


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """Result of the comparison of a trace with a reference.

    Attributes
    ----------
    signals
        The compared signals, the worst agreement first.
    extra
        Signals of the trace that the reference lacks.
    remarks
        Problems of the whole trace. With any of them, the traces do not agree.
    runs
        Overrides and settings that differ between the runs, as far as manifests state them.
    assumptions
        Assumptions about the files, as in `Trace.assumptions`.
    errors
        Largest stated errors of the compared signals in trace and reference, relative to the range of the signal;
        None: no error is stated.
    """

    signals: tuple[SignalComparison, ...]
    extra: tuple[str, ...]
    remarks: tuple[str, ...]
    runs: tuple["RunDifference", ...] = ()
    assumptions: tuple[str, ...] = ()
    errors: tuple[float | None, float | None] = (None, None)

    @property
    def beyond(self) -> tuple[SignalComparison, ...]:
        """Signals that deviate in rows of both runs by more than `SAFETY` times the stated errors."""
        return tuple(one for one in self.signals if one.apart > SAFETY * one.stated)

    @property
    def agrees(self) -> bool:
        return not self.remarks and all(one.verdict is SignalVerdict.AGREES for one in self.signals)

    def __bool__(self) -> bool:
        """The same as `agrees`."""
        return self.agrees

    def __repr__(self) -> str:
        agreeing = sum(one.verdict is SignalVerdict.AGREES for one in self.signals)
        verdict = "agrees" if self.agrees else "differs"
        return (
            f"<TraceComparison of {counted(len(self.signals), 'signal')}: {verdict}, {agreeing} inside the tolerance>"
        )

    def __str__(self) -> str:
        return comparison_text(self)

    def _repr_html_(self) -> str:
        return comparison_html(self)


def compare_traces(
    trace: Trace,
    reference: Trace,
    *,
    patterns: Sequence[str] = (),
    tolerance: Tolerance | None = None,
    special: Sequence[ToleranceFor] = (),
    errors: tuple[StatedErrors | None, StatedErrors | None] = (None, None),
) -> TraceComparison:
    """Compare every signal of the reference with the one of the same name in the trace.

    Units are converted if both are known. A signal agrees if it is inside the tube around its reference at all times of
    both. Continuous signals of type Float64 and Float32 are interpolated linearly; all others are held, and must be
    equal unless a special tolerance applies. Strings must be equal regardless of tolerances.

    Parameters
    ----------
    patterns
        Compare only signals that match one of them (default: all).
    tolerance
        Tolerance of continuous signals.
    special
        Tolerances of single signals or patterns; the last match counts.
    errors
        Errors that trace and reference state; they do not affect the verdict.

    Raises
    ------
    UnknownName
        A pattern matches no signal of the reference.
    WrongValue
        A trace has no rows, its times decrease, or the reference has no signals.
    """
    named = partial(column_patterns, columns=reference.columns, what="signal of the reference")
    patterns = named(patterns)
    special = [replace(one, pattern=pattern) for one in special for pattern in named([one.pattern])]
    if not len(trace) or not len(reference):
        raise WrongValue("a trace without rows cannot be compared")
    for name, one in (("trace", trace), ("reference", reference)):
        _check_times(name, one.t)
    trace, reference, remarks = aligned(trace, reference)
    chosen = [reference.columns[place] for place in places_of(patterns, reference.columns)]
    if not chosen:
        raise WrongValue("the reference has no signals")
    default = tolerance or Tolerance()
    results = [
        _signal(trace, reference, column, tolerance_of(column, special, default if column.real else EXACT))
        for column in chosen
    ]
    results = [replace(one, remark=remarks.get(one.signal, one.remark)) for one in results]
    real = {column.signal for column in chosen if column.real}
    if errors != (None, None):
        results = [_with_stated(one, trace, reference, errors) if one.signal in real else one for one in results]
    known = set(reference.signals)
    return TraceComparison(
        signals=tuple(sorted(results, key=_rank)),
        assumptions=(*trace.assumptions, *reference.assumptions),
        extra=tuple(name for name in trace.signals if name not in known),
        remarks=tuple(_uncovered_interval_remarks(trace, reference, default.time)),
        errors=(_largest(errors[0], real), _largest(errors[1], real)),
    )


def _largest(stated: StatedErrors | None, signals: Iterable[str]) -> float | None:
    return None if stated is None else stated.largest_of(signals)


def _with_stated(
    one: SignalComparison, trace: Trace, reference: Trace, errors: tuple[StatedErrors | None, StatedErrors | None]
) -> SignalComparison:
    if not one.compared:
        return one
    values = reference[one.signal]
    stated = ROUNDING * float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    runs = zip((trace, reference), errors, strict=True)
    widths = (each.of(one.signal) * extent(run[one.signal]) for run, each in runs if each is not None)
    apart = _distance_in_rows(trace, reference, one.signal)
    return replace(one, stated=stated + sum(widths), apart=one.deviation if apart is None else apart)


def _distance_in_rows(trace: Trace, reference: Trace, signal: str) -> float | None:
    """Largest distance of a signal at the times that both have, apart from rounding; None: no such times. Between the
    rows of a coarse grid a signal is not a straight line, and nobody states how far it departs from one.
    """
    rows = rows_at(trace.t, reference, (reference.t[-1] - reference.t[0]) / len(reference))
    common = rows >= 0
    if not common.any():
        return None
    curve = SampledCurve(reference.t, reference[signal].astype(np.float64))
    at_rows = tube(curve, reference.t[rows[common]], 0.0, 0.0)
    return float(at_rows.excess(trace[signal].astype(np.float64)[common]).max())


def _check_times(name: str, t: Floats) -> None:
    wrong = np.flatnonzero(~(np.diff(t) >= 0.0))
    if wrong.size:
        row = int(wrong[0])
        raise WrongValue(f"the times of the {name} go back: {t[row]:g} s is followed by {t[row + 1]:g} s")


def _uncovered_interval_remarks(trace: Trace, reference: Trace, time: float) -> list[str]:
    """Remarks on parts of the reference's interval that the trace does not cover."""
    slack = time + 1e-9 * max(1.0, abs(float(reference.t[-1])))
    remarks = []
    if trace.t[0] > reference.t[0] + slack:
        remarks.append(f"it begins at {trace.t[0]:g} s, its reference at {reference.t[0]:g} s")
    if trace.t[-1] < reference.t[-1] - slack:
        remarks.append(f"it ends at {trace.t[-1]:g} s, its reference at {reference.t[-1]:g} s")
    return remarks


def _signal(trace: Trace, reference: Trace, wanted: Column, tolerance: Tolerance) -> SignalComparison:
    found = next((column for column in trace.columns if column.signal == wanted.signal), None)

    def verdict(verdict: SignalVerdict, remark: str) -> SignalComparison:
        return SignalComparison(wanted.signal, wanted.unit, verdict, tolerance, remark=remark)

    if found is None:
        return verdict(SignalVerdict.MISSING, _similar_names_advice(wanted.signal, trace.signals))
    if None not in (found.unit, wanted.unit) and found.unit != wanted.unit:
        return verdict(SignalVerdict.OTHER_UNIT, f"it is in {found.unit}, its reference in {wanted.unit}")
    if found.real != wanted.real or (NUMBERED & {found.type, wanted.type} and found.type != wanted.type):
        return verdict(SignalVerdict.OTHER_TYPE, f"it is {found.type}, its reference {wanted.type}")
    values, expected = trace[wanted.signal], reference[wanted.signal]
    held = wanted.held or found.held
    if wanted.type in NUMBERED or (_wants_equal(tolerance) and not (fits_doubles(values) and fits_doubles(expected))):
        return _pointwise(_Samples(trace.t, values), _Samples(reference.t, expected), wanted, tolerance)
    return _inside(
        SampledCurve(trace.t, values.astype(np.float64), held),
        SampledCurve(reference.t, expected.astype(np.float64), held),
        wanted,
        tolerance,
    )


def _similar_names_advice(signal: str, there: Sequence[str]) -> str:
    """Advice on similar names; other tools prefix all names with the name of the model."""
    for name in there:
        longer, shorter = sorted((signal, name), key=len, reverse=True)
        if longer.endswith("." + shorter):
            return f"it is called {name} there: drop the prefix {longer.removesuffix(shorter)}"
    near = similar_names(signal, there, 1)
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


def _pointwise(samples: _Samples, reference: _Samples, column: Column, tolerance: Tolerance) -> SignalComparison:
    """`_inside` for values that have no difference: the deviation of unequal values is infinite."""
    found, expected = as_codes(samples.y, reference.y)
    exact = replace(tolerance, absolute=0.0, relative=0.0)
    one = _inside(
        SampledCurve(samples.t, found, held=True), SampledCurve(reference.t, expected, held=True), column, exact
    )
    if one.first_outside is None:
        return replace(one, tolerance=tolerance)
    time = one.first_outside
    remark = f"{samples.at(time)!r} instead of {reference.at(time)!r}"
    return replace(one, tolerance=tolerance, deviation=float("inf"), excess=float("inf"), at=time, remark=remark)


def _inside(curve: SampledCurve, reference: SampledCurve, column: Column, tolerance: Tolerance) -> SignalComparison:
    t, y = _points(curve, reference)
    finite = np.abs(reference.y[np.isfinite(reference.y)])
    half_width = tolerance.width(float(finite.max(initial=0.0)))
    far = tube(reference, t, half_width, tolerance.time).excess(y)
    # At an event, both sides are accepted: a tube of width zero contains both.
    deviation = tube(reference, t, 0.0, 0.0).excess(y)
    outside = np.flatnonzero(far > 0.0)
    worst = int(np.argmax(far if outside.size else deviation))
    return SignalComparison(
        signal=column.signal,
        unit=column.unit,
        verdict=SignalVerdict.DIFFERS if outside.size else SignalVerdict.AGREES,
        tolerance=tolerance,
        deviation=float(deviation.max()),
        excess=float(far.max()),
        at=float(t[worst]),
        first_outside=float(t[outside[0]]) if outside.size else None,
        half_width=half_width,
    )


def _points(curve: SampledCurve, reference: SampledCurve) -> tuple[Floats, Floats]:
    """The samples of the curve inside the reference's interval, and its values at the reference's other times.

    The difference of two curves with kinks only at these times is largest at one of them.
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
    """Sort key: incomparable signals first, then by excess, then by distance from the border of the tube."""
    if not one.compared:
        return (False, 0.0, 0.0)
    scale = one.half_width if one.half_width > 0.0 else 1.0
    return (True, -one.excess / scale, -one.deviation / scale)


_HEADINGS = ("signal", "unit", "largest deviation", "allowed", "at [s]", "")


def comparison_text(comparison: TraceComparison) -> str:
    """Table of signals, from worst to best agreement, and the conclusion."""
    rows = comparison_rows(comparison)
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"not in the reference: {', '.join(comparison.extra)}"] if comparison.extra else []
    return joined_lines([*lines, *_remark_lines(comparison), conclusion(comparison)])


def _remark_lines(comparison: TraceComparison) -> list[str]:
    return [*comparison.assumptions, *map(str, comparison.runs), *_stated_error_lines(comparison), *comparison.remarks]


def _stated_error_lines(comparison: TraceComparison) -> Iterator[str]:
    """Text on the deviations compared with the errors that the runs state."""
    known = [one for one in comparison.signals if one.compared and not np.isnan(one.stated)]
    if not known:
        return
    pairs = zip(("trace", "reference"), comparison.errors, strict=True)
    stated = ", ".join(f"{name} {'not known' if error is None else f'at most {error:.1g}'}" for name, error in pairs)
    beyond = comparison.beyond
    some = f"{len(known) - len(beyond)} of {counted(len(known), 'signal')}"
    told = f"within the stated errors ({stated} of the range of each signal): {some}"
    if beyond:
        worst = max(beyond, key=lambda one: one.apart / one.stated if one.stated else np.inf)
        told += f"; {worst.signal} deviates by {worst.apart:.3g}, stated {worst.stated:.3g}"
    yield told


def comparison_rows(comparison: TraceComparison) -> list[tuple[str, ...]]:
    """Headings, and the cells of each signal."""
    return [_HEADINGS, *map(_text_row, comparison.signals)]


def _text_row(one: SignalComparison) -> tuple[str, ...]:
    if not one.compared:
        return one.signal, one.unit or "", "", "", "", f"{one.verdict.value}: {one.remark}".removesuffix(": ")
    told = f": {one.remark}" if one.remark else ""
    allowed = f"{one.half_width:.3g}" + (f" ± {one.tolerance.time:g} s" if one.tolerance.time else "")
    return one.signal, one.unit or "", f"{one.deviation:.3g}", allowed, f"{one.at:g}", one.judgement + told


def conclusion(comparison: TraceComparison) -> str:
    """The conclusion in one sentence."""
    wrong = sum(one.verdict is not SignalVerdict.AGREES for one in comparison.signals)
    of = counted(len(comparison.signals), "signal")
    if comparison.agrees:
        return f"agrees: {of} inside {'their tubes' if len(comparison.signals) != 1 else 'its tube'}"
    return f"differs: {wrong} of {of}" + (" and the interval" if comparison.remarks else "")


def comparison_json(comparison: TraceComparison) -> str:
    """The comparison as JSON."""
    content = {
        "agrees": comparison.agrees,
        "remarks": list(comparison.remarks),
        "assumptions": list(comparison.assumptions),
        "extra": list(comparison.extra),
        "errors": dict(zip(("trace", "reference"), comparison.errors, strict=True)),
        "runs": [one._asdict() for one in comparison.runs],
        "signals": [asdict(one) for one in comparison.signals],
    }
    return json_text(content, indent=2)


TRACE_COMPARISON_RENDERERS: Mapping[str, Callable[[TraceComparison], str]] = MappingProxyType(
    {"text": comparison_text, "json": comparison_json}
)


_GOOD, _BAD = "#1a6e2e", "#b3261e"


def comparison_html(comparison: "TraceComparison") -> str:
    """The conclusion, and a row for each signal, from worst to best agreement."""
    headings, *rows = comparison_rows(comparison)
    colour = _GOOD if comparison.agrees else _BAD
    head = "".join(f'<th style="text-align: left">{html_text(name)}</th>' for name in headings)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    told = "".join(f"<p>{html_text(line)}</p>" for line in _remark_lines(comparison))
    return (
        f'<p style="color: {colour}; font-weight: bold">{html_text(conclusion(comparison))}</p>{told}'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _html_cell(text: str) -> str:
    return f'<td style="text-align: left">{html_text(text)}</td>'
