"""Runs of a study in worker processes.

In a process, systems stay open, libraries stay loaded and instances stay alive between runs. If a run crashes or hangs,
only this run is lost, and the next run gets a new process. The process sends its parent a message when it is ready, and
then one outcome per task, in order.
"""

import contextlib
import math
import os
import pickle
import subprocess
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from multiprocessing.connection import Pipe
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import monotonic, perf_counter
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from ssptool.arguments import AccuracyName
from ssptool.child_processes import (
    BadMessage,
    Connection,
    crash,
    decoded,
    dumps,
    encoded,
    limit_waiting,
    received,
    start_interpreter,
)
from ssptool.engine.assembly.instances import Pool, Sources
from ssptool.engine.failure import Failure, UnsupportedByFmu
from ssptool.engine.isolation.child import settle
from ssptool.engine.isolation.memory import ControlGroup, ran_out_of_memory, too_much_memory, used_memory
from ssptool.engine.isolation.parent import END_SECONDS
from ssptool.engine.method_names import ImplementationName
from ssptool.engine.planning.plan import Plan
from ssptool.engine.recording.decimation import decimated, machine_memory
from ssptool.engine.recording.formats import open_writer
from ssptool.engine.recording.patterns import fits_column
from ssptool.engine.run.accuracy import Accuracy, AccuracyMethod
from ssptool.engine.run.accuracy_check import AccuracyCheck, has_grown, unrepeatable
from ssptool.engine.run.execution import Execution, Job, execute, planned_and_executed, with_alternative
from ssptool.engine.run.indicators import too_inexact_steps
from ssptool.engine.run.manifest import manifest
from ssptool.engine.run.recorder import Recorder, Recording
from ssptool.engine.run.refinement import AUTO_SECONDS, FinerRun
from ssptool.engine.run.selection import select
from ssptool.engine.run.unresolved_growth import blown_up
from ssptool.engine.settings import Limits, Settings
from ssptool.engine.simulate import FinerRuns, Run
from ssptool.engine.trace import Floats, Trace
from ssptool.guard import ask_to_end
from ssptool.option_words import Boxing
from ssptool.sandbox import NAMESPACES, close_files, gaps, is_sandboxed, system_paths
from ssptool.studies.accuracy import CHECK_RUNS, check_words, wanted_accuracy
from ssptool.studies.definition import RunOutcome, RunStatus, Samples, SideOutcome, Study, Task, failed
from ssptool.studies.designs import FactorValue
from ssptool.studies.expressions import BadExpression, NoValue, functions_of
from ssptool.studies.prepared import Configuration, PreparedSystem, configuration, fmu_log_of_run
from ssptool.studies.varied_run import check_varied, varied_traces
from ssptool.tempfiles import TemporaryFolder

OPEN = 8
"""Number of configurations that are kept open; the one that was not used for longest is closed first."""


