"""Decimation: fewer recorded rows than communication points; and the memory that a trace needs."""

import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.recording.writer import rows_at_once
from ssptool.engine.time_grid import grid_time, grid_times
from ssptool.engine.trace import Floats
from ssptool.errors import WrongUsage, WrongValue

Points = NDArray[np.bool_]


class Decimation(Protocol):
    """Decides which rows are recorded; asked in the order of time."""

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        """Blocks of what to record of these rows (k, 1 + p), the time first; may be fewer, and others in between.
        `points` (k,) are those at communication points; None: all.
        """
        ...

    def rest(self) -> Floats:
        """Rows to record at the end of the run; none if the last block was not taken yet."""
        ...


def decimated(decimation: Decimation, rows: Floats) -> Iterator[Floats]:
    """Rows that are recorded of a run that consists of these rows."""
    yield from decimation.keep(rows)
    if len(rest := decimation.rest()):
        yield rest


class All:
    """Every row."""

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        yield rows

    def rest(self) -> Floats:
        return np.empty((0, 1))


class Every:
    """The first row, every n-th after it, and the last."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise WrongValue(f"of every n-th row, n must be at least 1; found {n}")
        self._n = n
        self._seen = 0
        self._last: Floats = np.empty((0, 1))

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        if len(rows):
            last, first = rows[-1:].copy(), -self._seen % self._n
            self._seen += len(rows)
            self._last = last[:0]
            yield rows[first :: self._n]
            if (self._seen - 1) % self._n:
                self._last = last

    def rest(self) -> Floats:
        return self._last


class Grid:
    """Rows at equal distances in time, interpolated between the given ones, and the last row.

    Parameters
    ----------
    start, step : [s]
        A row at start + k·step, for every k until the end, and a row there.
    held
        Of each column behind the time, whether it keeps its value between two rows; the others are on the line between
        these. None given: no column does.
    of_points
        Of each of these columns, whether it has values at communication points only. None given: no column does.
    """

    TOLERANCE = 1e-9
    """Fraction of a step within which a row counts as at a point of the grid."""

    def __init__(self, start: float, step: float, held: Sequence[bool] = (), of_points: Sequence[bool] = ()) -> None:
        if not 0 < step < np.inf:
            raise WrongValue(f"the output step must be greater than 0 s and finite, found {step:g}")
        self._start = start
        self._step = step
        self._moving = None if not any(held) else np.flatnonzero(~np.array([False, *held]))
        self._of_points = 1 + np.flatnonzero(of_points)
        self._next = 0
        self._before: Floats = np.empty((0, 1))
        self._points = np.empty(0, dtype=bool)

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        if not len(rows):
            return
        known = np.concatenate([self._before, rows]) if len(self._before) else rows
        points = np.concatenate([self._points, np.ones(len(rows), dtype=bool) if points is None else points])
        last = int(np.flatnonzero(points)[-1])
        waiting, self._points = known[last:].copy(), points[last:]
        self._before = waiting[:0]
        # A row at the time of the last point waits: it may be one side of an event, followed by the other.
        end = int(np.ceil((known[last, 0] - self._start) / self._step - self.TOLERANCE))
        while self._next < end:
            count = rows_at_once(end - self._next, known.shape[1])
            wanted = grid_times(self._start, self._step, range(self._next, self._next + count))
            self._next += count
            yield self._between(known, points, wanted)
        self._before = waiting

    def _between(self, known: Floats, points: Points, wanted: Floats) -> Floats:
        found = _between(known, wanted, self.TOLERANCE * self._step, self._moving)
        if self._of_points.size and not points.all():
            others = _between(known[points], wanted, self.TOLERANCE * self._step, self._moving)
            found[:, self._of_points] = others[:, self._of_points]
        return found

    def rest(self) -> Floats:
        last, point = self._before[-1:], grid_time(self._start, self._step, self._next)
        if len(last) and abs(point - last[0, 0]) <= self.TOLERANCE * self._step:
            last[0, 0] = point
        return last


def _between(rows: Floats, times: Floats, tolerance: float, moving: NDArray[np.intp] | None) -> Floats:
    """Rows at these times; of the columns in `moving`, or of all, on lines between their neighbours.

    A value beside one that is not finite is kept until then. At an event, where two rows have one time, the later
    one counts.
    """
    after = np.clip(np.searchsorted(rows[:, 0], times + tolerance, side="right"), 1, len(rows)) - 1
    nearest = rows[after]
    following = rows[np.minimum(after + 1, len(rows) - 1)]
    distance = following[:, 0] - nearest[:, 0]
    part = np.divide(times - nearest[:, 0], distance, out=np.zeros_like(times), where=distance > 0)
    part[np.abs(times - nearest[:, 0]) <= tolerance] = 0.0
    found: Floats = nearest  # a copy
    columns = slice(None) if moving is None else moving
    inside = np.ix_(np.flatnonzero(part), np.arange(rows.shape[1])[columns])
    # Not the sum with the opposite difference, of which a zero would lose its sign.
    with np.errstate(invalid="ignore"):
        change = nearest[inside] - following[inside]
    # Between a number and nan, keep the number.
    found[inside] -= np.where(np.isfinite(change), part[part != 0.0, None] * change, 0.0)
    found[:, 0] = times
    return found


class TraceTooLarge(WrongUsage, ValueError):
    """A trace that is to be kept in memory has more rows than fit there."""

    def __init__(self, rows: int, width: int, memory: int) -> None:
        super().__init__(
            f"the trace would have {rows:,} rows of {width:,} numbers, which are {_size(8 * rows * width)} in memory, "
            f"and this machine has {_size(memory)}; record fewer rows (a longer --output-step, --every, a larger "
            "--step-size) or fewer signals (--record), or keep the trace in a file only (without --plot; keep=False)"
        )
        self.rows = rows
        self.width = width
        self.memory = memory


def check_memory(rows: int, width: int) -> None:
    """Refuse to keep more rows of `width` numbers than fit into the memory of this machine.

    Raises
    ------
    TraceTooLarge
    """
    memory = machine_memory()
    if memory and 8 * rows * width > memory:
        raise TraceTooLarge(rows, width, memory)


def machine_memory() -> int:
    """Memory of this machine [byte]; 0: unknown."""
    if sys.platform == "win32":
        return 0
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _size(count: int) -> str:
    """Number of bytes in words."""
    thousands = min(int(math.log(max(count, 1), 1000)), len(_UNITS) - 1)
    return f"{count / 1000**thousands:.3g} {_UNITS[thousands]}"


_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
