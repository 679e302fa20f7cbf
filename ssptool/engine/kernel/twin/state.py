"""State of the kernel in Python: slots, string table, time tables, wires, and accepted communication points."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from ssptool.engine.kernel.interface import (
    UNCHANGED,
    ActedWire,
    Change,
    ChangeKind,
    Column,
    Courses,
    DrivenInput,
    Floats,
    Integers,
    Running,
    Slots,
    Tables,
)

MAX_ORDER = 2
"""Of the polynomials that inputs follow; the history holds one point more."""

Item = TypeVar("Item", covariant=True)


class Items(Protocol[Item]):
    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Item: ...


def check_index(index: int, items: Sized, what: str) -> None:
    if not 0 <= index < len(items):
        raise IndexError(f"{what} {index} does not exist, there are {len(items)}")


def item(items: Items[Item], index: int, what: str) -> Item:
    check_index(index, items, what)
    return items[index]


def check_order(order: int) -> None:
    if order not in range(1, MAX_ORDER + 1):
        raise ValueError(f"polynomial order is {order}, must be 1 to {MAX_ORDER}")


ENTRY_BYTES = 64
"""What a content takes besides its bytes."""


class TwinStringTable:
    """Texts that a kernel has met, and what binary variables had, by number. No number means another one later."""

    def __init__(self) -> None:
        self._all: dict[int, bytes] = {}
        self._numbers: dict[bytes, int] = {}
        self._kept: set[int] = set()
        self._next = self.bytes = 0
        self.number(b"", keep=True)

    def __len__(self) -> int:
        return self._next

    def __getitem__(self, number: int) -> bytes:
        if number not in self._all:
            raise IndexError(f"content {number} does not exist, or is forgotten")
        return self._all[number]

    def number(self, content: bytes, keep: bool = False) -> int:
        found = self._numbers.setdefault(content, self._next)
        if found == self._next:
            self._all[found] = content
            self._next += 1
            self.bytes += ENTRY_BYTES + len(content)
        if keep:
            self._kept.add(found)
        return found

    def forget(self, needed: Sequence[int]) -> list[int]:
        forgotten = sorted(self._all.keys() - self._kept - set(needed))
        for number in forgotten:
            content = self._all.pop(number)
            del self._numbers[content]
            self.bytes -= ENTRY_BYTES + len(content)
        return forgotten


class Cells:
    """What slots hold, and how those of inputs run over a step."""

    def __init__(self, slots: int, integers: Slots) -> None:
        self.values: Floats = np.zeros(slots)
        self.integers: Integers = self.values.view(np.int64)
        self.input_value: Floats = np.zeros(slots)
        self.input_rates: Floats = np.zeros((MAX_ORDER, slots))
        self.contents = TwinStringTable()
        for slot in integers:
            self.check(slot)
        self.holds_integer = frozenset(integers)

    def check(self, slot: int) -> None:
        check_index(slot, self.values, "slot")

    def move(self, slot: int, value: float, first: float, second: float) -> None:
        self.input_value[slot] = value
        self.input_rates[:, slot] = first, second


def changed_double(value: float, change: Change) -> float:
    match change.kind:
        case ChangeKind.OVERRIDE:
            return change.cell
        case ChangeKind.BIAS:
            return value + change.cell
        case _:
            return value


def changed_integer(number: int, change: Change) -> int:
    """Sums wrap around as they do in all integers of the machine: so those without a sign are right as well."""
    cell = int(np.float64(change.cell).view(np.int64))
    match change.kind:
        case ChangeKind.OVERRIDE:
            return cell
        case ChangeKind.BIAS:
            return (number + cell + 2**63) % 2**64 - 2**63
        case _:
            return number


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


@dataclass(slots=True)
class TwinWire:
    """`factor` and `offset` are with what is done to doubles at its ends, `stated` are those without."""

    source: int
    destination: int
    factor: float
    offset: float
    table: Mapping[int, int] | None
    stated: tuple[float, float]
    at_source: Change = UNCHANGED  # of integers, likewise the other
    at_destination: Change = UNCHANGED


class Wires:
    """At most one leads to a slot. Those to slots that nobody has `owned` are `outer` ones."""

    def __init__(self, cells: Cells, owned: Collection[int]) -> None:
        self._cells = cells
        self._owned = owned
        self._by_destination: dict[int, TwinWire] = {}
        self.outer: list[TwinWire] = []

    def __len__(self) -> int:
        return len(self._by_destination)

    def connect(
        self,
        sources: Slots,
        destinations: Slots,
        factors: Sequence[float],
        offsets: Sequence[float],
        tables: Tables,
    ) -> None:
        rows = enumerate(zip(sources, destinations, factors, offsets, strict=True))
        for wire in (TwinWire(*row, tables.get(number), (row[2], row[3])) for number, row in rows):
            self._check(wire)
            self._by_destination[wire.destination] = wire
            if wire.destination not in self._owned:
                self.outer.append(wire)

    def _check(self, wire: TwinWire) -> None:
        for slot in (wire.source, wire.destination):
            self._cells.check(slot)
        integer = wire.source in self._cells.holds_integer
        if wire.destination in self._cells.holds_integer:
            if not integer:
                raise ValueError(f"a wire leads from slot {wire.source}, a double, to {wire.destination}, an integer")
            if (wire.factor, wire.offset) != (1.0, 0.0):
                raise ValueError(f"the wire to slot {wire.destination}, an integer, has a factor or an offset")
        if wire.table and not integer:
            raise ValueError(f"the wire from slot {wire.source}, a double, has a table")
        if wire.destination in self._by_destination:
            raise ValueError(f"two wires lead to slot {wire.destination}")

    def into(self, slots: Slots) -> tuple[TwinWire, ...]:
        return tuple(self._by_destination[slot] for slot in slots if slot in self._by_destination)

    def copy(self, wires: Sequence[TwinWire]) -> None:
        values, integers, holds_integer = self._cells.values, self._cells.integers, self._cells.holds_integer
        for wire in wires:
            if wire.source not in holds_integer:
                values[wire.destination] = _delivered(wire, values[wire.source])
                continue
            number = changed_integer(int(integers[wire.source]), wire.at_source)
            if wire.table:
                number = wire.table.get(number, number)
            if wire.destination in holds_integer:
                integers[wire.destination] = changed_integer(number, wire.at_destination)
            else:
                values[wire.destination] = _delivered(wire, float(number))

    def copy_tangents(self, wires: Sequence[TwinWire], tangents: Floats) -> None:
        """By the chain rule; integers do not move."""
        for wire in wires:
            if wire.source not in self._cells.holds_integer:
                tangents[wire.destination] = wire.factor * tangents[wire.source]

    def act(self, wires: Sequence[ActedWire]) -> None:
        for acted in wires:
            self._cells.check(acted.destination)
            if acted.destination not in self._by_destination:
                raise ValueError(f"no wire leads to slot {acted.destination}")
        for acted in wires:
            wire = self._by_destination[acted.destination]
            wire.factor, wire.offset = wire.stated
            if wire.source in self._cells.holds_integer:
                wire.at_source = acted.at_source
            else:
                _change_source(wire, acted.at_source)
            if wire.destination in self._cells.holds_integer:
                wire.at_destination = acted.at_destination
            else:
                _change_destination(wire, acted.at_destination)


def _delivered(wire: TwinWire, value: float) -> float:
    """Where nothing is done to it the value itself, and where it does not count the offset itself: a zero with its
    sign.
    """
    if wire.factor == 0.0:
        return wire.offset
    return value if (wire.factor, wire.offset) == (1.0, 0.0) else wire.factor * value + wire.offset


def _change_source(wire: TwinWire, change: Change) -> None:
    """With what is done to doubles at its ends, a wire still is a factor and an offset."""
    if change.kind != ChangeKind.NONE:
        wire.offset = _delivered(wire, change.cell)
    if change.kind == ChangeKind.OVERRIDE:
        wire.factor = 0.0


def _change_destination(wire: TwinWire, change: Change) -> None:
    if change.kind == ChangeKind.NONE:
        return
    replaced = change.kind == ChangeKind.OVERRIDE
    wire.offset = change.cell if replaced else wire.offset + change.cell
    if replaced:
        wire.factor = 0.0


class Acting:
    def __init__(self, cells: Cells, wires: Wires) -> None:
        self._cells, self._wires = cells, wires
        self.courses = TwinCourses(NO_COURSES)
        self.driven: dict[int, DrivenInput] = {}  # by slot

    def state(self, courses: Courses) -> None:
        for slot in (*(one.slot for one in courses.columns), *(one.slot for one in courses.inputs)):
            self._cells.check(slot)
        for one in courses.inputs:
            if one.slot in self._cells.holds_integer and one.running != Running.HELD:
                raise ValueError(f"slot {one.slot} holds integers, which are held")
        self.courses = TwinCourses(courses, self._cells.holds_integer)
        self.driven = {one.slot: one for one in courses.inputs}

    def write(self, t: float) -> None:
        self.courses.write(t, self._cells.values, self._cells.integers)

    def drive(self, t: float, h: float) -> None:
        slots, move = list(self.driven), self._cells.move
        cells = self._cells.integers[slots]
        self.write(t)
        self._wires.copy(self._wires.into(slots))
        self._cells.input_value.view(np.int64)[slots] = cells  # bits that need not be those of a number
        for (slot, one), start in zip(self.driven.items(), cells.view(np.float64), strict=True):
            end = self._cells.values[slot]
            match one.running:
                case Running.HELD:
                    self._cells.input_rates[:, slot] = 0.0, 0.0
                case Running.FOLLOWING:
                    move(slot, start, (end - start) / h, 0.0)
                case Running.MIDDLE:
                    move(slot, 0.5 * (start + end), 0.0, 0.0)


class Point(NamedTuple):
    t: float
    values: Floats


class History:
    def __init__(self, cells: Cells, wires: Wires) -> None:
        self._cells, self._wires = cells, wires
        self._points: list[Point] = []

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, k: int) -> Point:
        return self._points[k]

    def accept(self, t: float) -> None:
        self._wires.copy(self._wires.outer)
        while self._points and self._points[0].t >= t:
            del self._points[0]
        self._points.insert(0, Point(t, self._cells.values.copy()))
        del self._points[MAX_ORDER + 1 :]

    def take_back(self) -> None:
        if not self._points:
            raise ValueError("no point was accepted")
        self._cells.values[:] = self._points[0].values
