"""What acts on the system from outside over time: courses, and the inputs that they lead to."""

import numpy as np

from ssptool.engine.kernel.interface import Courses, DrivenInput, Running
from ssptool.engine.kernel.twin.cells import Cells
from ssptool.engine.kernel.twin.courses import NO_COURSES, TwinCourses
from ssptool.engine.kernel.twin.wires import Wires


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
