"""Tables that drive slots over time, and inputs that run over steps as these do."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence

import numpy as np

from ssptool.engine.kernel.interface import (
    DrivenInput,
    DrivenInputMode,
    Floats,
    Integers,
    SlotOverride,
    SlotOverrideKind,
    SlotPolynomial,
    TableColumn,
    TimeTables,
)
from ssptool.engine.kernel.twin.slot_values import SlotValues, check_index, item, overridden_double, overridden_integer
from ssptool.engine.kernel.twin.wires import Wires

NO_TIME_TABLES = TimeTables((), (), ())


class TwinTimeTables:
    """Time tables of slots, some of which are `integers`."""

    def __init__(self, tables: TimeTables = NO_TIME_TABLES, integers: Collection[int] = ()) -> None:
        self._axes = [np.array(times, dtype=np.float64) for times in tables.axes]
        self._times = [times.tolist() for times in self._axes]
        self._columns = tables.columns
        self._integer = [column.slot in integers for column in tables.columns]
        self._values = [np.array(column.values, dtype=np.float64) for column in tables.columns]
        self._overrides = [SlotOverride()] * len(self._columns)
        self._begin, self._end = -math.inf, math.inf
        for number, times in enumerate(self._axes):
            _check_times(times, number)
        for column, found, integer in zip(self._columns, self._values, self._integer, strict=True):
            check_index(column.axis, self._axes, "axis")
            _check_column(column, found, len(self._axes[column.axis]), integer)

    def column(self, column: int) -> Floats:
        """Its values (rows,)."""
        return item(self._values, column, "column")

    def override_column(self, column: int, override: SlotOverride) -> None:
        check_index(column, self._columns, "column")
        self._overrides[column] = override

    def between(self, begin: float, end: float) -> None:
        self._begin, self._end = begin, end

    def write(self, t: float, values: Floats, integers: Integers) -> None:
        from_left = t >= self._end
        time = self._end if from_left else max(t, self._begin)
        seek = bisect_left if from_left else bisect_right
        rows = [seek(times, time) for times in self._times]
        every = zip(self._columns, self._values, self._integer, self._overrides, strict=True)
        for column, found, integer, override in every:
            row = rows[column.axis]
            if integer:
                integers[column.slot] = overridden_integer(int(found.view(np.int64)[max(row - 1, 0)]), override)
            else:
                value = _at(found, self._times[column.axis], row, time, column.linear)
                values[column.slot] = overridden_double(value, override)

    def beyond_ends(self, t: float, h: float, found: Floats) -> bool:
        """After `write(t)`: put into `found`, by slot, for each line through rows the mean of the last h [s] before t,
        less that of its two ends; returns whether one is not zero.
        """
        begin, end = max(t - h, self._begin), min(t, self._end)
        every = [entry for entry in zip(self._columns, self._values, self._overrides, strict=True) if entry[0].linear]
        for column, values, override in every:
            replaced = override.kind == SlotOverrideKind.OVERRIDE
            times = self._times[column.axis]
            found[column.slot] = 0.0 if replaced else _beyond_chord(values, times, begin, end)
        return any(found[column.slot] != 0.0 for column, _, _ in every)


def _beyond_chord(values: Floats, times: Sequence[float], begin: float, end: float) -> float:
    """Mean height of a line through rows above the chord between both ends, which is zero if all is level."""
    low, high = bisect_right(times, begin), bisect_left(times, end)
    if low >= high:
        return 0.0
    first, last = _at(values, times, low, begin, True), _at(values, times, high, end, True)
    slope = (last - first) / (end - begin)
    area, before, height = 0.0, begin, 0.0
    for time, value in zip(times[low:high], values[low:high].tolist(), strict=True):
        above = value - (first + slope * (time - begin))
        area += 0.5 * (height + above) * (time - before)
        before, height = time, above
    area += 0.5 * height * (end - before)
    return area / (end - begin)


def _at(values: Floats, times: Sequence[float], row: int, t: float, linear: bool) -> float:
    """Interpolate a column. At both ends of a line, and where it is level, return the stored number itself, so a zero
    keeps its sign.
    """
    if row == 0:
        return float(values[0])
    first = float(values[row - 1])
    if not linear or row == len(times):
        return first
    second, before = float(values[row]), times[row - 1]
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


def _check_column(column: TableColumn, values: Floats, rows: int, integer: bool) -> None:
    name = f"the column of slot {column.slot}"
    if len(values) != rows:
        raise ValueError(f"{name} has {len(values)} rows, its axis has {rows}")
    if integer and column.linear:
        raise ValueError(f"{name}, an integer, cannot be linear")
    if not integer and not np.isfinite(values).all():
        raise ValueError(f"{name} has a value that is not finite")


class DrivenInputs:
    """The time tables of a kernel, and the inputs to which they lead."""

    def __init__(self, slot_values: SlotValues, wires: Wires) -> None:
        self._slot_values, self._wires = slot_values, wires
        self.tables = TwinTimeTables(NO_TIME_TABLES)
        self._inputs: dict[int, DrivenInput] = {}  # by slot
        self._polynomials: tuple[SlotPolynomial, ...] = ()
        self._curvatures = np.zeros(len(slot_values.values))  # second derivatives of all slots
        self._beyond = np.zeros(len(slot_values.values))  # means over a step, less those of its ends, of all slots

    def state(self, tables: TimeTables) -> None:
        for slot in (*(one.slot for one in tables.columns), *(one.slot for one in tables.inputs)):
            self._slot_values.check(slot)
        for one in tables.inputs:
            if one.slot in self._slot_values.holds_integer and one.running != DrivenInputMode.HELD:
                raise ValueError(f"slot {one.slot} holds integers, which are held")
        self.tables = TwinTimeTables(tables, self._slot_values.holds_integer)
        self._inputs = {one.slot: one for one in tables.inputs}

    def drives(self, slot: int) -> bool:
        return slot in self._inputs

    def follow(self, polynomials: Sequence[SlotPolynomial]) -> None:
        for one in polynomials:
            self._slot_values.check(one.slot)
            if one.slot in self._slot_values.holds_integer:
                raise ValueError(f"slot {one.slot} holds integers, which are on no polynomial")
        self._polynomials = tuple(polynomials)
        self._curvatures[:] = 0.0
        for one in self._polynomials:
            self._curvatures[one.slot] = one.second
        self._wires.copy_tangents(self._wires.into(list(self._inputs)), self._curvatures)

    def write(self, t: float) -> None:
        self.tables.write(t, self._slot_values.values, self._slot_values.integers)
        for one in self._polynomials:
            self._slot_values.values[one.slot] = one.at(t)

    def drive(self, t: float, h: float) -> None:
        slots, move = list(self._inputs), self._slot_values.move
        bits = self._slot_values.integers[slots]
        self.write(t)
        self._wires.copy(self._wires.into(slots))
        averages = any(one.running == DrivenInputMode.MIDDLE for one in self._inputs.values())
        beyond = averages and self.tables.beyond_ends(t, h, self._beyond)
        if beyond:
            self._wires.copy_tangents(self._wires.into(slots), self._beyond)
        self._slot_values.input_value.view(np.int64)[slots] = bits  # bits that need not be those of a number
        for (slot, one), start in zip(self._inputs.items(), bits.view(np.float64), strict=True):
            end, second = self._slot_values.values[slot], self._curvatures[slot]
            match one.running:
                case DrivenInputMode.HELD:
                    self._slot_values.input_rates[:, slot] = 0.0, 0.0
                case DrivenInputMode.FOLLOWING:
                    move(slot, start, (end - start) / h - 0.5 * h * second, second)
                case DrivenInputMode.MIDDLE:
                    middle = start if start == end else 0.5 * (start + end)
                    move(slot, middle + self._beyond[slot] if beyond else middle, 0.0, 0.0)
