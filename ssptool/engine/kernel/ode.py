"""Integrators of x' = f(t, x), as those who integrate see them, with the values that they return."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from ssptool.engine.kernel.calls import Floats

Slopes = Callable[[float, int, int], bool]
"""f: (t, address of x, address to write x' to) → False where it cannot be evaluated there."""
Indicators = Callable[[float, int, int], bool]
"""g: (t, address of x, address to write g to) → the same."""
Matrix = Callable[[float, int, Floats], bool]
"""df/dx: (t, address of x, (n, n) to fill, column by column in memory) → the same."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Effort of an integration, all restarts together."""

    steps: int = 0
    evaluations: int = 0
    error_test_failures: int = 0
    convergence_failures: int = 0
    jacobians: int = 0
    root_evaluations: int = 0

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            self.steps + other.steps,
            self.evaluations + other.evaluations,
            self.error_test_failures + other.error_test_failures,
            self.convergence_failures + other.convergence_failures,
            self.jacobians + other.jacobians,
            self.root_evaluations + other.root_evaluations,
        )


@dataclass(frozen=True, slots=True)
class Arrival:
    """End of one internal step: `t` [s]; `roots` are the indices of the elements of g that changed sign there."""

    t: float
    roots: tuple[int, ...] = ()


class IntegrationFailed(Exception):
    """An integrator cannot go on from `t` [s], for a `reason` in words."""

    def __init__(self, t: float, reason: str) -> None:
        super().__init__(reason)
        self.t = t
        self.reason = reason


class OdeSolver(Protocol):
    """An integrator of x' = f(t, x), with roots of g(t, x) on the way.

    Inside, time is counted from the last start, so that its steps and roots have all their digits however late it is;
    f, g and the Jacobian are asked for at absolute times. An exception raised in one of them comes out of `reach`.
    """

    @property
    def x(self) -> Floats:
        """The state vector (n,) itself."""
        ...

    @property
    def atol(self) -> Floats:
        """The absolute tolerances (n,) themselves, which a start reads."""
        ...

    @property
    def between(self) -> Floats:
        """States (n,) of the last interpolation."""
        ...

    def start(self, t: float, first_step: float = 0.0) -> None:
        """Start from t [s] and the present `x`, with the present `atol`, without history. The first step has the given
        size, or if that is 0 an estimated one.
        """
        ...

    def reach(self, limit: float, *, step_by_step: bool = True) -> Arrival:
        """One internal step towards `limit` [s], never past it; shorter where a root is found, and then to just behind
        that.

        If it need not be `step_by_step`, as many as lead there, up to some hundreds.

        Raises
        ------
        IntegrationFailed
        """
        ...

    @property
    def time(self) -> float:
        """Present time [s]."""
        ...

    @property
    def elapsed(self) -> float:
        """Since the last start [s]."""
        ...

    def limit_step(self, h: float) -> None:
        """No internal step longer than h [s] from now on; inf: no limit."""
        ...

    @property
    def first_step(self) -> float:
        """Size of the first step since the last start [s]; 0 where a step since then was too large at first."""
        ...

    @property
    def has_moved(self) -> bool:
        """True if there was a step since the last start."""
        ...

    def interpolate(self, t: float) -> None:
        """Fill `between` (n,) with x at a time t [s] within the last step."""
        ...

    @property
    def effort(self) -> Effort: ...

    def close(self) -> None:
        """Free everything; may be called again. Afterwards only `effort` is available."""
        ...


class SolverKind(IntEnum):
    """One-step formulas of the kernel: explicit ones, and linearly implicit ones for stiff systems."""

    DORMAND_PRINCE = 0
    ROSENBROCK = 1
