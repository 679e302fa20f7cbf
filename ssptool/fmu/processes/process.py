"""Start, ask and end a process for FMUs."""

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

from ssptool.fmu.processes._proxy import Client
from ssptool.fmu.processes.serving import EndInstance, Request, serve_as_copy
from ssptool.pickling import dumps

_ENTRY = "from ssptool.fmu.processes.serving import main; main()"
_END_SECONDS = 1.0
"""For a process that was asked to end."""


class FmuProcess:
    """At work from the beginning. `number` tells it apart from others of the same run."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.names: list[str] = []
        """Of its instances, in the order in which they were made."""
        self._status: int | None = None
        self._closed = False
        memory = os.memfd_create("ssptool-fmu")
        try:
            self.client = Client(memory)
            # A copy is at work at once; threads other than the one that copies would not be in it.
            self._child: _ForkedProcess | _NewProcess = (
                _ForkedProcess if threading.active_count() == 1 else _NewProcess
            )(memory)
        finally:
            os.close(memory)
        self.client.process(self._child.pid)

    def request(self, request: Request) -> Any:
        """What the process answers. Raises what it raises there, and RuntimeError where it has ended."""
        answer = pickle.loads(self.client.request(dumps(request)))
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def lost(self) -> tuple[str, str] | None:
        """The component and the function that were called when it turned out that the process has ended by itself."""
        if self._closed or (lost := self.client.lost) is None:
            return None
        index, function = lost
        return (self.names[index] if index >= 0 else self.names[-1], function)

    @property
    def ended_by(self) -> str:
        """The reason in words, of a process that is lost."""
        if self._status is None:
            self._status = self._child.wait()
        if self._status >= 0:
            return f"was ended from inside, with exit status {self._status}"
        number = -self._status
        return f"was ended by {signal.Signals(number).name} ({signal.strsignal(number)})"

    def end(self) -> None:
        """End the process; doing it again does no harm."""
        if self._closed:
            return
        lost = self.client.lost is not None
        if not lost:
            with contextlib.suppress(RuntimeError):
                self.request(EndInstance())
        self._closed = True
        self.client.close()
        self._child.end(0.0 if lost else _END_SECONDS)


class _ForkedProcess:
    """A copy of this process."""

    def __init__(self, memory: int) -> None:
        parent = os.getpid()
        ctypes.CDLL(None).fflush(None)  # what FMUs have printed is printed once
        with warnings.catch_warnings():
            # The threads that Python counts here are idle ones of the BLAS library, which knows about forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            try:
                serve_as_copy(memory, parent)
            finally:
                os._exit(1)
        self._status: int | None = None

    def wait(self) -> int:
        """The exit status, or minus the number of the signal that ended it."""
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def end(self, patience: float) -> None:
        """Kill it if it does not end by itself in time [s]."""
        if self._status is not None:
            return
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self._status = os.waitstatus_to_exitcode(status)
                return
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


class _NewProcess:
    """A new interpreter."""

    def __init__(self, memory: int) -> None:
        theirs, self._alive = os.pipe()
        command = [sys.executable, "-c", _ENTRY, str(memory), str(theirs), str(os.getpid())]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            self._process = subprocess.Popen(
                command, pass_fds=(memory, theirs), env=environment, stdin=subprocess.DEVNULL
            )
        finally:
            os.close(theirs)
        self.pid = self._process.pid

    def wait(self) -> int:
        return self._process.wait()

    def end(self, patience: float) -> None:
        os.close(self._alive)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        self._process.kill()
        self._process.wait()
