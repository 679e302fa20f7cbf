"""Choice of the control of adaptive macro step sizes."""

from collections.abc import Iterator
from math import pi

from ssptool.engine.failure import UnsupportedByFmu
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.master import CouplingMaster
from ssptool.engine.masters.program import ProgrammedMaster
from ssptool.engine.masters.protocols import InputApproximation
from ssptool.engine.masters.registry import SAVES, VARIES_STEP, Situation
from ssptool.engine.masters.step_sizes import SizeControl, SizeRule, accuracy_of, controlled
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
) -> tuple[SizeControl, tuple[Choice, Choice]]:
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
    tolerance = settings.adaptive or 0.0
    if not 0 < tolerance < 1:
        raise WrongValue(f"the tolerance of adaptive steps must be between 0 and 1, found {tolerance:g}")
    _must_vary(situation, alternative)
    unable = [name for name, can in situation.everyone.items() if not can.saves_state]
    first = interval.step if settings.step_size is not None else (_FIRST_KEPT if unable else _FIRST) * interval.step
    order, share = accuracy_of(_ways(base, situation))
    if not unable:
        master = controlled(base, SizeRule.DOUBLING, tolerance, largest, first=first, order=order, share=share)
        unused = "; power bonds are not needed, since all FMUs save states" if situation.bonds else ""
        return master, (Choice("adaptive", f"errors of all steps at most {tolerance:g}", ASKED + unused), limit)
    if situation.bonds:
        master, how = _by_energy(base, situation, tolerance, largest, unable[0])
    elif isinstance(base, ProgrammedMaster):
        # A switch is noticed at the end of the step that contains it, so `tolerance` times the interval limits steps.
        master = controlled(base, SizeRule.DEFECTS, tolerance, largest, first=first, order=order, share=pi)
        how = f"errors of inputs at most {tolerance:g}"
    else:
        raise UnsupportedByFmu(unable[0], SAVES, f"an adaptive step size with master {base.name}", alternative)
    return master, (Choice("adaptive", how, f"{unable[0]} cannot save its state"), limit)


def _by_energy(
    base: CouplingMaster, situation: Situation, tolerance: float, largest: float, unable: str
) -> tuple[SizeControl, str]:
    """Control by energy residuals, and its description."""
    if isinstance(base, Iterated) or not isinstance(base, ProgrammedMaster):
        raise ContradictingSettings(
            f"adaptive steps by energy residuals with master {base.name}",
            f"{unable} cannot save its state, and the {base.name} master leaves no residual to choose steps by",
            "use master jacobi or gauss-seidel",
        )
    follow = all(situation.everyone[name].follows for name in situation.bonded)
    order = base.inputs.order_of_accuracy - 1 if follow else 0
    bonds = ", ".join(map(str, situation.bonds))
    master = controlled(base, SizeRule.ENERGY, tolerance, largest, order=order, bonds=situation.bonds)
    return master, f"energy residuals of at most {tolerance:g} of the energy through {bonds}"


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
