"""Validation by XML Schema with the project's own schemas of SSP 1.0 and 2.0 (folder `schemas`), through libxml2.

`schema_findings` checks a document with its inline content, and rewords each violation of libxml2 for the author of the
document. Limits of libxml2:

- For an element with wrong children, only the first wrong child is reported; later ones are not checked.
- Lines beyond 65 535 are estimated; the element of a finding is exact, so use `Document.line_of`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Set
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, cast

from lxml import etree

from ssptool.documents.element import FOREIGN_HOLDERS, Element
from ssptool.documents.vocabulary import (
    NSMAP,
    SSB,
    SSD,
    SSM,
    SSV,
    any_uri,
    boolean,
    double,
    hex_binary,
    integer,
    signed,
    unsigned,
)
from ssptool.errors import counted

_PREFIXES = {uri: prefix for prefix, uri in NSMAP.items()}

_NAME = re.compile(r"\{([^{}]+)\}([\w.\-]+)")
_SUBJECT = re.compile(r"Element '([^']*)'")
_ATTRIBUTE = re.compile(r", attribute '([^']*)'")
_EXPECTED = re.compile(r"Expected is (?:one of )?\( (.*) \)")
_ITEM = re.compile(r"': '(.*)' is not a valid value of the (?:local )?atomic type '(?:xs:|\{[^}]*\})(\w+)'", re.DOTALL)
_SET = re.compile(r"is not an element of the set \{(.*)\}\.")
_NC_NAME = re.compile(r"[^\W\d][\w.\-]*")

MOST_FINDINGS = 10_000
"""Largest number of schema violations that are reported for one document; the others are only counted."""

_REPEATED_ID, _SURPLUS = "repeated id", "surplus"
"""Kinds of violations that libxml2 does not report."""

# libxml2 lists at most ten of the elements that it expects.
_NAMED_AT_MOST = 10
_SHOWN_LENGTH = 60

_EXPECTED_OF_TYPE = {
    "anyURI": any_uri.expected,
    "boolean": boolean.expected,
    "double": double.expected,
    "float": double.expected,
    "hexBinary": hex_binary.expected,
    "byte": signed(8).expected,
    "short": signed(16).expected,
    "int": signed(32).expected,
    "long": signed(64).expected,
    "unsignedByte": unsigned(8).expected,
    "unsignedShort": unsigned(16).expected,
    "unsignedInt": unsigned(32).expected,
    "unsignedLong": unsigned(64).expected,
    "AnyInteger64": integer.expected,
    "dateTime": "a date and time such as 2024-05-17T09:30:00Z",
}


class Violation(NamedTuple):
    """A violation of a schema: libxml2's name of the constraint (or a name of ours), and the message."""

    kind: str
    message: str

    @property
    def attribute(self) -> str:
        """The name of the attribute at fault, in lxml's notation; empty if the element is at fault."""
        match = _ATTRIBUTE.search(self.message)
        return match[1] if match else ""


def violation_message(element: Element, violation: Violation) -> str:
    """Message of a violation: the present value and the allowed values."""
    describe = _DESCRIPTIONS.get(violation.kind, _anything_else)
    return describe(element, violation.attribute, violation.message)


def shown(name: str) -> str:
    """A name in lxml's notation, `{namespace}name`, with the usual prefix: `ssd:System`."""
    uri, _, local = name.rpartition("}")
    if not uri:
        return local
    prefix = _PREFIXES.get(uri[1:])
    return f"{prefix}:{local}" if prefix else f"{local} (of namespace {uri[1:]})"


def _quoted(value: str) -> str:
    return f"'{value}'" if len(value) <= _SHOWN_LENGTH else f"'{value[:_SHOWN_LENGTH]}…'"


def _tagged(name: str) -> str:
    return f"<{shown(name)}>"


def _where(element: Element, attribute: str) -> str:
    """Subject of a sentence about an attribute, with its value."""
    value = _quoted(element.get(attribute, ""))
    return f"{_tagged(element.tag)}: attribute '{shown(attribute)}' is {value}"


def _content(element: Element, _: str, message: str) -> str:
    listed = _EXPECTED.search(message)
    names = [name.strip() for name in listed[1].split(",")] if listed else []
    # A wildcard reads ##other{…}*; the elements that it allows cannot be listed.
    expected = [_tagged(name) for name in names if "*" not in name]
    choice = " or ".join(filter(None, [", ".join(expected[:-1]), *expected[-1:]]))
    if len(names) == _NAMED_AT_MOST:
        choice += " (among others)"
    if "Missing child" in message:
        return f"{_tagged(element.tag)} is incomplete: it lacks {choice}"
    parent = element.getparent()
    place = "" if parent is None else f" in {_tagged(parent.tag)}"
    local = element.tag.rpartition("}")[2]
    namesakes = [name for name in names if name.rpartition("}")[2] == local]
    advice = f"; its namespace should be that of {_tagged(namesakes[0])}" if namesakes else ""
    if not advice and choice:
        advice = f"; expected {choice}"
    return f"{_tagged(element.tag)} is not allowed at this place{place}{advice}"


