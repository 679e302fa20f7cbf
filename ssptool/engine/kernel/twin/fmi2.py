"""FMI 2.0."""

from ssptool.engine.kernel.interface import Floats, InstanceTable
from ssptool.engine.kernel.twin.before_fmi3 import BeforeFmi3
from ssptool.engine.kernel.twin.instance import Failure, Motion, References, SavedState, checked


class Fmi2Instance(BeforeFmi3):
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

    def step(self, t: float, h: float, motion: Motion) -> Failure | None:
        return self._set_inputs(motion, t, h) or self._call("fmi2DoStep", t, h, 0 if self._state else 1)

    def save(self) -> Failure | None:
        self._told_order_saved = self._rates.told_order
        return checked("fmi2GetFMUstate", self._state.save())

    def restore(self) -> Failure | None:
        # Whether a state includes the input derivatives is the FMU's secret, so expect either.
        self._rates.told_order = max(self._rates.told_order, self._told_order_saved)
        return checked("fmi2SetFMUstate", self._state.restore())

    def release(self) -> None:
        self._state.release()

    def directional(
        self, unknowns: References, knowns: References, seed: Floats, sensitivity: Floats
    ) -> Failure | None:
        return self._call(
            "fmi2GetDirectionalDerivative",
            *(unknowns.ctypes.data, unknowns.size, knowns.ctypes.data, knowns.size),
            *(seed.ctypes.data, sensitivity.ctypes.data),
        )
