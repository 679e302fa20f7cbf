"""Charts of many runs: their content, pictures by Matplotlib, HTML pages by Plotly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssptool.documents.saving import save_file
from ssptool.drawing.plot import plot_html, plotly_text, save
from ssptool.errors import PlotUnavailable

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """A quantity along an axis; `labels` are names at 0, 1, … for values that are not numbers."""

    name: str
    unit: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class Scatter:
    """Results over factors: a panel for each pair. Values (n,) by name, nan if missing."""

    factors: tuple[Axis, ...]
    results: tuple[Axis, ...]
    values: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Bar:
    """The effect of one factor on a result, from its lowest to its highest value, with all others nominal.

    `low` and `high` are the result at these two, `low_text` and `high_text` the values of the factor.
    """

    factor: str
    low: float
    high: float
    low_text: str
    high_text: str


@dataclass(frozen=True, slots=True)
class Tornado:
    """For each result its nominal value, and a bar for each factor, the widest first."""

    results: tuple[tuple[Axis, float, tuple[Bar, ...]], ...]


@dataclass(frozen=True, slots=True)
class Band:
    """A signal in many runs: at each time [s] its least and greatest value, the 5 % and 95 % quantiles, the median."""

    signal: Axis
    t: Floats
    least: Floats
    low: Floats
    median: Floats
    high: Floats
    greatest: Floats


@dataclass(frozen=True, slots=True)
class Envelope:
    """One panel for each signal."""

    bands: tuple[Band, ...]
    runs: int


class Marked(NamedTuple):
    """A number and the ends of its interval, nan where it has none."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Influences:
    """For each result the names of measures, and of each factor its measures, the most influential first."""

    results: tuple[tuple[Axis, tuple[str, ...], tuple[tuple[str, tuple[Marked, ...]], ...]], ...]


Chart: TypeAlias = Scatter | Tornado | Envelope | Influences


LOW_COLOUR, HIGH_COLOUR = "#1f77b4", "#d95f02"
LOW_NAME, HIGH_NAME = "lowest value of the factor", "highest value of the factor"


def draw_chart(chart: Chart, path: Path, title: str) -> None:
    """Write a picture in the format of its name. Raises PlotUnavailable."""
    match chart:
        case Scatter():
            figure = _scatter(chart)
        case Tornado():
            figure = _tornado(chart)
        case Envelope():
            figure = _envelope(chart)
        case Influences():
            figure = _influences(chart)
    figure.suptitle(title)
    save(figure, path)


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable("matplotlib") from error
    return Figure(figsize=(width, height), dpi=120, layout="constrained")


_FEW = 100
"""Points of which each can be seen for itself, if it is large enough."""


def _scatter(chart: Scatter) -> Any:
    rows, columns = len(chart.results), len(chart.factors)
    size = 4 if len(next(iter(chart.values.values()))) > _FEW else 8
    figure = _figure(max(4.5, 1.0 + 2.8 * columns), 1.0 + 2.4 * rows)
    axes = figure.subplots(rows, columns, sharex="col", sharey="row", squeeze=False)
    for row, result in zip(axes, chart.results, strict=True):
        for axis, factor in zip(row, chart.factors, strict=True):
            axis.plot(chart.values[factor.name], chart.values[result.name], ".", markersize=size, alpha=0.6)
            axis.grid(visible=True, alpha=0.3)
            _name_ticks(axis, factor)
        row[0].set_ylabel(result.title)
    for axis, factor in zip(axes[-1], chart.factors, strict=True):
        axis.set_xlabel(factor.title)
    return figure


def _name_ticks(axis: Any, quantity: Axis) -> None:
    if quantity.labels:
        axis.set_xticks(range(len(quantity.labels)), quantity.labels)
        axis.margins(x=0.2)


def _tornado(chart: Tornado) -> Any:
    heights = [0.8 + 0.45 * len(bars) for _, _, bars in chart.results]
    figure = _figure(8.0, 0.9 + sum(heights))
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axis, (result, nominal, bars) in zip(axes, chart.results, strict=True):
        low = axis.barh(*_ends(bars, nominal, -1), **_half(LOW_COLOUR, nominal))
        high = axis.barh(*_ends(bars, nominal, 1), **_half(HIGH_COLOUR, nominal))
        for place, bar in enumerate(bars):
            _annotate(axis, bar.low_text, bar.low, place - _HALF / 2, nominal)
            _annotate(axis, bar.high_text, bar.high, place + _HALF / 2, nominal)
        axis.axvline(nominal, color="black", linewidth=0.8)
        axis.set_yticks(range(len(bars)), [bar.factor for bar in bars])
        axis.invert_yaxis()
        axis.margins(x=0.18)
        axis.set_xlabel(result.title)
        axis.grid(visible=True, axis="x", alpha=0.3)
        axis.set_axisbelow(True)
    figure.legend([low, high], [LOW_NAME, HIGH_NAME], loc="outside lower center", ncols=2, frameon=False)
    return figure


