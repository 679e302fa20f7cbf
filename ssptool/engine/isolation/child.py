"""Child process of an isolated run: the job that it gets, and what it reports."""

import faulthandler
import io
import mmap
import os
import pickle
import signal
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Pipe
from multiprocessing.reduction import send_handle
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ssptool.child_processes import (
    BadMessage,
    Connection,
    Fork,
    Interpreter,
    Pickler,
    child_environment,
    close_descriptors,
    descriptor_of,
    dumps,
    encoded,
    end_with,
    error_data,
    error_from,
    flush_c_streams,
    handle_of,
    import_path,
    limit_waiting,
    parsed,
    received,
    scrub,
    start_interpreter,
    value_of,
)
from ssptool.engine.assembly.instances import Located, Pool
from ssptool.engine.isolation.memory import ControlGroup
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.run.execution import Execution, Job, execute
from ssptool.engine.run.initialization import InitializationReport
from ssptool.engine.trace import NO_ENTRIES, NewEntries
from ssptool.engine.watch import Watch
from ssptool.errors import MissingPackage, WrongValue, is_own
from ssptool.fmu.messages import native_messages
from ssptool.foreign_output import may_be_copied
from ssptool.guard import ask_to_end, stand_guard
from ssptool.sandbox import NAMESPACES, close_files, system_paths
from ssptool.working_directory import absolute

if sys.platform == "linux":
    import fcntl


class SharedMemory:
    """Memory behind a file descriptor that a child process inherits; zero at first.

    A child cannot change its size (Linux), so the parent can read all of it, whatever an FMU does.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self.buffer = mmap.mmap(descriptor, max(1, size))

    @classmethod
    def create(cls, size: int) -> "SharedMemory":
        if sys.platform == "linux":
            descriptor = os.memfd_create("ssptool", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        else:
            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
        try:
            os.ftruncate(descriptor, max(1, size))
            if sys.platform == "linux":
                fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        except OSError as error:  # such as a limit of file sizes
            os.close(descriptor)
            wanted = f"no {size} bytes of memory to share with a child process"
            raise OSError(error.errno, f"{wanted}: {error.strerror}; run in this process (--in-process)") from error
        return cls(descriptor, size)

    def close(self) -> None:
        """Close the descriptor; arrays over the buffer stay valid."""
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class Committed:
    """Message: `count` rows of the next slot of the ring are final, with the new contents (texts, binary values) that
    they refer to. The parent answers after reading them.
    """

    count: int
    entries: NewEntries = NO_ENTRIES


Message = InitializationReport | Committed | Execution | Exception
"""End of initialization, after which rows follow if it succeeded; rows; end of the run; end by an error."""

_RAISED = "Exception"


def _send(connection: Connection, message: InitializationReport | Committed | Execution) -> None:
    """Send a value as its name and its fields: data that the parent checks."""
    connection.send_bytes(encoded([type(message).__name__, message]))


def message_from(content: bytes) -> Message:
    """A message of a child. Raises BadMessage."""
    parts = parsed(content)
    if type(parts) is not list or len(parts) != 2:
        raise BadMessage("it has no name")
    name, data = parts
    for kind in (InitializationReport, Committed, Execution):
        if name == kind.__name__:
            return value_of(kind, data, name)
    if name == _RAISED:
        return error_from(data)
    raise BadMessage(f"its name is {str(name)[:40]!r}")


class SharedRows:
    """Ring of rows in shared memory, which the parent can read even after this process has died."""

    def __init__(self, ring: Floats, connection: Connection) -> None:
        self._ring = ring
        self._connection = connection
        self._turn = 0
        self._unread = 0

    def initialized(self, report: InitializationReport) -> None:
        _send(self._connection, report)

    def space(self, count: int) -> Floats:
        if self._unread == len(self._ring):
            self._connection.recv_bytes()
            self._unread -= 1
        rows: Floats = self._ring[self._turn % len(self._ring)][:count]
        return rows

    def commit(self, count: int, entries: NewEntries = NO_ENTRIES) -> None:
        _send(self._connection, Committed(count, entries))
        self._turn += 1
        self._unread += 1


class ChildTask(NamedTuple):
    """Task of a child process. `folder` is its working directory, `scratch` a folder that the parent removes.

    In a `sandbox` it can read only its FMUs, and write only to `scratch` and the logs of the run; `without` are
    layers that the sandbox lacks.
    """

    job: Job
    folder: Path
    scratch: str
    slots: int
    rows: int
    sandbox: bool = False
    without: tuple[str, ...] = ()

    @property
    def offline(self) -> bool:
        """Whether the process begins in namespaces of its own."""
        return self.sandbox and NAMESPACES not in self.without

    def watch_and_ring(self, memory: SharedMemory) -> tuple[Watch, Floats]:
        """Watch and ring of rows: the two parts of the shared memory."""
        names = [instance.name for instance in self.job.plan.instances]
        width = 1 + len(self.job.plan.recorded)
        shape = (self.slots, self.rows, width)
        size = Watch.size(len(names))
        ring: Floats = np.frombuffer(memory.buffer, count=int(np.prod(shape)), offset=size).reshape(shape)
        return Watch(memory.buffer, names, measured=self.job.measured), ring

    @property
    def size(self) -> int:
        """Size of the shared memory [byte]."""
        row = 8 * (1 + len(self.job.plan.recorded))
        return Watch.size(len(self.job.plan.instances)) + self.slots * self.rows * row


def work(assignment: ChildTask, memory: SharedMemory, connection: Connection, parent: int) -> None:
    """Execute the job, send the result to the parent, and end this process; never returns."""
    try:
        _send(connection, _attempt(assignment, memory, connection, parent))
    except Exception as error:
        if not is_own(error):  # a traceback stays in this process, and is needed to find a bug of ssptool
            error.add_note("".join(traceback.format_exception(error)))
        connection.send_bytes(encoded([_RAISED, error_data(error)]))
    finally:
        # Skip the exit handlers inherited from the parent, but flush what FMUs have printed.
        flush_c_streams()
        os._exit(0)


def _attempt(assignment: ChildTask, memory: SharedMemory, connection: Connection, parent: int) -> Execution:
    settle(assignment.scratch, parent)
    if isinstance(assignment.job.sources, Located):
        assignment.job.sources.name_originals()
    with suppress(OSError):  # the parent has ended
        os.chdir(assignment.folder)
    watch, ring = assignment.watch_and_ring(memory)
    if sys.platform == "linux":  # copies of this process that contain FMUs do not need it
        memory.buffer.madvise(mmap.MADV_DONTFORK)
    if assignment.sandbox:
        instances = assignment.job.plan.instances
        own = {assignment.job.sources.local_path(instance.source) for instance in instances}
        written = [*logs_of(assignment.job), *([] if assignment.offline else [Path(assignment.scratch)])]
        close_files([*system_paths(), *own], written, assignment.folder, assignment.without)
    # Libraries stay loaded: a thread that an FMU has left running would crash without its code.
    return execute(assignment.job, SharedRows(ring, connection), watch, Pool(reuse=False))


def logs_of(job: Job) -> list[Path]:
    """Log files that the run writes next to its results."""
    settings = job.plan.settings
    return [
        absolute(path) for path in (settings.log_loops, settings.log_coupling, settings.fmu_log) if path is not None
    ]


def settle(scratch: str, parent: int) -> None:
    """Prepare this process as a child: it ignores interrupts, ends together with its parent, and crashes silently.

    `scratch` is a folder for temporary files, which the parent removes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.disable()
    scrub()
    tempfile.tempdir = scratch
    end_with(parent)


