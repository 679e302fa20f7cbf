"""A system structure on the drawing board: the archive, the SSD to edit, and what has been done so far."""

from dataclasses import dataclass, field
from urllib.parse import quote

from ssptool.documents import ssd
from ssptool.documents.archive import Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.entries import MissingEntry
from ssptool.fmu.description import FmuDescription, UnreadableFmu, read_description

FMU_TYPE = "application/x-fmu-sharedlibrary"


@dataclass(slots=True, eq=False)
class Draft:
    """What every verb works on; `notes` says in words what the verbs did."""

    archive: Archive
    document: Document
    notes: list[str] = field(default_factory=list)
    _fmus: dict[tuple[str, int], FmuDescription] = field(default_factory=dict, repr=False)

    @property
    def root(self) -> ssd.SystemStructureDescription:
        return self.document.structure

    @property
    def system(self) -> ssd.System:
        return self.root.system

    @property
    def version(self) -> str:
        return self.document.version

    def note(self, text: str) -> None:
        self.notes.append(text)

    def entry(self, source: str | None) -> str | None:
        """The entry that a reference in the SSD leads to; None if it leads to none that is there."""
        if not source or source.startswith("#"):
            return None
        try:
            name = self.archive.resolve(self.document.name, source)
        except UnresolvableUri:
            return None
        return name if self.archive.has(name) else None

    def fmu(self, element: ssd.SystemElement) -> FmuDescription | None:
        """The model description of a component; None if it is no FMU, or cannot be read."""
        if not isinstance(element, ssd.Component) or element.type.partition(";")[0].strip().lower() != FMU_TYPE:
            return None
        entry = self.entry(element.source)
        if entry is None:
            return None
        try:
            path = self.archive.local_path(entry)
            key = entry, path.stat().st_mtime_ns
            if key not in self._fmus:
                self._fmus[key] = read_description(path)
            return self._fmus[key]
        except (MissingEntry, InvalidDocument, UnreadableFmu, OSError):
            return None

    def reference(self, entry: str) -> str:
        """The relative URI by which the SSD, which stands at the root of the archive, refers to an entry."""
        return quote(entry, safe="/()!$&'*+,;=@~")

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

    def _leads_to(self, base: str, source: str, entry: str) -> bool:
        try:
            return self.archive.resolve(base, source) == entry
        except UnresolvableUri:
            return False


def _sources(document: Document) -> list[str]:
    return [source for node in document.root.iter("*") if (source := node.get("source")) and node.get("target") is None]
