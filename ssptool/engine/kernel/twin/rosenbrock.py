"""Rodas5P, a linearly implicit pair of orders 5 and 4 for stiff x': L-stable and stiffly accurate.

Each stage solves linear equations with one matrix, so there is no iteration that could fail.

References
----------
Steinebach 2023, "Construction of Rosenbrock–Wanner method Rodas5P and numerical benchmarks within the Julia
Differential Equations package"; Hairer, Wanner 1996, "Solving ordinary differential equations II", 2nd ed., §IV.7.
"""

from collections.abc import Sequence

import numpy as np

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.twin.dense import PartialPivotLu
from ssptool.engine.kernel.twin.step_formulas import OdeEvaluation, StepStart

DIAGONAL = 0.21193756319429014

NODES = (0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0)

TIME_WEIGHTS = (
    0.21193756319429014,
    -0.42387512638858027,
    -0.3384627126235924,
    1.8046452872882734,
    2.325825639765069,
    0.0,
    0.0,
    0.0,
)

_LAST = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)

WEIGHTS: tuple[tuple[float, ...], ...] = (
    (),
    (3.0,),
    (2.849394379747939, 0.45842242204463923),
    (-6.954028509809101, 2.489845061869568, -10.358996098473584),
    (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
    _LAST,
    (*_LAST, 1.0),
    (*_LAST, 1.0, 1.0),
)
"""Of the changes of earlier stages, by which a stage is away from the start."""

COUPLINGS: tuple[tuple[float, ...], ...] = (
    (),
    (-14.155112264123755,),
    (-17.97296035885952, -2.859693295451294),
    (147.12150275711716, -1.41221402718213, 71.68940251302358),
    (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
    (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
    (
        30.91273214028599,
        -3.1208243349937974,
        77.79954646070892,
        34.28646028294783,
        -19.097331116725623,
        -28.087943162872662,
    ),
    (
        37.80277123390563,
        -3.2571969029072276,
        112.26918849496327,
        66.9347231244047,
        -40.06618937091002,
        -54.66780262877968,
        -9.48861652309627,
    ),
)
"""Of the changes of earlier stages, over the size of the step, on the right-hand side of a stage."""

DENSE_WEIGHTS: tuple[tuple[float, ...], ...] = (
    (
        25.948786856663858,
        -2.5579724845846235,
        10.433815404888879,
        -2.3679251022685204,
        0.524948541321073,
        1.1241088310450404,
        0.4272876194431874,
        -0.17202221070155493,
    ),
    (
        -9.91568850695171,
        -0.9689944594115154,
        3.0438037242978453,
        -24.495224566215796,
        20.176138334709044,
        15.98066361424651,
        -6.789040303419874,
        -6.710236069923372,
    ),
    (
        11.419903575922262,
        2.8879645146136994,
        72.92137995996029,
        80.12511834622643,
        -52.072871366152654,
        -59.78993625266729,
        -0.15582684282751913,
        4.883087185713722,
    ),
)
"""Of all changes, for the powers of the interpolation."""

_RELATIVE_DIFFERENCE = 2.0**-26  # √ε: balances truncation and rounding of a one-sided difference
_TIME_DIFFERENCE = 2.0**-13  # of a step; the difference over two of them is of second order
_LEAST_TIME_DIFFERENCE = 2.0**-48  # of the present time: 16 units in the last place
_NOISE = 0.5  # of the change of a derivative: how far it may be off a line
_ROUNDING = 2.0**-33  # of a derivative


class Rosenbrock:
    """A `StepFormula`. With W = 1/(γ h) − df/dx, the change U_i of stage i is that of

        W U_i = f(t + α_i h, x + Σ a_ij U_j) + Σ (c_ij / h) U_j + h γ_i ∂f/∂t,

    the last change is the error, and the last point with it the end of the step.
    """

    def __init__(self, evaluation: OdeEvaluation) -> None:
        self._evaluation = evaluation
        n = evaluation.states
        self.x, self.error = np.zeros(n), np.zeros(n)
        self._linearized = False  # at the start of the step
        self._matrix = np.zeros((n, n), order="F")  # df/dx
        self._in_time = np.zeros(n)  # ∂f/∂t
        self._right, self._other = np.zeros(n), np.zeros(n)
        self._changes = [np.zeros(n) for _ in NODES]
        self._polynomial: tuple[Floats, ...] = ()

    def attempt(self, start: StepStart, h: float) -> bool:
        if not self._linearized and not self._linearize(start, h):
            return False
        lu = PartialPivotLu(1.0 / (DIAGONAL * h) * np.eye(len(self.x)) - self._matrix)
        if not lu.regular:
            return False
        self.x[:], self._right[:] = start.x, start.slopes
        for stage in range(len(NODES)):
            if stage > 0:
                self.x[:] = start.x + self._sum(WEIGHTS[stage])
                if not self._evaluation.slopes(start.t + NODES[stage] * h, self.x, self._right):
                    return False
                self._right += self._sum(COUPLINGS[stage]) / h
            self._right += h * TIME_WEIGHTS[stage] * self._in_time
            self._changes[stage] = lu.solve(self._right)
        self.error[:] = self._changes[-1]
        self.x += self.error
        return True

    def slopes_at_end(self, t: float, found: Floats) -> bool:
        return self._evaluation.slopes(t, self.x, found)

    def prepare(self, start: StepStart) -> None:
        self._polynomial = (start.x.copy(), self.x.copy(), *map(self._sum, DENSE_WEIGHTS))

    def interpolate(self, part: float, x: Floats) -> None:
        begin, end, first, second, third = self._polynomial
        left = 1.0 - part
        x[:] = left * begin + part * (end + left * (first + part * (second + part * third)))

    def leave_start(self) -> None:
        self._linearized = False

    def _sum(self, weights: Sequence[float]) -> Floats:
        total = np.zeros(len(self.x))
        for weight, change in zip(weights, self._changes, strict=False):
            total += weight * change
        return total

    def _linearize(self, start: StepStart, h: float) -> bool:
        evaluation = self._evaluation
        evaluation.counts["jacobians"] += 1
        if evaluation.has_jacobian:
            done = evaluation.jacobian(start.t, start.x, self._matrix)
        else:
            done = self._differences(start)
        self._linearized = done and self._time_derivative(start, h)
        return self._linearized

    def _differences(self, start: StepStart) -> bool:
        """Away from zero, or to the other side where f cannot be evaluated there."""
        point, found = self._right, self._other
        for j in range(len(self.x)):
            point[:] = start.x
            step = _RELATIVE_DIFFERENCE * max(abs(start.x[j]), start.nominal[j])
            point[j] = start.x[j] + step
            if not self._evaluation.slopes(start.t, point, found):
                point[j] = start.x[j] - step
                if not self._evaluation.slopes(start.t, point, found):
                    return False
            self._matrix[:, j] = (found - start.slopes) / (point[j] - start.x[j])
        return bool(np.isfinite(self._matrix).all())

    def _time_derivative(self, start: StepStart, h: float) -> bool:
        """From f at two later times within the step, by differences of the times that f was asked for. Where f has the
        same values at the first of them, it does not depend on time. Where it is noise over such times, it is not over
        the whole step.
        """
        now = self._evaluation.absolute(start.t)
        step = min(max(_TIME_DIFFERENCE * h, _LEAST_TIME_DIFFERENCE * abs(now)), 0.5 * h)
        self._in_time[:] = 0.0
        if not self._evaluation.slopes(start.t + step, start.x, self._other):
            return False
        if np.array_equal(self._other, start.slopes):
            return True
        if not self._second_time(start, step):
            return False
        if step < 0.5 * h and self._noise_in_time(start, step):
            step = 0.5 * h
            if not self._evaluation.slopes(start.t + step, start.x, self._other) or not self._second_time(start, step):
                return False
        first, second = self._times(start, step)
        if not 0.0 < first < second:
            return True
        near, far, span = second / first, first / second, second - first
        self._in_time[:] = (near * (self._other - start.slopes) - far * (self._right - start.slopes)) / span
        return bool(np.isfinite(self._in_time).all())

    def _second_time(self, start: StepStart, step: float) -> bool:
        return self._evaluation.slopes(start.t + 2.0 * step, start.x, self._right)

    def _times(self, start: StepStart, step: float) -> tuple[float, float]:
        """Distances of both times [s]."""
        absolute = self._evaluation.absolute
        now = absolute(start.t)
        return absolute(start.t + step) - now, absolute(start.t + 2.0 * step) - now

    def _noise_in_time(self, start: StepStart, step: float) -> bool:
        """True if the changes of f do not lie on a line."""
        first, second = self._times(start, step)
        near, far = second * (self._other - start.slopes), first * (self._right - start.slopes)
        allowed = _NOISE * np.maximum(np.abs(near), np.abs(far)) + _ROUNDING * second * np.abs(start.slopes)
        return bool(np.any(np.abs(near - far) > allowed))
