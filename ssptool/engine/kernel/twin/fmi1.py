"""FMI 1.0."""

from ssptool.engine.kernel.interface import Floats, InstanceTable
from ssptool.engine.kernel.twin.before_fmi3 import BeforeFmi3
from ssptool.engine.kernel.twin.instance import ERROR, Failure, Motion, References


class Fmi1Instance(BeforeFmi3):
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

    def step(self, t: float, h: float, motion: Motion) -> Failure | None:
        again, self._again = self._again, False
        return self._set_inputs(motion, t, h) or self._call("fmiDoStep", t, h, not again)

    def save(self) -> Failure | None:
        self.has_saved_state, self._again = True, False
        self._told_order_saved = self._rates.told_order
        return None

    def restore(self) -> Failure | None:
        if not self.has_saved_state:
            return Failure("restoring the state", ERROR)
        self._again = True
        self._rates.told_order = max(self._rates.told_order, self._told_order_saved)
        return None

    def release(self) -> None:
        self.has_saved_state = self._again = False

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> Failure | None:
        return Failure("directional derivatives", ERROR)
