"""How inputs run over a step."""

import numpy as np

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.twin.acting import Acting
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.checks import check_order
from ssptool.engine.kernel.twin.history import History
from ssptool.engine.kernel.twin.members import Members
from ssptool.engine.kernel.twin.wires import Wires


class Inputs:
    def __init__(self, cells: Cells, wires: Wires, members: Members, acting: Acting, history: History) -> None:
        self._cells, self._wires, self._members = cells, wires, members
        self._acting, self._history = acting, history

    def exchange(self, group: int) -> None:
        for member in self._members.of(group):
            self._wires.copy(self._wires.into(member.table.input_slots))

    def hold(self, group: int) -> None:
        for slot in self._slots(group):
            self._cells.move(slot, self._cells.values[slot], 0.0, 0.0)
        self._stay(group, self._cells.values)

    def _stay(self, group: int, values: Floats) -> None:
        """Inputs of types other than Float64, over the step."""
        for member in self._members.of(group):
            for typed in member.typed_inputs:
                slots = [slot for slot in typed.slots if slot not in self._acting.driven]
                self._cells.input_value.view(np.int64)[slots] = values.view(np.int64)[slots]

    def extrapolate(self, group: int, order: int) -> None:
        check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history) - 1)
        now, move = self._history[0], self._cells.move
        self._stay(group, now.values)
        for slot in self._slots(group):
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
        check_order(order)
        if not self._history:
            self.hold(group)
            return
        order = min(order, len(self._history))
        now, move = self._history[0], self._cells.move
        self._stay(group, now.values)
        for slot in self._slots(group):
            y0 = now.values[slot]
            slope = (self._cells.values[slot] - y0) / h
            if order == 1:
                move(slot, y0, slope, 0.0)
                continue
            before = self._history[1]
            d01 = (y0 - before.values[slot]) / (now.t - before.t)
            curvature = (slope - d01) / (h + (now.t - before.t))
            move(slot, y0, slope - curvature * h, 2.0 * curvature)

    def _slots(self, group: int) -> list[int]:
        """Of type Float64, that courses do not lead to."""
        every = (slot for member in self._members.of(group) for slot in member.inputs)
        return [slot for slot in every if slot not in self._acting.driven]
