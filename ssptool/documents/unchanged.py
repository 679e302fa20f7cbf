"""Detection of changed files, to decide whether data derived from them are still valid.

Sizes, times and inodes tell, but not of a file that was written twice within one tick of the clock of its file system.
So the content of a file that was young when it was first looked at is compared too, until the clock has gone on.
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
"""Age up to which a file counts as young. The clock of a file server may differ so much from that of this machine."""

SETTLED_SECONDS = 3.0
"""Time after which a change gives a file another time. FAT has the coarsest clock, of two seconds."""

MOST_FILES = 10_000
MOST_BYTES = 64 << 20
"""Limits of what is looked at again: more files, or more bytes of young ones, cost more than to read what is needed."""


class FileMark(NamedTuple):
    """Facts of a file that change with it. `changed_ns` is the time when the system noted a change, which no program
    can set (on Windows the time when the file was made).
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
    """Files of which it cannot be told whether they change, or not cheaply."""


def marks_of(paths: Iterable[str | None]) -> dict[str, FileMark | None]:
    """Marks of files, and of all that is in folders, by path; None of what is not there.

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
    """The file that a link leads to."""
    target = os.path.realpath(link)
    told = os.stat(target)  # noqa: PTH116
    if stat.S_ISDIR(told.st_mode):
        raise NotComparable
    return target, told


@dataclass(frozen=True, slots=True)
class Footprint:
    """Places from which a system is read: `roots`, with all that is in them, and names that its documents ask for,
    whether or not there is such a file; those with `../` lead out of the `folder` to files that may be read.
    """

    roots: tuple[Path, ...]
    folder: Path
    outside: tuple[Path, ...]
    unpacked: bool
    asked: frozenset[str]

    def paths(self) -> tuple[str | None, ...]:
        """Present paths of these places, all links followed; None if reading is not allowed."""
        return (*map(real, self.roots), *self._asked_paths())

    def _asked_paths(self) -> Iterator[str | None]:
        if not self.asked:
            return
        around = SurroundingFiles(self.folder, self.outside, self.unpacked)
        for name in sorted(self.asked):
            path = around.path(name) if name.startswith(UP) else self.folder / name
            yield None if path is None else real(path)


def lone_roots(file: Path) -> tuple[Path, ...]:
    """The roots of a lone SSD: itself, and the folders that SSP reserves."""
    return (file, *(file.parent / name for name in STANDARD_FOLDERS))


@dataclass(slots=True)
class Snapshot:
    """Files at one instant: `digests` are the contents of those that are young."""

    paths: tuple[str | None, ...]
    marks: Mapping[str, FileMark | None]
    digests: Mapping[str, bytes]
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, footprint: Footprint) -> Self:
        """Raises NotComparable."""
        began = time.monotonic()
        paths = footprint.paths()
        marks = marks_of(paths)
        young = [path for path, mark in marks.items() if mark is not None and _is_young_file(mark)]
        if sum(mark.size for path in young if (mark := marks[path]) is not None) > MOST_BYTES:
            raise NotComparable
        return cls(paths, marks, _digests(young), began)

    def holds(self, footprint: Footprint) -> bool:
        """Whether the same places still have the same files."""
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
            self.digests = {}  # a file that is written from now on has another time
        return True


def _is_young_file(mark: FileMark) -> bool:
    return stat.S_ISREG(mark.mode) and mark.is_young


def _digests(paths: Iterable[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in paths:
        try:
            with open_bytes(Path(path)) as file:
                found[path] = hashlib.file_digest(file, "blake2b").digest()
        except (OSError, WrongUsage):  # it has gone, or must not be read
            raise NotComparable from None
    return found
