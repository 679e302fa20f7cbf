"""Effect of each factor alone on results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ssptool.drawing.charts.axes import HIGH_COLOUR, LOW_COLOUR, Axis, panels, picture
from ssptool.drawing.plot import plotly_text

LOW_NAME, HIGH_NAME = "lowest value of the factor", "highest value of the factor"


_HALF = 0.36
"""Height of the bar of one end of a factor, relative to the distance between factors.

The bar of the lowest value is above that of the highest. If both point the same way, neither hides the other or its
label.
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """The effect of one factor on a result, from its lowest to its highest value; all other factors are nominal.

    `low` and `high` are the result at these two values, `low_text` and `high_text` the values of the factor.
    """

    factor: str
    low: float
    high: float
    low_text: str
    high_text: str


@dataclass(frozen=True, slots=True)
class Tornado:
    """Nominal value of each result, and a bar for each factor, the widest bar first."""

    results: tuple[tuple[Axis, float, tuple[Bar, ...]], ...]

    def figure(self) -> Any:
        heights = [0.8 + 0.45 * len(bars) for _, _, bars in self.results]
        figure = picture(8.0, 0.9 + sum(heights))
        axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (result, nominal, bars) in zip(axes, self.results, strict=True):
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

    def page(self) -> Any:
        figure = panels(len(self.results), 1, 300, vertical_spacing=0.4 / (len(self.results) + 1))
        for row, (result, nominal, bars) in enumerate(self.results, 1):
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


def _half(colour: str, nominal: float) -> dict[str, Any]:
    return {"left": nominal, "color": colour, "height": _HALF}


def _ends(bars: Sequence[Bar], nominal: float, side: int) -> tuple[list[float], list[float]]:
    """Places and lengths of the bars of the lowest (-1) or highest (1) values."""
    places = [place + side * _HALF / 2 for place in range(len(bars))]
    return places, [(bar.low if side < 0 else bar.high) - nominal for bar in bars]


def _annotate(axis: Any, text: str, value: float, place: float, nominal: float) -> None:
    shift, side = (4, "left") if value >= nominal else (-4, "right")
    axis.annotate(text, (value, place), (shift, 0), textcoords="offset points", ha=side, va="center", fontsize="small")
