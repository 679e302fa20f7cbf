"""Pictures of traces."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ssptool.drawing.curves import Curve
from ssptool.drawing.paper import Size
from ssptool.drawing.plot import check_plot_name as check_plot_name
from ssptool.drawing.plot import plot_signals
from ssptool.engine.columns import NUMBERED
from ssptool.engine.recording.files import read_trace
from ssptool.engine.recording.patterns import check_patterns, fits_any
from ssptool.engine.trace import Trace


def plot(
    runs: Trace | Path | str | Mapping[str, Trace | Path | str],
    path: Path | str,
    *,
    patterns: Sequence[str] = (),
    title: str = "",
    size: str | None = None,
) -> None:
    """Draw signals over time, one panel per unit, into a PNG, SVG or PDF file or an HTML page that zooms.

    Parameters
    ----------
    runs
        A trace or a file of results; or several, by the name that each has in the legend.
    patterns
        Full names, in which * stands for any text. Without them, all of real numbers. Texts are never drawn.
    size
        Of a picture for print, WIDTHxHEIGHT in mm, cm or in: `160x90mm`. Letters have 8 points; without, 10 points.

    Raises
    ------
    ValueError
        The name has another ending, a pattern fits no signal, there is nothing to draw, or the size is none.
    PlotUnavailable
        The library that draws is not installed.
    """
    path = Path(path)
    check_plot_name(path)
    paper = None if size is None else Size.parse(size)
    named = runs if isinstance(runs, Mapping) else {"": runs}
    traces = {name: run if isinstance(run, Trace) else read_trace(run) for name, run in named.items()}
    plot_signals(curves_of(traces, patterns), path, title, paper)


def curves_of(traces: Mapping[str, Trace], patterns: Sequence[str]) -> list[Curve]:
    """The signals that a pattern fits, without patterns all of real numbers, of several runs by their names.

    Discrete signals are held; texts are left out.

    Raises
    ------
    NothingMatches
        A pattern fits no signal.
    """
    signals = list(dict.fromkeys(signal for trace in traces.values() for signal in trace.signals))
    check_patterns(patterns, signals, "recorded signal")
    return [curve for name, trace in traces.items() for curve in _curves(trace, patterns, name)]


def _curves(trace: Trace, patterns: Sequence[str], run: str) -> Iterator[Curve]:
    for column in trace.columns:
        if column.type not in NUMBERED and (fits_any(patterns, column.signal) if patterns else column.real):
            values = trace[column.signal].astype(np.float64, copy=False)
            yield Curve(column.signal, column.unit, trace.t, values, column.held, run)
