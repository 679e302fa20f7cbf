"""Archives: a zip (`.ssp`), its unpacked folder, or a lone `.ssd` with the files next to it, with one interface.

A single FMU (a system with one component) and an OspSystemStructure.xml are also read as archives. Entries of a nested
package or of an FMU have names like `resources/sub.ssp!SystemStructure.ssd`. Files are saved together, all or none.
"""

import os
import shutil
import warnings
import zipfile
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from ssptool.arguments import SYSTEM_ENDINGS
from ssptool.arguments import path as checked_path
from ssptool.arguments import text as checked_text
from ssptool.documents import ssd, uri
from ssptool.documents.diagnostics import InvalidDocument, Position, Severity, error
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import ArchiveLimits, open_bytes, require_file, special_kind
from ssptool.documents.generated import (
    MODEL_DESCRIPTION,
    ExportedEntries,
    GeneratedEntries,
    is_fmu,
    is_fmu_folder,
    is_osp,
    system_of_fmu,
)
from ssptool.documents.saving import (
    AtomicReplacement,
    ChangedMeanwhile,
    EntryContent,
    FileState,
    link_leads_out,
    replaced_atomically,
    stay_inside,
)
from ssptool.documents.storage import (
    NESTING_MARK,
    Entries,
    FolderEntries,
    LinkOut,
    NestedPackages,
    Overlay,
    RemainingLimits,
    SurroundingFiles,
    ZipEntries,
    ZipFacts,
)
from ssptool.documents.unchanged import Footprint, lone_roots
from ssptool.documents.uri import UnresolvableUri as UnresolvableUri
from ssptool.documents.vocabulary import EXPORTED_SYSTEM, OWN_FMUS
from ssptool.errors import PartialSystem, UnknownName, WrongValue, hint, similar_names
from ssptool.tempfiles import locked, settle
from ssptool.working_directory import absolute

DEFAULT_STRUCTURE = "SystemStructure.ssd"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can represent, for entries that come from a folder


class EntryEdit(NamedTuple):
    """An unsaved change of one entry: whether it exists on disk, and whether it exists in the archive."""

    name: str
    existed: bool
    exists: bool


def unknown_variant(name: str, available: Collection[str]) -> UnknownName:
    """The error for a variant that an archive does not have."""
    there = "" if available else "; it has none"
    return UnknownName(f"there is no variant {name!r}{there}", name, available)


LONE_SUFFIXES = (".ssv", ".ssm", ".ssb")
"""Extensions of documents that can be validated and migrated without a system."""


