"""A run with its derivatives: the variational equations of a system of model exchange, in a worker of a study.

With the derivatives S of the outputs y, runs at points next to that of the run have the outputs y ± δ S, without being
carried out.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from math import inf

import numpy as np

from ssptool.analysis.probing import Probe, ProbedRun, check_probed
from ssptool.analysis.sensitivity import Neighbours, varied
from ssptool.engine.assembly.instances import Sources
from ssptool.engine.planning.plan import Plan
from ssptool.engine.trace import Floats, Trace
from ssptool.studies.definition import Task
from ssptool.studies.designs import FactorValue
from ssptool.studies.varied_fit import NoVariation

MOST_TIMES = 20_000
"""Times at which results need the outputs, at most."""

Planned = Callable[[Mapping[str, FactorValue]], Plan]
"""Function: point → the plan of its run by model exchange."""


def varied_traces(task: Task, planned: Planned, sources: Callable[[Plan], Sources]) -> Iterator[Trace]:
    """The trace of a run, then those of the points above and below of each side.

    Raises
    ------
    NoVariation
        Also RunError, FmiError, and the errors of plans.
    """
    with ExitStack() as stack:

        def begun(plan: Plan) -> Probe:
            run = stack.enter_context(ProbedRun(plan, sources(plan)))
            return run.probe()

        plan = planned(task.point)
        t = _times(plan, task)
        probe = begun(plan)
        slots = list(plan.recorded)
        for slot, column in zip(slots, plan.columns, strict=True):
            if not probe.is_real(slot):
                raise NoVariation(f"{column.signal} is not a real input or output")
        neighbours = [
            Neighbours(1.0, one.up, one.down, begun(planned(one.above)), begun(planned(one.below)))
            for one in task.sides
        ]
        longest = plan.interval.step if plan.stimuli.sources else inf
        y, derivatives = varied(probe, neighbours, t, slots, longest)
    if not (np.isfinite(y).all() and np.isfinite(derivatives).all()):
        raise NoVariation("the variational equations cannot be integrated")
    shifts = [np.zeros_like(y)]
    for place, one in enumerate(task.sides):
        shifts += [one.up * derivatives[:, :, place], -one.down * derivatives[:, :, place]]
    for shift in shifts:
        yield Trace.of(t, list(zip(plan.columns, (y + shift).T, strict=True)))


def check_varied(plan: Plan) -> None:
    """Check that a plan has variational equations, unless events occur. Raises NoVariation, UnsupportedByFmu."""
    check_probed(plan, "derivatives")
    if not plan.is_one_ode:
        raise NoVariation("not all components run by model exchange")
    if plan.stimuli.jumps or plan.stimuli.actions:
        raise NoVariation("inputs jump")


def _times(plan: Plan, task: Task) -> Floats:
    """The start, and the times (k,) [s] at which outputs are needed."""
    interval = plan.interval
    if task.samples is not None:
        wanted = task.samples.times
        inside = wanted[(wanted > interval.start) & (wanted <= interval.stop)]
        return np.unique(np.concatenate([[interval.start], inside]))
    if interval.steps > MOST_TIMES:
        raise NoVariation(f"results of {interval.steps} steps are too many")
    return np.asarray(np.minimum(interval.start + interval.step * np.arange(interval.steps + 1), interval.stop))
