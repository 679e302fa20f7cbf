"""The Jacobian of an algebraic loop of running FMUs."""

import math
from collections.abc import Callable, Iterable

import numpy as np

from ssptool.engine import loops
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.loops.solution import Domain
from ssptool.engine.plan import PlannedLoop

_PROBE = 1e-6
"""Relative step over which a Jacobian is checked; values are accurate to its square, where loops are inside loops."""

_WRONG_DERIVATIVES = (
    "directional derivatives of a component in an algebraic loop are wrong: differences have taken their place"
)


G = Callable[[Floats], Floats]
"""Guesses of the torn signals → their values."""


def jacobians(planned: PlannedLoop, product: G) -> "list[loops.Jacobian]":
    """Directional derivatives where all FMUs give them, and differences, should those be wrong or missing.

    `product` is that of the Jacobian with a vector, where the components are.
    """
    size = len(planned.torn)
    pattern = np.zeros((size, size), dtype=bool)
    for row, column in planned.pattern:
        pattern[row, column] = True
    # √ε balances truncation and rounding of a one-sided difference.
    differences = loops.FiniteDifferences(pattern, math.sqrt(planned.rounding))
    return [loops.Products(product), differences] if planned.directional else [differences]


def jacobian_at(
    x: Floats, g: G, domain: Domain, sources: "Iterable[loops.Jacobian]", remark: Callable[[str], None]
) -> tuple[Floats, float]:
    """At x, where the components are left; and how precise it is. Not at the torn slots' values: those are g(x),
    farther off than x. `remark` is told of a source that is wrong.
    """
    matrix, precision = np.full((len(x), len(x)), np.nan), np.inf
    for source in sources:
        matrix, precision = source.at(g, x, g(x), domain), source.precision
        fits = not isinstance(source, loops.Products) or _fits(matrix, x, g, domain)
        if not fits:
            remark(_WRONG_DERIVATIVES)
        g(x)
        if fits and np.all(np.isfinite(matrix)):
            break
    return matrix, precision


def _fits(matrix: Floats, x: Floats, g: G, domain: Domain) -> bool:
    """Whether the loop does beside x what a Jacobian says. Where it cannot be evaluated, that cannot be seen."""
    step = domain.clip(x + loops.probe(_PROBE * np.maximum(np.abs(x), domain.nominal))) - x
    value = g(x)
    noise = _PROBE**2 * np.maximum(np.abs(value), domain.nominal)
    return not loops.contradicted(matrix, step, g(x + step) - value, noise)
