"""Whether the iterates of one step come to agree."""

import numpy as np

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.measures import FixedCount, Measure, same

GROWTH_LIMIT = 1e6
"""Iterates that come to differ by this factor more than they once did will not come back."""


class Agreement:
    """Of what went into a step and what came out for it, over the iterations of that step.

    Attributes
    ----------
    excess
        How many times too large the difference is, as the measure has it.
    growing
        Whether the largest difference, in nominal values, is larger than it once was.
    """

    def __init__(self, measure: Measure, nominal: Floats) -> None:
        self.excess = np.inf
        self.growing = False
        self._judge = measure.begin(nominal)
        self._nominal = nominal
        self._counted = isinstance(measure, FixedCount)
        self._least = np.inf

    def reached(self, x: Floats, found: Floats) -> bool:
        """Also where there is nothing left to iterate, although a limit below the last digit asks for it."""
        self.excess = self._judge(x, found - x)
        return self.excess <= 1.0 or (not self._counted and same(x, found))

    def lost(self, x: Floats, found: Floats) -> bool:
        """Whether the iterates have run away."""
        # Not the excess: where x runs away, what is allowed does so with it.
        size = float((np.abs(found - x) / self._nominal).max())
        self._least = min(self._least, size)
        self.growing = size > self._least
        return not self._counted and size > GROWTH_LIMIT * self._least
