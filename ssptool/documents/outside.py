"""Files outside a system: the folders in which documents may name them, and those that are never read."""

import os
from collections.abc import Iterable
from pathlib import Path

from ssptool.working_directory import absolute

_REPOSITORIES = (".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", ".fslckout")
_KERNEL = ("/proc", "/sys", "/dev")
"""Folders whose files are made by the kernel: of processes, of hardware, and of devices."""


def real(path: Path) -> str:
    """The path that is opened, all links followed."""
    return os.path.realpath(absolute(path))


def below(path: str, folders: Iterable[str]) -> bool:
    """Whether a real path is one of these folders, or lies in one."""
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def never_read(path: Path) -> bool:
    """Whether a path, all links followed, leads to a file that the kernel makes, such as /proc/self/environ."""
    return below(real(path), _KERNEL)


def with_repositories(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Folders, each with the repository that holds it, if there is one."""
    return tuple(one for folder in folders for one in (folder, _repository(folder)) if one is not None)


def _repository(folder: Path) -> Path | None:
    """The nearest of a folder and its parents with the mark of a version control system."""
    place = Path(real(folder))
    return next((one for one in (place, *place.parents) if any((one / mark).exists() for mark in _REPOSITORIES)), None)
