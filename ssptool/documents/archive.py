"""The archive: a zip (`.ssp`), its unpacked folder, or a lone `.ssd` with the files around it, all read alike."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ssptool.documents import ssd, uri
from ssptool.documents.diagnostics import InvalidDocument, Position, error
from ssptool.documents.document import Document
from ssptool.documents.entries import Entries, FolderEntries, Limits, ZipEntries
from ssptool.documents.uri import UnresolvableUri as UnresolvableUri

DEFAULT_STRUCTURE = "SystemStructure.ssd"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can state, for entries that come from a folder


class UnknownVariant(LookupError):
    """A variant that the archive does not have; `available` are the names of those that it has."""

    def __init__(self, variant: str, available: tuple[str, ...]) -> None:
        super().__init__(f"there is no variant {variant!r}; available: {', '.join(available) or 'none'}")
        self.variant = variant
        self.available = available


class Archive:
    """The documents and resources of one system. Names are paths inside, with forward slashes.

    Use it as a context manager, or `close` it: files unpacked from a zip live as long as it does.
    """

    def __init__(self, path: Path, entries: Entries, default: str = DEFAULT_STRUCTURE) -> None:
        self.path = path
        self.default = default
        self._entries = entries
        self._documents: dict[str, Document] = {}

    @classmethod
    def open(cls, path: Path | str, limits: Limits | None = None) -> Self:
        """Open a zip, a folder or a lone `.ssd`.

        Raises
        ------
        FileNotFoundError
            There is nothing at `path`.
        InvalidDocument
            It is no readable zip (PKG-001, -002, -003), has unsafe or duplicate names (PKG-020, -021), exceeds the
            limits (PKG-024), or has no `SystemStructure.ssd` (PKG-009).
        """
        path = Path(path)
        if path.is_dir():
            archive = cls(path, FolderEntries(path))
        elif not path.exists():
            raise FileNotFoundError(f"{path} does not exist: expected an .ssp file, a folder or an .ssd file")
        elif path.suffix.lower() == ".ssd":
            archive = cls(path, FolderEntries(path.parent, lone=path.name), default=path.name)
        else:
            archive = cls(path, ZipEntries(path, limits or Limits()))
        if not archive.has(archive.default):
            archive.close()
            raise _no_default(archive)
        return archive

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Archive {self.path}>"

    def close(self) -> None:
        """Remove the unpacked files; documents that were read stay usable."""
        self._entries.close()

    def names(self) -> tuple[str, ...]:
        """All entries but folders: in the order of the zip, or sorted."""
        return self._entries.names()

    def has(self, name: str) -> bool:
        return self._entries.has(name)

    def read(self, name: str) -> bytes:
        """The bytes of an entry as they are on disk. Raises MissingEntry, or InvalidDocument if it is damaged."""
        return self._entries.read(name)

    def local_path(self, name: str) -> Path:
        """A file with the bytes of an entry, unpacked if need be; not to be written to. Raises as `read`."""
        return self._entries.local_path(name)

    def document(self, name: str) -> Document:
        """The document of this name, always the same object. Raises as `read`, or InvalidDocument if it is no XML."""
        if name not in self._documents:
            self._documents[name] = Document(name, self.read(name))
        return self._documents[name]

    def variants(self) -> tuple[Document, ...]:
        """All SSDs at the root, the default first; of a lone `.ssd` that alone."""
        return tuple(self.document(name) for name in self._variant_names())

    def structure(self, variant: str | None = None) -> Document:
        """The SSD of the variant with this name (of the system structure; else of the file), or the default SSD.

        Raises
        ------
        UnknownVariant
            No SSD at the root has this name.
        InvalidDocument
            The file is not an SSD.
        """
        name = self.default if variant is None else self._find_variant(variant)
        document = self.document(name)
        document.root_as(ssd.SystemStructureDescription)
        return document

    def resolve(self, document_name: str, reference: str) -> str:
        """The name of the entry to which a URI in a document leads, whether or not it exists; see `uri.resolve`."""
        return uri.resolve(document_name, reference)

    def save(self, path: Path | str | None = None) -> None:
        """Write everything, edits included, to an `.ssp` or a folder (no suffix); of a lone `.ssd` that file alone.

        A file appears complete or not at all. Entries that were not edited keep their bytes and their order; equal
        archives give equal files. Without `path`, or onto itself, a folder gets the edited documents only.

        Raises
        ------
        FileExistsError
            `path` is another folder that is not empty.
        ValueError
            An archive is to become a lone `.ssd`, or the reverse.
        """
        target = Path(path) if path is not None else self.path
        if self._is_lone or target.suffix.lower() == ".ssd":
            self._save_lone(target)
        elif target.is_dir() or not target.suffix:
            self._save_folder(target)
        else:
            self._save_zip(target)

    @property
    def _is_lone(self) -> bool:
        return isinstance(self._entries, FolderEntries) and self._entries.lone is not None

    def _variant_names(self) -> list[str]:
        if self._is_lone:
            return [self.default]
        at_root = (name for name in self.names() if "/" not in name and name.lower().endswith(".ssd"))
        return sorted(at_root, key=lambda name: (name != self.default, name))

    def _find_variant(self, variant: str) -> str:
        candidates = self._variant_names()
        titles = {name: self._title(name) for name in candidates}
        for name in candidates:
            if titles[name] == variant:
                return name
        for name in candidates:
            if variant in (name, name[: -len(".ssd")]):
                return name
        raise UnknownVariant(variant, tuple(titles[name] or name for name in candidates))

    def _title(self, name: str) -> str:
        """The name of a system structure; empty if the file cannot be read, which matters only if it is wanted."""
        try:
            return self.document(name).root.get("name", "")
        except InvalidDocument:
            return ""

    def _content(self, name: str) -> bytes:
        document = self._documents.get(name)
        return self.read(name) if document is None else document.to_bytes()

    def _save_lone(self, target: Path) -> None:
        if not self._is_lone:
            raise ValueError(f"{self.path} has more than one file and cannot be saved as {target.name}")
        if target.suffix.lower() != ".ssd":
            raise ValueError(f"{self.path} is a lone file, and may need others: open the folder to save that")
        with _replacing(target) as file:
            file.write(self._content(self.default))

    def _save_folder(self, target: Path) -> None:
        in_place = target.exists() and self.path.is_dir() and target.samefile(self.path)
        if not in_place and target.exists() and any(target.iterdir()):
            raise FileExistsError(f"{target} is not empty: choose another folder, or empty it first")
        for name in self.names():
            if in_place and not (name in self._documents and self._documents[name].changed):
                continue
            file_path = target / name
            file_path.parent.mkdir(parents=True, exist_ok=True)
            with _replacing(file_path) as file:
                file.write(self._content(name))

    def _save_zip(self, target: Path) -> None:
        with _replacing(target) as file, zipfile.ZipFile(file, "w", allowZip64=False) as packed:
            for name in self.names():
                info = zipfile.ZipInfo(name, _EARLIEST)
                info.compress_type = zipfile.ZIP_DEFLATED
                if isinstance(self._entries, ZipEntries):
                    before = self._entries.info(name)
                    info.date_time, info.compress_type = before.date_time, before.compress_type
                info.create_system = 3  # Unix, on every platform, for the permissions and for equal files
                info.external_attr = 0o100644 << 16
                packed.writestr(info, self._content(name))


def _no_default(archive: Archive) -> InvalidDocument:
    found = [name for name in archive.names() if name.lower().endswith(".ssd")]
    inside = next((name for name in found if name.endswith("/" + DEFAULT_STRUCTURE)), None)
    if inside:
        advice = f"there is {inside}: pack or open the contents of that folder, not the folder"
    elif found:
        advice = f"rename the default variant to {DEFAULT_STRUCTURE}; found {', '.join(found[:5])}"
    else:
        advice = "choose an .ssp file, the folder of an unpacked one, or an .ssd file"
    message = f"{archive.path} has no {DEFAULT_STRUCTURE}"
    return InvalidDocument(error("PKG-009", Position(archive.path.name), message, advice))


@contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `target` when all of it is on disk, and vanishes if anything fails."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
