"""What FMI 1.0 and 2.0 have in common."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Floats, InstanceTable
from ssptool.engine.kernel.twin.instance import (
    ERROR,
    Failure,
    Following,
    Motion,
    References,
    checked,
    float_references,
    functions,
)


class Rates:
    """Input derivatives as the functions of FMI 1.0 and 2.0 take them, when they have to be set."""

    def __init__(self, inputs: References) -> None:
        self._inputs = inputs
        self.told_order = 0  # the highest input derivative that the FMU may still act on

    def due(self, motion: Motion, told: int) -> tuple[int, int, int, int]:
        """(references, their number, orders, values) up to the order `told`, valid until the next call."""
        self._orders = np.repeat(np.arange(1, told + 1, dtype=np.int32), self._inputs.size)
        self._references = np.tile(self._inputs, told)
        self._values = np.concatenate((motion.first, motion.second)[:told])
        self.told_order = motion.order()
        return self._references.ctypes.data, self._references.size, self._orders.ctypes.data, self._values.ctypes.data


class BeforeFmi3:
    """What FMI 1.0 and 2.0 have in common but for the names of their functions."""

    prefix: ClassVar[str]

    def __init__(self, table: InstanceTable) -> None:
        self._component = table.component
        self._functions = functions(table)
        self._inputs = float_references(table.input_references, table.input_types, table.input_elements)
        self._rates = Rates(self._inputs)
        self.following = Following()

    def set(self, references: References, values: Floats) -> Failure | None:
        return self.access(self.prefix + "SetReal", references, values)

    def get(self, references: References, values: Floats) -> Failure | None:
        return self.access(self.prefix + "GetReal", references, values)

    def access(self, function: str, references: References, values: NDArray[Any]) -> Failure | None:
        return self._call(function, references.ctypes.data, references.size, values.ctypes.data)

    def _set_inputs(self, motion: Motion, t: float, h: float) -> Failure | None:
        """To their course over the step from t, as far as the FMU follows it."""
        while self._inputs.size:
            taken = self.following.course(motion, h)
            if failure := self.set(self._inputs, taken.value):
                return failure
            # An order that was in effect is told once more, as zero: else the FMU might keep following it.
            before = self._rates.told_order
            told = max(taken.order(), before)
            if told == 0:
                return None
            failure = self._call(self.prefix + "SetRealInputDerivatives", *self._rates.due(taken, told))
            if failure is None:
                return None
            if not self._refused(told, before, t, failure):
                return failure
            if self._rates.told_order == 0 and taken.order() == 0:
                return None  # held, and nothing more can be said to it
        return None

    def _refused(self, told: int, before: int, t: float, failure: Failure) -> bool:
        """What was in effect before may still be; that nothing is any more is worth one more call."""
        if self.following.order == 0 and failure.status <= ERROR:
            self._rates.told_order = 0
            return True
        self._rates.told_order = min(before, max(told - 1, 1))
        return self.following.refused(told, t, failure)

    def _call(self, name: str, *arguments: float) -> Failure | None:
        return checked(name, self._functions[name](self._component, *arguments))