class Archive:
    """The documents and resources of one system. Names are paths inside, with forward slashes. `packed`: true for a
    zip.

    Use it as a context manager, or `close` it: files unpacked from a zip exist until then.
    """

    def __init__(
        self,
        path: Path,
        entries: Entries,
        default: str = DEFAULT_STRUCTURE,
        limits: ArchiveLimits | None = None,
        outside: Sequence[Path] = (),
        reading: bool = False,
    ) -> None:
        self.path = path
        self.reading = reading
        self._place = absolute(path)
        self.default = default
        self._entries = entries
        unpacked = isinstance(entries, FolderEntries)
        folder = entries.base if isinstance(entries, FolderEntries) else path
        self._now = Overlay(entries, path, SurroundingFiles(folder, outside, unpacked))
        self.packed = isinstance(entries, ZipEntries)
        self._reaches_outside = bool(outside) or unpacked
        self._outside = tuple(outside)
        allowance = RemainingLimits(limits or ArchiveLimits())
        self.count_against(allowance)
        self._all = NestedPackages(self._now, allowance)
        self._documents: dict[str, Document] = {}
        # Files by their names in the folder of the system, in the state before they were read.
        self._seen = {path.name: FileState.of(self._place)} if self.packed else {}
        self._unlock: Callable[[], None] | None = None
        self._is_new = False

    @classmethod
    def open(
        cls,
        path: Path | str,
        limits: ArchiveLimits | None = None,
        *,
        outside: Sequence[Path] = (),
        exclusive: bool = False,
        inside: bool = False,
        partial: bool = False,
        reading: bool = False,
    ) -> Self:
        """Open a zip, a folder or a lone `.ssd`; or an FMU (zip or folder), which becomes a system of one component, or
        a system of the Open Simulation Platform (`OspSystemStructure.xml`, or the folder with it).

        Documents may name files in the folders `outside` with `../`; those of a folder or a lone `.ssd` may also name
        files in the working folder, and in the repository around.

        `inside`: of an FMU that was exported from a system, open that system.

        `partial`: leave out features of an OspSystemStructure.xml that SSP lacks, and warn of each (`PartialSystem`).

        `exclusive`: lock the system until the archive is closed; others who open it exclusively wait.

        `reading`: its documents will not be edited, and need a third of the memory.

        Raises
        ------
        FileNotFoundError
            `path` does not exist.
        InvalidDocument
            The zip is unreadable (PKG-001, -002, -003), has unsafe or duplicate names (PKG-020, -021), exceeds the
            limits (PKG-024), or has no `SystemStructure.ssd` (PKG-009); or SSP lacks a feature of an
            OspSystemStructure.xml (OSP-101).
        WrongUsage
            With `exclusive`: another program keeps the system locked for too long.
        """
        path = checked_path("system", path)
        place = absolute(path)
        require_file(place, path)
        if not place.exists():
            kinds = "expected an .ssp file, a folder, an .ssd file or an FMU"
            near = [str(path.with_name(name)) for name in similar_names(place.name, _systems_in(place.parent))]
            raise FileNotFoundError(f"{path} does not exist{hint('', (), near) or f': {kinds}'}")
        with _lock_to_keep(place, exclusive) as lock:
            archive = cls._open(path, limits, outside, inside, partial, reading)
            archive._unlock = lock
        return archive

    @classmethod
    def _open(
        cls,
        path: Path,
        limits: ArchiveLimits | None,
        outside: Sequence[Path],
        inside: bool = False,
        partial: bool = False,
        reading: bool = False,
    ) -> Self:
        place = absolute(path)
        entries = _entries(place, limits or ArchiveLimits(), outside, inside)
        default = path.name if path.suffix.lower() == ".ssd" and place.is_file() else DEFAULT_STRUCTURE
        if isinstance(entries, GeneratedEntries):
            default = entries.names()[0]
            if entries.problems and not partial:
                raise InvalidDocument(*entries.problems)
            for problem in entries.problems:
                warnings.warn(f"left out: {replace(problem, severity=Severity.WARNING)}", PartialSystem, stacklevel=4)
        if isinstance(entries, ExportedEntries):
            default = entries.variant or default
        archive = cls(path, entries, default=default, limits=limits, outside=outside, reading=reading)
        if isinstance(entries, GeneratedEntries):
            archive._documents.update(entries.documents)
        if not archive.has(archive.default):
            archive.close()
            raise _no_default(archive)
        return archive

    @classmethod
    def of_document(cls, path: Path | str, *, exclusive: bool = False, reading: bool = False) -> Self:
        """Open a single `.ssv`, `.ssm` or `.ssb`. Raises FileNotFoundError, or WrongUsage."""
        path = checked_path("system", path)
        require_file(absolute(path), path)
        if not absolute(path).is_file():
            raise FileNotFoundError(f"{path} does not exist")
        with _lock_to_keep(absolute(path), exclusive) as lock:
            archive = cls(path, FolderEntries(path.parent, lone=path.name), default=path.name, reading=reading)
            archive._unlock = lock
        return archive

    @classmethod
    def of_unsaved(cls, path: Path, content: bytes) -> Self:
        """Open a single document whose unsaved content replaces, or precedes, a file on disk."""
        archive = cls(path, FolderEntries(path.parent, lone=path.name), default=path.name)
        archive.put(path.name, content)
        return archive

    @classmethod
    def create(cls, path: Path | str, structure: bytes) -> Self:
        """Create an archive with this default structure; `save` writes it to disk.

        Raises
        ------
        FileExistsError
            `path` exists and is not an empty folder.
        """
        path = Path(path)
        _require_free(path)
        lone = path.name if path.suffix.lower() == ".ssd" else None
        # A folder that does not exist has no entries, so this also serves a zip.
        entries = FolderEntries(path.parent if lone else path, lone=lone)
        archive = cls(path, entries, default=lone or DEFAULT_STRUCTURE)
        archive._is_new = True
        archive.put(archive.default, structure)
        return archive

    def count_against(self, allowance: RemainingLimits) -> None:
        """Subtract the entries of a package from the remaining limits."""
        if isinstance(self._entries, ZipEntries):
            allowance.take(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Archive {self.path}>"

    def close(self) -> None:
        """Remove the unpacked files, and documents opened for `reading`; others stay usable."""
        self._all.close()
        for document in self._documents.values():
            document.release()
        if self._unlock is not None:
            self._unlock()

    def release(self) -> None:
        """Close files on disk, so that other programs can replace them; they are reopened when needed."""
        self._all.release()
        if isinstance(self._entries, ZipEntries):
            self._entries.release()

    def footprint(self) -> Footprint | None:
        """Locations on disk that were read or searched; None for formats that may refer to files anywhere."""
        if isinstance(self._entries, FolderEntries):
            base = self._entries.base
            roots = lone_roots(self._place) if self.is_lone else (base,)
            asked = self._entries.asked | self._now.asked
            return Footprint(roots, base, self._outside, True, frozenset(asked))
        if self._entries_are_one_file():
            return Footprint((self._place,), self._place, self._outside, False, frozenset(self._now.asked))
        return None

    def _entries_are_one_file(self) -> bool:
        return isinstance(self._entries, ZipEntries) or self.is_fmu

    def looked_up_once(self) -> AbstractContextManager[None]:
        """Context for many reads without writing; see `FolderEntries.looked_up_once`."""
        return self._entries.looked_up_once() if isinstance(self._entries, FolderEntries) else nullcontext()

    def names(self) -> tuple[str, ...]:
        """All entries except folders, in the order of the zip, or sorted."""
        return self._now.names()

    def has(self, name: str) -> bool:
        return self._all.has(name)

    def read(self, name: str) -> bytes:
        """The bytes of an entry, without edits of a tree. Raises MissingEntry, or InvalidDocument if it is damaged."""
        self._see(name)
        return self._all.read(name)

    def local_path(self, name: str) -> Path:
        """A read-only file with the bytes of an entry, unpacked if necessary. Raises as `read`."""
        if name in OWN_FMUS:
            from ssptool.documents.delays import delay_file  # rarely needed

            return delay_file(name)
        self._see(name)
        return self._all.local_path(name)

    @property
    def is_generated(self) -> bool:
        """True if the structure is generated from an FMU or another format, and cannot be saved in place."""
        return isinstance(self._entries, GeneratedEntries)

    @property
    def is_fmu(self) -> bool:
        """True if the system is a single FMU."""
        return self.is_generated and self.default == MODEL_DESCRIPTION

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on differences between a generated structure and its source."""
        return self._entries.notes if isinstance(self._entries, GeneratedEntries) else ()

    def stated(self, name: str) -> str:
        """Name of an entry, existing or not, that the user knows: for a generated system the name in its source."""
        return self._entries.stated(name) if isinstance(self._entries, GeneratedEntries) else name

    @property
    def zip_facts(self) -> ZipFacts | None:
        """Facts from the directory of the zip on disk; None for a folder or a lone `.ssd`. With unsaved edits no entry
        is odd, because saving packs all entries again.
        """
        if not isinstance(self._entries, ZipEntries):
            return None
        facts = self._entries.facts
        return facts._replace(odd=()) if facts.odd and self.edits() else facts

    def state_on_disk(self, name: str) -> FileState | None:
        """Facts for detecting a later change of an unpacked file; None if it is packed, edited, not a file, or outside.

        Raises InvalidDocument (PKG-101) for a link that points outside of the folder.
        """
        if not isinstance(self._entries, FolderEntries) or name in self._now.added:
            return None
        return self._entries.state(name)

    def put(self, name: str, content: EntryContent) -> None:
        """Add an entry, or replace one; `content` is bytes, or a file to be copied. `save` writes it to disk.

        Raises
        ------
        WrongValue
            The name is not a safe relative path.
        """
        if reason := uri.unsafe(name):
            raise WrongValue(f"{name!r} cannot be the name of an entry: it {reason}")
        self._see(name)
        self._now.put(name, content)
        self._forget(name)

    def remove(self, name: str) -> None:
        """Remove an entry; `save` removes it from disk. Raises MissingEntry."""
        self._now.remove(name)
        self._forget(name)

    def edits(self) -> tuple["EntryEdit", ...]:
        """Unsaved changes by name: edited documents, and entries added, replaced and removed."""
        names = sorted(self._edited() | set(self._now.added) | self._now.removed)
        return tuple(EntryEdit(name, self._entries.has(name), self._now.has(name)) for name in names)

    def edited_files(self) -> dict[str, bytes | None]:
        """Content of all entries that differ from those on disk; None for a removed entry. Each document is serialized
        once.
        """
        written = {name: document.to_bytes() for name, document in self._documents.items()}
        self._edited({name: text != self._documents[name].source for name, text in written.items()})
        contents = {
            name: written[name] if name in written else self.read(name) for name in (*written, *self._now.added)
        }
        removed = dict.fromkeys(self._now.removed)
        return {name: content for name, content in {**contents, **removed}.items() if content != self.on_disk(name)}

    def on_disk(self, name: str) -> bytes | None:
        """The bytes of an entry without any edit; None if it does not exist."""
        return self._entries.read(name) if self._entries.has(name) else None

    def content(self, name: str) -> bytes:
        """The bytes of an entry with all edits, as `save` writes them; empty for a removed entry."""
        if not self.has(name):
            return b""
        document = self._documents.get(name)
        return self.read(name) if document is None else document.to_bytes()

    def document(self, name: str) -> Document:
        """The document of this name, always the same object. Raises as `read`, or InvalidDocument if it is not XML."""
        if name not in self._documents:
            self._documents[name] = Document(name, self.read(name), reading=self.reading)
        return self._documents[name]

    def adopt(self, document: Document | None) -> bool:
        """Use the document of another archive, so that equal bytes are not parsed again. Returns true on success.

        This fails if the bytes differ, or if the document of this name is already open in this archive. Raises as
        `read`.
        """
        if document is None or document.name in self._documents or self.read(document.name) != document.source:
            return False
        self._documents[document.name] = document
        return True

    def variants(self) -> tuple[Document, ...]:
        """All SSDs at the root, the default first; or the lone `.ssd`."""
        return tuple(self.document(name) for name in self._variant_names())

    def structure(self, variant: str | None = None) -> Document:
        """The SSD of the variant with this name (name of its system structure, or file name), or the default SSD.

        Raises
        ------
        UnknownName
            No SSD at the root has this name.
        InvalidDocument
            The file is not an SSD.
        """
        name = self.default if variant is None else self._find_variant(checked_text("variant", variant))
        document = self.document(name)
        document.root_as(ssd.SystemStructureDescription)
        return document

    def links_out(self) -> tuple[LinkOut, ...]:
        """Links of an unpacked system that point outside of its folder; they are not read."""
        return tuple(self._entries.links_out()) if isinstance(self._entries, FolderEntries) else ()

    def entry_of(self, path: Path) -> str | None:
        """Entry of a file on disk, existing or not; None for a zip, and for a file outside of the folder."""
        if not isinstance(self._entries, FolderEntries) or not absolute(path).is_relative_to(self._entries.base):
            return None
        return absolute(path).relative_to(self._entries.base).as_posix()

    def special_kind(self, name: str) -> str | None:
        """`a named pipe`, `a socket` or `a device` if an entry is one; None for files and in a zip."""
        return special_kind(self._on_disk(name)) if isinstance(self._entries, FolderEntries) else None

    def require_links_inside(self) -> None:
        """Reject edits of files that are linked from outside of the folder. Raises WrongUsage."""
        for link in self.links_out():
            if link.target.is_dir() or link.name.lower().endswith((*SYSTEM_ENDINGS, *LONE_SUFFIXES)):
                raise link_leads_out(self._on_disk(link.name), self.path)

    def resolve(self, document_name: str, reference: str) -> str:
        """Name of the entry, existing or not, that a URI in a document refers to; see `uri.resolve`.

        Raises
        ------
        UnresolvableUri
            The URI is not relative, or lies outside the package of the document.
        """
        if NESTING_MARK not in document_name:
            return self._allowed(reference, uri.resolve(document_name, reference, upwards=self._reaches_outside))
        place = self._all.place(document_name)
        return place.prefix + uri.resolve(place.name, reference)

    def _allowed(self, reference: str, name: str) -> str:
        if name.startswith(uri.UP):
            self._now.asked.add(name)
        if name.startswith(uri.UP) and self._now.surroundings.path(name) is None:
            raise UnresolvableUri(reference, "it lies outside the archive, where files are not read")
        return name

    def outside(self, document_name: str, reference: str) -> Path:
        """Path on disk of a URI that refers outside of the archive, whether or not reading is allowed."""
        name = uri.resolve(document_name, reference, upwards=True)
        return Path(os.path.normpath(self._now.surroundings.folder / name))

    def inside(self, name: str, reference: str) -> str:
        """The name of the entry of a URI relative to the root of a nested package or FMU (AMB-10).

        `name` is the name of the package, a file or an unpacked folder. Raises UnresolvableUri.
        """
        return name.rstrip("/") + (NESTING_MARK if self.has(name) else "/") + uri.resolve("", reference)

    def names_inside(self, name: str) -> tuple[str, ...]:
        """The entries of a nested package or FMU, packed or as a folder, with their names inside of it.

        Raises
        ------
        InvalidDocument
            It cannot be opened, or exceeds the limits.
        """
        if self.has(name):
            return self._all.place(name + NESTING_MARK).entries.names()
        folder = name.rstrip("/") + "/"
        return tuple(entry.removeprefix(folder) for entry in self.names() if entry.startswith(folder))

    def require_changeable(self) -> None:
        """Raise WrongValue for a structure generated from another format, which is never written in place."""
        if isinstance(self._entries, GeneratedEntries):
            made = self.path.stem + ".ssp"
            raise WrongValue(
                f"{self.path} is not an SSP file and cannot be changed; "
                f"make one with `ssptool convert {self.path} {made}`"
            )

    def save(self, path: Path | str | None = None, *, without: Container[str] = ()) -> None:
        """Write everything, edits included, to an `.ssp` or a folder (no suffix); or the lone `.ssd`.

        Entries `without` are left out of an `.ssp`.

        A file appears complete or not at all. Entries that were not edited keep their bytes and their order; equal
        archives give equal files. Without `path`, or onto itself, a folder or a lone `.ssd` gets the edits only, and
        gets all of them or none.

        Raises
        ------
        ChangedMeanwhile
            Another program has changed a file of the system since it was read.
        FileExistsError
            `path` is another folder that is not empty.
        WrongValue
            An archive cannot be saved as a lone `.ssd`, or the reverse; or a document of a nested package was edited.
        """
        target = Path(path) if path is not None else self._place
        if absolute(target) == self._place:
            self.require_changeable()
        self._edited()
        with self._exclusive(absolute(target)):
            if self.is_lone or target.suffix.lower() == ".ssd":
                self._save_lone(target)
            elif target.is_dir() or not target.suffix:
                self._save_folder(target)
            else:
                self._save_zip(target, without)

    @contextmanager
    def _exclusive(self, target: Path) -> Iterator[None]:
        """Lock the system while it is saved in place. Raises an error if another program has changed it."""
        if not _is_same(target, self._place):
            yield
            return
        unlock = self._unlock or locked(_locked_file(self._place))
        try:
            if self._is_new:
                _require_free(self._place)
            if changed := self.changed_meanwhile():
                raise ChangedMeanwhile(self.path, changed)
            yield
            self._is_new = False
            self._seen = {name: FileState.of(self._on_disk(name)) for name in self._seen}
        finally:
            if unlock is not self._unlock:
                unlock()

    def changed_meanwhile(self) -> tuple[str, ...]:
        """Files of the system that another program has changed since they were read."""
        return tuple(name for name, state in self._seen.items() if FileState.of(self._on_disk(name)) != state)

    def _see(self, name: str) -> None:
        """Store the state of an entry's file before it is read."""
        file = name.partition(NESTING_MARK)[0]
        if isinstance(self._entries, FolderEntries) and file not in self._seen and not name.startswith(uri.UP):
            self._seen[file] = FileState.of(self._on_disk(file))

    def _on_disk(self, name: str) -> Path:
        return (self._entries.base if isinstance(self._entries, FolderEntries) else self._place.parent) / name

    def _edited(self, changed: Mapping[str, bool] | None = None) -> set[str]:
        """Names of edited documents. Edits of nested packages raise an error, because they cannot be saved."""
        if changed is None:
            changed = {name: document.changed for name, document in self._documents.items()}
        edited = {name for name, differs in changed.items() if differs}
        if around := sorted(name for name in edited if name.startswith(uri.UP)):
            raise WrongValue(f"{around[0]} lies outside {self.path}: open that file to edit it")
        if inside := sorted(name for name in edited if not self._now.has(name)):
            raise WrongValue(f"{inside[0]} is part of a nested package: edit that package, then replace it here")
        return edited

    def _forget(self, name: str) -> None:
        """Discard cached data of a replaced or removed entry and of entries inside of it."""
        self._all.forget(name)
        for known in list(self._documents):
            if known == name or known.startswith(name + NESTING_MARK):
                del self._documents[known]

    @property
    def files_read(self) -> tuple[str, ...]:
        """Files of an unpacked system, by name, that were read."""
        return tuple(self._seen)

    @property
    def unpacked(self) -> bool:
        """True if its entries are files of a folder."""
        return isinstance(self._entries, FolderEntries)

    @property
    def is_lone(self) -> bool:
        """True for a single document, which may refer to files next to it."""
        return isinstance(self._entries, FolderEntries) and self._entries.lone is not None

    def _variant_names(self) -> list[str]:
        if self.is_lone or isinstance(self._entries, GeneratedEntries):
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
        raise unknown_variant(variant, [titles[name] or name for name in candidates])

    def _title(self, name: str) -> str:
        """The name of a system structure; empty if the file cannot be read."""
        try:
            return self.document(name).root.get("name", "")
        except InvalidDocument:
            return ""

    def _save_lone(self, target: Path) -> None:
        if not self.is_lone:
            raise WrongValue(f"{self.path} has more than one file and cannot be saved as {target.name}")
        if target.suffix.lower() != self._place.suffix.lower():
            raise WrongValue(
                f"{self.path} is a single file and may refer to others: open its folder to save all of them"
            )
        if _is_same(target, self._place):
            self._save_edits(target.parent)
            return
        with replaced_atomically(target) as file:
            file.write(self.content(self.default))

    def _save_folder(self, target: Path) -> None:
        if target.exists() and _is_same(target, self._place):
            self._save_edits(target)
            return
        settle(target)  # somebody may have been killed who wrote it
        if any(files for _, _, files in os.walk(target)):
            raise FileExistsError(f"{target} is not empty: choose another folder, or empty it first")
        with AtomicReplacement(target) as files:
            for name in self.names():
                files.write(target / name, self._stored(name))

    def _save_edits(self, folder: Path) -> None:
        # Structures come last, after the files that they refer to.
        edits = sorted(self.edits(), key=lambda edit: edit.name.lower().endswith(".ssd"))
        for edit in edits:
            if not (self.is_lone and edit.name == self.default):
                stay_inside(folder, edit.name)
        with AtomicReplacement(folder) as files:
            for edit in edits:
                if edit.exists:
                    files.write(folder / edit.name, self._stored(edit.name))
                else:
                    files.delete(folder / edit.name)

    def _stored(self, name: str) -> EntryContent:
        """The content of a file; large files are not read into memory."""
        return self.content(name) if name in self._documents else self._now.local_path(name)

    def _save_zip(self, target: Path, without: Container[str]) -> None:
        with replaced_atomically(target) as file, zipfile.ZipFile(file, "w", allowZip64=False) as packed:
            for name in (one for one in self.names() if one not in without):
                info = zipfile.ZipInfo(name, _EARLIEST)
                info.compress_type = zipfile.ZIP_DEFLATED
                if isinstance(self._entries, ZipEntries) and self._entries.has(name):
                    before = self._entries.info(name)
                    info.date_time, info.compress_type = before.date_time, before.compress_type
                info.create_system = 3  # Unix, on every platform, for the permissions and for equal files
                info.external_attr = 0o100644 << 16
                content = self._stored(name)
                if isinstance(content, bytes):
                    packed.writestr(info, content)
                    continue
                info.file_size = content.stat().st_size  # at 4 GiB, the entry is refused
                with open_bytes(content) as source, packed.open(info, "w") as entry:
                    shutil.copyfileobj(source, entry, 1 << 20)


def _systems_in(folder: Path) -> list[str]:
    """Names of the systems and FMUs in a folder; empty if it cannot be read."""
    try:
        return [
            one.name
            for one in folder.iterdir()
            if one.suffix.lower() in SYSTEM_ENDINGS or (one / "SystemStructure.ssd").exists()
        ]
    except OSError:
        return []


def _is_same(one: Path, other: Path) -> bool:
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _locked_file(place: Path) -> Path:
    """The file that editors of a system lock; the folder for a new system."""
    if not place.exists():
        return place.parent
    return place / DEFAULT_STRUCTURE if place.is_dir() else place


def _folders_of_edits(place: Path) -> Iterator[Path]:
    """Folders that edits of a system begin in: its own; for a document also that of the system around it."""
    if place.is_dir():
        yield place
        return
    yield place.parent
    if place.suffix.lower() in (".ssd", *LONE_SUFFIXES):
        around = (above for above in place.parent.parents if any(above.glob("*.ssd")))
        yield from islice(around, 1)


def _settle_all(folders: Iterable[Path]) -> bool:
    """Complete the edits of folders; whether there were any. Raises as `settle`."""
    return True in [settle(folder) for folder in folders]


@contextmanager
def _lock_to_keep(place: Path, exclusive: bool) -> Iterator[Callable[[], None] | None]:
    """Lock a system in a consistent state. If the block fails, the lock is released; otherwise the owner of the result
    releases it. Without `exclusive`, nothing is locked.
    """
    folders = [*_folders_of_edits(place)]
    _settle_all(folders)
    unlock = locked(_locked_file(place)) if exclusive else None
    while unlock is not None and _settle_all(folders):  # the previous owner was killed, and the file may be another
        unlock()
        unlock = locked(_locked_file(place))
    try:
        yield unlock
    except BaseException:
        if unlock is not None:
            unlock()
        raise


def _require_free(path: Path) -> None:
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(f"{path} exists: choose another name, or remove it first")


def _entries(path: Path, limits: ArchiveLimits, outside: Sequence[Path], inside: bool) -> Entries:
    """Open the entries of an existing path."""
    place = absolute(path)
    if is_osp(place):
        from ssptool.documents.osp import system_of_osp  # rarely needed

        return system_of_osp(place, outside)
    if place.is_dir():
        folder = FolderEntries(path, allowed=outside)
        if not is_fmu_folder(place):
            return folder
        if links := tuple(link.diagnostic() for link in folder.links_out()):
            raise InvalidDocument(*links)
        return system_of_fmu(place)
    if path.suffix.lower() == ".ssd":
        return FolderEntries(path.parent, lone=path.name, allowed=outside)
    packed = ZipEntries(path, limits)
    if not is_fmu(packed):
        return packed
    if inside and packed.has(EXPORTED_SYSTEM):
        return ExportedEntries(packed, limits)
    packed.close()
    return system_of_fmu(place)


def _no_default(archive: Archive) -> InvalidDocument:
    found = [name for name in archive.names() if name.lower().endswith(".ssd")]
    inside = next((name for name in found if name.endswith("/" + DEFAULT_STRUCTURE)), None)
    if inside:
        advice = f"there is {inside}: pack or open the contents of that folder"
    elif found:
        advice = f"rename the default variant to {DEFAULT_STRUCTURE}; found {', '.join(found[:5])}"
    else:
        advice = "choose an .ssp file, the folder of an unpacked one, an .ssd file or an FMU"
    message = f"{archive.path} has no {DEFAULT_STRUCTURE}"
    if kind := archive.special_kind(DEFAULT_STRUCTURE):
        message, advice = f"{DEFAULT_STRUCTURE} is {kind}, not a file", "put a file in its place"
    return InvalidDocument(error("PKG-009", Position(archive.path.name), message, advice))
