"""Residuals over the iterations of methods that did not converge, with their limits."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ssptool.drawing.charts.axes import HIGH_COLOUR, Axis, Floats, log_scale, panels, picture
from ssptool.drawing.plot import plotly_text

_ALLOWED = "#8c8c8c"
_MARKED = 40
"""Maximum number of points of a curve that have markers."""


@dataclass(frozen=True, slots=True)
class IterationCurve:
    """Largest residual at iterates of a method, and its limit there; all (n,). A residual of 0 is not drawn."""

    method: str
    iterations: Floats
    residuals: Floats
    allowed: Floats

    @property
    def marker(self) -> str | None:
        return "o" if len(self.iterations) <= _MARKED else None


def _drawable(values: Floats) -> Floats:
    """Values for a logarithmic axis: 0 and non-finite values become nan."""
    return np.where((values > 0.0) & np.isfinite(values), values, np.nan)


@dataclass(frozen=True, slots=True)
class ResidualHistory:
    """Curves of all methods on one logarithmic axis; `best` is the smallest residual, None if there is none."""

    residual: Axis
    curves: tuple[IterationCurve, ...]
    best: float | None = None

    def figure(self) -> Any:
        figure = picture(9.0, 3.4)
        axis = figure.subplots()
        for curve in self.curves:
            x, y = curve.iterations, _drawable(curve.residuals)
            axis.plot(x, y, linewidth=1.4, marker=curve.marker, markersize=3.5, label=curve.method)
        for number, curve in enumerate(self.curves):
            allowed = {"label": "allowed"} if number == 0 else {}
            x, y = curve.iterations, _drawable(curve.allowed)
            axis.plot(x, y, color=_ALLOWED, linestyle="--", linewidth=1.2, marker=self._lone(curve), **allowed)
        if self.best_points:
            place, best = self.best_points[0]
            axis.plot([place], [best], linestyle="", marker="D", color=HIGH_COLOUR, label=f"best iterate: {best:.3g}")
        log_scale(axis)
        axis.set_xlim(left=0.5)
        axis.set_xlabel("iteration")
        axis.set_ylabel(self.residual.title)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(visible=True, alpha=0.3)
        handles, names = axis.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(names)), frameon=False)
        return figure

    def page(self) -> Any:
        figure = panels(1, 1, 300)
        for curve in self.curves:
            marks = "lines+markers" if curve.marker else "lines"
            figure.add_scatter(x=curve.iterations, y=_drawable(curve.residuals), mode=marks, name=curve.method)
        for number, curve in enumerate(self.curves):
            line = {"color": _ALLOWED, "dash": "dash"}
            y = _drawable(curve.allowed)
            figure.add_scatter(x=curve.iterations, y=y, mode="lines", line=line, name="allowed", showlegend=number == 0)
        for x, best in self.best_points[:1]:
            marker = {"color": HIGH_COLOUR, "symbol": "diamond", "size": 9}
            figure.add_scatter(x=[x], y=[best], mode="markers", marker=marker, name=f"best iterate: {best:.3g}")
        figure.update_yaxes(title_text=plotly_text(self.residual.title), type="log")
        figure.update_xaxes(title_text="iteration")
        return figure

    @property
    def best_points(self) -> list[tuple[float, float]]:
        """(iteration, residual) of all iterates with the smallest residual; empty if it is 0, which cannot be drawn."""
        return [
            (float(x), float(y))
            for curve in self.curves
            for x, y in zip(curve.iterations, curve.residuals, strict=True)
            if y == self.best and y > 0.0
        ]

    def _lone(self, curve: IterationCurve) -> str | None:
        """A marker for a curve of one point, because a line through one point is invisible."""
        return "_" if len(curve.iterations) == 1 else None
