"""Packages inside a package, opened to be edited, and put back when they were."""

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from ssptool.dataclass import dataclass
from ssptool.documents.archive import Archive
from ssptool.documents.nesting import INSIDE
from ssptool.editing.changes import FileEdit
from ssptool.scratch import ScratchFolder


@dataclass(slots=True, eq=False)
class Packages:
    """The packages that were opened inside one archive, whose `name` ends with a `!` if it is inside another one."""

    name: str = ""
    _opened: dict[str, tuple[Archive, "Packages"]] = field(default_factory=dict)

    def open(self, around: Archive, entry: str) -> tuple[Archive, "Packages"]:
        """A package to edit, always the same one, with those inside it. Raises as `Archive.open`."""
        if entry not in self._opened:
            archive = Archive.open(around.local_path(entry))
            self._opened[entry] = archive, Packages(f"{self.name}{entry}{INSIDE}")
        return self._opened[entry]

    @property
    def any_open(self) -> bool:
        """Whether there are documents that are not those of the archive itself."""
        return bool(self._opened)

    def put_back(self, around: Archive) -> None:
        """Put the packages that were edited into the archive around them, the innermost first; not on disk yet.

        In a package the entries that were not edited keep their bytes and their order.
        """
        for entry, (archive, inner) in self._opened.items():
            inner.put_back(archive)
            if archive.edits() and around.has(entry):
                around.put(entry, _packed(archive))

    def edits(self, around: Archive) -> Iterator[FileEdit]:
        """What differs from what is on disk, by files; of packages that were opened the files inside them."""
        for edit in around.edits():
            if edit.name in self._opened and edit.exists:
                archive, inner = self._opened[edit.name]
                yield from inner.edits(archive)
                continue
            before = around.before(edit.name) if edit.existed else None
            yield FileEdit(self.name + edit.name, before, around.content(edit.name) if edit.exists else None)

    def close(self) -> None:
        for archive, inner in self._opened.values():
            inner.close()
            archive.close()
        self._opened.clear()


def _packed(archive: Archive) -> bytes:
    with ScratchFolder() as folder:
        path = Path(folder, "package.ssp")
        archive.save(path)
        return path.read_bytes()
