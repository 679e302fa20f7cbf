"""Finer runs of a system: accuracy of a run, and search for the coarsest run with a requested accuracy."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil, inf, log, sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ssptool.engine.failure import Ending, Failure, Unsupported
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.planning.fixed_steps import bound_to_steps
from ssptool.engine.planning.interval import GUESSED
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import (
    ASSUMED_FALL,
    INSIDE,
    LATE,
    LEAST_FALL,
    PERHAPS_LATE,
    ROUNDING,
    TOO_LARGE,
    UNCHECKED,
    UNSEEN,
    Accuracy,
    AccuracyMethod,
    estimated,
    first_late,
    grown_apart,
    growth,
    is_within,
    noticed_jumps,
    points_before,
    with_larger,
)
from ssptool.engine.run.macro_steps import MacroSteps
from ssptool.engine.run.unresolved_growth import GROWN
from ssptool.engine.settings import Choice, Settings
from ssptool.engine.stimuli.time_signals import is_function
from ssptool.engine.trace import Trace
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmiError
from ssptool.work_in_progress import NOTHING, tell

AUTO_SECONDS = 4.0
"""Largest expected time of finer runs without a request [s]: one run with half the step if the run takes two seconds.
"""

STRICTEST = 1e-12
"""Smallest relative tolerance of an integrator that rounding allows."""

MOST_MET = 200
"""Largest number of communication points of adaptive runs that are compared."""

MOST_LEVELS = 10
"""Largest number of steps (or tolerances) whose error a search estimates."""

SEARCH_SECONDS, SEARCH_RUNS = 60.0, 30
"""Time of a search without a time limit: this number of seconds, or this multiple of the time of the first run if that
is more.
"""

LARGEST_JUMP = 5
"""Largest number of levels that a search skips at once, because predictions over larger distances are not reliable."""

FEWEST_STEPS = 100
"""Smallest number of macro steps of the result, if coarser steps would suffice."""

LOOSEST = 1e-2
"""Largest tolerance of an integrator or of adaptive steps in a search."""

MOST_CELLS = 5e7
"""Largest number of values in the trace of a finer run, which is kept in memory: 400 MB."""

OVERDUE, LEAST_SECONDS = 3.0, 10.0
"""A finer run of a search is stopped after this multiple of its expected time, but not before this number of seconds.
"""

EXCHANGE_TOLERANCE = 1e-9
"""Tolerance of the integrator if all components are integrated as one ODE for comparison."""

AS_LARGE = 1.5
"""Ratio to the error from finer steps above which the error from model exchange counts as a different error."""

MOST_FALL = 64.0
"""Largest ratio of the errors of neighbouring levels that a prediction assumes."""

MOST_FAILED = 3
"""Number of levels without an estimate after which a search ends."""

MARGIN = 0.7
"""Fraction of the requested error that a search aims at."""

MOST_HALVINGS = 5
"""Number of halvings of fixed steps after which adaptive steps are tried first, if they are allowed."""


class FinerRun(NamedTuple):
    """A finer run: its trace, its failure if it failed, and its plan, with the facts found at its start."""

    trace: Trace | None
    failure: Failure | None
    plan: Plan


class TookTooLong(Exception):
    """A finer run did not end within its time limit."""


CarryOut = Callable[[Plan, tuple[float, ...], float], FinerRun]
"""Function that executes a plan, with steps that also end at the given times [s], within a number of seconds (raises
TookTooLong). An FMU may reject a call (FmiError).
"""


class RefinedRuns:
    """Runs of a system, each finer than the previous one by the same factor; level 0 is the plan itself.

    Parameters
    ----------
    replan
        Makes the plan of the same run with other `settings` (keyword).
    left
        Returns the remaining wall time [s].
    bounded
        True: stop runs that take far longer than expected, or leave no time for the result.
    longest
        Time limit of the first run [s].

    Attributes
    ----------
    setting
        Name of the setting that is refined: the step size; the error of adaptive steps; or the tolerance if all
        components are integrated as one ODE, because macro steps are then only a grid for results.
    """

    def __init__(
        self,
        plan: Plan,
        replan: Callable[..., Plan],
        carry_out: CarryOut,
        left: Callable[[], float],
        *,
        bounded: bool = False,
        longest: float = inf,
    ) -> None:
        self.bounded, self._longest = bounded, longest
        self.plan, self._replan, self._carry_out, self._left = plan, replan, carry_out, left
        self.traces: dict[int, Trace] = {}
        self._substeps: Choice | None = None
        self._failures: dict[int, Failure | None] = {}
        self.seconds: dict[int, float] = {}
        self._of_points = frozenset(str(plan.signals[slot]) for slot in plan.slots_of_points)
        self.adaptive = plan.settings.adaptive is not None
        self.ratio, self._times = (10.0, 10 ** (1 / 4)) if plan.is_one_ode else (2.0, 2.0)
        self.setting, self._own = "step_size", plan.interval.step
        if self.adaptive:
            self.setting, self._own = "adaptive", plan.settings.adaptive or 0.0
            self.ratio, self._times = 10.0, sqrt(10)  # order 1: the error of a step is proportional to its square
        elif self.ratio == 10.0 and isinstance(plan.master, Integrator):
            self.setting, self._own = "tolerance", plan.master.rtol
        self.method = AccuracyMethod.HALVED if self.setting == "step_size" else AccuracyMethod.TOLERANCE

    def value(self, level: int) -> float:
        """Step size [s] or tolerance of a level."""
        return self._own / self.ratio**level

    def words(self, level: int) -> str:
        unit = " s" if self.setting == "step_size" else ""
        return f"{'steps' if unit else 'tolerances'} of {self.value(level):.4g}{unit}"

    def planned(self, level: int, *, logs: bool = False) -> Plan:
        """The plan of a level, with the logs of the run or without. Raises WrongValue."""
        changed: dict[str, Any] = {self.setting: self.value(level)}
        settings = self.plan.settings
        planned = self._replan(settings=replace(settings, **changed) if logs else settings.without_logs(**changed))
        return planned if self._substeps is None else planned.with_choice(self._substeps)

    def expected(self, level: int, met: Sequence[float] = ()) -> float:
        """Expected time of the run of a level with these additional communication points [s]."""
        known = max(self.seconds, default=None)
        if known is None:
            return 0.0
        steps = self.plan.interval.steps * self.ratio**level
        more = 0.0 if self.adaptive else len(met) / steps
        return self.seconds[known] * self._times ** (level - known) * (1.0 + more)

    def accuracy(self, level: int, finer: int = 2, reserve: int = 0) -> Accuracy:
        """The error of the run of a level, from one finer run, and from further ones (up to `finer`) if time allows.

        `reserve`: number of runs of this level that must still fit into the time.
        """
        base = self._trace(level)
        if isinstance(base, str):
            return Accuracy(remark=base)
        traces, left = [base], reserve * self.expected(level)
        for more in range(level + 1, level + 1 + finer):
            found = self._trace(more, left, _met(base) if self.adaptive else ())
            if isinstance(found, str):
                if len(traces) == 1:
                    return self._apart(traces, more) or Accuracy(remark=found)
                break
            traces.append(found)
        steps = [self.value(level + each) for each in range(len(traces))]
        if (apart := self._apart(traces, level + len(traces) - 1)) is not None:
            return replace(apart, method=self.method, steps=tuple(steps))
        compared = self._estimated(traces, self.method, steps)
        if self.setting != "step_size" or (compared.error is None and compared.remark != UNSEEN):
            return compared
        return self._with_late_jumps(level, traces, compared, left)

    def _apart(self, traces: Sequence[Trace], finest: int) -> Accuracy | None:
        """The accuracy of a run that has blown up; None if it has not. The `finest` run may have failed."""
        failure = self._failures.get(finest)
        if failure is not None and failure.ending not in (Ending.NONFINITE, Ending.UNSTABLE):
            return None
        return grown_apart(traces, nominal_values(self.plan), self.words(finest), failed=failure is not None)

    def _with_late_jumps(self, level: int, traces: Sequence[Trace], found: Accuracy, reserve: float) -> Accuracy:
        """The accuracy `found` from runs of this and finer levels; or the error of jumps that all of them may have
        noticed at the same point, if that is larger.
        """
        parts = chain(self._parts(traces), self._at_points(traces))
        found_in = (noticed_jumps(part, self.plan.interval.step) for part in parts)
        jumps = tuple(sorted(chain.from_iterable(found_in)))
        if not jumps:
            return found
        points = points_before(jumps, found.steps[-1])
        closer = self._cannot_stop() or self._trace(level, reserve, points)
        if isinstance(closer, str):
            unknown = f"{LATE} {jumps[0].signal} at {jumps[0].time:.6g} s {PERHAPS_LATE}: {closer}"
            return replace(found, remark=unknown) if found.remark in ("", UNSEEN) else found
        late = self._estimated([traces[0], closer], self.method, found.steps)
        if late.error is None or late.error <= (found.error or 0.0):
            return with_larger(found, late)
        late = with_larger(late, found)
        jump = first_late(jumps, closer, found.steps[-1])
        return replace(late, steps=found.steps, remark=f"{LATE} {jump.signal} at {jump.time:.6g} s is noticed late")

    def _estimated(self, traces: Sequence[Trace], method: AccuracyMethod, steps: Sequence[float]) -> Accuracy:
        first, *others = traces
        parts = self._parts([self._recorded(first), *others])
        found = [estimated(part, method, steps, self.plan.interval.step) for part in parts]
        return max(found, key=lambda one: -inf if one.error is None else one.error)

    def _parts(self, traces: Sequence[Trace]) -> Iterator[Sequence[Trace]]:
        """The traces; or if there are events between communication points, first the signals with values there, and
        then the other signals at the points only.
        """
        if all(one.points is None for one in traces):
            yield traces
            return
        for of_points in (False, True):
            yield [self._part(one, of_points) for one in traces]

    def _at_points(self, traces: Sequence[Trace]) -> Iterator[Sequence[Trace]]:
        """The traces without the events between communication points: co-simulation learns of these at the next point,
        which may be the same one in all runs.
        """
        if any(one.points is not None and not one.points.all() for one in traces):
            yield [one if one.points is None else one.rows(one.points) for one in traces]

    def _part(self, trace: Trace, of_points: bool) -> Trace:
        places = [
            place for place, column in enumerate(trace.columns) if (column.signal in self._of_points) == of_points
        ]
        columns = tuple(trace.columns[place] for place in places)
        part = replace(trace, cells=trace.cells[:, places], columns=columns)
        return part.rows(part.points) if of_points and part.points is not None else part

    def _recorded(self, trace: Trace) -> Trace:
        """The recorded signals of a trace; other signals only serve to find jumps."""
        count = len(self.plan.recorded)
        return replace(trace, cells=trace.cells[:, :count], columns=trace.columns[:count])

    def _cannot_stop(self) -> str:
        """Reason why steps cannot end between communication points; empty if they can."""
        of = {one.name: one.interface for one in self.plan.instances}
        bound = bound_to_steps(self.plan.network, of, self.plan.settings.step_size)
        return "" if bound is None else f"the FMU of {bound[0]} {bound[1]}"

    def inside(self, level: int, found: Accuracy) -> Accuracy:
        """The error of a level; `found` is the estimate from finer levels. The difference to all components integrated
        as one ODE replaces it if it is larger, because errors inside of FMUs do not depend on the macro step.
        """
        if self.setting == "tolerance" or any(one.description.model_exchange is None for one in self.plan.instances):
            return found
        base = self.traces.get(level)
        twin = None if base is None else self._exchanged(level)
        if base is None or twin is None or _values_of(self._recorded(base)) != _values_of(self._recorded(twin)):
            return found
        steps = (self.plan.interval.step if self.adaptive else self.value(level), EXCHANGE_TOLERANCE)
        other = self._estimated([base, twin], AccuracyMethod.MODEL_EXCHANGE, steps)
        if other.error is None or (found.error is not None and other.error <= AS_LARGE * found.error):
            return with_larger(found, other, AS_LARGE)
        larger = with_larger(other, found, 1 / AS_LARGE)
        return larger if other.remark or other.error <= ROUNDING else replace(larger, remark=INSIDE)

    def _exchanged(self, level: int) -> Trace | None:
        """Trace of all components as one ODE, with the rows of a level; None if no such run is possible."""
        own, interval = self.plan.settings, self.plan.interval
        settings = replace(
            Settings(start_time=interval.start, stop_time=interval.stop, implementation="me"),
            step_size=interval.step if self.adaptive else self.value(level),
            init=own.init,
            tolerance=EXCHANGE_TOLERANCE,
        )
        tell("checking the accuracy: model exchange")
        most = min(max(OVERDUE * self.expected(level + 2), LEAST_SECONDS), self._left())
        try:
            trace, failure, _ = self._carry_out(self._replan(settings=settings), (), most)
        except (WrongValue, Unsupported, FmiError, TookTooLong):  # the other estimate remains
            return None
        finally:
            tell(NOTHING)
        # All components are integrated, so no signal has values at communication points only.
        return None if failure is not None or trace is None else replace(trace, points=None)

    def _trace(self, level: int, reserve: float = 0.0, met: tuple[float, ...] = ()) -> Trace | str:
        """Trace of a level, or the reason why there is none. `reserve` [s] must remain afterwards."""
        if level in self.traces and not met:
            return self.traces[level]
        if self.setting != "step_size" and self.value(level) < STRICTEST:
            return f"{self.words(level)} are close to rounding"
        cells = self._cells(level)
        if level > 0 and cells > MOST_CELLS:
            return f"{self.words(level)} give {cells:.1g} numbers, more than are kept in memory"
        if (expected := self.expected(level, met)) + reserve > self._left():
            return f"{self.words(level)} take about {_rounded(expected)} s, more than is left"
        tell(f"checking the accuracy: {self.words(level)}")
        began = perf_counter()
        try:
            trace, failure, plan = self._carry_out(self.planned(level), met, self._most(level))
        except (WrongValue, FmiError) as error:  # an FMU may not allow to be instantiated again
            return f"{self.words(level)} are not possible: {error}"
        except TookTooLong:
            return f"the run with {self.words(level)} took much longer than expected and was ended"
        finally:
            tell(NOTHING)
        if self.plan.by_need and not plan.by_need:
            self._settle(plan)
        done = 1.0
        if failure is not None:
            interval = self.plan.interval
            reached = interval.start if trace is None or not len(trace.t) else float(trace.t[-1])
            done = max((reached - interval.start) / (interval.stop - interval.start), 1e-3)
        if not met or self.adaptive:
            self.seconds[level] = (perf_counter() - began) / done
        self._failures[level] = failure
        if failure is not None or trace is None:
            return f"the run with {self.words(level)} failed" + ("" if failure is None else f": {failure.message}")
        if not met:
            self.traces[level] = trace
        return trace

    def _settle(self, plan: Plan) -> None:
        """Let all runs have the substeps of this one: otherwise smaller steps would not show their error."""
        self._substeps = next(one for one in plan.choices if one.setting == "substeps")
        self.plan = replace(
            self.plan, settings=replace(self.plan.settings, substeps=plan.settings.substeps), by_need=()
        )

    def _cells(self, level: int) -> float:
        """Number of values in the trace of a level; constant if the refined setting is not the step."""
        finer = self.ratio**level if self.setting == "step_size" else 1.0
        return finer * self.plan.interval.steps * (1 + len(self.plan.signals))

    def _most(self, level: int) -> float:
        """Time limit for the run of a level [s]. A search keeps time for its result: that of the longest run so far."""
        if not self.seconds:
            return min(self._longest, self._left()) if self.bounded else self._longest
        usual = max(OVERDUE * self.expected(level), LEAST_SECONDS)
        return min(usual, self._left() - max(self.seconds.values())) if self.bounded else inf


def nominal_values(plan: Plan) -> dict[str, float]:
    """Nominal values of signals by name."""
    return {str(signal): plan.nominal[slot] for slot, signal in enumerate(plan.signals) if slot < len(plan.nominal)}


def _values_of(trace: Trace) -> list[tuple[str, str]]:
    """Signals of a trace with their types. It is not compared whether the value of an output is passed on unchanged,
    because this depends on how its component is stepped.
    """
    return [(column.signal, column.type) for column in trace.columns]


def _met(trace: Trace) -> tuple[float, ...]:
    """Some communication points [s], evenly selected; all of them if they are few."""
    t = trace.t if trace.points is None else trace.t[trace.points]
    rows = np.unique(np.linspace(0, len(t) - 1, MOST_MET).round().astype(int))
    return tuple(np.unique(t[rows]).tolist())


@dataclass(frozen=True, slots=True)
class AccuracyCheck:
    """Check of a run by finer runs.

    Attributes
    ----------
    replan
        Makes the plan of the same run with other `settings` (keyword).
    asked
        True if the check was requested; it then takes the time that it needs.
    wanted
        Requested error, relative to the range of each signal; None: none was requested.
    earlier
        Accuracy of an earlier run with these settings, if that suffices; None: there is none.
    only_growth
        True if only a coupling that has blown up is of interest; other runs are not checked.
    """

    replan: Callable[..., Plan]
    asked: bool = False
    wanted: float | None = None
    earlier: Accuracy | None = None
    only_growth: bool = False

    def of(
        self, plan: Plan, trace: Trace | None, seconds: float, carry_out: CarryOut, left: Callable[[], float]
    ) -> Accuracy:
        """The accuracy of a run that took `seconds` [s] and gave this trace; `left` returns the remaining time [s]."""
        if reason := unrepeatable(plan, self.asked):
            return UNCHECKED if self.only_growth else Accuracy(remark=reason)
        # However far the system itself may grow, the reader cannot see whether such values are right.
        far = trace is not None and has_grown(plan, trace)
        if self.only_growth and not (far and any(group.unknowns for group in plan.groups)):
            return UNCHECKED
        asked = self.asked or far
        if self.earlier is not None and not far:
            return Accuracy(remark=f"a run with these settings was checked: {self.earlier}")
        end = perf_counter() + (inf if asked else AUTO_SECONDS)
        levels = RefinedRuns(plan, self.replan, carry_out, lambda: min(left(), end - perf_counter()))
        levels.seconds[0] = seconds
        whole = levels.expected(1) + levels.expected(2)
        if trace is None or (not asked and levels.expected(1) > AUTO_SECONDS):
            return Accuracy(remark=f"`--accuracy check` takes about {_rounded(whole)} s")
        levels.traces[0] = trace
        if self.only_growth:
            found = levels.accuracy(0, finer=1)
            return found if found.blown_up else UNCHECKED
        return levels.inside(0, levels.accuracy(0))

    def search(self, plan: Plan, carry_out: CarryOut, left: Callable[[], float]) -> tuple[Plan, Accuracy]:
        """The plan of the coarsest run whose error is at most the requested one, with its accuracy; if none is found,
        the best one.
        """
        assert self.wanted is not None
        if reason := unrepeatable(plan, asked=True):
            return plan, Accuracy(remark=reason, wanted=self.wanted)
        search = _Search(RefinedRuns(plan, self.replan, carry_out, left, bounded=True), self.wanted, left)
        varied = self._varied(plan)
        search.gives_way = varied is not None
        level, accuracy = search.result()
        if varied is not None and not accuracy.met:
            longest = max(LEAST_SECONDS, SEARCH_RUNS * search.levels.seconds.get(0, 0.0))
            kept = search.levels.expected(level)

            def rest() -> float:
                return left() - kept

            levels = RefinedRuns(varied, self.replan, carry_out, rest, bounded=True, longest=longest)
            adaptive = _Search(levels, self.wanted, rest)
            found = adaptive.result()
            if not found[1].met:
                level, accuracy = search.result(to_the_end=True)
            if _is_better(found[1], accuracy):
                search, (level, accuracy) = adaptive, found
        accuracy = replace(search.levels.inside(level, accuracy), wanted=self.wanted)
        chosen = search.levels.planned(level, logs=True)
        setting, value = search.levels.setting, search.levels.value(level)
        reason = f"chosen for an accuracy of {self.wanted:g}{'' if accuracy.met else ', which is not reached'}"
        return with_reason(chosen, setting, value, reason), accuracy

    def _varied(self, plan: Plan) -> Plan | None:
        """The plan with adaptive steps for the requested error; None if adaptive steps are not possible, or if a step
        size was requested.
        """
        settings = plan.settings
        if plan.is_one_ode or settings.adaptive is not None or settings.step_size is not None:
            return None
        try:
            varied = self.replan(settings=replace(settings, adaptive=self.wanted))
        except (WrongValue, Unsupported):
            return None
        master = varied.master
        return varied if isinstance(master, MacroSteps) and master.tries_steps else None


def _is_better(one: Accuracy, other: Accuracy) -> bool:
    """True if only the first error is as small as requested, or if neither is and the first is smaller."""
    if one.met or other.met:
        return one.met and not other.met
    return (inf if one.error is None else one.error) < (inf if other.error is None else other.error)


def with_reason(plan: Plan, setting: str, value: float, reason: str) -> Plan:
    """The plan with the reason for a number that other runs determined, written so that it can be typed again."""

    def told(words: str) -> str:
        return words.replace(f"{value:g}", f"{value:.12g}")

    choices = (
        replace(one, value=told(one.value), reason=reason, place="") if one.setting == setting else one
        for one in plan.choices
    )
    return replace(plan, choices=tuple(choices))


class _Search:
    """Search for the coarsest level at which the error is at most `wanted`.

    It `gives_way` to an alternative search, if there is one, when the error does not decrease regularly or many levels
    remain.
    """

    def __init__(self, levels: RefinedRuns, wanted: float, left: Callable[[], float]) -> None:
        self.levels, self.wanted, self._left = levels, wanted, left
        self.gives_way = False
        self.found: dict[int, Accuracy] = {}
        self._following: int | None = 0
        self._spent, self._reason = 0.0, ""

    def result(self, to_the_end: bool = False) -> tuple[int, Accuracy]:
        """The level, and the accuracy of its run. If the search gives way, these are intermediate; it can continue from
        them.
        """
        began = perf_counter() - self._spent
        following: int | None = self._following
        while following is not None and not (self._is_for_another(following) and not to_the_end):
            level = following
            self.found[level] = self.levels.accuracy(level, 2 if self._fall is None else 1, reserve=1)
            following, self._reason = self._next(perf_counter() - began)
            self._following, self._spent = following, perf_counter() - began
        if self._good:
            best = min(self._good)
            return best, replace(self.found[best], wanted=self.wanted)
        best = min(self.found, key=self._error)
        parts = (self.found[best].remark, f"more than the {self.wanted:g} that was asked for", self._reason)
        return best, replace(self.found[best], remark="; ".join(filter(None, parts)), wanted=self.wanted)

    def _is_for_another(self, level: int) -> bool:
        """True if the alternative search should be tried before the next level."""
        if not self.gives_way or not self.found or self._good:
            return False
        return level > MOST_HALVINGS or any(one.remark not in ("", TOO_LARGE) for one in self.found.values())

    @property
    def _good(self) -> list[int]:
        return [level for level, one in self.found.items() if is_within(self.wanted, one.error, one.remark)]

    def _error(self, level: int) -> float:
        error = self.found[level].error
        return inf if error is None else error

    def _next(self, spent: float) -> tuple[int | None, str]:
        """The next level after these seconds; or None, and the reason if the error is too large at all levels."""
        level = self._coarser() if self._good else self._finer()
        if level is None or len(self.found) >= MOST_LEVELS:
            return None, "" if level is None else f"{MOST_LEVELS} steps or tolerances were tried"
        left = self._left()
        unlimited = left == inf
        if unlimited:
            left = max(SEARCH_SECONDS, SEARCH_RUNS * self.levels.seconds.get(0, 0.0)) - spent
        lowest = level - 1 if self._good else max(self.found)
        for one in range(level, lowest, -1):
            if self._cost(one) <= left:
                return one, ""
        some = lowest + 1
        told = f"{self.levels.words(some)} take about {_rounded(self._cost(some))} s to check"
        more = (
            f"; `--timeout {_rounded(2 * (spent + self._cost(some)))}` allows it"
            if unlimited
            else ", more than is left"
        )
        return None, told + more

    def _cost(self, level: int) -> float:
        """Time for a level [s]: its run, a finer one, and the run of the result."""
        levels = self.levels
        finer = 0.0 if level + 1 in levels.traces and not levels.adaptive else levels.expected(level + 1)
        return finer + levels.expected(level) * (1 if level in levels.traces else 2)

    @property
    def _fall(self) -> float | None:
        """Ratio of the errors of neighbouring levels, if it was observed."""
        known = [(level, one) for level, one in sorted(self.found.items()) if one.error and _falls(one)]
        if not known:
            return None
        if len(known) > 1:
            (coarse, before), (fine, after) = known[-2:]
            fall = float(((before.error or 0.0) / (after.error or inf)) ** (1 / (fine - coarse)))
        else:
            order = known[0][1].order
            fall = ASSUMED_FALL if order is None else self.levels.ratio**order
        return min(max(fall, LEAST_FALL), MOST_FALL)

    def _finer(self) -> int | None:
        """The level at which the requested error is expected; None if finer runs do not reach it."""
        finest = max(self.found)
        error = self._error(finest)
        if error == inf or self._fall is None:
            without = sum(self._error(level) == inf for level in self.found)
            return finest + 2 if without <= MOST_FAILED else None
        jump = ceil(log(error / (MARGIN * self.wanted)) / log(self._fall))
        return finest + min(max(jump, 1), LARGEST_JUMP)

    def _coarser(self) -> int | None:
        """The coarsest level at which the requested error is expected; None if there is none."""
        best = min(self._good)
        error = self._error(best)
        if self.found[best].remark == UNSEEN:
            return None
        spare = log(MARGIN * self.wanted / max(error, STRICTEST)) / log(self._fall or ASSUMED_FALL)
        below = max((level for level in self.found if level < best), default=-inf)
        level = int(max(best - max(int(spare), 0), below + 1, self._coarsest))
        return level if level < best else None

    @property
    def _coarsest(self) -> int:
        """The coarsest level that is tried."""
        levels = self.levels
        if levels.setting == "step_size":
            return ceil(-log(max(levels.plan.interval.steps / FEWEST_STEPS, 1.0), 2))
        return ceil(-log(max(LOOSEST / levels.value(0), 1.0), levels.ratio))


def _falls(one: Accuracy) -> bool:
    """True if the error decreases with smaller steps."""
    return not one.remark or one.remark.startswith(LATE)


def _rounded(seconds: float) -> str:
    return f"{float(f'{seconds:.2g}'):g}"


def has_grown(plan: Plan, trace: Trace) -> bool:
    """True if a continuous signal has grown by orders of magnitude, rightly or not."""
    return any(by > GROWN for by, _ in growth(trace, nominal_values(plan)).values())


def unrepeatable(plan: Plan, asked: bool = False) -> str:
    """Reason why the run cannot be checked by finer runs, or only if that is `asked` for; empty if it can."""
    if not plan.interval.steps:
        return "the run has no step"
    tools = [one.name for one in plan.instances if one.used_interface.needs_tool]
    if tools and not asked:
        return f"the FMU of {tools[0]} needs its tool; `--accuracy check` starts it again"
    if any(is_function(one.time_signal) for one in plan.stimuli.sources):
        return "an input is a function, which would be called again"
    return ""


def step_is_guessed(plan: Plan, asked: bool = False) -> bool:
    """True if no macro step is stated, and the run can start several times to find one."""
    guessed = any(one.setting == "step_size" and one.reason.startswith(GUESSED) for one in plan.choices)
    return guessed and plan.settings.adaptive is None and not unrepeatable(plan, asked)
