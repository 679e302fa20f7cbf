"""One document: its bytes, its element tree, positions of elements, and the bytes of the edited tree.

Also repairs of documents that XML readers reject: other encodings, undeclared namespace prefixes.
"""

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import TypeVar, cast
from xml.parsers import expat

from lxml import etree

from ssptool.documents import ssb, ssd, ssm, ssv
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, LaterAddress, Position, error
from ssptool.documents.element import PARSER, Element, step
from ssptool.documents.frozen import FrozenNode, frozen_root
from ssptool.documents.malformed import fault_of
from ssptool.documents.schema import VERSIONS, load_schema, valid_by_one_schema
from ssptool.documents.vocabulary import NSMAP
from ssptool.documents.xml_text import SourceText, lines_of_nodes
from ssptool.many_values import made

MANY_VALUES = 100_000
"""Number of objects above which a garbage collection takes noticeable time."""


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause garbage collection, which takes a fifth of the time of a large network and finds nothing.

    If many objects were made, they count as old afterwards, so the next collection does not examine all of them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > MANY_VALUES and gc.get_freeze_count() == 0:  # nothing else uses `gc.freeze`
                gc.freeze()
                gc.unfreeze()
            gc.enable()


R = TypeVar("R", bound=Element)

_BOM = b"\xef\xbb\xbf"
_WIDE_ENCODINGS = (b"\xff\xfe", b"\xfe\xff", b"\x00<", b"<\x00")
_DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")


class Format(StrEnum):
    """The kinds of documents, by the usual ending of their file names."""

    SSD = "ssd"
    SSV = "ssv"
    SSM = "ssm"
    SSB = "ssb"


ROOTS: dict[type[Element], Format] = {
    ssd.SystemStructureDescription: Format.SSD,
    ssv.ParameterSet: Format.SSV,
    ssm.ParameterMapping: Format.SSM,
    ssb.SignalDictionary: Format.SSB,
}


class Document:
    """An XML file of an archive: `name` is its path there, `source` its bytes as read, `root` its editable tree.

    `lines` are line numbers of the elements, in document order, if they come from another file. `reading`: the document
    will not be edited. If it is valid against the schema of its version, its tree is `frozen`.

    Raises
    ------
    InvalidDocument
        The bytes are not UTF-8 (XML-002), contain a DTD (XML-011), or are not well-formed (XML-001).
    """

    def __init__(self, name: str, source: bytes, lines: Sequence[int] | None = None, *, reading: bool = False) -> None:
        self.name = name
        self.source = source
        _require_utf8(name, source)
        version = _version_without_dtd(name, source)
        with garbage_collection_paused():
            frozen = _frozen(name, source, version) if reading and lines is None else None
            self.root = frozen or _parse(name, source)
            self._source = None if frozen else SourceText(source, self.root, lines)

    def __repr__(self) -> str:
        return f"<Document {self.name}>"

    @property
    def frozen(self) -> bool:
        """True if the document cannot be edited; it is then known to be valid against its schema."""
        return self._source is None

    @cached_property
    def format(self) -> Format | None:
        """Format of the document, from its root element; None if that is not the root of an SSP document."""
        return ROOTS.get(self.root.element_class)

    @property
    def version(self) -> str:
        """`version` of the root, unchecked; empty if there is none."""
        return self.root.get("version", "")

    def root_as(self, kind: type[R]) -> R:
        """The root, checked to be of this kind.

        Raises
        ------
        InvalidDocument
            The root is of another kind (XML-003).
        """
        if not isinstance(self.root, kind):
            position = Position(self.name, self.line_of(self.root), "/")
            raise InvalidDocument(
                error(
                    "XML-003",
                    position,
                    f"the root element is {self.root.tag}, not {kind.qualified_name}",
                    "check the namespace and that the file is of the kind that the reference to it says",
                )
            )
        return self.root

    @property
    def structure(self) -> ssd.SystemStructureDescription:
        """The root of an SSD; see `root_as`."""
        return self.root_as(ssd.SystemStructureDescription)

    @property
    def changed(self) -> bool:
        """True if the tree was edited."""
        return self.to_bytes() != self.source

    def to_bytes(self) -> bytes:
        """The edited document; unchanged parts keep the bytes of `source`."""
        return self.source if self._source is None else self._source.to_bytes()

    def release(self) -> None:
        """Free the memory of a frozen tree, which must not be used afterwards."""
        either: object = self.root
        if isinstance(either, FrozenNode):
            either.dissolve()

    @property
    def text(self) -> SourceText:
        """The bytes as read, with the offsets of all nodes and attributes."""
        if self._source is None:
            raise TypeError(f"{self.name} was opened to be read, without the places of its elements in the bytes")
        return self._source

    def line_of(self, element: etree._Element) -> int:
        """The line on which the start tag of an element begins, from 1; 0 if it was added since reading."""
        return cast(Element, element).line if self._source is None else self._source.line_of(element)


