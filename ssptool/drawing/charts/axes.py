"""Axes of the charts of a study, and empty figures of Matplotlib and Plotly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.errors import missing_extra

Floats = NDArray[np.float64]

LOW_COLOUR, HIGH_COLOUR = "#1f77b4", "#d95f02"
COLOURS = "Viridis"
"""Colour scale for numbers: lightness increases with the number, and people with colour blindness can read it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A quantity along an axis; `labels` are names at 0, 1, … for values that are not numbers."""

    name: str
    unit: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def picture(width: float, height: float) -> Any:
    """An empty figure of Matplotlib [inch]."""
    try:
        from matplotlib.figure import Figure  # heavy and optional
    except ImportError as error:
        raise missing_extra("plot", "matplotlib") from error
    return Figure(figsize=(width, height), dpi=120, layout="constrained")


def log_scale(axis: Any) -> None:
    """A logarithmic y axis of Matplotlib; its numbers are plain text, like all texts of the pictures."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter  # heavy and optional

    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def panels(rows: int, columns: int, height: int, **options: Any) -> Any:
    """An empty figure of Plotly, with rows of this height [px]."""
    try:
        from plotly.subplots import make_subplots  # type: ignore[import-untyped, unused-ignore]  # heavy and optional
    except ImportError as error:
        raise missing_extra("plot", "plotly") from error
    figure = make_subplots(rows=rows, cols=columns, **options)
    figure.update_layout(height=100 + height * rows)
    return figure
