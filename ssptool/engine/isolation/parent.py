"""Carry out a plan in a child process, so that an FMU that crashes, hangs or eats memory ends the run and nothing
else.
"""

import contextlib
import pickle
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np

from ssptool.engine.blocks import blocks_at_once, rows_at_once
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.execution import Counts, Execution, Job
from ssptool.engine.fmu_log import more_about
from ssptool.engine.initialize import InitializationReport
from ssptool.engine.interrupts import held_back
from ssptool.engine.isolation.child import Assignment, Committed, Finished, Initialized, Located, Message, Raised
from ssptool.engine.isolation.child_process import ChildProcess, start_child
from ssptool.engine.isolation.limits import Limits
from ssptool.engine.isolation.overdue import LimitWatch, Overdue
from ssptool.engine.isolation.shared_memory import SharedMemory
from ssptool.engine.recorder import Recorder
from ssptool.engine.recording.contents import NO_NEWS, News
from ssptool.engine.watch import NATIVE, Watch
from ssptool.scratch import ScratchFolder
from ssptool.working_directory import absolute

_REPORT = "the FMU is at fault: report it to its supplier; --in-process under a debugger shows where it happens"


def execute_isolated(job: Job, recorder: Recorder, limits: Limits, *, fork: bool | None = None) -> Execution:
    """As `execute`, in a child process; crashes and limits end the run with a `Failure`.

    Parameters
    ----------
    fork
        Whether the child is a copy of this process (fast) or a fresh interpreter; None: the copy where that is safe,
        which is on Linux while there is only one thread.
    """
    with ScratchFolder() as scratch:
        assignment = _assignment(job, scratch)
        memory = SharedMemory.create(assignment.size)
        try:
            # Before there is anybody who writes rows.
            assignment.watch_and_ring(memory)[1][:, :, 0] = np.nan
            with contextlib.ExitStack() as stack:
                with held_back():
                    child = start_child(assignment, memory, fork=fork)
                    stack.callback(child.end)
                return _Parent(assignment, memory, child, recorder, limits).follow()
        finally:
            memory.close()


def _assignment(job: Job, scratch: str) -> Assignment:
    plan = job.plan
    # Here, because what an archive unpacks in the child would never be removed.
    paths = {instance.source: job.sources.local_path(instance.source) for instance in plan.instances}
    located = replace(job, sources=Located(paths))
    width, count = 1 + len(plan.recorded), plan.interval.steps + 1
    rows = rows_at_once(count, width)
    return Assignment(located, absolute(Path()), scratch, min(blocks_at_once(width), -(-count // rows) + 1), rows)


class _Parent:
    """Follows a child: takes its rows, and says how it ended."""

    def __init__(
        self, assignment: Assignment, memory: SharedMemory, child: ChildProcess, recorder: Recorder, limits: Limits
    ) -> None:
        self.child = child
        self.recorder = recorder
        self.watch: Watch
        self.watch, self.ring = assignment.watch_and_ring(memory)
        self.turn = 0
        job = assignment.job
        self.settings = job.plan.settings
        # A step that keeps pace with the clock takes that long.
        waiting = 0.0 if job.realtime is None else job.plan.interval.step / job.realtime
        self.limits = LimitWatch(limits, child.pid, waiting)

    def follow(self) -> Execution:
        """Until the child has finished or must not go on.

        Whoever interrupts this finds recorded what the child had done by then.
        """
        try:
            while True:
                self._wait()
                with held_back():
                    message = self._receive()
                match message:
                    case Finished(execution):
                        self.child.wait()
                        return execution
                    case Raised(error):
                        raise error
                    case None:
                        status = self.child.wait()
                        self._salvage()
                        return self._died(status)
        except Overdue as overdue:
            calls = self.watch.in_flight()
            self._drain()
            return self._ended(overdue.ending, overdue.what, overdue.advice, calls)
        except BaseException:
            self._drain()
            raise

    def _wait(self) -> None:
        """For the next message, or the end of the child."""
        ready = False
        while not ready:
            ready = self.child.connection.poll(self.limits.patience())
            self.limits.check(self._progress)

    def _progress(self) -> tuple[int, int]:
        """Turns of the ring, and rows of the present one."""
        return self.turn, _leading_numbers(self.ring[self.turn % len(self.ring), :, 0])

    def _receive(self) -> Message | None:
        """The next message, what is to be recorded of it recorded; None at the end."""
        try:
            message: Message = pickle.loads(self.child.connection.recv_bytes())
        except (EOFError, OSError):  # it may have died in the middle of one
            return None
        match message:
            case Initialized(kernel, report):
                self.recorder.initialized(kernel, report)
            case Committed(count, news):
                self._take(count, news)
                self._answer()
        return message

    def _drain(self) -> None:
        """End the child, and take all rows that it has finished."""
        with held_back():
            self.child.kill()
            while self._receive() is not None:
                pass
            self._salvage()

    def _take(self, count: int, news: News = NO_NEWS) -> None:
        slot = self.ring[self.turn % len(self.ring)]
        try:
            self.recorder.add(slot[:count], news)
        finally:  # whoever is told of the progress may end the run
            slot[:, 0] = np.nan
            self.turn += 1

    def _answer(self) -> None:
        # If it has died by now, what it has written is still to be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.child.connection.send_bytes(b"")

    def _salvage(self) -> None:
        """The rows that the child has finished and not yet committed: those with a time.

        It tells of new contents when it commits, so that none is known of these rows.
        """
        slot = self.ring[self.turn % len(self.ring)]
        finished = slot[: _leading_numbers(slot[:, 0])]
        with held_back():
            self._take(len(self.recorder.known(finished)))

    # -- how it ended ----------------------------------------------------------------------------------------

    def _died(self, status: int) -> Execution:
        calls = self.watch.in_flight()
        if status >= 0:
            return self._ended(
                Ending.EXITED, f"the process was ended from inside, with exit status {status}", _REPORT, calls
            )
        number = -status
        name, described = signal.Signals(number).name, signal.strsignal(number)
        return self._ended(Ending.CRASHED, f"the process was ended by {name} ({described})", _REPORT, calls)

    def _ended(self, ending: Ending, what: str, advice: str, calls: tuple[tuple[str, str], ...]) -> Execution:
        component, function = calls[0] if calls else ("", "")
        where = " and in ".join(f"{call} of component {name}" for name, call in calls)
        if not calls:
            where = "no call of an FMU" if NATIVE else "what it called is not known: the native stand-ins are not built"
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
        counts = Counts(steps=max(0, self.recorder.seen - 1), seconds=seconds - report.seconds)
        calls_made = self.watch.calls() if self.watch.measured else ()
        return Execution(self.recorder.kernel, report, failure, counts, calls_made)


def _leading_numbers(times: np.ndarray) -> int:
    missing = np.isnan(times)
    return int(np.argmax(missing)) if missing.any() else len(times)
