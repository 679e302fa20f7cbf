"""Validation by XML Schema: our own schemas of SSP 1.0 and 2.0, from the folder `schemas`, through libxml2.

`schema_findings` judges a document with everything that is written inline in it. What libxml2 does not tell:

- Of an element whose children are wrong, only the first wrong child is reported, and those behind it are not looked at.
- Lines beyond 65 535 are estimated; the element of a finding is exact, so ask `Document.line_of`.
"""

import copy
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from lxml import etree

from ssptool.documents.element import Element
from ssptool.documents.namespaces import SSB, SSC, SSD, SSM, SSV
from ssptool.documents.schema_words import attribute_of, in_words

VERSIONS = ("1.0", "2.0")

_INLINE_ROOTS = {
    f"{{{SSD}}}SystemStructureDescription",
    f"{{{SSV}}}ParameterSet",
    f"{{{SSM}}}ParameterMapping",
    f"{{{SSB}}}SignalDictionary",
}
_METADATA_HOLDERS = {f"{{{SSD}}}ParameterMapping", f"{{{SSD}}}SignalDictionary"}
# The parents whose content may be anything: wildcards in the schemas.
_HOLDERS = _METADATA_HOLDERS | {f"{{{SSD}}}ParameterValues", f"{{{SSC}}}Annotation", f"{{{SSC}}}Content"}

# libxml2 reports a list with a wrong item twice; this is the second report, which does not name the item.
_REPEATED = "SCHEMAV_CVC_DATATYPE_VALID_1_2_2"

# That of lxml, which the SSP attribute `prefix` hides in one of our element classes.
_namespace_prefix: Callable[[etree._Element], str | None] = vars(etree._Element)["prefix"].__get__

# A validator collects its errors in itself, so two threads must not use it at once.
_ONE_AT_A_TIME = threading.Lock()


class Part(StrEnum):
    """Where in a document a finding lies, because different rules speak of these parts."""

    DOCUMENT = "the document itself"
    INLINE = "a parameter set, mapping or dictionary written inline"
    INLINE_METADATA = "what else an inline mapping or dictionary of an SSD contains"


class SchemaFinding(NamedTuple):
    """One thing that the schema does not allow.

    Attributes
    ----------
    element : Element
        The element concerned, of the tree that was validated.
    line : int
        Its line as libxml2 knows it (see the module); 0 if it was added since reading.
    path : str
        Its `address`.
    message : str
        What was found and what is allowed, in words.
    kind : str
        libxml2's name of the violated constraint, e.g. `SCHEMAV_ELEMENT_CONTENT`.
    part : Part
    attribute : str
        The attribute concerned, as written in the schema; empty if it is the element or its content.
    """

    element: Element
    line: int
    path: str
    message: str
    kind: str
    part: Part
    attribute: str = ""


def schema_findings(root: Element, version: str) -> list[SchemaFinding]:
    """What the schemas of an SSP version do not allow in a document, in document order.

    Content that is written inline is judged by the schema of the version that it declares itself if that is 1.0
    or 2.0, else by the one of the document. Ids are compared among all that one version judges at once.

    Parameters
    ----------
    root : Element
        The root of a document of any format (which one it should be is for the caller to say), or of an inline one.
    version : str
        "1.0" or "2.0": usually what the root declares.

    Raises
    ------
    ValueError
        There is no schema for this version.
    """
    guests = list(_guests(root, version))
    findings = [_finding(element, entry) for element, entry in _judged(root, guests, load_schema(version))]
    for guest in guests:
        findings += schema_findings(guest, guest.get("version", ""))
    return sorted(findings, key=lambda finding: finding.line) if guests else findings


@cache
def load_schema(version: str, name: str = "all") -> etree.XMLSchema:
    """The schema of one format, or of all.

    Parameters
    ----------
    version : str
        "1.0" or "2.0".
    name : str
        "ssd", "ssv", "ssm" or "ssb": the format alone, blind for inline content of another format, as the standard's
        own XML Schema files are. "all": inline content included; 2.0 also checks metadata beside it.

    Raises
    ------
    ValueError
        There is no schema for this version.
    """
    if version not in VERSIONS:
        raise ValueError(f"there is no schema for SSP {version!r}; there are {' and '.join(VERSIONS)}")
    parser = etree.XMLParser(no_network=True, resolve_entities=False)
    return etree.XMLSchema(etree.parse(schema_folder() / f"ssp-{version}" / f"{name}.xsd", parser))


def schema_folder() -> Path:
    """The folder of the schemas: inside the installed package, or beside it in a checkout.

    Raises
    ------
    FileNotFoundError
        The installation is incomplete.
    """
    package = Path(__file__).resolve().parents[1]
    candidates = [package / "schemas", package.parent / "schemas"]
    for folder in candidates:
        if (folder / "catalog.xml").is_file():
            return folder
    raise FileNotFoundError(f"no XML schemas in {' or '.join(map(str, candidates))}; install ssptool again")


