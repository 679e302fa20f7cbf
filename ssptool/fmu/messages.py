"""What FMUs log: callbacks that collect lines per instance instead of printing them."""

import ctypes
import itertools
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from ssptool.fmu.fmpy_files import fmpy_folder
from ssptool.fmu.platforms import LIBRARY_SUFFIX, this_platform
from ssptool.fmu.prototypes import ALLOCATE, FREE, LOG_MESSAGE, LOGGER, Callbacks1, Callbacks2

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


def fmi2_callbacks(log: Log) -> Callbacks2:
    """The fmi2CallbackFunctions of one instance, whose messages go to `log` while that exists."""
    key = next(_keys)
    _logs[key] = log
    callbacks = _shared()
    callbacks.componentEnvironment = key
    return callbacks


_beginning: list[Log] = []
"""Of the FMI 1.0 instance that is being made, if one is."""


def fmi1_callbacks() -> Callbacks1:
    """The fmiCallbackFunctions of FMI 1.0, of all instances."""
    shared = _shared()
    return Callbacks1(logger=shared.logger, allocateMemory=shared.allocateMemory, freeMemory=shared.freeMemory)


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

    return LOG_MESSAGE(collect)


def _collect(key: int | None, _name: bytes | None, status: int, category: bytes | None, text: bytes | None) -> None:
    log = _beginning[-1] if _beginning else _logs.get(key or 0)
    if log is not None:
        log.append(_line(status, category, text))
    elif not key:  # an instance that FMPy made for somebody else
        print(_line(status, category, text))


def _line(status: int, category: bytes | None, text: bytes | None) -> str:
    origin = f" ({_decoded(category)})" if category else ""
    return f"{status_word(status)}{origin}: {_decoded(text)}"


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", errors="replace").rstrip()


_logger = LOGGER(_collect)


@cache
def _memory() -> tuple[Any, Any]:
    library: Any = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(library.calloc, ALLOCATE), ctypes.cast(library.free, FREE)


@cache
def _proxy() -> Any:
    """The function that puts the proxy in the place of the logger of callbacks; None where there is none."""
    path = fmpy_folder() / "logging" / this_platform(2) / f"logging{LIBRARY_SUFFIX}"
    try:
        return ctypes.CDLL(str(path)).addLoggerProxy
    except OSError:  # it does not exist for every platform; messages then keep their printf marks
        return None


def _shared() -> Callbacks2:
    """With the logger that all instances share. The proxy is told of it each time: FMPy itself, if somebody loads it,
    tells it of another one.
    """
    allocate, free = _memory()
    callbacks = Callbacks2(logger=_logger, allocateMemory=allocate, freeMemory=free)
    if (add := _proxy()) is not None:
        add(ctypes.byref(callbacks))
    return callbacks
