"""Plots over time, one panel per unit: pictures by Matplotlib, HTML pages by Plotly, chosen by the ending of a file.

Both libraries load on first use."""

import base64
import hashlib
import html
import io
import math
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssptool.documents.saving import save_file
from ssptool.drawing.plot_model import FORMATS, PAGES, PICTURES, Curve, Panel, Size, Styled, check_plot_name, panels
from ssptool.errors import WrongValue, missing_extra
from ssptool.foreign_text import html_text, one_line, several_lines

_DASHES: Sequence[Any] = ("-", "--", ":", "-.")
_Runs = dict[str, tuple[str, int]]
"""Runs in the common legend of all panels, with colour and dashes; empty for a single run."""


def draw_picture(panels: Sequence[Panel], path: Path, title: str, size: Size | None) -> None:
    """Write a picture in the format of its name; with a size it is for print, with an 8-point font."""
    with plot_style(size):
        save(plot_figure(panels, title, size), path)


def picture_svg(panels: Sequence[Panel]) -> str:
    """The picture as the text of an SVG, for pages and notebooks."""
    buffer = io.StringIO()
    with plot_style():
        literal(plot_figure(panels, "")).savefig(buffer, format="svg")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib in the format of its name: the same bytes for the same figure."""
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    ending, content = path.suffix.lower().removeprefix("."), io.BytesIO()
    with plot_style():
        literal(figure).savefig(content, format=ending, metadata=dates.get(ending))
    save_file(path, content.getvalue())


def literal(figure: Any) -> Any:
    """Switch off formulas in all texts, because the name of a signal may contain a dollar sign."""
    from matplotlib.text import Text  # heavy and optional

    for text in figure.findobj(Text):
        text.set_parse_math(False)
        text.set_text(several_lines(text.get_text()))
    return figure


def plot_style(size: Size | None = None, **more: Any) -> Any:
    """Settings of matplotlib: fonts are embedded as outlines or TrueType, so that files look the same everywhere."""
    try:
        import matplotlib  # heavy and optional
    except ImportError as error:
        raise missing_extra("plot", "matplotlib") from error
    style: Any = {"svg.fonttype": "path", "svg.hashsalt": "ssptool", "pdf.fonttype": 42}
    if size is not None:
        style |= {"font.size": 8.0, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}
        style |= {"savefig.dpi": size.dots_per_inch}
    return matplotlib.rc_context(style | more)


def plot_figure(panels: Sequence[Panel], title: str, size: Size | None = None) -> Any:
    """A figure of panels over a common time axis that covers all curves."""
    runs = _runs_of_all(panels)
    rows = sum(_rows_of_legend(panel, runs) for panel in panels)
    _require_room(len(panels), size)
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


def _require_room(panels: int, size: Size | None) -> None:
    """Raises WrongValue if a picture of this size leaves no room for the curves of its panels."""
    least = _LEAST_PANEL * panels + _AROUND
    if size is not None and size.height < least:
        raise WrongValue(
            f"{panels} panels do not fit into a height of {25.4 * size.height:g} mm: choose signals (--signals), "
            f"or a height of at least {math.ceil(25.4 * least)} mm"
        )


_LEAST_PANEL, _AROUND = 0.45, 0.4
"""Height of a panel with its labels and legend, and height of title and time axis, in a picture for print [inches]."""


def new_figure(panels: int, size: Size | None = None, rows_of_legends: int = 0) -> Any:
    """A figure of matplotlib for a number of stacked panels, with a total number of legend rows.

    Raises
    ------
    MissingPackage
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # heavy and optional
    except ImportError as error:
        raise missing_extra("plot", "matplotlib") from error
    size = size or Size(_WIDTH, 1.2 + 2.1 * panels + _ROW * max(0, rows_of_legends - panels))
    return Figure(figsize=(size.width, size.height), dpi=120, layout="constrained")


class _Legend(NamedTuple):
    """Names of entries, long ones in several lines, and the number of entries side by side."""

    names: list[str]
    columns: int

    @property
    def rows(self) -> int:
        """Lines of text."""
        lines = max((name.count("\n") + 1 for name in self.names), default=1)
        return lines * math.ceil(len(self.names) / self.columns)


