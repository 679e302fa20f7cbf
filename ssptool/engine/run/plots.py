"""Plots of traces over time, one panel per unit, as a picture or an HTML page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ssptool.arguments import path as file_path
from ssptool.arguments import text, texts
from ssptool.drawing.plot import picture_svg, plot_signals
from ssptool.drawing.plot_model import Curve, Size, check_plot_name, panels, thinned
from ssptool.engine.recording.patterns import column_patterns, fits_column
from ssptool.engine.run.accuracy import StatedErrors, extent
from ssptool.engine.trace import NUMBERED, Trace
from ssptool.errors import counted


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over time, one panel per unit; shows itself in notebooks. `notes` are those of `Trace.assumptions`."""

    curves: tuple[Curve, ...]
    title: str = ""
    size: Size | None = None
    notes: tuple[str, ...] = ()

    def save(self, output: Path | str) -> None:
        """Write a PNG, SVG or PDF file or an HTML page that zooms, by the ending.

        Raises
        ------
        ValueError
            The name has another ending, or there is nothing to draw.
        MissingPackage
            The library that draws is not installed.
        """
        plot_signals(self.curves, file_path("output", output), self.title, self.size)

    def __repr__(self) -> str:
        runs = len({curve.run for curve in self.curves})
        return f"<Plot of {counted(len(self.curves), 'curve')}, {counted(runs, 'run')}: save(FILE) writes it>"

    def _repr_html_(self) -> str:
        return picture_svg(panels([thinned(curve) for curve in self.curves]))


def plot_traces(
    traces: Mapping[str, Trace],
    output: Path | str | None,
    signals: str | Sequence[str],
    title: str | None,
    size: str | None,
    errors: Mapping[str, StatedErrors] = MappingProxyType({}),
) -> Plot:
    """Draw traces with these names in the legend, as `plot` does for results and files.

    `errors` are the errors stated by the runs, by the same names: each curve gets a band.
    """
    path = None if output is None else file_path("output", output)
    if path is not None:
        check_plot_name(path)
    paper = None if size is None else Size.parse(text("size", size))
    names = list(traces)
    shown = (names[0] if len(names) == 1 else "") if title is None else text("title", title)
    legends = {name: name if len(names) > 1 else "" for name in names}
    labelled = {legends[name]: trace for name, trace in traces.items()}
    patterns = texts("signals", signals, "a pattern such as '*.x1'")
    stated = {legends[name]: found for name, found in errors.items()}
    curves = tuple(curves_of(labelled, patterns, stated))
    notes = [note for trace in traces.values() for note in trace.assumptions]
    bands = {name: band_words(curves, legends[name], found) for name, found in errors.items()}
    notes += [f"band of {name}: {words}" for name, words in bands.items() if words]
    drawn = Plot(curves, shown, paper, tuple(notes))
    if path is not None:
        drawn.save(path)
    return drawn


def curves_of(
    traces: Mapping[str, Trace], patterns: Sequence[str], errors: Mapping[str, StatedErrors] = MappingProxyType({})
) -> list[Curve]:
    """Curves of several runs, by name: of signals that match a pattern (default: all real signals).

    Discrete signals are held; strings are left out. `errors` are the errors stated by the runs.

    Raises
    ------
    UnknownName
        A pattern matches no signal.
    """
    columns = [column for trace in traces.values() for column in trace.columns]
    patterns = column_patterns(patterns, columns, "recorded signal")
    return [curve for name, trace in traces.items() for curve in _curves(trace, patterns, name, errors.get(name))]


def band_words(curves: Iterable[Curve], run: str, errors: StatedErrors) -> str:
    """Explanation of the bands around the curves of a run; empty if there are none."""
    return errors.band(curve.label for curve in curves if curve.run == run and curve.error)


def _curves(trace: Trace, patterns: Sequence[str], run: str, errors: StatedErrors | None) -> Iterator[Curve]:
    for column in trace.columns:
        if column.type not in NUMBERED and (fits_column(patterns, column) if patterns else column.real):
            values = trace[column.signal].astype(np.float64, copy=False)
            net = column.carried_from or column.signal
            error = 0.0 if errors is None or not column.real else errors.of(column.signal)
            band = error * extent(values) if isfinite(error) else 0.0
            yield Curve(column.signal, column.unit, trace.t, values, column.held, run, net, band)
