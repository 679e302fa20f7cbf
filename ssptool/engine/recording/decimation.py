"""Decimation: recording fewer rows than communication points; memory of a trace."""

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
from ssptool.errors import WrongValue

Points = NDArray[np.bool_]


class Decimation(Protocol):
    """Selection of the rows to record, in the order of time. All rows of an instant with several rows (the sides of an
    event, such as a jump of an input or a tick of a clock) are recorded, even if other rows are left out.
    """

    @property
    def waiting(self) -> Floats:
        """Rows (k, 1 + p) that may still be recorded."""
        ...

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        """Blocks of rows to record from these rows (k, 1 + p), with the time first. There may be fewer rows than given,
        or rows in between. `points` (k,) is true for rows at communication points; None: all.
        """
        ...

    def rest(self) -> Floats:
        """Rows to record at the end of the run; empty if the last block has not been consumed."""
        ...


def decimated(decimation: Decimation, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
    """Recorded rows of a run that consists of these rows."""
    yield from decimation.keep(rows, points)
    if len(rest := decimation.rest()):
        yield rest


_NO_ROWS: Floats = np.empty((0, 1))


class All:
    """Every row."""

    waiting = _NO_ROWS

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        yield rows

    def rest(self) -> Floats:
        return _NO_ROWS


class Every:
    """The first instant, every n-th after it, the last, and every event. Instants other than communication points do
    not count.
    """

    def __init__(self, n: int) -> None:
        if n < 1:
            raise WrongValue(f"of every n-th row, n must be at least 1; found {n}")
        self._n = n
        self._counted = 0
        self.waiting: Floats = _NO_ROWS  # rows of the last instant, which may not be complete
        self._points = np.empty(0, dtype=bool)

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        if not len(rows):
            return
        known, points = _after(self.waiting, self._points, rows, points)
        first = _begin_of_instant(known, -1)
        waiting, self._points = known[first:].copy(), points[first:]
        self.waiting = _NO_ROWS
        yield known[:first][self._chosen(known[:first, 0], points[:first])]
        self.waiting = waiting

    def _chosen(self, t: Floats, points: Points) -> Points:
        """Mask (k,) of the rows of selected instants; rows have the times t [s]."""
        begins = np.flatnonzero(np.diff(t, prepend=-np.inf))
        if not len(begins):
            return np.empty(0, dtype=bool)
        counts = np.logical_or.reduceat(points, begins)
        numbers = self._counted + np.cumsum(counts) - 1
        self._counted += int(np.count_nonzero(counts))
        sizes = np.diff(begins, append=len(t))
        return np.repeat((counts & (numbers % self._n == 0)) | (sizes > 1), sizes)

    def rest(self) -> Floats:
        return self.waiting


class Grid:
    """Rows at equal distances in time, interpolated between given rows; both sides of each event; and the last row.

    Parameters
    ----------
    start, step : [s]
        Rows are at start + k·step for every k, and at the end.
    held
        For each column after the time: true if it keeps its value between two rows. Others are interpolated linearly.
        Empty: no column is held.
    of_points
        For each of these columns: true if it has values only at communication points. Empty: no column.
    ticks
        For each of these columns: true if it is a clock, which ticks only in rows of the run. Empty: no column.
    """

    TOLERANCE = 1e-9
    """Fraction of a step within which a row counts as a point of the grid."""

    def __init__(
        self,
        start: float,
        step: float,
        held: Sequence[bool] = (),
        of_points: Sequence[bool] = (),
        ticks: Sequence[bool] = (),
    ) -> None:
        if not 0 < step < np.inf:
            raise WrongValue(f"the output step must be greater than 0 s and finite, found {step:g}")
        self._start = start
        self._step = step
        self._moving = None if not any(held) else np.flatnonzero(~np.array([False, *held]))
        self._of_points = 1 + np.flatnonzero(of_points)
        self._ticks = 1 + np.flatnonzero(ticks)
        self._next = 0
        self.waiting: Floats = _NO_ROWS
        self._points = np.empty(0, dtype=bool)

    def keep(self, rows: Floats, points: Points | None = None) -> Iterator[Floats]:
        if not len(rows):
            return
        known, points = _after(self.waiting, self._points, rows, points)
        # Rows at the time of the last point wait: they may be one side of an event, and the other side may follow.
        last = int(np.flatnonzero(points)[-1])
        first = _begin_of_instant(known, last)
        waiting, self._points = known[first:].copy(), points[first:]
        self.waiting = _NO_ROWS
        sides = self._on_lines(known, points, np.flatnonzero(_sides(known[:first, 0])))
        begin, end = (int(np.ceil((t - self._start) / self._step - self.TOLERANCE)) for t in known[[0, last], 0])
        self._next = max(self._next, begin)  # the run may continue from a later time
        while self._next < end:
            count = rows_at_once(end - self._next, known.shape[1])
            wanted = grid_times(self._start, self._step, range(self._next, self._next + count))
            self._next += count
            passed = int(np.searchsorted(sides[:, 0], wanted[-1] + self.TOLERANCE * self._step, side="right"))
            yield self._with_sides(self._between(known, points, wanted), sides[:passed])
            sides = sides[passed:]
        yield sides
        self.waiting = waiting

    def _on_lines(self, known: Floats, points: Points, sides: NDArray[np.intp]) -> Floats:
        """These rows; columns that have values only at communication points are interpolated between these points."""
        found: Floats = known[sides]
        between = ~points[sides]
        if self._of_points.size and between.any():
            lines = _between(known[points], found[between, 0], self.TOLERANCE * self._step, self._moving)
            found[np.ix_(between, self._of_points)] = lines[:, self._of_points]
        return found

    def _with_sides(self, rows: Floats, sides: Floats) -> Floats:
        """Rows of the grid and sides of events in the order of time; grid rows at events are left out."""
        if not len(sides):
            return rows
        close = self.TOLERANCE * self._step
        first = np.searchsorted(sides[:, 0], rows[:, 0] - close)
        end = np.searchsorted(sides[:, 0], rows[:, 0] + close, side="right")
        found = np.concatenate([rows[first == end], sides])
        return found[np.argsort(found[:, 0], kind="stable")]

    def _between(self, known: Floats, points: Points, wanted: Floats) -> Floats:
        found = _between(known, wanted, self.TOLERANCE * self._step, self._moving)
        if self._of_points.size and not points.all():
            others = _between(known[points], wanted, self.TOLERANCE * self._step, self._moving)
            found[:, self._of_points] = others[:, self._of_points]
        if self._ticks.size:
            rows_before = known[np.searchsorted(known[:, 0], wanted + self.TOLERANCE * self._step, side="right") - 1, 0]
            found[np.ix_(wanted - rows_before > self.TOLERANCE * self._step, self._ticks)] = 0.0
        return found

    def rest(self) -> Floats:
        t, point = self.waiting[:, 0], grid_time(self._start, self._step, self._next)
        sides = _sides(t)
        on_grid = (np.abs(t - point) <= self.TOLERANCE * self._step) & ~sides
        chosen = sides | on_grid
        chosen[-1:] = True
        found = self.waiting.copy()
        found[on_grid, 0] = point
        return found[chosen]


def _after(waiting: Floats, of_waiting: Points, rows: Floats, points: Points | None) -> tuple[Floats, Points]:
    """Waiting rows followed by new rows, and the mask of those at communication points."""
    known = np.concatenate([waiting, rows]) if len(waiting) else rows
    return known, np.concatenate([of_waiting, np.ones(len(rows), dtype=bool) if points is None else points])


def _begin_of_instant(rows: Floats, row: int) -> int:
    """The first row with the time of this one."""
    return int(np.searchsorted(rows[:, 0], rows[row, 0]))


def _sides(t: Floats) -> Points:
    """Mask (k,) of the rows whose time [s] equals that of a neighbour."""
    equal = np.diff(t) == 0
    found: Points = np.append(equal, False) | np.insert(equal, 0, False)
    return found if len(t) else np.empty(0, dtype=bool)


def _between(rows: Floats, times: Floats, tolerance: float, moving: NDArray[np.intp] | None) -> Floats:
    """Rows at these times; columns in `moving` (None: all) are interpolated linearly between neighbours.

    A value next to one that is not finite is kept until the time of that one. At an event, where two rows have the same
    time, the later one counts.
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
    # Not a sum with the negative difference, by which a zero would lose its sign.
    with np.errstate(invalid="ignore"):
        change = nearest[inside] - following[inside]
    # Between a number and nan, keep the number.
    found[inside] -= np.where(np.isfinite(change), part[part != 0.0, None] * change, 0.0)
    found[:, 0] = times
    return found


def check_memory(rows: int, width: int) -> None:
    """Check that rows of `width` numbers fit into the memory of this machine.

    Raises
    ------
    WrongValue
    """
    memory = machine_memory()
    if memory and 8 * rows * width > memory:
        raise WrongValue(
            f"the trace would have {rows:,} rows of {width:,} numbers, which are {_size(8 * rows * width)} in memory, "
            f"and this machine has {_size(memory)}; record fewer rows (a longer --output-step, --every, a larger "
            "--step-size) or fewer signals (--record), or keep the trace in a file only (without --plot; keep=False)"
        )


def machine_memory() -> int:
    """Memory of this machine [byte]; 0: unknown."""
    if sys.platform == "win32":
        return 0
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _size(count: int) -> str:
    """Text for a number of bytes."""
    thousands = min(int(math.log(max(count, 1), 1000)), len(_UNITS) - 1)
    return f"{count / 1000**thousands:.3g} {_UNITS[thousands]}"


_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
