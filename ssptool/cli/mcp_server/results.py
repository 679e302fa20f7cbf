"""Tools that read results: statistics and decimated values of signals, and differences between runs, as JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

import ssptool
from ssptool.cli.mcp_server.folder import Folder
from ssptool.cli.mcp_server.pages import Answer, PagedItems
from ssptool.cli.mcp_server.tools import Patterns, loop_gain
from ssptool.engine.recording.patterns import chosen
from ssptool.engine.run.loops import LoopReport
from ssptool.engine.trace import NUMBERED, Column, Trace
from ssptool.studies.stored_results import StudyResults

MOST_POINTS = 1_000

Run = Annotated[
    str, Field(description="A run in memory, such as run1, or a result file (.csv, .parquet, .mat, .h5, .mf4).")
]


class ResultTools:
    """The tools that need runs in memory, or result files of the folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def results(
        self,
        run: Run,
        signals: Patterns = (),
        at: Annotated[Sequence[float], Field(description="Values at these times [s] instead of statistics.")] = (),
        points: Annotated[
            int, Field(ge=0, le=MOST_POINTS, description="Values at so many equidistant times instead of statistics.")
        ] = 0,
        loops: Annotated[
            bool,
            Field(
                description="Algebraic loops at the start instead: solver, and the residual norm of each iteration; "
                "with the setting init fixed-point also the magnitude of the loop gain, the ratio of the last two."
            ),
        ] = False,
    ) -> Answer:
        """Read results as JSON. Of a run: of each signal unit, first and final value, minimum and maximum with their
        times, and mean over time; or values at times. Of a study: its runs. Numbers that are not finite are "INF",
        "-INF" and "NaN".
        """
        found = self._folder.result(run)
        if isinstance(found, StudyResults):
            return _study(run, found)
        if loops:
            return _loops(run, found)
        trace = _chosen(_trace(found), signals)
        times = list(at) or (np.linspace(trace.t[0], trace.t[-1], points).tolist() if points and len(trace) else [])
        facts: dict[str, Any] = {"run": run, "rows": len(trace)}
        facts |= {"start": _number(trace.t[0]), "end": _number(trace.t[-1])} if len(trace) else {}
        if not times:
            return PagedItems(facts, "signals", [_statistics(trace, column) for column in trace.columns])
        rows = ([time, *map(_number, trace.at(time).values())] for time in times)
        facts |= {"columns": ["time [s]", *trace.signals], "units": ["s", *trace.units]}
        return PagedItems(facts, "values", list(rows))

    def compare(
        self,
        run: Run,
        reference: Run,
        signals: Patterns = (),
        absolute: Annotated[float, Field(ge=0, description="Allowed deviation, in the unit of the signal.")] = 0.0,
        relative: Annotated[
            float, Field(ge=0, description="Allowed deviation, times the largest magnitude of the reference.")
        ] = 1e-3,
    ) -> Answer:
        """Compare two runs as JSON: whether each signal stays within the tolerance around the reference, its largest
        deviation and when, and what differs between the runs themselves: settings, start values, files.
        """
        comparison = ssptool.compare(
            self._folder.run(run),
            self._folder.run(reference),
            signals=list(signals),
            tolerance=ssptool.types.Tolerance(absolute, relative),
        )
        facts = json.loads(ssptool.renderers.TRACE_COMPARISON_RENDERERS["json"](comparison))
        return PagedItems(
            {name: value for name, value in facts.items() if name != "signals"}, "signals", facts["signals"]
        )


def _trace(found: "ssptool.Result | Path") -> Trace:
    return ssptool.read_trace(found) if isinstance(found, Path) else found.trace


def _study(name: str, found: StudyResults) -> PagedItems:
    """The runs of a study: number, factors, results and status of each."""
    rows, columns = found.rows(), ["number", *found.factors, *found.results, "status"]
    units = [found.units.get(one) for one in columns]
    values = [[_number(row[one]) for one in columns] for row in rows]
    return PagedItems({"run": name, "rows": len(rows), "columns": columns, "units": units}, "values", values)


def _loops(run: str, found: "ssptool.Result | Path") -> PagedItems:
    """The algebraic loops of a run in memory; those of a file are in its manifest only as far as it was written."""
    reports = () if isinstance(found, Path) else found.initialization.loops
    items = [
        {
            **loop.facts(),
            "values": {str(signal): _number(value) for signal, value in loop.values.items()},
            "residual_norms": list(map(_number, loop.solution.history)),
            **_gain(loop),
        }
        for loop in reports
    ]
    return PagedItems({"run": run}, "loops", items)


def _gain(loop: LoopReport) -> Mapping[str, Any]:
    gain = loop_gain(loop)
    return {} if gain is None else {"loop_gain": _number(gain)}


def _chosen(trace: Trace, patterns: Sequence[str]) -> Trace:
    """The signals that patterns fit. Raises UnknownName."""
    if not patterns:
        return trace
    places = chosen(patterns, trace.columns, "signal")
    return Trace(trace.t, trace.cells[:, places], tuple(trace.columns[one] for one in places), trace.contents)


def _statistics(trace: Trace, column: Column) -> Mapping[str, Any]:
    facts: dict[str, Any] = {"signal": column.signal, "unit": column.unit}
    facts |= {} if column.type == "Float64" else {"type": column.type}
    values = trace[column.signal]
    if not len(values):
        return facts
    facts |= {"first": _number(values[0]), "final": _number(values[-1])}
    if column.type in NUMBERED:
        return facts
    y = values.astype(np.float64)
    if not np.isfinite(y).any():
        return facts
    low, high = int(np.nanargmin(y)), int(np.nanargmax(y))
    facts |= {"min": _number(values[low]), "min_at": _number(trace.t[low])}
    facts |= {"max": _number(values[high]), "max_at": _number(trace.t[high])}
    return facts | {"mean": _number(_mean(trace.t, y, column.held))}


def _mean(t: "np.ndarray[Any, Any]", y: "np.ndarray[Any, Any]", held: bool) -> float:
    """Mean over time: on the line between samples, or of a held signal the value before each."""
    if t[-1] == t[0]:
        return float(y[-1])
    between = y[:-1] if held else 0.5 * (y[:-1] + y[1:])
    return float(np.sum(between * np.diff(t)) / (t[-1] - t[0]))


def _number(value: Any) -> Any:
    """A value for JSON: numbers of numpy as those of Python, bytes as their size."""
    plain = value.item() if isinstance(value, np.generic) else value
    return f"{len(plain)} bytes" if isinstance(plain, bytes) else plain
