"""Runs of a study at points that somebody chooses while it goes on: isolated from this process, several at a time."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from ssptool.scratch import ScratchFolder
from ssptool.studies.bundle import Bundle, pack, unpack
from ssptool.studies.definition import Study
from ssptool.studies.outcome import Outcome, RunStatus, Samples, Task
from ssptool.studies.points import Points
from ssptool.studies.runner import Bounds, Runner
from ssptool.studies.running import PILOT_SECONDS, timeout_of
from ssptool.studies.sources import Setting
from ssptool.studies.workers import processors

Point = Mapping[str, Setting]


class _Doing(Protocol):
    def __call__(self, tasks: Sequence[Task]) -> list[Outcome]: ...


class Evaluations:
    """Evaluates points; see `open_evaluations`. `runs` counts them."""

    def __init__(self, do: _Doing, first: Outcome) -> None:
        self._do = do
        self._numbers = count(1)
        self.first = first
        self.runs = 1

    def __call__(self, points: Sequence[Point], samples: Samples | None = None) -> list[Outcome]:
        """An outcome for each point, in order; that of a run which crashed or was stopped has failed."""
        tasks = [Task("", next(self._numbers), point, samples=samples) for point in points]
        self.runs += len(tasks)
        by_number = {outcome.task.number: outcome for outcome in self._do(tasks)} if tasks else {}
        return [by_number[task.number] for task in tasks]


@contextmanager
def open_evaluations(
    study: Study,
    signals: Sequence[str],
    start: Point,
    *,
    workers: int | None,
    scheduler: str | Any | None,
) -> Iterator[Evaluations]:
    """Processes for the runs of a study, here or on the workers of a Dask scheduler.

    The first run is at `start`; how long it takes decides after which time others are stopped, if the study does not
    say, and whether it gives the same again decides whether instances are used again.

    Raises
    ------
    NoScheduler
    """
    bundle = pack(study, Points({}, ()), tuple(signals))
    effort = study.effort
    with ExitStack() as stack:
        folder = stack.enter_context(ScratchFolder())
        here, _ = unpack(bundle.content, Path(folder))
        bounds = Bounds(effort.timeout or PILOT_SECONDS, effort.memory, effort.retries)
        with Runner(here, tuple(signals), bounds) as pilot:
            first = next(pilot.run([Task("", 0, start, witness=True)]))
            bounds = Bounds(timeout_of(study, first), effort.memory, effort.retries)
            again = None if first.status is RunStatus.FAILED else next(pilot.run([first.task]))
        reuse = again is not None and again.witness == first.witness
        if scheduler is None:
            do = stack.enter_context(_here(here, tuple(signals), bounds, reuse, workers or processors()))
        else:
            do = stack.enter_context(_on_dask(scheduler, bundle, bounds, reuse, first.seconds))
        yield Evaluations(do, first)


@contextmanager
def _here(study: Study, signals: tuple[str, ...], bounds: Bounds, reuse: bool, workers: int) -> Iterator[_Doing]:
    with ExitStack() as stack:
        idle: SimpleQueue[Runner] = SimpleQueue()
        for _ in range(workers):
            idle.put(stack.enter_context(Runner(study, signals, bounds, reuse=reuse)))

        def one(task: Task) -> Outcome:
            runner = idle.get()
            try:
                return next(runner.run([task]))
            finally:
                idle.put(runner)

        threads = stack.enter_context(ThreadPoolExecutor(workers))
        yield lambda tasks: list(threads.map(one, tasks))


@contextmanager
def _on_dask(scheduler: Any, bundle: Bundle, bounds: Bounds, reuse: bool, seconds: float) -> Iterator[_Doing]:
    cluster = import_module("ssptool.studies.cluster")
    plugin = cluster.StudyPlugin(bundle.digest, bundle.content, bounds, reuse)
    with cluster.open_client(scheduler, None) as client:

        def do(tasks: Sequence[Task]) -> list[Outcome]:
            batches = cluster.Batches(client, plugin, seconds, most=1)
            return [outcome for outcomes in batches.run(iter(tasks), len(tasks)) for outcome in outcomes]

        yield do
