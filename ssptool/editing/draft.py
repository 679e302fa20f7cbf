"""A system structure being edited: its archive, packages inside it, and the edits so far.

Files that edits bring along go into `resources`; new structures and parameter sets start from an empty document."""

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
from ssptool.editing.versions import Types, upgrade_document
from ssptool.fmu.description import FmuDescription, UnreadableFmu
from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION
from ssptool.fmu.read_description import read_description
from ssptool.network.tree import fmu_path
from ssptool.tempfiles import TemporaryFolder


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An element where it stands: `path` are the names down to it, `around` the systems, outermost first.

    Of the root system both are empty.
    """

    path: tuple[str, ...]
    element: ssd.SystemElement
    around: tuple[ssd.System, ...] = ()

    def __str__(self) -> str:
        return ".".join(self.path) or "the system"

    @property
    def system(self) -> ssd.System:
        """The system directly around it; of the root system an error."""
        if not self.around:
            raise EditError("the root system is not inside another system: name an element of it")
        return self.around[-1]


@dataclass(frozen=True, slots=True, eq=False)
class ConnectorPlace:
    """A connector and the element that has it."""

    owner: Place
    connector: ssd.Connector

    def __str__(self) -> str:
        return ".".join((*self.owner.path, self.connector.name))

    def seen_from(self, system: ssd.System) -> ssd.ConnectorRef:
        """Address in the connections of a system: that of its owner itself, or the one around that."""
        return ssd.ConnectorRef("" if self.owner.element is system else self.owner.path[-1], self.connector.name)


@dataclass(slots=True, eq=False)
class Packages:
    """The packages that were opened inside one archive, whose `name` ends with a `!` if it is inside another one."""

    name: str = ""
    _opened: dict[str, tuple[Archive, "Packages"]] = field(default_factory=dict)

    def open(self, around: Archive, entry: str) -> tuple[Archive, "Packages"]:
        """A package to edit, always the same one, with those inside it. Raises as `Archive.open`."""
        if entry not in self._opened:
            archive = Archive.open(around.local_path(entry))
            self._opened[entry] = archive, Packages(f"{self.name}{entry}{NESTING_MARK}")
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
        """Changed files, with those inside opened packages."""
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
    """A component that is made of another structure, and the draft of the structure in which it stands."""

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
        """The names from the outermost system down to this structure; of that one itself they are none."""
        return () if self.host is None else (*self.host.draft.path, *self.host.place.path)

    @property
    def outermost(self) -> "Draft":
        return self if self.host is None else self.host.draft.outermost

    @property
    def where(self) -> str:
        """The name of the document as the outermost archive has it: `resources/sub.ssp!SystemStructure.ssd`."""
        return self.packages.name + self.document.name

    def outwards(self) -> Iterator[tuple["Draft", tuple[str, ...]]]:
        """This structure and those around it, each with the path of this one as seen from there."""
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
        """Make the document one of SSP 2.0, if it is not, because of something that SSP 1.0 does not have."""
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
        """The relative URI by which the SSD refers to an entry."""
        folder = posixpath.dirname(self.document.name)
        return quote(posixpath.relpath(entry, folder) if folder else entry, safe="/()!$&'*+,;=@~")

    def users(self, entry: str) -> list[str]:
        """The SSDs of the archive that refer to an entry, this one included."""
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
        """The SSDs of the archive that refer to an entry, besides this one and the entry itself."""
        return [name for name in self.users(entry) if self.document.name not in (name, entry)]

    def release(self, entry: str | None, delete: bool = False) -> None:
        """Say that nothing refers to an entry any more, if so; or take it out of the archive."""
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
    # Also in annotations, whose tools may need the files: nothing that is referred to is taken away.
    return [source for node in document.root.iter("*") if (source := node.get("source")) and node.get("target") is None]


RESOURCES = "resources"


def stored(draft: Draft, name: str) -> str:
    """The entry of this name in the package of the structure, in `resources` if it says no folder.

    Raises
    ------
    FileNotFoundError
        There is neither such a file nor such an entry.
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
    """Put a file into `resources`; the entry it has there, which is an existing one if that has the same bytes."""
    return _inside(draft, path) or _put(draft, path, path)


def store_copy(draft: Draft, entry: str) -> str:
    """The entry itself; one in an FMU or package inside, to which no document can refer, is copied into `resources`."""
    if entry in draft.archive.names() or NESTING_MARK not in entry:
        return entry
    return _put(draft, PurePosixPath(entry.rpartition(NESTING_MARK)[2]), draft.archive.local_path(entry))


def copied(draft: Draft, entry: str) -> str:
    """A copy of an entry beside it, with its edits, under the first free name: `k.ssv` becomes `k_2.ssv`."""
    copy = next(name for name in _numbered(PurePosixPath(entry)) if not draft.archive.has(name))
    draft.archive.put(copy, draft.archive.content(entry))
    return copy


def _put(draft: Draft, named: PurePath, file: Path) -> str:
    place, archive = PurePosixPath(f"{draft.base}{RESOURCES}", named.name), draft.archive
    names = chain([str(place)], _numbered(place))
    entry = next(name for name in names if not archive.has(name) or archive.read(name) == read_bytes(file))
    if not archive.has(entry):
        archive.put(entry, file)
    return entry


def _numbered(entry: PurePosixPath) -> Iterator[str]:
    """Names for other files beside one: `k_2.ssv`, `k_3.ssv`, ..."""
    return (str(entry.with_name(f"{entry.stem}_{number}{entry.suffix}")) for number in count(2))


def _inside(draft: Draft, path: Path) -> str | None:
    """The entry that a file on disk is, if the archive is a folder and the file is in it."""
    base = draft.archive.path
    folder = base if base.is_dir() else base.parent if base.suffix.lower() == ".ssd" else None
    if folder is None or not path.resolve().is_relative_to(folder.resolve()):
        return None
    entry = path.resolve().relative_to(folder.resolve()).as_posix()
    return entry if draft.archive.has(entry) and entry.startswith(f"{draft.base}{RESOURCES}/") else None


VERSIONS = ("1.0", "2.0")


def empty_structure(name: str, version: str, start_time: float | None, stop_time: float | None) -> bytes:
    """An SSD with a root system that has nothing in it, and a default experiment [s] if one is given.

    Raises
    ------
    EditError
        There is no such version of SSP, the name is empty, or the experiment does not end after its start.
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
