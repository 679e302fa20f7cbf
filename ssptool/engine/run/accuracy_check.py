"""Check of the accuracy of a run, and search for the coarsest run with a requested accuracy."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, inf, log
from time import perf_counter
from typing import Any, NamedTuple

from ssptool.engine.failure import Unsupported
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.accuracy import (
    ASSUMED_FALL,
    LEAST_FALL,
    UNCHECKED,
    Accuracy,
    AccuracyLimit,
    growth,
    is_within,
    size_of,
)
from ssptool.engine.run.macro_steps import MacroSteps
from ssptool.engine.run.refinement import (
    AUTO_SECONDS,
    LEAST_SECONDS,
    STRICTEST,
    CarryOut,
    RefinedRuns,
    nominal_values,
    rounded_seconds,
)
from ssptool.engine.run.unresolved_growth import GROWN
from ssptool.engine.settings import StepDefault
from ssptool.engine.stimuli.time_signals import is_function
from ssptool.engine.trace import Trace
from ssptool.errors import WrongValue

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

MOST_FALL = 64.0
"""Largest ratio of the errors of neighbouring levels that a prediction assumes."""

MOST_FAILED = 3
"""Number of levels without an estimate after which a search ends."""

MARGIN = 0.7
"""Fraction of the requested error that a search aims at."""

MOST_HALVINGS = 5
"""Number of halvings of fixed steps after which adaptive steps are tried first, if they are allowed."""


DEFAULT_ERROR = 1e-2
"""Error, relative to the range of a signal, above which a step that nobody states is refined."""

DEFAULT_RUNS = 8
"""Time for this: at least AUTO_SECONDS, or this multiple of the time of the first run."""


class Refined(NamedTuple):
    """A setting that finer runs determined, in place of a default: its value, and the reason."""

    setting: str
    value: float
    reason: str

    def in_plan(self, plan: Plan, replan: Callable[..., Plan]) -> Plan:
        """The plan with this setting."""
        changed: dict[str, Any] = {self.setting: self.value}
        settings = replace(plan.settings, **changed)
        return with_reason(replan(settings=settings), self.setting, self.value, self.reason)


class Examined(NamedTuple):
    """Accuracy of a run, and the finer runs that showed it, if there are any."""

    accuracy: Accuracy
    levels: RefinedRuns | None = None


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
    refined
        Setting of that run in place of a default; None: it had the default.
    only_growth
        True if only a coupling that has blown up is of interest; other runs are not checked.
    """

    replan: Callable[..., Plan]
    asked: bool = False
    wanted: float | None = None
    earlier: Accuracy | None = None
    refined: Refined | None = None
    only_growth: bool = False

    def of(
        self, plan: Plan, trace: Trace | None, seconds: float, carry_out: CarryOut, left: Callable[[], float]
    ) -> Accuracy:
        """The accuracy of a run that took `seconds` [s] and gave this trace; `left` returns the remaining time [s]."""
        return self.examined(plan, trace, seconds, carry_out, left).accuracy

    def examined(
        self, plan: Plan, trace: Trace | None, seconds: float, carry_out: CarryOut, left: Callable[[], float]
    ) -> Examined:
        """The accuracy of a run, as in `of`, and the finer runs."""
        if reason := unrepeatable(plan, self.asked):
            return Examined(UNCHECKED if self.only_growth else Accuracy(remark=reason))
        # However far the system itself may grow, the reader cannot see whether such values are right.
        far = trace is not None and has_grown(plan, trace)
        if self.only_growth and not (far and any(group.unknowns for group in plan.groups)):
            return Examined(UNCHECKED)
        asked = self.asked or far
        if self.earlier is not None and not far:
            return Examined(Accuracy(remark=f"a run with these settings was checked: {self.earlier}"))
        end = perf_counter() + (inf if asked else AUTO_SECONDS)
        levels = RefinedRuns(plan, self.replan, carry_out, lambda: min(left(), end - perf_counter()))
        levels.seconds[0] = seconds
        whole = levels.expected(1) + levels.expected(2)
        if trace is None or (not asked and levels.expected(1) > AUTO_SECONDS):
            return Examined(Accuracy(remark=f"`--accuracy check` takes about {rounded_seconds(whole)} s"))
        levels.traces[0] = trace
        if self.only_growth:
            found = levels.accuracy(0, finer=1)
            return Examined(found if found.blown_up else UNCHECKED)
        return Examined(levels.inside(0, levels.accuracy(0)), levels)

    def instead(self, plan: Plan, examined: Examined, left: Callable[[], float]) -> tuple[Plan, Accuracy] | None:
        """The plan with smaller steps, and its accuracy, if the step is only a default whose error is too large. None:
        the step remains, because its error is small, or because smaller steps do not halve it in a limited time.
        """
        coarse, levels = examined
        too_large = coarse.blown_up or (coarse.error or 0.0) > DEFAULT_ERROR
        if levels is None or not too_large or coarse.limit is AccuracyLimit.INSIDE or not step_is_default(plan):
            return None
        end = perf_counter() + max(AUTO_SECONDS, DEFAULT_RUNS * levels.seconds[0])

        def rest() -> float:
            return min(left(), end - perf_counter())

        levels.search_within(rest)
        levels, level, found, _ = self._searched(levels, DEFAULT_ERROR, rest, MOST_HALVINGS)
        if found.error is None or found.blown_up or found.error > 0.5 * (inf if coarse.blown_up else coarse.error or 0):
            return None
        size = "an unstable coupling" if coarse.blown_up else f"an error of {size_of(coarse.error or 0.0)}"
        default = f"the default step of {plan.interval.step:g} s"
        found = levels.with_own_grid(found)
        accuracy = replace(found, wanted=None, default=f"{default} gives {size}")
        chosen = levels.planned(level, logs=True)
        return with_reason(chosen, levels.setting, levels.value(level), accuracy.default), accuracy

    def search(self, plan: Plan, carry_out: CarryOut, left: Callable[[], float]) -> tuple[Plan, Accuracy]:
        """The plan of the coarsest run whose error is at most the requested one, with its accuracy; if none is found,
        the best one.
        """
        assert self.wanted is not None
        if reason := unrepeatable(plan, asked=True):
            return plan, Accuracy(remark=reason, wanted=self.wanted)
        levels = RefinedRuns(plan, self.replan, carry_out, left, bounded=True)
        levels, level, accuracy, reason = self._searched(levels, self.wanted, left)
        accuracy = replace(accuracy, wanted=self.wanted)
        if not accuracy.met:
            parts = (accuracy.remark, f"more than the {self.wanted:g} that was asked for", reason)
            accuracy = replace(accuracy, remark="; ".join(filter(None, parts)))
        accuracy = replace(levels.inside(level, accuracy), wanted=self.wanted)
        chosen = levels.planned(level, logs=True)
        reason = f"chosen for an accuracy of {self.wanted:g}{'' if accuracy.met else ', which is not reached'}"
        return with_reason(chosen, levels.setting, levels.value(level), reason), accuracy

    def _searched(
        self, levels: RefinedRuns, wanted: float, left: Callable[[], float], finest: float = inf
    ) -> tuple[RefinedRuns, int, Accuracy, str]:
        """The runs with fixed or adaptive steps that reach the requested error, or come closest to it: the level, its
        accuracy, and the reason if it is not reached. `finest` is the last level of fixed steps.
        """
        search = _Search(levels, wanted, left, finest)
        varied = self._varied(levels.plan, wanted)
        search.gives_way = varied is not None
        found = search.result()
        if varied is not None and not found[1].met:
            longest = max(LEAST_SECONDS, SEARCH_RUNS * levels.seconds.get(0, 0.0))
            kept = levels.expected(found[0])

            def rest() -> float:
                return left() - kept

            others = RefinedRuns(varied, self.replan, levels.carry_out, rest, bounded=True, longest=longest)
            adaptive = _Search(others, wanted, rest)
            other = adaptive.result()
            if not other[1].met:
                found = search.result(to_the_end=True)
            if _is_better(other[1], found[1]):
                search, found = adaptive, other
        return search.levels, *found

    def _varied(self, plan: Plan, wanted: float) -> Plan | None:
        """The plan with adaptive steps for the requested error; None if adaptive steps are not possible, or if a step
        size was requested.
        """
        settings = plan.settings
        if plan.is_one_ode or settings.adaptive is not None or settings.step_size is not None:
            return None
        try:
            varied = self.replan(settings=replace(settings, adaptive=wanted))
        except (WrongValue, Unsupported):
            return None
        master = varied.master
        return varied if isinstance(master, MacroSteps) and master.tries_steps else None


