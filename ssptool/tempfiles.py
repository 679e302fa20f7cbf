"""Temporary folders that are removed even if their process is killed, and locks of files.

A process locks its temporary folders. A later process that creates one in the same place removes unlocked folders. On
Windows, which cannot lock folders, folders of killed processes stay.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ssptool.errors import WrongUsage
from ssptool.journal import complete, has_journal

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PREFIX = "ssptool-held-"
"""Prefix of temporary folders that their process locks. The system releases the lock however the process ends."""

MOST = 256
"""Folders that a process locks: each takes a file descriptor. More of them are temporary, but not looked after."""

PATIENCE_SECONDS = 60.0
"""Time that a process waits for the lock of a file."""

_POLL_SECONDS = 0.02

if sys.platform == "win32":
    _FOLDER = _OWN = 0
else:
    _FOLDER = os.O_DIRECTORY
    _OWN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    """Flags for what others may have put there: no link, and nothing that has to be waited for."""

_held = 0
_cleared: set[str] = set()
_living: "weakref.WeakSet[TemporaryFolder]" = weakref.WeakSet()


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder, which also removes those of killed processes: among the system's temporary files, or hidden
    in another `place`, such as the folder of files that are to be replaced.

    Among the system's temporary files only the first one of a process does so, as there may be many.
    """

    def __init__(self, place: Path | None = None) -> None:
        hidden = "" if place is None else "."
        locking = sys.platform != "win32" and _held < MOST
        if locking:
            clear_abandoned(place)
        prefix = PREFIX if locking else "ssptool-"
        super().__init__(prefix=hidden + prefix, dir=place, ignore_cleanup_errors=True)
        lock = _locked(Path(self.name)) if locking else None
        self.is_locked = lock is not None
        self._let_go = weakref.finalize(self, _let_go, lock)
        self._is_own = True
        _living.add(self)

    def cleanup(self) -> None:
        """Remove the folder; a fork of the process that made it leaves it there."""
        if self._is_own:
            super().cleanup()
            self._let_go()

    def _leave_to_parent(self) -> None:
        self._is_own = False
        self._finalizer.detach()  # type: ignore[attr-defined]
        self._let_go.detach()


def _leave_all_to_parent() -> None:
    """Keep the locks in a fork, and let the parent remove its folders, which it still uses."""
    for folder in list(_living):
        folder._leave_to_parent()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_leave_all_to_parent)


def clear_abandoned(place: Path | None = None) -> None:
    """Remove folders that no process locks; of the system's place of temporary files once for each process.

    The lock decides and not the number of a process, which may belong to another one by now, or to one in another
    container with the same temporary files.
    """
    if place is None:
        common = tempfile.gettempdir()
        if common in _cleared:
            return
        _cleared.add(common)
    for folder in _abandoned(tempfile.gettempdir(), PREFIX) if place is None else _abandoned(str(place), f".{PREFIX}"):
        if place is not None:
            complete(folder, place)
        shutil.rmtree(folder, ignore_errors=True)


def settle(place: Path) -> bool:
    """Complete the edits of a folder that were killed in the middle, and wait for those that are about to end; whether
    there were any.

    Raises
    ------
    InterruptedEdit
        One cannot be completed.
    WrongUsage
        One does not end.
    """
    held = [] if sys.platform == "win32" else _held_folders(place)
    if not held:
        return False
    found = any(map(has_journal, held))
    deadline = time.monotonic() + PATIENCE_SECONDS
    clear_abandoned(place)
    while any(map(has_journal, held)):
        if time.monotonic() > deadline:
            raise _locked_too_long(place)
        time.sleep(_POLL_SECONDS)
        clear_abandoned(place)
    return found


def _held_folders(place: Path) -> list[Path]:
    """The temporary folders in a folder, whoever has made them."""
    try:
        with os.scandir(place) as entries:
            return [Path(one.path) for one in entries if one.name.startswith(f".{PREFIX}")]
    except OSError:  # whoever reads it will say so
        return []


