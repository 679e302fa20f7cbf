"""The memory of a kernel."""

import numpy as np

from ssptool.engine.kernel.interface import Floats, Integers, Slots
from ssptool.engine.kernel.twin.checks import MAX_ORDER, check_index
from ssptool.engine.kernel.twin.contents import Contents


class Cells:
    """What slots hold, and how those of inputs run over a step."""

    def __init__(self, slots: int, integers: Slots) -> None:
        self.values: Floats = np.zeros(slots)
        self.integers: Integers = self.values.view(np.int64)
        self.input_value: Floats = np.zeros(slots)
        self.input_rates: Floats = np.zeros((MAX_ORDER, slots))
        self.contents = Contents()
        for slot in integers:
            self.check(slot)
        self.holds_integer = frozenset(integers)

    def check(self, slot: int) -> None:
        check_index(slot, self.values, "slot")

    def move(self, slot: int, value: float, first: float, second: float) -> None:
        self.input_value[slot] = value
        self.input_rates[:, slot] = first, second
