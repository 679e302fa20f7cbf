"""Handles of processes for FMUs, and of FMUs that are loaded in them."""

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ssptool.child_processes import (
    BadMessage,
    Fork,
    crash,
    dumps,
    error_from,
    parsed,
    start_interpreter,
)
from ssptool.fmu.binary import ABSENT, FmuBinary, instantiation, prototypes, standard_name
from ssptool.fmu.c_types import fmi2, fmi3
from ssptool.fmu.description import FmuDescription, InterfaceType
from ssptool.fmu.instance import FATAL, Fmi1Instance, Fmi1Slave, Fmi2Instance, Fmi3Instance, FmiError, FmuInstance
from ssptool.fmu.messages import MessageLog
from ssptool.fmu.processes import MISSING
from ssptool.fmu.processes._proxy import Client, functions
from ssptool.fmu.processes.serving import Instantiate, Request, Sandboxing, serve_as_copy
from ssptool.foreign_output import may_be_copied
from ssptool.foreign_text import one_line
from ssptool.option_words import Boxing
from ssptool.sandbox import gaps
from ssptool.tempfiles import TemporaryFolder

_ENTRY = "ssptool.fmu.processes.serving:main"
_ANSWER_SECONDS, _END_SECONDS = 10.0, 1.0
"""Time limits for a process to answer a request to end, and then to end [s]."""


