"""Duration of a study, told before most of its runs: from the first ones, and from the number of steps of others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ssptool.arguments import AccuracyName, WantedAccuracy
from ssptool.engine.run.refinement import AUTO_SECONDS
from ssptool.studies.accuracy import CHECK_RUNS
from ssptool.studies.definition import FactorRole, Points, RunOutcome, Study
from ssptool.studies.designs import FactorValue
from ssptool.studies.prepared import configuration, settings_of

COUNTED = ("start_time", "stop_time", "step_size")
"""Settings that the number of steps of a run follows from."""

SAMPLE = 2000
"""Points whose duration is looked at."""

TRIED_SECONDS = 5.0
"""Duration of a run up to which it is tried before the forecast, by that of the pilot run [s]."""

Point = Mapping[str, FactorValue]
Seconds = Callable[[Point], float]
"""Duration [s] of the run at a point."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of a study before most runs.

    Attributes
    ----------
    runs, left
        Of the study, and those that are not in the folder yet.
    seconds : [s]
        Of the pilot run; None if it failed.
    workers
        Threads of workers.
    checks
        Runs that are checked in the end, at most.
    work, serial : [s]
        Duration of all runs and checks that are left, one after the other; and the part of it that cannot be spread
        over workers.
    """

    runs: int
    left: int
    seconds: float | None
    workers: int
    notes: tuple[str, ...]
    checks: int = 0
    work: float = 0.0
    serial: float = 0.0

    @property
    def duration(self) -> float | None:
        """About how long it will take [s]."""
        return None if self.seconds is None else (self.work - self.serial) / self.workers + self.serial


def forecast_seconds(study: Study, seconds: float, outcomes: Sequence[RunOutcome]) -> Seconds:
    """The duration of the run at a point, from that of the pilot run and these outcomes of first runs.

    Runs whose settings differ in their number of steps are expected on a straight line: one part of their duration is
    that of all runs, the other one goes with the steps.
    """
    if not _counted(study):
        return lambda point: seconds
    pilot = outcomes[0]
    steps = _steps(study, pilot.task.point)
    each, other, last = pilot.own_seconds, outcomes[-1], steps(outcomes[-1].task.point)
    if last != 1.0:
        each = min(max((other.own_seconds - each) / (last - 1.0), 0.0), other.own_seconds / last)
    base = max(seconds - each, 0.0)
    return lambda point: base + each * steps(point)


def telling_run(study: Study, points: Points, numbers: Sequence[int], pilot: RunOutcome) -> int | None:
    """The second run to try, of these numbers: the first, or if they differ in their number of steps the longest that
    takes no more than `TRIED_SECONDS`; None if there is none.
    """
    if not numbers or not _counted(study):
        return next(iter(numbers), None)
    steps = _steps(study, pilot.task.point)
    lengths = {number: steps(points.at(number)) for number in numbers[:SAMPLE]}
    allowed = [number for number, length in lengths.items() if length * pilot.own_seconds < TRIED_SECONDS]
    return max(allowed, key=lengths.__getitem__, default=numbers[0])


def _counted(study: Study) -> list[str]:
    """Factors that the number of steps follows from."""
    return [one.name for one in study.factors if one.role is FactorRole.SETTING and one.of[0] in COUNTED]


def _steps(study: Study, pilot: Point) -> Callable[[Point], float]:
    """The number of steps of the run at a point, relative to that of the pilot run."""
    names = _counted(study)
    known: dict[tuple[FactorValue, ...], float] = {}

    def steps(point: Point) -> float:
        key = tuple(point[name] for name in names)
        if key not in known:
            known[key] = relative_steps(study, point, pilot)
        return known[key]

    return steps


def total_seconds(points: Points, numbers: Sequence[int], at: Seconds) -> float:
    """Duration of the runs with these numbers, one after the other [s]; of very many, from a sample of them."""
    if len(numbers) > SAMPLE:
        chosen = np.random.default_rng(1).choice(len(numbers), SAMPLE, replace=False).tolist()
        return len(numbers) / SAMPLE * total_seconds(points, [numbers[place] for place in chosen], at)
    return sum(at(points.at(number)) for number in numbers)


def check_seconds(seconds: float, wanted: WantedAccuracy) -> float:
    """Duration of the check of a run that takes so many seconds."""
    whole = CHECK_RUNS * seconds
    return min(whole, seconds + AUTO_SECONDS) if wanted == AccuracyName.AUTO else whole


def relative_steps(study: Study, point: Point, pilot: Point) -> float:
    """The number of macro steps of the run at a point, relative to that of the pilot run."""
    settings = [settings_of(study, configuration(study, one)) for one in (point, pilot)]
    ends = [(one.start_time or 0.0, one.stop_time, one.step_size) for one in settings]
    spans = [1.0 if stop is None else stop - start for start, stop, _ in ends]
    sizes = [1.0 if size is None else size for _, _, size in ends]
    return spans[0] / spans[1] * sizes[1] / sizes[0]
