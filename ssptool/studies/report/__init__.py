"""Content of the report of a study: factors, outcomes of runs, results, fitted parameters.

The template is next to this file.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.vocabulary import rounded_text
from ssptool.errors import counted
from ssptool.foreign_text import json_text
from ssptool.results.report.content import ReportPicture, ReportTable
from ssptool.studies.accuracy import REMARK
from ssptool.studies.calibration import Fit
from ssptool.studies.definition import RunStatus
from ssptool.studies.optimum import Optimum, cell_text
from ssptool.studies.report.by_factor import statistics_by_factor
from ssptool.studies.run import StudyStatus
from ssptool.studies.sensitivity import Sensitivity, headings_of, rows_of
from ssptool.studies.stored_results import StudyResults

MOST_REASONS = 25
"""Largest number of different messages; if there are more, the most frequent ones are shown."""

NAMED_RUNS = 5
"""Largest number of runs that are listed for a message."""


@dataclass(frozen=True, slots=True)
class CalibrationContent:
    """Calibration in a report."""

    ok: bool
    verdict: str
    estimates: ReportTable
    correlation: ReportTable
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class OptimumContent:
    """Optimum in a report."""

    ok: bool
    verdict: str
    verified: str
    runs: ReportTable


@dataclass(frozen=True, slots=True)
class StudyReportContent:
    """Complete content of the report of a study. `absent` is the reason for a missing diagram."""

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
    optimum: OptimumContent | None
    plots: Sequence[ReportPicture]
    notes: Sequence[str]
    accuracy: Sequence[str]
    checked: ReportTable
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
    """Content of the report on a study, as far as its runs have finished."""
    definition, status = results.definition, results.status
    rows = results.rows()
    completed = [row for row in rows if row["status"] == RunStatus.COMPLETED]
    best = results.optimum()
    calibration = None if fit is None else calibration_content(fit)
    # A folder that contains only a calibration has no runs of a design, and needs none.
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
        optimum=None if best is None else _optimum(best, [*results.factors, *results.results]),
        sensitivities=list(map(_sensitivity, results.sensitivity())) if rows else (),
        plots=plots,
        notes=notes,
        accuracy=list(results.accuracy.lines()),
        checked=_checked(results),
        calibration=calibration,
        diagrams=diagrams,
        absent=absent,
        findings=findings,
        settings=ReportTable("Fixed settings", ("setting", "value"), list(_settings(definition))),
        files=ReportTable("Input files", ("file", "SHA-256 (first 16 digits)"), list(_files(definition))),
        definition=json_text(definition, indent=1),
        tool=f"Study of ssptool {definition.get('version', '')}".rstrip(),
    )


def _checked(results: StudyResults) -> ReportTable:
    """Runs that were checked by finer runs."""
    accuracy = results.accuracy
    rows = [
        (str(row["number"]), *(cell_text(row[name]) for name in results.factors), accuracy.mark(row), row[REMARK])
        for row in accuracy.checked
    ]
    return ReportTable("Checked runs", ("number", *results.factors, "error", "check"), rows, frozenset({0}))


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
        return f"{rounded_text(min(values), 6)} to {rounded_text(max(values), 6)}" if values else ""
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


def _optimum(best: Optimum, names: Sequence[str]) -> OptimumContent:
    headings, *rows = best.table([*(one.result for one in best.objectives), *names])
    wanted = ", ".join([*map(str, best.objectives), *(one.text for one in best.constraints)])
    table = ReportTable(wanted, headings, rows, frozenset(range(len(headings))))
    return OptimumContent(bool(best.front), best.verdict, best.verified, table)


def calibration_content(fit: Fit) -> CalibrationContent:
    """Content on a calibration. A missing interval is empty, and a note gives the reason."""
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
        [*(() if fit.verification is None else fit.verification.lines(fit.estimates)), *fit.notes],
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
