"""Charts of many runs as pictures, by matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ssptool.drawing.plot_matplotlib import save
from ssptool.drawing.plot_unavailable import PlotUnavailable
from ssptool.drawing.study_charts import Axis, Bar, Chart, Envelope, Scatter, Tornado

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
