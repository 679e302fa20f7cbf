"""Forecast of the duration of a study: from its first runs and the number of steps of the others, later from its
pace.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from ssptool.arguments import AccuracyName, WantedAccuracy
from ssptool.engine.run.refinement import AUTO_SECONDS
from ssptool.errors import counted
from ssptool.studies.accuracy import CHECK_RUNS
from ssptool.studies.definition import FactorRole, Points, RunOutcome, Study
from ssptool.studies.designs import FactorValue
from ssptool.studies.prepared import configuration, settings_of

COUNTED = ("start_time", "stop_time", "step_size")
"""Settings that determine the number of steps of a run."""

SAMPLE = 2000
"""Number of points in the sample for the duration."""

TRIED_SECONDS = 5.0
"""Longest expected duration of a trial run before the forecast [s]."""

TRIAL_RUNS, TRIAL_SECONDS = 8, 0.4
"""Limits of trial runs: short runs are tried until there are this many, or until they take this long [s], because a
single one says little on a busy machine.
"""

Point = Mapping[str, FactorValue]
Seconds = Callable[[Point], float]
"""Function: point → duration of its run [s]."""


ROUGH_SECONDS = 10.0
"""Duration below which a study takes "a few seconds" [s], because any figure would be wrong on a busy machine."""

PACE_SECONDS = 2.0
"""Time after which the pace of the runs is compared with the forecast [s]."""

LOOK_SECONDS = 0.1
"""Interval of checks of the pace [s]."""

PACE_RUNS = 2
"""Number of runs of each worker before the pace is compared."""

WINDOW_RUNS = 8
"""Number of runs of each worker that determine the recent pace."""

PACE_FACTOR, EARLY_FACTOR = 1.5, 2.0
"""Ratio of the pace to the forecast above which the forecast is revised; the second one applies before `WINDOW_RUNS`.
"""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of a study, made before most of its runs, or during the runs if their pace differs from the forecast.

    Attributes
    ----------
    runs, left
        Number of runs of the study, and of those that are not yet in the folder.
    seconds : [s]
        Duration of a run; None if the first one failed.
    workers
        Worker threads, of which `abreast` have a processor.
    checks
        Largest number of runs that are checked at the end.
    work, serial : [s]
        Total duration of all remaining runs and checks, and the part of it that cannot be distributed over workers.
    start : [s]
        Time for starting the workers with their FMUs.
    at_most
        True if the study may end before all runs are done.
    revised
        True if this forecast follows from the pace of the runs and replaces an earlier one.
    integrations
        Largest number of integrations of a descent with derivatives, if this is the forecast of that descent; `seconds`
        is the duration of an integration.
    """

    runs: int
    left: int
    seconds: float | None
    workers: int
    notes: tuple[str, ...]
    checks: int = 0
    work: float = 0.0
    serial: float = 0.0
    start: float = 0.0
    abreast: int = 0
    at_most: bool = False
    revised: bool = False
    integrations: int = 0

    @property
    def parallel(self) -> int:
        """Number of runs that advance at the same time."""
        return max(1, self.abreast or self.workers)

    @property
    def duration(self) -> float | None:
        """Duration of the rest of the study [s], with an error of some seconds on a busy machine; None if unknown."""
        if self.seconds is None:
            return None
        spread = (self.work - self.serial) / self.parallel
        return self.start + self.serial + max(spread, min(self.seconds, self.work - self.serial))

    @property
    def words(self) -> str:
        """Text of the duration with two digits; empty if unknown."""
        if self.duration is None:
            return ""
        about = "a few seconds" if self.duration < ROUGH_SECONDS else f"about {_duration_text(self.duration)}"
        return f"at most {about}" if self.at_most else about

    def __str__(self) -> str:
        """Text of the forecast, as the command prints it."""
        if self.integrations:
            each = "" if self.seconds is None else f" of {_duration_text(self.seconds)} each"
            what = f"{counted(self.integrations, 'integration')} of the variational equations"
            return f"descent from the best run: {self.words} (at most {what}{each})"
        if self.revised:
            return f"{self.words} left, by the pace of the runs so far"
        done = self.runs - self.left
        lines = [f"{done} of {counted(self.runs, 'run')} already done" if done else counted(self.runs, "run")]
        if self.checks:
            lines.append(f"{counted(self.checks, 'run')} at most repeated with smaller steps, to check the accuracy")
        if self.seconds is not None:
            lines.append(f"{self.words} ({self.workers} at a time, {_duration_text(self.seconds)} each)")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _duration_text(seconds: float) -> str:
    """Text of a duration with two digits and a suitable unit."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= size:
            return f"{_two_digits(seconds / size)} {unit}"
    return f"{_two_digits(1e3 * seconds)} ms"


def _two_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2g}"


class StudyPace:
    """Pace of the runs of a study, compared with its forecast.

    Parameters
    ----------
    clock
        Returns the present time [s].
    """

    def __init__(self, forecast: Forecast, clock: Callable[[], float] = perf_counter) -> None:
        self._forecast = forecast
        self._clock = clock
        self._began = clock()
        self._points = deque([(forecast.start, 0.0)])
        self._done = 0.0
        self._told = 1.0

    def after(self, seconds: float, left: int) -> Forecast | None:
        """A revised forecast after runs with this total forecast duration, with `left` remaining runs; None while the
        last forecast is valid.
        """
        first, elapsed = self._forecast, self._clock() - self._began
        self._done += seconds
        if elapsed > self._points[-1][0] + LOOK_SECONDS:
            self._points.append((elapsed, self._done))
        if first.seconds is None or elapsed < PACE_SECONDS:
            return None
        under_way = first.parallel * first.seconds
        if self._done < PACE_RUNS * under_way:
            return None
        ratio = self._recent(elapsed, under_way) * first.parallel
        work = max(0.0, first.work - self._done)
        revised = replace(
            first,
            left=left,
            seconds=ratio * first.seconds,
            notes=(),
            work=ratio * work,
            serial=ratio * min(first.serial, work),  # the last part is sequential
            start=0.0,
            revised=True,
        )
        rest = revised.duration or 0.0
        short = self._told == 1.0 and (first.duration or 0.0) < ROUGH_SECONDS
        factor = EARLY_FACTOR if self._done < WINDOW_RUNS * under_way else PACE_FACTOR
        change = ratio / self._told
        wrong = elapsed + rest > PACE_FACTOR * ROUGH_SECONDS if short else not 1.0 / factor < change < factor
        if not wrong or rest < ROUGH_SECONDS:
            return None
        self._told = ratio
        return revised

    def _recent(self, elapsed: float, under_way: float) -> float:
        """Time per second of forecast work: over the last third of the time if it contains enough runs, otherwise over
        all.
        """
        while len(self._points) > 2 and self._points[1][0] <= elapsed * 2.0 / 3.0:
            self._points.popleft()
        since, done = self._points[0]
        if self._done - done < WINDOW_RUNS * under_way:
            # Runs in progress are half done on average.
            since, done = self._forecast.start, -under_way / 2.0
        return max(elapsed - since, 0.1 * elapsed) / (self._done - done)


def forecast_seconds(study: Study, again: RunOutcome, others: Sequence[RunOutcome]) -> Seconds:
    """Function for the duration of the run at a point, from the durations of the pilot run and of trial runs.

    If runs differ in their number of steps, their duration is the sum of a constant part and a part proportional to the
    steps. Other runs are expected to take the mean duration.
    """
    each = again.own_seconds
    base = max(again.seconds - each, 0.0)
    if not _counted(study):
        mean = base + float(np.mean([each, *(one.own_seconds for one in others)]))
        return lambda point: mean
    steps = _steps(study, again.task.point)
    if others and (last := steps(others[-1].task.point)) != 1.0:
        most = others[-1].own_seconds / last
        each = min(max((others[-1].own_seconds - each) / (last - 1.0), 0.0), most)
        base = max(again.seconds - each, 0.0)
    return lambda point: base + each * steps(point)


def trial_runs(study: Study, points: Points, numbers: Sequence[int], pilot: RunOutcome) -> list[int]:
    """Runs to try after the pilot run, from these numbers.

    If the runs differ in their number of steps, this is the longest that takes no more than `TRIED_SECONDS`. Otherwise
    it is one run, or several short ones that are spread over the design.
    """
    if not numbers:
        return []
    if not _counted(study):
        few = max(1, len(numbers) // 4)
        count = min(TRIAL_RUNS, max(1, int(TRIAL_SECONDS / max(pilot.own_seconds, 1e-4))), few)
        return [numbers[place * len(numbers) // count] for place in range(count)]
    steps = _steps(study, pilot.task.point)
    lengths = {number: steps(points.at(number)) for number in numbers[:SAMPLE]}
    allowed = [number for number, length in lengths.items() if length * pilot.own_seconds < TRIED_SECONDS]
    return [max(allowed, key=lengths.__getitem__, default=numbers[0])]


def _counted(study: Study) -> list[str]:
    """Factors that determine the number of steps."""
    return [one.name for one in study.factors if one.role is FactorRole.SETTING and one.of[0] in COUNTED]


def _steps(study: Study, pilot: Point) -> Callable[[Point], float]:
    """Function: point → number of steps of its run, relative to the pilot run."""
    names = _counted(study)
    known: dict[tuple[FactorValue, ...], float] = {}

    def steps(point: Point) -> float:
        key = tuple(point[name] for name in names)
        if key not in known:
            known[key] = relative_steps(study, point, pilot)
        return known[key]

    return steps


def total_seconds(points: Points, numbers: Sequence[int], at: Seconds) -> float:
    """Total duration of the runs with these numbers [s]; for very many runs from a sample."""
    if len(numbers) > SAMPLE:
        chosen = np.random.default_rng(1).choice(len(numbers), SAMPLE, replace=False).tolist()
        return len(numbers) / SAMPLE * total_seconds(points, [numbers[place] for place in chosen], at)
    return sum(at(points.at(number)) for number in numbers)


def check_seconds(seconds: float, wanted: WantedAccuracy) -> float:
    """Duration of the check of a run that takes this many seconds."""
    whole = CHECK_RUNS * seconds
    return min(whole, seconds + AUTO_SECONDS) if wanted == AccuracyName.AUTO else whole


def relative_steps(study: Study, point: Point, pilot: Point) -> float:
    """Number of macro steps of the run at a point, relative to the pilot run."""
    settings = [settings_of(study, configuration(study, one)) for one in (point, pilot)]
    ends = [(one.start_time or 0.0, one.stop_time, one.step_size) for one in settings]
    spans = [1.0 if stop is None else stop - start for start, stop, _ in ends]
    sizes = [1.0 if size is None else size for _, _, size in ends]
    return spans[0] / spans[1] * sizes[1] / sizes[0]
