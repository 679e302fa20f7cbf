"""When plain iteration is no longer tried before an acceleration."""

from collections import deque

import numpy as np

from ssptool.engine.masters.partners import Memory

MISSES, MISSES_WITHIN = 5, 50
"""So many steps in which plain iteration was not good enough, within so many steps, are too many."""


class Caution:
    """How the first iterates of a step come to the next one: as what was found, without acceleration, while that does.

    Attributes
    ----------
    given_up
        Where that was not good enough in several of the last steps.
    """

    def __init__(self, plain_iterations: int) -> None:
        self.given_up = plain_iterations == 1
        self._plain_iterations = plain_iterations
        self._misses: deque[float] = deque(maxlen=MISSES)

    def goes_on_plainly(self, iteration: int, t: float, h: float) -> bool:
        """After an iteration of the step of size h [s] from t [s] whose values do not agree."""
        if not self.given_up and iteration == self._plain_iterations:
            self._misses.append(t)
            within = t - self._misses[0] < MISSES_WITHIN * h
            self.given_up = len(self._misses) == MISSES and within
            return False
        return not self.given_up and iteration < self._plain_iterations

    def memory(self) -> Memory:
        return {"cautious": np.array(self.given_up), "misses": np.array(self._misses, dtype=float)}

    def recall(self, memory: Memory) -> None:
        self.given_up = bool(memory["cautious"])
        self._misses.extend(memory["misses"].tolist())
