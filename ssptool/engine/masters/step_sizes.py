"""Control of the size of macro steps by the errors of steps, of inputs, or of energies at power bonds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.calls import Op
from ssptool.engine.masters.master import CouplingMaster
from ssptool.engine.masters.power_bonds import PowerBond
from ssptool.engine.masters.program import mid_step
from ssptool.engine.masters.protocols import InputApproximation, Participants

_RECOVERABLE = (Ending.COUPLING, Ending.LOOP, Ending.NONFINITE)
"""Failures that a smaller step may avoid."""


class SizeRule(StrEnum):
    """Error that determines the size of macro steps; the values are the names in the frozen plan."""

    DOUBLING = "doubling"
    """Errors of steps: each is done as one step and as two half steps, and their difference is the error estimate.

    The sizes are such that the estimated errors of all steps, in every real signal, add up to at most `tolerance` ·
    (size of the signal), and that signals of other types do not change, except in short steps.

    From a saved state, two steps of size h are compared with one of 2 h. The two steps are kept; their error is `share`
    times the difference. For a master of order `order` it is proportional to h^(order + 1). Both ends are communication
    points of the trace. Each pair may have a share of the allowed error, in proportion to its length: so errors add up
    to the allowed error if nothing damps them.

    The size of a signal is the range of its values. Trial steps with low accuracy determine it in advance, and are then
    undone.

    A pair of steps in which a Boolean, an integer, an enumeration or a text changes, or right after which it does, or
    in which a real signal jumps, is halved until the error in the time of the change is small compared with the allowed
    error of a pair.

    References
    ----------
    Schierz, Arnold, Clauß 2012, "Co-simulation with communication step size control in an FMI compatible master
    algorithm"; Hairer, Nørsett, Wanner 1993, "Solving ordinary differential equations I", §II.4; Gustafsson, Lundh,
    Söderlind 1988, "A PI stepsize control for the numerical solution of ordinary differential equations".
    """

    DEFECTS = "defects"
    """Errors of inputs (defects), which add up to about `tolerance` · (size of the signals). No step is repeated.

    At the end of a step the true values of its inputs are known. The defect is the error of the mean of an input over
    the step; times the number of times that the input moves through its range in the run, it is kept within `tolerance`
    · (range of the input). A PI controller chooses the size of the next step from the defect; the step itself is kept.
    After a change of a signal that is not a real number, sizes restart with the `first` one.

    A change is noticed only at the end of the step in which it happens. The values of the inputs of the component that
    has caused it are then known, and further steps become small before inputs reach these values again. After a jump of
    an input, steps are so small that as many jumps per time as so far are within `tolerance`, but at least `tolerance`
    times the interval. The estimated errors of all steps are added up, so that the run can state them; where a signal
    is much steeper than on the mean, what has been missed before shifts it, and counts more.

    Components that follow a held input at once lag by half a step, which no mean shows. In a short step, every ninth
    one, they catch up: the bend there is a measure of the lag.

    References
    ----------
    Busch and Schweizer 2011, "An explicit approach for controlling the macro-step size of co-simulation methods";
    Gustafsson, Lundh, Söderlind 1988, as above.
    """

    ENERGY = "energy"
    """Energies that the coupling creates or destroys at power bonds: the residual of each stays about `tolerance` · h ·
    (the power of the bond). No step is repeated.

    Over a step, the two sides of a bond see different powers, because each knows its own outputs but approximates those
    of the other: P1 = y1 ũ1 and P2 = y2 ũ2, with ũ1 in place of y2 and ũ2 in place of y1. The integral of P1 − P2 over
    a step is energy that the coupling creates, of order h^(p + 1) for inputs of accuracy p. It has two parts,

        P1 − P2 = y1 (ũ1 − y2) − y2 (ũ2 − y1),

    whose magnitudes are added and kept small, because both sides are still wrong when the parts cancel. A PI controller
    chooses the size of the next step from the residual; the step itself is kept. So residuals add up to about
    `tolerance` times the energy that goes through the bond. A power below its mean so far is replaced by the mean, and
    is at least `tolerance` times the nominal power. After a change of a signal that is not a real number, sizes restart
    with the first one.

    References
    ----------
    Sadjina, Kyllingstad, Skjong, Pedersen 2017, "Energy conservation and power bonds in co-simulations: non-iterative
    adaptive step size control and error estimation"; Gustafsson, Lundh, Söderlind 1988, as above.
    """


class SizeController(NamedTuple):
    """Gains of the PI controller that chooses the next size, and limits of its ratio to the present one; the `smallest`
    size [s].
    """

    safety: float
    integral: float
    proportional: float
    least_factor: float
    largest_factor: float
    smallest: float


_CONTROLLERS = {
    SizeRule.DOUBLING: SizeController(0.9, 0.6, 0.2, 0.2, 1.9, 1e-12),
    SizeRule.DEFECTS: SizeController(0.8, 0.5, 0.2, 0.2, 1.5, 1e-9),
    SizeRule.ENERGY: SizeController(0.8, 0.3, 0.4, 0.2, 1.5, 1e-9),
}
_WORDS = {
    SizeRule.DOUBLING: "adaptive steps",
    SizeRule.DEFECTS: "steps by errors of inputs",
    SizeRule.ENERGY: "steps by energy residuals",
}


@dataclass(frozen=True, slots=True)
class SizeControl:
    """Macro steps of the master `base` whose sizes follow a rule. Its `repr` states everything that steps depend on.

    Attributes
    ----------
    largest, first : [s]
        Largest step size, and that of the first step.
    order
        Order of the master; ENERGY: that of the polynomials of the inputs of all bonds, the lowest of them.
    share
        Error of a step relative to the observed difference.
    bonds
        Power bonds, for ENERGY.
    """

    base: CouplingMaster
    rule: SizeRule
    controller: SizeController
    tolerance: float
    largest: float = math.inf
    first: float = 0.0
    order: int = 1
    share: float = 1.0
    bonds: tuple[PowerBond, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.base.name}, {_WORDS[self.rule]}"

    @property
    def chooses_steps(self) -> bool:
        return True

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        step = self.base.outline(groups)
        match self.rule:
            case SizeRule.DEFECTS:
                return (*step, "errors of inputs: the size of the next step")
            case SizeRule.ENERGY:
                return (*step, f"energy residuals of {', '.join(map(str, self.bonds))}: the size of the next step")
        return (
            "save all states",
            "one step of twice the size:",
            *(f"  {line}" for line in step),
            "restore all states; the same in two steps",
            f"if they differ by more than {self.tolerance:g} allows, or a signal that is not a real number changes, "
            "restore and try smaller steps",
        )


def controlled(base: CouplingMaster, rule: SizeRule, tolerance: float, largest: float, **limits: Any) -> SizeControl:
    """Steps of a master whose sizes follow a rule; `limits` are further fields."""
    return SizeControl(base, rule, _CONTROLLERS[rule], tolerance, largest, **limits)


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
        "look for a signal that jumps or grows without limit, loosen the tolerance of --adaptive, or use fixed steps",
        t,
        iteration=None if failure is None else failure.iteration,
    )


def too_inexact(smallest: float, name: str, error: float, t: float) -> Failure:
    """Failure at t of steps of the smallest size [s], because of the error of a signal; 1 is allowed."""
    return too_small(smallest, f"the error of {name} is still {error:.2g} times the tolerance", t)


def residuals_too_large(size: float, error: float, t: float) -> Failure:
    """Failure at t of steps that would have to be smaller than this [s], because of energy residuals; 1 is allowed."""
    return too_small(size, f"energy residuals of the power bonds are {error:.2g} times the tolerance", t)


def always_switching(name: str, size: float, t: float) -> Failure:
    """Failure at t of pairs of steps of this size [s], in which a signal changes too often."""
    return Failure(
        Ending.STEP,
        f"{name} changes again and again, however small the macro step is ({size:.2g} s for a pair of steps)",
        "its FMU counts or toggles at each step, switches without hysteresis, or integrates less exactly inside (with "
        "fixed steps or a tolerance of its own); let a run find a fixed step: --accuracy 1e-3 instead of --adaptive",
        t,
    )
