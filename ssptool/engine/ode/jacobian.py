"""Jacobian df/dx of an ODE, and the partial derivatives of its FMUs, by columns or by rows.

CVODE's own differences are not used: their increments shrink with the step size, far below the accuracy to which
algebraic loops are solved, and with a Jacobian that is noise Newton's method stops where nothing is solved."""

import ctypes
from collections.abc import Callable, Mapping
from ctypes import c_int, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.ode import JacobianCalls, OdePart, Pattern, References
from ssptool.engine.kernel.twin.dense import PartialPivotLu, times
from ssptool.engine.kernel.twin.jacobians import colours, contradicted, probe
from ssptool.engine.masters.registry import ADJOINT
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.ode.system import OdeSystem, structure
from ssptool.engine.planning.plan import Plan
from ssptool.fmu.instance import FmiError
from ssptool.fmu.model_exchange import ContinuousModel
from ssptool.network.dependencies import Stage

EXACT_STEP = 1.5e-8
"""√ε: balances truncation and rounding of a one-sided difference."""

LOOP_STEP = 1e-6
"""The same where f is accurate to 1e-12 only, because loops in it are solved to that."""

COARSER = 1000
"""Times the step that is taken next where f is noise over a step."""

COARSEST = 1e-2
"""Relative step over which f is noise or not."""

ROUNDING = 100
"""Rounding of a derivative, in squares of the relative step."""

FAR = -1000.0
NEAR = (1.0, 4.0, 16.0)
"""Where differences are checked, in their steps."""

KEPT_FOR = 20
"""Number of integrator starts that may use one Jacobian."""


class OdeJacobian(Protocol):
    """A way to get df/dx."""

    @property
    def name(self) -> str: ...

    @property
    def evaluations(self) -> int:
        """Number of evaluations of f so far."""
        ...

    def __call__(self, t: float, x: int, matrix: Floats) -> bool:
        """Fill (n, n) at (t, x), the latter by address; False where that cannot be done."""
        ...

    def forget(self) -> None:
        """Forget what was learned about f."""
        ...


