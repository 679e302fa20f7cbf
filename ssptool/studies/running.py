"""Carry out a study: check it, try a run, run the others, keep what comes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ssptool.dataclass import dataclass
from ssptool.scratch import ScratchFolder
from ssptool.studies.bundle import Bundle, pack, unpack
from ssptool.studies.checking import Checked
from ssptool.studies.dataset import DEFINITION, Dataset, open_dataset
from ssptool.studies.definition import Study
from ssptool.studies.missing_extra import studies_need
from ssptool.studies.outcome import Outcome, RunStatus, Task
from ssptool.studies.runner import Bounds, Runner
from ssptool.studies.study_table import study_table
from ssptool.version import __version__

PILOT_SECONDS = 600.0
"""That the first run may take if the study does not say."""

SHORT_SECONDS = 2.0
"""What is done in less than that is not worth a cluster, which takes longer to start."""

LONG_SECONDS = 10.0
"""Runs that take longer have fresh instances, which cost little then."""

TIMEOUT_TIMES, TIMEOUT_LEAST = 20.0, 30.0
"""A run may take so many times what the first one took, and at least so many seconds [s]."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known before most runs.

    Attributes
    ----------
    runs, left
        Of the study, and those that are not in the folder yet.
    seconds : [s]
        Of the pilot run; None if it failed.
    workers
        Threads of workers.
    """

    runs: int
    left: int
    seconds: float | None
    workers: int
    notes: tuple[str, ...]

    @property
    def duration(self) -> float | None:
        """About how long it will take [s]."""
        return None if self.seconds is None else self.left * self.seconds / self.workers


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """How far a study is."""

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
        """Whether all runs are there and completed."""
        return self.left == 0 and self.failed == 0


class Interrupted(Exception):
    """A study was stopped; what has finished is kept."""

    def __init__(self, status: StudyStatus) -> None:
        super().__init__(
            f"interrupted: {status.completed + status.failed} of {status.runs} runs are in {status.folder}; "
            "start the study again to go on"
        )
        self.status = status


def run_study(
    checked: Checked,
    output: Path,
    *,
    workers: int | None,
    scheduler: str | Any | None,
    retry_failed: bool,
    announce: Callable[[Forecast], None] | None,
    progress: Callable[[float], None] | None,
) -> StudyStatus:
    """Do all runs that are not in the folder yet; see `ssptool.study`."""
    study = checked.study
    for module in ("simpleeval", "pyarrow", "distributed"):
        studies_need(module)
    bundle = pack(checked.study, checked.points, checked.signals)
    with open_dataset(output) as dataset:
        dataset.begin(_definition(checked, bundle), checked.points, tuple(study.results))
        if retry_failed:
            dataset.forget_failed()
        done = dataset.finished()
        left = [number for number, run in enumerate(checked.points.ids) if run not in done]
        if left:
            _Carrying(checked, bundle, dataset, left, workers, scheduler, announce, progress).out()
        dataset.flush()
        dataset.gather()
        status = study_status(output)
    return replace(status, notes=checked.notes)


def begin_study(checked: Checked, output: Path) -> None:
    """Write what a study is into its folder, unless that is there already; no run is done. Raises OtherStudy."""
    if not (output / DEFINITION).exists():
        with open_dataset(output) as dataset:
            definition = _definition(checked, pack(checked.study, checked.points, checked.signals))
            dataset.begin(definition, checked.points, tuple(checked.study.results))


def study_status(folder: Path) -> StudyStatus:
    """How far the study in a folder is; also while it runs. Raises NotResults."""
    dataset = Dataset(folder)
    definition = dataset.definition()
    found = dataset.counts()
    completed, failed = found[RunStatus.COMPLETED], found[RunStatus.FAILED]
    return StudyStatus(folder, definition["name"], definition["runs"], completed, failed)


@dataclass(slots=True)
class _Carrying:
    """One process's part in a study."""

    checked: Checked
    bundle: Bundle
    dataset: Dataset
    left: list[int]
    workers: int | None
    scheduler: str | Any | None
    announce: Callable[[Forecast], None] | None
    progress: Callable[[float], None] | None

    def out(self) -> None:
        cluster = import_module("ssptool.studies.cluster")
        done = 0
        try:
            with ExitStack() as stack:
                pilot = stack.enter_context(self._pilot())
                done += self._add(pilot.outcomes)
                left = self.left[done:]
                if pilot.seconds is not None and len(left) * pilot.seconds < SHORT_SECONDS:
                    self._say(pilot, 1)
                    for outcome in pilot.runner.run(list(self._tasks(left))):
                        done += self._add([outcome])
                    return
                pilot.runner.close()
                client = stack.enter_context(cluster.open_client(self.scheduler, self.workers))
                bounds = Bounds(pilot.timeout, self.checked.study.effort.memory, self.checked.study.effort.retries)
                plugin = cluster.StudyPlugin(self.bundle.digest, self.bundle.content, bounds, pilot.reuse)
                self._say(pilot, max(1, sum(client.nthreads().values())))
                batches = cluster.Batches(client, plugin, pilot.seconds or 1.0)
                for outcomes in batches.run(self._tasks(left), len(left)):
                    done += self._add(outcomes)
                    if self.progress is not None:
                        self.progress(done / len(self.left))
        except KeyboardInterrupt:
            self.dataset.flush()
            raise Interrupted(study_status(self.dataset.folder)) from None

    def _add(self, outcomes: list[Outcome]) -> int:
        self.dataset.add(outcomes)
        return len(outcomes)

    def _tasks(self, numbers: list[int]) -> Iterator[Task]:
        points = self.checked.points
        return (Task(points.ids[number], number, points.at(number)) for number in numbers)

    def _say(self, pilot: "_Pilot", workers: int) -> None:
        if self.announce is not None:
            notes = (*self.checked.notes, *pilot.notes)
            self.announce(Forecast(len(self.checked.points), len(self.left), pilot.seconds, workers, notes))

    @contextmanager
    def _pilot(self) -> "Iterator[_Pilot]":
        """The first run, alone; and two with instances that were used before, to see that this makes no difference."""
        effort = self.checked.study.effort
        with ScratchFolder() as folder:
            study, signals = unpack(self.bundle.content, Path(folder))
            bounds = Bounds(effort.timeout or PILOT_SECONDS, effort.memory, effort.retries)
            with Runner(study, signals, bounds) as runner:
                yield self._tried(runner)

    def _tried(self, runner: Runner) -> "_Pilot":
        tasks = [replace(task, witness=True) for task in self._tasks(self.left[:2])]
        first = next(runner.run(tasks[:1]))
        timeout = timeout_of(self.checked.study, first)
        if first.status is RunStatus.FAILED:
            note = f"the first run failed: {first.message}"
            return _Pilot(runner, [first], None, timeout, True, (note,))
        if first.seconds > LONG_SECONDS:
            return _Pilot(runner, [first], first.seconds, timeout, False, ())
        others = list(runner.run([*tasks[1:], tasks[0]]))
        again = others[-1]
        if again.status is RunStatus.COMPLETED and again.witness == first.witness:
            return _Pilot(runner, [first, *others[:-1]], again.seconds, timeout, True, ())
        runner.reset(reuse=False)
        return _Pilot(runner, [first], again.seconds, timeout, False, (_NOT_AGAIN,))


