"""Edits of an archive's entries that are not on disk yet: files added or replaced, and files taken away."""

from pathlib import Path
from typing import TypeAlias

from ssptool.documents.entries import Entries, MissingEntry, Surroundings
from ssptool.documents.uri import UP
from ssptool.scratch import ScratchFolder

Content: TypeAlias = bytes | Path
"""What a file is to hold: these bytes, or those of a file elsewhere (an FMU may be large)."""


class Overlay:
    """The entries of an archive as they will be: those `below`, without the removed ones, and the added ones.

    Files in its `surroundings` are no entries of it, but can be read under names that start with `../`.
    """

    def __init__(self, below: Entries, path: Path, surroundings: Surroundings) -> None:
        self._below = below
        self.surroundings = surroundings
        self._path = path
        self._folder: ScratchFolder | None = None
        self.added: dict[str, Content] = {}
        self.removed: set[str] = set()

    def put(self, name: str, content: Content) -> None:
        self.added[name] = content
        self.removed.discard(name)

    def remove(self, name: str) -> None:
        """Raises MissingEntry."""
        if not self.has(name):
            raise MissingEntry(name, self._path)
        self.added.pop(name, None)
        if self._below.has(name):
            self.removed.add(name)

    def names(self) -> tuple[str, ...]:
        below = [name for name in self._below.names() if name not in self.removed]
        known = set(below)
        return (*below, *(name for name in self.added if name not in known))

    def has(self, name: str) -> bool:
        if name.startswith(UP):
            outside = self.surroundings.path(name)
            return outside is not None and outside.is_file()
        return name in self.added or (name not in self.removed and self._below.has(name))

    def read(self, name: str) -> bytes:
        content = self.added.get(name)
        if content is not None:
            return content if isinstance(content, bytes) else content.read_bytes()
        if name.startswith(UP):
            return self._outside(name).read_bytes()
        self._require(name)
        return self._below.read(name)

    def local_path(self, name: str) -> Path:
        content = self.added.get(name)
        if content is None and name.startswith(UP):
            return self._outside(name)
        if content is None:
            self._require(name)
            return self._below.local_path(name)
        if isinstance(content, Path):
            return content
        if self._folder is None:
            self._folder = ScratchFolder()
        path = Path(self._folder.name, *name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def close(self) -> None:
        self._below.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _outside(self, name: str) -> Path:
        path = self.surroundings.path(name)
        if path is None or not path.exists():
            raise MissingEntry(name, self._path)
        return path

    def _require(self, name: str) -> None:
        if name in self.removed:
            raise MissingEntry(name, self._path)