def _guests(root: Element, version: str) -> Iterator[Element]:
    """The outermost inline documents that declare the other version."""
    others = [other for other in VERSIONS if other != version]
    last: Element | None = None
    for inline in cast(Iterator[Element], root.iter(*_INLINE_ROOTS)):
        parent = inline.getparent()
        hosted = inline is not root and parent is not None and parent.tag in _HOLDERS
        if hosted and inline.get("version") in others and (last is None or last not in inline.iterancestors()):
            last = inline
            yield inline


def _judged(root: Element, guests: list[Element], schema: etree.XMLSchema) -> Iterator[tuple[Element, etree._LogEntry]]:
    """What a schema finds in a tree apart from the guests, each with its element."""
    if not guests and not root.xpath("boolean(descendant-or-self::*/@id)"):
        yield from cast(Iterator[tuple[Element, etree._LogEntry]], _errors(root, schema))
        return
    stand, originals = _stand_in(root, guests)
    for element, entry in _errors(stand, schema):
        yield originals[element], entry


def _stand_in(root: Element, guests: list[Element]) -> tuple[etree._Element, dict[etree._Element, Element]]:
    """A copy to be validated, without the guests, and the original of each of its elements.

    A copy, because libxml2 notes in the tree which attributes are ids, and misjudges them after edits: it then misses
    a repeated id, or takes a deleted one for present. Writing an id anew makes the copy forget the note.
    """
    stand = copy.deepcopy(root)
    originals = dict(zip(stand.iter("*"), cast(Iterator[Element], root.iter("*")), strict=True))
    copies = {original: element for element, original in originals.items()}
    for element in originals:
        if (identity := element.get("id")) is not None:
            del element.attrib["id"]
            element.set("id", identity)
    for guest in guests:
        blank = stand.makeelement("{urn:ssptool}inline")
        parent = copies[cast(Element, guest.getparent())]
        parent.replace(copies[guest], blank)
        originals[blank] = guest
    return stand, originals


def _errors(root: etree._Element, schema: etree.XMLSchema) -> Iterator[tuple[etree._Element, etree._LogEntry]]:
    """What a schema finds, each with its element."""
    with _ONE_AT_A_TIME:
        entries = [] if schema.validate(root) else list(cast(Iterable[etree._LogEntry], schema.error_log))
    if entries:
        locate = _Locator(root)
        for entry in entries:
            if entry.type_name == _REPEATED:
                continue
            yield locate(entry.path or ""), entry


class _Locator:
    """Finds elements by libxml2's node paths, which keep the prefixes of the document.

    A step is `prefix:name`, or `*` for an element in a default namespace, and `[n]` if it has siblings of that kind.
    """

    def __init__(self, root: etree._Element) -> None:
        self._found: dict[str, etree._Element] = {"": root}
        self._children: dict[etree._Element, dict[str, list[etree._Element]]] = {}

    def __call__(self, path: str) -> etree._Element:
        first, _, rest = path.removeprefix("/").partition("/")
        return self._find(rest) if first else self._found[""]

    def _find(self, path: str) -> etree._Element:
        if path not in self._found:
            above, _, step = path.rpartition("/")
            name, _, number = step.partition("[")
            parent = self._find(above)
            if parent not in self._children:
                self._children[parent] = _by_step(parent)
            self._found[path] = self._children[parent][name][int(number.rstrip("]") or 1) - 1]
        return self._found[path]


def _by_step(parent: etree._Element) -> dict[str, list[etree._Element]]:
    children: dict[str, list[etree._Element]] = defaultdict(list)
    for child in parent.iterchildren("*"):
        local = etree.QName(child).localname
        prefix = _namespace_prefix(child)
        children["*"].append(child)
        children[f"{prefix}:{local}" if prefix else local].append(child)
    return children


def _finding(element: Element, entry: etree._LogEntry) -> SchemaFinding:
    attribute = attribute_of(entry)
    return SchemaFinding(
        element,
        element.position.line,
        element.address,
        in_words(element, attribute, entry),
        entry.type_name,
        _part(element, "not expected" in entry.message),
        attribute,
    )


def _part(element: Element, unexpected: bool) -> Part:
    # An unexpected element is a fault in the content of its parent.
    place: etree._Element | None = element.getparent() if unexpected else element
    while place is not None:
        parent = place.getparent()
        if place.tag in _INLINE_ROOTS and parent is not None:
            return Part.INLINE
        if place.tag in _METADATA_HOLDERS and (unexpected or place is not element):
            return Part.INLINE_METADATA
        place = parent
    return Part.DOCUMENT
