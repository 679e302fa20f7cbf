"""Input and output of loop solvers, and the iteration that fixed-point methods share."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssptool.errors import counted

Floats: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Floats], Floats]
"""g: (m,) → (m,). A point that a component rejects, or cannot be evaluated at, gives nan."""

Watch: TypeAlias = Callable[[str, int, Floats, Floats], None]
"""Told of every iterate: (solver, its number in the order of that solver, x, g(x) − x)."""


def unwatched(_solver: str, _iteration: int, _x: Floats, _residual: Floats) -> None:
    """Default observer of iterates: does nothing."""


class Status(StrEnum):
    """Status of a loop solver at its end."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "iteration limit reached"
    DIVERGED = "diverged"
    STALLED = "no step reduces the residual"
    SINGULAR = "singular Jacobian"
    INCONSISTENT = "its equations contradict each other"
    UNDETERMINED = "its equations do not determine its unknowns"
    SWITCHING = "its discrete signals do not settle"
    NONFINITE = "a component returned nan or inf, or rejected the values it was given"

    @property
    def advice(self) -> str:
        """Advice to the user; empty if converged."""
        return _ADVICE[self]


_ADVICE = {
    Status.CONVERGED: "",
    Status.MAX_ITERATIONS: "give start values closer to the solution (--set), or try another solver (--init newton, "
    "anderson or homotopy)",
    Status.DIVERGED: "the loop gain is 1 or more: try --init newton",
    Status.STALLED: "give start values closer to the solution, or check the min and max of the variables",
    Status.SINGULAR: "the equations of the loop contradict or repeat each other here: check for "
    "gains of exactly 1, or give other start values",
    Status.INCONSISTENT: "the loop has no solution near the best point: check for a gain of exactly 1 around the "
    "loop, or give other start values",
    Status.UNDETERMINED: "the loop has infinitely many solutions: check for a gain of exactly 1 around the loop, or "
    "for components that only pass on each other's values",
    Status.SWITCHING: "break the loop with a component that delays a discrete signal by a step, or give other start "
    "values",
    Status.NONFINITE: "give start values for the loop's signals at which the components can be evaluated",
}


@dataclass(frozen=True, slots=True)
class Convergence:
    """Converged when |g(x) − x| ≤ atol + rtol·max(|x|, nominal) in every element."""

    rtol: float = 1e-12
    atol: float = 0.0

    def __post_init__(self) -> None:
        if not (self.rtol >= 0 and self.atol >= 0 and self.rtol + self.atol > 0):
            raise ValueError(
                f"tolerances must not be negative and not both 0, found rtol {self.rtol}, atol {self.atol}"
            )

    def allowed(self, x: Floats, nominal: Floats) -> Floats:
        """The largest difference of each element that passes, in the units of the signals; all (m,)."""
        return self.atol + self.rtol * np.maximum(np.abs(x), nominal)

    def reached(self, difference: Floats, x: Floats, nominal: Floats) -> bool:
        """True if `difference` is small at `x`; all (m,), in the units of the signals."""
        return bool((np.abs(difference) <= self.allowed(x, nominal)).all())


class Domain(NamedTuple):
    """Domain of the unknowns: nominal, minimum and maximum values, each (m,)."""

    nominal: Floats
    minimum: Floats
    maximum: Floats

    @classmethod
    def of_size(cls, size: int) -> "Domain":
        """Unknowns of nominal value 1 and without bounds."""
        return cls(np.ones(size), np.full(size, -np.inf), np.full(size, np.inf))

    def clip(self, x: Floats) -> Floats:
        return np.clip(x, self.minimum, self.maximum)


@dataclass(frozen=True, slots=True)
class Solution:
    """The best point found and how it was reached.

    Attributes
    ----------
    x : (m,)
        The solution; where `status` is not CONVERGED, the iterate with the smallest residual.
    residual : (m,)
        g(x) − x at that point, in the units of the signals.
    iterations
        Points at which the residual was evaluated and judged; evaluations for a Jacobian not counted.
    residual_norm
        Largest |residual| / nominal.
    history
        `residual_norm` of every iterate, in order.
    solver
        Name of the method that gave the answer.
    """

    x: Floats
    status: Status
    iterations: int
    residual_norm: float
    residual: Floats
    history: tuple[float, ...]
    solver: str

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

    def unwrap(self) -> Floats:
        """The solution.

        Raises
        ------
        LoopError
            The loop has no solution that the solver finds.
        """
        if not self.converged:
            raise LoopError(self)
        return self.x


class LoopError(Exception):
    """An algebraic loop has not been solved."""

    def __init__(self, solution: Solution) -> None:
        status = solution.status
        super().__init__(
            f"algebraic loop not solved by {solution.solver}: {status} "
            f"after {counted(solution.iterations, 'iteration')}, "
            f"scaled residual {solution.residual_norm:.3g}; {status.advice}"
        )
        self.solution = solution


class LoopSolver(Protocol):
    """A method for x = g(x)."""

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        """Iterate from `x0` (m,) until converged or hopeless."""
        ...


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
