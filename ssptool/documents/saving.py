"""Files that are saved together, all or none, without losing changes by other programs."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, TypeAlias

from ssptool.errors import WrongUsage, abbreviated
from ssptool.journal import NAME, FileChange, sync, write_journal
from ssptool.tempfiles import PREFIX, TemporaryFolder

EntryContent: TypeAlias = bytes | Path
"""Content of a file to write: these bytes, or those of a file elsewhere (an FMU may be large)."""


def link_leads_out(path: Path, folder: Path) -> WrongUsage:
    """The error for a file that would be written through a link that points outside of the saved folder."""
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
    """Refuse to write a file of a folder through a link that leads elsewhere. Raises WrongUsage."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise link_leads_out(folder / name, folder)


class FileState(NamedTuple):
    """Facts by which a change of a file shows: a replaced one has another inode, a rewritten one another time."""

    device: int
    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: Path | str) -> "FileState | None":
        """None of what is not a file."""
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
    """A file to write that takes the place of `target` when all of it is on disk, and vanishes if anything fails.

    Where `target` is a link, the file that it leads to is replaced, and the link stays. An error of the disk names the
    target.
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
    """Files to write and files to delete, as a context manager: at its end everything happens, in the given order.

    Everything is written to hidden temporary folders and is on disk before the first target is touched. If anything
    fails, before or then, the targets are as they were. Should the process be killed in the middle, each file is still
    complete, the old one or the new one. Files in the folder `root` are of one version even then, as soon as that is
    opened again: a journal (`ssptool.journal`) says what is left to do. Windows, and file systems without locks, have
    none.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._temporary: dict[Path, TemporaryFolder] = {}
        self._number = 0
        self._staged: dict[Path, Path] = {}
        self._deleted: list[Path] = []
        self._made: list[Path] = []
        self._undo: list[tuple[Path, Path | None]] = []
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
        """A file that will be `target`; folders above it are made. Errors of the disk name the target."""
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
        """A link is deleted itself, and not what it leads to."""
        self._deleted.append(target)

    def _beside(self, place: Path) -> Path:
        """A name in a temporary folder on the file system of a target."""
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
                self._keep(place)
        self._begin_journal()
        for place, temporary in self._staged.items():
            with _naming(place):
                temporary.replace(place)
        for target in self._deleted:
            target.unlink()
        for folder in dict.fromkeys(place.parent for place in (*self._staged, *self._deleted)):
            sync(folder)
        if self._journal is not None:
            (self._journal[0] / NAME).unlink()

    def _begin_journal(self) -> None:
        """Say what is to be done, if it is more than one thing and all in the folder that is edited."""
        root = self._root
        held = None if root is None else self._temporary.get(root)
        if root is None or held is None or not held.is_locked or len(self._undo) < 2:
            return
        news = [*self._staged.values(), *(None for _ in self._deleted)]
        try:
            changes = [
                FileChange(str(_below(root, place)), _below(root, new), _below(root, old))
                for (place, old), new in zip(self._undo, news, strict=True)
            ]
        except ValueError:  # something is elsewhere
            return
        self._journal = Path(held.name), changes
        write_journal(*self._journal)

    def _keep(self, place: Path) -> None:
        """Remember what a target was, under another name."""
        if not os.path.lexists(place):
            self._undo.append((place, None))
            return
        kept = self._beside(place)
        try:
            os.link(place, kept, follow_symlinks=False)
        except OSError:  # no hard links on this file system
            shutil.copy2(place, kept, follow_symlinks=False)
        self._undo.append((place, kept))

    def _roll_back(self) -> None:
        if self._journal is not None:
            with suppress(OSError):  # there may be no room for it
                write_journal(*self._journal, back=True)
        for place, kept in reversed(self._undo):
            if kept is None:
                place.unlink(missing_ok=True)
            else:
                kept.replace(place)  # Between two links to one file, replacing does nothing.

    def _make_folder(self, folder: Path) -> None:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._made.extend(reversed(missing))

    def _remove_made(self) -> None:
        for folder in reversed(self._made):
            with suppress(OSError):
                folder.rmdir()


def _below(root: Path, path: Path | None) -> str | None:
    return None if path is None else path.relative_to(root).as_posix()


def _followed(target: Path) -> Path:
    """Path that a linked target leads to."""
    if not target.is_symlink():
        return target
    place = Path(os.path.realpath(target))
    if place.is_symlink():
        raise OSError(errno.ELOOP, "the link points to itself", str(target))
    return place


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Name the target in errors of the disk that name no file, or one in a temporary folder."""
    try:
        yield
    except OSError as problem:
        if problem.errno is None or PREFIX not in str(problem.filename or PREFIX):
            raise
        raise OSError(problem.errno, problem.strerror, str(target)) from problem
