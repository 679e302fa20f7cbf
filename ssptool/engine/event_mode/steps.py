"""What a step of an FMU in event mode says besides its status."""

import math

import numpy as np

from ssptool.engine.kernel.interface import Floats

_EVENT, _REACHED, _WAITS = range(3)


class StepReport:
    """The report of one instance, to which its kernel writes.

    Attributes
    ----------
    numbers : (3,)
        For its `InstanceTable`.
    """

    def __init__(self) -> None:
        self.numbers: Floats = np.array([0.0, math.nan, 0.0])

    @property
    def wanted(self) -> bool:
        """An event is to be handled where the last step has ended."""
        return bool(self.numbers[_EVENT])

    @property
    def reached(self) -> float | None:
        """Where it ended [s]; None: nothing has been heard of it yet."""
        t = float(self.numbers[_REACHED])
        return None if math.isnan(t) else t

    def wait(self) -> None:
        """The instance is where the next step ends, and does nothing in it."""
        self.numbers[_WAITS] = 1.0

    def reset(self) -> None:
        """Nothing has been heard of the step that begins."""
        self.numbers[:] = 0.0, math.nan, 0.0

    def recall(self, *, wanted: bool) -> None:
        """Be as after a step of which that was said."""
        self.reset()
        self.numbers[_EVENT] = wanted
