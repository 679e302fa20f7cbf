"""What FMUs log: callbacks that collect lines per instance instead of printing them."""

import ctypes
import itertools
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from fmpy import calloc, fmi1, fmi2, fmi3, free

try:
    from fmpy.logging import addLoggerProxy
except OSError:  # its native library does not exist for every platform; messages then keep their printf marks
    addLoggerProxy = None

STATUS = ("ok", "warning", "discard", "error", "fatal", "pending")

Log: TypeAlias = deque[str]


def status_word(status: int) -> str:
    """What FMI calls a status; an FMU may return one that it does not know."""
    return STATUS[status] if 0 <= status < len(STATUS) else f"status {status}, which FMI does not know"


# FMI 2.0 passes printf arguments, which Python cannot read. FMPy brings a native proxy that formats them, but
# only one for the whole process. So all instances share one callback behind it, and componentEnvironment
# says whose message it is.
_logs: WeakValueDictionary[int, Log] = WeakValueDictionary()
_keys = itertools.count(1)


def fmi2_callbacks(log: Log) -> Any:
    """The fmi2CallbackFunctions of one instance, whose messages go to `log` while that exists."""
    key = next(_keys)
    _logs[key] = log
    return fmi2.fmi2CallbackFunctions(
        logger=_shared.logger,
        allocateMemory=_shared.allocateMemory,
        freeMemory=_shared.freeMemory,
        componentEnvironment=key,
    )


_beginning: list[Log] = []
"""Of the FMI 1.0 instance that is being made, if one is."""


def fmi1_callbacks() -> Any:
    """The fmiCallbackFunctions of FMI 1.0, of all instances."""
    return fmi1.fmi1CallbackFunctions(
        logger=ctypes.cast(_shared.logger, fmi1.fmi1CallbackLoggerTYPE),
        allocateMemory=ctypes.cast(_shared.allocateMemory, fmi1.fmi1CallbackAllocateMemoryTYPE),
        freeMemory=ctypes.cast(_shared.freeMemory, fmi1.fmi1CallbackFreeMemoryTYPE),
        stepFinished=None,
    )


@contextmanager
def fmi1_messages(log: Log) -> Iterator[None]:
    """While the body instantiates an FMU of FMI 1.0, what it says goes to `log`: as yet nobody knows its address."""
    _beginning.append(log)
    try:
        yield
    finally:
        _beginning.pop()


def fmi1_instance(component: int, log: Log) -> None:
    """From now on messages of this instance go to `log`, while that exists: in FMI 1.0 it is the instance that it
    states.
    """
    _logs[component] = log


def fmi3_logger(log: Log) -> Any:
    """The fmi3LogMessageCallback of one instance."""

    def collect(_environment: int | None, status: int, category: bytes | None, text: bytes | None) -> None:
        log.append(_line(status, category, text))

    return fmi3.fmi3LogMessageCallback(collect)


def _collect(key: int | None, name: bytes | None, status: int, category: bytes | None, text: bytes | None) -> None:
    log = _beginning[-1] if _beginning else _logs.get(key or 0)
    if log is not None:
        log.append(_line(status, category, text))
    elif not key:  # an instance that FMPy made for somebody else
        fmi1.printLogMessage(key, name, status, category, text)


def _line(status: int, category: bytes | None, text: bytes | None) -> str:
    origin = f" ({_decoded(category)})" if category else ""
    return f"{status_word(status)}{origin}: {_decoded(text)}"


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", errors="replace").rstrip()


_logger = fmi2.fmi2CallbackLoggerTYPE(_collect)


def _make_shared() -> Any:
    callbacks = fmi2.fmi2CallbackFunctions(
        logger=_logger,
        allocateMemory=fmi2.fmi2CallbackAllocateMemoryTYPE(calloc),
        freeMemory=fmi2.fmi2CallbackFreeMemoryTYPE(free),
    )
    if addLoggerProxy is not None:
        addLoggerProxy(ctypes.byref(callbacks))
    return callbacks


_shared = _make_shared()


class MessageLog:
    """What an instance logs: the latest lines."""

    def __init__(self, component: str, description: Any) -> None:
        self._lines: Log = deque(maxlen=1000)
        self._callback: Any = None

    def fmi1_callbacks(self) -> Any:
        return fmi1_callbacks()

    def fmi2_callbacks(self) -> Any:
        return fmi2_callbacks(self._lines)

    def fmi3_callback(self, environment: int) -> tuple[Any, int]:
        """The fmi3LogMessageCallback, with the environment that it needs."""
        self._callback = fmi3_logger(self._lines)
        return self._callback, environment

    @contextmanager
    def making(self) -> Iterator[None]:
        """The body makes the instance."""
        with fmi1_messages(self._lines):
            yield

    def answer_to(self, component: int) -> None:
        """Of FMI 1.0: the instance that says so."""
        fmi1_instance(component, self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(self._lines)

    def latest(self) -> tuple[str, ...]:
        """What is told with a call that failed."""
        return self.lines[-5:]

    def clear(self) -> None:
        self._lines.clear()

    def close(self) -> None:
        """The instance is freed."""
