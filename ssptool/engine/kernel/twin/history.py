"""Accepted communication points, the latest first."""

from typing import NamedTuple

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.checks import MAX_ORDER
from ssptool.engine.kernel.twin.wires import Wires


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
