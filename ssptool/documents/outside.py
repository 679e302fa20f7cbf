"""Files outside of a system: folders in which its documents may refer to files, and files that are never read."""

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from ssptool.confinement import confined_to, is_outside
from ssptool.working_directory import absolute, real

_REPOSITORIES = (".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", ".fslckout")
_KERNEL = ("/proc", "/sys", "/dev")
"""Folders with files of the kernel: about processes, hardware and devices."""

_workspace: list[Path] = []


def below(path: str, folders: Iterable[str]) -> bool:
    """True if a real path is one of these folders, or lies in one."""
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def of_the_kernel(path: str) -> bool:
    """True if a real path is that of a kernel file, such as /proc/self/environ."""
    return below(path, _KERNEL)


def never_read(path: Path) -> bool:
    """True if a path, after following all links, is that of a kernel file."""
    return of_the_kernel(real(path))


def work_in(folders: Iterable[Path]) -> None:
    """Treat these folders, which are the workspace of an editor, as additional working folders of this process."""
    _workspace[:] = folders


def working_folders() -> tuple[Path, ...]:
    """Folders in which the caller works. The root of the file system does not count, because services start there."""
    here = absolute(Path())
    return (*(() if here == Path(here.anchor) else (here,)), *_workspace, *confined_to())


def around(folder: Path) -> tuple[Path, ...]:
    """Folders that documents in a folder may refer to: the working folders of the caller, and the repository around
    it.
    """
    return (*working_folders(), *with_repositories((folder,)))


def out_of_reach(file: Path, folder: Path, allowed: Iterable[Path] = ()) -> bool:
    """True if a file in a folder, such as a study, may not refer to this file.

    It may refer to files in its folder, in the working folders of the caller, in the repository around it, and in the
    folders `allowed`, but never to files of the kernel, nor to those outside of the folder of a confined process.
    """
    place = real(file)
    return is_outside(place) or of_the_kernel(place) or not below(place, map(real, (folder, *around(folder), *allowed)))


def permission(file: Path, folder: Path) -> str:
    """Option that lets a file in a folder name this file or system; empty if it needs none."""
    return f" --allow-outside {shlex.quote(real(file.parent))}" if out_of_reach(file, folder) else ""


def with_repositories(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Folders, each followed by the repository that contains it, if there is one."""
    return tuple(one for folder in folders for one in (folder, _repository(folder)) if one is not None)


def _repository(folder: Path) -> Path | None:
    """The nearest folder, among a folder and its parents, that is the root of a version control repository."""
    place = Path(real(folder))
    return next((one for one in (place, *place.parents) if any((one / mark).exists() for mark in _REPOSITORIES)), None)


def refused(uri: str, file: Path, *, packed: bool = False) -> tuple[str, str]:
    """Message and advice about an outside file that a document refers to, and that is not read."""
    if never_read(file):
        place = file if of_the_kernel(str(file)) else real(file)
        return f"'{uri}' leads to {place}, a file of the kernel, which is never read", "refer to another file"
    places = "package" if packed else "folder of the system, the working folder and the repository around"
    file = Path(os.path.normpath(file))
    advice = f"move the file into the package, or allow to read it with --allow-outside {file.parent}"
    return f"'{uri}' leads to {file}, outside the {places}", advice
