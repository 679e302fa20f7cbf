"""The working directory, which FMUs may leave; it is that of the whole process, whose threads may all run FMUs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

_lock = RLock()
_users = 0
_home: str | None = None


@contextmanager
def kept_working_directory() -> Iterator[None]:
    """Whoever goes elsewhere in this block, the process is back afterwards.

    Home is where the process was when the first of several overlapping blocks began: what a later one would find may
    be where an FMU of an earlier one has gone, or a folder that is visited. Where the directory is no longer there,
    nobody comes back to it.
    """
    global _users, _home
    with _lock:
        if _users == 0:
            _home = _present()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            _go_home()


@contextmanager
def visited(folder: Path) -> Iterator[None]:
    """The working directory is this folder, and nobody who keeps it goes home meanwhile."""
    with _lock, kept_working_directory():
        os.chdir(folder)
        yield


def _present() -> str | None:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


def _go_home() -> None:
    if _home is not None:
        os.chdir(_home)
