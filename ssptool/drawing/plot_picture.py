"""Panels of curves as a picture: PNG, SVG or PDF, by matplotlib."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssptool.drawing.curves import Panel
from ssptool.drawing.paper import Size
from ssptool.drawing.plot_unavailable import PlotUnavailable

_DASHES = ("-", "--", ":", "-.")


def draw_picture(panels: Sequence[Panel], path: Path, title: str, size: Size | None) -> None:
    """Write a picture in the format of its name; with a size it is for print, with letters of 8 points."""
    with _style(None if size is None else 8.0):
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


def _style(points: float | None) -> Any:
    """Settings of matplotlib: fonts go into the file as outlines or TrueType, so that it looks alike everywhere."""
    try:
        import matplotlib  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable("matplotlib") from error
    style: Any = {"svg.fonttype": "path", "svg.hashsalt": "ssptool", "pdf.fonttype": 42}
    if points is not None:
        style |= {"font.size": points, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}
        style |= {"savefig.dpi": 600}
    return matplotlib.rc_context(style)


def _figure(panels: Sequence[Panel], title: str, size: Size | None = None) -> Any:
    """One panel below the other over a common axis of time, which covers all curves."""
    figure = new_figure(len(panels), size)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw_panel(axis, panel)
    begin = min(float(one.curve.t[0]) for panel in panels for one in panel.curves)
    end = max(float(one.curve.t[-1]) for panel in panels for one in panel.curves)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(begin, end if end > begin else begin + 1.0)
    figure.suptitle(title)
    figure.align_ylabels()
    return figure


def new_figure(panels: int, size: Size | None = None) -> Any:
    """A figure of matplotlib for so many panels, one below the other.

    Raises
    ------
    PlotUnavailable
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable("matplotlib") from error
    size = size or Size(9.0, 1.2 + 2.1 * panels)
    return Figure(figsize=(size.width, size.height), dpi=120, layout="constrained")


def put_legend(axis: Any, curves: Sequence[Any], names: Sequence[str]) -> None:
    """Above an axis, where it hides no curve, in as many columns as fit.

    Each curve with its name, whatever that is: of labels of curves, matplotlib leaves out those that begin with `_`.
    """
    width = axis.figure.get_figwidth() * 72  # points
    letters = max(map(len, names)) + 6
    columns = max(1, int(width / (0.6 * 0.83 * axis.yaxis.label.get_size() * letters)))
    axis.legend(
        curves,
        names,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        fontsize="small",
        frameon=False,
        borderaxespad=0.2,
        handlelength=2.4,
    )


def _draw_panel(axis: Any, panel: Panel) -> None:
    for one in panel.curves:
        axis.plot(
            one.curve.t,
            one.curve.y,
            label=one.curve.name,
            color=f"C{one.colour % 10}",
            linestyle=_DASHES[one.dash % len(_DASHES)],
            linewidth=1.3,
            drawstyle="steps-post" if one.curve.held else "default",
        )
    axis.set_ylabel(panel.axis_label)
    axis.grid(visible=True, alpha=0.3)
    if len(panel.curves) <= _LEGIBLE:
        put_legend(axis, axis.lines, [one.curve.name for one in panel.curves])
    else:
        axis.set_title(f"{len(panel.curves)} curves", loc="right", fontsize="small")


_LEGIBLE = 12
"""So many entries of a legend leave something of the curves to be seen."""
