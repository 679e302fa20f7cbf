"""The explicit Runge–Kutta pair of Dormand and Prince of orders 5 and 4, for x' that are not stiff.

References
----------
Dormand, Prince 1980, "A family of embedded Runge–Kutta formulae". Interpolation of order 4: Hairer, Nørsett, Wanner
1993, "Solving ordinary differential equations I", 2nd ed., §II.6.
"""

import numpy as np

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.twin.step_formulas import OdeEvaluation, StepStart

NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)

WEIGHTS: tuple[tuple[float, ...], ...] = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""Weights of earlier stages; the last row leads to the end of the step."""

ERROR_WEIGHTS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""Of order 5 less those of order 4."""

DENSE_WEIGHTS = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
"""Of the highest power of the interpolation."""


class DormandPrince:
    """A `StepFormula` that evaluates x' six times per step; its last stage is the first of the next step."""

    def __init__(self, evaluation: OdeEvaluation) -> None:
        self._evaluation = evaluation
        self._h = 0.0
        self.x, self.error = np.zeros(evaluation.states), np.zeros(evaluation.states)
        self._slopes = [np.zeros(evaluation.states) for _ in NODES]
        self._polynomial: tuple[Floats, ...] = ()

    def attempt(self, start: StepStart, h: float) -> bool:
        self._h = h
        self._slopes[0][:] = start.slopes
        for stage in range(1, len(NODES)):
            self.x[:] = start.x + h * self._sum(WEIGHTS[stage])
            if not self._evaluation.slopes(start.t + NODES[stage] * h, self.x, self._slopes[stage]):
                return False
        self.error[:] = h * self._sum(ERROR_WEIGHTS)
        return True

    def slopes_at_end(self, _t: float, found: Floats) -> bool:
        found[:] = self._slopes[-1]  # the last stage has them
        return True

    def prepare(self, start: StepStart) -> None:
        change = self.x - start.x
        bend = self._h * self._slopes[0] - change
        rest = change - self._h * self._slopes[-1] - bend
        self._polynomial = (start.x.copy(), change, bend, rest, self._h * self._sum(DENSE_WEIGHTS))

    def interpolate(self, part: float, x: Floats) -> None:
        constant, change, bend, rest, last = self._polynomial
        left = 1.0 - part
        x[:] = constant + part * (change + left * (bend + part * (rest + left * last)))

    def leave_start(self) -> None:
        pass

    def _sum(self, weights: tuple[float, ...]) -> Floats:
        total = np.zeros(len(self.x))
        for weight, slopes in zip(weights, self._slopes, strict=False):
            total += weight * slopes
        return total
