"""Integration of an ODE as data: its solver, and the computation of its Jacobian. Needed for model exchange only."""

from dataclasses import replace

import numpy as np

from ssptool.engine.kernel.ode import Pattern
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.ode.jacobian import jacobian_calls, kept_for
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import slot_sources
from ssptool.engine.run.frozen_variables import Json
from ssptool.engine.run.macro_steps import MacroSteps


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
        "kept_for": kept_for(integrator_of(plan).method),
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
    """Data for computing df/dx."""
    states = sum(len(one.description.state_derivatives) for one in plan.integrated)
    calls = jacobian_calls(plan, states, integrator)
    places = ((i, j, float(calls.wires[i, j])) for i, j in np.argwhere(calls.wires).tolist())
    return {
        "directional": calls.directional,
        "relative_step": calls.relative_step,
        "pattern": None if calls.pattern is None or not states else _pattern(calls.pattern),
        "parts": [
            {name: getattr(part, name).tolist() for name in ("unknowns", "knowns", "rows", "columns")}
            | {"pattern": _pattern(part.pattern)}
            for part in calls.parts
        ],
        "inputs": calls.wires.shape[0],
        "outputs": calls.wires.shape[1],
        "wires": list(places),
    }


def _pattern(pattern: Pattern) -> list[list[int]]:
    """Column numbers of each row."""
    return [np.flatnonzero(row).tolist() for row in pattern]