def _abandoned(place: str, prefix: str) -> Iterator[Path]:
    """Folders that no process locks; each is locked while the caller has it."""
    for folder in Path(place).glob(f"{prefix}*"):
        try:
            lock = _lock(folder, _FOLDER | _OWN)
        except OSError:  # it is locked, was removed meanwhile, belongs to somebody else, or is not a folder
            continue
        if _is_own(lock):
            yield folder
        _let_go(lock)


def _is_own(descriptor: int) -> bool:
    """Whether a folder belongs to the user of this process; others may fill theirs with anything."""
    return sys.platform == "win32" or os.fstat(descriptor).st_uid == os.geteuid()


def _locked(folder: Path) -> int | None:
    """Lock a new folder; None where the file system knows no locks.

    Another process may take it for abandoned before it is locked. Then it is made again.
    """
    while True:
        try:
            lock = _lock(folder, _FOLDER)
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)
        except FileNotFoundError:
            folder.mkdir(0o700)
        except OSError:
            return None
        else:
            if folder.is_dir():
                return lock
            _let_go(lock)


def locked(path: Path) -> Callable[[], None]:
    """Lock a file that others replace, by what has its name when the lock is there; what is returned unlocks it.

    Where there is no such file, or the file system knows no locks, nothing is locked.

    Raises
    ------
    WrongUsage
        Another process has the lock for longer than `PATIENCE_SECONDS`.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            lock = _lock_of(path)
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)
            continue
        except OSError:
            return partial(_let_go, None)
        if sys.platform == "win32" or _is_open(path, lock):
            return partial(_let_go, lock)
        _let_go(lock)
    raise _locked_too_long(path)


def _lock_of(path: Path) -> int:
    """A descriptor that locks a file that others replace. Raises BlockingIOError if another one does.

    Windows replaces no open file: a temporary file that has its name of the path is locked instead.
    """
    if sys.platform == "win32":
        folder = Path(tempfile.gettempdir(), "ssptool-locks")
        folder.mkdir(exist_ok=True)
        name = hashlib.sha256(str(path.resolve()).casefold().encode()).hexdigest()
        return _lock(folder / name, os.O_RDWR | os.O_CREAT)
    return _lock(path, os.O_NONBLOCK)


def _is_open(path: Path, descriptor: int) -> bool:
    """Whether a path still names the file that was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _lock(path: Path, flags: int) -> int:
    """A descriptor that locks a file or folder. Raises BlockingIOError if another one does."""
    descriptor = os.open(path, flags)
    try:
        lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    global _held
    _held += 1
    return descriptor


def lock(descriptor: int) -> None:
    """Lock an open file until it is closed. Raises BlockingIOError if another process does."""
    if sys.platform == "win32":
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from None
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def locked_output(path: Path) -> Callable[[], None]:
    """Lock a file of results, which is made if it is not there; what is returned unlocks it.

    Nothing is locked on Windows, where others could not read the file, on file systems without locks, and where the
    path is a link to no file, or something else. Raises BlockingIOError if another process has locked it.
    """
    if sys.platform == "win32" or (os.path.lexists(path) and not path.is_file()):
        return lambda: None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        lock(descriptor)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return lambda: None
    return partial(_unlock, descriptor)


def _unlock(descriptor: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # children may have the descriptor as well
    os.close(descriptor)


def open_unread(path: Path) -> int:
    """A descriptor of a file to lock, which is made if it is not there; it is neither emptied nor written to."""
    return os.open(path, os.O_RDWR | os.O_CREAT | _OWN, 0o666)


def _let_go(descriptor: int | None) -> None:
    global _held
    if descriptor is not None:
        os.close(descriptor)
        _held -= 1


def _locked_too_long(path: Path) -> WrongUsage:
    """The error for a file that another process has locked for longer than this one waits."""
    return WrongUsage(f"another program has been editing {path} for {PATIENCE_SECONDS:g} s: end it, or try later")
