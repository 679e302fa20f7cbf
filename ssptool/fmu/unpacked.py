"""Folders of unpacked FMUs that are reused from run to run, as long as they are unchanged.

An FMU may write to its folder, or keep its library loaded after its last instance. Such a folder is removed, and the
next run unpacks the FMU again.
"""

import ctypes
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ssptool.documents.foreign_files import ForeignZip
from ssptool.documents.unchanged import FileMark, NotComparable, marks_of
from ssptool.tempfiles import TemporaryFolder

AGED_SECONDS = 3600.0
"""Age that unpacked files get [s], so that files written later have a different time."""

_LIBRARIES = (".so", ".dll", ".dylib")


class UnpackedFolder:
    """An unpacked FMU."""

    def __init__(self, fmu: Path) -> None:
        self._folder = TemporaryFolder()
        self.name = self._folder.name
        try:
            with ForeignZip(fmu) as packed:
                packed.unpack(Path(self.name))
        except BaseException:
            self._folder.cleanup()
            raise

    def cleanup(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()


class ReusedFolder(UnpackedFolder):
    """Folder that returns to its `UnpackedFmus` at the end of a run."""

    def __init__(self, fmu: Path, owner: "UnpackedFmus") -> None:
        super().__init__(fmu)
        self._fmu, self._owner = fmu, owner
        self._marks = _aged(self.name)

    def cleanup(self) -> None:
        self._owner.give_back(self._fmu, self)

    def remove(self) -> None:
        super().cleanup()

    @property
    def size(self) -> int:
        """Size of its files [bytes]."""
        return sum(mark.size for mark in self._marks.values() if mark is not None)

    def is_as_unpacked(self) -> bool:
        """True if nothing was written to the folder, and none of its libraries is loaded."""
        try:
            return marks_of([self.name]) == self._marks and not any(map(_is_loaded, self._libraries()))
        except NotComparable:
            return False

    def _libraries(self) -> Iterator[str]:
        return (path for path in self._marks if any(ending in Path(path).name for ending in _LIBRARIES))


def _aged(folder: str) -> dict[str, FileMark | None]:
    """Set back the times of all files, so that even a change within the same clock tick is visible; returns their
    marks.
    """
    past = time.time() - AGED_SECONDS
    for path, mark in marks_of([folder]).items():
        if mark is not None and (stat.S_ISREG(mark.mode) or stat.S_ISDIR(mark.mode)):
            os.utime(path, (past, past))
    return marks_of([folder])


def _is_loaded(library: str) -> bool:
    """True if this process has loaded a library, or if this is unknown."""
    if sys.platform == "win32":
        found: int = ctypes.windll.kernel32.GetModuleHandleW(library)
        return found != 0
    try:
        # The handle is not closed: the library stays loaded anyway, and its folder is not reused.
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


class UnpackedFmus:
    """Unpacked folders of unchanged FMUs; not thread-safe.

    Parameters
    ----------
    most_bytes
        Largest total size of the folders that are kept; others are removed at the end of a run.
    """

    MOST_FOLDERS = 32

    def __init__(self, most_bytes: int = 512 << 20) -> None:
        self._idle: dict[Path, list[ReusedFolder]] = {}
        self._left = most_bytes
        self._count = 0
        self._closed = False

    def take(self, fmu: Path) -> ReusedFolder:
        """A folder with the files of an FMU. Raises one of UNREADABLE_ZIP."""
        idle = self._idle.get(fmu, [])
        while idle:
            folder = idle.pop()
            self._left += folder.size
            self._count -= 1
            if folder.is_as_unpacked():
                return folder
            folder.remove()
        return ReusedFolder(fmu, self)

    def give_back(self, fmu: Path, folder: ReusedFolder) -> None:
        """Keep a folder that is no longer used, if there is room for it."""
        if self._closed or self._count >= self.MOST_FOLDERS or folder.size > self._left:
            folder.remove()
            return
        self._left -= folder.size
        self._count += 1
        self._idle.setdefault(fmu, []).append(folder)

    def close(self) -> None:
        """Remove all unused folders; the others are removed after their use."""
        self._closed = True
        while self._idle:
            for folder in self._idle.popitem()[1]:
                folder.remove()
