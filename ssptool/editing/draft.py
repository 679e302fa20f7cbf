"""A system structure being edited: its archive, packages inside it, and the edits so far.

Files that edits add are copied to `resources`; new structures and parameter sets start from an empty document.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from math import inf
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import quote

from ssptool.documents import ssd
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import read_bytes, require_file
from ssptool.documents.storage import NESTING_MARK, MissingEntry
from ssptool.documents.vocabulary import FMU, NSMAP, number_text
from ssptool.documents.xml_text import quoted
from ssptool.editing.changes import EditError, FileEdit
from ssptool.editing.versions import upgrade_document
from ssptool.fmu.description import FmuDescription, UnreadableFmu
from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION
from ssptool.fmu.read_description import read_description
from ssptool.network.tree import fmu_path
from ssptool.option_words import Types
from ssptool.tempfiles import TemporaryFolder


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An element in its structure: `path` are the names from the root to the element, `around` the enclosing systems,
    outermost first.

    Both are empty for the root system.
    """

    path: tuple[str, ...]
    element: ssd.SystemElement
    around: tuple[ssd.System, ...] = ()

    def __str__(self) -> str:
        return ".".join(self.path) or "the system"

    @property
    def system(self) -> ssd.System:
        """The system that contains the element; raises an error for the root system."""
        if not self.around:
            raise EditError("the root system is not inside another system: name an element of it")
        return self.around[-1]


@dataclass(frozen=True, slots=True, eq=False)
class ConnectorPlace:
    """A connector and its element."""

    owner: Place
    connector: ssd.Connector

    def __str__(self) -> str:
        return ".".join((*self.owner.path, self.connector.name))

    def seen_from(self, system: ssd.System) -> ssd.ConnectorRef:
        """Address in the connections of a system: the owner itself, or the system that contains the owner."""
        return ssd.ConnectorRef("" if self.owner.element is system else self.owner.path[-1], self.connector.name)


@dataclass(slots=True, eq=False)
class Packages:
    """Opened packages in one archive, whose `name` ends with a `!` if it is itself inside of another one."""

    name: str = ""
    _opened: dict[str, tuple[Archive, "Packages"]] = field(default_factory=dict)

    def open(self, around: Archive, entry: str) -> tuple[Archive, "Packages"]:
        """Open a package for editing (always the same object), with its own nested packages. Raises as
        `Archive.open`.
        """
        if entry not in self._opened:
            archive = Archive.open(around.local_path(entry))
            self._opened[entry] = archive, Packages(f"{self.name}{entry}{NESTING_MARK}")
        return self._opened[entry]

    @property
    def any_open(self) -> bool:
        """True if documents other than those of the archive itself are open."""
        return bool(self._opened)

    def put_back(self, around: Archive) -> None:
        """Put edited packages into the archives around them, the innermost first; not yet written to disk.

        Unedited entries of a package keep their bytes and their order.
        """
        for entry, (archive, inner) in self._opened.items():
            inner.put_back(archive)
            if archive.edits() and around.has(entry):
                around.put(entry, _packed(archive))

    def edits(self, around: Archive) -> Iterator[FileEdit]:
        """Changed files, including those in opened packages."""
        for edit in around.edits():
            if edit.name in self._opened and edit.exists:
                archive, inner = self._opened[edit.name]
                yield from inner.edits(archive)
                continue
            before = around.on_disk(edit.name)
            yield FileEdit(self.name + edit.name, before, around.content(edit.name) if edit.exists else None)

    def close(self) -> None:
        for archive, inner in self._opened.values():
            inner.close()
            archive.close()
        self._opened.clear()


def _packed(archive: Archive) -> bytes:
    with TemporaryFolder() as folder:
        path = Path(folder, "package.ssp")
        archive.save(path)
        return path.read_bytes()


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """A component that refers to another structure, and the draft of the structure that contains the component."""

    draft: "Draft"
    place: Place