def _is_better(one: Accuracy, other: Accuracy) -> bool:
    """True if only the first error is as small as requested, or if neither is and the first is smaller."""
    if one.met or other.met:
        return one.met and not other.met
    return (inf if one.error is None else one.error) < (inf if other.error is None else other.error)


def with_reason(plan: Plan, setting: str, value: float, reason: str, default: StepDefault | None = None) -> Plan:
    """The plan with the reason for a number that other runs determined, written so that it can be typed again."""

    def told(words: str) -> str:
        return words.replace(f"{value:g}", f"{value:.12g}")

    choices = (
        replace(one, value=told(one.value), reason=reason, place="", default=default) if one.setting == setting else one
        for one in plan.choices
    )
    return replace(plan, choices=tuple(choices))


class _Search:
    """Search for the coarsest level at which the error is at most `wanted`.

    It `gives_way` to an alternative search, if there is one, when the error does not decrease regularly or many levels
    remain.
    """

    def __init__(self, levels: RefinedRuns, wanted: float, left: Callable[[], float], finest: float = inf) -> None:
        self.levels, self.wanted, self._left, self._finest = levels, wanted, left, finest
        self.gives_way = False
        self.found: dict[int, Accuracy] = {}
        self._following: int | None = 0
        self._spent, self._reason = 0.0, ""

    def result(self, to_the_end: bool = False) -> tuple[int, Accuracy, str]:
        """The level, the accuracy of its run, and the reason if it is not the requested one. If the search gives way,
        these are intermediate; it can continue from them.
        """
        began = perf_counter() - self._spent
        following: int | None = self._following
        while following is not None and not (self._is_for_another(following) and not to_the_end):
            level = following
            self.found[level] = self.levels.accuracy(level, 2 if self._fall is None else 1, reserve=1)
            following, self._reason = self._next(perf_counter() - began)
            self._following, self._spent = following, perf_counter() - began
        best = min(self._good) if self._good else min(self.found, key=self._error)
        return best, replace(self.found[best], wanted=self.wanted), self._reason

    def _is_for_another(self, level: int) -> bool:
        """True if the alternative search should be tried before the next level."""
        if not self.gives_way or not self.found or self._good:
            return False
        return level > MOST_HALVINGS or any(
            one.remark and one.limit is not AccuracyLimit.TOO_LARGE for one in self.found.values()
        )

    @property
    def _good(self) -> list[int]:
        return [level for level, one in self.found.items() if is_within(self.wanted, one.error, one.limit)]

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
        told = f"{self.levels.words(some)} take about {rounded_seconds(self._cost(some))} s to check"
        more = (
            f"; `--timeout {rounded_seconds(2 * (spent + self._cost(some)))}` allows it"
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
        if finest >= self._finest:
            return None
        jump = 2
        if error < inf and self._fall is not None:
            jump = max(ceil(log(error / (MARGIN * self.wanted)) / log(self._fall)), 1)
        elif sum(self._error(level) == inf for level in self.found) > MOST_FAILED:
            return None
        return int(min(finest + min(jump, LARGEST_JUMP), self._finest))

    def _coarser(self) -> int | None:
        """The coarsest level at which the requested error is expected; None if there is none."""
        best = min(self._good)
        error = self._error(best)
        if self.found[best].limit is AccuracyLimit.UNSEEN:
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
    return not one.remark or one.limit in (AccuracyLimit.LATE, AccuracyLimit.PERHAPS_LATE)


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


def step_is_default(plan: Plan) -> bool:
    """True if neither the user nor the system nor an FMU states the macro step, and it is not adaptive."""
    return _has_default_step(plan, *StepDefault) and not plan.is_one_ode


def step_is_guessed(plan: Plan, asked: bool = False) -> bool:
    """True if no macro step is stated, and the run can start several times to find one."""
    return _has_default_step(plan, StepDefault.GUESSED) and not unrepeatable(plan, asked)


def _has_default_step(plan: Plan, *kinds: StepDefault) -> bool:
    """True if the steps have a fixed size that is a default of one of these kinds."""
    return plan.settings.adaptive is None and any(one.default in kinds for one in plan.choices)
