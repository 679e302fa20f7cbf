"""Integrators of x' = f(t, x): options, and the values that they return."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.failure import Failure
from ssptool.engine.kernel.calls import Outcome
from ssptool.engine.kernel.solutions import SystemRefusal

References = NDArray[np.uint32]
Pattern = NDArray[np.bool_]


Addresses = Callable[[str], int]
"""Addresses of functions by name."""


@dataclass(frozen=True, slots=True)
class OdePart:
    """The share of one component in A, B, C and D, where x' = A x + B u, y = C x + D u, u = W y.

    Attributes
    ----------
    unknowns, knowns
        Unknowns: value references of its state derivatives, then of its outputs that are wired to other components.
        Knowns: those of its states, then of its inputs that are wired to other components. An array has one reference;
        if one element is wired, all are included.
    rows : (k,), columns : (l,)
        Their indices in [x', y] and [x, u] of the whole system.
    pattern : (k, l)
        Declared dependency of unknowns on knowns; without a declaration an unknown depends on all knowns.
    """

    unknowns: References
    knowns: References
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    pattern: Pattern


Explain = Callable[[Outcome, float], Failure]
"""Reason of a failure, from an outcome of a kernel at a time [s]."""


ExplainRefusal = Callable[[SystemRefusal, float], Failure]
"""Reason of a failure, from an FMI function that a component rejected at a time [s]."""


SampleAt = Callable[[float, float, float, float], Failure | None]
"""Write the values of functions at a time within the interval between two times into their columns. Returns the reason
of a failure if they have no value, in an evaluation at the last argument; all times in s.
"""


class IntegrationEvent(IntEnum):
    """Events of an integration, for remarks on a run."""

    RETREAT = 0
    WRONG_DERIVATIVES = 1
    WRONG_DERIVATIVES_IN_LOOP = 2