@dataclass(slots=True, eq=False)
class Draft:
    """State of an edit, changed by all verbs; `notes` lists their changes.

    For a nested structure, `host` is its component, `archive` the package that contains it, and `base` the folder of
    the package in the unpacked archive.
    """

    archive: Archive
    document: Document
    notes: list[str] = field(default_factory=list)
    packages: Packages = field(default_factory=Packages, repr=False)
    host: "Host | None" = None
    base: str = ""
    _fmus: dict[tuple[str, int], FmuDescription] = field(default_factory=dict, repr=False)

    @property
    def path(self) -> tuple[str, ...]:
        """Names from the outermost system to this structure; empty for the outermost one."""
        return () if self.host is None else (*self.host.draft.path, *self.host.place.path)

    @property
    def outermost(self) -> "Draft":
        return self if self.host is None else self.host.draft.outermost

    @property
    def where(self) -> str:
        """Name of the document in the outermost archive: `resources/sub.ssp!SystemStructure.ssd`."""
        return self.packages.name + self.document.name

    def outwards(self) -> Iterator[tuple["Draft", tuple[str, ...]]]:
        """This structure and the enclosing ones, each with the path from there to this structure."""
        draft, path = self, tuple[str, ...]()
        yield draft, path
        while draft.host is not None:
            path = (*draft.host.place.path, *path)
            draft = draft.host.draft
            yield draft, path

    @property
    def root(self) -> ssd.SystemStructureDescription:
        return self.document.structure

    @property
    def system(self) -> ssd.System:
        return self.root.system

    @property
    def version(self) -> str:
        return self.document.version

    def require_ssp_2(self, reason: str) -> None:
        """Convert the document to SSP 2.0 if necessary, because of a feature that SSP 1.0 does not have."""
        if self.version == "2.0":
            return
        upgrade_document(self.document, Types.KEEP)
        self.note(f"converted {self.document.name} to SSP 2.0: {reason}, which SSP 1.0 does not have")

    def note(self, text: str) -> None:
        self.notes.append(text if self.host is None else f"in {self.where}: {text}")

    def entry(self, source: str | None) -> str | None:
        """The entry that a reference in the SSD points to; None if it does not exist."""
        if not source or source.startswith("#"):
            return None
        try:
            name = self.archive.resolve(self.document.name, source)
        except UnresolvableUri:
            return None
        return name if self.archive.has(name) else None

    def fmu(self, element: ssd.SystemElement) -> FmuDescription | None:
        """The model description of a component; None if it is not an FMU, or cannot be read."""
        if not isinstance(element, ssd.Component) or element.media_type != FMU or not element.source:
            return None
        try:
            entry = self.archive.resolve(self.document.name, element.source)
            path = fmu_path(self.archive, entry)
            key = entry, path.stat().st_mtime_ns
            if key not in self._fmus:
                self._fmus[key] = read_description(path)
            return self._fmus[key]
        except (UnresolvableUri, MissingEntry, InvalidDocument, UnreadableFmu, OSError):
            return None

    def reference(self, entry: str) -> str:
        """Relative URI in the SSD for an entry."""
        folder = posixpath.dirname(self.document.name)
        return quote(posixpath.relpath(entry, folder) if folder else entry, safe="/()!$&'*+,;=@~")

    def users(self, entry: str) -> list[str]:
        """SSDs of the archive that refer to an entry, including this one."""
        found = []
        for name in self.archive.names():
            if not name.lower().endswith(".ssd"):
                continue
            try:
                document = self.archive.document(name)
            except InvalidDocument:
                continue
            if any(self._leads_to(name, source, entry) for source in _sources(document)):
                found.append(name)
        return found

    def other_users(self, entry: str) -> list[str]:
        """SSDs of the archive that refer to an entry, except this one and the entry itself."""
        return [name for name in self.users(entry) if self.document.name not in (name, entry)]

    def release(self, entry: str | None, delete: bool = False) -> None:
        """Note that an entry is no longer used, or delete it; does nothing if it is still used."""
        if entry is None or self.users(entry):
            return
        if delete:
            self.archive.remove(entry)
            self.note(f"removed {entry}")
        else:
            self.note(f"nothing refers to {entry} any more")

    def _leads_to(self, base: str, source: str, entry: str) -> bool:
        try:
            return self.archive.resolve(base, source) == entry
        except UnresolvableUri:
            return False


def _sources(document: Document) -> list[str]:
    # References in annotations count as well, because their tools may need the files.
    return [source for node in document.root.iter("*") if (source := node.get("source")) and node.get("target") is None]


RESOURCES = "resources"


def stored(draft: Draft, name: str) -> str:
    """Entry with this name in the package of the structure (default folder: `resources`).

    Raises
    ------
    FileNotFoundError
        Neither a file nor an entry with this name exists.
    EditError
        It is a folder.
    """
    for entry in (draft.base + name, f"{draft.base}{RESOURCES}/{name}"):
        if draft.archive.has(entry):
            return entry
    package = draft.packages.name.rstrip("!") or draft.archive.path
    require_file(name)
    if Path(name).is_dir():
        raise EditError(f"{name} is a folder: {_instead_of_folder(Path(name))}")
    raise FileNotFoundError(f"{name} does not exist, neither as a file nor in {package}")


