"""Pictures of linear systems: modes, and responses over frequency (Bode, Nyquist) and time. They need matplotlib."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.analysis.modes import Mode
from ssptool.documents.saving import save_file
from ssptool.drawing.charts.axes import log_scale
from ssptool.drawing.page_picture import page_picture, readout_script
from ssptool.drawing.plot import new_figure, save
from ssptool.drawing.plot_model import PICTURES, check_plot_name
from ssptool.engine.kernel.calls import Floats
from ssptool.errors import WrongValue
from ssptool.foreign_text import html_text

MOST_BARS = 12
"""Modes that are shown as bars, and in detail over the frequency: those that decay most slowly."""

MOST_CURVES = 8
"""Pairs of an input and an output in one picture."""

NEAR_CRITICAL = 0.1
"""Magnitude from which on the critical points -1 and 1 are near enough to be drawn with a response."""

POINTS = 400


def draw_modes(modes: Sequence[Mode], title: str, path: Path) -> None:
    """Draw eigenvalues in the complex plane, and the participation of components: a .png, .svg, .pdf or .html file.

    Raises
    ------
    MissingPackage
        matplotlib is not installed.
    WrongValue
        The file name has another ending, or there are no modes.
    """
    check_plot_name(path)
    if not modes:
        raise WrongValue("there are no modes to draw: the system has no states")
    figure = new_figure(2)
    plane, bars = figure.subplots(2, 1)
    values = np.array([each for mode in modes for each in {mode.eigenvalue, mode.eigenvalue.conjugate()}])
    plane.scatter(values.real, values.imag, marker="x", color="tab:blue", label="eigenvalues")
    plane.axvline(0, color="black", linewidth=0.8)
    plane.axhline(0, color="black", linewidth=0.4)
    plane.set_xlabel("real part [1/s]")
    plane.set_ylabel("imaginary part [1/s]")
    plane.set_title(title, fontsize="small", loc="left")
    plane.grid(visible=True, alpha=0.3)
    _draw_shares(bars, modes[:MOST_BARS])
    _written(figure, path, title)


def draw_locus(
    name: str, values: Floats, branches: NDArray[np.complex128], margins: Floats, title: str, path: Path
) -> None:
    """Draw the branches (k, n) of eigenvalues in the complex plane, from the first value (dot) to the last one (cross),
    and the stability margins (k,) over the values (k,) of the parameter.

    Raises as `draw_modes`.
    """
    check_plot_name(path)
    if not branches.shape[1]:
        raise WrongValue("there are no modes to draw: the system has no states")
    figure = new_figure(2)
    plane, margin = figure.subplots(2, 1)
    for branch in branches.T:
        (line,) = plane.plot(branch.real, branch.imag, linewidth=1.0, marker=".", markersize=3)
        known = branch[~np.isnan(branch)]
        for marker, end in (("o", known[0]), ("x", known[-1])):
            plane.plot(end.real, end.imag, marker, color=line.get_color())
    for axis in (plane, margin):
        axis.grid(visible=True, alpha=0.3)
        axis.axhline(0, color="black", linewidth=0.6)
    plane.axvline(0, color="black", linewidth=0.8)
    plane.set_xlabel("real part [1/s]")
    plane.set_ylabel("imaginary part [1/s]")
    ends = f"{name} from {values[0]:.6g} (dot) to {values[-1]:.6g} (cross)"
    plane.set_title(f"{title}: {ends}", fontsize="small", loc="left")
    margin.plot(values, margins, marker=".")
    margin.set_xlabel(name)
    margin.set_ylabel("stability margin [1/s]")
    _written(figure, path, title)


def _draw_shares(axis: Any, modes: Sequence[Mode]) -> None:
    names = list(dict.fromkeys(name for mode in modes for name in mode.components))
    places, left = np.arange(len(modes)), np.zeros(len(modes))
    for name in names:
        shares = np.array([mode.components.get(name, 0.0) for mode in modes])
        axis.barh(places, shares, left=left, label=name or "system")
        left += shares
    axis.set_yticks(places, [_mode_name(mode) for mode in modes])
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel("participation")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")


def _mode_name(mode: Mode) -> str:
    return f"{mode.frequency:.4g} Hz" if mode.frequency else f"{mode.significant.real:.4g} 1/s"


class Response(NamedTuple):
    """Responses of a linear system.

    Attributes
    ----------
    curves
        Name, frequency response (k,) complex and step response (k,) of each pair of an input and an output.
    frequencies : (k,) [Hz]
    times : (k,) [s]
    """

    curves: tuple[tuple[str, NDArray[np.complex128], Floats], ...]
    frequencies: Floats
    times: Floats


def draw_response(response: Response, title: str, path: Path) -> None:
    """Draw magnitude and phase over the frequency (Bode), the locus of the response (Nyquist), and the step response if
    there are times.

    Raises as `draw_modes`.
    """
    check_plot_name(path)
    moving = [curve for curve in response.curves if np.any(np.nan_to_num(curve[1]))][:MOST_CURVES]
    if not moving:
        raise WrongValue("there is no response to draw: no output depends on an input")
    timed = len(response.times) > 0
    figure = new_figure(2 + timed)
    rows = [["magnitude", "locus"], ["phase", "locus"], *([["step", "step"]] if timed else [])]
    axes = figure.subplot_mosaic(rows, width_ratios=[3, 2])
    marker = None if timed else "."
    for name, found, over_time in moving:
        axes["magnitude"].plot(response.frequencies, np.abs(found), label=name, marker=marker)
        axes["phase"].plot(response.frequencies, np.degrees(unwrapped(found)), label=name, marker=marker)
        if timed:
            axes["step"].plot(response.times, over_time, label=name)
    if timed:
        axes["step"].set_ylabel("step response")
        axes["step"].set_xlabel("time [s]")
    draw_nyquist(axes["locus"], [found for _, found, _ in moving], marker)
    log_scale(axes["magnitude"])
    for axis in (axes["magnitude"], axes["phase"]):
        _log_frequencies(axis)
    axes["magnitude"].set_ylabel("magnitude")
    axes["phase"].set_ylabel("phase [deg]")
    axes["phase"].set_xlabel("frequency [Hz]")
    axes["magnitude"].set_title(title, fontsize="small", loc="left")
    for axis in axes.values():
        axis.grid(visible=True, alpha=0.3)
    axes["magnitude"].legend(frameon=False, fontsize="small")
    _written(figure, path, title)


def draw_nyquist(axis: Any, responses: Sequence[NDArray[np.complex128]], marker: str | None) -> None:
    """Draw the responses in the complex plane, dashed for negative frequencies, and the points -1 and 1 if they are not
    far outside.
    """
    for found in responses:
        (line,) = axis.plot(found.real, found.imag, marker=marker)
        axis.plot(found.real, -found.imag, linestyle="--", linewidth=0.8, color=line.get_color())
    if max(float(np.nanmax(np.abs(found))) for found in responses) >= NEAR_CRITICAL:
        axis.plot([-1, 1], [0, 0], linestyle="none", marker="+", markersize=9, color="black", label="-1 and 1")
        axis.legend(frameon=False, fontsize="small")
    axis.set_xlabel("real part")
    axis.set_ylabel("imaginary part")
    axis.set_title("Nyquist", fontsize="small", loc="left")


def unwrapped(found: NDArray[np.complex128]) -> Floats:
    """(k,) Phases [rad] without jumps by a whole turn; nan where there is no response."""
    phases, known = np.full(len(found), np.nan), ~np.isnan(found)
    phases[known] = np.unwrap(np.angle(found[known]))
    return phases


def _log_frequencies(axis: Any) -> None:
    from matplotlib.ticker import NullFormatter, StrMethodFormatter  # heavy and optional

    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _written(figure: Any, path: Path, title: str) -> None:
    if path.suffix.lower() in PICTURES:
        return save(figure, path)
    markup = page_picture(figure, "picture", title)
    head = f'<head><meta charset="utf-8"><title>{html_text(title)}</title></head>'
    page = f'<!doctype html>\n<html lang="en">{head}<body>{markup}{readout_script()}</body></html>\n'
    return save_file(path, page)


def step_responses(A: Floats, B: Floats, C: Floats, D: Floats, times: Floats, step: float = 0.0) -> Floats:
    """(k, p, m) Responses to unit steps of the inputs at equidistant times (k,), exact except for rounding. `step`:
    macro step of a discrete model [s].
    """
    from scipy.linalg import expm  # only pictures need it

    n, m = B.shape
    if step:
        reached = np.floor(times / step + 1e-9).astype(int)
        every, states = [], np.zeros((n, m))
        for _ in range(reached[-1] + 1):
            every.append(C @ states + D)
            states = A @ states + B
        responses: Floats = np.array(every)[reached]
        return responses
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = A, B
    forward = expm(whole * (times[1] - times[0]))
    found, states = [], np.zeros((n, m))
    for _ in times:
        found.append(C @ states + D)
        states = forward[:n, :n] @ states + forward[:n, n:]
    return np.array(found)


def usual_frequencies(modes: Sequence[Mode]) -> Floats:
    """Frequencies [Hz] from a tenth of the slowest mode to ten times the fastest one, denser where a mode resonates:
    there the phase turns by half a turn, in equal steps.
    """
    sizes = [abs(mode.significant) / (2 * np.pi) for mode in modes if mode.significant]
    usual = np.geomspace(min(sizes, default=0.1) / 10, max(sizes, default=1.0) * 10, POINTS)
    around = np.tan(np.linspace(-1.5, 1.5, 61))
    found = np.concatenate([usual, *(mode.frequency * (1 + abs(mode.damping) * around) for mode in modes[:MOST_BARS])])
    return np.unique(found[(usual[0] <= found) & (found <= usual[-1])])


def usual_times(modes: Sequence[Mode]) -> Floats:
    """Times [s] until the slowest mode has decayed, but at most 20 periods of the slowest oscillation."""
    return np.linspace(0.0, max(_durations(modes), default=1.0), POINTS)


def _durations(modes: Sequence[Mode]) -> Iterator[float]:
    for mode in modes:
        if mode.significant:
            decay = 5 * abs(mode.time_constant)
            yield min(decay, 20 / mode.frequency) if mode.frequency else decay
