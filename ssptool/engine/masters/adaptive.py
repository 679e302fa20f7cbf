"""Adaptive macro steps: each is done as one step and as two half steps; their difference is the error estimate."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.calls import Op
from ssptool.engine.masters.master import CouplingMaster
from ssptool.engine.masters.program import mid_step
from ssptool.engine.masters.protocols import InputApproximation, Participants

_RECOVERABLE = (Ending.COUPLING, Ending.LOOP, Ending.NONFINITE)
"""Failures that a smaller step may avoid."""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Macro steps of a size at which the estimated errors of all of them, in every real signal, add up to at most
    `tolerance` · (size of the signal), and at which signals of other types do not change, except in short steps.

    From a saved state, two steps of size h are compared with one of 2 h. The two steps are kept; their error is `share`
    times the difference. For a master of order `order` it is proportional to h^(order + 1). Both ends are communication
    points of the trace. Each pair may have a share of the allowed error, in proportion to its length: so errors add up
    to the allowed error if nothing damps them.

    The size of a signal is the range of its values. Trial steps with low accuracy determine it in advance, and are then
    undone.

    A pair of steps in which a Boolean, an integer, an enumeration or a text changes, or right after which it does, or
    in which a real signal jumps, is halved until the error in the time of the change is small compared with the allowed
    error of a pair.

    `largest` is the largest step size, `first` the size of the first step [s].

    References
    ----------
    Schierz, Arnold, Clauß 2012, "Co-simulation with communication step size control in an FMI compatible master
    algorithm"; Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", §II.4; Gustafsson, Lundh,
    Söderlind 1988, "A PI stepsize control for the numerical solution of ordinary differential equations".
    """

    base: CouplingMaster
    tolerance: float = 1e-4
    largest: float = math.inf
    first: float = 0.0
    order: int = 1
    share: float = 1.0
    ways: float = 4.0
    safety: float = 0.9
    integral: float = 0.6
    proportional: float = 0.2
    least_factor: float = 0.2
    largest_factor: float = 1.9
    smallest: float = 1e-12

    @property
    def name(self) -> str:
        return f"{self.base.name}, adaptive steps"

    @property
    def chooses_steps(self) -> bool:
        return True

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (
            "save all states",
            "one step of twice the size:",
            *(f"  {line}" for line in self.base.outline(groups)),
            "restore all states; the same in two steps",
            f"if they differ by more than {self.tolerance:g} allows, or a signal that is not a real number changes, "
            "restore and try smaller steps",
        )


def accuracy_of(inputs: Iterable[InputApproximation]) -> tuple[int, float]:
    """Order of a master with these input approximations, and the error of two steps relative to their difference from
    one step of twice the size.

    A polynomial of order k through past values misses ∫ s (s + h) … (s + k h) ds over a step, h being the size of the
    steps before: two steps of size h miss twice the integral up to h, one of 2 h the integral up to 2 h. Extrapolated
    mid-step values count as order 1. If values at the end of steps are used, errors are proportional to h^(order + 1).
    """
    found = [(one.order_of_accuracy, _share(one)) for one in inputs]
    return min(order for order, _ in found), max(share for _, share in found)


_FROM_THE_PAST = {1: 1.0, 2: 5 / 9, 3: 9 / 23}
"""Errors by order of accuracy, for inputs that follow from past values only: ∫ ds, ∫ s (s + 1) ds, …, two times up to
1, by what is more up to 2.
"""


def _share(inputs: InputApproximation) -> float:
    if inputs.op is Op.EXTRAPOLATE or inputs == mid_step():
        return _FROM_THE_PAST[inputs.order_of_accuracy]
    return 1 / (2.0**inputs.order_of_accuracy - 1)


def a_smaller_step_may_do(failure: Failure) -> bool:
    """True if a smaller step may avoid this failure."""
    return failure.ending in _RECOVERABLE or failure.recoverable


def too_small(smallest: float, why: str, t: float, failure: Failure | None = None) -> Failure:
    """Failure at t of steps that cannot be smaller than this [s]; `failure` is that of the last one."""
    return Failure(
        Ending.STEP,
        f"the macro step would have to be smaller than {smallest:.2g} s: {why}",
        "look for a signal that jumps, loosen the tolerance of the adaptive steps, or use fixed ones",
        t,
        iteration=None if failure is None else failure.iteration,
    )


def too_inexact(smallest: float, name: str, error: float, t: float) -> Failure:
    """Failure at t of steps of the smallest size [s], because of the error of a signal; 1 is allowed."""
    return too_small(smallest, f"the error of {name} is still {error:.2g} times the tolerance", t)


def always_switching(name: str, size: float, t: float) -> Failure:
    """Failure at t of pairs of steps of this size [s], in which a signal changes too often."""
    return Failure(
        Ending.STEP,
        f"{name} changes again and again, however small the macro step is ({size:.2g} s for a pair of steps)",
        "its FMU counts or toggles at each step, switches without hysteresis, or integrates less exactly inside (with "
        "fixed steps or a tolerance of its own); let a run find a fixed step: --accuracy 1e-3 instead of --adaptive",
        t,
    )
