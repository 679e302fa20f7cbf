"""Plots over time as PNG, SVG or PDF (Matplotlib)."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssptool.drawing.plot_model import Panel, Size
from ssptool.drawing.plot_unavailable import PlotUnavailable

_DASHES: Sequence[Any] = ("-", "--", ":", "-.")
_Runs = dict[str, tuple[str, int]]
"""Runs that one legend names for all panels, with colour and dashes of each; empty if there is but one run."""


def draw_picture(panels: Sequence[Panel], path: Path, title: str, size: Size | None) -> None:
    """Write a picture in the format of its name; with a size it is for print, with letters of 8 points."""
    with _style(size):
        save(_figure(panels, title, size), path)


def picture_svg(panels: Sequence[Panel]) -> str:
    """The picture as the text of an SVG, for pages and notebooks."""
    buffer = io.StringIO()
    with _style(None):
        _literal(_figure(panels, "")).savefig(buffer, format="svg")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib in the format of its name: the same bytes for the same figure."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with _style(None):
        _literal(figure).savefig(path, metadata=dates.get(path.suffix.lower()))


def _literal(figure: Any) -> Any:
    """With all texts as they are: names of signals may have dollars in them, which else begin a formula."""
    from matplotlib.text import Text  # heavy and optional

    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


def _style(size: Size | None) -> Any:
    """Settings of matplotlib: fonts go into the file as outlines or TrueType, so that it looks alike everywhere."""
    try:
        import matplotlib  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable("matplotlib") from error
    style: Any = {"svg.fonttype": "path", "svg.hashsalt": "ssptool", "pdf.fonttype": 42}
    if size is not None:
        style |= {"font.size": 8.0, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}
        style |= {"savefig.dpi": size.dots_per_inch}
    return matplotlib.rc_context(style)


def _figure(panels: Sequence[Panel], title: str, size: Size | None = None) -> Any:
    """One panel below the other over a common axis of time, which covers all curves."""
    runs = _runs_of_all(panels)
    rows = sum(_rows_of_legend(panel, runs) for panel in panels)
    figure = new_figure(len(panels), size, rows)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw_panel(axis, panel, runs)
    begin = min(float(one.curve.t[0]) for panel in panels for one in panel.curves)
    end = max(float(one.curve.t[-1]) for panel in panels for one in panel.curves)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(begin, end if end > begin else begin + 1.0)
    _name_runs(figure, runs)
    figure.suptitle(title)
    figure.align_ylabels()
    return figure


def new_figure(panels: int, size: Size | None = None, rows_of_legends: int = 0) -> Any:
    """A figure of matplotlib for so many panels, one below the other, with so many rows of legends in all.

    Raises
    ------
    PlotUnavailable
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable("matplotlib") from error
    size = size or Size(_WIDTH, 1.2 + 2.1 * panels + _ROW * max(0, rows_of_legends - panels))
    return Figure(figsize=(size.width, size.height), dpi=120, layout="constrained")


def _columns(names: Sequence[str], width: float, points: float) -> int:
    """How many of the entries of a legend fit beside each other into a width [inches]."""
    letters = max(map(len, names)) + 6
    return max(1, int(width * 72 / (0.6 * 0.83 * points * letters)))


def _rows_of_legend(panel: Panel, runs: _Runs) -> int:
    """Of a picture whose size is not given."""
    names = list(_entries(panel, runs).values())
    return math.ceil(len(names) / _columns(names, _WIDTH, 10.0)) if len(names) <= _LEGIBLE else 1


def _runs_of_all(panels: Sequence[Panel]) -> _Runs:
    """What tells several runs apart in all panels: dashes, and colours too where each panel has but one signal."""
    dashes = {one.curve.run: one.dash for panel in panels for one in panel.curves}
    alone = all(_has_one_signal(panel) for panel in panels)
    runs = {run: (f"C{dash % 10}" if alone else "black", dash) for run, dash in dashes.items()}
    return runs if len(runs) > 1 else {}


def _has_one_signal(panel: Panel) -> bool:
    return len({one.curve.label for one in panel.curves}) == 1


def _entries(panel: Panel, runs: _Runs) -> dict[int, str]:
    """Places of the curves that the legend of a panel names, with their names there.

    A signal is named once if the legend of all panels tells its runs apart.
    """
    in_black = any(colour == "black" for colour, _ in runs.values())
    if not runs or (in_black and _has_one_signal(panel)):
        return {place: one.curve.name for place, one in enumerate(panel.curves)}
    first: dict[str, int] = {}
    for place, one in enumerate(panel.curves):
        first.setdefault(one.curve.label, place)
    return {place: label for label, place in first.items()}


def _name_runs(figure: Any, runs: _Runs) -> None:
    """One legend for all panels."""
    from matplotlib.lines import Line2D  # heavy and optional

    if runs:
        styles = runs.values()
        lines = [Line2D([], [], color=colour, linestyle=_DASHES[dash % len(_DASHES)]) for colour, dash in styles]
        columns = _columns(list(runs), figure.get_figwidth(), 10.0)
        figure.legend(lines, list(runs), loc="outside lower center", ncols=columns, frameon=False, handlelength=2.8)


def _draw_panel(axis: Any, panel: Panel, runs: _Runs) -> None:
    entries = _entries(panel, runs)
    for one in panel.curves:
        axis.plot(
            one.curve.t,
            one.curve.y,
            color=f"C{one.colour % 10}",
            linestyle=_DASHES[one.dash % len(_DASHES)],
            linewidth=1.3,
            drawstyle="steps-post" if one.curve.held else "default",
        )
    axis.set_ylabel(panel.axis_label)
    axis.grid(visible=True, alpha=0.3)
    if len(entries) > _LEGIBLE:
        axis.set_title(f"{len(panel.curves)} curves", loc="right", fontsize="small")
    elif runs and len(entries) == 1:
        axis.set_title(*entries.values(), loc="left", fontsize="small")
    else:
        _put_legend(axis, entries)


def _put_legend(axis: Any, entries: dict[int, str]) -> None:
    """Above an axis, where it hides no curve, in as many columns as fit.

    Each curve with its name, whatever that is: of labels of curves, matplotlib leaves out those that begin with `_`.
    """
    names = list(entries.values())
    axis.legend(
        [axis.lines[place] for place in entries],
        names,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=_columns(names, axis.figure.get_figwidth(), axis.yaxis.label.get_size()),
        fontsize="small",
        frameon=False,
        borderaxespad=0.2,
        handlelength=2.4,
    )


_WIDTH, _ROW = 9.0, 0.18
"""Of a picture whose size is not given, and height of a row of a legend [inches]."""
_LEGIBLE = 12
"""So many entries of a legend leave something of the curves to be seen."""