def _fitted(names: Sequence[str], width: float, points: float) -> _Legend:
    """A legend above axes, in a picture of this width [inches] with letters of this size."""
    letters = max(_SHORTEST, int((width - _MARGINS) * 72 / (0.6 * 0.83 * points)) - _HANDLE)
    lines = [[name[start : start + letters] for start in range(0, len(name), letters)] or [""] for name in names]
    longest = max((len(line) for parts in lines for line in parts), default=1)
    return _Legend(["\n".join(parts) for parts in lines], max(1, (letters + _HANDLE) // (longest + _HANDLE)))


_MARGINS, _HANDLE, _SHORTEST = 0.9, 6, 8
"""Margins next to the axes [inches]; length of a line in a legend with its distances, and minimum length of a name
[letters].
"""


def _rows_of_legend(panel: Panel, runs: _Runs) -> int:
    """Rows of the legend of a picture without a given size."""
    names = list(_entries(panel, runs).values())
    return _fitted(names, _WIDTH, 10.0).rows if len(names) <= _LEGIBLE else 1


def _runs_of_all(panels: Sequence[Panel]) -> _Runs:
    """The styles of several runs in all panels: dashes, and also colours if each panel has only one signal.

    Empty where a panel has more signals and runs than colours and dashes: it names each curve itself.
    """
    if not all(panel.dashes_tell_runs for panel in panels):
        return {}
    dashes = {one.curve.run: one.dash for panel in panels for one in panel.curves}
    alone = all(_has_one_signal(panel) for panel in panels)
    runs = {run: (f"C{dash % 10}" if alone else "black", dash) for run, dash in dashes.items()}
    return runs if len(runs) > 1 else {}


def _has_one_signal(panel: Panel) -> bool:
    return len({one.curve.label for one in panel.curves}) == 1


def _entries(panel: Panel, runs: _Runs) -> dict[int, str]:
    """Indices and names of the curves in the legend of a panel.

    A signal is named once if the common legend names the runs.
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
        names, columns = _fitted(list(runs), figure.get_figwidth(), 12.0)  # its letters are larger than small
        figure.legend(lines, names, loc="outside lower center", ncols=columns, frameon=False, handlelength=2.8)


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
            label=one.curve.name,
        )
        if one.curve.error:
            axis.fill_between(
                one.curve.t,
                one.curve.y - one.curve.error,
                one.curve.y + one.curve.error,
                color=f"C{one.colour % 10}",
                alpha=0.2,
                linewidth=0,
                step="post" if one.curve.held else None,
            )
    axis.set_ylabel(panel.axis_label)
    # Numbers without offset; the common power of ten of large or small numbers is placed where no legend is.
    axis.ticklabel_format(axis="y", useOffset=False)
    axis.yaxis.set_offset_position("right")
    axis.grid(visible=True, alpha=0.3)
    if len(entries) > _LEGIBLE or not _has_room(axis, list(entries.values())):
        axis.set_title(f"{len(panel.curves)} curves, named in a page (.html)", loc="right", fontsize="small")
    elif runs and len(entries) == 1:
        axis.set_title(*entries.values(), loc="left", fontsize="small")
    else:
        _put_legend(axis, entries)


def _has_room(axis: Any, names: Sequence[str]) -> bool:
    """Whether a legend leaves at least half of the height of a panel to the curves."""
    points = axis.yaxis.label.get_size()
    height = axis.figure.get_figheight() / len(axis.figure.axes)
    rows = _fitted(names, axis.figure.get_figwidth(), points).rows
    return bool(rows * _ROW * points / 10.0 <= height / 2)


def _put_legend(axis: Any, entries: dict[int, str]) -> None:
    """Put a legend above an axis, in as many columns as fit.

    Each curve is passed with its name, because matplotlib omits curves whose labels begin with `_`.
    """
    names, columns = _fitted(list(entries.values()), axis.figure.get_figwidth(), axis.yaxis.label.get_size())
    axis.legend(
        [axis.lines[place] for place in entries],
        names,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        fontsize="small",
        frameon=False,
        borderaxespad=0.2,
        handlelength=2.4,
    )


_WIDTH, _ROW = 9.0, 0.18
"""Width of a picture whose size is not given, and height of a row of a legend [inches]."""
_LEGIBLE = 30
"""Maximum number of entries of a legend: as many curves as can be told apart at a glance by colour and dash."""


_PLOT_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 1rem; font-family: system-ui, sans-serif; color: #17202a; background: white; }
h1 { font-size: 1.3rem; }
@media screen and (prefers-color-scheme: dark) { body { color: #e6ebf0; background: #14191f; } }
"""


def dark_style() -> str:
    """The style sheet of diagrams and plots for readers whose screen is dark."""
    return (files("ssptool.drawing") / "dark.css").read_text(encoding="utf-8")


_SCRIPT = re.compile("<script>(.*?)</script>", re.DOTALL)


def content_policy(*markup: str) -> str:
    """The element by which a page allows the scripts in this markup, and no other script, address or frame.

    A browser knows these scripts by their hashes (Content Security Policy Level 3). Pictures and styles are allowed in
    the page itself: plots style what they draw, and save themselves as pictures.
    """
    scripts = dict.fromkeys(script.encode() for part in markup for script in _SCRIPT.findall(part))
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in scripts]
    rules = [
        "default-src 'none'",
        " ".join(["script-src", *(hashes or ["'none'"])]),
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def plotly_text(text: str) -> str:
    """A text that plotly shows as it is, without interpreting tags for styles and links in it."""
    return html.escape(one_line(text), quote=False)


def plot_html(title: str, markup: str) -> str:
    """A page with one plot in markup of plotly."""
    heading = html_text(title or "Plot")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{content_policy(markup)}\n<title>{heading}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_PLOT_STYLE}{dark_style()}</style>\n</head>\n"
        f"<body><main><h1>{heading}</h1>\n{markup}</main></body>\n</html>\n"
    )


