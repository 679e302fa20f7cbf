"""Texts about a study and a calibration: the answer in a few lines, and commands that usually follow."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssptool.documents.vocabulary import rounded_text
from ssptool.errors import counted
from ssptool.foreign_text import joined_lines, json_text
from ssptool.printed import prints
from ssptool.studies.calibration import Estimate, Fit, fit_content, without_nan
from ssptool.studies.dataset import Dataset
from ssptool.studies.definition import RunStatus, Study
from ssptool.studies.designs import Range
from ssptool.studies.enough_runs import TooFewRuns, too_few_runs
from ssptool.studies.next_commands import study_commands
from ssptool.studies.optimum import Optimum, Row, aligned, cell_text
from ssptool.studies.sensitivity import Morris, Saltelli, Sensitivity, headings_of, rows_of
from ssptool.studies.stored_results import StudyResults
from ssptool.studies.study_file import study_from

SHOWN_FAILURES = 5
"""Number of reasons of failures that are shown."""

SHOWN_RESULTS, SHOWN_FACTORS = 8, 6
"""Number of results, and of factors for each, in the table of extremes."""

POOR = 0.5
"""Half-width of the interval of an estimate above which it is poorly determined, relative to its value."""

AT_END = 1e-6
"""Distance from the end of a range within which a search result lies on the bound, relative to the width of the range.
"""


@dataclass(frozen=True)
class _Answer:
    """Content of the text about a finished study."""

    results: StudyResults

    @cached_property
    def study(self) -> Study:
        return study_from(self.results.definition["study"])

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return self.results.rows()

    @cached_property
    def completed(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["status"] == RunStatus.COMPLETED]

    @cached_property
    def failures(self) -> list[tuple[str, int]]:
        """The most frequent reasons of failures."""
        return Counter(row["message"] for row in self.rows if row["status"] == RunStatus.FAILED).most_common()

    @cached_property
    def optimum(self) -> Optimum | None:
        return self.results.optimum()

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        return self.results.sensitivity()

    @cached_property
    def few(self) -> Mapping[str, TooFewRuns]:
        design = self.study.design
        if not isinstance(design, Saltelli | Morris):
            return {}
        found = (too_few_runs(design, one) for one in self.sensitivities)
        return {one.result: one for one in found if one is not None}

    @cached_property
    def varied(self) -> list[str]:
        """Factors that differ between runs."""
        return [name for name in self.results.factors if len({row[name] for row in self.rows}) > 1]

    @cached_property
    def next(self) -> list[str]:
        return list(study_commands(self.results, self.study, list(self.few.values())))

    def extremes(self, result: str) -> tuple[Row, Row] | None:
        """The runs with the smallest and the largest value of a result; None if no run has a value."""
        rows = [row for row in self.completed if row[result] is not None]
        if not rows:
            return None
        return min(rows, key=lambda row: float(row[result])), max(rows, key=lambda row: float(row[result]))

    def at_end(self) -> Iterator[str]:
        """Factors whose best value is an end of their range."""
        best = None if self.optimum is None else self.optimum.best
        if best is None:
            return
        for factor in self.study.factors:
            if isinstance(factor.source, Range):
                low, high = factor.source.low, factor.source.high
                for end in (low, high):
                    if abs(float(best[factor.name]) - end) <= AT_END * (high - low):
                        yield f"{factor.name} is at the end of its range, {end:g}; a wider one may give a better run"


@prints(StudyResults)
def study_text(results: StudyResults) -> str:
    """Text on a study so far: number of completed runs, answer, and next commands."""
    if not Dataset(results.folder).parts:
        return f"{results.folder}: no run has finished yet"
    answer = _Answer(results)
    found = _best(answer) if answer.optimum is not None else _measured(answer)
    below = [*results.accuracy.lines(), f"results: {results.runs}", *_next_lines(answer.next)]
    return joined_lines([*_state(answer), *found, *below])


def _state(answer: _Answer) -> Iterator[str]:
    status = answer.results.status
    left = f", {status.left} left" if status.left else ""
    yield f"{status.name}: {status.completed} of {counted(status.runs, 'run')} completed{left}"
    for message, count in answer.failures[:SHOWN_FAILURES]:
        yield f"{count} failed: {message}"


def _best(answer: _Answer) -> Iterator[str]:
    """Answer of an optimization."""
    assert answer.optimum is not None
    yield from answer.optimum.lines([*answer.results.factors, *answer.results.results])
    yield from (f"note: {text}" for text in answer.at_end())


def _measured(answer: _Answer) -> Iterator[str]:
    """Answer of a design whose points were known in advance: sensitivities, and extremes of all other results."""
    for one in answer.sensitivities:
        yield from aligned([[f"{one.result} depends on", *headings_of(one)], *rows_of(one)])
        if one.lost:
            yield f"{one.lost} of {one.used + one.lost} are left out: without a value"
        if one.result in answer.few:
            yield str(answer.few[one.result])
    told = {one.result for one in answer.sensitivities}
    others = [name for name in answer.results.results if name not in told]
    if others and answer.completed:
        yield from _ranges(answer, others)


def _ranges(answer: _Answer, names: Sequence[str]) -> Iterator[str]:
    """Table of the smallest and the largest value of each result, with the factors of their runs."""
    units, factors = answer.results.units, answer.varied[:SHOWN_FACTORS]
    headings = [f"{name} [{units[name]}]" if units.get(name) else name for name in factors]
    cells = [["result", "", "value", "run", *headings]]
    for name in names[:SHOWN_RESULTS]:
        label = f"{name} [{units[name]}]" if units.get(name) else name
        ends = answer.extremes(name)
        if ends is None:
            cells.append([label, "", "-", "", *("" for _ in factors)])
        elif ends[0][name] == ends[1][name]:
            cells.append([label, "always", cell_text(ends[0][name]), "", *("" for _ in factors)])
        else:
            for word, row in zip(("min", "max"), ends, strict=True):
                at = (cell_text(row[factor]) for factor in factors)
                cells.append([label if word == "min" else "", word, cell_text(row[name]), str(row["number"]), *at])
    yield from aligned(cells)
    if left := len(names[SHOWN_RESULTS:]):
        yield f"… and {counted(left, 'more result')}"
    if left := len(answer.varied[SHOWN_FACTORS:]):
        yield f"… and {counted(left, 'more factor')}"


def _next_lines(commands: Sequence[str]) -> Iterator[str]:
    yield from (f"{'next:' if number == 0 else '     '} {command}" for number, command in enumerate(commands))


def study_json(results: StudyResults) -> str:
    """JSON on a study so far; missing numbers are null."""
    if not Dataset(results.folder).parts:
        return json_text({"folder": str(results.folder), "name": results.status.name, "completed": 0}, indent=1)
    answer = _Answer(results)
    status, accuracy = results.status, results.accuracy
    facts = {
        "folder": str(results.folder),
        **{name: getattr(status, name) for name in ("name", "runs", "completed", "failed", "left")},
        "design": answer.study.design.word,
        "failures": [{"message": message, "runs": count} for message, count in answer.failures],
        "results": {name: _range_facts(answer, name) for name in results.results},
        "sensitivities": [_sensitivity_facts(answer, one) for one in answer.sensitivities],
        "optimum": None if answer.optimum is None else _optimum_facts(answer, answer.optimum),
        "accuracy": {"checked": len(accuracy.checked), "met": accuracy.met, "remarks": list(accuracy.lines())},
        "next": answer.next,
    }
    return json_text(without_nan(facts), indent=1)


def _range_facts(answer: _Answer, name: str) -> dict[str, Any]:
    ends = answer.extremes(name)
    found = (
        {}
        if ends is None
        else {word: _run_facts(answer, row, [name]) for word, row in zip(("min", "max"), ends, strict=True)}
    )
    return {"unit": answer.results.units.get(name), **found}


def _run_facts(answer: _Answer, row: Row, results: Sequence[str]) -> dict[str, Any]:
    factors = {name: row[name] for name in answer.results.factors}
    return {"run": row["number"], "factors": factors, "results": {name: row[name] for name in results}}


def _sensitivity_facts(answer: _Answer, found: Sensitivity) -> dict[str, Any]:
    few = answer.few.get(found.result)
    measures = {name: [one._asdict() for one in each] for name, each in found.measures.items()}
    return {
        "result": found.result,
        "factors": {
            found.factors[place]: {
                "ranks": list(found.ranks(place)),
                **{name: each[place] for name, each in measures.items()},
            }
            for place in found.ranking
        },
        "used": found.used,
        "lost": found.lost,
        "too_few_runs": None if few is None else asdict(few),
    }


def _optimum_facts(answer: _Answer, found: Optimum) -> dict[str, Any]:
    names = answer.results.results
    return {
        "objectives": list(map(str, found.objectives)),
        "verdict": found.verdict,
        "verified": found.verified,
        "front": [
            {
                **_run_facts(answer, row, names),
                "constraints": {
                    one.text: dict(zip(("smaller", "larger"), one.sides(row), strict=True)) for one in found.constraints
                },
            }
            for row in found.front
        ],
        "notes": list(answer.at_end()),
    }


@prints(Fit)
def fit_text(fit: Fit) -> str:
    """Text on a calibration: estimates with intervals, remaining residuals, check, and next commands."""
    width = max(len(each.name) for each in fit.estimates)
    lines = [_estimate(each, width) for each in fit.estimates]
    ended = "converged" if fit.converged else "not converged"
    lines.append(f"{ended} after {counted(fit.runs, 'run')}: {fit.message}")
    if np.isfinite(fit.residual_rms):
        lines.append(
            f"residual: root mean square {fit.residual_rms:.3g}, relative to the scale of each signal or result"
        )
    if fit.confidence:
        lines.append(f"intervals: {100 * fit.confidence:g} %")
    lines += _poor(fit.estimates)
    lines += () if fit.verification is None else fit.verification.lines(fit.estimates)
    return joined_lines([*lines, *(f"note: {note}" for note in fit.notes), *_next_lines(fit.next)])


def _estimate(each: Estimate, width: int) -> str:
    unit = f" {each.unit}" if each.unit else ""
    interval = f"  [{each.low:.6g}, {each.high:.6g}]" if np.isfinite(each.low) else ""
    return f"{each.name.ljust(width)} = {each.value:.8g}{unit}{interval}"


def _poor(estimates: Sequence[Estimate]) -> Iterator[str]:
    """Estimates that the measurement hardly determines."""
    for one in estimates:
        half = (one.high - one.low) / 2
        if np.isfinite(half) and half > POOR * abs(one.value):
            share = f"± {rounded_text(100 * half / abs(one.value), 2)} %" if one.value else "wide"
            yield f"note: {one.name} is poorly determined, its interval is {share}"


def fit_json(fit: Fit) -> str:
    """JSON on a calibration; missing numbers are null."""
    return json_text(without_nan({**fit_content(fit), "next": list(fit.next)}), indent=1)


STUDY_RENDERERS = {"text": study_text, "json": study_json}
FIT_RENDERERS = {"text": fit_text, "json": fit_json}
