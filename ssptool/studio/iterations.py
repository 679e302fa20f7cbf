"""Iterations and residuals of a run, from the logs of its algebraic loops and of its iterated macro steps."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ssptool.documents.vocabulary import rounded_text
from ssptool.foreign_text import json_content

LOOPS, COUPLING = "loops", "coupling"
MOST_POINTS = 4000
"""Largest number of solves of one loop in a picture."""
MOST_SIGNALS = 3
"""Number of signals of an iterate in a table: those with the largest residuals."""


class LoggedIterate(NamedTuple):
    """One line of a log."""

    solved: str
    time: float
    number: int
    values: Mapping[str, float | None]
    residuals: Mapping[str, float | None]

    @property
    def residual(self) -> float | None:
        """The largest residual."""
        known = [abs(one) for one in self.residuals.values() if one is not None]
        return max(known, default=None)


@dataclass(slots=True)
class Solves:
    """Repeated solutions of a loop or group; each is one point: time, number of iterations, and last residual."""

    times: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    residuals: list[float | None] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    """Offsets of its first iterates in the log."""


class LoggedIterations:
    """The logs of a completed run. They are read once; tables of single solves are read from the files."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._found: dict[tuple[str, str], Solves] = {}
        for log, file in files.items():
            for place, one in _lines(log, file, 0):
                self._add(self._found.setdefault((log, one.solved), Solves()), place, one)

    def _add(self, solves: Solves, place: int, one: LoggedIterate) -> None:
        if not solves.times or solves.times[-1] != one.time or one.number <= solves.iterations[-1]:
            solves.times.append(one.time)
            solves.iterations.append(one.number)
            solves.residuals.append(one.residual)
            solves.places.append(place)
        else:
            solves.iterations[-1], solves.residuals[-1] = one.number, one.residual

    def figure(self) -> dict[str, Any] | None:
        """Iterations and last residuals over time, as a figure of plotly; None if nothing was solved."""
        if not self._found:
            return None
        curves = []
        for colour, ((_, name), solves) in zip(_colours(), self._found.items(), strict=False):
            every = max(1, len(solves.times) // MOST_POINTS)
            for axis, values in (("y", solves.iterations), ("y2", solves.residuals)):
                shown: list[Any] = list(values[::every])
                curves.append(
                    {
                        "type": "scatter",
                        "mode": "lines+markers",
                        "x": solves.times[::every],
                        "y": shown,
                        "yaxis": axis,
                        "name": name,
                        "legendgroup": name,
                        "showlegend": axis == "y",
                        "line": {"color": colour, "shape": "hv", "width": 1},
                        "marker": {"size": 4},
                    }
                )
        layout = {
            "height": 420,
            "margin": {"t": 20, "l": 70, "r": 20, "b": 40},
            "xaxis": {"title": {"text": "time [s]"}, "anchor": "y2"},
            "yaxis": {"title": {"text": "iterations"}, "domain": [0.56, 1.0], "rangemode": "tozero"},
            "yaxis2": {"title": {"text": "residual"}, "domain": [0.0, 0.44], "type": "log", "exponentformat": "power"},
        }
        return {"data": curves, "layout": layout}

    def table(self, time: float) -> list[dict[str, Any]]:
        """The iterates of the last solves up to a time [s]: number, residual, signals with the largest residuals."""
        rows = []
        for (log, name), solves in self._found.items():
            at = bisect_right(solves.times, time) - 1
            if at < 0:
                continue
            for _, one in _lines(log, self._files[log], solves.places[at]):
                if one.solved != name:
                    continue
                if one.time != solves.times[at]:
                    break
                rows.append(_row(one))
                if one.number == solves.iterations[at]:
                    break
        return rows


def _row(one: LoggedIterate) -> dict[str, Any]:
    largest = sorted(one.residuals, key=lambda signal: -abs(one.residuals[signal] or 0.0))[:MOST_SIGNALS]
    return {
        "solved": one.solved,
        "time": f"{one.time:.6g}",
        "iteration": one.number,
        "residual": _number(one.residual),
        "signals": ", ".join(f"{name} = {_number(one.values.get(name))}" for name in largest),
    }


def _number(value: float | None) -> str:
    return rounded_text(math.nan if value is None else float(value), 4)


def _lines(log: str, file: Path, start: int) -> Iterator[tuple[int, LoggedIterate]]:
    """Iterates in a log from an offset on, each with its offset."""
    if not file.is_file():
        return
    with file.open("rb") as lines:
        lines.seek(start)
        place = start
        for line in lines:
            facts = json_content(line.decode())
            solved = f"{facts['stage']}: loop {facts['loop']}" if log == LOOPS else f"macro steps of {facts['group']}"
            yield place, LoggedIterate(solved, facts["time"], facts["iteration"], facts["values"], facts["residuals"])
            place += len(line)


def _colours() -> Iterator[str]:
    while True:
        yield from ("#1664b0", "#c4572f", "#1d6b34", "#8a4fb3", "#a36f00", "#2b8a8a")
