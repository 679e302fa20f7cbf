"""Runs as lines across parallel axes, one for each factor and result (Inselberg 1985)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssptool.drawing.charts.axes import COLOURS, Axis, Floats, panels, picture
from ssptool.drawing.plot import plotly_text

_LEVELS = 32
"""Number of colours of the lines on a page."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Values (n,) by name, none missing; the colour of a line is that of its value on the axis `colour`."""

    axes: tuple[Axis, ...]
    colour: Axis
    values: Mapping[str, Floats]

    def figure(self) -> Any:
        figure = picture(max(6.0, 1.6 * len(self.axes)), 4.6)
        from matplotlib.collections import LineCollection  # a single collection, because the figure has one

        axis = figure.subplots()
        places = np.arange(len(self.axes))
        heights = np.column_stack([_between(self.values[each.name]) for each in self.axes])
        shade = self.values[self.colour.name]
        lines = LineCollection(
            [np.column_stack([places, line]) for line in heights], array=shade, cmap=COLOURS.lower(), alpha=0.7
        )
        axis.add_collection(lines)
        for place, each in zip(places, self.axes, strict=True):
            axis.axvline(place, color="black", linewidth=0.8)
            for height, label in _ticks(each, self.values[each.name]):
                paper = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 1}
                axis.annotate(
                    label,
                    (place, height),
                    (4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                    bbox=paper,
                )
        axis.set_xticks(places, [each.title for each in self.axes], rotation=20, ha="right", rotation_mode="anchor")
        axis.set_yticks([])
        axis.set_xlim(-0.2, len(self.axes) - 0.5)
        axis.set_ylim(-0.05, 1.05)
        for side in ("left", "right", "top", "bottom"):
            axis.spines[side].set_visible(False)
        bar = figure.colorbar(lines, ax=axis, label=self.colour.title)
        if self.colour.labels:
            bar.set_ticks(range(len(self.colour.labels)), labels=self.colour.labels)
        return figure

    def page(self) -> Any:
        """Lines of similar colour are one curve. Plotly's own parallel axes draw nothing in browsers without WebGL."""
        figure = panels(1, 1, 460)
        heights = np.column_stack([_between(self.values[each.name]) for each in self.axes])
        shade = self.values[self.colour.name]
        levels = np.minimum((_between(shade) * _LEVELS).astype(int), _LEVELS - 1)
        places = np.append(np.arange(len(self.axes), dtype=float), np.nan)
        for level in np.unique(levels):
            chosen = heights[levels == level]
            y = np.column_stack([chosen, np.full(len(chosen), np.nan)]).ravel()
            colour = _sampled((level + 0.5) / _LEVELS)
            line = {"color": colour, "width": 1}
            figure.add_scatter(
                x=np.tile(places, len(chosen)), y=y, mode="lines", line=line, opacity=0.7, hoverinfo="skip"
            )
        marker = {"color": [shade.min(), shade.max()], "colorscale": COLOURS, "showscale": True, "size": 0.1}
        marker["colorbar"] = {"title": {"text": plotly_text(self.colour.title), "side": "right"}, **_named(self.colour)}
        figure.add_scatter(x=[0, 0], y=[0, 1], mode="markers", marker=marker, hoverinfo="skip")
        for place, each in enumerate(self.axes):
            figure.add_vline(x=place, line={"color": "black", "width": 1})
            for height, label in _ticks(each, self.values[each.name]):
                figure.add_annotation(
                    x=place,
                    y=height,
                    text=plotly_text(label),
                    showarrow=False,
                    xanchor="left",
                    bgcolor="rgba(255,255,255,0.7)",
                )
        titles = [plotly_text(each.title) for each in self.axes]
        figure.update_xaxes(tickvals=list(range(len(titles))), ticktext=titles, showgrid=False, zeroline=False)
        figure.update_yaxes(visible=False)
        figure.update_layout(showlegend=False)
        return figure


def _sampled(share: float) -> str:
    from plotly.colors import sample_colorscale  # type: ignore[import-untyped, unused-ignore]  # heavy and optional

    (colour,) = sample_colorscale(COLOURS, [share])
    return str(colour)


def _named(axis: Axis) -> dict[str, Any]:
    """Ticks of a colour scale that shows names."""
    labels = [plotly_text(label) for label in axis.labels]
    return {"tickvals": list(range(len(labels))), "ticktext": labels} if labels else {}


def _between(values: Floats) -> Floats:
    """Values scaled from 0 for the least to 1 for the greatest; one half where all are equal."""
    least, extent = values.min(), np.ptp(values)
    return (values - least) / extent if extent > 0 else np.full(len(values), 0.5)


def _ticks(axis: Axis, values: Floats) -> list[tuple[float, str]]:
    if axis.labels:
        heights = _between(np.arange(len(axis.labels), dtype=float))
        return list(zip(heights.tolist(), axis.labels, strict=True))
    if np.ptp(values) == 0:
        return [(0.5, f"{values[0]:.4g}")]
    return [(share, f"{values.min() + share * np.ptp(values):.4g}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
