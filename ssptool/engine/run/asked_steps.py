"""Macro steps that a C++ system requests from a master in Python, which another package may register."""

from typing import TYPE_CHECKING

from ssptool.engine.failure import Failure
from ssptool.engine.masters.master import OneStepper, SavableStepper
from ssptool.engine.masters.protocols import SavedState
from ssptool.engine.masters.step_sizes import a_smaller_step_may_do

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeSystem

FAILED, MAY_BE_SMALLER = 0, -1
"""Answers for a failed step."""


class AskedSteps:
    """Connection between a system and a master in Python: answers requests of the system with steps of the master.
    Raises TypeError if the stepper has no `step` method.
    """

    def __init__(self, native: "NativeSystem", stepper: OneStepper) -> None:
        if not isinstance(stepper, OneStepper):
            raise TypeError(f"{type(stepper).__name__} does not do one macro step of any size: it has no method step")
        self._stepper = stepper
        self._failure: Failure | None = None
        self._error: BaseException | None = None
        native.answer_steps(self._answer)

    def failure(self) -> Failure | None:
        """Failure of the last step, or None. Raises the exception of the master, if there was one."""
        if self._error is not None:
            raise self._error
        return self._failure

    def memory(self) -> SavedState | None:
        """Memory of the master; None if it cannot be stored."""
        return self._stepper.save_state() if isinstance(self._stepper, SavableStepper) else None

    def recall(self, memory: SavedState) -> None:
        """Continue with this memory."""
        if isinstance(self._stepper, SavableStepper):
            self._stepper.restore_state(memory)

    def _answer(self, t: float, h: float, end: float) -> int:
        self._failure = None
        try:
            found = self._stepper.step(t, h, end)
        except BaseException as error:  # it cannot pass through the system, so it is stored
            self._error = error
            return FAILED
        if isinstance(found, Failure):
            self._failure = found
            return MAY_BE_SMALLER if a_smaller_step_may_do(found) else FAILED
        return found