def _attribute_missing(element: Element, _: str, message: str) -> str:
    missing = re.search(r"attribute '([^']*)' is required", message)
    return f"{_tagged(element.tag)} lacks the attribute '{missing[1] if missing else ''}'"


def _attribute_not_allowed(element: Element, attribute: str, _: str) -> str:
    declared = [known.name for known in type(element).attributes().values()]
    similar = get_close_matches(attribute, set(declared) - {attribute} - set(element.keys()), n=1)
    advice = f"; did you mean '{similar[0]}'?" if similar else ""
    return f"{_tagged(element.tag)}: attribute '{shown(attribute)}' is not allowed{advice}"


def _not_of_type(element: Element, attribute: str, message: str) -> str:
    item = _ITEM.search(message)
    if item is None:
        return _anything_else(element, attribute, message)
    found, expected = item[1], _EXPECTED_OF_TYPE.get(item[2], item[2])
    if item[2] == "ID":
        expected = "a name: letters, digits, '.', '-', '_', and a letter or '_' first"
    if found == element.get(attribute):
        return f"{_where(element, attribute)}, not {expected}"
    return f"{_where(element, attribute)}; in this list {_quoted(found)} is not {expected}"


def _repeated_id(element: Element, attribute: str, _: str) -> str:
    return f"{_where(element, attribute)}, but another element has this {attribute} already"


def _not_in_set(element: Element, attribute: str, message: str) -> str:
    allowed = _SET.search(message)
    return f"{_where(element, attribute)}; allowed are {allowed[1] if allowed else 'other values'}"


def _too_short(element: Element, attribute: str, _: str) -> str:
    return f"{_tagged(element.tag)}: attribute '{shown(attribute)}' must not be empty"


def _no_such_version(element: Element, attribute: str, message: str) -> str:
    if attribute != "version":
        return _anything_else(element, attribute, message)
    return f"{_where(element, attribute)}; the schema of SSP 1.0 allows '1.0'"


def _out_of_range(element: Element, attribute: str, _: str) -> str:
    # The only range that no built-in type of XML Schema expresses.
    return f"{_where(element, attribute)}, not {integer.expected}"


def _text_not_allowed(element: Element, _: str, __: str) -> str:
    return f"{_tagged(element.tag)} may contain elements, but no text"


def _must_be_empty(element: Element, _: str, __: str) -> str:
    return f"{_tagged(element.tag)} must be empty: no elements, no text, no blanks"


def _wrong_root(element: Element, _: str, __: str) -> str:
    return (
        f"{_tagged(element.tag)} is not the root of an SSP document; expected <ssd:SystemStructureDescription>, "
        "<ssv:ParameterSet>, <ssm:ParameterMapping> and <ssb:SignalDictionary>"
    )


def _anything_else(_: Element, __: str, message: str) -> str:
    """libxml2's own message, with prefixes for namespaces."""
    return _NAME.sub(lambda name: shown(name[0]), message)


_DESCRIPTIONS: dict[str, Callable[[Element, str, str], str]] = {
    "SCHEMAV_CVC_COMPLEX_TYPE_2_1": _must_be_empty,
    "SCHEMAV_CVC_COMPLEX_TYPE_2_3": _text_not_allowed,
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_1": _attribute_not_allowed,
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_2": _attribute_not_allowed,
    "SCHEMAV_CVC_COMPLEX_TYPE_4": _attribute_missing,
    "SCHEMAV_CVC_DATATYPE_VALID_1_2_1": _not_of_type,
    "SCHEMAV_CVC_ELT_1": _wrong_root,
    "SCHEMAV_CVC_ENUMERATION_VALID": _not_in_set,
    "SCHEMAV_CVC_MAXINCLUSIVE_VALID": _out_of_range,
    "SCHEMAV_CVC_MININCLUSIVE_VALID": _out_of_range,
    "SCHEMAV_CVC_MINLENGTH_VALID": _too_short,
    "SCHEMAV_CVC_PATTERN_VALID": _no_such_version,
    "SCHEMAV_ELEMENT_CONTENT": _content,
    _REPEATED_ID: _repeated_id,
}


VERSIONS = ("1.0", "2.0")

