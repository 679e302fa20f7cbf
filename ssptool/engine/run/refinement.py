"""Finer runs of a system, and the accuracy of a run that they show."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import inf, sqrt
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ssptool.engine.failure import Ending, Failure, Unsupported
from ssptool.engine.ode.integrator import Integrator
from ssptool.engine.planning.fixed_steps import bound_to_steps
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import (
    ROUNDING,
    Accuracy,
    AccuracyLimit,
    AccuracyMethod,
    estimated,
    extent,
    first_late,
    grown_apart,
    noticed_jumps,
    numbers_of,
    points_before,
    with_larger,
)
from ssptool.engine.run.own_grids import own_grid
from ssptool.engine.settings import Choice, Settings
from ssptool.engine.trace import Floats, Trace
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmiError
from ssptool.work_in_progress import NOTHING, tell

AUTO_SECONDS = 4.0
"""Largest expected time of finer runs without a request [s]: one run with half the step if the run takes two seconds.
"""

STRICTEST = 1e-12
"""Smallest relative tolerance of an integrator that rounding allows."""

MOST_MET = 240
"""Largest number of communication points of adaptive runs that are compared."""

MOST_CELLS = 5e7
"""Largest number of values in the trace of a finer run, which is kept in memory: 400 MB."""

OVERDUE, LEAST_SECONDS = 3.0, 10.0
"""A finer run of a search is stopped after this multiple of its expected time, but not before this number of seconds.
"""

EXCHANGE_TOLERANCE = 1e-9
"""Tolerance of the integrator if all components are integrated as one ODE for comparison."""

AS_LARGE = 1.5
"""Ratio to the error from finer steps above which the error from model exchange counts as a different error."""


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
        self.plan, self._replan, self.carry_out, self._left = plan, replan, carry_out, left
        self.traces: dict[int, Trace] = {}
        self._substeps: Choice | None = None
        self._failures: dict[int, Failure | None] = {}
        self.seconds: dict[int, float] = {}
        self._of_points = frozenset(str(plan.signals[slot]) for slot in plan.slots_of_points)
        self.adaptive = plan.settings.adaptive is not None
        self.ratio, self._times = (10.0, 10 ** (1 / 4)) if plan.is_one_ode else (2.0, 2.0)
        self.setting, self._own, self.method = "step_size", plan.interval.step, AccuracyMethod.HALVED
        if self.adaptive:
            self.setting, self._own, self.method = "adaptive", plan.settings.adaptive or 0.0, AccuracyMethod.ADAPTIVE
            self.ratio, self._times = 10.0, sqrt(10)  # order 1: the error of a step is proportional to its square
        elif self.ratio == 10.0 and isinstance(plan.master, Integrator):
            self.setting, self._own, self.method = "tolerance", plan.master.rtol, AccuracyMethod.TOLERANCE

    def search_within(self, left: Callable[[], float]) -> None:
        """Take `left` as the remaining time, and stop runs that leave none of it for the result."""
        self._left, self.bounded = left, True

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
            found = self._trace(more, left, compared_times(base) if self.adaptive else ())
            if isinstance(found, str):
                if len(traces) == 1:
                    return self._apart(traces, more) or Accuracy(remark=found)
                break
            traces.append(found)
        steps = [self.value(level + each) for each in range(len(traces))]
        if (apart := self._apart(traces, level + len(traces) - 1)) is not None:
            return replace(apart, method=self.method, steps=tuple(steps))
        compared = self._estimated(traces, self.method, steps)
        if self.setting == "tolerance" or (compared.error is None and compared.limit is not AccuracyLimit.UNSEEN):
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
        noticed equally late, if that is larger.
        """
        # Adaptive runs may notice a jump at different points, and late by the same time all the same.
        examined = [traces[-1]] * 2 if self.adaptive else traces
        parts = chain(self._parts(examined), self._at_points(examined))
        found_in = (noticed_jumps(part, self.plan.interval.step) for part in parts)
        jumps = tuple(sorted(chain.from_iterable(found_in)))
        if not jumps:
            return found
        points = {*points_before(jumps), *(compared_times(traces[0]) if self.adaptive else ())}
        closer = self._cannot_stop() or self._trace(level, reserve, tuple(sorted(points)))
        if isinstance(closer, str):
            unknown = f"a jump of {jumps[0].signal} at {jumps[0].time:.6g} s may be noticed late: {closer}"
            perhaps = replace(found, remark=unknown, limit=AccuracyLimit.PERHAPS_LATE)
            return perhaps if not found.remark or found.limit is AccuracyLimit.UNSEEN else found
        late = self._estimated([traces[0], closer], self.method, found.steps)
        ratio = AS_LARGE if self.adaptive else 1.0  # the points change the choice of the other steps, too
        if late.error is None or late.error <= ratio * (found.error or 0.0):
            return with_larger(found, late, ratio)
        late = with_larger(late, found)
        jump = first_late(jumps, closer)
        told = f"a jump of {jump.signal} at {jump.time:.6g} s is noticed late"
        return replace(late, steps=found.steps, remark=told, limit=AccuracyLimit.LATE)

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
        if self.setting == "tolerance":
            return found
        base = self.traces.get(level)
        exchange = all(one.description.model_exchange is not None for one in self.plan.instances)
        twin = None if base is None or not exchange else self._exchanged(level)
        if base is None or twin is None or _values_of(self._recorded(base)) != _values_of(self._recorded(twin)):
            return self.with_own_grid(found)
        steps = (self.plan.interval.step if self.adaptive else self.value(level), EXCHANGE_TOLERANCE)
        other = self._estimated([base, twin], AccuracyMethod.MODEL_EXCHANGE, steps)
        if other.error is None or (found.error is not None and other.error <= AS_LARGE * found.error):
            return with_larger(found, other, AS_LARGE)
        larger = with_larger(other, found, 1 / AS_LARGE)
        seen = other.remark or other.error <= ROUNDING
        return larger if seen else replace(larger, limit=AccuracyLimit.INSIDE)

    def with_own_grid(self, found: Accuracy) -> Accuracy:
        """The accuracy `found` of a level, with a remark on an output that changes on a grid of its FMU in the finest
        run: it may integrate on this grid, or sample.
        """
        finest = max(self.traces, default=None)
        grid = None if finest is None or found.blown_up else own_grid(self.plan, self.traces[finest])
        if grid is None:
            return found
        if found.limit in (AccuracyLimit.NONE, AccuracyLimit.UNSEEN):
            return replace(found, remark=str(grid), limit=AccuracyLimit.OWN_GRID)
        return replace(found, remark=f"{found.remark}; {grid}")

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
            trace, failure, _ = self.carry_out(self._replan(settings=settings), (), most)
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
            return f"{self.words(level)} take about {rounded_seconds(expected)} s, more than is left"
        tell(f"checking the accuracy: {self.words(level)}")
        began = perf_counter()
        try:
            trace, failure, plan = self.carry_out(self.planned(level), met, self._most(level))
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


