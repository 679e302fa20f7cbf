"""Reproduction of a result: whether a repeated run gives the same values, and possible reasons for differences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.trace import NUMBERED, Trace
from ssptool.errors import WrongUsage, abbreviated, counted
from ssptool.foreign_text import html_text, joined_lines, json_text
from ssptool.results.comparison import SignalVerdict, TraceComparison
from ssptool.results.tolerance import Tolerance

TOLERANCE = Tolerance(relative=1e-6)
"""Default tolerance of a repeated run: differences between processors and libraries are smaller."""


class CannotReproduce(WrongUsage):
    """The run of a result cannot be repeated. The message states the reason and lists missing files."""


class ReproductionVerdict(StrEnum):
    SAME_BITS = "same bits"
    INSIDE = "inside the tolerance"
    DIFFERS = "differs"


class InputState(StrEnum):
    SAME = "the same"
    CHANGED = "changed since the run"
    MISSING = "not there"


class InputCheck(NamedTuple):
    """A file that the run depended on, and its present state."""

    name: str
    state: InputState


class FirstDifference(NamedTuple):
    """Time [s] of the first different value, with the signal and the difference; None if it has no number."""

    time: float
    signal: str
    deviation: float | None
    unit: str | None

    def __str__(self) -> str:
        by = "" if self.deviation is None else f" by {self.deviation:.3g}{f' {self.unit}' if self.unit else ''}"
        return f"first at t = {self.time:.12g} s, {self.signal}{by}"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Comparison of a repeated run with its result.

    Attributes
    ----------
    result
        Name of the repeated result, as given by the caller.
    first
        First difference in any bit; None: all bits are the same.
    comparison
        Comparison with the tolerance; None if all bits are the same, or the runs have no common rows.
    inputs
        All files that the run depended on, with their state.
    reasons
        Changes since the run: files, versions, overrides and settings.
    results
        Number of compared results, for a run of a study.
    remarks
        Obstacles to a comparison signal by signal, such as a different end of the run.
    """

    result: str
    verdict: ReproductionVerdict
    tolerance: Tolerance
    rows: int
    signals: int
    first: FirstDifference | None = None
    comparison: TraceComparison | None = None
    inputs: tuple[InputCheck, ...] = ()
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    results: int = 0

    @property
    def same(self) -> bool:
        """True if the values are the same, to the last bit or within the tolerance."""
        return self.verdict is not ReproductionVerdict.DIFFERS

    def __bool__(self) -> bool:
        """The same as `same`."""
        return self.same

    def __repr__(self) -> str:
        first = "" if self.first is None else f", {self.first}"
        return f"<Reproduction of {self.result}: {self.verdict.value}{first}>"

    def __str__(self) -> str:
        return reproduction_text(self)

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html_text(line)}</li>" for line in reproduction_text(self).splitlines())
        return f"<ul>{lines}</ul>"


def first_difference(found: Trace, reference: Trace) -> FirstDifference | None:
    """The first row at which the traces do not have the same bits; signals in the order of the reference.

    Rows of different times are compared up to the first such time; a signal that one trace lacks differs from its
    first row on.
    """
    rows = min(len(found), len(reference))
    same_times = _same(found.t[:rows], reference.t[:rows])
    common = rows if same_times.all() else int(np.argmin(same_times))
    earliest: tuple[int, FirstDifference] | None = None
    for column in reference.columns:
        if column.signal not in found.signals:
            return FirstDifference(float(reference.t[0]) if len(reference) else 0.0, column.signal, None, None)
        one, other = found[column.signal][:common], reference[column.signal][:common]
        same = _same(one, other)
        row = common if same.all() else int(np.argmin(same))
        if row < common and (earliest is None or row < earliest[0]):
            by = None if column.type in NUMBERED else abs(float(one[row]) - float(other[row]))
            earliest = row, FirstDifference(float(reference.t[row]), column.signal, by, column.unit)
    if earliest is not None:
        return earliest[1]
    if common < max(len(found), len(reference)):
        longer = found if len(found) > common else reference
        return FirstDifference(float(longer.t[common]), "time", None, None)
    return None


