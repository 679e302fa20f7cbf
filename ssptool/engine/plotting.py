"""Signals of runs over time, as a picture or a page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ssptool.arguments import WrongArgument, text, texts
from ssptool.arguments import path as file_path
from ssptool.dataclass import dataclass
from ssptool.drawing.curves import Curve, panels
from ssptool.drawing.paper import Size
from ssptool.drawing.plot import check_plot_name, plot_signals
from ssptool.drawing.plot_picture import picture_svg
from ssptool.drawing.thinning import thinned
from ssptool.engine.columns import NUMBERED
from ssptool.engine.recording.patterns import check_patterns, fits_any
from ssptool.engine.result import RESULTS, Result, trace_of
from ssptool.engine.trace import Trace


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over time, one panel per unit; shows itself in notebooks."""

    curves: tuple[Curve, ...]
    title: str = ""
    size: Size | None = None

    def save(self, output: Path | str) -> None:
        """Write a PNG, SVG or PDF file or an HTML page that zooms, by the ending.

        Raises
        ------
        ValueError
            The name has another ending, or there is nothing to draw.
        PlotUnavailable
            The library that draws is not installed.
        """
        plot_signals(self.curves, file_path("output", output), self.title, self.size)

    def __repr__(self) -> str:
        runs = len({curve.run for curve in self.curves})
        return f"<Plot of {len(self.curves)} curves, {runs} {'run' if runs == 1 else 'runs'}: save(FILE) writes it>"

    def _repr_html_(self) -> str:
        return picture_svg(panels([thinned(curve) for curve in self.curves]))


def plot(
    runs: Any,
    output: Path | str | None = None,
    *,
    signals: str | Sequence[str] = (),
    title: str | None = None,
    size: str | None = None,
) -> Plot:
    """Draw signals over time, one panel per unit, into a PNG, SVG or PDF file or an HTML page that zooms.

    Parameters
    ----------
    runs
        A `Result`, a `Trace` or a file of results; a list of them; or a mapping to them from the name that each has in
        the legend.
    output
        The file; without it, the plot that is returned shows itself in a notebook, and `save` writes it.
    signals
        One pattern of full names or several, in which * stands for any text. Without them, all of real numbers. Texts
        are never drawn.
    title
        Above; without it, the name of the run.
    size
        Of a picture for print, WIDTHxHEIGHT in mm, cm or in: `160x90mm`. Letters have 8 points; without, 10 points.

    Raises
    ------
    ValueError
        The name has another ending, a pattern fits no signal, there is nothing to draw, or the size is none.
    PlotUnavailable
        The library that draws is not installed.

    Examples
    --------
    >>> ssptool.plot([first, second], "runs.png", signals="*.x1")
    """
    path = None if output is None else file_path("output", output)
    if path is not None:
        check_plot_name(path)
    paper = None if size is None else Size.parse(text("size", size))
    named = _named(runs)
    names = list(named)
    shown = (names[0] if len(names) == 1 else "") if title is None else text("title", title)
    traces = {name if len(names) > 1 else "": trace_of("runs", run) for name, run in named.items()}
    drawn = Plot(tuple(curves_of(traces, texts("signals", signals, "a pattern such as '*.x1'"))), shown, paper)
    if path is not None:
        drawn.save(path)
    return drawn


def _named(runs: Any) -> dict[str, Any]:
    """Each run by a name that no other has."""
    if isinstance(runs, Mapping):
        return {str(name): run for name, run in runs.items()}
    several = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not several:
        raise WrongArgument("runs", runs, f"{RESULTS}, or a list or mapping of them that is not empty")
    stems = [_name(run) for run in several]
    return {
        name if stems.count(name) == 1 else f"{name} {stems[: place + 1].count(name)}": run
        for place, (name, run) in enumerate(zip(stems, several, strict=True))
    }


def _name(run: Any) -> str:
    if isinstance(run, Result):
        return run.name
    if isinstance(run, str | Path):
        return Path(run).stem
    return "run" if isinstance(run, Trace) else ""


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