def main() -> None:
    """Entry point of a new interpreter. Its arguments are the handles of the connection and of the memory. Sends a
    message when it is ready to work.
    """
    handle, shared, parent = map(int, sys.argv[1:])
    connection = Connection(handle)
    assignment: ChildTask = pickle.loads(connection.recv_bytes())
    connection.send_bytes(b"")
    work(assignment, SharedMemory(descriptor_of(shared), assignment.size), connection, parent)


def task_for_fresh(assignment: ChildTask) -> bytes:
    """Serialize a task for `child.main`.

    Raises
    ------
    WrongValue
        The task contains an object that cannot be sent to another process.
    """
    buffer = io.BytesIO()
    try:
        _Sender(buffer, pickle.HIGHEST_PROTOCOL).dump(assignment)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise WrongValue(
            f"the run cannot be given to a process of its own ({error}): define functions that drive inputs at the "
            "top level of a module, or run the FMUs in this process (isolated=False)"
        ) from None
    return buffer.getvalue()


class _Sender(Pickler):
    """Pickler that sends classes and functions of a notebook, a script or a function body as code, anything else by
    name.
    """

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType | type) and not _importable(value):
            return pickle.loads, (_as_code(value),)
        return super().reducer_override(value)


def _importable(value: FunctionType | type) -> bool:
    return value.__module__ != "__main__" and "<" not in value.__qualname__