def _line_at(source: bytes, offset: int) -> int:
    return source.count(b"\n", 0, offset) + 1


def _require_utf8(name: str, source: bytes) -> None:
    advice = "save the file as UTF-8, and declare no other encoding"
    if source.startswith(_WIDE_ENCODINGS):
        raise InvalidDocument(error("XML-002", Position(name, 1), "the file is UTF-16, not UTF-8", advice))
    declared = _DECLARED_ENCODING.match(source.removeprefix(_BOM))
    if declared and declared[1].upper() != b"UTF-8":
        encoding = declared[1].decode("ascii", "replace")
        message = f"the declared encoding is {encoding}, not UTF-8"
        raise InvalidDocument(error("XML-002", Position(name, 1), message, advice))
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as problem:
        position = Position(name, _line_at(source, problem.start))
        message = f"the byte 0x{source[problem.start]:02X} is not valid UTF-8 here"
        raise InvalidDocument(error("XML-002", position, message, advice)) from None


class _RootReached(Exception):
    """Signal that the root element starts, after which no document type declaration can follow."""

    def __init__(self, version: str) -> None:
        self.version = version


def _version_without_dtd(name: str, source: bytes) -> str:
    """The version in the root, after documents with a document type declaration were rejected before any entity is
    expanded.
    """

    def refuse(*_: object) -> None:
        raise InvalidDocument(
            error(
                "XML-011",
                Position(name, reader.CurrentLineNumber),
                "the file has a document type declaration (DTD)",
                "delete <!DOCTYPE …> and write the entities out",
            )
        )

    def stop(_: str, attributes: Mapping[str, str]) -> None:
        raise _RootReached(attributes.get("version", ""))

    reader = expat.ParserCreate()
    reader.StartDoctypeDeclHandler = refuse
    reader.StartElementHandler = stop
    try:
        reader.Parse(source, True)
    except _RootReached as reached:
        return reached.version
    except expat.ExpatError as problem:
        # Not well-formed: lxml reports the error better. It is never stricter than the checks here.
        _parse(name, source)
        message = expat.ErrorString(problem.code)
        raise InvalidDocument(_malformed(name, problem.lineno, message)) from None
    return ""


def _frozen(name: str, source: bytes, version: str) -> Element | None:
    """The frozen tree of a document, if it is valid against the schema of its version; otherwise None."""
    if version not in VERSIONS:
        return None
    root = cast(Element | None, frozen_root(name, source, load_schema(version), lines_of_nodes))
    return root if root is not None and valid_by_one_schema(root, version) else None


def _parse(name: str, source: bytes) -> Element:
    try:
        return cast(Element, etree.fromstring(source, PARSER, base_url=name))
    except etree.XMLSyntaxError as problem:
        raise InvalidDocument(_malformed(name, problem.lineno or 1, problem.msg or "empty")) from None


def _malformed(name: str, line: int, message: str) -> Diagnostic:
    return error("XML-001", Position(name, line), *fault_of(message))


class Positions:
    """Positions in a document that is not being edited; addresses of parents are computed once.

    They are equal to those of `Element.position`.
    """

    def __init__(self, document: Document) -> None:
        self._name = document.name
        self._line_of: Callable[[etree._Element], int] = attrgetter("line") if document.frozen else document.line_of
        self._addresses: dict[etree._Element, str] = {}

    def of_siblings(self, elements: Iterable[Element]) -> Iterator[Position]:
        """The positions of elements with the same parent."""
        parent = around = None
        for element in elements:
            if parent is None or around is None:
                parent = element.getparent()
                assert parent is not None
                around = self._address(parent)
            line, name, identity = self._line_of(element), element.local_name, element.identity
            if name and (attributes := element.telling(identity)):
                later = made(LaterAddress, (around, name, identity, attributes))
                yield made(Position, (self._name, line, later))
            else:
                yield Position(self._name, line, f"{around}/{step(element, parent)}")

    def position(self, element: Element) -> Position:
        if element.getparent() is None:
            return Position(self._name, self._line_of(element), "/")
        return next(self.of_siblings((element,)))

    def _address(self, element: etree._Element) -> str:
        known = self._addresses.get(element)
        if known is None:
            parent = element.getparent()
            known = "" if parent is None else f"{self._address(parent)}/{step(element, parent)}"
            self._addresses[element] = known
        return known


