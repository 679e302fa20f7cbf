"""Plots over time as interactive HTML pages (Plotly)."""

import html
import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ssptool.drawing.plot_model import Panel, Styled
from ssptool.drawing.plot_unavailable import PlotUnavailable

_PLOT_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 1rem; font-family: system-ui, sans-serif; color: #17202a; background: white; }
h1 { font-size: 1.3rem; }
@media screen and (prefers-color-scheme: dark) { body { color: #e6ebf0; background: #14191f; } }
"""


def dark_style() -> str:
    """The style sheet of diagrams and plots for readers whose screen is dark."""
    return (files("ssptool.drawing") / "dark.css").read_text(encoding="utf-8")


def plot_html(title: str, markup: str) -> str:
    """A page with one plot, whose markup plotly has made."""
    heading = html.escape(title or "Plot")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{heading}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_PLOT_STYLE}{dark_style()}</style>\n</head>\n"
        f"<body><main><h1>{heading}</h1>\n{markup}</main></body>\n</html>\n"
    )


_DASHES = ("solid", "dash", "dot", "dashdot")
# Those of matplotlib, so that page and picture of a run look alike.
_COLOURS = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf",
)  # fmt: skip
_HEIGHT = 240
"""Of a panel [px]."""


def draw_page(panels: Sequence[Panel], path: Path, title: str) -> None:
    """Zooming into one panel zooms all of them; a click on the legend hides a curve."""
    path.write_text(plot_html(title, page_markup(panels)), encoding="utf-8")


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
    above = all(_rows_of_legend(panel) <= _LEGEND_ROWS for panel in panels)
    gap = _GAP + (_LEGEND if above else 0)
    height = _HEIGHT * len(panels) + gap * (len(panels) - 1)
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=gap / height)
    for row, panel in enumerate(panels, start=1):
        for one in panel.curves:
            entry = (
                {"legend": _legend(row), "showlegend": True} if above else {"legendgrouptitle_text": panel.axis_label}
            )
            figure.add_scatter(row=row, col=1, **_line(one), legendgroup=str(row), **entry)
        figure.update_yaxes(title_text=panel.axis_label, row=row, col=1)
        if above:
            top = next(figure.select_yaxes(row=row, col=1)).domain[1]
            place = {"orientation": "h", "x": 0.0, "y": top, "yanchor": "bottom", "groupclick": "toggleitem"}
            figure.update_layout({_legend(row): place})
    figure.update_xaxes(title_text="time [s]", row=len(panels), col=1)
    top = _GAP + (_LEGEND if above else 0)
    figure.update_layout(
        template="plotly_white",
        height=height + top + _BOTTOM,
        hovermode="x unified",
        hoversubplots="axis",
        legend={"groupclick": "toggleitem"},
        margin={"t": top, "l": 70, "b": _BOTTOM, "r": 20},
    )
    return figure


_GAP, _LEGEND, _BOTTOM = 16, 44, 60
"""Between panels, for a legend above one, and below the last [px]."""
_LEGEND_ROWS, _NARROW, _LETTER = 2, 620, 7.0
"""Rows of legend for which there is room above a panel; width of a page on paper and of a letter [px]."""


def _rows_of_legend(panel: Panel) -> float:
    """How many rows its names take above a panel on paper: all entries are as wide as the widest."""
    widest = max(len(one.curve.name) for one in panel.curves) * _LETTER + 45
    return math.ceil(len(panel.curves) / max(1, int(_NARROW / widest)))


def _legend(row: int) -> str:
    """Plotly's name for the legend of a panel."""
    return "legend" if row == 1 else f"legend{row}"


def _line(one: Styled) -> dict[str, Any]:
    shape = "hv" if one.curve.held else "linear"
    return {
        "x": one.curve.t,
        "y": one.curve.y,
        "name": html.escape(one.curve.name, quote=False),  # plotly takes tags in it for what they are
        "mode": "lines",
        "line": {
            "color": _COLOURS[one.colour % len(_COLOURS)],
            "dash": _DASHES[one.dash % len(_DASHES)],
            "shape": shape,
            "width": 1.5,
            "simplify": False,  # what plotly leaves out is seen as corners; curves are thinned already
        },
    }