_HALF = 0.36
"""Height of what one end of a factor does, of the distance between factors. The lowest value is above the highest:
should both point the same way, neither hides the other or its label."""


def _half(colour: str, nominal: float) -> dict[str, Any]:
    return {"left": nominal, "color": colour, "height": _HALF}


def _ends(bars: Sequence[Bar], nominal: float, side: int) -> tuple[list[float], list[float]]:
    """Places and lengths of the bars of the lowest (-1) or highest (1) values."""
    places = [place + side * _HALF / 2 for place in range(len(bars))]
    return places, [(bar.low if side < 0 else bar.high) - nominal for bar in bars]


def _annotate(axis: Any, text: str, value: float, place: float, nominal: float) -> None:
    shift, side = (4, "left") if value >= nominal else (-4, "right")
    axis.annotate(text, (value, place), (shift, 0), textcoords="offset points", ha=side, va="center", fontsize="small")


def _envelope(chart: Envelope) -> Any:
    count = len(chart.bands)
    figure = _figure(9.0, 1.2 + 2.2 * count)
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for axis, band in zip(axes, chart.bands, strict=True):
        axis.fill_between(
            band.t, band.least, band.greatest, color="C0", alpha=0.18, linewidth=0, label=f"all {chart.runs} runs"
        )
        axis.fill_between(band.t, band.low, band.high, color="C0", alpha=0.35, linewidth=0, label="5 % to 95 %")
        axis.plot(band.t, band.median, color="C0", linewidth=1.4, label="median")
        axis.set_ylabel(band.signal.title)
        axis.grid(visible=True, alpha=0.3)
        axis.margins(x=0)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    axes[-1].set_xlabel("time [s]")
    return figure


_MEASURES = ("#1f77b4", "#d95f02", "#7570b3")
"""Colours of measures."""


def _influences(chart: Influences) -> Any:
    heights = [0.8 + 0.22 * len(names) * len(rows) for _, names, rows in chart.results]
    figure = _figure(8.0, 0.9 + sum(heights))
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axis, (result, names, rows) in zip(axes, chart.results, strict=True):
        height = 0.8 / len(names)
        for number, name in enumerate(names):
            measures = [measured[number] for _, measured in rows]
            places = [place + (number - (len(names) - 1) / 2) * height for place in range(len(rows))]
            errors = np.nan_to_num([[m.value - m.low for m in measures], [m.high - m.value for m in measures]])
            axis.barh(places, [m.value for m in measures], height, color=_MEASURES[number], label=name)
            if errors.any():
                axis.errorbar(
                    [m.value for m in measures], places, xerr=abs(errors), fmt="none", color="black", capsize=2
                )
        axis.set_yticks(range(len(rows)), [factor for factor, _ in rows])
        axis.invert_yaxis()
        axis.axvline(0.0, color="black", linewidth=0.8)
        axis.set_xlabel(result.title)
        axis.grid(visible=True, axis="x", alpha=0.3)
        axis.set_axisbelow(True)
    handles, names_shown = axes[0].get_legend_handles_labels()
    figure.legend(handles, names_shown, loc="outside lower center", ncols=len(names_shown), frameon=False)
    return figure


def _influences_page(chart: Influences) -> Any:
    figure = _subplots(len(chart.results), 1, 300, vertical_spacing=0.4 / (len(chart.results) + 1))
    for row, (result, names, rows) in enumerate(chart.results, 1):
        for number, name in enumerate(names):
            measures = [measured[number] for _, measured in rows]
            up = np.nan_to_num([m.high - m.value for m in measures])
            down = np.nan_to_num([m.value - m.low for m in measures])
            figure.add_bar(
                x=[m.value for m in measures],
                y=[plotly_text(factor) for factor, _ in rows],
                error_x={"array": up, "arrayminus": down, "visible": bool(up.any())},
                orientation="h",
                marker_color=_MEASURES[number],
                name=name,
                offsetgroup=name,
                legendgroup=name,
                showlegend=row == 1,
                row=row,
                col=1,
            )
        figure.update_xaxes(title_text=plotly_text(result.title), row=row, col=1)
        figure.update_yaxes(autorange="reversed", row=row, col=1)
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    return figure


def draw_chart_page(chart: Chart, path: Path, title: str) -> None:
    """Raises PlotUnavailable."""
    save_file(path, plot_html(title, chart_markup(chart)))


