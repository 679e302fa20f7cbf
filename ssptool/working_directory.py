"""Restore the working directory of the process after calls of FMUs, which may change it.

The working directory belongs to the whole process, and all its threads may run FMUs. The package itself never changes
it. Paths of users are made absolute before an FMU is loaded, so that they stay valid if an FMU changes the directory.
"""

import os
from pathlib import Path
from threading import RLock
from types import TracebackType

_lock = RLock()
_users = 0
_home: str | None = None


class KeptWorkingDirectory:
    """Whoever goes elsewhere in this block, the process is back afterwards.

    Home is where the process was when the first of several overlapping blocks began: what a later one would find may
    be where an FMU of an earlier one has gone. Where the directory is no longer there, nobody comes back to it.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _users, _home
        with _lock:
            if _users == 0:
                _home = _present()
            _users += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _users
        with _lock:
            _users -= 1
            _go_home()


def came_home() -> bool:
    """Return to where the process was, in a block of `KeptWorkingDirectory`; whether it had gone elsewhere."""
    with _lock:
        return _users > 0 and _go_home()


def absolute(path: Path) -> Path:
    """The absolute path that a relative one means where users are, although an FMU may be elsewhere at the time.

    Of a relative path itself, where the working directory is no longer there.
    """
    with _lock:
        home = _home if _users else _present()
    return path if home is None else Path(home, path)


def real(path: Path | str) -> str:
    """The absolute path that is opened, all links followed; those that may not be read lead nowhere."""
    whole = absolute(Path(path))
    try:
        return os.path.realpath(whole)
    except OSError:
        return os.path.normpath(whole)


def shown(path: Path) -> Path:
    """An absolute path as a message names it: relative where it leads into the working directory, and of a temporary
    copy what it was copied from.
    """
    here = absolute(Path())
    path = _originals.get(path, path)
    return path.relative_to(here) if path.is_relative_to(here) else path


_originals: dict[Path, Path] = {}
"""Temporary copy → what a user knows it by."""


def copied_from(original: Path, copy: Path) -> None:
    """Let messages name the original, in place of a temporary copy."""
    _originals[copy] = original


def original_of(copy: Path) -> Path | None:
    """The original of a temporary copy; None: it is not a copy."""
    return _originals.get(copy)


def forget_copies(folder: Path) -> None:
    """Forget the originals of the copies in a folder that is removed."""
    inside = os.path.join(folder, "")  # noqa: PTH118 (thousands of copies: texts are compared, not paths)
    for copy in [one for one in _originals if f"{one}{os.sep}".startswith(inside)]:
        _originals.pop(copy, None)


def _present() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 (with each step of a simulation)
    except FileNotFoundError:
        return None


def _go_home() -> bool:
    if _home is None or _present() == _home:
        return False
    try:
        os.chdir(_home)
    except OSError:  # it is no longer there
        return False
    return True
