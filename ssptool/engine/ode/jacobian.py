"""Jacobian df/dx of an ODE, and the partial derivatives of its FMUs, by columns or by rows.

CVODE's own differences are not used: their increments shrink with the step size, far below the accuracy to which
algebraic loops are solved, and with a Jacobian that is noise Newton's method stops where nothing is solved."""

import ctypes
from collections.abc import Mapping
from ctypes import c_int, c_size_t, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.iterated.jacobians import colours
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.ode import JacobianCalls, References
from ssptool.engine.masters.registry import ADJOINT
from ssptool.engine.ode.integrator import Integrator, Method
from ssptool.engine.ode.system import structure
from ssptool.engine.planning.plan import Plan
from ssptool.network.signal_graph import Stage

EXACT_STEP = 1.5e-8
"""√ε: balances truncation and rounding of a one-sided difference."""

LOOP_STEP = 1e-6
"""The same where f is accurate to 1e-12 only, because loops in it are solved to that."""

KEPT_FOR = 20
"""Number of integrator starts that may use one Jacobian."""


def kept_for(method: Method) -> int:
    """Number of integrator starts that may use one Jacobian; the accuracy of one-step formulas depends on it."""
    return KEPT_FOR if method.is_of_cvode else 0


def jacobian_calls(plan: Plan, size: int, integrator: Integrator) -> JacobianCalls:
    """Ways to get df/dx of a system with so many states, coloured where components declare what depends on what."""
    whole = structure(plan)
    # Only the components know the sizes of array states, so their elements are unknown here.
    scalar = whole.states == size
    directional = scalar and integrator.directional
    return JacobianCalls(
        directional=directional,
        relative_step=LOOP_STEP if any(loop.stage is Stage.CONTINUOUS for loop in plan.loops) else EXACT_STEP,
        kept_for=kept_for(integrator.method),
        pattern=whole.pattern() if scalar else None,
        parts=whole.parts if directional else (),
        wires=whole.wires if directional else np.empty((0, 0)),
    )


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
