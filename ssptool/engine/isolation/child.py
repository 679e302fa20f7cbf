"""The process in which FMUs run when they are isolated, and what it tells its parent."""

import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.execution import Execution, Job, execute
from ssptool.engine.initialize import InitializationReport
from ssptool.engine.isolation.shared_memory import SharedMemory
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.pool import Pool
from ssptool.engine.recording.contents import NO_NEWS, News
from ssptool.engine.watch import Watch
from ssptool.pickling import dumps

_PR_SET_PDEATHSIG = 1
_STDOUT, _STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Located:
    """FMUs by their names in the archive, as files that a child process can read."""

    paths: Mapping[str, Path]

    def local_path(self, name: str) -> Path:
        return self.paths[name]


class Initialized(NamedTuple):
    """Initialization has ended; rows follow if it went well."""

    kernel: str
    report: InitializationReport


@dataclass(frozen=True, slots=True)
class Committed:
    """So many rows of the next slot of the ring are final, with this news of contents. The parent answers when it has
    read them.
    """

    count: int
    news: News = NO_NEWS


class Finished(NamedTuple):
    execution: Execution


class Raised(NamedTuple):
    error: BaseException


Message = Initialized | Committed | Finished | Raised


class SharedRows:
    """Rows in slots that the parent reads: what was written there is not lost when this process is."""

    def __init__(self, ring: Floats, connection: Connection) -> None:
        self._ring = ring
        self._connection = connection
        self._turn = 0
        self._unread = 0

    def initialized(self, kernel: str, report: InitializationReport) -> None:
        self._connection.send_bytes(dumps(Initialized(kernel, report)))

    def space(self, count: int) -> Floats:
        if self._unread == len(self._ring):
            self._connection.recv_bytes()
            self._unread -= 1
        rows: Floats = self._ring[self._turn % len(self._ring)][:count]
        return rows

    def commit(self, count: int, news: News = NO_NEWS) -> None:
        self._connection.send_bytes(dumps(Committed(count, news)))
        self._turn += 1
        self._unread += 1


class Assignment(NamedTuple):
    """All that a child has to know: `folder` is its working directory, `scratch` a folder that the parent removes."""

    job: Job
    folder: Path
    scratch: str
    slots: int
    rows: int

    def watch_and_ring(self, memory: SharedMemory) -> tuple[Watch, Floats]:
        """The two parts of the shared memory."""
        names = [instance.name for instance in self.job.plan.instances]
        width = 1 + len(self.job.plan.recorded)
        shape = (self.slots, self.rows, width)
        size = Watch.size(len(names))
        ring: Floats = np.frombuffer(memory.buffer, count=int(np.prod(shape)), offset=size).reshape(shape)
        return Watch(memory.buffer, names, measured=self.job.measured), ring

    @property
    def size(self) -> int:
        """Bytes of shared memory."""
        row = 8 * (1 + len(self.job.plan.recorded))
        return Watch.size(len(self.job.plan.instances)) + self.slots * self.rows * row


def work(assignment: Assignment, memory: SharedMemory, connection: Connection, parent: int) -> None:
    """Do the job, tell the parent, and end this process; returns to nobody."""
    try:
        connection.send_bytes(dumps(_attempt(assignment, memory, connection, parent)))
    except Exception as error:
        connection.send_bytes(dumps(Raised(error)))
    finally:
        # Nothing that the parent has prepared for its own end is done here. What FMUs have printed is not lost.
        ctypes.CDLL(None).fflush(None)
        os._exit(0)


def _attempt(assignment: Assignment, memory: SharedMemory, connection: Connection, parent: int) -> Message:
    settle(assignment.scratch, parent)
    with suppress(OSError):  # it is no longer there
        os.chdir(assignment.folder)
    watch, ring = assignment.watch_and_ring(memory)
    # Libraries stay where they are: a thread that an FMU has left behind would crash without its code.
    return Finished(execute(assignment.job, SharedRows(ring, connection), watch, Pool(reuse=False)))


def settle(scratch: str, parent: int) -> None:
    """An interrupt is the parent's business; when the parent ends, so does this process; crashes are silent; what FMUs
    print goes to stderr, because what this program has to say goes to stdout.

    `scratch` is a folder for temporary files, which the parent removes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.disable()
    tempfile.tempdir = scratch
    with suppress(OSError):  # there may be no such streams
        os.dup2(_STDERR, _STDOUT)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main() -> None:
    """Entry of a fresh interpreter: descriptors of the connection and the memory are its arguments. Tells when it is
    ready to work.
    """
    descriptor, shared, parent = map(int, sys.argv[1:])
    connection = Connection(descriptor)
    assignment: Assignment = pickle.loads(connection.recv_bytes())
    connection.send_bytes(b"")
    work(assignment, SharedMemory(shared, assignment.size), connection, parent)
