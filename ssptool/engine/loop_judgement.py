"""Whether equations of an algebraic loop leave their solution open, and why there is none."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ssptool.engine import loops
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.loops.solution import Domain, Solution, Status
from ssptool.network.signals import Signal

_FLATNESS = 1e-8
"""Change of the residual over that of the unknowns, both in nominal values, which is as good as none."""


def judged(
    solution: Solution,
    jacobian: tuple[Floats, float],
    g: Callable[[Floats], Floats],
    domain: Domain,
    torn: Sequence[Signal],
) -> tuple[Solution, str]:
    """The solution of g(x) = x for the `torn` signals unless the equations leave it open, or why there is none.

    `jacobian` is that of g there, with how precise it is. Afterwards the components are at the solution.
    """
    matrix, precision = jacobian
    direction = loops.null_direction(matrix, precision) if np.all(np.isfinite(matrix)) else None
    if solution.converged:
        if direction is None or not _flat(g, domain, solution.x, direction):
            return solution, ""
        return replace(solution, status=Status.UNDETERMINED), _along(torn, direction)
    if direction is not None:
        return replace(solution, status=Status.INCONSISTENT), _along(torn, direction)
    return solution, _at_bounds(torn, domain, solution.x)


def _flat(g: Callable[[Floats], Floats], domain: Domain, x: Floats, direction: Floats) -> bool:
    """Whether the equations still hold some way along a direction, so that x is one of many solutions.

    At a double root, where the Jacobian is singular as well, they do not: the residual grows with the square of
    the distance.
    """
    size = 1e-3 * float(np.min(np.maximum(np.abs(x), domain.nominal) / np.maximum(np.abs(direction), 1e-12)))
    moved = domain.clip(x + size * direction)
    residual = g(moved) - moved
    g(x)
    distance = np.max(np.abs(moved - x) / domain.nominal)
    return bool(np.all(np.abs(residual) <= _FLATNESS * distance * domain.nominal))


def _along(torn: Sequence[Signal], direction: Floats) -> str:
    parts = [
        f"{signal} by {share:.3g}" for signal, share in zip(torn, direction.tolist(), strict=True) if abs(share) > 1e-6
    ]
    return f"changing {', '.join(parts)} changes the values that come back around the loop by just as much"


def _at_bounds(torn: Sequence[Signal], domain: Domain, x: Floats) -> str:
    reached = [
        f"{signal} is at {bound:g}, its {kind} or that of an input that it feeds"
        for kind, bounds in (("min", domain.minimum), ("max", domain.maximum))
        for signal, value, bound in zip(torn, x.tolist(), bounds.tolist(), strict=True)
        if value == bound
    ]
    return ", ".join(reached)
