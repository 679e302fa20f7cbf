"""Integrators of x' = f(t, x), as those who integrate see them, with the values that they return."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.event_calls import Refused, Stopped
from ssptool.engine.kernel.interface import Outcome

References = NDArray[np.uint32]
Pattern = NDArray[np.bool_]
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


Addresses = Callable[[str], int]
"""Addresses of functions by name."""


class SolverKind(IntEnum):
    """Formulas: one-step ones of the kernel, explicit and linearly implicit for stiff systems; and linear multistep
    ones of CVODE.
    """

    DORMAND_PRINCE = 0
    ROSENBROCK = 1
    ADAMS = 2
    BDF = 3


@dataclass(frozen=True, slots=True)
class OdePart:
    """The share of one component in A, B, C and D, where x' = A x + B u, y = C x + D u, u = W y.

    Attributes
    ----------
    unknowns, knowns
        Value references of its state derivatives, then of its outputs that are wired to other components; and of its
        states, then of its inputs that are wired to other components. An array has one, and all its elements belong
        to it if one is wired.
    rows : (k,), columns : (l,)
        Their places in [x', y] and [x, u] of the whole system.
    pattern : (k, l)
        Dependency of unknowns on knowns that the FMU declares; without a declaration an unknown depends on all.
    """

    unknowns: References
    knowns: References
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class JacobianCalls:
    """Ways to get df/dx.

    Attributes
    ----------
    directional
        By directional derivatives of the components, which are checked; else by differences.
    relative_step
        Step of differences, relative to the larger of a state and its nominal value.
    kept_for
        Number of integrator starts that may use one Jacobian.
    pattern : (n, n)
        Which derivative may depend on which state; None: each on each.
    parts
        One per component, where `directional`.
    wires : (m, p)
        W, the factors of the wires between components.
    """

    directional: bool
    relative_step: float
    kept_for: int
    pattern: Pattern | None
    parts: Sequence[OdePart]
    wires: Floats


Explain = Callable[[Outcome, float], Stopped]
"""Reason of an end, from an outcome of a kernel at a time [s]."""


ExplainRefusal = Callable[[Refused, float], Stopped]
"""Reason of an end, from a function that a component has refused at a time [s]."""


SampleAt = Callable[[float, float, float, float], Stopped | None]
"""Puts values of functions at a time, inside of the segment between two times, into their columns; the reason of an end
if they have none, in an evaluation at the last time; all in s.
"""


class IntegrationEvent(IntEnum):
    """Events of an integration that remarks on a run are made of."""

    RETREAT = 0
    WRONG_DERIVATIVES = 1
    WRONG_DERIVATIVES_IN_LOOP = 2


class OdeRows(NamedTuple):
    """Rows of a system that is nothing but an ODE.

    Attributes
    ----------
    rows
        Number of rows filled.
    points
        True for each of them that is one of a communication point.
    finished, waiting
        The stop time is reached; rows that were made had no room.
    events, evaluations
        Numbers of events, and of evaluations of f, since the last rows.
    failure
        Reason of an end, after all rows.
    t : [s]
        Time that the integration has reached.
    """

    rows: int
    points: Sequence[bool]
    finished: bool
    waiting: bool
    events: int
    evaluations: int
    failure: Stopped | Refused | None
    t: float
