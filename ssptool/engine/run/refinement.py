"""Finer runs of a system, from which the accuracy of a run is estimated."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from ssptool.engine.failure import Failure
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import Accuracy, AccuracyMethod, estimated
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.time_signals import Function, Overridden, TimeSignal
from ssptool.engine.trace import Trace
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmiError
from ssptool.work_in_progress import NOTHING, tell

AUTO_SECONDS = 4.0
"""Largest expected time of finer runs that nobody asked for [s]: one at half the step if the run takes two seconds."""

STRICTER = 100.0
"""Ratio of the integrator's tolerance to that of the finer run."""

STRICTEST = 1e-12
"""Smallest relative tolerance of an integrator that rounding allows."""


class _Finer(NamedTuple):
    """A finer run: its macro step [s] or tolerance, in words too, its settings, and its time as a multiple of that of
    the run.
    """

    step: float
    words: str
    settings: Settings
    times: float


@dataclass(frozen=True, slots=True)
class AccuracyCheck:
    """Check of a run by finer ones.

    Attributes
    ----------
    replan
        Makes the plan of the same run with other `settings`, a keyword.
    asked
        The check was asked for: it takes the time that it needs.
    """

    replan: Callable[..., Plan]
    asked: bool = False

    def of(
        self,
        plan: Plan,
        trace: Trace | None,
        seconds: float,
        carry_out: Callable[[Plan], tuple[Trace | None, Failure | None]],
    ) -> Accuracy:
        """The accuracy of a run that took this long [s] and gave this trace.

        `carry_out` gives the trace of another plan, and its failure if it has one.
        """
        if reason := _unrepeatable(plan):
            return Accuracy(remark=reason)
        finer = list(_finer(plan))
        whole = seconds * sum(one.times for one in finer)
        if trace is None or (not self.asked and seconds * finer[0].times > AUTO_SECONDS):
            return Accuracy(remark=f"`--accuracy check` takes about {whole:.2g} s")
        traces, steps, left = [trace], [_own_step(plan)], inf if self.asked else AUTO_SECONDS
        for one in finer:
            left -= seconds * one.times
            if left < 0:
                break
            found, reason = self._carried_out(one, carry_out)
            if found is None:
                return Accuracy(remark=reason)
            traces, steps = [*traces, found], [*steps, one.step]
        method = AccuracyMethod.TOLERANCE if _alone(plan) else AccuracyMethod.HALVED
        return estimated(traces, method, steps, plan.interval.step)

    def _carried_out(
        self, finer: _Finer, carry_out: Callable[[Plan], tuple[Trace | None, Failure | None]]
    ) -> tuple[Trace | None, str]:
        """The trace of a finer run, or why there is none."""
        tell("checking the accuracy")
        try:
            trace, failure = carry_out(self.replan(settings=finer.settings))
        except (WrongValue, FmiError) as error:  # an FMU may refuse to be instantiated again
            return None, f"{finer.words} are not possible: {error}"
        finally:
            tell(NOTHING)
        if failure is not None:
            return None, f"the run with {finer.words} failed: {failure.message}"
        return trace, ""


def _unrepeatable(plan: Plan) -> str:
    """Reason why the run cannot be checked by finer ones; empty if it can be."""
    if not plan.interval.steps:
        return "the run has no step"
    if plan.settings.adaptive is not None:
        return "the size of the macro steps is controlled by an error of each step"
    if tools := [one.name for one in plan.instances if one.used_interface.needs_tool]:
        return f"the FMU of {tools[0]} runs in its tool"
    if any(_is_function(one.time_signal) for one in plan.stimuli.sources):
        return "an input is a function, which would be called again"
    if _alone(plan) and _own_step(plan) < STRICTEST * STRICTER:
        return "the tolerance of the integrator is close to rounding"
    return ""


def _is_function(signal: TimeSignal) -> bool:
    return isinstance(signal, Function) or (isinstance(signal, Overridden) and _is_function(signal.base))


def _alone(plan: Plan) -> bool:
    """True if all components are integrated as one ODE, so that macro steps are only a grid of its results."""
    return plan.ode is not None and plan.ode.alone


def _own_step(plan: Plan) -> float:
    """The macro step of a run [s], or the tolerance of its integrator."""
    if isinstance(plan.master, Integrator):
        return plan.master.rtol
    return plan.interval.step


def _finer(plan: Plan) -> Iterator[_Finer]:
    """Finer runs, in the order in which they are made."""
    silent = replace(
        plan.settings, log_loops=None, log_coupling=None, fmu_log=None, fmu_log_level={}, fmu_log_categories={}
    )
    own = _own_step(plan)
    if _alone(plan):
        stricter = own / STRICTER
        yield _Finer(stricter, f"tolerances of {stricter:.4g}", replace(silent, tolerance=stricter), 3.0)
        return
    for part in (2, 4):
        yield _Finer(own / part, f"steps of {own / part:.4g} s", replace(silent, step_size=own / part), part)
