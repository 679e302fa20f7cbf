"""Draw the signals with the worst agreement, with their tubes."""

from pathlib import Path
from typing import Any

import numpy as np

from ssptool.drawing.plot import new_figure, save
from ssptool.drawing.plot_model import PICTURES, check_plot_name
from ssptool.engine.trace import Trace
from ssptool.errors import WrongValue
from ssptool.results.comparison import SampledCurve, SignalComparison, SignalVerdict, TraceComparison, aligned, tube

MOST = 4
"""Maximum number of signals in a picture."""


def draw_comparison(comparison: TraceComparison, trace: Trace, reference: Trace, path: Path) -> None:
    """Draw the worst signals to a PNG, SVG or PDF file: the reference, its tube, and the trace.

    Raises
    ------
    MissingPackage
        matplotlib is not installed.
    WrongValue
        The file name has another extension, or no signal could be compared.
    """
    check_plot_name(path, PICTURES)
    trace, reference, _ = aligned(trace, reference)
    shown = _distinct(comparison, trace, reference)[:MOST]
    if not shown:
        raise WrongValue("there is no signal to draw: none could be compared")
    figure = new_figure(len(shown))
    rows = figure.subplots(len(shown), 2, sharex=True, squeeze=False)
    for (values, deviation), one in zip(rows, shown, strict=True):
        _draw_signal(values, deviation, one, trace, reference)
    for axis in rows[-1]:
        axis.set_xlabel("time [s]")
    entries = [axis.get_legend_handles_labels() for axis in rows[0]]
    handles, names = [h for each, _ in entries for h in each], [name for _, each in entries for name in each]
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)


def _distinct(comparison: TraceComparison, trace: Trace, reference: Trace) -> list[SignalComparison]:
    """Compared signals without strings; of signals with equal values, such as the ends of a connection, only the
    first.
    """
    by_values: dict[bytes, SignalComparison] = {}
    for one in comparison.signals:
        if one.compared and trace[one.signal].dtype != object:
            by_values.setdefault(trace[one.signal].tobytes() + reference[one.signal].tobytes(), one)
    return list(by_values.values())


def _draw_signal(values: Any, deviation: Any, one: SignalComparison, trace: Trace, reference: Trace) -> None:
    """Draw the curves on the left, and their difference with the tube on the right."""
    held = next(c for c in reference.columns if c.signal == one.signal).held
    found = SampledCurve(trace.t, trace[one.signal].astype(np.float64), held)
    expected = SampledCurve(reference.t, reference[one.signal].astype(np.float64), held)
    t = np.union1d(reference.t, trace.t)
    around = tube(expected, t, one.half_width, one.tolerance.time)
    step = {"drawstyle": "steps-post"} if held else {}
    colour = "tab:red" if one.verdict is SignalVerdict.DIFFERS else "tab:blue"
    values.plot(expected.t, expected.y, color="black", linewidth=1.0, label="reference", **step)
    values.plot(found.t, found.y, color=colour, linewidth=1.3, linestyle="--", label="trace", **step)
    middle = expected.at(t)
    deviation.fill_between(t, around.lower - middle, around.upper - middle, alpha=0.3, color="tab:gray", label="tube")
    if np.isfinite(one.stated):
        for edge, label in ((one.stated, "stated errors"), (-one.stated, None)):
            deviation.axhline(edge, color="black", linewidth=0.8, linestyle="--", label=label)
    deviation.plot(t, found.at(t) - middle, color=colour, linewidth=1.0, label="difference", **step)
    values.set_title(one.signal, fontsize="small", loc="left")
    values.set_ylabel(f"[{one.unit or '-'}]")
    deviation.set_title(one.judgement, fontsize="small", loc="right")
    for axis in (values, deviation):
        if one.first_outside is not None:
            axis.axvline(one.first_outside, color=colour, linewidth=0.8, linestyle=":")
        axis.grid(visible=True, alpha=0.3)
