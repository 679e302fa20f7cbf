"""Default step size if neither the system nor its FMUs state one: small enough to resolve the start of the run."""

from collections.abc import Callable
from dataclasses import replace
from math import inf

from ssptool.engine.planning.interval import GUESS
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import LARGE, AccuracyMethod, estimated
from ssptool.engine.run.accuracy_check import with_reason
from ssptool.engine.run.refinement import CarryOut
from ssptool.engine.settings import StepDefault
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmiError

FIRST = 64
"""Macro steps that are compared. A chain of four integrators, whose first steps know no slopes, passes the comparison
if its steps are small.
"""

DECADES = 10
"""Largest number of step sizes that are tried; each is a tenth of the one before."""


def with_resolved_step(plan: Plan, replan: Callable[..., Plan], carry_out: CarryOut) -> Plan:
    """The plan with the largest of the guessed step, a tenth, a hundredth, … of it, whose first steps agree with those
    of half the size.

    They agree if they differ by less than a tenth of the range of each signal in this time. If no step agrees, for
    example because of a jump at the start, the guess is kept. The result does not depend on the duration of the run,
    unless it is shorter than the first steps.
    """
    start = plan.interval.start
    for power in range(DECADES):
        step = GUESS / 10**power
        if start + FIRST * step > plan.interval.stop:
            continue
        try:
            differs = _differs(plan, replan, carry_out, step)
        except (WrongValue, FmiError):  # steps of this size are too small, or an FMU rejects them
            break
        if not differs:
            return plan if power == 0 else _planned(plan, replan, step)
    return plan


def _differs(plan: Plan, replan: Callable[..., Plan], carry_out: CarryOut, step: float) -> bool:
    """True if steps of this size [s] and of half the size give different values at the start, or one of them fails."""
    stop, traces = plan.interval.start + FIRST * step, []
    for size in (step, 0.5 * step):
        settings = plan.settings.without_logs(step_size=size, stop_time=stop)
        trace, failure, _ = carry_out(replan(settings=settings), (), inf)
        if failure is not None or trace is None:
            return True
        traces.append(trace)
    found = estimated(traces, AccuracyMethod.HALVED, (step, 0.5 * step), step)
    return found.error is not None and found.error > LARGE


def _planned(plan: Plan, replan: Callable[..., Plan], step: float) -> Plan:
    """The plan with this step [s] and its reason."""
    reason = f"neither the system nor its FMUs state one; at the start, steps of {10 * step:g} s differ from halves"
    planned = replan(settings=replace(plan.settings, step_size=step))
    return with_reason(planned, "step_size", step, reason, StepDefault.DERIVED)
