"""The one iteration loop of all methods that propose the next point from points and values alone."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ssptool.engine.loops.solution import (
    Convergence,
    Domain,
    Floats,
    Function,
    Solution,
    Status,
    Watch,
    unwatched,
)

Proposal: TypeAlias = Callable[[Floats, Floats], Floats]
"""(x, g(x)) → next x, in nominal values (all about 1). It may remember the pairs it has seen."""

GROWTH_LIMIT = 1e6
"""An iteration whose residual has grown by this factor over its smallest one is called diverged."""

MAX_RETREATS = 20
"""Halvings of a step that leads to a point at which g cannot be evaluated."""


def iterate(
    g: Function,
    x0: Floats,
    domain: Domain,
    propose: Proposal,
    convergence: Convergence,
    max_iterations: int,
    name: str,
    watch: Watch = unwatched,
) -> Solution:
    """Evaluate, judge, propose; until converged, diverged, not finite, or out of iterations.

    From a point at which g cannot be evaluated it goes back halfway towards the last one at which it could.
    """
    nominal = domain.nominal
    x = good = domain.clip(np.array(x0, dtype=float))
    best, best_residual, best_norm = x, np.full_like(x, np.nan), np.inf
    history: list[float] = []
    status = Status.MAX_ITERATIONS
    retreats = 0
    for number in range(1, max_iterations + 1):
        value = g(x)
        residual = value - x
        watch(name, number, x, residual)
        norm = scaled_norm(residual, nominal)
        if not np.isfinite(norm):
            retreats += 1
            if not history or retreats > MAX_RETREATS:
                history.append(norm)
                status = Status.NONFINITE
                break
            x = good + (x - good) / 2
            continue
        retreats, good = 0, x
        history.append(norm)
        if norm <= best_norm:
            best, best_residual, best_norm = x, residual, norm
        if convergence.reached(residual, x, nominal):
            status = Status.CONVERGED
            best, best_residual, best_norm = x, residual, norm
            break
        if norm > GROWTH_LIMIT * best_norm:
            status = Status.DIVERGED
            break
        x = domain.clip(nominal * propose(x / nominal, value / nominal))
    if status is Status.MAX_ITERATIONS and _growing(history):
        status = Status.DIVERGED
    return Solution(best, status, len(history), best_norm, best_residual, tuple(history), name)


def scaled_norm(residual: Floats, nominal: Floats) -> float:
    """Largest |residual| / nominal; 0 for an empty loop, nan where a residual is."""
    return float(np.max(np.abs(residual) / nominal, initial=0.0))


def _growing(history: list[float]) -> bool:
    return len(history) > 1 and history[-1] > history[0]