class Differences:
    """One-sided differences of f, one evaluation per colour of its pattern (n, n; None: full).

    A difference that crosses a jump of f, of which no event indicator tells, is the jump divided by a tiny step; one of
    noise in f, as of a solver inside an FMU that stops early, is the noise divided by it. With either in the Jacobian
    any step of an integrator would seem converged, and its error small. So they must tell how f changes far to the
    other side, or else near to one side (f may be curved). Where they do not, the differences to both sides are
    calculated and the smaller ones taken, which do not cross a jump; where these do not either, f is noise over such
    steps, and greater ones are taken. At a border behind which f cannot be evaluated, the other side alone is left.

    `relative_step` is that of the larger of a state and its nominal value (n,).
    """

    name = "finite differences"

    def __init__(self, system: OdeSystem, nominal: Floats, pattern: Pattern | None, relative_step: float) -> None:
        self._system, self._nominal = system, nominal
        self._finest = self._step = relative_step
        self._pattern = np.ones((system.size, system.size), dtype=bool) if pattern is None else pattern
        self._colours = colours(self._pattern)
        self._moved, self._value, self._changed = (np.empty(system.size) for _ in range(3))
        self.evaluations = 0

    def forget(self) -> None:
        """Forget over which steps f is noise."""
        self._step = self._finest

    def __call__(self, t: float, x: int, matrix: Floats) -> bool:
        point = self._system.vector(x)
        if not self._slopes(t, x, self._value):
            return False
        if not self._to_one_side(t, point, self._steps(point), matrix):
            return self._to_one_side(t, point, -self._steps(point), matrix)
        while not self._told_far(t, point, matrix) and not self._told_near(t, point, matrix):
            other = np.empty_like(matrix)
            if self._to_one_side(t, point, -self._steps(point), other):
                np.copyto(matrix, other, where=np.abs(other) < np.abs(matrix))
            if self._step == COARSEST or self._told_near(t, point, matrix):
                break
            self._step = _coarser(self._step)
            if self._to_one_side(t, point, self._steps(point), other):
                matrix[:] = other
        return True

    def _steps(self, point: Floats) -> Floats:
        return self._step * self._sizes(point)

    def _sizes(self, point: Floats) -> Floats:
        return np.maximum(np.abs(point), self._nominal)

    def _to_one_side(self, t: float, point: Floats, steps: Floats, matrix: Floats) -> bool:
        matrix[:] = 0.0
        for columns in self._colours:
            self._moved[:] = point
            self._moved[columns] += steps[columns]
            if not self._slopes(t, self._moved.ctypes.data, self._changed):
                return False
            change = self._changed - self._value
            for column in columns:
                rows = self._pattern[:, column]
                # The step after rounding, not the intended one.
                matrix[rows, column] = change[rows] / (self._moved[column] - point[column])
        return True

    def _told_far(self, t: float, point: Floats, matrix: Floats) -> bool:
        return self._step < COARSEST and self._tells(t, point, FAR * self._steps(point), matrix)

    def _told_near(self, t: float, point: Floats, matrix: Floats) -> bool:
        steps = self._steps(point)
        return any(all(self._tells(t, point, side * far * steps, matrix) for far in NEAR) for side in (1.0, -1.0))

    def fits(self, t: float, x: int, matrix: Floats) -> bool:
        """True if f changes as a matrix at (t, x) tells, along one direction, or cannot be evaluated.

        Where f is noise over a step, a greater one shows it.
        """
        point = self._system.vector(x)
        if not self._slopes(t, x, self._value):
            return True
        relative = self._step
        while not self._tells(t, point, probe(relative * self._sizes(point)), matrix):
            if relative == COARSEST:
                return False
            relative = _coarser(relative)
        return True

    def _tells(self, t: float, point: Floats, steps: Floats, matrix: Floats) -> bool:
        """True if f changes from its value as the matrix predicts, or cannot be evaluated there."""
        self._moved[:] = point + steps
        if not self._slopes(t, self._moved.ctypes.data, self._changed):
            return True
        rounding = ROUNDING * self._finest * self._finest * np.abs(self._value)
        return not contradicted(matrix, self._moved - point, self._changed - self._value, rounding)

    def _slopes(self, t: float, x: int, found: Floats) -> bool:
        self.evaluations += 1
        return self._system.slopes(t, x, found.ctypes.data)


def _coarser(relative_step: float) -> float:
    return min(COARSER * relative_step, COARSEST)


@dataclass(frozen=True, slots=True)
class _Seeded:
    """A part with one seed (l,) per colour of its columns."""

    model: ContinuousModel
    part: OdePart
    seeds: tuple[tuple[list[int], Floats], ...]
    sensitivity: Floats


class Directional:
    """Jacobian from directional derivatives of the components: with x' = A x + B u, y = C x + D u and u = W y

        df/dx = A + B (1 − W D)⁻¹ W C,

    which is exact with algebraic loops too.
    """

    name = "directional derivatives"
    evaluations = 0

    def __init__(self, system: OdeSystem, calls: JacobianCalls) -> None:
        self._system, self._wires = system, calls.wires
        self._parts = tuple(
            _Seeded(model, part, tuple(_seeds(part.pattern)), np.empty(part.rows.size))
            for model, part in zip(system.models, calls.parts, strict=True)
        )
        inputs, outputs = calls.wires.shape
        self._whole = np.zeros((system.size + outputs, system.size + inputs))

    def __call__(self, t: float, x: int, matrix: Floats) -> bool:
        if not self._system.reach(t, x):
            return False
        try:
            for seeded in self._parts:
                self._fill(seeded)
        except FmiError as error:
            return self._system.avoid(error, t)
        return self._through_wires(matrix) and bool(np.isfinite(matrix).all())

    def _through_wires(self, matrix: Floats) -> bool:
        n, wires = self._system.size, self._wires
        by_states, by_inputs = self._whole[:n, :n], self._whole[:n, n:]
        matrix[:] = by_states
        if not wires.size:
            return True
        loops = np.eye(len(wires))
        for j in range(len(wires)):
            loops[:, j] -= times(wires, self._whole[n:, n + j])
        lu = PartialPivotLu(loops)
        if not lu.regular:
            return False
        for j in range(n):
            matrix[:, j] += times(by_inputs, lu.solve(times(wires, self._whole[n:, j])))
        return True

    def _fill(self, seeded: _Seeded) -> None:
        part, sensitivity = seeded.part, seeded.sensitivity
        unknowns = (part.unknowns.ctypes.data, part.unknowns.size)
        knowns = (part.knowns.ctypes.data, part.knowns.size)
        for columns, seed in seeded.seeds if part.unknowns.size else ():
            seeded.model.directional_derivative(
                unknowns, knowns, (seed.ctypes.data, seed.size), (sensitivity.ctypes.data, sensitivity.size)
            )
            for column in columns:
                rows = part.pattern[:, column]
                self._whole[part.rows[rows], part.columns[column]] = sensitivity[rows]