_INLINE_ROOTS = {
    f"{{{SSD}}}SystemStructureDescription",
    f"{{{SSV}}}ParameterSet",
    f"{{{SSM}}}ParameterMapping",
    f"{{{SSB}}}SignalDictionary",
}
_METADATA_HOLDERS = {f"{{{SSD}}}ParameterMapping", f"{{{SSD}}}SignalDictionary"}
# Parents with arbitrary content: wildcards in the schemas.
_HOLDERS = _METADATA_HOLDERS | {f"{{{SSD}}}ParameterValues"}

# libxml2 reports a list with a wrong item twice; this is the second report, which does not name the item.
_SECOND_REPORT = "SCHEMAV_CVC_DATATYPE_VALID_1_2_2"


class DocumentPart(StrEnum):
    """The part of a document that a finding is about; each part has its own rules."""

    DOCUMENT = "the document itself"
    INLINE = "a parameter set, mapping or dictionary written inline"
    INLINE_METADATA = "what else an inline mapping or dictionary of an SSD contains"


class SchemaFinding(NamedTuple):
    """A violation of the schema.

    Attributes
    ----------
    element : Element
        The element concerned, of the tree that was validated.
    message : str
        The present and the allowed content, in words.
    kind : str
        libxml2's name of the violated constraint, e.g. `SCHEMAV_ELEMENT_CONTENT`, or a name of this module.
    part : DocumentPart
    attribute : str
        The attribute concerned, as written in the schema; empty if it is the element or its content.
    """

    element: Element
    message: str
    kind: str
    part: DocumentPart
    attribute: str = ""

    @property
    def unknown_attribute(self) -> bool:
        """True for an attribute that the element does not have, and without a similar name."""
        describe = _DESCRIPTIONS.get(self.kind)
        not_allowed = describe is _attribute_not_allowed and self.part is DocumentPart.DOCUMENT
        return not_allowed and "did you mean" not in self.message


def schema_findings(root: Element, version: str) -> list[SchemaFinding]:
    """Violations of the schemas of an SSP version in a document, in document order.

    Inline content is checked against the schema of its own declared version if that is 1.0 or 2.0, otherwise against
    that of the document. Ids are compared among all content of one version. The content of annotations and metadata is
    not checked, even where it has elements of SSP.

    Parameters
    ----------
    root : Element
        The root of a document of any format (the caller checks that it is the right one), or of an inline document.
    version : str
        "1.0" or "2.0": usually what the root declares.

    Raises
    ------
    ValueError
        There is no schema for this version.
    """
    found = _violations(root, version)
    if surplus := len(found[MOST_FINDINGS:]):
        message = f"from here on there are {counted(surplus, 'more violation')} of the schema, which are not listed"
        found = [*found[:MOST_FINDINGS], (found[MOST_FINDINGS][0], Violation(_SURPLUS, message))]
    return [_finding(element, violation) for element, violation in found]


def violated_places(root: Element, version: str) -> Set[tuple[Element, str]]:
    """All elements with violations, with the names of violating attributes, as in `schema_findings`."""
    return {(element, violation.attribute) for element, violation in _violations(root, version)}


def _violations(root: Element, version: str) -> list[tuple[Element, Violation]]:
    """Violations of the schemas, each with its element, in document order."""
    foreign = outermost_foreign(root)
    guests = [one for one in _guests(root, version) if foreign.isdisjoint((one, *one.iterancestors()))]
    apart = {below for one in (*foreign, *guests) for below in one.iter("*")}
    judged = violations(root, load_schema(version))
    found = [(cast(Element, element), one) for element, one in judged if element not in apart]
    found += [(element, Violation(_REPEATED_ID, ", attribute 'id'")) for element in _with_repeated_ids(root, apart)]
    for guest in guests:
        found += _violations(guest, guest.get("version", ""))
    order: dict[etree._Element, int] = {}
    if found:
        order = {element: number for number, element in enumerate(root.iter("*"))}
    return sorted(found, key=lambda one: order[one[0]])


def valid_by_one_schema(root: Element, version: str) -> bool:
    """True if a document that is valid against the schema of its version has no other violations.

    False, meaning unknown, if it has inline content of another version, or an id twice.
    """
    others = {other for other in VERSIONS if other != version}
    if any(inline.get("version") in others for inline in root.iter(*_INLINE_ROOTS)):
        return False
    ids = [element.get("id", "").strip() for element in root.having("id")]
    return len(set(ids)) == len(ids)


def _with_repeated_ids(root: Element, apart: Set[etree._Element]) -> Iterator[Element]:
    """Elements whose id an earlier element has; a reader without a tree does not compare them."""
    met = set[str]()
    for element in root.having("id"):
        identity = element.get("id", "").strip()
        if "id" in type(element).attributes() and element not in apart and _NC_NAME.fullmatch(identity):
            if identity in met:
                yield element
            met.add(identity)


