"""Tables that drive slots over time, and inputs that run over steps as these do."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence

import numpy as np

from ssptool.engine.kernel.interface import Change, Column, Courses, DrivenInput, Floats, Integers, Running
from ssptool.engine.kernel.twin.cells import Cells, changed_double, changed_integer, check_index, item
from ssptool.engine.kernel.twin.wires import Wires

NO_COURSES = Courses((), (), ())


class TwinCourses:
    """Courses of slots, some of which are `integers`."""

    def __init__(self, courses: Courses = NO_COURSES, integers: Collection[int] = ()) -> None:
        self._axes = [np.array(times, dtype=np.float64) for times in courses.axes]
        self._times = [times.tolist() for times in self._axes]
        self._columns = courses.columns
        self._integer = [column.slot in integers for column in courses.columns]
        self._cells = [np.array(column.cells, dtype=np.float64) for column in courses.columns]
        self._changes = [Change()] * len(self._columns)
        self._begin, self._end = -math.inf, math.inf
        for number, times in enumerate(self._axes):
            _check_times(times, number)
        for column, cells, integer in zip(self._columns, self._cells, self._integer, strict=True):
            check_index(column.axis, self._axes, "axis")
            _check_cells(column, cells, len(self._axes[column.axis]), integer)

    def column(self, column: int) -> Floats:
        """Its cells."""
        return item(self._cells, column, "column")

    def change(self, column: int, change: Change) -> None:
        check_index(column, self._columns, "column")
        self._changes[column] = change

    def between(self, begin: float, end: float) -> None:
        self._begin, self._end = begin, end

    def write(self, t: float, values: Floats, integers: Integers) -> None:
        from_left = t >= self._end
        time = self._end if from_left else max(t, self._begin)
        seek = bisect_left if from_left else bisect_right
        rows = [seek(times, time) for times in self._times]
        every = zip(self._columns, self._cells, self._integer, self._changes, strict=True)
        for column, cells, integer, change in every:
            row = rows[column.axis]
            if integer:
                integers[column.slot] = changed_integer(int(cells.view(np.int64)[max(row - 1, 0)]), change)
            else:
                value = _at(cells, self._times[column.axis], row, time, column.linear)
                values[column.slot] = changed_double(value, change)


def _at(cells: Floats, times: Sequence[float], row: int, t: float, linear: bool) -> float:
    """At both ends of a line, and where it is level, the very number that is there: so a zero keeps its sign."""
    if row == 0:
        return float(cells[0])
    first = float(cells[row - 1])
    if not linear or row == len(times):
        return first
    second, before = float(cells[row]), times[row - 1]
    share = (t - before) / (times[row] - before)
    if share == 0.0 or first == second:
        return first
    return second if share == 1.0 else first + share * (second - first)


def _check_times(times: Floats, number: int) -> None:
    if not len(times):
        raise ValueError(f"axis {number} has no times")
    if not np.isfinite(times).all():
        raise ValueError(f"axis {number} has a time that is not finite")
    if (times[1:] < times[:-1]).any():
        raise ValueError(f"axis {number} has times that descend")


def _check_cells(column: Column, cells: Floats, rows: int, integer: bool) -> None:
    name = f"the column of slot {column.slot}"
    if len(cells) != rows:
        raise ValueError(f"{name} has {len(cells)} rows, its axis has {rows}")
    if integer and column.linear:
        raise ValueError(f"{name}, an integer, cannot be linear")
    if not integer and not np.isfinite(cells).all():
        raise ValueError(f"{name} has a value that is not finite")


class DrivenInputs:
    """The courses of a kernel, and the inputs to which they lead."""

    def __init__(self, cells: Cells, wires: Wires) -> None:
        self._cells, self._wires = cells, wires
        self.courses = TwinCourses(NO_COURSES)
        self._inputs: dict[int, DrivenInput] = {}  # by slot

    def state(self, courses: Courses) -> None:
        for slot in (*(one.slot for one in courses.columns), *(one.slot for one in courses.inputs)):
            self._cells.check(slot)
        for one in courses.inputs:
            if one.slot in self._cells.holds_integer and one.running != Running.HELD:
                raise ValueError(f"slot {one.slot} holds integers, which are held")
        self.courses = TwinCourses(courses, self._cells.holds_integer)
        self._inputs = {one.slot: one for one in courses.inputs}

    def drives(self, slot: int) -> bool:
        return slot in self._inputs

    def write(self, t: float) -> None:
        self.courses.write(t, self._cells.values, self._cells.integers)

    def drive(self, t: float, h: float) -> None:
        slots, move = list(self._inputs), self._cells.move
        cells = self._cells.integers[slots]
        self.write(t)
        self._wires.copy(self._wires.into(slots))
        self._cells.input_value.view(np.int64)[slots] = cells  # bits that need not be those of a number
        for (slot, one), start in zip(self._inputs.items(), cells.view(np.float64), strict=True):
            end = self._cells.values[slot]
            match one.running:
                case Running.HELD:
                    self._cells.input_rates[:, slot] = 0.0, 0.0
                case Running.FOLLOWING:
                    move(slot, start, (end - start) / h, 0.0)
                case Running.MIDDLE:
                    move(slot, 0.5 * (start + end), 0.0, 0.0)
