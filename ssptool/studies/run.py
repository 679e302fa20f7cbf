"""Carry out a study: try one run, do the others, store their outcomes. Also evaluates points that are chosen during a
study.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from ssptool.arguments import AccuracyName
from ssptool.errors import WrongUsage, counted, studies_need
from ssptool.rules.used_files import sha256
from ssptool.studies.accuracy import CHECK_RUNS, REMARK, is_checked, runs_to_check, wanted_accuracy
from ssptool.studies.bundle import Bundle, pack, unpack
from ssptool.studies.checking import CheckedStudy
from ssptool.studies.dataset import DEFINITION, Dataset, open_dataset
from ssptool.studies.definition import Points, RunOutcome, RunStatus, Samples, SidePoints, Study, Task
from ssptool.studies.designs import FactorValue
from ssptool.studies.forecast import (
    Forecast,
    Seconds,
    StudyPace,
    check_seconds,
    forecast_seconds,
    total_seconds,
    trial_runs,
)
from ssptool.studies.study_file import study_table
from ssptool.studies.worker import BATCH_SECONDS, Bounds, LocalWorkers, Runner, processors
from ssptool.tempfiles import TemporaryFolder
from ssptool.version import __version__

PILOT_SECONDS = 600.0
"""Time limit of the first run [s] if the study states none."""

SHORT_SECONDS = 2.0
"""Duration of work below which a cluster is not started, because its start takes longer [s]."""

LONG_SECONDS = 10.0
"""Duration above which runs use new instances, which then cost little [s]."""

TIMEOUT_TIMES, TIMEOUT_LEAST = 20.0, 30.0
"""Time limit of a run, as a multiple of the first run, and the smallest time limit [s]."""


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """Progress of a study."""

    folder: Path
    name: str
    runs: int
    completed: int
    failed: int
    notes: tuple[str, ...] = ()

    @property
    def left(self) -> int:
        return max(0, self.runs - self.completed - self.failed)

    @property
    def ok(self) -> bool:
        """True if all runs are completed."""
        return self.left == 0 and self.failed == 0


class Interrupted(Exception):
    """A study was interrupted; finished runs are kept."""

    def __init__(self, status: StudyStatus) -> None:
        super().__init__(
            f"interrupted after {status.completed + status.failed} of {counted(status.runs, 'run')}; "
            f"continue with `ssptool study resume {status.folder}`"
        )
        self.status = status


def _insecure_scheduler(address: str) -> WrongUsage:
    """Error for the address of a scheduler without TLS that the caller has not accepted."""
    return WrongUsage(
        f"the scheduler at {address} has no TLS: anyone who can reach this address can run code on its workers; "
        "use tls://HOST:PORT (docs/studies.md), or accept the risk with --insecure-scheduler "
        "(insecure_scheduler=True)"
    )


def check_scheduler(scheduler: str | Any | None, *, insecure: bool) -> None:
    """Reject an address without TLS unless the caller accepts one. Raises WrongUsage."""
    if isinstance(scheduler, str) and not insecure and not scheduler.startswith("tls://"):
        raise _insecure_scheduler(scheduler)


def run_study(
    checked: CheckedStudy,
    output: Path,
    *,
    workers: int | None,
    scheduler: str | Any | None,
    retry_failed: bool,
    announce: Callable[[Forecast], None] | None,
    progress: Callable[[float], None] | None,
) -> StudyStatus:
    """Do all runs that are not yet in the folder; see `ssptool.study`."""
    study = checked.study
    for module in ("simpleeval", "pyarrow", *(() if scheduler is None else ("distributed",))):
        studies_need(module)
    bundle = pack(checked.study, checked.points, checked.signals)
    with open_dataset(output) as dataset:
        dataset.begin(definition_of(checked, bundle), checked.points, tuple(study.results), complete=True)
        if retry_failed:
            dataset.forget_failed()
        done = dataset.finished()
        left = [number for number, run in enumerate(checked.points.ids) if run not in done]
        due = runs_due(checked, dataset)
        study_run = _StudyRun(checked, bundle, dataset, left, due, workers, scheduler, announce, progress)
        checks = study_run.out() if left or due else {}
        dataset.flush()
        dataset.gather(checks)
        status = study_status(output)
    return replace(status, notes=checked.notes)


def begin_study(checked: CheckedStudy, output: Path) -> None:
    """Write the definition of a study to its folder, unless it is already there; no run is done. Raises OtherStudy."""
    if not (output / DEFINITION).exists():
        with open_dataset(output) as dataset:
            definition = definition_of(checked, pack(checked.study, checked.points, checked.signals))
            dataset.begin(definition, checked.points, tuple(checked.study.results))


def study_status(folder: Path) -> StudyStatus:
    """Progress of the study in a folder, even while it runs. Raises UnusableFile."""
    dataset = Dataset(folder)
    definition = dataset.definition()
    found = dataset.counts()
    completed, failed = found[RunStatus.COMPLETED], found[RunStatus.FAILED]
    return StudyStatus(folder, definition["name"], definition["runs"], completed, failed)


def runs_due(checked: CheckedStudy, dataset: Dataset, best: Sequence[int] = ()) -> list[Task]:
    """Checks of finished runs that are missing; `best` are numbers of runs."""
    wanted = wanted_accuracy(checked.study)
    if wanted == AccuracyName.OFF or not dataset.parts:
        return []
    names = ("run", "number", "status", "seconds", REMARK, *(factor.name for factor in checked.study.factors))
    table = dataset.table()
    columns = {name: table[name].to_pylist() for name in names if name in table.column_names}
    completed = [row for row, status in enumerate(columns["status"]) if status == RunStatus.COMPLETED]
    if not completed or not is_checked(wanted, min(columns["seconds"][row] for row in completed)):
        return []
    rows = runs_to_check(checked.study, columns, completed, [columns["number"].index(number) for number in best])
    remarks = columns.get(REMARK, [None] * len(table))
    points = ({f.name: columns[f.name][row] for f in checked.study.factors} for row in rows)
    return [
        Task(columns["run"][row], columns["number"][row], point, check=True)
        for row, point in zip(rows, points, strict=True)
        if not remarks[row]
    ]


def most_checks(checked: CheckedStudy, seconds: float | None) -> list[int]:
    """Numbers of the points that are checked if a run takes this many seconds; None: unknown."""
    points = checked.points
    if not is_checked(wanted_accuracy(checked.study), seconds):
        return []
    return runs_to_check(checked.study, points.columns, range(len(points)))


def checks_of(outcomes: Iterable[RunOutcome]) -> dict[str, RunOutcome]:
    """Outcomes of checks by the name of their run; a failed check has a text instead of an error."""
    return {
        one.task.run: one if one.status is RunStatus.COMPLETED else replace(one, accuracy_remark=one.message)
        for one in outcomes
    }


_CarryOut = Callable[[Iterator[Task], int], Iterator[list[RunOutcome]]]
"""Function that does a number of tasks; outcomes arrive in any order."""


@dataclass(slots=True)
class _StudyRun:
    """Part of this process in a study. `due` are missing checks of runs that finished before."""

    checked: CheckedStudy
    bundle: Bundle
    dataset: Dataset
    left: list[int]
    due: list[Task]
    workers: int | None
    scheduler: str | Any | None
    announce: Callable[[Forecast], None] | None
    progress: Callable[[float], None] | None
    pace: StudyPace | None = None

    def out(self) -> dict[str, RunOutcome]:
        """Do the remaining runs, then the checks; returns the outcomes of the checks."""
        self._report_progress(0, len(self._checks(0.0)))
        try:
            with ExitStack() as stack:
                pilot = stack.enter_context(self._pilot())
                done = self._add(pilot.outcomes)
                finished = {outcome.task.number for outcome in pilot.outcomes}
                left = [number for number in self.left if number not in finished]
                expected = len(self._checks(pilot.seconds))
                self._report_progress(done, expected)
                carry_out = stack.enter_context(self._carrier(pilot, left))
                for outcomes in carry_out(self._tasks(left), len(left)):
                    done += self._add(outcomes)
                    self._announce_revised_forecast(pilot, outcomes, len(self.left) - done)
                    self._report_progress(done, expected)
                self.dataset.flush()
                return checks_of(self._checked(pilot, carry_out, done, expected))
        except KeyboardInterrupt:
            self.dataset.flush()
            raise Interrupted(study_status(self.dataset.folder)) from None

    def _checked(self, pilot: "_Pilot", carry_out: "_CarryOut", done: int, expected: int) -> Iterator[RunOutcome]:
        """Outcomes of all checks, after this number of runs."""
        due = runs_due(self.checked, self.dataset)
        finished = 0
        for outcomes in carry_out(iter(due), len(due)):
            finished += len(outcomes)
            self._announce_revised_forecast(pilot, outcomes, 0)
            self._report_progress(done + CHECK_RUNS * min(finished, expected), expected)
            yield from outcomes
        self._report_progress(done, 0)

    def _announce_revised_forecast(self, pilot: "_Pilot", outcomes: Sequence[RunOutcome], left: int) -> None:
        """Announce the study again if these outcomes deviate from the forecast."""
        if self.pace is None or self.announce is None:
            return
        wanted = wanted_accuracy(self.checked.study)
        seconds = ((pilot.at(one.task.point), one.task.check) for one in outcomes)
        work = sum(check_seconds(each, wanted) if is_check else each for each, is_check in seconds)
        if (revised := self.pace.after(work, left)) is not None:
            self.announce(revised)

    def _checks(self, seconds: float | None) -> list[int]:
        """Numbers of the runs that are checked at the end, if one takes this many seconds."""
        return most_checks(self.checked, seconds) if self.left else [task.number for task in self.due]

    def _total_seconds(self, pilot: "_Pilot", left: Sequence[int]) -> float:
        """Total duration of these runs and of all checks [s]."""
        wanted, points = wanted_accuracy(self.checked.study), self.checked.points
        runs = total_seconds(points, left, pilot.at)
        checks = (pilot.at(points.at(number)) for number in self._checks(pilot.seconds))
        return runs + sum(check_seconds(seconds, wanted) for seconds in checks)

    @contextmanager
    def _carrier(self, pilot: "_Pilot", left: Sequence[int]) -> Iterator[_CarryOut]:
        """Context with a function that does the remaining runs; in the process of the pilot run if that is soon
        finished.
        """
        if pilot.seconds is not None and self._total_seconds(pilot, left) < SHORT_SECONDS:
            self._announce_study(pilot, left, 1, 1, 0.0)
            yield lambda tasks, _: ([outcome] for outcome in pilot.runner.run(list(tasks)))
            return
        with self._on_workers(pilot, left) as carry_out:
            yield carry_out

    @contextmanager
    def _on_workers(self, pilot: "_Pilot", left: Sequence[int]) -> Iterator[_CarryOut]:
        """Context with a function that does tasks in local processes, or on the workers of a scheduler; outcomes arrive
        as they finish.
        """
        effort = self.checked.study.effort
        bounds = Bounds(pilot.timeout, effort.memory, effort.retries)
        seconds = pilot.seconds or 1.0
        if self.scheduler is None:
            signals, first = self.checked.signals, pilot.runner
            with LocalWorkers(pilot.study, signals, bounds, pilot.reuse, self.workers, first=first) as here:
                abreast = min(here.count, processors())
                self._announce_study(pilot, left, here.count, abreast, pilot.start * here.count / abreast)
                yield lambda tasks, count: here.run(tasks, count, seconds)
            return
        pilot.runner.close()
        cluster = import_module("ssptool.studies.cluster")
        with cluster.open_client(self.scheduler) as client:
            plugin = cluster.StudyPlugin(self.bundle.digest, self.bundle.content, bounds, pilot.reuse)
            threads = max(1, sum(client.nthreads().values()))
            self._announce_study(pilot, left, threads, threads, pilot.start)
            yield cluster.Batches(client, plugin, seconds).run

    def _report_progress(self, done: int, checks: int) -> None:
        """Report the progress of the study: finished runs, of all runs and this number of checks."""
        if self.progress is not None:
            total = max(1, len(self.checked.points)) + CHECK_RUNS * checks
            self.progress((len(self.checked.points) - len(self.left) + done) / total)

    def _add(self, outcomes: list[RunOutcome]) -> int:
        self.dataset.add(outcomes)
        return len(outcomes)

    def _tasks(self, numbers: list[int]) -> Iterator[Task]:
        points = self.checked.points
        return (Task(points.ids[number], number, points.at(number)) for number in numbers)

    def _announce_study(self, pilot: "_Pilot", left: Sequence[int], workers: int, abreast: int, start: float) -> None:
        """Announce the study before these runs, with the number of workers and their start time [s]."""
        if self.announce is None:
            return
        seconds = pilot.seconds
        forecast = Forecast(
            len(self.checked.points),
            len(self.left),
            seconds,
            workers,
            (*self.checked.notes, *pilot.notes),
            checks=len(self._checks(seconds)),
            work=0.0 if seconds is None else self._total_seconds(pilot, left),
            start=start,
            abreast=abreast,
        )
        self.pace = StudyPace(forecast)
        self.announce(forecast)

    @contextmanager
    def _pilot(self) -> "Iterator[_Pilot]":
        """Do the first run alone, and two with reused instances, to check that reuse does not change results."""
        effort = self.checked.study.effort
        with TemporaryFolder() as folder:
            study, signals = unpack(self.bundle.content, Path(folder))
            bounds = Bounds(effort.timeout or PILOT_SECONDS, effort.memory, effort.retries)
            with Runner(study, signals, bounds) as runner:
                yield self._run_first_tasks(runner, study)

    def _run_first_tasks(self, runner: Runner, unpacked: Study) -> "_Pilot":
        """Do the first runs. `outcomes` are those of remaining runs; empty if only checks remain."""
        pilots = list(self._tasks(self.left[:1])) or [replace(one, check=False) for one in self.due[:1]]
        pilot = self._first(runner, unpacked, replace(pilots[0], witness=True))
        return pilot if self.left else replace(pilot, outcomes=[])

    def _first(self, runner: Runner, unpacked: Study, task: Task) -> "_Pilot":
        first = next(runner.run([task]))
        study, start = self.checked.study, runner.start_seconds
        timeout = timeout_of(study, first)
        if first.status is RunStatus.FAILED:
            note = f"the first run failed: {first.message}"
            return _Pilot(runner, unpacked, [first], None, lambda _: 0.0, start, timeout, True, (note,))
        if first.seconds > LONG_SECONDS:
            at = forecast_seconds(study, first, [])
            return _Pilot(runner, unpacked, [first], first.seconds, at, start, timeout, False, ())
        trials = trial_runs(study, self.checked.points, self.left[1:], first)
        *others, again = runner.run([*self._tasks(trials), task])
        completed = [one for one in others if one.status is RunStatus.COMPLETED]
        at, start = forecast_seconds(study, again, completed), start + max(0.0, first.seconds - again.seconds)
        seconds = at(task.point)
        if again.status is RunStatus.COMPLETED and again.witness == first.witness:
            return _Pilot(runner, unpacked, [first, *others], seconds, at, start, timeout, True, ())
        runner.reset(reuse=False)
        return _Pilot(runner, unpacked, [first], seconds, at, start, timeout, False, (_NOT_AGAIN,))


@dataclass(frozen=True, slots=True)
class _Pilot:
    """Findings of the first runs.

    Attributes
    ----------
    study
        The unpacked study.
    seconds, at : [s]
        Duration of the pilot run, and of the run at a point.
    start : [s]
        Time for starting a process with its FMUs.
    timeout : [s]
        Time limit of a run.
    reuse
        True if instances are reused.
    """

    runner: Runner
    study: Study
    outcomes: list[RunOutcome]
    seconds: float | None
    at: Seconds
    start: float
    timeout: float
    reuse: bool
    notes: tuple[str, ...]


def timeout_of(study: Study, first: RunOutcome) -> float:
    """Time limit of a run [s]: that of the study (default: a multiple of the duration of the first run)."""
    if study.effort.timeout is not None:
        return study.effort.timeout
    if first.status is RunStatus.FAILED:
        return PILOT_SECONDS
    return max(TIMEOUT_LEAST, TIMEOUT_TIMES * first.seconds)


_NOT_AGAIN = (
    "FMU instances are not used again: after a reset the first run has other results; report that to the supplier of "
    "the FMUs"
)


def definition_of(checked: CheckedStudy, bundle: Bundle) -> dict[str, Any]:
    """Definition of a study, as written with its results: readable, and sufficient to recognize it."""
    study = checked.study
    traces = None if study.traces is None else asdict(study.traces)
    return {
        "name": study.name,
        "source": str(Path(study.source).resolve()) if study.source else "",
        "source_sha256": sha256(Path(study.source)) if Path(study.source).is_file() else "",
        "system": str(study.system.resolve()),
        "study": study_table(study),
        "folder": str(study.folder.resolve()),
        "runs": len(checked.points),
        "design": study.design.word,
        "factors": {f.name: {"role": f.role.value, "of": list(f.of), "unit": f.unit} for f in study.factors},
        "results": {name: expression.text for name, expression in study.results.items()},
        "fixed": {
            "settings": {name: _plain(value) for name, value in asdict(study.settings).items()},
            "variant": study.variant,
            "start_values": dict(study.start_values),
            "traces": None
            if traces is None
            else {**traces, "signals": list(study.traces.signals if study.traces else ())},
            "units": {name: dict(parts) for name, parts in study.units.items()},
        },
        "files": bundle.files,
        "units": {name: checked.units.get(name) for name in (*checked.points.columns, *study.results)},
        "accuracy": wanted_accuracy(study),
        "nominal": checked.points.at(0) if study.design.word == "one-at-a-time" else None,
        "version": __version__,
    }


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value if isinstance(value, int | float | None) else str(value)


Point = Mapping[str, FactorValue]
NO_POINTS = Points({}, ())


@dataclass(slots=True)
class Evaluations:
    """Evaluator of points on workers; see `open_evaluations`.

    Attributes
    ----------
    first
        Outcome of the first run.
    seconds : [s]
        Duration of a run.
    workers
        Worker threads, of which `abreast` have a processor.
    start : [s]
        Time for starting them with their FMUs.
    runs
        Number of runs so far.
    """

    run_tasks: Callable[[Sequence[Task]], Iterator[list[RunOutcome]]]
    first: RunOutcome
    seconds: float
    workers: int
    abreast: int
    start: float
    runs: int = 1
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __call__(self, points: Sequence[Point], samples: Samples | None = None) -> list[RunOutcome]:
        """Outcomes of the points, in order; a run that crashed or was stopped has failed."""
        tasks = [Task("", next(self._numbers), point, samples=samples) for point in points]
        self.runs += len(tasks)
        found = self.run_tasks(tasks) if tasks else ()
        by_number = {outcome.task.number: outcome for outcomes in found for outcome in outcomes}
        return [by_number[task.number] for task in tasks]

    def varied(self, point: Point, sides: tuple[SidePoints, ...], samples: Samples | None = None) -> RunOutcome:
        """The integration of the variational equations at a point; not counted in `runs`."""
        task = Task("", next(self._numbers), point, samples=samples, sides=sides)
        ((outcome,),) = self.run_tasks([task])
        return outcome

    def check(self, point: Point, samples: Samples | None = None) -> RunOutcome:
        """The run at a point with half the step, and the accuracy of the run itself; not counted in `runs`."""
        task = Task("", next(self._numbers), point, samples=samples, check=True)
        ((outcome,),) = self.run_tasks([task])
        return outcome


@contextmanager
def open_evaluations(
    study: Study,
    signals: Sequence[str],
    start: Task,
    *,
    points: Points = NO_POINTS,
    workers: int | None,
    scheduler: str | Any | None,
) -> Iterator[Evaluations]:
    """Context with processes for the runs of a study: local ones, or on the workers of a Dask scheduler.

    The first run is `start`. Its duration determines the time limit of the others, unless the study states one. Its
    repetition with a reused instance determines whether instances are reused.

    Raises
    ------
    NoWorkers
    """
    bundle = pack(study, points, tuple(signals))
    effort = study.effort
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryFolder())
        here, _ = unpack(bundle.content, Path(folder))
        bounds = Bounds(effort.timeout or PILOT_SECONDS, effort.memory, effort.retries)
        pilot = stack.enter_context(Runner(here, tuple(signals), bounds))
        first = next(pilot.run([replace(start, witness=True)]))
        bounds = Bounds(timeout_of(study, first), effort.memory, effort.retries)
        again = None if first.status is RunStatus.FAILED else next(pilot.run([first.task]))
        started = pilot.start_seconds
        reuse = again is not None and again.witness == first.witness
        # For the first run, loading the FMUs takes most of the time.
        seconds = first.seconds if again is None else again.seconds
        started += max(0.0, first.seconds - seconds)
        if scheduler is None:
            local = stack.enter_context(LocalWorkers(here, tuple(signals), bounds, reuse, workers, first=pilot))
            abreast = min(local.count, processors())
            yield Evaluations(
                lambda tasks: local.run(iter(tasks), len(tasks), BATCH_SECONDS),
                first,
                seconds,
                local.count,
                abreast,
                started * local.count / abreast,
            )
        else:
            pilot.close()
            yield stack.enter_context(_evaluation_on_dask(scheduler, bundle, bounds, reuse, first, seconds, started))


@contextmanager
def _evaluation_on_dask(
    scheduler: Any, bundle: Bundle, bounds: Bounds, reuse: bool, first: RunOutcome, seconds: float, started: float
) -> Iterator[Evaluations]:
    cluster = import_module("ssptool.studies.cluster")
    plugin = cluster.StudyPlugin(bundle.digest, bundle.content, bounds, reuse)
    with cluster.open_client(scheduler) as client:

        def do(tasks: Sequence[Task]) -> Iterator[list[RunOutcome]]:
            found: Iterator[list[RunOutcome]] = cluster.Batches(client, plugin, seconds, most=1).run(
                iter(tasks), len(tasks)
            )
            return found

        threads = max(1, sum(client.nthreads().values()))
        yield Evaluations(do, first, seconds, threads, threads, started)
