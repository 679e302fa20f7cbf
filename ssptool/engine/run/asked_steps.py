"""Macro steps that a system in C++ has done by a master in Python, as other packages may register one."""

from typing import TYPE_CHECKING

from ssptool.engine.failure import Failure
from ssptool.engine.masters.adaptive import a_smaller_step_may_do
from ssptool.engine.masters.master import OneStepper, SavableStepper
from ssptool.engine.masters.protocols import SavedState

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeSystem

FAILED, MAY_BE_SMALLER = 0, -1
"""Answers where the step has failed."""


class AskedSteps:
    """Answers the system with steps of a master. Raises TypeError if its stepper has no method for one step."""

    def __init__(self, native: "NativeSystem", stepper: OneStepper) -> None:
        if not isinstance(stepper, OneStepper):
            raise TypeError(f"{type(stepper).__name__} does not do one macro step of any size: it has no method step")
        self._stepper = stepper
        self._failure: Failure | None = None
        self._error: BaseException | None = None
        native.answer_steps(self._answer)

    def failure(self) -> Failure | None:
        """Reason for the failure of the last step. Raises what the master has raised."""
        if self._error is not None:
            raise self._error
        return self._failure

    def memory(self) -> SavedState | None:
        """Memory of the master; None: it cannot be stored."""
        return self._stepper.save_state() if isinstance(self._stepper, SavableStepper) else None

    def recall(self, memory: SavedState) -> None:
        """Go on with this memory."""
        if isinstance(self._stepper, SavableStepper):
            self._stepper.restore_state(memory)

    def _answer(self, t: float, h: float, end: float) -> int:
        self._failure = None
        try:
            found = self._stepper.step(t, h, end)
        except BaseException as error:  # it passes the system by
            self._error = error
            return FAILED
        if isinstance(found, Failure):
            self._failure = found
            return MAY_BE_SMALLER if a_smaller_step_may_do(found) else FAILED
        return found
