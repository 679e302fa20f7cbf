"""Jacobian df/dx of an ODE, and the partial derivatives of its FMUs, by columns or by rows.

CVODE's own differences are not used: their increments shrink with the step size, far below the accuracy to which
algebraic loops are solved, and with a noisy Jacobian Newton's method stops at points that are not solutions.
"""

import numpy as np

from ssptool.engine.kernel.ode import JacobianCalls
from ssptool.engine.ode.integrator import Integrator, Method
from ssptool.engine.ode.structure import structure
from ssptool.engine.planning.plan import Plan
from ssptool.network.signal_graph import Stage

EXACT_STEP = 1.5e-8
"""√ε: balances truncation and rounding of a one-sided difference."""

LOOP_STEP = 1e-6
"""The same for an f that is accurate to 1e-12 only, because it contains algebraic loops that are solved to that
accuracy.
"""

KEPT_FOR = 20
"""Number of integrator starts that may use one Jacobian."""


def kept_for(method: Method) -> int:
    """Number of integrator starts that may use one Jacobian; the accuracy of one-step formulas depends on it."""
    return KEPT_FOR if method.is_of_cvode else 0


def jacobian_calls(plan: Plan, size: int, integrator: Integrator) -> JacobianCalls:
    """Methods of computing df/dx of a system with this number of states; columns are coloured if components declare
    their dependencies.
    """
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
