"""Charts of the results of a study, by kind."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from ssptool.drawing.charts import Chart
from ssptool.drawing.charts.axes import Axis, Floats
from ssptool.drawing.charts.envelope import Band, Envelope
from ssptool.drawing.charts.influences import Influences, Marked
from ssptool.drawing.charts.line_and_dots import LineAndDots, LinePanel
from ssptool.drawing.charts.parallel import Parallel
from ssptool.drawing.charts.scatter import Scatter
from ssptool.drawing.charts.surface import Surface
from ssptool.drawing.charts.tornado import Bar, Tornado
from ssptool.engine.recording.patterns import checked_patterns, fits_any
from ssptool.engine.recording.patterns import chosen as places_of
from ssptool.errors import UnusableFile, WrongValue
from ssptool.studies.calibration import read_fit, read_fitted
from ssptool.studies.dataset import Dataset
from ssptool.studies.optimum import Optimum
from ssptool.studies.sensitivity import SENSITIVITY_DESIGNS
from ssptool.studies.stored_results import StudyResults

MOST_PANELS = 8
"""Largest number of panels in a row or column."""

MOST_DOTS = 20_000
"""Largest number of dots in a panel of a scatter plot; with more runs, only every n-th one is drawn."""

MOST_AXES, MOST_LINES = 16, 2_000
"""Largest number of axes and lines of a parallel plot."""


class ChartKind(StrEnum):
    """Kind of a chart of a study."""

    SCATTER = "scatter"
    TORNADO = "tornado"
    ENVELOPE = "envelope"
    SENSITIVITY = "sensitivity"
    PARALLEL = "parallel"
    SURFACE = "surface"
    FRONT = "front"
    CONVERGENCE = "convergence"
    FIT = "fit"


def chart(
    results: StudyResults,
    kind: ChartKind | str | None,
    patterns: Sequence[str],
    *,
    factors: Sequence[str] = (),
    colour: str | None = None,
) -> Chart:
    """The chart of this kind (default: a tornado chart for a one-at-a-time design, an envelope for traces, otherwise a
    scatter plot).

    `patterns` select results (signals for an envelope), `factors` those of a scatter or parallel plot and the two of a
    surface; `colour` is a factor (for a parallel plot also a result) that determines the colour of runs.

    Raises
    ------
    UnusableFile
        There is nothing to draw for this kind.
    UnknownName
        A pattern matches no result, or no signal.
    WrongValue
        There are too many panels, or the kind does not exist.
    """
    if kind is None:
        kind = _fitting(results)
    if kind not in list(ChartKind):
        raise WrongValue(f"the kind of a plot of a study is one of {', '.join(ChartKind)}; found {kind!r}")
    if kind == ChartKind.ENVELOPE:
        return _envelope(results, patterns)
    if kind == ChartKind.SENSITIVITY:
        return _influences(results, patterns)
    if kind == ChartKind.FIT:
        return _fitted(results, patterns)
    if kind in (ChartKind.FRONT, ChartKind.CONVERGENCE):
        return _front(results) if kind == ChartKind.FRONT else _convergence(results)
    rows = [row for row in results.rows() if row["status"] == "completed"]
    if not rows:
        raise UnusableFile(results.folder, "no run has completed")
    patterns = checked_patterns(patterns, results.results, "result")
    chosen = [name for name in results.results if not patterns or fits_any(patterns, name)]
    if not chosen:
        raise UnusableFile(results.folder, "cannot plot the study: the study file has no [results]")
    chosen = [name for name in chosen if any(row[name] is not None for row in rows)]
    if not chosen:
        raise UnusableFile(results.folder, "none of the results has a value in any run")
    if kind == ChartKind.TORNADO:
        return _tornado(results, rows, chosen)
    varied = _varied(results, rows, factors)
    if kind == ChartKind.SURFACE:
        return _surface(results, rows, chosen, varied)
    return (_parallel if kind == ChartKind.PARALLEL else _scatter)(results, rows, chosen, varied, colour)


def every_chart(results: StudyResults, patterns: Sequence[str]) -> tuple[dict[str, Chart], list[str]]:
    """All possible charts, by kind, and the reasons why other kinds are missing. `patterns` select results."""
    charts: dict[str, Chart] = {}
    notes: list[str] = []
    wanted = [ChartKind.SCATTER] if results.results else []
    numbers = _varied_numbers(results) if results.results else []
    wanted += [ChartKind.SURFACE] if len(numbers) == len(results.factors) == 2 else []
    wanted += [ChartKind.PARALLEL] if len(numbers) > 2 else []
    wanted += [ChartKind.TORNADO] if results.definition["design"] == "one-at-a-time" else []
    wanted += [ChartKind.SENSITIVITY] if results.definition["design"] in SENSITIVITY_DESIGNS else []
    wanted += [ChartKind.ENVELOPE] if results.traced else []
    best = results.optimum()
    wanted += [ChartKind.FRONT] if best is not None and len(best.objectives) > 1 else []
    wanted += [ChartKind.FIT] if read_fitted(results.folder) is not None else []
    wanted += [ChartKind.CONVERGENCE] if best is not None or read_fit(results.folder) is not None else []
    for kind in wanted:
        try:
            charts[kind.value] = chart(results, kind, () if kind is ChartKind.ENVELOPE else patterns)
        except (UnusableFile, ValueError) as problem:
            reason = problem.reason if isinstance(problem, UnusableFile) else str(problem)
            notes.append(f"There is no {kind} plot: {reason}.")
    return charts, notes


def _varied_numbers(results: StudyResults) -> list[str]:
    rows = results.rows()
    quantities = {name: _quantity(results, rows, name) for name in results.factors} if rows else {}
    return [name for name, (axis, column) in quantities.items() if not axis.labels and np.ptp(column) > 0]


def _fitting(results: StudyResults) -> ChartKind:
    if results.definition["design"] == "one-at-a-time":
        return ChartKind.TORNADO
    if results.definition["design"] in SENSITIVITY_DESIGNS:
        return ChartKind.SENSITIVITY
    if (best := results.optimum()) is not None:
        return ChartKind.CONVERGENCE if len(best.objectives) == 1 else ChartKind.FRONT
    if not results.status.completed:
        return ChartKind.CONVERGENCE if read_fitted(results.folder) is None else ChartKind.FIT
    return ChartKind.SCATTER if results.results or not results.traced else ChartKind.ENVELOPE


Rows = Sequence[Mapping[str, Any]]


def _varied(results: StudyResults, rows: Rows, patterns: Sequence[str]) -> list[str]:
    """Factors that have more than one value, or that are requested; if none varies, all factors."""
    patterns = checked_patterns(patterns, results.factors, "factor")
    if patterns:
        return [name for name in results.factors if fits_any(patterns, name)]
    return [name for name in results.factors if len({row[name] for row in rows}) > 1] or list(results.factors)


def _quantity(results: StudyResults, rows: Rows, name: str) -> tuple[Axis, Floats]:
    """A factor or result (n,): numbers (nan if missing), or indices of labels."""
    column = [row[name] for row in rows]
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in column):
        numbers = np.array([np.nan if value is None else float(value) for value in column])
        return Axis(name, results.units.get(name)), numbers
    labels = tuple(dict.fromkeys(map(str, column)))
    return Axis(name, results.units.get(name), labels), np.array([float(labels.index(str(each))) for each in column])


def _require_name(name: str, names: Sequence[str], what: str) -> None:
    if name not in names:
        raise WrongValue(f"the colour is that of one of the {what} {', '.join(names)}; found {name!r}")


def _parallel(
    results: StudyResults, rows: Rows, chosen: Sequence[str], varied: Sequence[str], colour: str | None
) -> Parallel:
    names = [*varied, *chosen]
    if len(names) > MOST_AXES:
        raise WrongValue(
            f"{len(names)} axes are too many for one picture, which shows {MOST_AXES}; --signals picks results"
        )
    shade = chosen[-1] if colour is None else colour
    _require_name(shade, [*results.factors, *results.results], "factors and results")
    whole = [row for row in rows if all(row[name] is not None for name in {*chosen, shade})]
    if not whole:
        raise UnusableFile(results.folder, "no run has a value for all results")
    whole = whole[:: -(-len(whole) // MOST_LINES)]
    quantities = {name: _quantity(results, whole, name) for name in {*names, shade}}
    values = {name: column for name, (_, column) in quantities.items()}
    return Parallel(tuple(quantities[name][0] for name in names), quantities[shade][0], values)


def _surface(results: StudyResults, rows: Rows, chosen: Sequence[str], varied: Sequence[str]) -> Surface:
    """Surface over two factors; the mean of runs that differ only in other factors."""
    quantities = {name: _quantity(results, rows, name) for name in varied}
    if len(varied) != 2 or any(axis.labels for axis, _ in quantities.values()):
        raise WrongValue(
            f"a surface is over two factors that are numbers; --factors picks them, of {', '.join(varied)}"
        )
    if len(chosen) > MOST_PANELS:
        raise WrongValue(
            f"{len(chosen)} results are too many for one picture, which shows {MOST_PANELS}; --signals picks some"
        )
    points, groups = np.unique(
        np.column_stack([column for _, column in quantities.values()]), axis=0, return_inverse=True
    )
    if np.linalg.matrix_rank(points - points[0]) < 2:
        raise UnusableFile(results.folder, "the runs lie on one line, over which there is no surface")
    values = dict(zip(varied, points.T, strict=True))
    for name in chosen:
        numbers = _quantity(results, rows, name)[1]
        values[name] = np.array([_mean(numbers[groups.ravel() == place]) for place in range(len(points))])
    others = [name for name in results.factors if name not in varied and len({row[name] for row in rows}) > 1]
    x, y = (axis for axis, _ in quantities.values())
    return Surface(x, y, tuple(Axis(name, results.units.get(name)) for name in chosen), values, tuple(others))


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _scatter(
    results: StudyResults, rows: Rows, chosen: Sequence[str], varied: Sequence[str], colour: str | None
) -> Scatter:
    rows = rows[:: -(-len(rows) // MOST_DOTS)]
    for what, names in (("factors", varied), ("results", chosen)):
        if len(names) > MOST_PANELS:
            raise WrongValue(
                f"{len(names)} {what} are too many for one picture, which shows {MOST_PANELS}; --signals picks results"
            )
    shades = [] if colour is None else [colour]
    for name in shades:
        _require_name(name, results.factors, "factors")
    quantities = {name: _quantity(results, rows, name) for name in [*varied, *chosen, *shades]}
    return Scatter(
        tuple(quantities[name][0] for name in varied),
        tuple(quantities[name][0] for name in chosen),
        {name: column for name, (_, column) in quantities.items()},
        None if colour is None else quantities[colour][0],
    )


def _influences(results: StudyResults, patterns: Sequence[str]) -> Influences:
    patterns = checked_patterns(patterns, results.results, "result")
    found = [one for one in results.sensitivity() if not patterns or fits_any(patterns, one.result)]
    if not found:
        raise UnusableFile(
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


_NUMBER = Axis("number of the run")


def _front(results: StudyResults) -> LineAndDots:
    """One objective over the other, for all runs that meet the constraints."""
    best = _best_runs(results)
    if len(best.objectives) == 1:
        raise UnusableFile(results.folder, "there is a front between two objectives, and the study has one")
    x, y = (one.result for one in best.objectives)
    dots, line = (tuple(_quantity(results, rows, name)[1] for name in (x, y)) for rows in (best.feasible, best.front))
    axes = [Axis(f"{one.result}, {one.word}d", results.units.get(one.result)) for one in best.objectives]
    return LineAndDots(
        (LinePanel(axes[0], axes[1], (dots[0], dots[1]), (line[0], line[1])),), "runs", "front", marked=True
    )


def _convergence(results: StudyResults) -> LineAndDots:
    """The best run so far, in an optimization or a calibration."""
    if results.optimum() is None:
        fit = read_fit(results.folder)
        if fit is None or not np.isfinite(fit.history).any():
            raise UnusableFile(results.folder, "a plot of convergence needs an optimize design or a calibration")
        values = np.array(fit.history)
        minimized = not np.isfinite(fit.residual_rms)
        what = Axis("result" if minimized else "root mean square of the residuals")
        numbers = np.arange(len(values), dtype=float)
        panel = LinePanel(
            _NUMBER, what, (numbers, values), (numbers, _least_so_far(values)), step=True, log=not minimized
        )
        return LineAndDots((panel,), "runs", "best so far")
    best, shown = _best_runs(results), []
    numbers = np.array([float(row["number"]) for row in best.feasible])
    for one in best.objectives:
        axis, values = _quantity(results, best.feasible, one.result)
        sign = -1.0 if one.maximize else 1.0
        shown.append(
            LinePanel(_NUMBER, axis, (numbers, values), (numbers, sign * _least_so_far(sign * values)), step=True)
        )
    return LineAndDots(tuple(shown), "runs that meet the constraints" if best.constraints else "runs", "best so far")


def _best_runs(results: StudyResults) -> Optimum:
    best = results.optimum()
    if best is None:
        raise UnusableFile(results.folder, "the study has no optimize design")
    if not best.feasible:
        raise UnusableFile(results.folder, best.verdict)
    return best


def _least_so_far(values: Floats) -> Floats:
    return np.asarray(np.fmin.accumulate(values))


def _fitted(results: StudyResults, patterns: Sequence[str]) -> LineAndDots:
    """Fitted and measured signals, and the difference between them."""
    fitted = read_fitted(results.folder)
    if fitted is None:
        raise UnusableFile(results.folder, "a plot of a fit needs a calibration with measured data")
    chosen = [fitted.found.columns[place] for place in places_of(patterns, fitted.found.columns, "signal")]
    if len(chosen) > MOST_PANELS:
        raise WrongValue(
            f"{len(chosen)} signals are too many for one picture, which shows {MOST_PANELS}; --signals picks some"
        )
    time, t, shown = Axis("time", "s"), fitted.found.t, []
    for one in chosen:
        measured, found = (np.asarray(each[one.signal], float) for each in (fitted.measured, fitted.found))
        shown.append(LinePanel(time, Axis(one.signal, one.unit), (t, measured), (t, found)))
        residual = Axis("measured − fit", one.unit)
        shown.append(LinePanel(time, residual, (t, measured - found), (t[[0, -1]], np.zeros(2))))
    return LineAndDots(tuple(shown), "measured", "fit")


def _tornado(results: StudyResults, rows: Sequence[dict[str, Any]], chosen: Sequence[str]) -> Tornado:
    nominal = results.definition.get("nominal")
    base = next((row for row in rows if nominal and all(row[name] == nominal[name] for name in nominal)), None)
    if nominal is None or base is None:
        raise UnusableFile(results.folder, "a tornado plot needs a one-at-a-time design whose nominal run completed")
    found = []
    for result in chosen:
        if base[result] is None:
            continue
        bars = [bar for name in nominal if (bar := _bar(results, rows, base, name, result)) is not None]
        bars.sort(key=lambda bar: -abs(bar.high - bar.low))
        found.append((Axis(result, results.units.get(result)), float(base[result]), tuple(bars)))
    if not found or not any(bars for _, _, bars in found):
        raise UnusableFile(results.folder, "no result has a value at the nominal point")
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
    traces = [trace for _, trace in Dataset(results.folder).traces.each()]
    if not traces:
        raise UnusableFile(results.folder, "an envelope needs [traces] in the study")
    first = traces[0]
    columns = [first.columns[place] for place in places_of(patterns, first.columns, "signal of the traces")]
    if len(columns) > MOST_PANELS:
        raise WrongValue(
            f"{len(columns)} signals are too many for one picture, which shows {MOST_PANELS}; --signals picks some"
        )
    bands = []
    for column in columns:
        # nan after the end of a failed run
        every = np.array([np.interp(first.t, trace.t, trace[column.signal], right=np.nan) for trace in traces])
        bands.append(_band(Axis(column.signal, column.unit), first.t, every))
    return Envelope(tuple(bands), len(traces))


def _band(signal: Axis, t: Floats, every: Floats) -> Band:
    least, low, median, high, greatest = np.nanquantile(every, [0.0, 0.05, 0.5, 0.95, 1.0], axis=0)
    return Band(signal, t, least, low, median, high, greatest)