def _memory() -> int:
    if sys.platform != "linux":
        raise OSError(MISSING)
    return os.memfd_create("ssptool-fmu", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


class LostProcess(Exception):
    """A process for FMUs has ended, or was ended because it sent invalid data; `FmuProcess.ended_by` contains the
    reason.
    """


class FmuProcess:
    """A running process for FMUs. `number` is unique in a run.

    It runs untrusted code. If it sends invalid data, it is ended, as if it had ended by itself. In a `sandbox` it sees
    only the FMUs in `files`, and unpacks them itself.
    """

    def __init__(self, number: int, sandbox: Boxing = False, files: Sequence[Path] = ()) -> None:
        self.number = number
        self.boxed = sandbox is not False
        self.names: list[str] = []
        """Names of its instances, in the order of their creation."""
        self._status: int | None = None
        self._closed = False
        memory = _memory()
        try:
            self.client = Client(memory)
            # A copy works immediately; it contains only the copying thread.
            self._child: _ForkedProcess | _NewProcess
            if self.boxed:
                self._child = _lastingly(lambda: _NewProcess(memory, sandbox, files))
            else:
                self._child = (_ForkedProcess if may_be_copied() else _NewProcess)(memory)
        finally:
            os.close(memory)
        self.client.process(self._child.pid)

    def request(self, request: Request, patience: float = 0.0) -> frozenset[str]:
        """Send a request; returns the names of functions in the answer.

        `patience`: time limit of the answer [s]; 0: none.

        Raises exceptions of the process, and LostProcess.
        """
        try:
            content = self.client.request(dumps(request), patience)
        except RuntimeError:
            raise LostProcess from None
        try:
            answer = parsed(content)
            if type(answer) is dict and list(answer) == ["error"]:
                error = _error_from(answer["error"])
            elif type(answer) is list and all(type(name) is str for name in answer):
                return frozenset(answer)
            else:
                raise BadMessage("no list of functions")
        except BadMessage as bad:
            self.client.distrust(one_line(f"an answer is not understood ({bad.reason})"))
            raise LostProcess from None
        raise error

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def lost(self) -> tuple[str, str] | None:
        """Component and function whose call detected that the process has ended."""
        if self._closed or (lost := self.client.lost) is None:
            return None
        index, function, _ = lost
        return (self.names[index] if index >= 0 else self.names[-1], function)

    @property
    def exited(self) -> bool:
        """True if a lost process exited by itself, or was ended because it sent invalid data; false if a signal ended
        it.
        """
        return bool(self._wrong) or self._exit_status() >= 0

    @property
    def _wrong(self) -> str:
        return "" if self.client.lost is None else self.client.lost[2]

    def _exit_status(self) -> int:
        if self._status is None:
            self._status = self._child.wait()
        return self._status

    @property
    def ended_by(self) -> str:
        """Text of the reason for the end of a lost process."""
        if self._wrong:
            return f"was stopped because it sent invalid data: {self._wrong}"
        status = self._exit_status()
        reason = crash(status)
        return f"was ended by {reason}" if reason else f"exited with status {status}"

    def end(self) -> None:
        """End the process; may be called again."""
        if self._closed:
            return
        lost = self.client.lost is not None
        if not lost:
            with contextlib.suppress(LostProcess):
                self.request(None, _ANSWER_SECONDS)
            lost = self.client.lost is not None
        self._closed = True
        self.client.close()
        self._child.end(0.0 if lost else _END_SECONDS)


def _error_from(data: Any) -> BaseException:
    """The error that a process has sent. Raises BadMessage."""
    error = error_from(data)
    if isinstance(error, LostProcess):
        raise BadMessage("an error of another process")
    if isinstance(error, FmiError):
        facts = error.__dict__
        if type(facts.get("function")) is not str or type(facts.get("status")) is not int:
            raise BadMessage("an error of no function")
    return error


class _ForkedProcess(Fork):
    """A copy of this process."""

    def __init__(self, memory: int) -> None:
        parent = os.getpid()
        super().__init__(lambda: serve_as_copy(memory, parent))

    def end(self, patience: float) -> None:
        """Wait for the end of the process; kill it after `patience` [s]."""
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            if self.poll() is not None:
                break
            time.sleep(0.001)
        self.kill()
        self.wait()


class _NewProcess:
    """A new interpreter, in a sandbox if asked; it sees only `files` there."""

    def __init__(self, memory: int, sandbox: Boxing = False, files: Sequence[Path] = ()) -> None:
        boxed = sandbox is not False
        self._scratch = TemporaryFolder() if boxed else None
        theirs, self._alive = os.pipe()
        try:
            box = None if self._scratch is None else Sandboxing(tuple(files), tuple(gaps(sandbox)), self._scratch.name)
            arguments, offline = (memory, theirs, os.getpid()), box is not None and box.apart
            self._process = start_interpreter(_ENTRY, arguments, (memory, theirs), guarded=boxed, offline=offline)
        except BaseException:
            os.close(self._alive)
            self._clean()
            raise
        finally:
            os.close(theirs)
        self.pid = self._process.pid
        with os.fdopen(os.dup(self._alive), "wb") as task, contextlib.suppress(BrokenPipeError):
            task.write(dumps(box))

    def wait(self) -> int:
        return self._process.wait()

    def end(self, patience: float) -> None:
        os.close(self._alive)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        self._process.kill()
        self._process.wait()
        self._clean()

    def _clean(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()


def _lastingly(start: Callable[[], _NewProcess]) -> _NewProcess:
    """Start a process in a thread that lasts as long as this process: a guard ends with the thread that started it."""
    if threading.current_thread() is threading.main_thread():
        return start()
    return _lasting_thread().submit(copy_context().run, start).result()


@cache
def _lasting_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


class RemoteBinary(FmuBinary):
    """An FMU loaded in another process, used like `FmuBinary`; `unpacked` must stay open longer. A process in a sandbox
    unpacks it itself.
    """

    def __init__(self, unpacked: FmuBinary, process: FmuProcess) -> None:
        super().__init__(unpacked.path, unpacked.description, unpacked.folder, None, unpacked.interface)
        self.process = process

    def instantiate(
        self,
        name: str,
        *,
        environment: int = 0,
        intermediate_update: int = 0,
        required_inputs: Sequence[str] = (),
        logging: bool = False,
        description: FmuDescription | None = None,
        event_mode: bool = False,
        early_return: bool = False,
        log: MessageLog | None = None,
    ) -> FmuInstance:
        """Instantiate as `FmuBinary` does. Raises FmiError with status fatal if the process ends during the call."""
        own = description or self.description
        log = log or MessageLog(name, own)
        callback, log_environment = log.fmi3_callback(0)
        index = self.process.client.remotes
        component = self.process.client.remote(
            intermediate_update, environment, ctypes.cast(callback, ctypes.c_void_p).value or 0, log_environment
        )
        self.process.names.append(name)
        arguments = {
            "required_inputs": tuple(required_inputs),
            "logging": logging,
            "event_mode": event_mode,
            "early_return": early_return,
        }
        slim = _slim(self.description, {name: own.variables[name] for name in required_inputs})
        folder = None if self.process.boxed else self.folder
        request = Instantiate(index, name, self.path, folder, slim, self.interface, arguments)
        try:
            present = self.process.request(request)
        except FmiError as error:  # its messages are in this process
            raise FmiError(name, error.function, error.status, log.latest()) from None
        except LostProcess:
            function = instantiation(self.description.fmi_major, self.interface)
            said = f"the process of the component {self.process.ended_by}"
            raise FmiError(name, function, FATAL, (*log.latest(), said)) from None
        instance = self._remote(name, index, component, present, log)
        instance.description = own
        self._instances.append(instance)
        return instance

    def _remote(self, name: str, index: int, component: int, present: frozenset[str], log: MessageLog) -> FmuInstance:
        major, exchange = self.description.fmi_major, self.interface is InterfaceType.MODEL_EXCHANGE
        kind = (_EXCHANGE if exchange else _SIMULATION)[major]
        slave = _remote_class(kind)(self.process, index, component, callback=log)
        addresses = {name: address for name, address in functions().items() if name in present}
        slave._functions = {
            own: f if standard_name(own) in addresses else ABSENT for own, f in _functions(kind).items()
        }
        instance: FmuInstance = _INSTANCE[major](name, self.description, slave, addresses, log)
        instance.process = self.process
        return instance


_SIMULATION: Mapping[int, type] = {1: Fmi1Slave, 2: fmi2.FMU2Slave, 3: fmi3.FMU3Slave}
_EXCHANGE: Mapping[int, type] = {2: fmi2.FMU2Model, 3: fmi3.FMU3Model}
_INSTANCE: Mapping[int, type[FmuInstance]] = {1: Fmi1Instance, 2: Fmi2Instance, 3: Fmi3Instance}


def _slim(description: FmuDescription, variables: Mapping[str, Any]) -> FmuDescription:
    """The parts of a description that instantiation needs."""
    none: dict[str, Any] = {}
    return replace(
        description,
        variables=variables,
        units=none,
        outputs=none,
        derivatives=none,
        initial_unknowns=none,
        arrays=none,
        whole=none,
    )


@cache
def _remote_class(kind: type) -> type:
    """FMPy's class of instances, with functions that forward calls instead of a library."""

    def begin(self: Any, process: FmuProcess, index: int, component: int, callback: Any) -> None:
        self.fmiCallLogger = None
        self.component = component
        self._process, self._index, self._callback = process, index, callback

    def free_instance(self: Any) -> None:
        with contextlib.suppress(LostProcess):  # the process has ended, so everything is free
            self._process.request(self._index)

    return type(kind.__name__, (kind,), {"__init__": begin, "freeInstance": free_instance})


@cache
def _functions(kind: type) -> dict[str, Any]:
    """FMPy's name → function that forwards calls."""
    found: dict[str, Any] = {}
    addresses = functions()
    for prototype in prototypes(kind):
        if address := addresses.get(prototype.standard):
            function: Any = prototype.function(address)
            function.argnames = list(prototype.arguments)
            found[prototype.name] = function
    return found