def rounded_seconds(seconds: float) -> str:
    """Text for a duration with two digits."""
    return f"{float(f'{seconds:.2g}'):g}"


def nominal_values(plan: Plan) -> dict[str, float]:
    """Nominal values of signals by name."""
    return {str(signal): plan.nominal[slot] for slot, signal in enumerate(plan.signals) if slot < len(plan.nominal)}


def _values_of(trace: Trace) -> list[tuple[str, str]]:
    """Signals of a trace with their types. It is not compared whether the value of an output is passed on unchanged,
    because this depends on how its component is stepped.
    """
    return [(column.signal, column.type) for column in trace.columns]


def compared_times(trace: Trace) -> tuple[float, ...]:
    """Some communication points [s], or all of them if they are few.

    A third of them is evenly selected. A third is even in time, since most of the points may lie where steps are
    smallest. At the others, signals turn back the farthest: a stiff coupling may ring in some steps, and these may be
    few.
    """
    points = trace if trace.points is None else trace.rows(trace.points)
    points = points.rows(np.append(points.t[1:] > points.t[:-1], True))
    t = points.t
    if len(t) <= MOST_MET:
        return tuple(t.tolist())
    third = MOST_MET // 3
    every = np.linspace(0, len(t) - 1, third).round().astype(int)
    later = np.searchsorted(t, np.linspace(t[0], t[-1], third))
    turns = np.argsort(_turns(points))[-third:]
    return tuple(t[np.unique(np.concatenate((every, later, turns)))].tolist())


def _turns(trace: Trace) -> Floats:
    """Size (n,) of the change of continuous signals, relative to their range, that is undone by the next one."""
    found = np.zeros(len(trace.t))
    for place, column in enumerate(trace.columns):
        if column.held or not column.real:
            continue
        values = numbers_of(column, trace.cells[:, place], trace)
        with np.errstate(invalid="ignore"):
            before, after = np.diff(values)[:-1], np.diff(values)[1:]
            turned = np.where(before * after < 0, np.minimum(np.abs(before), np.abs(after)), 0.0)
        found[1:-1] = np.fmax(found[1:-1], turned / (extent(values) or inf))
    return found
