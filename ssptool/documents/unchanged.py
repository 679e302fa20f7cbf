"""Detection of changed files, to decide whether data derived from them are still valid.

Sizes, times and inodes are compared. They do not show that a file was written twice within one tick of the clock of its
file system. Therefore the content of a file that was young at the first check is also compared, until the clock has
advanced.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from ssptool.documents.foreign_files import open_bytes
from ssptool.documents.storage import STANDARD_FOLDERS, SurroundingFiles
from ssptool.documents.uri import UP
from ssptool.errors import WrongUsage
from ssptool.working_directory import real

YOUNG_SECONDS = 600.0
"""Age up to which a file counts as young [s]. The clock of a file server may differ from that of this machine by this
amount.
"""

SETTLED_SECONDS = 3.0
"""Time after which a changed file has another time stamp [s]. FAT has the coarsest clock, of two seconds."""

MOST_FILES = 10_000
MOST_BYTES = 64 << 20
"""Limits of the comparison: with more files, or more bytes of young files, reading all data again is cheaper."""


class FileMark(NamedTuple):
    """Facts of a file that change with it. `changed_ns` is the time at which the operating system noticed a change,
    which no program can set (on Windows the creation time).
    """

    device: int
    inode: int
    mode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def told(cls, found: os.stat_result) -> Self:
        return cls(found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    @property
    def is_young(self) -> bool:
        return time.time() - max(self.modified_ns, self.changed_ns) / 1e9 < YOUNG_SECONDS


class NotComparable(Exception):
    """Changes of these files cannot be detected, or only at high cost."""


def marks_of(paths: Iterable[str | None]) -> dict[str, FileMark | None]:
    """Marks of files, and of all files in folders, by path; None for missing files.

    Raises NotComparable for links to folders, and for more than `MOST_FILES`.
    """
    found: dict[str, FileMark | None] = {}
    for path in filter(None, paths):
        try:
            there = os.stat(path)  # noqa: PTH116 (many, and before each run)
        except (OSError, ValueError):
            found[path] = None
            continue
        found[path] = FileMark.told(there)
        if stat.S_ISDIR(there.st_mode):
            _mark_below(path, found)
    return found


def _mark_below(folder: str, found: dict[str, FileMark | None]) -> None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                told = entry.stat(follow_symlinks=False)
                path = entry.path
                if stat.S_ISLNK(told.st_mode):
                    found[path] = FileMark.told(told)
                    path, told = _followed(path)
                found[path] = FileMark.told(told)
                if len(found) > MOST_FILES:
                    raise NotComparable
                if stat.S_ISDIR(told.st_mode):
                    _mark_below(path, found)
    except OSError:
        raise NotComparable from None


def _followed(link: str) -> tuple[str, os.stat_result]:
    """Target of a link."""
    target = os.path.realpath(link)
    told = os.stat(target)  # noqa: PTH116
    if stat.S_ISDIR(told.st_mode):
        raise NotComparable
    return target, told


@dataclass(frozen=True, slots=True)
class Footprint:
    """Locations from which a system is read: `roots` with all their content, and names that its documents refer to,
    whether or not the files exist; names with `../` refer to files outside of the `folder` that may be read.
    """

    roots: tuple[Path, ...]
    folder: Path
    outside: tuple[Path, ...]
    unpacked: bool
    asked: frozenset[str]

    def paths(self) -> tuple[str | None, ...]:
        """Present paths of these locations, with links followed; None if reading is not allowed."""
        return (*map(real, self.roots), *self._asked_paths())

    def _asked_paths(self) -> Iterator[str | None]:
        if not self.asked:
            return
        around = SurroundingFiles(self.folder, self.outside, self.unpacked)
        for name in sorted(self.asked):
            path = around.path(name) if name.startswith(UP) else self.folder / name
            yield None if path is None else real(path)


def lone_roots(file: Path) -> tuple[Path, ...]:
    """Roots of a lone SSD: itself, and the folders that SSP reserves."""
    return (file, *(file.parent / name for name in STANDARD_FOLDERS))


@dataclass(slots=True)
class Snapshot:
    """State of files at one instant: `digests` are hashes of the contents of young files."""

    paths: tuple[str | None, ...]
    marks: Mapping[str, FileMark | None]
    digests: Mapping[str, bytes]
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, footprint: Footprint) -> Self:
        """Snapshot of the files of a footprint. Raises NotComparable."""
        began = time.monotonic()
        paths = footprint.paths()
        marks = marks_of(paths)
        young = [path for path, mark in marks.items() if mark is not None and _is_young_file(mark)]
        if sum(mark.size for path in young if (mark := marks[path]) is not None) > MOST_BYTES:
            raise NotComparable
        return cls(paths, marks, _digests(young), began)

    def holds(self, footprint: Footprint) -> bool:
        """True if the same locations still have the same files."""
        now = time.monotonic()
        try:
            paths = footprint.paths()
            if paths != self.paths or marks_of(paths) != self.marks:
                return False
            if not self.digests:
                return True
            if _digests(self.digests) != self.digests:
                return False
        except NotComparable:
            return False
        if now - self.began > SETTLED_SECONDS:
            self.digests = {}  # a file that is written from now on gets another time
        return True


def _is_young_file(mark: FileMark) -> bool:
    return stat.S_ISREG(mark.mode) and mark.is_young


def _digests(paths: Iterable[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in paths:
        try:
            with open_bytes(Path(path)) as file:
                found[path] = hashlib.file_digest(file, "blake2b").digest()
        except (OSError, WrongUsage):  # it was removed, or must not be read
            raise NotComparable from None
    return found
