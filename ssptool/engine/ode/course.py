"""How what leads into an ODE from outside runs over a macro step."""

from typing import NamedTuple

import numpy as np

from ssptool.engine.kernel.interface import Floats


class Course(NamedTuple):
    """Polynomials (m,) in the time since `start` [s]: value, first and second derivative there."""

    start: float
    value: Floats
    first: Floats
    second: Floats

    def at(self, t: float) -> Floats:
        """The values (m,) at a time [s]; the same arithmetic as the kernel's."""
        past = t - self.start
        value: Floats = self.value + past * (self.first + (0.5 * past) * self.second)
        return value


NO_COURSE = Course(0.0, np.empty(0), np.empty(0), np.empty(0))
