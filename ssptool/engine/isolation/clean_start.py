"""Start `ssptool run --sandbox` without anything in memory that an FMU must not read.

Loading the modules of a run takes longer than most runs, and a child that is a copy of this process need not load them
again. But a copy has the memory of this process, which may contain passwords (from environment variables) and files of
the user. Therefore the command executes itself again, with only those variables that a process reads while it starts.
It loads the modules, makes copies of itself that wait for a task, and only then restores its environment and reads
files.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase

if sys.platform == "linux":
    import fcntl

_OWN = "SSPTOOL_OWN_ENVIRONMENT"
"""Variable with the descriptor of a file in memory that holds the environment of the first start."""

_AT_START = (
    *("PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "TZ", "PYTHON*"),
    *("LD_*", "MALLOC_*", "GLIBC_TUNABLES", "*SAN_OPTIONS", "NPY_*", "OMP_*", "OPENBLAS_*", "MKL_*"),
)
"""Patterns of the variables that the interpreter, the C library and numpy read while they start."""


def leave_environment() -> None:
    """Execute this command again without its environment. Returns if that has been done already, or is impossible."""
    if sys.platform == "linux" and sys.executable and _OWN not in os.environ:
        with suppress(OSError):
            _execute_again(os.environb)


def _execute_again(environment: Mapping[bytes, bytes]) -> None:
    few = {
        name: value for name, value in os.environ.items() if any(fnmatchcase(name, pattern) for pattern in _AT_START)
    }
    if sys.platform == "linux":
        with os.fdopen(os.memfd_create("environment"), "wb") as file:
            file.write(b"\0".join(name + b"=" + value for name, value in environment.items()))
            file.flush()
            # Not the descriptor of a standard stream, because some of them may be closed.
            kept = fcntl.fcntl(file, fcntl.F_DUPFD, 3)
        try:
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**few, _OWN: str(kept)})
        finally:
            os.close(kept)


def prepare_children() -> None:
    """Make children for a sandbox and restore the environment; does nothing if the environment was not left."""
    own = os.environ.pop(_OWN, None)
    if own is None:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # only a process with one thread can leave the network
    try:
        from ssptool.engine.isolation.prepared import prepare

        prepare()
    finally:
        _take_back(int(own))


def _take_back(kept: int) -> None:
    os.lseek(kept, 0, os.SEEK_SET)
    with open(kept, "rb") as file:
        lines = file.read().split(b"\0")
    if sys.platform == "win32":
        return
    os.environb.clear()
    for line in filter(None, lines):
        name, _, value = line.partition(b"=")
        os.environb[name] = value
