"""Signals over time in many runs: extremes, quantiles and median."""

from dataclasses import dataclass
from typing import Any

from ssptool.drawing.charts.axes import LOW_COLOUR, Axis, Floats, panels, picture
from ssptool.drawing.plot import plotly_text


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

    def figure(self) -> Any:
        count = len(self.bands)
        figure = picture(9.0, 1.2 + 2.2 * count)
        axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for axis, band in zip(axes, self.bands, strict=True):
            axis.fill_between(
                band.t, band.least, band.greatest, color="C0", alpha=0.18, linewidth=0, label=f"all {self.runs} runs"
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

    def page(self) -> Any:
        spacing = 0.16 / (len(self.bands) + 1)
        figure = panels(len(self.bands), 1, 260, shared_xaxes=True, vertical_spacing=spacing)
        for row, band in enumerate(self.bands, 1):
            _add_band(figure, band, row)
            figure.update_yaxes(title_text=plotly_text(band.signal.title), row=row, col=1)
        figure.update_xaxes(title_text="time [s]", row=len(self.bands), col=1)
        figure.update_layout(legend={"title": f"{self.runs} runs"})
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
