"""Signals over time, one panel per unit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class PlotUnavailable(Exception):
    """matplotlib, which draws plots, is not installed."""

    def __init__(self) -> None:
        super().__init__("plots are drawn by matplotlib, which is not installed: pip install 'ssptool[plot]'")


@dataclass(frozen=True, slots=True)
class Curve:
    """One signal to draw: `values` has the length of the time axis and is in `unit` ("" or None: no unit)."""

    label: str
    unit: str | None
    values: NDArray[np.float64]


def plot_signals(t: NDArray[np.float64], curves: Sequence[Curve], path: Path, title: str = "") -> None:
    """Draw curves over time into a PNG, SVG or PDF file, chosen by its ending.

    Parameters
    ----------
    t : (n,) [s]
    curves : panels appear in the order in which their units first occur

    Raises
    ------
    PlotUnavailable
        matplotlib is not installed.
    ValueError
        The file name has another ending, or there is nothing to draw.
    """
    check_plot_name(path)
    if not curves:
        raise ValueError("there is no signal to draw")
    figure = new_figure(len(_units(curves)))
    axes = figure.subplots(len(_units(curves)), 1, sharex=True, squeeze=False)[:, 0]
    for axis, unit in zip(axes, _units(curves), strict=True):
        _draw_panel(axis, t, [curve for curve in curves if (curve.unit or "") == unit], unit)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(t[0], t[-1] if t[-1] > t[0] else t[0] + 1.0)
    figure.suptitle(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


FORMATS = (".png", ".svg", ".pdf")


def check_plot_name(path: Path) -> None:
    """Raise ValueError if the ending of `path` names no picture format: better before a long run than after."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(
            f"{path}: a plot is written as {', '.join(FORMATS)}, not as {path.suffix or 'a file without ending'}"
        )


def _units(curves: Sequence[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.unit or "" for curve in curves))


def new_figure(panels: int) -> Any:
    """A figure of matplotlib for so many panels, one below the other.

    Raises
    ------
    PlotUnavailable
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # heavy and optional
    except ImportError as error:
        raise PlotUnavailable from error
    return Figure(figsize=(9.0, 1.2 + 1.9 * panels), dpi=120, layout="constrained")


def _merged(curves: Sequence[Curve]) -> Iterator[Curve]:
    """Curves with the same values as one with all their labels: a wire's two ends would hide each other."""
    by_values: dict[bytes, list[Curve]] = {}
    for curve in curves:
        by_values.setdefault(curve.values.tobytes(), []).append(curve)
    for same in by_values.values():
        yield replace(same[0], label=" = ".join(curve.label for curve in same))


def _draw_panel(axis: Any, t: NDArray[np.float64], curves: Sequence[Curve], unit: str) -> None:
    for curve in _merged(curves):
        axis.plot(t, curve.values, label=curve.label, linewidth=1.3)
    axis.set_ylabel(f"[{unit}]" if unit else "[-]")
    axis.grid(visible=True, alpha=0.3)
    axis.legend(loc="upper right", fontsize="small", framealpha=0.8)
