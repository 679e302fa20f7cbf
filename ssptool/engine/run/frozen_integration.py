"""Integration of an ODE as data: its solver, and the computation of its Jacobian. Needed for model exchange only."""

from dataclasses import replace

import numpy as np

from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.ode.structure import columns_by_row, structure
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import slot_sources
from ssptool.engine.run.frozen_variables import Json
from ssptool.engine.run.macro_steps import MacroSteps
from ssptool.network.signal_graph import Stage

EXACT_STEP = 1.5e-8
"""√ε: balances truncation and rounding of a one-sided difference."""

LOOP_STEP = 1e-6
"""The same for an f that is accurate to 1e-12 only, because it contains algebraic loops that are solved to that
accuracy.
"""

KEPT_FOR = 20
"""Number of integrator starts for which CVODE may use one Jacobian; the accuracy of one-step formulas depends on it."""


def integrator_of(plan: Plan) -> Integrator:
    """The integrator of the ODE of a plan."""
    integrator = plan.master.integrator if isinstance(plan.master, MacroSteps) else plan.master
    assert isinstance(integrator, Integrator)  # there is an ODE to integrate
    return integrator


def frozen_integration(plan: Plan) -> Json:
    """The integrator of a run; if it is CVODE, with the solver of the kernel that replaces it when CVODE is missing."""
    return _integration(plan, integrator_of(plan))


def exported_integration(plan: Plan) -> Json:
    """The integrator of an exported system, without CVODE."""
    integrator = integrator_of(plan)
    return _integration(plan, replace(integrator, method=integrator.method.of_kernel))


def integration_of_run(plan: Plan) -> Json:
    """Facts about the ODE of a run that exported systems do not need."""
    of_ode, of_points = plan.slots_of_ode, plan.slots_of_points
    return {
        "slopes": [[slope.name for slope in one.description.state_derivatives] for one in plan.integrated],
        "kept_for": KEPT_FOR if integrator_of(plan).method.is_of_cvode else 0,
        "knots": sorted({time for one in slot_sources(plan) for time in one.time_signal.knots}),
        # Columns of rows, after the time.
        "of_ode": [place for place, slot in enumerate(plan.recorded) if slot in of_ode],
        "of_points": [place for place, slot in enumerate(plan.recorded) if slot in of_points],
    }


def _integration(plan: Plan, integrator: Integrator) -> Json:
    return {
        "rtol": integrator.rtol,
        "solver": integrator.method.of_kernel.setting,
        "retreats": integrator.retreats,
        **({"jacobian": _jacobian(plan, integrator)} if integrator.method.is_implicit else {}),
    }


def _jacobian(plan: Plan, integrator: Integrator) -> Json:
    """Data for computing df/dx, which has coloured columns if components declare their dependencies.

    CVODE's own differences are not used: their increments shrink with the step size, far below the accuracy to which
    algebraic loops are solved, and with a noisy Jacobian Newton's method stops at points that are not solutions.
    """
    whole = structure(plan)
    wires = whole.wires if integrator.directional else np.empty((0, 0))
    return {
        "directional": integrator.directional,
        "relative_step": LOOP_STEP if any(loop.stage is Stage.CONTINUOUS for loop in plan.loops) else EXACT_STEP,
        "pattern": columns_by_row(whole.pattern()) if whole.states else None,
        "parts": [
            {name: getattr(part, name).tolist() for name in ("unknowns", "knowns", "rows", "columns")}
            | {"pattern": columns_by_row(part.pattern)}
            for part in (whole.parts if integrator.directional else ())
        ],
        "inputs": wires.shape[0],
        "outputs": wires.shape[1],
        "wires": [(i, j, float(wires[i, j])) for i, j in np.argwhere(wires).tolist()],
    }
