"""Child processes for runs in a sandbox: copies of this process, made before it has read anything (`clean_start`).

They wait for a task, and end with this process. The first one, the only one that most runs use, enters the sandbox
while it waits.
"""

import os
import pickle
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Pipe
from multiprocessing.reduction import recv_handle

from ssptool.child_processes import Connection, Fork, close_descriptors
from ssptool.engine.isolation.child import (
    PREPARED,
    ChildProcess,
    ChildTask,
    SharedMemory,
    load_native,
    work,
)
from ssptool.guard import signalled_with_parent, stand_guard
from ssptool.own_root import resolved
from ssptool.sandbox import leave_network, system_paths

COUNT = 4
"""Number of children: for a run, for those with a half and a quarter of its step, and one more."""


def prepare() -> None:
    """Make the children. They die if no sandbox is available, which the run reports. If memory is short, none is
    made.
    """
    load_native()
    for path in system_paths():  # resolved once for all children
        resolved(str(path))
    with suppress(OSError):
        while len(PREPARED) < COUNT:
            PREPARED.append(_prepared(at_once=not PREPARED))


def _prepared(at_once: bool) -> ChildProcess:
    connection, theirs = Pipe()
    parent = os.getpid()

    def copied() -> None:
        close_descriptors([theirs.fileno()])
        signalled_with_parent(signal.SIGTERM)
        if at_once:
            _enter_spaces(parent)
        theirs.recv_bytes()
        if not at_once:
            _enter_spaces(parent)
        _work_when_asked(theirs, parent)

    process = Fork(copied)
    theirs.close()
    return ChildProcess(process, connection)


def _enter_spaces(parent: int) -> None:
    leave_network(apart=True)
    stand_guard(parent, apart=True)


def _work_when_asked(connection: Connection, parent: int) -> None:
    memory = recv_handle(connection)
    environment, path, task = pickle.loads(connection.recv_bytes())
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    assignment: ChildTask = pickle.loads(task)
    connection.send_bytes(b"")
    work(assignment, SharedMemory(memory, assignment.size), connection, parent)
