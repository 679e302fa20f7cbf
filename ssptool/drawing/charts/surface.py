"""Results over two factors, as surfaces seen from above."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssptool.drawing.charts.axes import COLOURS, Axis, Floats, panels, picture
from ssptool.drawing.plot import plotly_text

_FINENESS = 80
"""Points of a surface along each factor."""


@dataclass(frozen=True, slots=True)
class Surface:
    """A panel for each result. Values (n,) by name, one point for each pair of values of the factors.

    Between points the surface is linear over their Delaunay triangles; outside their hull there is none. The results
    are means over `others`, factors that also vary.
    """

    x: Axis
    y: Axis
    results: tuple[Axis, ...]
    values: Mapping[str, Floats]
    others: tuple[str, ...] = ()

    def height(self, result: str) -> tuple[Floats, Floats, Floats]:
        """Heights of a grid: places (m,) along both factors; results (m, m), nan outside the hull of the points."""
        from scipy.interpolate import griddata  # a tenth of a second, which other charts do not need

        points = np.column_stack([self.values[self.x.name], self.values[self.y.name]])
        valued = np.isfinite(self.values[result])
        x, y = (np.linspace(each.min(), each.max(), _FINENESS) for each in points.T)
        # Factors of very different sizes: triangles are those of equal ranges.
        return x, y, griddata(points[valued], self.values[result][valued], tuple(np.meshgrid(x, y)), rescale=True)

    def _title(self, result: Axis) -> str:
        return f"{result.title}, mean over {', '.join(self.others)}" if self.others else result.title

    def figure(self) -> Any:
        figure = picture(7.0, 0.6 + 3.6 * len(self.results))
        for axis, result in zip(figure.subplots(len(self.results), 1, squeeze=False)[:, 0], self.results, strict=True):
            x, y, z = self.height(result.name)
            figure.colorbar(axis.contourf(x, y, z, levels=14, cmap=COLOURS.lower()), ax=axis, label=self._title(result))
            axis.plot(self.values[self.x.name], self.values[self.y.name], ".", color="black", markersize=3)
            axis.set_xlabel(self.x.title)
            axis.set_ylabel(self.y.title)
        return figure

    def page(self) -> Any:
        figure = panels(len(self.results), 1, 420)
        for row, result in enumerate(self.results, 1):
            x, y, z = self.height(result.name)
            low, high = figure.get_subplot(row, 1).yaxis.domain
            bar = {"title": plotly_text(self._title(result)), "y": (low + high) / 2, "len": high - low}
            bar["title"] = {"text": bar["title"], "side": "right"}
            figure.add_contour(x=x, y=y, z=z, colorscale=COLOURS, colorbar=bar, name=result.name, row=row, col=1)
            figure.add_scatter(
                x=self.values[self.x.name],
                y=self.values[self.y.name],
                mode="markers",
                marker={"size": 4, "color": "black"},
                hoverinfo="skip",
                showlegend=False,
                row=row,
                col=1,
            )
            figure.update_xaxes(title_text=plotly_text(self.x.title), row=row, col=1)
            figure.update_yaxes(title_text=plotly_text(self.y.title), row=row, col=1)
        return figure
