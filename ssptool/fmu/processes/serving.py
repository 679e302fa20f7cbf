"""Load and call FMUs in a separate process, on requests of another process."""

import contextlib
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from ssptool.child_processes import close_descriptors, encoded, end_with, error_data, flush_c_streams, scrub
from ssptool.fmu.binary import FmuBinary, load
from ssptool.fmu.c_types import calloc, fmi1, fmi2, fmi3, free
from ssptool.fmu.description import FmuDescription, InterfaceType
from ssptool.fmu.instance import FmuInstance
from ssptool.fmu.messages import LATEST, MessageLog
from ssptool.fmu.processes._proxy import LOG, LOG_FORMATTED, UPDATE, Host
from ssptool.guard import stands
from ssptool.sandbox import NAMESPACES, close_files, system_paths


class Instantiate(NamedTuple):
    """Request for an instance; the answer lists the functions of the library. `folder` contains the unpacked FMU; None:
    it is to be unpacked.
    """

    number: int
    name: str
    path: Path
    folder: Path | None
    description: FmuDescription
    interface: InterfaceType
    arguments: Mapping[str, Any]


class Sandboxing(NamedTuple):
    """Sandbox of a process: the FMUs that it can read, the layers that the system lacks, and a folder for temporary
    files, if these are not in memory.
    """

    files: tuple[Path, ...]
    without: tuple[str, ...]
    scratch: str

    @property
    def apart(self) -> bool:
        """Whether the process begins in namespaces of its own."""
        return NAMESPACES not in self.without

    def close(self) -> None:
        """Close the sandbox around this process, which has one thread. Raises OSError."""
        tempfile.tempdir = self.scratch
        written = [] if self.apart else [Path(self.scratch)]
        close_files([*system_paths(), *self.files], written, Path.cwd(), self.without)


Request = Instantiate | int | None
"""Request for an instance; to free the instance with this number; to end the process after the answer."""


class ForwardedLog(MessageLog):
    """Callbacks that forward messages of an FMU to the other process."""

    def __init__(self, environment: int) -> None:
        self._environment = environment

    def fmi1_callbacks(self) -> Any:
        return fmi1.fmi1CallbackFunctions(
            logger=_at(LOG_FORMATTED, fmi1.fmi1CallbackLoggerTYPE),
            allocateMemory=_at(calloc, fmi1.fmi1CallbackAllocateMemoryTYPE),
            freeMemory=_at(free, fmi1.fmi1CallbackFreeMemoryTYPE),
            stepFinished=None,
        )

    def fmi2_callbacks(self) -> Any:
        return fmi2.fmi2CallbackFunctions(
            logger=_at(LOG_FORMATTED, fmi2.fmi2CallbackLoggerTYPE),
            allocateMemory=_at(calloc, fmi2.fmi2CallbackAllocateMemoryTYPE),
            freeMemory=_at(free, fmi2.fmi2CallbackFreeMemoryTYPE),
            componentEnvironment=self._environment,
        )

    def fmi3_callback(self, environment: int) -> tuple[Any, int]:
        """The callback of FMI 3.0, with the environment for the FMU."""
        return _at(LOG, fmi3.fmi3LogMessageCallback), environment or self._environment

    @contextlib.contextmanager
    def making(self) -> Iterator[None]:
        """Do nothing, because the other process knows the FMU that is being made."""
        yield

    def answer_to(self, component: int) -> None:
        """Do nothing, because the other process knows the FMU that is being called."""

    def latest(self, count: int = LATEST) -> tuple[str, ...]:
        """Always empty, because the other process has the messages."""
        return ()

    @property
    def lines(self) -> tuple[str, ...]:
        return ()

    def clear(self) -> None: ...
    def close(self) -> None: ...


def _at(function: Any, kind: Any) -> Any:
    return ctypes.cast(function, kind)


class _Served:
    """The FMUs of this process."""

    def __init__(self, descriptor: int) -> None:
        self._host = Host(descriptor)
        os.close(descriptor)
        self._binaries: dict[tuple[Path, InterfaceType], FmuBinary] = {}
        self._instances: dict[int, tuple[FmuBinary, FmuInstance]] = {}

    def serve(self) -> NoReturn:
        """Serve requests until the other process requests the end, or has ended."""
        while True:
            request: Request = pickle.loads(self._host.next())
            try:
                answer: Any = self._answer(request)
            except Exception as error:
                answer = {"error": error_data(error)}
            self._host.answer(encoded(answer))
            if request is None:
                # Libraries stay loaded: a thread that an FMU has left running would crash without its code.
                os._exit(0)

    def _answer(self, request: Request) -> tuple[str, ...]:
        match request:
            case Instantiate():
                return self._instantiate(request)
            case int():
                binary, instance = self._instances.pop(request)
                instance.free()
                binary.forget(instance)
            case None:
                flush_c_streams()
        return ()

    def _instantiate(self, request: Instantiate) -> tuple[str, ...]:
        key = (request.path, request.interface)
        if key not in self._binaries:
            of = request.path, request.description
            folder, interface = request.folder, request.interface
            self._binaries[key] = load(*of, interface) if folder is None else FmuBinary(*of, folder, None, interface)
        binary = self._binaries[key]
        environment = self._host.place(request.number)
        callbacks = {"environment": environment, "intermediate_update": UPDATE}
        asked = {**request.arguments, **callbacks, "description": request.description}
        instance = binary.instantiate(request.name, log=ForwardedLog(environment), **asked)
        self._host.define(request.number, instance.component, dict(instance.functions))
        self._instances[request.number] = (binary, instance)
        return tuple(instance.functions)


def serve(descriptor: int, parent: int) -> NoReturn:
    """Serve FMUs in this process; `descriptor` belongs to the shared memory, `parent` is the requesting process.

    This process ignores interrupts, ends together with its parent, and prints nothing when it crashes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.disable()
    if not stands() and os.getppid() != parent:
        os._exit(1)
    _Served(descriptor).serve()


def serve_as_copy(descriptor: int, parent: int) -> NoReturn:
    """Serve FMUs in a fork of the parent's main thread."""
    end_with(parent)
    close_descriptors([descriptor])
    scrub()
    serve(descriptor, parent)


def main() -> NoReturn:
    """Serve FMUs in a new interpreter. Its arguments are the shared memory, a pipe that carries its sandbox and closes
    when the parent ends, and the parent's process id.
    """
    descriptor, alive, parent = map(int, sys.argv[1:])
    pipe = os.fdopen(alive, "rb")
    box: Sandboxing | None = pickle.load(pipe)
    if box is not None:
        box.close()
    threading.Thread(target=_end_after, args=(pipe,), daemon=True).start()
    serve(descriptor, parent)


def _end_after(pipe: BinaryIO) -> None:
    # The notice of the operating system would come when the thread ends that started this process.
    pipe.read(1)
    os._exit(1)