class Checked:
    """Directional derivatives that are checked by two evaluations along one direction each time. After the first
    contradiction, `on_contradiction` is called and differences replace them.

    With a Jacobian that is too large, an integrator would report convergence and continue with wrong states.
    """

    def __init__(self, exact: Directional, differences: Differences, on_contradiction: Callable[[], None]) -> None:
        self._exact, self._differences, self._doubt = exact, differences, on_contradiction
        self._trusted = True

    @property
    def name(self) -> str:
        return self._exact.name if self._trusted else self._differences.name

    @property
    def evaluations(self) -> int:
        return self._differences.evaluations

    def forget(self) -> None:
        self._differences.forget()

    def __call__(self, t: float, x: int, matrix: Floats) -> bool:
        if self._trusted and self._exact(t, x, matrix) and self._differences.fits(t, x, matrix):
            return True
        if not self._differences(t, x, matrix):
            return False
        if self._trusted:
            self._trusted = False
            self._doubt()
        return True


class ReusedJacobian:
    """Another Jacobian, kept over restarts of an integrator that only follow changes of its inputs.

    If the integrator asks again before the next restart, the kept Jacobian was not good enough. So what changes is
    effort, not accuracy.
    """

    def __init__(self, base: OdeJacobian, kept_for: int = KEPT_FOR) -> None:
        self._base, self._kept_for = base, kept_for
        self._kept: Floats | None = None
        self._asked = True  # for the one that is kept, since the last start
        self._times = 0

    @property
    def name(self) -> str:
        return self._base.name

    @property
    def evaluations(self) -> int:
        return self._base.evaluations

    def start(self) -> None:
        """Count a restart of the integrator."""
        self._asked = False

    def forget(self) -> None:
        self._kept = None
        self._base.forget()

    def __call__(self, t: float, x: int, matrix: Floats) -> bool:
        if self._kept is not None and not self._asked and self._times < self._kept_for:
            matrix[:] = self._kept
            self._asked = True
            self._times += 1
            return True
        done = self._base(t, x, matrix)
        self._kept, self._asked, self._times = matrix.copy() if done else None, True, 0
        return done


def _nothing() -> None:
    pass


def jacobian_calls(plan: Plan, size: int, integrator: Integrator) -> JacobianCalls:
    """Ways to get df/dx of a system with so many states, coloured where components declare what depends on what."""
    whole = structure(plan)
    # Only the components know the sizes of array states, so their elements are unknown here.
    scalar = whole.states == size
    directional = scalar and integrator.directional
    return JacobianCalls(
        directional=directional,
        relative_step=LOOP_STEP if any(loop.stage is Stage.CONTINUOUS for loop in plan.loops) else EXACT_STEP,
        # The accuracy of one-step formulas depends on it.
        kept_for=KEPT_FOR if integrator.method.is_of_cvode else 0,
        pattern=whole.pattern() if scalar else None,
        parts=whole.parts if directional else (),
        wires=whole.wires if directional else np.empty((0, 0)),
    )