def _same(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of equal bits of two arrays (n,); integers and Booleans of different types count if equal."""
    if one.dtype == other.dtype and one.dtype.kind == "f":
        return np.asarray(one.view(f"u{one.itemsize}") == other.view(f"u{one.itemsize}"))
    return np.asarray(one == other, dtype=np.bool_)


def with_results(
    reproduction: Reproduction, values: Mapping[str, tuple[float | None, float | None]], remarks: Sequence[str] = ()
) -> Reproduction:
    """Add results of a run of a study: by name the new value and the earlier one."""
    told, verdicts = (
        [*remarks],
        [reproduction.verdict, ReproductionVerdict.DIFFERS if remarks else ReproductionVerdict.SAME_BITS],
    )
    for name, (now, then) in values.items():
        verdict = _verdict(now, then, reproduction.tolerance)
        verdicts.append(verdict)
        if verdict is not ReproductionVerdict.SAME_BITS:
            told.append(f"result {name}: {now!r}, then {then!r}")
    worst = max(verdicts, key=list(ReproductionVerdict).index)
    return replace(reproduction, verdict=worst, remarks=(*reproduction.remarks, *told), results=len(values))


def _verdict(now: float | None, then: float | None, tolerance: Tolerance) -> ReproductionVerdict:
    if now == then:
        return ReproductionVerdict.SAME_BITS
    if now is None or then is None or not abs(now - then) <= tolerance.width(abs(then)):
        return ReproductionVerdict.DIFFERS
    return ReproductionVerdict.INSIDE


def changed_inputs(inputs: Sequence[InputCheck]) -> list[str]:
    """One line on changed files, and one on missing files."""
    lines = []
    for state in InputState.CHANGED, InputState.MISSING:
        names = [one.name for one in inputs if one.state is state]
        if names:
            lines.append(f"{counted(len(names), 'input')} {state}: {abbreviated(names)}")
    return lines


def reproduction_text(reproduction: Reproduction) -> str:
    """The verdict in one sentence, the first difference, and possible reasons."""
    one = reproduction
    results = [counted(one.results, "result")] if one.results else []
    rows = [f"{counted(one.rows, 'row')} of {counted(one.signals, 'signal')}"] if one.signals else []
    size = ", ".join([*results, *rows])
    allowed = f"tolerance {tolerance_text(one.tolerance)}"
    first = "" if one.first is None else f": {one.first}"
    match one.verdict:
        case ReproductionVerdict.SAME_BITS:
            lines = [f"{one.result}: same bits ({size})"]
        case ReproductionVerdict.INSIDE:
            lines = [f"{one.result}: inside the {allowed} ({size}); the bits differ{first.replace(': ', ' ', 1)}"]
        case ReproductionVerdict.DIFFERS:
            lines = [f"{one.result}: differs{first.replace(': ', ' ', 1)} ({allowed})"]
    if one.verdict is ReproductionVerdict.DIFFERS and one.comparison is not None:
        worst = one.comparison.signals[0]
        if worst.verdict is SignalVerdict.DIFFERS:
            unit = f" {worst.unit}" if worst.unit else ""
            lines.append(f"worst: {worst.signal} by {worst.deviation:.3g}{unit} at t = {worst.at:g} s")
    lines += one.remarks
    if one.reasons:
        lines.append(
            "not as in that run:" if one.verdict is not ReproductionVerdict.SAME_BITS else "other than in that run:"
        )
        lines += [f"  {reason}" for reason in one.reasons]
    elif one.verdict is ReproductionVerdict.DIFFERS:
        lines.append("all inputs, versions and settings are as in that run")
    return joined_lines(lines)


def tolerance_text(tolerance: Tolerance) -> str:
    parts = {name: value for name, value in asdict(tolerance).items() if value}
    return ", ".join(f"{name} {value:g}" for name, value in parts.items()) or "of zero"


def reproduction_json(reproduction: Reproduction) -> str:
    one = reproduction
    facts = {
        "result": one.result,
        "verdict": one.verdict,
        "same": one.same,
        "rows": one.rows,
        "signals": one.signals,
        "tolerance": asdict(one.tolerance),
        "first": None if one.first is None else one.first._asdict(),
        "inputs": [check._asdict() for check in one.inputs],
        "reasons": one.reasons,
        "remarks": one.remarks,
    }
    return json_text(facts, indent=2)


REPRODUCTION_RENDERERS: Mapping[str, Callable[[Reproduction], str]] = MappingProxyType(
    {"text": reproduction_text, "json": reproduction_json}
)
