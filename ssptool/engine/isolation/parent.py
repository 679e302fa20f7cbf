"""Isolated runs: an FMU that crashes, hangs or exhausts memory ends the run and nothing else."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ssptool.child_processes import BadMessage, crash, received
from ssptool.engine.assembly.fmu_log import more_about
from ssptool.engine.assembly.instances import Located
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.isolation.child import (
    ChildProcess,
    ChildTask,
    Committed,
    Message,
    SharedMemory,
    logs_of,
    message_from,
    start_child,
)
from ssptool.engine.isolation.memory import ran_out_of_memory, too_much_memory, used_memory
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.recording.writer import blocks_at_once, rows_at_once
from ssptool.engine.run.execution import Execution, Job, Statistics
from ssptool.engine.run.initialization import InitializationReport
from ssptool.engine.run.recorder import Recorder, interrupts_deferred
from ssptool.engine.settings import Limits
from ssptool.engine.trace import NO_ENTRIES, NewEntries
from ssptool.engine.watch import NATIVE, Watch
from ssptool.sandbox import check_sandbox, gaps
from ssptool.tempfiles import TemporaryFolder
from ssptool.working_directory import absolute

LOOK_SECONDS = 0.01
"""Interval of checks of memory and steps [s], if one of them is limited."""


END_SECONDS = 10.0
"""Time for a child to exit after it has closed the connection [s]."""


Overdue = tuple[Ending, str, str]
"""A limit that was reached: ending of the run, text, advice."""


class LimitWatch:
    """Check of the time and memory limits of a process that has just started.

    Attributes
    ----------
    seconds
        Wall time since the start [s].
    """

    def __init__(self, limits: Limits, pid: int, waiting: float) -> None:
        """`waiting`: time [s] that a macro step may wait for the clock."""
        self._limits = limits
        self._pid = pid
        self._waiting = waiting
        self._began = self._moved = self._looked = time.monotonic()
        self._progress = (0, 0)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def patience(self) -> float | None:
        """Time to wait for a message before limits are checked [s]."""
        limits = self._limits
        if limits.memory is not None or limits.step_seconds is not None or limits.go_on is not None:
            return LOOK_SECONDS
        if limits.seconds is not None:
            # The operating system accepts no infinite timeout, and none above 24 days.
            return min(max(0.0, self._began + limits.seconds - time.monotonic()), 3600.0)
        return None

    def check(self, progress: Callable[[], tuple[int, int]]) -> Overdue | None:
        """The limit that is reached, if any. `progress` grows with every macro step; it is called only if steps are
        limited.
        """
        limits, now = self._limits, time.monotonic()
        if limits.go_on is not None:
            limits.go_on()
        if limits.seconds is not None and now - self._began >= limits.seconds:
            what = f"the run exceeds its time limit of {limits.seconds:g} s"
            return Ending.TIMEOUT, what, "raise --timeout, or use fewer or larger steps"
        if now - self._looked < LOOK_SECONDS:
            return None
        self._looked = now
        if limits.step_seconds is not None:
            if (moved := progress()) != self._progress:
                self._progress, self._moved = moved, now
            allowed = limits.step_seconds + self._waiting
            if now - self._moved >= allowed:
                what = f"a macro step exceeds its time limit of {allowed:g} s"
                return Ending.TIMEOUT, what, "raise --step-timeout, or report the FMU to its supplier"
        if limits.memory is not None and (used := used_memory(self._pid, limits.memory)) > limits.memory:
            return Ending.MEMORY, too_much_memory(used, limits.memory), _LESS_MEMORY
        return None


_LESS_MEMORY = "raise --memory-limit, or report the FMU to its supplier"

_REPORT = "the FMU is at fault: report it to its supplier; --in-process under a debugger shows where it happens"


def execute_isolated(job: Job, recorder: Recorder, limits: Limits, *, fork: bool | None = None) -> Execution:
    """Execute a plan in a child process; crashes and limits end the run with a `Failure`.

    Parameters
    ----------
    fork
        True: the child is a copy of this process (fast). False: a new interpreter. None: a copy if that is safe (on
        Linux, with one thread).
    """
    check_sandbox(limits.sandbox)
    with TemporaryFolder() as scratch:
        assignment = _assignment(job, scratch)._replace(
            sandbox=limits.sandbox is not False, without=tuple(gaps(limits.sandbox))
        )
        if limits.sandbox:
            for log in logs_of(job):  # the child may write to these files, but cannot create any
                log.touch()
        memory = SharedMemory.create(assignment.size)
        try:
            # Must precede the thread that writes rows.
            assignment.watch_and_ring(memory)[1][:, :, 0] = np.nan
            with contextlib.ExitStack() as stack:
                with interrupts_deferred():
                    child = start_child(assignment, memory, fork=fork, allowed=limits.memory)
                    stack.callback(child.end)
                return _Parent(assignment, memory, child, recorder, limits).follow()
        finally:
            memory.close()


def _assignment(job: Job, scratch: str) -> ChildTask:
    plan = job.plan
    # The parent unpacks, because nothing would remove files that the child unpacks.
    paths = {instance.source: job.sources.local_path(instance.source) for instance in plan.instances}
    located = replace(job, plan=replace(plan, instead=None), sources=Located.of(paths))
    width, count = 1 + len(plan.recorded), plan.interval.steps + 1
    rows = rows_at_once(count, width)
    return ChildTask(located, absolute(Path()), scratch, min(blocks_at_once(width), -(-count // rows) + 1), rows)


class _Parent:
    """Parent's side of a child process: receives its rows and reports its end."""

    def __init__(
        self, assignment: ChildTask, memory: SharedMemory, child: ChildProcess, recorder: Recorder, limits: Limits
    ) -> None:
        self.child = child
        self.recorder = recorder
        self.watch: Watch
        self.watch, self.ring = assignment.watch_and_ring(memory)
        self.turn = 0
        self.contents = {0}
        """Numbers of contents that rows may refer to."""
        job = assignment.job
        self.settings = job.plan.settings
        self.components = {instance.name for instance in job.plan.instances}
        # A step that keeps pace with the clock takes this long.
        waiting = 0.0 if job.realtime is None else job.plan.interval.step / job.realtime
        self.limits = LimitWatch(limits, child.pid, waiting)
        self.allowed = limits.memory

    def follow(self) -> Execution:
        """Receive rows until the child has finished or must be stopped.

        After an interrupt, all rows that the child had finished are recorded.
        """
        try:
            self.recorder.begin()
            while (overdue := self._wait()) is None:
                with interrupts_deferred():
                    message = self._receive()
                match message:
                    case Execution():
                        self.child.wait()
                        return message
                    case Exception():
                        raise message
                    case None:
                        status = self._end_of_child()
                        self._salvage()
                        return self._died(status)
        except BadMessage as bad:
            calls = self.watch.in_flight()
            self.child.kill()
            self._salvage()
            return self._ended(Ending.EXITED, str(bad), _REPORT, calls)
        except BaseException:
            self._drain()
            raise
        calls = self.watch.in_flight()
        self._drain()
        return self._ended(*overdue, calls)

    def _end_of_child(self) -> int:
        """Exit status after the last message. If an FMU has closed the connection, the child may continue; it is not
        waited for.
        """
        deadline = time.monotonic() + END_SECONDS
        while not self.child.ended():
            if time.monotonic() >= deadline:
                raise BadMessage("its process goes on, and has closed the connection")
            time.sleep(LOOK_SECONDS)
        return self.child.wait()

    def _wait(self) -> Overdue | None:
        """Wait for the next message, for the end of the child, or until a limit is reached."""
        ready, overdue = False, None
        while not ready and overdue is None:
            ready = self.child.connection.poll(self.limits.patience())
            overdue = self.limits.check(self._progress)
        return overdue

    def _progress(self) -> tuple[int, int]:
        """Progress of the child: turns of the ring, and finished rows of the present turn."""
        return self.turn, _leading_numbers(self.ring[self.turn % len(self.ring), :, 0])

    def _receive(self) -> Message | None:
        """Receive the next message and record its rows; None at the end."""
        try:
            message = message_from(received(self.child.connection))
        except (EOFError, OSError):  # the child may have died while it sent a message
            return None
        self._check(message)
        match message:
            case InitializationReport():
                self.recorder.initialized(message)
            case Committed(count, entries):
                self._take(self._committed(count, entries), entries)
                self._answer()
        return message

    def _check(self, message: Message) -> None:
        """Reject messages that do not fit this run. Raises BadMessage."""
        match message:
            case Committed() if self.recorder.report is None:
                raise BadMessage("rows before the end of initialization")
            case InitializationReport() if self.recorder.report is not None:
                raise BadMessage("a second end of initialization")
            case Execution(failure=failure):
                if failure is not None and failure.component and failure.component not in self.components:
                    raise BadMessage(f"a failure of a component {failure.component!r}, which the system does not have")

    def _committed(self, count: int, entries: NewEntries) -> Floats:
        """Copy of the next rows, because an FMU may still change the originals. Raises BadMessage."""
        rows: Floats = self.ring[self.turn % len(self.ring)][: max(count, 0)].copy()
        if not 0 <= count <= self.ring.shape[1] or not np.all(np.isfinite(rows[:, 0])):
            raise BadMessage(f"{count} rows of at most {self.ring.shape[1]}, some of them without a time")
        if not set(entries.between) <= set(range(count)):
            raise BadMessage("events in rows that it has not sent")
        first = self.recorder.contents.told
        self.contents.update(range(first, first + len(entries.new)))
        if not self.contents.issuperset(np.unique(self.recorder.references(rows)).tolist()):
            raise BadMessage("rows with texts that it has not sent")
        forgotten = set(entries.forgotten)
        if len(forgotten) != len(entries.forgotten) or not forgotten <= self.contents - {0}:
            raise BadMessage("the end of texts that it has not sent")
        self.contents -= forgotten
        return rows

    def _drain(self) -> None:
        """End the child, and record all rows that it has finished."""
        with interrupts_deferred():
            self.child.kill()
            with contextlib.suppress(BadMessage):  # messages after an invalid one are not trusted
                while self._receive() is not None:
                    pass
                self._salvage()

    def _take(self, rows: Floats, entries: NewEntries = NO_ENTRIES) -> None:
        try:
            self.recorder.add(rows, entries)
        finally:  # a progress callback may end the run
            self.ring[self.turn % len(self.ring), :, 0] = np.nan
            self.turn += 1

    def _answer(self) -> None:
        # If the child has died, its rows must still be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.child.connection.send_bytes(b"")

    def _salvage(self) -> None:
        """Record the finished rows (those with a time) that the child has not committed.

        The child announces new contents when it commits, so rows that refer to unknown contents are dropped.
        """
        rows = self.ring[self.turn % len(self.ring)].copy()
        strange = ~np.isfinite(rows[:, 0])
        strange |= ~np.isin(self.recorder.references(rows), list(self.contents)).all(axis=1)
        with interrupts_deferred():
            self._take(rows[: np.argmax(strange)] if strange.any() else rows)

    # -- how it ended ----------------------------------------------------------------------------------------

    def _died(self, status: int) -> Execution:
        calls = self.watch.in_flight()
        if self.child.ran_out():
            return self._ended(Ending.MEMORY, ran_out_of_memory(self.allowed), _LESS_MEMORY, calls)
        if reason := crash(status):
            return self._ended(Ending.CRASHED, f"the process was ended by {reason}", _REPORT, calls)
        what = f"the process was ended from inside, with exit status {status}"
        return self._ended(Ending.EXITED, what, _REPORT, calls)

    def _ended(self, ending: Ending, what: str, advice: str, calls: tuple[tuple[str, str], ...]) -> Execution:
        component, function = calls[0] if calls else ("", "")
        where = " and in ".join(f"{call} of component {name}" for name, call in calls)
        if not calls:
            unknown = "the call is not known, because the native watch module was not built"
            where = "no call of an FMU" if NATIVE else unknown
        failure = Failure(
            ending,
            f"{what} (in {where})" if calls else f"{what} ({where})",
            f"{advice}; {more_about(self.settings, ())}",
            self.recorder.last_time,
            component,
            function,
        )
        seconds = self.limits.seconds
        report = self.recorder.report or InitializationReport((), failure, seconds)
        done = Statistics(
            steps=max(0, self.recorder.seen - 1),
            seconds=seconds - report.seconds,
            initialization_seconds=report.seconds,
            calls=self.watch.calls() if self.watch.measured else (),
        )
        return Execution(report, failure, done)


def _leading_numbers(times: np.ndarray) -> int:
    missing = np.isnan(times)
    return int(np.argmax(missing)) if missing.any() else len(times)
