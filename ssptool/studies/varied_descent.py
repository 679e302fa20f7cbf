"""Descent with derivatives from the variational equations, and few runs.

The equations give the cost, the violations of constraints and their derivatives at any point, by one integration. Only
where these are optimal is a run carried out; the difference of its values, which is the error of its coupling, is added
to all later ones, until constraints are met as closely as intended.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ssptool.engine.trace import Floats
from ssptool.studies.varied_fit import MOST_RUNS, NoVariation

TOLERANCE = 1e-9
"""Change of the cost, relative to that at the start, at which the descent ends."""

MOST_STEPS = 50

INTEGRATIONS = 40
"""Largest number of integrations of a descent, for each factor and one more. A descent that needs more has a cost
without continuous derivatives, and ends sooner without them.
"""

CRITICAL = 1e-4
"""Largest decrease of the cost in the unit cube by its derivatives, relative to the cost, at an optimum."""

FEASIBLE = 1e-6
"""Largest distance from constraints, in the unit cube, at an optimum."""

MET = 1e-8
"""Change of a violation that needs no further run."""

COUPLING = 1e-3
"""Largest difference between the cost of a run and that of the variational equations, relative to the cost: with a
larger one, the derivatives are those of another system.
"""


class CostAndViolations(NamedTuple):
    """A point: its cost and the violations (m,) of its constraints, at most 0 where they are met."""

    cost: float
    violations: Floats


class Slopes(NamedTuple):
    """A point without the error of the coupling, and derivatives by its coordinates: of the cost (n,), and of the
    violations (m, n).
    """

    judged: CostAndViolations
    of_cost: Floats
    of_violations: Floats


def most_integrations(factors: int) -> int:
    """Largest number of integrations of a descent with this number of factors."""
    return INTEGRATIONS * (factors + 1)


def descend(at: Callable[[Floats], CostAndViolations], slopes: Callable[[Floats], Slopes], start: Floats) -> int:
    """Descend from a point (n,) of the unit cube by sequential quadratic programming (Kraft 1988).

    Parameters
    ----------
    at
        Function: point → values of its run, which are kept.

    Returns
    -------
    int
        Number of integrations.

    Raises
    ------
    NoVariation
        There are no derivatives, a run fails, or the coupling changes the cost too much.
    """
    known: dict[bytes, Slopes] = {}
    most = most_integrations(len(start))

    def derived(u: Floats) -> Slopes:
        if u.tobytes() not in known:
            if len(known) >= most:
                raise NoVariation(f"there is no optimum after {most} integrations")
            known[u.tobytes()] = slopes(u)
        return known[u.tobytes()]

    u, error = start, np.zeros_like(derived(start).judged.violations)
    for _ in range(MOST_RUNS):
        u = _optimum(derived, u, error)
        (cost, violations), exact = at(u), derived(u).judged
        if not (np.isfinite(cost) and np.isfinite(violations).all()):
            raise NoVariation("the run at the optimum of the variational equations has no value")
        if abs(cost - exact.cost) > COUPLING * abs(exact.cost):
            raise NoVariation(f"the error of the coupling changes the cost by {abs(cost - exact.cost):.1g}")
        before, error = error, violations - exact.violations
        if np.abs(error - before).max(initial=0.0) <= MET:
            return len(known)
    raise NoVariation(f"constraints are not met after {MOST_RUNS} runs")


def _optimum(derived: Callable[[Floats], Slopes], start: Floats, error: Floats) -> Floats:
    """The optimum near a point, if this is added to the violations. Raises NoVariation."""
    optimize: Any = import_module("scipy.optimize")
    met = {
        "type": "ineq",
        "fun": lambda u: -(derived(u).judged.violations + error),
        "jac": lambda u: -derived(u).of_violations,
    }
    size = abs(derived(start).judged.cost) or 1.0
    found = optimize.minimize(
        lambda u: derived(u).judged.cost / size,
        start,
        jac=lambda u: derived(u).of_cost / size,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(start),
        constraints=met if len(error) else (),
        options={"ftol": TOLERANCE, "maxiter": MOST_STEPS},
    )
    inside: Floats = np.clip(found.x, 0.0, 1.0)
    if not (found.success or (found.status == _LINE_SEARCH and _is_optimal(derived(inside), inside, error))):
        raise NoVariation(f"the descent ended early ({found.message})")
    return inside


_LINE_SEARCH = 8
"""Status of a descent whose last line search failed: derivatives are wrong, or the optimum is as near as rounding."""


def _is_optimal(there: Slopes, u: Floats, error: Floats) -> bool:
    """True if the constraints are met, and no step in the unit cube that keeps them met reduces the cost to first order
    (Conn, Gould & Toint 2000, §12.1), within tolerances.
    """
    optimize: Any = import_module("scipy.optimize")
    violations, steepness = there.judged.violations + error, np.abs(there.of_violations).max(axis=1, initial=0.0)
    if (violations > FEASIBLE * steepness).any():
        return False
    best = optimize.linprog(
        there.of_cost,
        there.of_violations if len(error) else None,
        np.maximum(-violations, 0.0) if len(error) else None,
        bounds=np.stack((-u, 1.0 - u), axis=1),
    )
    return bool(best.status == 0 and -best.fun <= CRITICAL * abs(there.judged.cost))
