"""Save several files together, all or none, without losing changes by other programs."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, TypeAlias

from ssptool.errors import WrongUsage, abbreviated
from ssptool.journal import NAME, FileChange, carry_out, write_journal
from ssptool.tempfiles import PREFIX, TemporaryFolder

EntryContent: TypeAlias = bytes | Path
"""Content of a file to write: bytes, or the path of another file (an FMU may be large)."""


def link_leads_out(path: Path, folder: Path) -> WrongUsage:
    """Error for a file that would be written through a link that points outside of the saved folder."""
    return WrongUsage(
        f"{path} is, or contains, a link that points outside {folder}, to {path.resolve()}, and is not written: "
        "remove the link, or edit its target directly"
    )


class ChangedMeanwhile(WrongUsage):
    """Another program changed files after they were read. Saving would lose its changes; `names` lists the files."""

    def __init__(self, system: Path, names: tuple[str, ...]) -> None:
        which = "" if names == (system.name,) else f" ({abbreviated(names)})"
        super().__init__(
            f"another program has changed {system}{which} since it was read: nothing is saved; repeat the edit "
            "(edits on the command line wait for each other, as `ssptool.edit(…, wait=True)` does)"
        )
        self.names = names


def stay_inside(folder: Path, name: str) -> None:
    """Reject writing a file of a folder through a link that points outside. Raises WrongUsage."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise link_leads_out(folder / name, folder)


class FileState(NamedTuple):
    """Facts for detecting changes of a file: after replacement the inode differs, after rewriting the time."""

    device: int
    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: Path | str) -> "FileState | None":
        """State of a file; None for anything else."""
        try:
            found = os.stat(path)  # noqa: PTH116 (a thousand times)
        except OSError:
            return None
        return cls.told(found)

    @classmethod
    def told(cls, found: os.stat_result) -> "FileState":
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@contextmanager
def replaced_atomically(target: Path) -> Iterator[IO[bytes]]:
    """A file to write that replaces `target` after all of it is on disk, and is removed if anything fails.

    If `target` is a link, the file that it points to is replaced, and the link is kept. Disk errors name the target.
    """
    with AtomicReplacement() as files, files.staged(target) as file:
        yield file


def save_file(target: Path, content: bytes | str) -> None:
    """Write a file completely or not at all; write to devices such as /dev/stdout. Errors name the target."""
    data = content.encode() if isinstance(content, str) else content
    if target.exists() and not target.is_file():
        with _naming(target), target.open("wb") as device:
            device.write(data)
        return
    with replaced_atomically(target) as file:
        file.write(data)


class AtomicReplacement:
    """Files to write and files to delete, as a context manager: at its end all changes are made, in the given order.

    Everything is written to hidden temporary folders and is on disk before the first target is touched. If anything
    fails, the targets are restored. If the process is killed in the middle, each file is still complete, the old one or
    the new one. Files in the folder `root` are consistent even then, after it is opened again, because a journal
    (`ssptool.journal`) contains the remaining changes. There is no journal on Windows, and on file systems without
    locks.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._temporary: dict[Path, TemporaryFolder] = {}
        self._number = 0
        self._staged: dict[Path, Path] = {}
        self._deleted: list[Path] = []
        self._made: list[Path] = []
        self._changes: list[FileChange] = []
        self._journal: tuple[Path, list[FileChange]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        done = False
        try:
            if problem is None:
                self._commit()
                done = True
        finally:
            if not done:
                self._roll_back()
            for temporary in self._temporary.values():
                temporary.cleanup()
            if not done:
                self._remove_made()

    @contextmanager
    def staged(self, target: Path) -> Iterator[IO[bytes]]:
        """A file that will replace `target`; missing parent folders are created. Disk errors name the target."""
        place = _followed(target)
        with _naming(target):
            self._make_folder(place.parent)
            temporary = self._staged[place] = self._beside(place)
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if place.exists():
                temporary.chmod(place.stat().st_mode)

    def write(self, target: Path, content: EntryContent) -> None:
        if isinstance(content, bytes):
            with self.staged(target) as file:
                file.write(content)
            return
        with content.open("rb") as source, self.staged(target) as file:
            shutil.copyfileobj(source, file)

    def delete(self, target: Path) -> None:
        """Delete a target; for a link the link itself, not the file that it points to."""
        self._deleted.append(target)

    def _beside(self, place: Path) -> Path:
        """A name in a temporary folder on the file system of the target."""
        folder = place.parent
        if self._root is not None and folder.stat().st_dev == self._root.stat().st_dev:
            folder = self._root
        if folder not in self._temporary:
            self._temporary[folder] = TemporaryFolder(folder)
        self._number += 1
        return Path(self._temporary[folder].name, str(self._number))

    def _commit(self) -> None:
        for place in (*self._staged, *self._deleted):
            with _naming(place):
                names = [None if one is None else str(one) for one in (self._staged.get(place), self._kept(place))]
            self._changes.append(FileChange(str(place), *names))
        self._begin_journal()
        carry_out(Path(), self._changes)
        if self._journal is not None:
            with _naming(self._journal[0].parent):
                (self._journal[0] / NAME).unlink()

    def _begin_journal(self) -> None:
        """Write the journal, if there are several changes, all in the edited folder."""
        root = self._root
        held = None if root is None else self._temporary.get(root)
        if root is None or held is None or not held.is_locked or len(self._changes) < 2:
            return

        def below(name: str | None) -> str | None:
            return None if name is None else Path(name).relative_to(root).as_posix()

        try:
            changes = [
                FileChange(Path(one.target).relative_to(root).as_posix(), *map(below, one[1:])) for one in self._changes
            ]
        except ValueError:  # a target lies outside
            return
        self._journal = Path(held.name), changes
        with _naming(root):
            write_journal(*self._journal)

    def _kept(self, place: Path) -> Path | None:
        """Another name of what a target was; None if there was nothing."""
        if not os.path.lexists(place):
            return None
        kept = self._beside(place)
        try:
            os.link(place, kept, follow_symlinks=False)
        except OSError:  # this file system has no hard links
            shutil.copy2(place, kept, follow_symlinks=False)
        return kept

    def _roll_back(self) -> None:
        if self._journal is not None:
            with suppress(OSError):  # there may be no space for it
                write_journal(*self._journal, back=True)
        carry_out(Path(), self._changes, back=True)

    def _make_folder(self, folder: Path) -> None:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._made.extend(reversed(missing))

    def _remove_made(self) -> None:
        for folder in reversed(self._made):
            with suppress(OSError):
                folder.rmdir()


def _followed(target: Path) -> Path:
    """Path that a linked target points to."""
    if not target.is_symlink():
        return target
    place = Path(os.path.realpath(target))
    if place.is_symlink():
        raise OSError(errno.ELOOP, "the link points to itself", str(target))
    return place


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Name the target in disk errors without a file name, or with one in a temporary folder."""
    try:
        yield
    except OSError as problem:
        if problem.errno is None or PREFIX not in str(problem.filename or PREFIX):
            raise
        raise OSError(problem.errno, problem.strerror, str(target)) from problem