def make_jacobian(
    system: OdeSystem, calls: JacobianCalls, nominal: Floats, on_contradiction: Callable[[], None] = _nothing
) -> ReusedJacobian:
    """df/dx in one of these ways; `nominal` (n,) may change from call to call.

    `on_contradiction` is called if directional derivatives turn out to be wrong.
    """
    differences = Differences(system, nominal, calls.pattern, calls.relative_step)
    if calls.directional:
        return ReusedJacobian(Checked(Directional(system, calls), differences, on_contradiction), calls.kept_for)
    return ReusedJacobian(differences, calls.kept_for)


def _seeds(pattern: Pattern) -> list[tuple[list[int], Floats]]:
    seeds = []
    for columns in colours(pattern):
        seed = np.zeros(pattern.shape[1])
        seed[columns] = 1.0
        seeds.append((columns, seed))
    return seeds


FORWARD = {2: "fmi2GetDirectionalDerivative", 3: "fmi3GetDirectionalDerivative"}

_WARNING = 1
_LISTS = (c_void_p, c_size_t)
_ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    FORWARD[2]: (c_void_p, *_LISTS * 2, c_void_p, c_void_p),
    FORWARD[3]: (c_void_p, *_LISTS * 4),
    ADJOINT: (c_void_p, *_LISTS * 4),
}


class PartialDerivatives:
    """∂unknowns/∂knowns (k, l) of one instance, at the point where it is.

    A seed on the knowns gives a combination of columns (directional derivatives), one on the unknowns a combination of
    rows (adjoint derivatives). Columns that share no row of the pattern are asked for together, and rows likewise;
    the way that takes fewer calls is taken. An FMU that has refused once is not asked again.

    References
    ----------
    FMI 2.0.4 §2.1.9; FMI 3.0 §2.2.11. Curtis, Powell, Reid 1974, "On the estimation of sparse Jacobian matrices".
    """

    def __init__(
        self,
        functions: Mapping[str, int],
        component: int,
        unknowns: References,
        knowns: References,
        pattern: NDArray[np.bool_],
        major: int,
        *,
        forward: bool,
        adjoint: bool,
    ) -> None:
        self._component = component
        self._unknowns, self._knowns, self._pattern = unknowns, knowns, pattern
        self._major = major
        self._refused = False
        columns = colours(pattern) if forward else []
        rows = colours(np.ascontiguousarray(pattern.T)) if adjoint else []
        self.by_rows = not forward or (adjoint and len(rows) < len(columns))
        self._groups = rows if self.by_rows else columns
        name = ADJOINT if self.by_rows else FORWARD[major]
        self._function = ctypes.CFUNCTYPE(c_int, *_ARGUMENTS[name])(functions[name])

    def __call__(self) -> Floats | None:
        """(k, l); None where the FMU refuses, or answers nothing finite."""
        matrix = np.zeros(self._pattern.shape)
        if not matrix.size:
            return matrix
        if self._refused:
            return None
        for group in self._groups:
            seed = np.zeros(len(self._unknowns) if self.by_rows else len(self._knowns))
            seed[group] = 1.0
            answer = np.zeros(len(self._knowns) if self.by_rows else len(self._unknowns))
            self._refused = self._ask(seed, answer) > _WARNING
            if self._refused or not np.isfinite(answer).all():
                return None
            for one in group:
                if self.by_rows:
                    matrix[one] = np.where(self._pattern[one], answer, 0.0)
                else:
                    matrix[:, one] = np.where(self._pattern[:, one], answer, 0.0)
        return matrix

    def _ask(self, seed: Floats, answer: Floats) -> int:
        unknowns = (self._unknowns.ctypes.data, self._unknowns.size)
        knowns = (self._knowns.ctypes.data, self._knowns.size)
        vectors: tuple[int, ...] = (seed.ctypes.data, answer.ctypes.data)
        if self._major == 3:
            vectors = (seed.ctypes.data, seed.size, answer.ctypes.data, answer.size)
        return int(self._function(self._component, *unknowns, *knowns, *vectors))
