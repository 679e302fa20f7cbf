"""What FMI 1.0 and 2.0 have in common."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Floats, InstanceTable
from ssptool.engine.kernel.twin.instance import Failure, Motion, References, checked, float_references, functions


class Rates:
    """Input derivatives as the functions of FMI 1.0 and 2.0 take them, when they have to be set."""

    def __init__(self, inputs: References) -> None:
        self._inputs = inputs
        self.told_order = 0  # the highest input derivative that the FMU may still act on

    def due(self, motion: Motion) -> tuple[int, int, int, int] | None:
        """(references, their number, orders, values), valid until the next call; None if there is nothing to tell."""
        # An order that was in effect is told once more, as zero: else the FMU might keep following it.
        order = motion.order()
        told = max(order, self.told_order)
        if told == 0:
            return None
        self._orders = np.repeat(np.arange(1, told + 1, dtype=np.int32), self._inputs.size)
        self._references = np.tile(self._inputs, told)
        self._values = np.concatenate((motion.first, motion.second)[:told])
        self.told_order = order
        return self._references.ctypes.data, self._references.size, self._orders.ctypes.data, self._values.ctypes.data


class BeforeFmi3:
    """What FMI 1.0 and 2.0 have in common but for the names of their functions."""

    prefix: ClassVar[str]

    def __init__(self, table: InstanceTable) -> None:
        self._component = table.component
        self._functions = functions(table)
        self._inputs = float_references(table.input_references, table.input_types, table.input_elements)
        self._rates = Rates(self._inputs)

    def set(self, references: References, values: Floats) -> Failure | None:
        return self.access(self.prefix + "SetReal", references, values)

    def get(self, references: References, values: Floats) -> Failure | None:
        return self.access(self.prefix + "GetReal", references, values)

    def access(self, function: str, references: References, values: NDArray[Any]) -> Failure | None:
        return self._call(function, references.ctypes.data, references.size, values.ctypes.data)

    def _set_inputs(self, motion: Motion) -> Failure | None:
        if not self._inputs.size:
            return None
        if failure := self.set(self._inputs, motion.value):
            return failure
        rates = self._rates.due(motion)
        return None if rates is None else self._call(self.prefix + "SetRealInputDerivatives", *rates)

    def _call(self, name: str, *arguments: float) -> Failure | None:
        return checked(name, self._functions[name](self._component, *arguments))