@cache
def load_schema(version: str, name: str = "all") -> etree.XMLSchema:
    """The schema of one format, or of all.

    Parameters
    ----------
    version : str
        "1.0" or "2.0".
    name : str
        "ssd", "ssv", "ssm" or "ssb": the format alone, without inline content of other formats, as in the standard's
        own XML Schema files. "all": inline content included; 2.0 also checks metadata next to it.

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
    """The folder of the schemas: inside the installed package, or next to it in a checkout.

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
    """Outermost inline documents that declare the other version."""
    others = [other for other in VERSIONS if other != version]
    last: Element | None = None
    for inline in cast(Iterator[Element], root.iter(*_INLINE_ROOTS)):
        parent = inline.getparent()
        hosted = inline is not root and parent is not None and parent.tag in _HOLDERS
        if hosted and inline.get("version") in others and (last is None or last not in inline.iterancestors()):
            last = inline
            yield inline


def outermost_foreign(root: Element) -> frozenset[Element]:
    """Children of annotations and metadata that contain elements in the namespaces of SSP."""
    holders = cast(Iterator[Element], root.iter(*FOREIGN_HOLDERS))
    children = {child for holder in holders for child in holder.iterchildren("*") if _speaks_ssp(child)}
    return frozenset(cast(Element, one) for one in children if children.isdisjoint(one.iterancestors()))


def _speaks_ssp(element: etree._Element) -> bool:
    return next(element.iter(*(f"{{{uri}}}*" for uri in NSMAP.values())), None) is not None


class _Log(etree.PyErrorLog):  # type: ignore[misc]  # the stubs do not know it
    """Log that passes each entry of its thread to a function immediately."""

    def __init__(self, report: Callable[[etree._LogEntry], None]) -> None:
        super().__init__()
        self.receive = report


class _Place:
    """Number, in document order, of the element at which the reader of a document is."""

    def __init__(self) -> None:
        self.number = self._last = -1
        self._open: list[int] = []

    def start(self, tag: str, attrib: Mapping[str, str]) -> None:
        self.number = self._last = self._last + 1
        self._open.append(self.number)

    def end(self, tag: str) -> None:
        self.number = self._open.pop()

    def close(self) -> None: ...


def violations(root: etree._Element, schema: etree.XMLSchema) -> list[tuple[etree._Element, Violation]]:
    """Violations of a schema in a tree, each with its element, in document order.

    The document is read again by a validating reader, whose errors belong to its present element. Validating the tree
    in memory would be a thousand times slower for long lists, because lxml counts siblings for the path of each error.
    """
    found: list[tuple[int, Violation]] = []

    def note(entry: etree._LogEntry) -> None:
        if entry.type_name != _SECOND_REPORT:
            found.append((place.number, Violation(entry.type_name, entry.message)))

    def read() -> None:
        etree.use_global_python_log(_Log(note))
        # The stubs require members of a target that lxml does not need.
        target = cast(Any, place)
        parser = etree.XMLParser(target=target, schema=schema, resolve_entities=False, no_network=True, huge_tree=True)
        etree.fromstring(content, parser)

    place = _Place()
    content = etree.tostring(root, with_tail=False)
    _in_own_thread(read)  # lxml's log stays that of its thread
    elements = list(root.iter("*")) if found else []
    return [(_named(elements[number], violation), violation) for number, violation in found]


def _in_own_thread(work: Callable[[], None]) -> None:
    """Run a function in a thread; importing executors takes longer than checking a small document."""
    failures: list[Exception] = []

    def guarded() -> None:
        try:
            work()
        except Exception as failure:
            failures.append(failure)

    thread = Thread(target=guarded)
    thread.start()
    thread.join()
    for failure in failures:
        raise failure


def _named(element: etree._Element, violation: Violation) -> etree._Element:
    """The element that a violation is about: a non-empty element that must be empty is noticed at its first child."""
    named = _SUBJECT.match(violation.message)
    around = [one for one in (element, *element.iterancestors()) if named is None or one.tag == named[1]]
    return around[0] if around else element


def _finding(element: Element, violation: Violation) -> SchemaFinding:
    message = violation_message(element, violation)
    part = _document_part(element, "not expected" in violation.message)
    return SchemaFinding(element, message, violation.kind, part, violation.attribute)


def _document_part(element: Element, unexpected: bool) -> DocumentPart:
    # An unexpected element is an error in the content of its parent.
    place: etree._Element | None = element.getparent() if unexpected else element
    while place is not None:
        parent = place.getparent()
        if place.tag in _INLINE_ROOTS and parent is not None:
            return DocumentPart.INLINE
        if place.tag in _METADATA_HOLDERS and (unexpected or place is not element):
            return DocumentPart.INLINE_METADATA
        place = parent
    return DocumentPart.DOCUMENT
