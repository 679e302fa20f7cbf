"""Charts of the results of a study: scatter plots, tornado charts, envelopes and bands."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from ssptool.drawing.study_plot import Axis, Band, Bar, Chart, Envelope, Floats, Scatter, Tornado
from ssptool.engine.recording.patterns import check_patterns, fits_any
from ssptool.errors import WrongValue
from ssptool.studies.dataset import Dataset, NotResults
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