def _as_code(value: FunctionType | type) -> bytes:
    if find_spec("cloudpickle") is None:
        raise pickle.PicklingError(
            f"{value.__qualname__} is defined in {value.__module__}, where no other process finds it; with the package "
            "cloudpickle, it can be sent"
        )
    code: bytes = import_module("cloudpickle").dumps(value)
    return code


_ENTRY = "ssptool.engine.isolation.child:main"


class ChildProcess:
    """Child process with a task, and the connection to it."""

    def __init__(self, process: Fork | Interpreter, connection: Connection) -> None:
        self._process = process
        self.pid = process.pid
        self.connection = connection
        self._group = ControlGroup(None, None)
        limit_waiting(connection)

    def confine(self, allowed: int | None) -> None:
        """Let the kernel limit the child, which has no task yet, where it can. `allowed`: memory [byte]."""
        self._group = ControlGroup(self.pid, allowed)

    def ran_out(self) -> bool:
        """Whether the kernel has ended the child because of its memory."""
        return self._group.ran_out()

    def wait_until_ready(self) -> None:
        """Wait until the child works on its task or has died; the caller that follows it finds out which. The start of
        the interpreter does not count for the limits of time, which are those of the FMUs.
        """
        with suppress(EOFError, ConnectionResetError, BrokenPipeError):
            self.connection.poll(None)
            received(self.connection)

    def show_output(self) -> None:
        """Show the output of the child from now on, unless output is suppressed."""
        if self._process.output is not None:
            self._process.output.show_here()

    def ended(self) -> bool:
        """True if the child has ended; `wait` then returns at once."""
        return self._process.poll() is not None

    def wait(self) -> int:
        """Wait for the end of the child: its exit status, or minus the number of the signal that ended it."""
        return self._process.wait()

    def kill(self) -> None:
        """Kill the child, if it still runs, and all processes that it has started."""
        ask_to_end(self.pid, self.ended)
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Kill the child, if it still runs, and close the connection."""
        self.kill()
        self.connection.close()
        self._group.remove()


def load_native() -> None:
    """Load what each copy of this process would load again."""
    with suppress(MissingPackage):  # the child reports it
        native_messages()


def _copy(assignment: ChildTask, memory: SharedMemory) -> ChildProcess:
    """Start the task in a copy of this process."""
    load_native()
    connection, theirs = Pipe()
    parent = os.getpid()

    def copied() -> None:
        close_descriptors([theirs.fileno()])
        stand_guard(parent)
        work(assignment, memory, theirs, parent)

    process = Fork(copied)
    theirs.close()
    return ChildProcess(process, connection)


def _fresh(assignment: ChildTask, memory: SharedMemory, allowed: int | None) -> ChildProcess:
    """Start the task in a new interpreter."""
    task = task_for_fresh(assignment)
    connection, theirs = Pipe()
    handles = (theirs.fileno(), handle_of(memory.descriptor))
    process = start_interpreter(_ENTRY, (*handles, os.getpid()), handles, guarded=True, offline=assignment.offline)
    theirs.close()
    child = ChildProcess(process, connection)
    if assignment.sandbox:
        child.confine(allowed)
    connection.send_bytes(task)
    child.wait_until_ready()
    return child


PREPARED: list[ChildProcess] = []
"""Children that wait for a task in a sandbox."""


def _prepared(assignment: ChildTask, memory: SharedMemory, allowed: int | None) -> ChildProcess:
    """Start the task in a prepared child, with the environment and the module search path that a new interpreter would
    have now.
    """
    child = PREPARED.pop(0)
    child.show_output()
    child.confine(allowed)
    task = child_environment(), import_path(), task_for_fresh(assignment)
    # If the child has died, the caller that follows it finds out.
    with suppress(ConnectionResetError, BrokenPipeError):
        child.connection.send_bytes(b"")
        send_handle(child.connection, memory.descriptor, child.pid)
        child.connection.send_bytes(dumps(task))
        child.wait_until_ready()
    return child


def start_child(
    assignment: ChildTask, memory: SharedMemory, *, fork: bool | None, allowed: int | None = None
) -> ChildProcess:
    """Start a child process. `fork`: as a copy of this process; None: a copy if that is safe. `allowed`: memory in a
    sandbox [byte], which the kernel limits where it can.

    A child in a sandbox is never a copy of this process as it is now, with its open files and everything in its memory.
    """
    if assignment.sandbox:
        return (_prepared if PREPARED and assignment.offline else _fresh)(assignment, memory, allowed)
    return _copy(assignment, memory) if _may_fork(fork) else _fresh(assignment, memory, allowed)


def _may_fork(fork: bool | None) -> bool:
    return sys.platform == "linux" and may_be_copied() if fork is None else fork
