"""FMI 1.0 and 2.0 co-simulation."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Floats, InstanceTable
from ssptool.engine.kernel.twin.instance import (
    ERROR,
    Motion,
    SavedState,
    TwinFailure,
    TwinFollowing,
    checked,
    functions,
)
from ssptool.engine.kernel.twin.variables import References, float_references


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
    """Operations that FMI 1.0 and 2.0 share except for the names of their functions."""

    prefix: ClassVar[str]

    def __init__(self, table: InstanceTable) -> None:
        self._component = table.component
        self._functions = functions(table)
        self._inputs = float_references(table.input_references, table.input_types, table.input_elements)
        self._rates = Rates(self._inputs)
        self.following = TwinFollowing()

    def set(self, references: References, values: Floats) -> TwinFailure | None:
        return self.access(self.prefix + "SetReal", references, values)

    def get(self, references: References, values: Floats) -> TwinFailure | None:
        return self.access(self.prefix + "GetReal", references, values)

    def access(self, function: str, references: References, values: NDArray[Any]) -> TwinFailure | None:
        return self._call(function, references.ctypes.data, references.size, values.ctypes.data)

    def _set_inputs(self, motion: Motion, t: float, h: float) -> TwinFailure | None:
        """Set the inputs as they run over the step from t, as far as the FMU follows them."""
        while self._inputs.size:
            taken = self.following.limited(motion, h)
            if failure := self.set(self._inputs, taken.value):
                return failure
            # Set an order that was in effect to zero once, or the FMU might keep following it.
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

    def _refused(self, told: int, before: int, t: float, failure: TwinFailure) -> bool:
        """Handle a refusal: derivatives set earlier may still be in force, so one more call takes them back."""
        if self.following.order == 0 and failure.status <= ERROR:
            self._rates.told_order = 0
            return True
        self._rates.told_order = min(before, max(told - 1, 1))
        return self.following.refused(told, t, failure)

    def _call(self, name: str, *arguments: float) -> TwinFailure | None:
        return checked(name, self._functions[name](self._component, *arguments))


class TwinFmi1Instance(BeforeFmi3):
    """FMI 1.0 co-simulation, which has neither saved states nor directional derivatives. What can reject steps does
    the last one again: so the only state that it can go back to is that before its last step, and with the next step
    only.
    """

    prefix = "fmi"
    get_function = "fmiGetReal"

    def __init__(self, table: InstanceTable) -> None:
        super().__init__(table)
        self.has_saved_state = False
        self._again = False
        self._told_order_saved = 0

    def step(self, t: float, h: float, motion: Motion) -> TwinFailure | None:
        again, self._again = self._again, False
        return self._set_inputs(motion, t, h) or self._call("fmiDoStep", t, h, not again)

    def save(self) -> TwinFailure | None:
        self.has_saved_state, self._again = True, False
        self._told_order_saved = self._rates.told_order
        return None

    def restore(self) -> TwinFailure | None:
        if not self.has_saved_state:
            return TwinFailure("restoring the state", ERROR)
        self._again = True
        self._rates.told_order = max(self._rates.told_order, self._told_order_saved)
        return None

    def release(self) -> None:
        self.has_saved_state = self._again = False

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> TwinFailure | None:
        return TwinFailure("directional derivatives", ERROR)


class TwinFmi2Instance(BeforeFmi3):
    """FMI 2.0 co-simulation."""

    prefix = "fmi2"
    get_function = "fmi2GetReal"

    def __init__(self, table: InstanceTable) -> None:
        super().__init__(table)
        self._told_order_saved = 0
        self._state = SavedState(
            table.component,
            self._functions["fmi2GetFMUstate"],
            self._functions["fmi2SetFMUstate"],
            self._functions["fmi2FreeFMUstate"],
        )

    @property
    def has_saved_state(self) -> bool:
        return bool(self._state)

    def step(self, t: float, h: float, motion: Motion) -> TwinFailure | None:
        return self._set_inputs(motion, t, h) or self._call("fmi2DoStep", t, h, 0 if self._state else 1)

    def save(self) -> TwinFailure | None:
        self._told_order_saved = self._rates.told_order
        return checked("fmi2GetFMUstate", self._state.save())

    def restore(self) -> TwinFailure | None:
        # A saved state may or may not include the input derivatives.
        self._rates.told_order = max(self._rates.told_order, self._told_order_saved)
        return checked("fmi2SetFMUstate", self._state.restore())

    def release(self) -> None:
        self._state.release()

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> TwinFailure | None:
        return self._call(
            "fmi2GetDirectionalDerivative",
            *(unknowns.ctypes.data, unknowns.size, knowns.ctypes.data, knowns.size),
            *(seed.ctypes.data, sensitivity.ctypes.data),
        )
