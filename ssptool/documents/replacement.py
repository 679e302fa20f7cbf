"""Files that change together: all of them, or none."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ssptool.documents.overlay import Content


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `target` when all of it is on disk, and vanishes if anything fails."""
    with Replacement() as files, files.staged(target) as file:
        yield file


class Replacement:
    """Files to write and files to delete, as a context manager: at its end everything happens, in the given order.

    Everything is written beside the targets and is on disk before the first target is touched. If anything fails,
    before or then, the targets are as they were. (Should the machine stop in the middle, each file is still complete:
    the old one or the new one.)
    """

    def __init__(self) -> None:
        self._staged: dict[Path, Path] = {}
        self._deleted: list[Path] = []
        self._made: list[Path] = []
        self._undo: list[tuple[Path, Path | None]] = []

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
            self._clean()
            if not done:
                self._remove_made()

    @contextmanager
    def staged(self, target: Path) -> Iterator[IO[bytes]]:
        """A file that will be `target`; folders above it are made."""
        self._make_folder(target.parent)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        temporary = self._staged[target] = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())

    def write(self, target: Path, content: Content) -> None:
        with self.staged(target) as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file)

    def delete(self, target: Path) -> None:
        self._deleted.append(target)

    def _commit(self) -> None:
        for target, temporary in self._staged.items():
            self._keep(target)
            temporary.replace(target)
        for target in self._deleted:
            self._keep(target)
            target.unlink()

    def _keep(self, target: Path) -> None:
        """Remember what `target` was, under another name beside it."""
        if not target.exists():
            self._undo.append((target, None))
            return
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        os.close(descriptor)
        kept = Path(name)
        kept.unlink()
        try:
            os.link(target, kept)
        except OSError:  # no hard links on this file system
            shutil.copy2(target, kept)
        self._undo.append((target, kept))

    def _roll_back(self) -> None:
        for target, kept in reversed(self._undo):
            if kept is None:
                target.unlink(missing_ok=True)
            else:
                kept.replace(target)
                kept.unlink(missing_ok=True)  # Between two links to one file, replacing does nothing.

    def _clean(self) -> None:
        for temporary in (*self._staged.values(), *(kept for _, kept in self._undo if kept is not None)):
            temporary.unlink(missing_ok=True)

    def _make_folder(self, folder: Path) -> None:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._made.extend(reversed(missing))

    def _remove_made(self) -> None:
        for folder in reversed(self._made):
            with suppress(OSError):
                folder.rmdir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
