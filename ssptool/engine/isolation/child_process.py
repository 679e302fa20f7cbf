"""The process in which FMUs run, as whoever has started it sees it."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import warnings
from multiprocessing.connection import Connection, Pipe
from typing import Protocol

from ssptool.engine.isolation.child import Assignment, work
from ssptool.engine.isolation.sendable import task_for_fresh
from ssptool.engine.isolation.shared_memory import SharedMemory

_ENTRY = "from ssptool.engine.isolation.child import main; main()"


class ChildProcess(Protocol):
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


def start_child(assignment: Assignment, memory: SharedMemory, *, fork: bool | None) -> ChildProcess:
    """At work. `fork`: as a copy of this process; None: where that is safe."""
    return (_Fork if _may_fork(fork) else _Fresh)(assignment, memory)


def _may_fork(fork: bool | None) -> bool:
    return sys.platform == "linux" and threading.active_count() == 1 if fork is None else fork
