"""Files outside of a system: folders in which its documents may refer to files, and files that are never read."""

import os
from collections.abc import Iterable
from pathlib import Path

from ssptool.confinement import confined_to
from ssptool.working_directory import absolute, real

_REPOSITORIES = (".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", ".fslckout")
_KERNEL = ("/proc", "/sys", "/dev")
"""Folders whose files are made by the kernel: of processes, of hardware, and of devices."""

_workspace: list[Path] = []


def below(path: str, folders: Iterable[str]) -> bool:
    """Whether a real path is one of these folders, or lies in one."""
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def of_the_kernel(path: str) -> bool:
    """Whether a real path is of a file that the kernel makes, such as /proc/self/environ."""
    return below(path, _KERNEL)


def never_read(path: Path) -> bool:
    """Whether a path, all links followed, leads to a file that the kernel makes."""
    return of_the_kernel(real(path))


def work_in(folders: Iterable[Path]) -> None:
    """Let these folders count as working folders of this process too: those of the workspace of an editor."""
    _workspace[:] = folders


def working_folders() -> tuple[Path, ...]:
    """Folders in which the caller works. The root of the file system is none: services start there."""
    here = absolute(Path())
    return (*(() if here == Path(here.anchor) else (here,)), *_workspace, *confined_to())


def around(folder: Path) -> tuple[Path, ...]:
    """Folders in which documents of a folder may name files: those of the caller's work, and the own repository."""
    return (*working_folders(), *with_repositories((folder,)))


def out_of_reach(file: Path, folder: Path, allowed: Iterable[Path] = ()) -> bool:
    """Whether a file in a folder, such as a study, may not name this file.

    It may name those of its folder, of the caller's work, of the own repository, and of folders that are `allowed`;
    never one that the kernel makes.
    """
    place = real(file)
    return of_the_kernel(place) or not below(place, map(real, (folder, *around(folder), *allowed)))


def with_repositories(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Folders, each with the repository that holds it, if there is one."""
    return tuple(one for folder in folders for one in (folder, _repository(folder)) if one is not None)


def _repository(folder: Path) -> Path | None:
    """The nearest of a folder and its parents with the mark of a version control system."""
    place = Path(real(folder))
    return next((one for one in (place, *place.parents) if any((one / mark).exists() for mark in _REPOSITORIES)), None)


def refused(uri: str, file: Path, *, packed: bool = False) -> tuple[str, str]:
    """Message and advice about a file outside that a document names, and that is not read."""
    if never_read(file):
        place = file if of_the_kernel(str(file)) else real(file)
        return f"'{uri}' leads to {place}, a file of the kernel, which is never read", "refer to another file"
    places = "package" if packed else "folder of the system, the working folder and the repository around"
    file = Path(os.path.normpath(file))
    advice = f"move the file into the package, or allow to read it with --allow-outside {file.parent}"
    return f"'{uri}' leads to {file}, outside the {places}", advice
