"""Panels of curves as a picture: PNG, SVG or PDF, by matplotlib."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssptool.drawing.curves import Panel
from ssptool.drawing.plot_unavailable import PlotUnavailable

_DASHES = ("-", "--", ":", "-.")


def draw_picture(panels: Sequence[Panel], path: Path, title: str) -> None:
    """Write a picture in the format of its name."""
    _figure(panels, title).savefig(path)


def picture_svg(panels: Sequence[Panel], title: str = "") -> str:
    """The picture as the text of an SVG, for pages and notebooks."""
    buffer = io.StringIO()
    _figure(panels, title).savefig(buffer, format="svg")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _figure(panels: Sequence[Panel], title: str) -> Any:
    """One panel below the other over a common axis of time, which covers all curves."""
    figure = new_figure(len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw_panel(axis, panel)
    begin = min(float(one.curve.t[0]) for panel in panels for one in panel.curves)
    end = max(float(one.curve.t[-1]) for panel in panels for one in panel.curves)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(begin, end if end > begin else begin + 1.0)
    figure.suptitle(title)
    return figure


def new_figure(panels: int) -> Any:
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
    return Figure(figsize=(9.0, 1.2 + 1.9 * panels), dpi=120, layout="constrained")


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
        axis.legend(loc="upper right", fontsize="small", framealpha=0.8)
    else:
        axis.set_title(f"{len(panel.curves)} curves", loc="right", fontsize="small")


_LEGIBLE = 12
"""So many entries of a legend leave something of the curves to be seen."""