_UTF8, _UTF8_MARK = "utf-8", b"\xef\xbb\xbf"
_WIDE = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"))
_ENCODING = re.compile(r"""(<\?xml[^>]*?\sencoding\s*=\s*)(["'])([^"'<>]*)["']""")
_UNDECLARED = re.compile(r"Namespace prefix (\S+) (?:on|for) ")
_WITHOUT_DECLARATION = "windows-1252"
_PREFIXES = {**NSMAP, "xsi": "http://www.w3.org/2001/XMLSchema-instance"}


@dataclass(frozen=True, slots=True)
class Repair:
    """Repaired bytes; `certain`: the original has no other possible reading."""

    content: bytes
    certain: bool


def in_utf8(source: bytes) -> Repair | None:
    """A document converted to UTF-8, including its declaration; None if it cannot be read."""
    text, certain = decoded(source)
    if text is None:
        return None
    declared = _ENCODING.sub(r"\g<1>\g<2>UTF-8\g<2>", text.removeprefix("\ufeff"), count=1)
    return Repair(declared.encode(_UTF8), certain)


def decoded(source: bytes) -> tuple[str | None, bool]:
    """The text of a document in any encoding (None if unreadable), and whether the encoding is certain.

    UTF-16 is recognized by the byte order mark or by zero bytes; otherwise the declaration counts (XML 1.0 §4.3.3,
    appendix F). The encoding is uncertain if bytes beyond ASCII are also valid UTF-8, or if it is a guess because the
    document states UTF-8 or nothing.
    """
    wide = next((encoding for mark, encoding in _WIDE if source.startswith(mark)), None)
    if wide is not None:
        return _decoded(source, wide), True
    plain = source.removeprefix(_UTF8_MARK)
    found = _ENCODING.match(plain.decode("latin-1"))
    stated = "" if found is None else found[3].strip()
    as_utf8 = _decoded(plain, _UTF8)
    if as_utf8 is not None:
        marked = len(plain) < len(source)
        return as_utf8, plain.isascii() or marked or _decoded(plain, stated) in (None, as_utf8)
    known = stated.lower() not in ("", _UTF8, "utf8")
    return _decoded(plain, stated if known else _WITHOUT_DECLARATION), known


def _decoded(source: bytes, encoding: str) -> str | None:
    try:
        return source.decode(encoding)
    except (LookupError, ValueError):
        return None


def with_prefixes(source: bytes) -> Repair | None:
    """A document with declarations of the usual SSP prefixes that it uses without declaration; None if it is still not
    well-formed.
    """
    at = _end_of_root_name(source)
    declared = set[str]()
    while at is not None:
        added = "".join(f' xmlns:{prefix}="{_PREFIXES[prefix]}"' for prefix in sorted(declared)).encode()
        content = source[:at] + added + source[at:]
        try:
            etree.fromstring(content, PARSER)
        except etree.XMLSyntaxError as problem:
            found = _UNDECLARED.match(problem.msg or "")
            if found is None or found[1] not in _PREFIXES or found[1] in declared:
                return None
            declared.add(found[1])
        else:
            return Repair(content, True) if declared else None
    return None


def _end_of_root_name(source: bytes) -> int | None:
    """Offset after the name in the start tag of the root; None if there is no root, or a document type comes first."""
    places: list[int] = []

    def start(name: str, _: object) -> None:
        if not places:
            places.append(reader.CurrentByteIndex + 1 + len(name.encode()))

    def refuse(*_: object) -> None:
        places.append(-1)

    reader = expat.ParserCreate()
    reader.StartElementHandler = start
    reader.StartDoctypeDeclHandler = refuse
    try:
        reader.Parse(source, True)
    except expat.ExpatError:
        return None
    return places[0] if places and places[0] >= 0 else None
