"""First instants of a run: the step that resolves them, where neither the system nor its FMUs state one."""

from collections.abc import Callable
from dataclasses import replace
from math import inf

from ssptool.engine.planning.interval import GUESS
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import LARGE, AccuracyMethod, estimated
from ssptool.engine.run.refinement import CarryOut, with_reason
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmiError

FIRST = 64
"""Macro steps that are looked at: so many that a chain of four integrators, whose first steps know no slope, agrees
with itself if they are small.
"""

DECADES = 10
"""Steps, each a tenth of the one before, that are tried."""


def with_resolved_step(plan: Plan, replan: Callable[..., Plan], carry_out: CarryOut) -> Plan:
    """The plan with the largest of the guessed step, its tenth, hundredth … whose first steps agree with their halves.

    That is so where they differ by less than a tenth of what each signal does in this time. Where no step is such, as
    with a jump at the start, the guess stays. It does not depend on how long the run is, unless that is too short for
    the first steps.
    """
    start = plan.interval.start
    for power in range(DECADES):
        step = GUESS / 10**power
        if start + FIRST * step > plan.interval.stop:
            continue
        try:
            differs = _differs(plan, replan, carry_out, step)
        except (WrongValue, FmiError):  # steps so small are refused
            break
        if not differs:
            return plan if power == 0 else _planned(plan, replan, step)
    return plan


def _differs(plan: Plan, replan: Callable[..., Plan], carry_out: CarryOut, step: float) -> bool:
    """True if the first steps of this size [s] and halves of them lead to other values, or one of them fails."""
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
    """The plan with this step [s], and the reason for it."""
    reason = f"neither the system nor its FMUs state one; at the start, steps of {10 * step:g} s differ from halves"
    return with_reason(replan(settings=replace(plan.settings, step_size=step)), "step_size", step, reason)
