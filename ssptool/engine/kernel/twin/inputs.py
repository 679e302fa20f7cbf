"""Accepted communication points, and inputs that run over steps as these or as present values say."""

from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.twin.members import Groups
from ssptool.engine.kernel.twin.slot_values import MAX_ORDER, SlotValues, check_order
from ssptool.engine.kernel.twin.wires import Wires


class HistoryPoint(NamedTuple):
    t: float
    values: Floats


class History:
    def __init__(self, slot_values: SlotValues, wires: Wires) -> None:
        self._slot_values, self._wires = slot_values, wires
        self._points: list[HistoryPoint] = []

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, k: int) -> HistoryPoint:
        return self._points[k]

    def accept(self, t: float) -> None:
        self._wires.copy(self._wires.outer)
        while self._points and self._points[0].t >= t:
            del self._points[0]
        self._points.insert(0, HistoryPoint(t, self._slot_values.values.copy()))
        del self._points[MAX_ORDER + 1 :]

    def discard_point(self) -> None:
        if not self._points:
            raise ValueError("no point was accepted")
        self._slot_values.values[:] = self._points[0].values


class TwinInputs:
    def __init__(self, slot_values: SlotValues, wires: Wires, groups: Groups, history: History) -> None:
        self._slot_values, self._wires, self._groups, self._history = slot_values, wires, groups, history

    def exchange(self, group: int) -> None:
        self._wires.copy(self._groups[group].wires)

    def hold(self, group: int) -> None:
        for slot in self._groups[group].floats:
            self._slot_values.move(slot, self._slot_values.values[slot], 0.0, 0.0)
        self._stay(group, self._slot_values.values)

    def _stay(self, group: int, values: Floats) -> None:
        """Inputs of types other than Float64, over the step."""
        slots = self._groups[group].typed
        self._slot_values.input_value.view(np.int64)[slots] = values.view(np.int64)[slots]

    def extrapolate(self, group: int, order: int) -> None:
        check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history) - 1)
        now, move = self._history[0], self._slot_values.move
        self._stay(group, now.values)
        for slot in self._groups[group].floats:
            y0 = now.values[slot]
            if order == 0:
                move(slot, y0, 0.0, 0.0)
                continue
            before = self._history[1]
            d01 = (y0 - before.values[slot]) / (now.t - before.t)
            if order == 1:
                move(slot, y0, d01, 0.0)
                continue
            oldest = self._history[2]
            d12 = (before.values[slot] - oldest.values[slot]) / (before.t - oldest.t)
            curvature = (d01 - d12) / (now.t - oldest.t)
            move(slot, y0, d01 + curvature * (now.t - before.t), 2.0 * curvature)

    def interpolate(self, group: int, order: int, h: float) -> None:
        if order:
            check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history))
        now, move = self._history[0], self._slot_values.move
        self._stay(group, now.values)
        for slot in self._groups[group].floats:
            y0 = now.values[slot]
            if order == 0:
                move(slot, 0.5 * (y0 + self._slot_values.values[slot]), 0.0, 0.0)
                continue
            slope = (self._slot_values.values[slot] - y0) / h
            if order == 1:
                move(slot, y0, slope, 0.0)
                continue
            before = self._history[1]
            d01 = (y0 - before.values[slot]) / (now.t - before.t)
            curvature = (slope - d01) / (h + (now.t - before.t))
            move(slot, y0, slope - curvature * h, 2.0 * curvature)
