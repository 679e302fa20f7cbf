"""Carry out a plan in a child process, so that an FMU that crashes, hangs or eats memory ends the run and nothing
else.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Protocol

import numpy as np

from ssptool.engine.blocks import blocks_at_once, rows_at_once
from ssptool.engine.child import Assignment, Committed, Finished, Initialized, Located, Message, Raised, work
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.execution import Counts, Execution, Job
from ssptool.engine.initialize import InitializationReport
from ssptool.engine.interrupts import held_back
from ssptool.engine.limits import Limits
from ssptool.engine.recorder import Recorder
from ssptool.engine.recording.contents import NO_NEWS, News
from ssptool.engine.sendable import task_for_fresh
from ssptool.engine.shared import SharedMemory
from ssptool.engine.watch import NATIVE, Watch
from ssptool.scratch import ScratchFolder

LOOK_SECONDS = 0.01
"""Between two looks at memory and steps, if one of them is limited."""

_ENTRY = "from ssptool.engine.child import main; main()"

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
                    child = (_Fork if _may_fork(fork) else _Fresh)(assignment, memory)
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
    return Assignment(located, scratch, min(blocks_at_once(width), -(-count // rows) + 1), rows)


def _may_fork(fork: bool | None) -> bool:
    return sys.platform == "linux" and threading.active_count() == 1 if fork is None else fork


class _Child(Protocol):
    pid: int
    connection: Connection

    def wait(self) -> int:
        """The exit status, or minus the number of the signal that ended it."""
        ...

    def kill(self) -> None:
        """If it is still there. What it has sent can still be received."""
        ...

    def end(self) -> None:
        """Kill it if it is still there, and close the connection."""
        ...


class _Fork:
    """A copy of this process."""

    def __init__(self, assignment: Assignment, memory: SharedMemory) -> None:
        self.connection, theirs = Pipe()
        parent = os.getpid()
        self._status: int | None = None
        with warnings.catch_warnings():
            # The threads that Python counts here are idle ones of the BLAS library, which knows about forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            self.connection.close()
            work(assignment, memory, theirs, parent)
        theirs.close()

    def wait(self) -> int:
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def kill(self) -> None:
        if self._status is None:
            # Unless an interrupt came between its end and the note of that.
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                self.wait()

    def end(self) -> None:
        self.kill()
        self.connection.close()


class _Fresh:
    """A new interpreter."""

    def __init__(self, assignment: Assignment, memory: SharedMemory) -> None:
        task = task_for_fresh(assignment)
        self.connection, theirs = Pipe()
        descriptors = (theirs.fileno(), memory.descriptor)
        command = [sys.executable, "-c", _ENTRY, *map(str, descriptors), str(os.getpid())]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(command, pass_fds=descriptors, env=environment, stdin=subprocess.DEVNULL)
        self.pid = self._process.pid
        theirs.close()
        self.connection.send_bytes(task)
        # Limits of time are those of the FMUs, and to start an interpreter is not their fault. Should it die instead,
        # whoever follows it finds out.
        with contextlib.suppress(EOFError, ConnectionResetError):
            self.connection.recv_bytes()

    def wait(self) -> int:
        return self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        self.kill()
        self.connection.close()


class _Overdue(Exception):
    """A limit was reached."""

    def __init__(self, ending: Ending, what: str, advice: str) -> None:
        super().__init__(what)
        self.ending = ending
        self.what = what
        self.advice = advice


class _Parent:
    """Follows a child: takes its rows, and says how it ended."""

    def __init__(
        self, assignment: Assignment, memory: SharedMemory, child: _Child, recorder: Recorder, limits: Limits
    ) -> None:
        self.child = child
        self.recorder = recorder
        self.limits = limits
        self.watch: Watch
        self.watch, self.ring = assignment.watch_and_ring(memory)
        self.turn = 0
        self.began = self.moved = self.looked = time.monotonic()
        self.position = (0, 0)
        job = assignment.job
        # A step that keeps pace with the clock takes that long without any fault.
        self.waiting = 0.0 if job.realtime is None else job.plan.interval.step / job.realtime

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
        except _Overdue as overdue:
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
            ready = self.child.connection.poll(self._patience())
            self._check_limits()

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

    # -- limits ----------------------------------------------------------------------------------------------

    def _patience(self) -> float | None:
        """How long to wait for a message before limits are looked at [s]."""
        limits = self.limits
        if limits.memory is not None or limits.step_seconds is not None:
            return LOOK_SECONDS
        if limits.seconds is not None:
            return max(0.0, self.began + limits.seconds - time.monotonic())
        return None

    def _check_limits(self) -> None:
        limits, now = self.limits, time.monotonic()
        if limits.seconds is not None and now - self.began >= limits.seconds:
            what = f"the run has taken {limits.seconds:g} s, which is all that it may take"
            raise _Overdue(Ending.TIMEOUT, what, "allow more with --timeout, or look at why it takes so long")
        if now - self.looked < LOOK_SECONDS:
            return
        self.looked = now
        if limits.step_seconds is not None:
            self._check_step(limits.step_seconds + self.waiting, now)
        if limits.memory is not None:
            self._check_memory(limits.memory)

    def _check_step(self, allowed: float, now: float) -> None:
        position = (self.turn, _leading_numbers(self.ring[self.turn % len(self.ring), :, 0]))
        if position != self.position:
            self.position, self.moved = position, now
        if now - self.moved >= allowed:
            what = f"no macro step has been finished for {allowed:g} s, which is all that one may take"
            raise _Overdue(Ending.TIMEOUT, what, "allow more with --step-timeout, or report it to the FMU's supplier")

    def _check_memory(self, allowed: int) -> None:
        used = _own_memory(self.child.pid)
        if used > allowed:
            what = f"{used >> 20} MiB of memory are in use, allowed are {allowed >> 20} MiB"
            raise _Overdue(Ending.MEMORY, what, "allow more with --memory-limit, or report it to the FMU's supplier")

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
            advice,
            self.recorder.last_time,
            component,
            function,
        )
        seconds = time.monotonic() - self.began
        report = self.recorder.report or InitializationReport((), failure, seconds)
        counts = Counts(steps=max(0, self.recorder.seen - 1), seconds=seconds - report.seconds)
        calls_made = self.watch.calls() if self.watch.measured else ()
        return Execution(self.recorder.kernel, report, failure, counts, calls_made)


def _leading_numbers(times: np.ndarray) -> int:
    missing = np.isnan(times)
    return int(np.argmax(missing)) if missing.any() else len(times)


_OWN = ("Private_Clean:", "Private_Dirty:", "Private_Hugetlb:")


def _own_memory(pid: int) -> int:
    """Memory of a process [byte] that it does not share with the one it was forked from; 0 if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_OWN))