def chart_markup(chart: Chart, *, library: bool = True) -> str:
    """The chart as a part of a page, with everything that draws it; without the `library` if the page has it already.

    Raises
    ------
    PlotUnavailable
        plotly is not installed.
    """
    match chart:
        case Scatter():
            figure = _scatter_page(chart)
        case Tornado():
            figure = _tornado_page(chart)
        case Envelope():
            figure = _envelope_page(chart)
        case Influences():
            figure = _influences_page(chart)
    figure.update_layout(template="plotly_white", margin={"t": 40, "l": 90})
    options = {"responsive": True, "displaylogo": False}
    height = f"{figure.layout.height}px"
    markup: str = figure.to_html(full_html=False, include_plotlyjs=library, config=options, default_height=height)
    return markup


def _subplots(rows: int, columns: int, height: int, **options: Any) -> Any:
    try:
        from plotly.subplots import make_subplots  # type: ignore[import-untyped, unused-ignore]  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable("plotly") from error
    figure = make_subplots(rows=rows, cols=columns, **options)
    figure.update_layout(height=100 + height * rows)
    return figure


def _scatter_page(chart: Scatter) -> Any:
    figure = _subplots(len(chart.results), len(chart.factors), 260, shared_xaxes=True, shared_yaxes=True)
    for row, result in enumerate(chart.results, 1):
        for column, factor in enumerate(chart.factors, 1):
            x = chart.values[factor.name]
            named = [plotly_text(factor.labels[int(k)]) for k in x] if factor.labels else x
            figure.add_scatter(
                x=named,
                y=chart.values[result.name],
                mode="markers",
                marker={"size": 5, "opacity": 0.6, "color": LOW_COLOUR},
                name="",
                showlegend=False,
                row=row,
                col=column,
            )
            if row == len(chart.results):
                figure.update_xaxes(title_text=plotly_text(factor.title), row=row, col=column)
        figure.update_yaxes(title_text=plotly_text(result.title), row=row, col=1)
    return figure


def _tornado_page(chart: Tornado) -> Any:
    figure = _subplots(len(chart.results), 1, 300, vertical_spacing=0.4 / (len(chart.results) + 1))
    for row, (result, nominal, bars) in enumerate(chart.results, 1):
        for name, colour in ((LOW_NAME, LOW_COLOUR), (HIGH_NAME, HIGH_COLOUR)):
            ends = [(bar.low, bar.low_text) if name == LOW_NAME else (bar.high, bar.high_text) for bar in bars]
            figure.add_bar(
                x=[value - nominal for value, _ in ends],
                base=nominal,
                y=[plotly_text(bar.factor) for bar in bars],
                text=[plotly_text(text) for _, text in ends],
                textposition="outside",
                cliponaxis=False,
                orientation="h",
                marker_color=colour,
                name=name,
                offsetgroup=name,
                legendgroup=name,
                showlegend=row == 1,
                row=row,
                col=1,
            )
        figure.add_vline(x=nominal, line={"color": "black", "width": 1}, row=row, col=1)
        figure.update_xaxes(title_text=plotly_text(result.title), row=row, col=1)
        figure.update_yaxes(autorange="reversed", row=row, col=1)
    # Side by side, so that bars in one direction do not hide each other.
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    return figure


def _envelope_page(chart: Envelope) -> Any:
    spacing = 0.16 / (len(chart.bands) + 1)
    figure = _subplots(len(chart.bands), 1, 260, shared_xaxes=True, vertical_spacing=spacing)
    for row, band in enumerate(chart.bands, 1):
        _add_band(figure, band, row)
        figure.update_yaxes(title_text=plotly_text(band.signal.title), row=row, col=1)
    figure.update_xaxes(title_text="time [s]", row=len(chart.bands), col=1)
    figure.update_layout(legend={"title": f"{chart.runs} runs"})
    return figure


def _add_band(figure: Any, band: Band, row: int) -> None:
    nothing = {"width": 0}
    for low, high, colour, name in (
        (band.least, band.greatest, "rgba(31,119,180,0.18)", "all runs"),
        (band.low, band.high, "rgba(31,119,180,0.35)", "5 % to 95 %"),
    ):
        common = {"x": band.t, "mode": "lines", "line": nothing, "hoverinfo": "skip", "row": row, "col": 1}
        figure.add_scatter(y=low, showlegend=False, **common)
        figure.add_scatter(y=high, fill="tonexty", fillcolor=colour, name=name, showlegend=row == 1, **common)
    line = {"color": LOW_COLOUR, "width": 1.5, "simplify": False}
    figure.add_scatter(
        x=band.t, y=band.median, mode="lines", line=line, name="median", showlegend=row == 1, row=row, col=1
    )