@dataclass(frozen=True, slots=True)
class _Pilot:
    """What the first runs taught: `seconds` of a run [s], what one may take [s], whether instances serve again."""

    runner: Runner
    outcomes: list[Outcome]
    seconds: float | None
    timeout: float
    reuse: bool
    notes: tuple[str, ...]


def timeout_of(study: Study, first: Outcome) -> float:
    """What a run may take [s]: what the study says, else many times what the first one took."""
    if study.effort.timeout is not None:
        return study.effort.timeout
    if first.status is RunStatus.FAILED:
        return PILOT_SECONDS
    return max(TIMEOUT_LEAST, TIMEOUT_TIMES * first.seconds)


_NOT_AGAIN = (
    "FMU instances are not used again: after a reset the first run has other results; report that to the supplier of "
    "the FMUs"
)


def _definition(checked: Checked, bundle: Bundle) -> dict[str, Any]:
    """What is written of a study beside its results: readable, and enough to know it again."""
    study = checked.study
    traces = None if study.traces is None else asdict(study.traces)
    return {
        "name": study.name,
        "source": str(Path(study.source).resolve()) if study.source else "",
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
        "nominal": checked.points.at(0) if study.design.word == "one-at-a-time" else None,
        "version": __version__,
    }


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value if isinstance(value, int | float | None) else str(value)