_PAGE_DASHES = ("solid", "dash", "dot", "dashdot")
# Those of matplotlib, so that page and picture of a run look alike.
_COLOURS = (
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf",
)  # fmt: skip
_HEIGHT = 240
"""Height of a panel [px]."""


def draw_page(panels: Sequence[Panel], path: Path, title: str) -> None:
    """Write a page in which all panels zoom together, and a click on the legend hides a curve."""
    save_file(path, plot_html(title, page_markup(panels)))


def page_markup(panels: Sequence[Panel]) -> str:
    """The panels as markup of a page, with the scripts that draw them."""
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
    MissingPackage
        plotly is not installed.
    """
    try:
        from plotly.subplots import make_subplots  # type: ignore[import-untyped, unused-ignore]  # heavy and optional
    except ImportError as error:
        raise missing_extra("plot", "plotly") from error
    above = all(_rows_of_page_legend(panel) <= _LEGEND_ROWS for panel in panels)
    gap = _GAP + (_LEGEND if above else 0)
    height = _HEIGHT * len(panels) + gap * (len(panels) - 1)
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=gap / height)
    for row, panel in enumerate(panels, start=1):
        label = plotly_text(panel.axis_label)
        for one in panel.curves:
            entry = {"legend": _legend(row), "showlegend": True} if above else {"legendgrouptitle_text": label}
            figure.add_scatter(row=row, col=1, **_line(one), legendgroup=str(row), **entry)
            if one.curve.error:
                figure.add_scatter(row=row, col=1, **_band(one), legendgroup=str(row))
        figure.update_yaxes(title_text=label, row=row, col=1)
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
"""Room between panels, for the legend above a panel, and below the last panel [px]."""
_LEGEND_ROWS, _NARROW, _LETTER = 2, 620, 7.0
"""Rows of legend for which there is room above a panel; width of a page on paper and of a letter [px]."""


def _rows_of_page_legend(panel: Panel) -> float:
    """Rows of the legend above a panel on paper, where all entries are as wide as the widest."""
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
        "name": plotly_text(one.curve.name),
        "mode": "lines",
        "line": {
            "color": _COLOURS[one.colour % len(_COLOURS)],
            "dash": _PAGE_DASHES[one.dash % len(_PAGE_DASHES)],
            "shape": shape,
            "width": 1.5,
            "simplify": False,  # plotly's own simplification would show corners; curves are thinned already
        },
    }


def _band(one: Styled) -> dict[str, Any]:
    """The outline of the error band of a curve, filled: forwards above the curve, and back below it."""
    known = np.isfinite(one.curve.y)
    t, y = one.curve.t[known], one.curve.y[known]
    if one.curve.held:
        t, y = np.repeat(t, 2)[1:], np.repeat(y, 2)[:-1]
    return {
        "x": np.concatenate([t, t[::-1]]),
        "y": np.concatenate([y + one.curve.error, (y - one.curve.error)[::-1]]),
        "fill": "toself",
        "fillcolor": _COLOURS[one.colour % len(_COLOURS)],
        "opacity": 0.2,
        "mode": "none",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def plot_signals(curves: Sequence[Curve], path: Path, title: str = "", size: Size | None = None) -> None:
    """Draw curves over time into a PNG, SVG or PDF file, or into an HTML page that zooms; chosen by the ending.

    Parameters
    ----------
    size
        Of a picture for print; a page has that of its window.

    Raises
    ------
    MissingPackage
        The drawing library is not installed.
    WrongValue
        The file name has another ending, no curve has a point, or a size is given for a page.
    """
    check_plot_name(path, FORMATS)
    if size is not None:
        check_plot_name(path, PICTURES)
    contents = panels(curves)
    if path.suffix.lower() in PAGES:
        draw_page(contents, path, title)
    else:
        draw_picture(contents, path, title, size)