def _instead_of_folder(folder: Path) -> str:
    """Advice for adding the content of a folder."""
    if (folder / DEFAULT_STRUCTURE).is_file():
        return f"make a package of it with `ssptool pack {folder}`, and add {folder.name}.ssp"
    if (folder / MODEL_DESCRIPTION).is_file():
        return f"pack the unpacked FMU as a zip file {folder.name}.fmu, and add that"
    if any(folder.glob("*.fmu")):
        return f"name the FMUs in it: {folder}/*.fmu"
    return "name a file in it (.fmu, .ssp, .ssd or .csv)"


def store(draft: Draft, path: Path) -> str:
    """Copy a file to `resources`; returns its entry, which may be an existing one with the same bytes."""
    return _inside(draft, path) or _put(draft, path, path)


def store_copy(draft: Draft, entry: str) -> str:
    """The entry itself; an entry inside of an FMU or package, which documents cannot refer to, is copied to
    `resources`.
    """
    if entry in draft.archive.names() or NESTING_MARK not in entry:
        return entry
    return _put(draft, PurePosixPath(entry.rpartition(NESTING_MARK)[2]), draft.archive.local_path(entry))


def copied(draft: Draft, entry: str) -> str:
    """Copy of an entry next to it, including edits, with the first free name: `k.ssv` becomes `k_2.ssv`."""
    copy = next(name for name in _numbered(PurePosixPath(entry)) if not draft.archive.has(name))
    draft.archive.put(copy, draft.archive.content(entry))
    return copy


def _put(draft: Draft, named: PurePath, file: Path) -> str:
    return store_content(draft, named.name, read_bytes(file), file)


def store_content(draft: Draft, name: str, content: bytes, file: Path | None = None) -> str:
    """Entry in `resources` with this content: an existing one, or a new one with this or the next free name; `file` has
    the same content.
    """
    place, archive = PurePosixPath(f"{draft.base}{RESOURCES}", name), draft.archive
    names = chain([str(place)], _numbered(place))
    entry = next(one for one in names if not archive.has(one) or archive.read(one) == content)
    if not archive.has(entry):
        archive.put(entry, content if file is None else file)
    return entry


def _numbered(entry: PurePosixPath) -> Iterator[str]:
    """Names for other files next to one: `k_2.ssv`, `k_3.ssv`, ..."""
    return (str(entry.with_name(f"{entry.stem}_{number}{entry.suffix}")) for number in count(2))


def _inside(draft: Draft, path: Path) -> str | None:
    """Entry of a file on disk, if the archive is a folder that contains the file."""
    base = draft.archive.path
    folder = base if base.is_dir() else base.parent if base.suffix.lower() == ".ssd" else None
    if folder is None or not path.resolve().is_relative_to(folder.resolve()):
        return None
    entry = path.resolve().relative_to(folder.resolve()).as_posix()
    return entry if draft.archive.has(entry) and entry.startswith(f"{draft.base}{RESOURCES}/") else None


VERSIONS = ("1.0", "2.0")


def empty_structure(name: str, version: str, start_time: float | None, stop_time: float | None) -> bytes:
    """An SSD with an empty root system, and a default experiment [s] if one is given.

    Raises
    ------
    EditError
        The version of SSP does not exist, the name is empty, or the experiment does not end after its start.
    """
    if version not in VERSIONS:
        raise EditError(f"there is no SSP {version}; there are {' and '.join(VERSIONS)}")
    if not name:
        raise EditError("a system needs a name")
    start = 0.0 if start_time is None else start_time
    if stop_time is not None and not start < stop_time < inf:
        raise EditError(f"the stop time {stop_time:g} has to be a number greater than the start time {start:g}")
    times = {"startTime": start_time if stop_time is None else start, "stopTime": stop_time}
    stated = "".join(f' {key}="{number_text(time)}"' for key, time in times.items() if time is not None)
    experiment = f"  <ssd:DefaultExperiment{stated}/>\n" if stated else ""
    content = f"  <ssd:System name={quoted(name)}/>\n{experiment}"
    return _document("ssd:SystemStructureDescription", name, version, content)


def empty_parameter_set(name: str, version: str) -> bytes:
    """An SSV without parameters."""
    return _document("ssv:ParameterSet", name, version, "  <ssv:Parameters/>\n")


def _document(tag: str, name: str, version: str, content: str) -> bytes:
    prefix = tag.partition(":")[0]
    lines = [f'    xmlns:{each}="{NSMAP[each]}"' for each in (prefix, "ssc")]
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<{tag}",
            *lines,
            f'    version="{version}" name={quoted(name)}>',
            f"{content}</{tag}>",
            "",
        )
    ).encode()
