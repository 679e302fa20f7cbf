"""Panels of curves as one HTML page that zooms and needs no network, by plotly."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssptool.drawing.curves import Panel, Styled
from ssptool.drawing.plot_unavailable import PlotUnavailable

_DASHES = ("solid", "dash", "dot", "dashdot")
# Those of matplotlib, so that page and picture of a run look alike.
_COLOURS = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf",
)  # fmt: skip
_HEIGHT = 240
"""Of a panel [px]."""


def draw_page(panels: Sequence[Panel], path: Path, title: str) -> None:
    """Zooming into one panel zooms all of them; a click on the legend hides a curve."""
    heading = html.escape(title or "Plot")
    path.write_text(
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{heading}</title></head>\n'
        f'<body style="margin: 0 1rem; font-family: sans-serif"><main><h1 style="font-size: 1.3rem">{heading}</h1>\n'
        f"{page_markup(panels)}</main></body>\n</html>\n",
        encoding="utf-8",
    )


def page_markup(panels: Sequence[Panel]) -> str:
    """The panels as a part of a page, with everything that draws them."""
    figure = page_figure(panels)
    markup: str = figure.to_html(
        full_html=False,
        include_plotlyjs=True,
        config={"responsive": True, "displaylogo": False},
        default_height=f"{figure.layout.height}px",
    )
    return markup


def page_figure(panels: Sequence[Panel]) -> Any:
    """The panels as a figure of plotly, for pages and notebooks.

    Raises
    ------
    PlotUnavailable
        plotly is not installed.
    """
    try:
        from plotly.subplots import make_subplots  # type: ignore[import-untyped, unused-ignore]  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable("plotly") from error
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.16 / (len(panels) + 1))
    for row, panel in enumerate(panels, start=1):
        for one in panel.curves:
            figure.add_scatter(
                row=row, col=1, **_line(one), legendgrouptitle_text=panel.axis_label, legendgroup=str(row)
            )
        figure.update_yaxes(title_text=panel.axis_label, row=row, col=1)
    figure.update_xaxes(title_text="time [s]", row=len(panels), col=1)
    figure.update_layout(
        template="plotly_white",
        height=100 + _HEIGHT * len(panels),
        hovermode="x unified",
        hoversubplots="axis",
        legend={"groupclick": "toggleitem"},
        margin={"t": 40, "l": 70},
    )
    return figure


def _line(one: Styled) -> dict[str, Any]:
    shape = "hv" if one.curve.held else "linear"
    return {
        "x": one.curve.t,
        "y": one.curve.y,
        "name": one.curve.name,
        "mode": "lines",
        "line": {
            "color": _COLOURS[one.colour % len(_COLOURS)],
            "dash": _DASHES[one.dash % len(_DASHES)],
            "shape": shape,
            "width": 1.5,
        },
    }