class StudyWorker:
    """Worker that does runs in this process, one after the other; a context manager.

    Parameters
    ----------
    signals
        Recorded signals, which are all that results and traces need.
    reuse
        True: reset and reuse instances. False: new instances for each run.

    Attributes
    ----------
    seconds
        Time limit of a run [s]; a check may take `CHECK_RUNS` times as long. None: no limit.
    """

    def __init__(self, study: Study, signals: tuple[str, ...], *, reuse: bool = True) -> None:
        self.study = study
        self.signals = signals
        self.reuse = reuse
        self.seconds: float | None = None
        self._open: OrderedDict[Configuration, tuple[PreparedSystem, Pool]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free and close everything."""
        while self._open:
            self._close_oldest()

    def run(self, task: Task) -> RunOutcome:
        """Do one run. All failures are part of the outcome, except a crash of this process."""
        began = perf_counter()
        try:
            outcome = self._varied(task) if task.sides else self._checked(task) if task.check else self._run(task)
        except Exception as error:
            outcome = failed(task, error)
        return replace(outcome, seconds=perf_counter() - began)

    def run_apart(self, task: Task, limits: Limits) -> RunOutcome:
        """Do one run in a separate process; if it crashes or hangs, the message names the FMU and the call."""
        began = perf_counter()
        try:
            prepared, _ = self._prepared(task)
            plan = self._plan(prepared, task)
            result = Run(Job(plan, prepared.sources(plan)), limits=limits).result()
            outcome = self._outcome(task, plan, result.failure, result.trace)
        except Exception as error:
            outcome = failed(task, error)
        return replace(outcome, seconds=perf_counter() - began)

    def _run(self, task: Task) -> RunOutcome:
        began = perf_counter()
        prepared, pool = self._prepared(task)
        plan = self._plan(prepared, task)
        plan, execution, trace = _begun(plan, prepared.sources(plan), pool)
        failure = execution.failure or self._blown_up(task, plan, trace, perf_counter() - began)
        outcome = self._outcome(task, plan, failure, trace)
        inexact = too_inexact_steps(plan, execution.inexact, execution.statistics.steps)
        return replace(
            outcome,
            message="; ".join(filter(None, (outcome.message, *map(str, inexact)))),
            own_seconds=execution.statistics.seconds + execution.initialization.seconds,
            witness=blake2b(trace.cells.tobytes()).hexdigest() if task.witness else "",
        )

    def _checked(self, task: Task) -> RunOutcome:
        """The outcome of the run with half the step, and the accuracy of the run itself; failed if there is no
        estimate.

        If only the comparison with model exchange gives the accuracy, there are no results.
        """
        began = perf_counter()
        prepared, pool = self._without_logs(task)
        plan = self._plan(prepared, task)
        if not plan.recorded:
            return failed(task, str(Accuracy(remark="no result depends on a signal")))
        sources = prepared.sources(plan)
        plan, execution, trace = _begun(plan, sources, pool)
        if execution.failure is not None:
            return failed(task, str(execution.failure))
        finer = FinerRuns(Job(plan, sources), Recording(signals=self.signals), None, began, pool)
        done: list[Trace | None] = []

        def carry_out(other: Plan, met: tuple[float, ...], most: float) -> FinerRun:
            found = finer(other, met, most)
            if found.failure is None and other.is_one_ode == plan.is_one_ode:
                done.append(found.trace)
            return found

        seconds = perf_counter() - began
        end = perf_counter() + self._check_seconds(seconds)
        if reason := unrepeatable(plan, asked=wanted_accuracy(self.study) != AccuracyName.AUTO):
            return failed(task, check_words(Accuracy(remark=reason)))
        check = AccuracyCheck(partial(_replanned, prepared, task), asked=True)
        found = check.of(plan, trace, seconds, carry_out, lambda: end - perf_counter())
        if found.method is AccuracyMethod.NOT_CHECKED:
            return failed(task, check_words(found))
        return self._repeated(task, next(iter(done), None), found)

    def _varied(self, task: Task) -> RunOutcome:
        """The outcome of an integration of the variational equations; failed if there are none."""
        prepared, pool = self._without_logs(task)
        settings = replace(prepared.study.settings, implementation=ImplementationName.ME)
        exchanged = prepared.with_fixed(settings)
        try:
            plan = exchanged.plan(task.point, self._selected)
            check_varied(plan)
        except UnsupportedByFmu as error:
            return failed(task, f"{error.component} has no FMU that {error.capability}")
        plan, execution, trace = _begun(plan, prepared.sources(plan), pool)
        if execution.failure is not None or execution.statistics.events or trace.t[-1] < plan.interval.stop:
            return failed(task, str(execution.failure or "events occur, or a component ends the run"))
        traces = varied_traces(task, lambda point: exchanged.plan(point, self._selected), exchanged.sources)
        points = [task.point, *(point for side in task.sides for point in (side.above, side.below))]
        found = [
            (*self.results(trace, point), None if task.samples is None else _sampled(trace, task.samples))
            for trace, point in zip(traces, points, strict=True)
        ]
        (results, message, samples), *beside = found
        sides = tuple(SideOutcome(each, sampled) for each, _, sampled in beside)
        return RunOutcome(task, RunStatus.COMPLETED, results, message, samples=samples, sides=sides)

    def _blown_up(self, task: Task, plan: Plan, trace: Trace, seconds: float) -> Failure | None:
        """The failure of a run that took this many seconds, if a result has grown by orders of magnitude and a finer
        run shows that the coupling is unstable.
        """
        if not has_grown(plan, trace):
            return None
        prepared, pool = self._without_logs(task)
        finer = FinerRuns(
            Job(plan, prepared.sources(plan)), Recording(signals=self.signals), None, perf_counter(), pool
        )
        check = AccuracyCheck(partial(_replanned, prepared, task), only_growth=True)
        return blown_up(check.of(plan, trace, seconds, finer, lambda: math.inf))

    def _without_logs(self, task: Task) -> tuple[PreparedSystem, Pool]:
        """The prepared system of a task for further runs, which write no logs, and its pool."""
        prepared, pool = self._prepared(task)
        return prepared.with_fixed(prepared.plan(task.point).settings.without_logs()), pool

    def _check_seconds(self, seconds: float) -> float:
        """Time for the finer runs of a check after a run that took this many seconds."""
        allowed = math.inf if self.seconds is None else (CHECK_RUNS - 1) * self.seconds - seconds
        return min(allowed, AUTO_SECONDS) if wanted_accuracy(self.study) == AccuracyName.AUTO else allowed

    def _repeated(self, task: Task, half: Trace | None, accuracy: Accuracy) -> RunOutcome:
        """The outcome of a checked run, from its trace with half the step if there is one."""
        results: dict[str, float | None] = dict.fromkeys(self.study.results)
        samples, message = None, ""
        if half is not None:
            results, message = self.results(half, task.point)
        if task.samples is not None:
            absent = np.full((len(task.samples.times), len(task.samples.signals)), np.nan)
            samples = absent if half is None else _sampled(half, task.samples)
        return RunOutcome(
            task,
            RunStatus.COMPLETED,
            results,
            message,
            samples=samples,
            accuracy=accuracy.error,
            accuracy_remark=check_words(accuracy),
            accuracy_limit=accuracy.limit,
        )

    def _plan(self, prepared: PreparedSystem, task: Task) -> Plan:
        made = prepared.plan(task.point, self._selected)
        settings = fmu_log_of_run(made.settings, task.number)
        plan = made if settings is made.settings else replace(made, settings=settings)
        if made.instead is None:
            return plan
        by_steps = replace(made.settings, implementation=ImplementationName.CS)
        return replace(plan, instead=lambda _: self._plan(prepared.with_fixed(by_steps), task))

    def _selected(self, plan: Plan) -> Plan:
        # An empty list of patterns would mean every signal.
        return select(plan, self.signals) if self.signals else replace(plan, columns=(), recorded=())

    def _outcome(self, task: Task, plan: Plan, failure: Failure | None, trace: Trace) -> RunOutcome:
        content = self._trace(task, plan, failure, trace)
        if failure is not None:
            return replace(failed(task, str(failure)), trace=content)
        results, message = self.results(trace, task.point)
        samples = None if task.samples is None else _sampled(trace, task.samples)
        return RunOutcome(task, RunStatus.COMPLETED, results, message, trace=content, samples=samples)

    def results(self, trace: Trace, point: Mapping[str, FactorValue]) -> tuple[dict[str, float | None], str]:
        """All results; and the reason why some have no value."""
        names: dict[str, Any] = dict(point)
        found: dict[str, float | None] = {}
        problems: list[str] = []
        functions = functions_of(trace, names)
        for name, expression in self.study.results.items():
            try:
                value = expression.evaluate(names, functions)
                if isinstance(value, str) or not math.isfinite(value):
                    problems.append(f"{name} is {value!r}")
                    value = None
            except (BadExpression, NoValue) as problem:
                problems.append(f"{name}: {problem}")
                value = None
            found[name] = None if value is None else float(value)
            names[name] = math.nan if value is None else value
        return found, "; ".join(problems)

    def _trace(self, task: Task, plan: Plan, failure: Failure | None, trace: Trace) -> bytes | None:
        wanted = self.study.traces
        if wanted is None:
            return None
        columns = [
            number
            for number, column in enumerate(trace.columns)
            if not wanted.signals or fits_column(wanted.signals, column)
        ]
        plan = replace(
            plan, columns=tuple(trace.columns[k] for k in columns), recorded=tuple(plan.recorded[k] for k in columns)
        )
        decimation = Recording(every=wanted.every, output_step=wanted.output_step).decimation(plan)
        rows = np.column_stack([trace.t, trace.cells[:, columns]])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.parquet"
            writer = open_writer(path, plan.columns, trace.contents)
            for block in decimated(decimation, rows, trace.points):
                writer.write(block)
            status = "completed" if failure is None else "failed"
            factors = self._prepared(task)[0].overrides(task.point)
            writer.close(manifest(plan, failure, status, {}, notes=plan.notes, factors=factors))
            return path.read_bytes()

    def _prepared(self, task: Task) -> tuple[PreparedSystem, Pool]:
        wanted = configuration(self.study, task.point)
        if wanted not in self._open:
            if len(self._open) >= OPEN:
                self._close_oldest()
            self._open[wanted] = PreparedSystem(self.study, wanted), Pool(reuse=self.reuse)
        self._open.move_to_end(wanted)
        return self._open[wanted]

    def _close_oldest(self) -> None:
        _, (prepared, pool) = self._open.popitem(last=False)
        pool.close()
        prepared.close()


def _replanned(prepared: PreparedSystem, task: Task, settings: Settings) -> Plan:
    return prepared.with_fixed(settings).plan(task.point)


def _begun(plan: Plan, sources: Sources, pool: Pool) -> tuple[Plan, Execution, Trace]:
    """The executed plan, the execution, and all rows; with co-simulation if model exchange is only the default and
    fails at the start.
    """
    return with_alternative(
        plan,
        lambda made: _executed(Job(made, sources), pool),
        lambda done: None if done[1].statistics.steps else done[1].failure,
    )


def _executed(job: Job, pool: Pool) -> tuple[Plan, Execution, Trace]:
    """The plan with facts found at the start, the execution, and all rows."""
    recorder = Recorder(job.plan, keep=True)
    job, execution = planned_and_executed(job, lambda again: execute(again, recorder, pool=pool))
    recorder.finish()
    assert recorder.trace is not None
    return job.plan, execution, recorder.trace


def _sampled(trace: Trace, wanted: Samples) -> Floats:
    """Sample a signal, with linear interpolation between rows."""
    columns = [
        np.interp(wanted.times, trace.t, trace[signal].astype(np.float64, copy=False), left=np.nan, right=np.nan)
        for signal in wanted.signals
    ]
    return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class WorkerOrders:
    """Orders for a worker process. `scratch` is a folder that the parent removes.

    In a `sandbox` it can read the folder of the study, which contains copies of all its files; `without` are layers
    that the sandbox lacks.
    """

    study: Study
    signals: tuple[str, ...]
    reuse: bool
    scratch: str
    sandbox: bool = False
    without: tuple[str, ...] = ()


def worker_main() -> None:
    """Entry point of a new interpreter; its arguments are the handle of the connection and the parent's id."""
    connection = Connection(int(sys.argv[1]))
    orders: WorkerOrders = pickle.loads(connection.recv_bytes())
    settle(orders.scratch, int(sys.argv[2]))
    if orders.sandbox:
        written = [Path(orders.scratch)] if NAMESPACES in orders.without else []
        close_files([*system_paths(), Path(orders.study.source).parent], written, without=orders.without)
    study_worker = StudyWorker(orders.study, orders.signals, reuse=orders.reuse)
    connection.send_bytes(b"")  # ready
    while True:
        try:
            study_worker.seconds, tasks = pickle.loads(connection.recv_bytes())
        except EOFError:
            break
        for task in tasks:
            connection.send_bytes(encoded(_sent(study_worker.run(task))))
    study_worker.close()


class _SentOutcome(NamedTuple):
    """Part of an outcome that a process sends; the parent knows the rest from the task."""

    status: RunStatus
    results: Mapping[str, float | None]
    message: str
    own_seconds: float
    seconds: float
    trace: bytes | None
    witness: str
    samples: Floats | None
    accuracy: float | None
    accuracy_remark: str
    sides: tuple[SideOutcome, ...]


def _sent(outcome: RunOutcome) -> _SentOutcome:
    return _SentOutcome(*(getattr(outcome, name) for name in _SentOutcome._fields))


def _outcome_from(content: bytes, study: Study, task: Task) -> RunOutcome:
    """Outcome of a task from a message of a process. Raises BadMessage."""
    sent: _SentOutcome = decoded(_SentOutcome, content)
    if sent.status is RunStatus.COMPLETED and list(sent.results) != list(study.results):
        raise BadMessage("it has not the results of the study")
    if len(sent.sides) != (2 * len(task.sides) if sent.status is RunStatus.COMPLETED else 0):
        raise BadMessage(f"it has {len(sent.sides)} points beside that of the run")
    wanted = None if task.samples is None else (len(task.samples.times), len(task.samples.signals))
    for side in sent.sides:
        if list(side.results) != list(study.results) or (side.samples is None) is not (wanted is None):
            raise BadMessage("a point beside that of the run has other results")
        if side.samples is not None and side.samples.shape != wanted:
            raise BadMessage(f"it has samples of shape {side.samples.shape}, and not {wanted}")
    if sent.samples is not None and sent.samples.shape != wanted:
        raise BadMessage(f"it has samples of shape {sent.samples.shape}, and not {wanted}")
    return RunOutcome(task, **sent._asdict())


_ENTRY = "ssptool.studies.worker:worker_main"

LOOK_SECONDS = 0.05
"""Interval of checks of the memory of the process [s]."""

START_SECONDS = 120.0
"""Time for a process to start [s]."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a run: wall time [s], memory [byte], sandbox; number of repetitions after a crash or a stop."""

    seconds: float | None = None
    memory: int | None = None
    retries: int = 1
    sandbox: Boxing = field(default_factory=is_sandboxed)

    @property
    def limits(self) -> Limits:
        memory = self.memory if sys.platform == "linux" else None
        return Limits(seconds=self.seconds, memory=memory, sandbox=self.sandbox)


class Runner:
    """Owner of a process with the FMUs of a study; starts a new one whenever it is lost. A context manager."""

    def __init__(self, study: Study, signals: tuple[str, ...], bounds: Bounds, *, reuse: bool = True) -> None:
        self.bounds = bounds
        boxed, without = bounds.sandbox is not False, tuple(gaps(bounds.sandbox))
        self._orders = WorkerOrders(study, signals, reuse, "", boxed, without)
        self._scratch = TemporaryFolder()
        self._process: _Process | None = None
        self._apart: StudyWorker | None = None
        self._stopped = False

    @property
    def start_seconds(self) -> float:
        """Time that the process needed to start [s]."""
        return 0.0 if self._process is None else self._process.start_seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; may be called again."""
        self._end()
        if self._apart is not None:
            self._apart.close()
            self._apart = None
        self._scratch.cleanup()

    def stop(self) -> None:
        """End the process from another thread, without repetitions."""
        self._stopped = True
        if (process := self._process) is not None:
            process.kill()

    def reset(self, *, reuse: bool) -> None:
        """End the process; the next one reuses instances or not."""
        self._end()
        self._orders = replace(self._orders, reuse=reuse)

    def run(self, tasks: Sequence[Task]) -> Iterator[RunOutcome]:
        """Do tasks; one outcome per task, in order, as they arrive."""
        left = list(tasks)
        while left and not self._stopped:
            process = self._process = self._process or _Process(replace(self._orders, scratch=self._scratch.name))
            process.send(left, self.bounds.seconds)
            while left:
                began = monotonic()
                task = left.pop(0)
                lost = process.wait(self.bounds, task)
                outcome = lost if isinstance(lost, RunOutcome) else None
                if outcome is None:
                    self._process = None
                    yield self._again(task, str(lost), monotonic() - began)
                    break
                yield outcome

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def _again(self, task: Task, message: str, seconds: float) -> RunOutcome:
        """Repeat a run whose process was lost, each time in a new process; the last answer counts."""
        outcome = failed(task, message, seconds)
        for attempt in range(0 if self._stopped or task.check or task.sides else self.bounds.retries):
            if self._apart is None:
                self._apart = StudyWorker(self._orders.study, self._orders.signals)
            outcome = self._apart.run_apart(task, self.bounds.limits)
            outcome = replace(outcome, attempts=attempt + 2)
            if outcome.results or not outcome.message:
                break
        return outcome


BATCH_SECONDS = 1.0
"""Target duration of a batch [s]: long enough to hide the messages."""

BATCH_RUNS = 200
"""Largest number of runs in a batch."""

AHEAD = 3
"""Batches per process that are in transit, so that memory does not depend on the number of runs."""

STOP_SECONDS = 5.0
"""Time limit for the end of threads after their processes were ended [s]."""


class LocalWorkers:
    """Processes of this machine for the runs of a study, each followed by a thread; a context manager.

    Messages go through pipes between parent and child, to which other processes cannot connect.
    """

    def __init__(
        self,
        study: Study,
        signals: tuple[str, ...],
        bounds: Bounds,
        reuse: bool,
        count: int | None = None,
        *,
        first: Runner,
    ) -> None:
        """`count`: most processes; None: one per processor. `first`: owner of the first one, which may be there."""
        self.count = count or processors()
        bounds = replace(bounds, memory=bounds.memory or _machine_memory() // self.count or None)
        first.bounds = bounds
        if not reuse:
            first.reset(reuse=False)
        self._runners = [first, *(Runner(study, signals, bounds, reuse=reuse) for _ in range(1, self.count))]
        # A child ends together with the thread that has started it, so each runner has its own thread.
        self._threads: list[Thread] = []
        self._batches: SimpleQueue[list[Task] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[list[RunOutcome] | Exception] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for runner in self._runners:
            runner.stop()
            self._batches.put(None)
        for thread in self._threads:
            thread.join(STOP_SECONDS)
        for runner in self._runners:
            runner.close()

    def run(self, tasks: Iterator[Task], count: int, seconds: float) -> Iterator[list[RunOutcome]]:
        """Outcomes of `count` tasks as they arrive; `seconds` is the approximate duration of a run."""
        size = max(1, min(BATCH_RUNS, int(BATCH_SECONDS / max(seconds, 1e-4)), -(-count // (AHEAD * self.count))))
        sent = sum(self._send(tasks, size) for _ in range(AHEAD * self.count))
        self._start(min(self.count, -(-sent // size)))
        while sent:
            outcomes = self._outcomes.get()
            if isinstance(outcomes, Exception):
                raise outcomes
            sent -= len(outcomes)
            yield outcomes
            if sent <= (AHEAD * self.count - 1) * size:
                sent += self._send(tasks, size)

    def _send(self, tasks: Iterator[Task], size: int) -> int:
        batch = list(islice(tasks, size))
        if batch:
            self._batches.put(batch)
        return len(batch)

    def _start(self, number: int) -> None:
        """Start threads until there are as many: who asks for one run after the other needs one process."""
        for runner in self._runners[len(self._threads) : number]:
            self._threads.append(Thread(target=copy_context().run, args=(self._serve, runner), daemon=True))
            self._threads[-1].start()

    def _serve(self, runner: "Runner") -> None:
        while (batch := self._batches.get()) is not None:
            try:
                for outcome in runner.run(batch):
                    self._outcomes.put([outcome])
            except Exception as error:
                self._outcomes.put(error)


def _machine_memory() -> int:
    """Memory that this process may use [byte]: that of the machine, or less in a container; 0 if unknown."""
    if sys.platform != "linux":
        return 0
    memory = machine_memory()
    with contextlib.suppress(OSError, ValueError):  # no limit, or another version of control groups
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return memory


class _Process:
    def __init__(self, orders: WorkerOrders) -> None:
        self._began = perf_counter()
        self.start_seconds = 0.0
        self._connection, theirs = Pipe()
        handle = theirs.fileno()
        arguments = (handle, os.getpid())
        offline = orders.sandbox and NAMESPACES not in orders.without
        self._process = start_interpreter(_ENTRY, arguments, (handle,), guarded=True, offline=offline)
        theirs.close()
        self._group = ControlGroup(self._process.pid if orders.sandbox else None, None)
        self._ready = False
        self._study = orders.study
        limit_waiting(self._connection)
        self._connection.send_bytes(dumps(orders))

    def send(self, tasks: list[Task], seconds: float | None) -> None:
        """Send tasks, and the time limit of each of their runs [s]."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `wait` notices that the process has ended
            self._connection.send_bytes(dumps((seconds, tasks)))

    def wait(self, bounds: Bounds, task: Task) -> RunOutcome | str:
        """The outcome of `task`, which is the next message; or the reason why there is none, in which case the process
        has ended.
        """
        try:
            if not self._ready and not self._connection.poll(START_SECONDS):
                self.end()
                return f"the process of the FMUs has not started within {START_SECONDS:g} s"
            if not self._ready:
                if received(self._connection):
                    raise BadMessage("it comes before the first task")
                self._ready = True
                self.start_seconds = perf_counter() - self._began
            return self._next(bounds, task)
        except BadMessage as bad:
            self.end()
            return str(bad)
        except (EOFError, ConnectionResetError, OSError):
            return self._ended(bounds)

    def _next(self, bounds: Bounds, task: Task) -> RunOutcome | str:
        seconds = bounds.seconds if bounds.seconds is None or not task.check else CHECK_RUNS * bounds.seconds
        deadline = None if seconds is None else monotonic() + seconds
        look = self._memory_look(bounds)
        while not self._connection.poll(_patience(deadline, look is not None)):
            if deadline is not None and monotonic() >= deadline:
                self.end()
                return f"the run was stopped at its time limit of {seconds:g} s; raise `timeout` in [effort]"
            if look is not None and (problem := look()):
                self.end()
                return problem
        return _outcome_from(received(self._connection), self._study, task)

    def kill(self) -> None:
        ask_to_end(self._process.pid, lambda: self._process.poll() is not None)
        self._process.kill()

    def end(self) -> None:
        self.kill()
        self._process.wait()
        self._connection.close()
        self._group.remove()

    def _ended(self, bounds: Bounds) -> str:
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            return str(BadMessage("its process goes on, and has closed the connection"))
        self._connection.close()
        ran_out = self._group.ran_out()
        self._group.remove()
        if ran_out:
            return ran_out_of_memory(bounds.memory)
        reason = crash(status)
        how = f"by {reason}" if reason else f"from inside, with exit status {status}"
        return f"the process of the FMUs was ended {how}"

    def _memory_look(self, bounds: Bounds) -> Callable[[], str] | None:
        if bounds.memory is None:
            return None
        memory, pid = bounds.memory, self._process.pid
        self._group.allow(memory)

        def look() -> str:
            used = used_memory(pid, memory)
            if used <= memory:
                return ""
            return too_much_memory(used, memory)

        return look


def _patience(deadline: float | None, looking: bool) -> float | None:
    left = None if deadline is None else max(0.0, deadline - monotonic())
    if not looking:
        return left
    return LOOK_SECONDS if left is None else min(left, LOOK_SECONDS)


def processors() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
