"""Integrators of x' = f(t, x), as those who integrate see them, with the values that they return."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.calls import Floats, Outcome
from ssptool.engine.kernel.stopped import Refused, Stopped

References = NDArray[np.uint32]
Pattern = NDArray[np.bool_]


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
