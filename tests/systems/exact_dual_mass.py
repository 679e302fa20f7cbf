"""The dual-mass oscillator solved by the matrix exponential: truth for every run of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm


@dataclass(frozen=True)
class DualMass:
    """Parameters in SI units; the states are x1, v1, x2, v2.

    The flange moves with mass 1, so that its mass adds to it: (m1 + m_c) a1 = F_spring2 − k1 x1 − c1 v1.
    """

    m1: float = 1.0
    k1: float = 10.0
    c1: float = 0.2
    m2: float = 1.0
    k2: float = 10.0
    c2: float = 0.5
    k3: float = 20.0
    c3: float = 0.3
    m_c: float = 0.0
    start: tuple[float, float, float, float] = (0.0, 0.0, 0.5, 0.0)

    @property
    def matrix(self) -> NDArray[np.float64]:
        spring = np.array([-self.k2, -self.c2, self.k2, self.c2])
        a1 = (spring - [self.k1, self.c1, 0, 0]) / (self.m1 + self.m_c)
        a2 = (-spring - [0, 0, self.k3, self.c3]) / self.m2
        return np.array([[0, 1, 0, 0], a1, [0, 0, 0, 1], a2])

    def signals(self, t: NDArray[np.float64]) -> Mapping[str, NDArray[np.float64]]:
        """Every connector's values (n,) at equally spaced times t (n,)."""
        propagator = expm(self.matrix * (t[1] - t[0])) if len(t) > 1 else np.eye(4)
        states = [expm(self.matrix * t[0]) @ np.array(self.start)]
        for _ in t[1:]:
            states.append(propagator @ states[-1])
        x1, v1, x2, v2 = np.array(states).T
        a1 = np.array(states) @ self.matrix[1]
        force = self.k2 * (x2 - x1) + self.c2 * (v2 - v1) - self.m_c * a1
        return {"x1": x1, "v1": v1, "a1": a1, "F": force, "x2": x2, "v2": v2}
