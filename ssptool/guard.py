"""A process between a command and the FMUs that it runs: when these end, so does all that they have started.

A program that an FMU starts may leave its session and its parent, and would run on when the run has ended. The guard is
a parent that it cannot leave (a subreaper of Linux). In a sandbox, all of them are in a space of processes of their own
as well, from which no other process can be reached.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

PATIENCE_SECONDS = 10.0
"""Time that a guard takes at most to end what has been started."""

_LOOK_SECONDS = 0.001

_stands = False


def stands() -> bool:
    """Whether this process has a guard, which ends with the command, and ends this process then."""
    return _stands


def signalled_with_parent(number: int) -> None:
    """Let the system send this signal to this process when its parent ends. Only Linux does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def stand_guard(parent: int, *, apart: bool = False) -> None:
    """Go on in a child of this process, which from now on is its guard and ends as that does. Only Linux has guards.

    Parameters
    ----------
    parent
        Number of the process with which the guard ends.
    apart
        The child gets a space of processes of its own: this process has just left its own (`leave_network`).
    """
    global _stands
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # Before the guard handles this signal, it would die of it, and leave what the child has started by then.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signalled_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
    first = _forked(apart) if apart else 0
    if apart and first == 0:
        _be_first()
    child = _forked(apart)
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _stands = True
        return
    _guard(child)


def ask_to_end(guard: int, ended: Callable[[], bool]) -> None:
    """Let a guard end all that was started, and wait for its end; `ended` tells whether it has come."""
    if sys.platform != "linux" or ended():
        return
    with suppress(ProcessLookupError):
        os.kill(guard, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not ended() and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _forked(apart: bool) -> int:
    """Fork; the child, which sees no parent from its own space of processes, is killed when this process ends."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    guard = 0 if apart else os.getpid()
    child = os.fork()
    if child == 0:
        signalled_with_parent(signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)
    return child


def _be_first() -> NoReturn:
    """The first process of a space: all others end with it, and it is the parent of those that have lost theirs."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    _close_files()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps them
    while True:
        signal.pause()


def _guard(child: int) -> NoReturn:
    """Wait for the end of a process, end all others, and end as it did."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    _close_files()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _end_as(-signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    found = 0
    while found != child:
        found, status = os.waitpid(-1, 0)
    _end_as(os.waitstatus_to_exitcode(status))


def _end_as(status: int) -> NoReturn:
    """End everything, then this process: with an exit status, or by the signal with minus this number."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    _end_all()
    if status < 0:
        import resource  # there is none on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the other process has left a core, if one is wanted
        with suppress(OSError):  # of SIGKILL, which cannot be changed
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(max(status, 1) if status < 0 else status)


def _end_all() -> None:
    """End all processes that have been started, and those that become children of this one when their parents end."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    deadline = time.monotonic() + PATIENCE_SECONDS
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            for child in _children():
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(_LOOK_SECONDS)


def _children() -> list[int]:
    try:
        return [int(number) for number in Path("/proc/thread-self/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def _close_files() -> None:
    """Close all: the end of the process that it guards would not be seen as long as its files are open here."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
