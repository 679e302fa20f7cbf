"""Temporary folders that are removed even if the process that made them is killed.

A process locks its folders; the first folder that a later process makes removes those that nobody locks any more. Where
file locks are missing (Windows), folders of killed processes stay.
"""

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where what a killed process leaves is left
    fcntl = None  # type: ignore[assignment]

PREFIX = "ssptool-held-"
"""Of folders that their process holds a lock on. The system takes it away with the process, however that ends."""

MOST = 256
"""Folders that a process locks: each takes a file descriptor. More of them are temporary, but not looked after."""

YOUNG_SECONDS = 60.0
"""Younger folders may be about to be locked."""

_held = 0
_cleared: set[str] = set()


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder. The first one of a process clears away those of processes that were killed."""

    def __init__(self) -> None:
        locking = fcntl is not None and _held < MOST
        if locking:
            clear_abandoned()
        super().__init__(prefix=PREFIX if locking else "ssptool-", ignore_cleanup_errors=True)
        self._let_go = weakref.finalize(self, _let_go, _take(self.name) if locking else None)

    def cleanup(self) -> None:
        super().cleanup()
        self._let_go()


def clear_abandoned() -> None:
    """Remove folders that nobody holds, once for each place of temporary files.

    A lock says it, not the number of a process, which another one may have by now, or one in another container that has
    the same temporary files.
    """
    place = tempfile.gettempdir()
    if place in _cleared:
        return
    _cleared.add(place)
    for folder in _abandoned(place):
        shutil.rmtree(folder, ignore_errors=True)


def _abandoned(place: str) -> Iterator[Path]:
    """Folders that nobody holds; each is locked while the caller has it."""
    for folder in Path(place).glob(f"{PREFIX}*"):
        try:
            young = time.time() - folder.stat().st_mtime < YOUNG_SECONDS
            lock = None if young else _take(str(folder))
        except OSError:  # somebody else was faster, or it is not ours
            continue
        if lock is not None:
            yield folder
            _let_go(lock)


def _take(folder: str) -> int | None:
    """A descriptor that locks the folder; None: it is locked, or this file system knows no locks."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    global _held
    _held += 1
    return descriptor


def _let_go(descriptor: int | None) -> None:
    global _held
    if descriptor is not None:
        os.close(descriptor)
        _held -= 1
