"""Choice of the control of adaptive macro step sizes."""

from collections.abc import Iterator
from typing import NamedTuple

from ssptool.engine.failure import UnsupportedByFmu
from ssptool.engine.masters.adaptive import Adaptive, accuracy_of
from ssptool.engine.masters.defects import DefectControlled
from ssptool.engine.masters.energy import EnergyControlled
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.master import CouplingMaster, StepSizeControl
from ssptool.engine.masters.program import ProgrammedMaster
from ssptool.engine.masters.protocols import InputApproximation
from ssptool.engine.masters.registry import SAVES, VARIES_STEP, Situation
from ssptool.engine.planning.interval import Interval
from ssptool.engine.settings import ASKED, Choice, Settings
from ssptool.errors import ContradictingSettings, WrongValue

_STEPS_AT_LEAST = 50
"""Smallest number of adaptive steps in a run, if nothing limits the step size."""


_FIRST = 0.0379
"""Size of the first step, relative to the default size. It is not a simple fraction, because then oscillations of some
frequencies would be missed.
"""

_FIRST_KEPT = 1e-3 * _FIRST
"""The same for steps that cannot be repeated: the first one shows how small steps must be. It precedes a few more."""


class StepLimits(NamedTuple):
    """Largest and first size of adaptive steps [s]."""

    largest: float
    first: float


def largest_step(settings: Settings, interval: Interval) -> tuple[float, Choice]:
    """Largest adaptive macro step [s], and the choice that the plan reports."""
    asked = settings.max_step_size
    if asked is None:
        largest = (interval.stop - interval.start) / _STEPS_AT_LEAST
        return largest, Choice("max_step_size", f"{largest:g} s", f"1/{_STEPS_AT_LEAST} of the interval")
    if not asked > 0:
        raise WrongValue(f"max_step_size must be greater than 0, found {asked:g}")
    return asked, Choice("max_step_size", f"{asked:g} s", ASKED)


def with_adaptive_steps(
    base: CouplingMaster, situation: Situation, settings: Settings, interval: Interval, alternative: str
) -> tuple[StepSizeControl, tuple[Choice, Choice]]:
    """The control of macro step sizes: step doubling if states can be saved; otherwise energy residuals if there are
    power bonds; otherwise errors of inputs.

    Parameters
    ----------
    alternative
        Text for the best settings with fixed steps for these FMUs.

    Raises
    ------
    UnsupportedByFmu, ContradictingSettings, WrongValue
    """
    largest, limit = largest_step(settings, interval)
    kept = not all(can.saves_state for can in situation.everyone.values())
    first = interval.step if settings.step_size is not None else (_FIRST_KEPT if kept else _FIRST) * interval.step
    master, how = _adaptive(base, situation, settings.adaptive or 0.0, StepLimits(largest, first), alternative)
    return master, (how, limit)


def _adaptive(
    base: CouplingMaster, situation: Situation, tolerance: float, limits: StepLimits, alternative: str
) -> tuple[StepSizeControl, Choice]:
    if not 0 < tolerance < 1:
        raise WrongValue(f"the tolerance of adaptive steps must be between 0 and 1, found {tolerance:g}")
    _must_vary(situation, alternative)
    unable = [name for name, can in situation.everyone.items() if not can.saves_state]
    if not unable:
        unused = "; power bonds are not needed, since all FMUs save states" if situation.bonds else ""
        order, share = accuracy_of(_ways(base, situation))
        return Adaptive(base, tolerance, *limits, order, share), Choice(
            "adaptive", f"errors of all steps at most {tolerance:g}", ASKED + unused
        )
    if not situation.bonds:
        return _by_defects(base, situation, tolerance, limits, unable[0], alternative)
    if isinstance(base, Iterated) or not isinstance(base, ProgrammedMaster):
        raise ContradictingSettings(
            f"adaptive steps by energy residuals with master {base.name}",
            f"{unable[0]} cannot save its state, and the {base.name} master leaves no residual to choose steps by",
            "use master jacobi or gauss-seidel",
        )
    follow = all(situation.everyone[name].follows for name in situation.bonded)
    order = base.inputs.order_of_accuracy - 1 if follow else 0
    bonds = ", ".join(map(str, situation.bonds))
    return EnergyControlled(base, tolerance, situation.bonds, order, limits.largest), Choice(
        "adaptive",
        f"energy residuals of at most {tolerance:g} of the energy through {bonds}",
        f"{unable[0]} cannot save its state",
    )


def _by_defects(
    base: CouplingMaster, situation: Situation, tolerance: float, limits: StepLimits, unable: str, alternative: str
) -> tuple[DefectControlled, Choice]:
    """Adaptive master for FMUs that cannot save their states. A switch is noticed at the end of the step that contains
    it, so the steps are limited to `tolerance` times the interval.
    """
    if not isinstance(base, ProgrammedMaster):
        raise UnsupportedByFmu(unable, SAVES, f"an adaptive step size with master {base.name}", alternative)
    order, _ = accuracy_of(_ways(base, situation))
    return DefectControlled(base, tolerance, limits.largest, limits.first, order), Choice(
        "adaptive", f"errors of inputs at most {tolerance:g}", f"{unable} cannot save its state"
    )


def _ways(base: CouplingMaster, situation: Situation) -> Iterator[InputApproximation]:
    """Input approximations that occur in a step."""
    # The end of the step is known for all inputs, or for none.
    ahead = isinstance(base, Iterated) or not situation.cycles
    of = [base.inputs] if ahead else [base.inputs, base.inputs.from_the_past]
    if situation.following():
        yield from of
    if situation.obstacles() or not situation.following():
        yield from (one.where_held for one in of)


def _must_vary(situation: Situation, alternative: str) -> None:
    for name, can in situation.everyone.items():
        if not can.varies_step:
            raise UnsupportedByFmu(name, VARIES_STEP, "an adaptive step size", f"fixed steps, {alternative}")
