"""Runs of a study on Dask: each worker gets the study once; tasks and outcomes are sent in batches."""

import pickle
import queue
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import distributed as _distributed
from distributed.diagnostics.plugin import WorkerPlugin

from ssptool.child_processes import dumps
from ssptool.studies.bundle import unpack
from ssptool.studies.definition import RunOutcome, Study, Task, failed
from ssptool.studies.worker import Bounds, Runner
from ssptool.version import __version__

distributed: Any = _distributed  # mostly without types

BATCH_SECONDS = 1.0
"""Target duration of a batch [s]: long enough to hide the messages, short enough to lose little with a worker."""

BATCH_RUNS = 200
"""Largest number of runs in a batch."""

AHEAD = 3
"""Batches per worker thread that are in transit, so that memory does not depend on the number of runs."""

CONNECT_SECONDS = 20
"""Time limit for connecting to a scheduler [s]."""

LOOK_SECONDS = 5.0
"""Interval of checks for workers while no outcomes arrive [s]."""

WORKERLESS_SECONDS = 60.0
"""Time that a study waits after the loss of all workers [s]; a nanny restarts its workers after a few seconds."""


class NoWorkers(Exception):
    """There is no scheduler or no worker, or the connection was lost; finished runs are on disk."""


def _connection_lost_error(reason: str) -> NoWorkers:
    return NoWorkers(
        f"the connection to the scheduler was lost ({reason}); finished runs are kept: start the study again"
    )


class StudyPlugin(WorkerPlugin):
    """State of a study on a worker: its files, and one process with FMUs per thread."""

    idempotent = True

    def __init__(self, digest: str, content: bytes, bounds: Bounds, reuse: bool) -> None:
        self.name = plugin_name(digest, bounds, reuse)
        self.content = content
        self.bounds = bounds
        self.reuse = reuse
        self.version = __version__

    def setup(self, worker: Any) -> None:
        if __version__ != self.version:
            raise RuntimeError(f"the worker has ssptool {__version__}, the study was sent by {self.version}")
        self.folder = tempfile.mkdtemp(prefix="ssptool-", dir=worker.local_directory)
        self.study: Study
        self.study, self.signals = unpack(self.content, Path(self.folder))
        self.content = b""
        limit = worker.memory_manager.memory_limit
        if self.bounds.memory is None and limit:
            self.bounds = replace(self.bounds, memory=int(limit))
        self.idle: queue.SimpleQueue[Runner] = queue.SimpleQueue()

    def teardown(self, worker: Any) -> None:
        with suppress(queue.Empty):
            while True:
                self.idle.get_nowait().close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, tasks: Sequence[Task]) -> list[RunOutcome]:
        try:
            runner = self.idle.get_nowait()
        except queue.Empty:
            runner = Runner(self.study, self.signals, self.bounds, reuse=self.reuse)
        try:
            return list(runner.run(tasks))
        finally:
            self.idle.put(runner)


def plugin_name(digest: str, bounds: Bounds, reuse: bool) -> str:
    return f"ssptool-{digest[:32]}-{bounds.seconds}-{bounds.memory}-{bounds.retries}-{bounds.sandbox}-{reuse}"


def run_batch(name: str, tasks: bytes) -> list[RunOutcome]:
    """Do a batch on a worker. The tasks are pickled to keep them small, because Dask stores messages for a while."""
    plugin: Any = distributed.get_worker().plugins[name]
    outcomes: list[RunOutcome] = plugin.run(pickle.loads(tasks))
    return outcomes


@contextmanager
def open_client(scheduler: str | Any) -> Iterator[Any]:
    """Context with a client: the given one, or a client of the scheduler at an address.

    Raises
    ------
    NoWorkers
        No scheduler answers at the address.
    """
    if not isinstance(scheduler, str):
        yield scheduler
        return
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise NoWorkers(f"there is no Dask scheduler at {scheduler}: {error}") from None
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=2)


