"""Results over factors, a panel for each pair."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssptool.drawing.charts.axes import COLOURS, LOW_COLOUR, Axis, Floats, panels, picture
from ssptool.drawing.plot import plotly_text

_FEW = 100
"""Up to this number of points, markers are large enough to be seen individually."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """A panel for each pair. Values (n,) by name, nan if missing; dots have the colour of the factor `colour`."""

    factors: tuple[Axis, ...]
    results: tuple[Axis, ...]
    values: Mapping[str, Floats]
    colour: Axis | None = None

    def figure(self) -> Any:
        rows, columns = len(self.results), len(self.factors)
        size = 4 if len(next(iter(self.values.values()))) > _FEW else 8
        figure = picture(max(4.5, 1.0 + 2.8 * columns), 1.0 + 2.4 * rows)
        axes = figure.subplots(rows, columns, sharex="col", sharey="row", squeeze=False)
        for row, result in zip(axes, self.results, strict=True):
            for axis, factor in zip(row, self.factors, strict=True):
                x, y = self.values[factor.name], self.values[result.name]
                shade = (
                    {"color": LOW_COLOUR}
                    if self.colour is None
                    else {"c": self.values[self.colour.name], "cmap": COLOURS.lower()}
                )
                dots = axis.scatter(x, y, s=size**2, alpha=0.7, linewidths=0, **shade)
                axis.grid(visible=True, alpha=0.3)
                _name_ticks(axis, factor)
            row[0].set_ylabel(result.title)
        for axis, factor in zip(axes[-1], self.factors, strict=True):
            axis.set_xlabel(factor.title)
        if self.colour is not None:
            bar = figure.colorbar(dots, ax=axes, label=self.colour.title)
            if self.colour.labels:
                bar.set_ticks(range(len(self.colour.labels)), labels=self.colour.labels)
        return figure

    def page(self) -> Any:
        figure = panels(len(self.results), len(self.factors), 260, shared_xaxes=True, shared_yaxes=True)
        for row, result in enumerate(self.results, 1):
            for column, factor in enumerate(self.factors, 1):
                shade = self._shade(row == column == 1)
                x = self.values[factor.name]
                named = [plotly_text(factor.labels[int(k)]) for k in x] if factor.labels else x
                figure.add_scatter(
                    x=named,
                    y=self.values[result.name],
                    mode="markers",
                    marker={"size": 6, "opacity": 0.7, **shade},
                    name="",
                    showlegend=False,
                    row=row,
                    col=column,
                )
                if row == len(self.results):
                    figure.update_xaxes(title_text=plotly_text(factor.title), row=row, col=column)
            figure.update_yaxes(title_text=plotly_text(result.title), row=row, col=1)
        return figure

    def _shade(self, explained: bool) -> dict[str, Any]:
        """The colour of markers on a page, whose scale is shown once."""
        if self.colour is None:
            return {"color": LOW_COLOUR}
        bar: dict[str, Any] = {"title": {"text": plotly_text(self.colour.title), "side": "right"}}
        if self.colour.labels:
            labels = [plotly_text(label) for label in self.colour.labels]
            bar |= {"tickvals": list(range(len(labels))), "ticktext": labels}
        shade = {"color": self.values[self.colour.name], "colorscale": COLOURS}
        return {**shade, "showscale": True, "colorbar": bar} if explained else shade


def _name_ticks(axis: Any, quantity: Axis) -> None:
    if quantity.labels:
        axis.set_xticks(range(len(quantity.labels)), quantity.labels)
        axis.margins(x=0.2)
