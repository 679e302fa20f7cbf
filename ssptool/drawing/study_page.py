"""Charts of many runs as one HTML page that zooms and needs no network, by plotly."""

from pathlib import Path
from typing import Any

from ssptool.drawing.plot_plotly import plot_html
from ssptool.drawing.plot_unavailable import PlotUnavailable
from ssptool.drawing.study_charts import Band, Chart, Envelope, Scatter, Tornado
from ssptool.drawing.study_picture import HIGH_COLOUR, HIGH_NAME, LOW_COLOUR, LOW_NAME


def draw_chart_page(chart: Chart, path: Path, title: str) -> None:
    """Raises PlotUnavailable."""
    path.write_text(plot_html(title, chart_markup(chart)), encoding="utf-8")


def chart_markup(chart: Chart, *, library: bool = True) -> str:
    """The chart as a part of a page, with everything that draws it; without the `library` if the page has it already.

    Raises
    ------
    PlotUnavailable
        plotly is not installed.
    """
    match chart:
        case Scatter():
            figure = _scatter(chart)
        case Tornado():
            figure = _tornado(chart)
        case Envelope():
            figure = _envelope(chart)
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


def _scatter(chart: Scatter) -> Any:
    figure = _subplots(len(chart.results), len(chart.factors), 260, shared_xaxes=True, shared_yaxes=True)
    for row, result in enumerate(chart.results, 1):
        for column, factor in enumerate(chart.factors, 1):
            x = chart.values[factor.name]
            named = [factor.labels[int(k)] for k in x] if factor.labels else x
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
                figure.update_xaxes(title_text=factor.title, row=row, col=column)
        figure.update_yaxes(title_text=result.title, row=row, col=1)
    return figure


def _tornado(chart: Tornado) -> Any:
    figure = _subplots(len(chart.results), 1, 300, vertical_spacing=0.4 / (len(chart.results) + 1))
    for row, (result, nominal, bars) in enumerate(chart.results, 1):
        for name, colour in ((LOW_NAME, LOW_COLOUR), (HIGH_NAME, HIGH_COLOUR)):
            ends = [(bar.low, bar.low_text) if name == LOW_NAME else (bar.high, bar.high_text) for bar in bars]
            figure.add_bar(
                x=[value - nominal for value, _ in ends],
                base=nominal,
                y=[bar.factor for bar in bars],
                text=[text for _, text in ends],
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
        figure.update_xaxes(title_text=result.title, row=row, col=1)
        figure.update_yaxes(autorange="reversed", row=row, col=1)
    # Side by side: of two that point the same way, neither hides the other.
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    return figure


def _envelope(chart: Envelope) -> Any:
    spacing = 0.16 / (len(chart.bands) + 1)
    figure = _subplots(len(chart.bands), 1, 260, shared_xaxes=True, vertical_spacing=spacing)
    for row, band in enumerate(chart.bands, 1):
        _add_band(figure, band, row)
        figure.update_yaxes(title_text=band.signal.title, row=row, col=1)
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
