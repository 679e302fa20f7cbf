"""Influences of factors on results: bars of measures, with their intervals."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ssptool.drawing.charts.axes import Axis, panels, picture
from ssptool.drawing.plot import plotly_text

_MEASURES = ("#1f77b4", "#d95f02", "#7570b3")
"""Colours of measures."""


class Marked(NamedTuple):
    """A number and the ends of its interval, nan where it has none."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Influences:
    """Names of the measures of each result, and the measures of each factor, the most influential factor first."""

    results: tuple[tuple[Axis, tuple[str, ...], tuple[tuple[str, tuple[Marked, ...]], ...]], ...]

    def figure(self) -> Any:
        heights = [0.8 + 0.22 * len(names) * len(rows) for _, names, rows in self.results]
        figure = picture(8.0, 0.9 + sum(heights))
        axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (result, names, rows) in zip(axes, self.results, strict=True):
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

    def page(self) -> Any:
        figure = panels(len(self.results), 1, 300, vertical_spacing=0.4 / (len(self.results) + 1))
        for row, (result, names, rows) in enumerate(self.results, 1):
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
