"""A line among dots: the best run so far, a front, or a fit to measured points."""

from dataclasses import dataclass
from typing import Any

from ssptool.drawing.charts.axes import LOW_COLOUR, Axis, Floats, log_scale, panels, picture
from ssptool.drawing.plot import plotly_text

_DOTS = "#8c8c8c"


@dataclass(frozen=True, slots=True)
class LinePanel:
    """Dots at x, y (n,), and a line through x, y (m,), which may be empty.

    `step`: the line keeps its value until the next one. `log`: the axis of y is logarithmic.
    """

    x: Axis
    y: Axis
    dots: tuple[Floats, Floats]
    line: tuple[Floats, Floats]
    step: bool = False
    log: bool = False


@dataclass(frozen=True, slots=True)
class LineAndDots:
    """Panels below each other with a common x axis. `dots` and `line` are their names in the legend.

    `marked`: the points of the line have markers.
    """

    panels: tuple[LinePanel, ...]
    dots: str
    line: str
    marked: bool = False

    def figure(self) -> Any:
        count = len(self.panels)
        figure = picture(7.5, 1.2 + 2.6 * count)
        axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for axis, panel in zip(axes, self.panels, strict=True):
            size = 12 if len(panel.dots[0]) > 100 else 24
            axis.scatter(*panel.dots, s=size, color=_DOTS, alpha=0.6, linewidths=0, label=self.dots)
            axis.plot(
                *panel.line,
                color=LOW_COLOUR,
                linewidth=1.4,
                marker="o" if self.marked else None,
                markersize=4,
                drawstyle="steps-post" if panel.step else "default",
                label=self.line,
            )
            axis.set_ylabel(panel.y.title)
            if panel.log:
                log_scale(axis)
            axis.grid(visible=True, alpha=0.3)
        axes[-1].set_xlabel(self.panels[-1].x.title)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
        return figure

    def page(self) -> Any:
        spacing = 0.16 / (len(self.panels) + 1)
        figure = panels(len(self.panels), 1, 300, shared_xaxes=True, vertical_spacing=spacing)
        for row, panel in enumerate(self.panels, 1):
            common = {"row": row, "col": 1, "showlegend": row == 1}
            marker = {"size": 5, "opacity": 0.6, "color": _DOTS}
            figure.add_scatter(
                x=panel.dots[0], y=panel.dots[1], mode="markers", marker=marker, name=self.dots, **common
            )
            line = {
                "color": LOW_COLOUR,
                "width": 1.5,
                "simplify": False,
                "shape": "hv" if panel.step else "linear",
            }
            mode = "lines+markers" if self.marked else "lines"
            figure.add_scatter(x=panel.line[0], y=panel.line[1], mode=mode, line=line, name=self.line, **common)
            scale = "log" if panel.log else "linear"
            figure.update_yaxes(title_text=plotly_text(panel.y.title), type=scale, row=row, col=1)
        figure.update_xaxes(title_text=plotly_text(self.panels[-1].x.title), row=len(self.panels), col=1)
        return figure