class Batches:
    """Sends tasks to the workers of a client, with a limited number in transit, and returns outcomes as they arrive."""

    def __init__(self, client: Any, plugin: StudyPlugin, seconds: float, most: int = BATCH_RUNS) -> None:
        self._client = client
        self._most = most
        self._name = plugin.name
        self._plugin = plugin
        self._seconds = max(seconds, 1e-4)
        self._sent: dict[Any, list[Task]] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run(self, tasks: Iterator[Task], count: int) -> Iterator[list[RunOutcome]]:
        """Do `count` tasks; outcomes arrive in any order. Raises NoWorkers."""
        self._client.register_plugin(self._plugin)
        threads = self._threads()
        size = self._size(count, threads)
        for _ in range(AHEAD * threads):
            self._send(_tasks_for_batch(tasks, size))
        while self._sent:
            future = self._next()
            batch = self._sent.pop(future)
            outcomes = self._outcomes(future, batch)
            if future not in self._sent:
                future.release()
            if outcomes:
                self._update_mean_duration(outcomes)
                count -= len(outcomes)
                yield outcomes
            if len(self._sent) < AHEAD * threads:
                self._send(_tasks_for_batch(tasks, self._size(count, threads)))

    def _next(self) -> Any:
        alone = 0.0
        while True:
            try:
                return self._ended.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                alone = 0.0 if self._workers() else alone + LOOK_SECONDS
            if alone >= WORKERLESS_SECONDS:
                raise NoWorkers(
                    f"the scheduler has had no worker for {alone:.0f} s; finished runs are kept: start workers and "
                    "then the study again"
                )

    def _workers(self) -> int:
        """Number of workers. Raises NoWorkers."""
        try:
            threads: dict[str, int] = self._client.nthreads()
        except (OSError, TimeoutError, distributed.CancelledError) as error:
            raise _connection_lost_error(str(error)) from None
        return len(threads)

    def _outcomes(self, future: Any, batch: list[Task]) -> list[RunOutcome]:
        """Outcomes as they arrive. A batch that ends its worker is sent again run by run; a run that does it again has
        failed.
        """
        if future.status == "finished":
            try:
                outcomes: list[RunOutcome] = future.result(timeout=CONNECT_SECONDS)
                return outcomes
            except TimeoutError:
                self._workers()
                # Its worker ended with the batch, and another worker must repeat it, however long that takes.
                self._await(future, batch)
                return []
            except (OSError, distributed.CancelledError) as error:
                raise _connection_lost_error(str(error)) from None
        if future.status in ("cancelled", "lost"):
            raise _connection_lost_error(f"a task is {future.status}")
        if len(batch) > 1:
            for task in batch:
                self._send([task])
            return []
        reason = future.exception()
        return [failed(batch[0], f"the worker was lost or refused it: {type(reason).__name__}: {reason}")]

    def _send(self, batch: list[Task]) -> None:
        if batch:
            self._await(self._client.submit(run_batch, self._name, dumps(batch), pure=False), batch)

    def _await(self, future: Any, batch: list[Task]) -> None:
        self._sent[future] = batch
        future.add_done_callback(self._ended.put)

    def _threads(self) -> int:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError):
            raise NoWorkers(f"the scheduler at {self._client.scheduler.address} has no worker") from None
        threads: int = sum(self._client.nthreads().values())
        return max(1, threads)

    def _size(self, left: int, threads: int) -> int:
        fair = -(-left // (2 * threads))
        return max(1, min(self._most, int(BATCH_SECONDS / self._seconds), fair))

    def _update_mean_duration(self, outcomes: Sequence[RunOutcome]) -> None:
        mean = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
        self._seconds = max(1e-4, 0.8 * self._seconds + 0.2 * mean)


def _tasks_for_batch(tasks: Iterator[Task], count: int) -> list[Task]:
    found: list[Task] = []
    for task in tasks:
        found.append(task)
        if len(found) >= count:
            break
    return found
