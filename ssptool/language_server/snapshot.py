"""A system at one moment, with the unsaved texts of an editor: its documents, names, networks and text positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from lsprotocol import types
from lxml import etree
from pygls.workspace import PositionCodec

from ssptool.api.check import switches_of
from ssptool.documents import ssd
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.storage import MissingEntry
from ssptool.fmu.description import FmuDescription
from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION
from ssptool.language_server.names import Mention, Named, Names, definitions_of, mentions_at, names_of
from ssptool.language_server.places import Places
from ssptool.language_server.systems import Buffers, open_system
from ssptool.network.flatten import build_network
from ssptool.network.network import Network
from ssptool.rules.kept import Kept
from ssptool.rules.load import load
from ssptool.rules.subjects import Package, Structure
from ssptool.tempfiles import TemporaryFolder

_MARK = b"\xef\xbb\xbf"


class Spot(NamedTuple):
    """Content at a position of a text: an element, or the value of its `attribute`, with the range in the text."""

    document: Document
    element: Element
    attribute: str
    start: int
    end: int

    @property
    def value(self) -> str:
        return self.element.get(self.attribute, "")


@dataclass(slots=True, eq=False)
class ShownDescriptions:
    """Model descriptions of packed FMUs, unpacked as files that an editor can open while the server runs."""

    _folder: TemporaryFolder = field(default_factory=TemporaryFolder)

    def path(self, entry: str, content: bytes) -> Path:
        file = Path(self._folder.name, *entry.replace("..", "up").split("/"), MODEL_DESCRIPTION)
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return file

    def close(self) -> None:
        self._folder.cleanup()


class SystemSnapshot:
    """An open system, which must be closed. `codec` counts columns as the client does; `kept` is data of earlier
    snapshots.
    """

    def __init__(self, system: Path, buffers: Buffers, codec: PositionCodec, kept: Kept | None = None) -> None:
        self._kept = kept or Kept()
        self.folder = system if system.is_dir() else system.parent
        self._codec = codec
        self._places: dict[Document, Places] = {}
        self._marks: dict[Document, int] = {}
        self._networks: dict[str, Network | None] = {}
        self.archive: Archive = open_system(system, buffers, switches_of(system))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.archive.close()

    @cached_property
    def package(self) -> Package:
        package = load(self.archive, kept=self._kept)
        self._kept.finish(package)
        return package

    @cached_property
    def names(self) -> Names:
        return names_of(self.package)

    def mentions(self, spot: Spot) -> list[Mention]:
        """The things that are named at a position."""
        return mentions_at(self.package, spot.element, spot.attribute)

    def definitions(self, named: Named) -> list[Mention]:
        """The places where a thing gets its name."""
        found = definitions_of(self.package, named)
        return [one for one in self.names.of.get(named, ()) if one.defines] if found is None else found

    def places(self, document: Document) -> Places:
        if document not in self._places:
            self._places[document] = Places(document.source.decode("utf-8-sig"), self._codec)
        return self._places[document]

    def path(self, name: str) -> Path:
        return Path(self.folder, name)

    def document(self, path: Path) -> Document | None:
        """The document of a file, if it is well-formed."""
        entry = self.archive.entry_of(path)
        try:
            return None if entry is None else self.archive.document(entry)
        except (InvalidDocument, MissingEntry):
            return None

    def spot(self, document: Document, offset: int) -> Spot | None:
        """The element or attribute at a position in the text of a document."""
        text = document.text
        at = self._to_bytes(document, offset)
        node = text.node_at(at)
        if not isinstance(node, Element):
            return None
        start, end = text.start_tag(node)
        for name, first, last in text.attribute_values(node) if at < end else ():
            if first <= at <= last:
                return Spot(document, node, name, *self._to_text(document, first, last))
        return Spot(document, node, "", *self._to_text(document, start, end))

    def extent(self, document: Document, element: etree._Element, attribute: str = "") -> tuple[int, int]:
        """The range of the value of an attribute, or of a start tag, in the text."""
        for name, start, end in document.text.attribute_values(element) if attribute else ():
            if name == attribute:
                return self._to_text(document, start, end)
        return self._to_text(document, *document.text.start_tag(element))

    def whole(self, document: Document, element: etree._Element) -> tuple[int, int]:
        """The range of an element in the text, with its content."""
        return self._to_text(document, *document.text.extent(element))

    def lines_and_columns(self, document: Document, offsets: Sequence[int]) -> tuple[list[int], list[int]]:
        """The lines and columns of many offsets in the bytes of a document."""
        mark = self._mark(document)
        return self.places(document).lines_and_columns([one - mark for one in offsets] if mark else offsets)

    def start_of_line(self, document: Document, line: int) -> int:
        """The offset of a line, counted from 0, in the bytes of a document; the end if there is no such line."""
        return self._to_bytes(document, self.places(document).offset(types.Position(line, 0)))

    def _to_bytes(self, document: Document, offset: int) -> int:
        return self._mark(document) + self.places(document).in_bytes(offset)

    def _to_text(self, document: Document, start: int, end: int) -> tuple[int, int]:
        places, mark = self.places(document), self._mark(document)
        return places.of_bytes(start - mark), places.of_bytes(end - mark)

    def _mark(self, document: Document) -> int:
        """The number of bytes of a byte order mark."""
        if document not in self._marks:
            self._marks[document] = len(_MARK) if document.source.startswith(_MARK) else 0
        return self._marks[document]

    def structure_of(self, document: Document) -> Structure | None:
        """The structure in a document, or the first structure that refers to the document."""
        for structure in self.package.structures:
            if structure.file.name == document.name:
                return structure
        return next((one for one in self.package.structures if document.name in one.files), None)

    def network(self, structure: Structure) -> Network | None:
        """The flat network of a structure; None if it cannot be flattened."""
        name = structure.file.name
        if name not in self._networks:
            try:
                document = structure.file.document
                whole = document is not None and isinstance(document.root, ssd.SystemStructureDescription)
                self._networks[name] = build_network(self.archive, document) if whole and document else None
            except InvalidDocument:
                self._networks[name] = None
        return self._networks[name]

    def fmu(self, entry: str) -> FmuDescription | None:
        """The model description of an FMU that a structure uses."""
        found = (structure.fmus.get(entry) for structure in self.package.structures)
        return next((fmu for fmu in found if isinstance(fmu, FmuDescription)), None)

    def description_file(self, entry: str, shown: ShownDescriptions) -> Path | None:
        """The modelDescription.xml of an FMU, as a file that an editor can open."""
        name = self.archive.inside(entry, MODEL_DESCRIPTION)
        try:
            content = self.archive.read(name)
        except (MissingEntry, InvalidDocument, LookupError):
            return None
        on_disk = self.path(name)
        return on_disk if on_disk.is_file() else shown.path(entry, content)


def signal_name(element: Element, connector: str = "") -> str:
    """The full name of a connector or of an element, relative to the root system of its document."""
    systems = [one for one in element.iterancestors() if isinstance(one, ssd.System)]
    path = [one.name for one in reversed(systems[:-1])]
    own = [element.get("name", "")] if systems else []
    return ".".join(filter(None, (*path, *own, connector)))


def signals_of_parameter(network: Network, document: Document, parameter: Element) -> Iterator[str]:
    """The full names of the variables that take their values from a parameter of a parameter set."""
    here = Position(document.name, document.line_of(parameter))
    name = parameter.get("name", "")
    for signal, assignment in (*network.assignments.items(), *network.boundary_assignments.items()):
        steps = (step for step in assignment.chain if step.position[:2] == here[:2])
        if any(step.name == name or name in step.name for step in steps):
            yield str(signal)
