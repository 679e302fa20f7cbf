"""Content of the report of a study: factors, outcomes of runs, results, charts, fitted parameters.

The template stands beside this file.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ssptool.documents.diagnostics import Diagnostic
from ssptool.drawing.study_plot import Axis, Band, Bar, Chart, Envelope, Floats, Influences, Marked, Scatter, Tornado
from ssptool.engine.recording.patterns import check_patterns, fits_any
from ssptool.errors import WrongValue, counted
from ssptool.foreign_text import json_text
from ssptool.results.report import ReportPicture, ReportTable
from ssptool.studies.calibration import Fit
from ssptool.studies.dataset import Dataset, NotResults
from ssptool.studies.definition import RunStatus
from ssptool.studies.report.by_factor import statistics_by_factor
from ssptool.studies.run import StudyStatus
from ssptool.studies.sensitivity import SENSITIVITY_DESIGNS, Sensitivity, headings_of, rows_of
from ssptool.studies.study_results import StudyResults

MOST_PANELS = 8
"""In a row, or a column."""

MOST_DOTS = 20_000
"""In a panel of a scatter plot; of more runs, every so many are drawn."""


class ChartKind(StrEnum):
    """What is drawn of a study."""

    SCATTER = "scatter"
    TORNADO = "tornado"
    ENVELOPE = "envelope"
    SENSITIVITY = "sensitivity"


def chart(results: StudyResults, kind: ChartKind | str | None, patterns: Sequence[str]) -> Chart:
    """The chart of this kind; else the one that fits to the study: a tornado to a one-at-a-time design, an envelope to
    traces, a scatter plot to all others.

    Raises
    ------
    NotResults
        There is nothing to draw, or not for this kind.
    NothingMatches
        A pattern fits no result, or no signal.
    WrongValue
        There are too many panels, or no such kind.
    """
    if kind is None:
        kind = _fitting(results)
    if kind not in list(ChartKind):
        raise WrongValue(f"the kind of a plot of a study is one of {', '.join(ChartKind)}; found {kind!r}")
    if kind == ChartKind.ENVELOPE:
        return _envelope(results, patterns)
    if kind == ChartKind.SENSITIVITY:
        return _influences(results, patterns)
    rows = [row for row in results.rows() if row["status"] == "completed"]
    if not rows:
        raise NotResults(results.folder, "no run has completed")
    check_patterns(patterns, results.results, "result")
    chosen = [name for name in results.results if not patterns or fits_any(patterns, name)]
    if not chosen:
        raise NotResults(results.folder, "the study has no [results], which could be drawn")
    chosen = [name for name in chosen if any(row[name] is not None for row in rows)]
    if not chosen:
        raise NotResults(results.folder, "none of the results has a value in any run")
    return (_tornado if kind == ChartKind.TORNADO else _scatter)(results, rows, chosen)


def every_chart(results: StudyResults, patterns: Sequence[str]) -> tuple[dict[str, Chart], list[str]]:
    """All charts that there can be, by kind, and why there are no others. `patterns` pick results."""
    charts: dict[str, Chart] = {}
    notes: list[str] = []
    wanted = [ChartKind.SCATTER] if results.results else []
    wanted += [ChartKind.TORNADO] if results.definition["design"] == "one-at-a-time" else []
    wanted += [ChartKind.SENSITIVITY] if results.definition["design"] in SENSITIVITY_DESIGNS else []
    wanted += [ChartKind.ENVELOPE] if results.traced else []
    for kind in wanted:
        try:
            charts[kind.value] = chart(results, kind, () if kind is ChartKind.ENVELOPE else patterns)
        except (NotResults, ValueError) as problem:
            reason = problem.reason if isinstance(problem, NotResults) else str(problem)
            notes.append(f"There is no {kind} plot: {reason}.")
    return charts, notes


def _fitting(results: StudyResults) -> ChartKind:
    if results.definition["design"] == "one-at-a-time":
        return ChartKind.TORNADO
    if results.definition["design"] in SENSITIVITY_DESIGNS:
        return ChartKind.SENSITIVITY
    return ChartKind.SCATTER if results.results or not results.traced else ChartKind.ENVELOPE


def _scatter(results: StudyResults, rows: Sequence[dict[str, Any]], chosen: Sequence[str]) -> Scatter:
    rows = rows[:: -(-len(rows) // MOST_DOTS)]
    varied = [name for name in results.factors if len({row[name] for row in rows}) > 1] or list(results.factors)
    for what, names in (("factors", varied), ("results", chosen)):
        if len(names) > MOST_PANELS:
            raise WrongValue(
                f"{len(names)} {what} are too many for one picture, which shows {MOST_PANELS}; --signals picks results"
            )
    axes, values = [], {}
    for name in varied:
        column = [row[name] for row in rows]
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in column)
        labels = () if numbers else tuple(dict.fromkeys(map(str, column)))
        axes.append(Axis(name, results.units.get(name), labels))
        values[name] = np.array([float(v) if numbers else labels.index(str(v)) for v in column])
    for name in chosen:
        values[name] = np.array([np.nan if row[name] is None else row[name] for row in rows])
    return Scatter(tuple(axes), tuple(Axis(name, results.units.get(name)) for name in chosen), values)


def _influences(results: StudyResults, patterns: Sequence[str]) -> Influences:
    check_patterns(patterns, results.results, "result")
    found = [one for one in results.sensitivity() if not patterns or fits_any(patterns, one.result)]
    if not found:
        raise NotResults(
            results.folder, "sensitivities need a saltelli or morris design, with a result that varies in finished runs"
        )
    shown = []
    for one in found:
        measures = [tuple(Marked(*measure) for measure in each) for each in zip(*one.measures.values(), strict=True)]
        rows = sorted(
            zip(one.factors, measures, strict=True),
            key=lambda row: -abs(row[1][-1 if "ST" in one.measures else 0].value),
        )
        what = "part of the variance of" if "ST" in one.measures else "elementary effects on"
        shown.append((Axis(f"{what} {one.result}"), tuple(one.measures), tuple(rows)))
    return Influences(tuple(shown))


def _tornado(results: StudyResults, rows: Sequence[dict[str, Any]], chosen: Sequence[str]) -> Tornado:
    nominal = results.definition.get("nominal")
    base = next((row for row in rows if nominal and all(row[name] == nominal[name] for name in nominal)), None)
    if nominal is None or base is None:
        raise NotResults(results.folder, "a tornado plot needs a one-at-a-time design whose nominal run completed")
    found = []
    for result in chosen:
        if base[result] is None:
            continue
        bars = [bar for name in nominal if (bar := _bar(results, rows, base, name, result)) is not None]
        bars.sort(key=lambda bar: -abs(bar.high - bar.low))
        found.append((Axis(result, results.units.get(result)), float(base[result]), tuple(bars)))
    if not found or not any(bars for _, _, bars in found):
        raise NotResults(results.folder, "no result has a value at the nominal point")
    return Tornado(tuple(found))


def _bar(
    results: StudyResults, rows: Sequence[dict[str, Any]], base: dict[str, Any], name: str, result: str
) -> Bar | None:
    others = [other for other in results.definition["nominal"] if other != name]
    line = [row for row in rows if all(row[other] == base[other] for other in others) and row[result] is not None]
    if len(line) < 2:
        return None
    line.sort(key=lambda row: row[name])
    first, last, unit = line[0], line[-1], results.units.get(name)
    texts = [f"{row[name]:.4g}" if isinstance(row[name], float) else str(row[name]) for row in (first, last)]
    return Bar(f"{name} [{unit}]" if unit else name, first[result], last[result], texts[0], texts[1])


def _envelope(results: StudyResults, patterns: Sequence[str]) -> Envelope:
    folder = Dataset(results.folder).traces
    runs = [path.name.removeprefix("run=") for path in sorted(folder.glob("run=*"))]
    if not runs:
        raise NotResults(results.folder, "an envelope needs [traces] in the study")
    first = results.trace(runs[0])
    check_patterns(patterns, first.signals, "signal of the traces")
    columns = [c for c in first.columns if not patterns or fits_any(patterns, c.signal)]
    if len(columns) > MOST_PANELS:
        raise WrongValue(
            f"{len(columns)} signals are too many for one picture, which shows {MOST_PANELS}; --signals picks some"
        )
    traces = [results.trace(run) for run in runs]
    bands = []
    for column in columns:
        # nan beyond the end of a run that failed.
        every = np.array([np.interp(first.t, trace.t, trace[column.signal], right=np.nan) for trace in traces])
        bands.append(_band(Axis(column.signal, column.unit), first.t, every))
    return Envelope(tuple(bands), len(runs))


def _band(signal: Axis, t: Floats, every: Floats) -> Band:
    least, low, median, high, greatest = np.nanquantile(every, [0.0, 0.05, 0.5, 0.95, 1.0], axis=0)
    return Band(signal, t, least, low, median, high, greatest)


MOST_REASONS = 25
"""Different messages that are shown; of more the most frequent."""

NAMED_RUNS = 5
"""Runs that are named with a message."""


@dataclass(frozen=True, slots=True)
class CalibrationContent:
    """What a calibration found."""

    ok: bool
    verdict: str
    estimates: ReportTable
    correlation: ReportTable
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class StudyReportContent:
    """All that a report of a study shows. `absent` says why there is no diagram."""

    title: str
    ok: bool
    verdict: str
    design: str
    factors: ReportTable
    counts: ReportTable
    failures: ReportTable
    valueless: ReportTable
    results: ReportTable
    by_factor: Sequence[ReportTable]
    sensitivities: Sequence[ReportTable]
    plots: Sequence[ReportPicture]
    notes: Sequence[str]
    calibration: CalibrationContent | None
    diagrams: Sequence[ReportPicture]
    absent: str
    findings: Sequence[Diagnostic]
    settings: ReportTable
    files: ReportTable
    definition: str
    tool: str


def study_report_content(
    results: StudyResults,
    fit: Fit | None,
    *,
    plots: Sequence[ReportPicture],
    notes: Sequence[str],
    diagrams: Sequence[ReportPicture],
    absent: str,
    findings: Sequence[Diagnostic],
) -> StudyReportContent:
    """What there is to say of a study, as far as its runs have finished."""
    definition, status = results.definition, results.status
    rows = results.rows()
    completed = [row for row in rows if row["status"] == RunStatus.COMPLETED]
    calibration = None if fit is None else calibration_content(fit)
    # A folder of nothing but a calibration has no runs of a design, and wants none.
    fitted = calibration if not rows else None
    return StudyReportContent(
        title=status.name,
        ok=status.ok if fitted is None else fitted.ok,
        verdict=_verdict(status) if fitted is None else fitted.verdict,
        design=f"{definition['design']}, {counted(status.runs, 'run')} of {definition.get('system', 'a system')}",
        factors=_factors(results, rows),
        counts=_counts(status),
        failures=_reasons("Why runs failed", [row for row in rows if row["status"] == RunStatus.FAILED]),
        valueless=_reasons(
            "Results without a value",
            [row for row in completed if row["message"]],
        ),
        results=_results(results, rows),
        by_factor=statistics_by_factor(completed, results.factors, results.results),
        sensitivities=list(map(_sensitivity, results.sensitivity())) if rows else (),
        plots=plots,
        notes=notes,
        calibration=calibration,
        diagrams=diagrams,
        absent=absent,
        findings=findings,
        settings=ReportTable("Fixed settings", ("setting", "value"), list(_settings(definition))),
        files=ReportTable("Input files", ("file", "SHA-256 (first 16 digits)"), list(_files(definition))),
        definition=json_text(definition, indent=1),
        tool=f"Study of ssptool {definition.get('version', '')}".rstrip(),
    )


def _verdict(status: StudyStatus) -> str:
    parts = [f"{status.completed} of {counted(status.runs, 'run')} completed"]
    parts += [f"{status.failed} failed"] if status.failed else []
    parts += [f"{status.left} are left"] if status.left else []
    return ", ".join(parts)


def _counts(status: StudyStatus) -> ReportTable:
    rows = [("completed", status.completed), ("failed", status.failed), ("left", status.left)]
    shown = [(word, str(count)) for word, count in rows if count or word == "completed"]
    return ReportTable("Runs by status", ("status", "runs"), shown, frozenset({1}))


def _factors(results: StudyResults, rows: Sequence[Mapping[str, Any]]) -> ReportTable:
    shown = []
    for name, about in results.definition["factors"].items():
        sets = ", ".join(about["of"]) or (name if about["role"] == "variable" else "")
        values = list(dict.fromkeys(row[name] for row in rows))
        shown.append((name, about["role"], sets, results.units.get(name) or "", _extent(values), str(len(values))))
    headings = ("factor", "role", "sets", "unit", "values", "distinct values")
    return ReportTable("Factors", headings, shown, frozenset({5}))


def _extent(values: Sequence[Any]) -> str:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return f"{min(values):.6g} to {max(values):.6g}" if values else ""
    return ", ".join(map(str, values[:NAMED_RUNS])) + (", …" if len(values) > NAMED_RUNS else "")


def _reasons(caption: str, rows: Sequence[Mapping[str, Any]]) -> ReportTable:
    by_message: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_message[row["message"]].append(row["number"])
    frequent = sorted(by_message.items(), key=lambda item: (-len(item[1]), item[1]))
    shown = [(str(len(numbers)), _named(numbers), message) for message, numbers in frequent[:MOST_REASONS]]
    if len(frequent) > MOST_REASONS:
        others = sum(len(numbers) for _, numbers in frequent[MOST_REASONS:])
        shown.append((str(others), "", f"{len(frequent) - MOST_REASONS} other messages"))
    return ReportTable(caption, ("runs", "numbers", "message"), shown, frozenset({0}))


def _named(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:NAMED_RUNS])) + (", …" if len(numbers) > NAMED_RUNS else "")


def _results(results: StudyResults, rows: Sequence[Mapping[str, Any]]) -> ReportTable:
    shown = []
    for name, text in results.definition["results"].items():
        values = np.array([row[name] for row in rows if row[name] is not None])
        if len(values):
            numbers = [f"{each:.6g}" for each in (values.min(), values.mean(), np.median(values), values.max())]
        else:
            numbers = ["-"] * 4
        shown.append((name, text, *numbers, str(len(values))))
    headings = ("result", "is", "min", "mean", "median", "max", "runs with a value")
    return ReportTable("What was computed of each run", headings, shown, frozenset({2, 3, 4, 5, 6}))


def _sensitivity(found: Sensitivity) -> ReportTable:
    lost = f" ({found.lost} of {found.used + found.lost} left out: without a value)" if found.lost else ""
    headings = ("factor", *headings_of(found))
    rows = [tuple(row) for row in rows_of(found)]
    return ReportTable(f"What {found.result} depends on{lost}", headings, rows, frozenset(range(1, len(headings))))


def calibration_content(fit: Fit) -> CalibrationContent:
    """An interval that there is not is empty, and a note says why."""
    rows = [
        (one.name, f"{one.value:.6g}", *(f"{v:.6g}" if np.isfinite(v) else "" for v in (one.low, one.high)))
        for one in fit.estimates
    ]
    shown = [(*row, one.unit or "") for row, one in zip(rows, fit.estimates, strict=True)]
    to = f", to a root mean square of {fit.residual_rms:.3g}" if np.isfinite(fit.residual_rms) else ""
    verdict = f"{'converged' if fit.converged else 'not converged'} after {counted(fit.runs, 'run')}{to}: {fit.message}"
    headings = ("parameter", "value", "from", "to", "unit")
    names = [one.name for one in fit.estimates]
    pairs = [
        (name, *(f"{each:.3f}" for each in line))
        for name, line in zip(names, fit.correlation, strict=True)
        if np.isfinite(line).all()
    ]
    percent = f"{100 * fit.confidence:g} % " if fit.confidence else ""
    return CalibrationContent(
        fit.converged,
        verdict,
        ReportTable(
            f"Estimates, with {percent}intervals" if percent else "Estimates", headings, shown, frozenset({1, 2, 3})
        ),
        ReportTable("Correlation of the estimates", ("", *names), pairs, frozenset(range(1, len(names) + 1))),
        fit.notes,
    )


def _settings(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    stated = definition.get("study", {})
    for name, value in stated.get("settings", {}).items():
        yield name.replace("_", " "), str(value)
    if "variant" in stated:
        yield "variant", stated["variant"]
    yield from stated.get("start_values", {}).items()


def _files(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, digest in definition.get("files", {}).items():
        yield name, digest[:16]
