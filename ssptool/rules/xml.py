"""Rules on files: encodings, XML, versions and schemas."""

import re
from collections import defaultdict
from collections.abc import Iterator, Set
from copy import deepcopy
from dataclasses import replace
from functools import cache, lru_cache
from typing import cast

from ssptool.documents import ssc, ssd, ssv
from ssptool.documents.diagnostics import Position
from ssptool.documents.document import in_utf8, with_prefixes
from ssptool.documents.element import Element, local_name
from ssptool.documents.schema import DocumentPart, SchemaFinding, violated_places
from ssptool.documents.vocabulary import NSMAP
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    SHOULD,
    TEXT,
    WARNING,
    XSD,
    Chapter,
    Finding,
    Fix,
    SetAttribute,
    deleted,
    rewritten,
)
from ssptool.rules.subjects import File, Structure, Unreadable, container

FILES = Chapter("Files, versions and schemas (SSP 2.0 §2.2, §5.1, §6.1, §7.1, §8.1)")

VERSIONS = ("1.0", "2.0")
_ENDINGS = {"ParameterSet": ".ssv", "ParameterMapping": ".ssm", "SignalDictionary": ".ssb"}


@FILES.rule("XML-001", severity=ERROR, basis=MUST, source="SSP 2.0 §5, §6, §7, §8", blocks_run=True)
def well_formed(file: Unreadable) -> Iterator[Finding]:
    """A document is well-formed XML 1.0.

    No tool can read past the first syntax error.

    Fix: correct the syntax at the line given; a tag may be unclosed, or a `<` or `&` not written as `&lt;`, `&amp;`.
    """
    yield from file.reported("XML-001", with_prefixes)


@FILES.rule("XML-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5, §6, §7, §8", blocks_run=True)
def utf8(file: Unreadable) -> Iterator[Finding]:
    """A document is encoded as UTF-8, and declares no other encoding.

    A tool that supports only what the standard demands cannot read any other encoding.

    Fix: save the file as UTF-8, and write `encoding="UTF-8"` in its first line or leave that out.
    """
    yield from file.reported("XML-002", in_utf8)


@FILES.rule(
    "XML-011",
    severity=ERROR,
    basis=POLICY,
    source="ssptool: entities of a DTD are a way to attack a reader",
    blocks_run=True,
)
def no_dtd(file: Unreadable) -> Iterator[Finding]:
    """A document has no document type declaration.

    Entities defined there can expand to gigabytes or read other files; SSP has no use for them.

    Fix: delete `<!DOCTYPE …>`, and write out what its entities stand for.
    """
    yield from file.reported("XML-011")


@FILES.rule("XML-003", severity=ERROR, basis=MUST, source="SSP 2.0 §5.1, §6.1, §7, §8", blocks_run=True)
def right_root(file: File) -> Iterator[Finding]:
    """The root element of a document is that of its format.

    The reference to a file states its format: system structure, parameter set, parameter mapping or signal dictionary.

    Fix: refer to the right file, or correct its root element.
    """
    root = _root(file)
    if _local(root) != local_name(file.expected.qualified_name):
        wanted = local_name(file.expected.qualified_name)
        yield Finding(root, f"expected the root element '{wanted}', found '{_local(root)}'")


@FILES.rule("VER-001", severity=ERROR, basis=MUST, source="SSP 2.0 §5.1, §6.1, §7.1, §8.1", blocks_run=True)
def known_version(file: File) -> Iterator[Finding]:
    """The attribute `version` of the root element is exactly 1.0 or 2.0.

    The namespaces are the same in all versions, so only this attribute tells which rules apply. It has no patch number
    and no suffix, although the schema of SSP 1.0 accepts some. A later version, or a draft of one, is not read as 2.0.

    Fix: write `version="1.0"` or `version="2.0"`; export a file of a later version as 2.0.
    """
    root = _root(file)
    if _is_expected(file) and _is_newer(file.version):
        message = f"the version is '{file.version}', which is newer than 2.0, the newest one that ssptool knows"
        yield Finding(root, message, "export the file as version 2.0", "version")
    elif _is_expected(file) and file.version not in VERSIONS:
        found = f"'{file.version}'" if "version" in root.attrib else "missing"
        advice = 'write version="1.0", or version="2.0" if the file uses features of 2.0'
        yield Finding(root, f"the version is {found}, not 1.0 or 2.0", advice, "version", fix=_version(root))


def _is_newer(version: str) -> bool:
    numbers = version.split(".")
    plain = len(numbers) == 2 and all(one.isascii() and one.isdecimal() for one in numbers)
    return plain and tuple(map(int, numbers)) > max(tuple(map(int, one.split("."))) for one in VERSIONS)


@FILES.rule("XML-004", severity=ERROR, basis=MUST, source="SSP 2.0 §5, §6, §7, §8", blocks_run=True)
def schema_valid(file: File) -> Iterator[Finding]:
    """A document is valid against the XML Schema of the version that it declares.

    The schema fixes which elements and attributes there are, in which order, and what values they take.

    Fix: as the message says; the schemas are in the folder `schemas`.
    """
    yield from _violations(file, "XML-004")


@FILES.rule("XML-101", severity=ERROR, basis=DERIVED, source="SSP 2.0 §4.5.1, §5, §6, §7, §8")
def known_attributes(file: File) -> Iterator[Finding]:
    """An element has no other attributes than those of the XML Schema.

    Another tool does not know what such an attribute means; SSP has annotations for what only one tool knows. A name
    that is nearly that of a known attribute is a matter of XML-004.

    Accepted: the attribute has no effect.

    Fix: delete the attribute, or write an annotation instead.
    """
    for found in _violations(file, "XML-101"):
        yield replace(
            found, advice=f"delete it, or write an annotation; `--accept XML-101` runs without {found.attribute}"
        )


@FILES.rule("XML-005", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2.3, §5.3.3", blocks_run=True)
def inline_schema_valid(file: File) -> Iterator[Finding]:
    """A parameter set, mapping or dictionary that is written inline is valid against its own XML Schema.

    It is a document within the document, with a version of its own. The schema of the system structure does not look
    into it, so most tools do not notice errors there.

    Fix: as the message says; the root of inline content needs all its attributes, `version` included.
    """
    came_with_2 = _CameWith2()
    for found in _violations(file, "XML-005"):
        inline = found.place
        if isinstance(inline, ssc.TopLevel) and "version" not in inline.attrib and "'version'" in found.message:
            found = replace(found, fix=rewritten(inline, "version", file.version))
        elif isinstance(inline, Element) and came_with_2(inline, found.attribute):
            document = container(inline)
            older = [root for root in (document, _root(file)) if root.get("version") == "1.0"]
            where = " and ".join(f"<{local_name(root.tag)}>" for root in older)
            fix = Fix(tuple(SetAttribute(root, "version", "2.0") for root in older))
            found = replace(found, advice=f'write version="2.0" in {where}', fix=fix)
        yield found


class _CameWith2:
    """True if the inline document of an element declares 1.0, and the violation does not occur in 2.0.

    Each inline document is checked once as 2.0, whatever the number of its findings.
    """

    def __init__(self) -> None:
        self._still: dict[Element, Set[tuple[Element, str]]] = {}

    def __call__(self, element: Element, attribute: str) -> bool:
        inline = container(element)
        if inline.getparent() is None or inline.get("version") != "1.0":
            return False
        if inline not in self._still:
            self._still[inline] = violated_places(inline, "2.0")
        return (element, attribute) not in self._still[inline]


@FILES.rule(
    "XML-006",
    severity=ERROR,
    basis=XSD,
    source="SSP 2.0, SystemStructureDescription11.xsd",
    versions=["2.0"],
    blocks_run=True,
)
def metadata_beside_inline(file: File) -> Iterator[Finding]:
    """`MetaData` and `Signature` of a parameter mapping or signal dictionary follow its inline content, and are valid.

    The usual XML Schema of SSP 2.0 admits anything at this place; only its XML Schema 1.1 variant says what is meant.

    Fix: put them behind the inline content, `MetaData` before `Signature`, with the attributes they need.
    """
    yield from _violations(file, "XML-006")


@FILES.rule("XML-008", severity=ERROR, basis=TEXT, source="SSP 2.0 §4 to §8", blocks_run=True)
def right_namespaces(file: File) -> Iterator[Finding]:
    """Elements are in the namespaces of SSP.

    Any prefix is allowed; the namespace counts. The `Real` of a connector, for example, is in the namespace of the
    common elements (ssc), not in that of the system structure. Drafts of the standard had other namespaces.

    Fix: correct the prefix or the `xmlns` declaration; all namespaces of SSP start with
    `http://ssp-standard.org/SSP1/SystemStructure`.
    """
    root = _root(file)
    if _local(root) == local_name(file.expected.qualified_name) and not _is_expected(file):
        found = root.tag.rpartition("}")[0].lstrip("{") or "no namespace"
        wanted = file.expected.qualified_name.rpartition("}")[0].lstrip("{")
        advice = f"the namespace of SSP 1.0 and 2.0 is {wanted}"
        yield Finding(root, f"'{_local(root)}' is in {found}", advice, _declaration(root))
    misspelt: dict[tuple[Element | Position, str], Finding] = {}
    for violation in _violations(file, "XML-008"):
        wrong = _misspelt_declaration(violation.place) if isinstance(violation.place, Element) else None
        if wrong is None:
            yield violation
        else:
            misspelt.setdefault((wrong.place, wrong.attribute), wrong)
    yield from misspelt.values()


@FILES.rule(
    "VER-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.1, §6.1, §7.1, §8.1", versions=["1.0"], blocks_run=True
)
def no_newer_features(file: File) -> Iterator[Finding]:
    """A file that declares version 1.0 uses nothing that came with 2.0.

    A tool for 1.0 refuses the file, or loses the newer features.

    Fix: write `version="2.0"`, or do without the feature.
    """
    for found in _violations(file, "VER-002"):
        yield replace(found, fix=rewritten(_root(file), "version", "2.0"))


@FILES.rule("ID-001", severity=ERROR, basis=XSD, source="SSP 2.0 §4.1", blocks_run=True)
def valid_ids(file: File) -> Iterator[Finding]:
    """An `id` is an XML name, and no other element of the file has it.

    References such as `#some-id` would point to several elements, or to none.

    Fix: choose another id; it starts with a letter or `_` and contains no blanks or colons.
    """
    yield from _violations(file, "ID-001")


@FILES.rule("SSD-ELEM-001", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2", blocks_run=True)
def named_elements(file: File) -> Iterator[Finding]:
    """The name of a system, component or signal dictionary reference is not empty.

    Connections and parameters address elements by name; there an empty name means the enclosing system.

    Fix: give the element a name that is unique in its system.
    """
    yield from _violations(file, "SSD-ELEM-001")


@FILES.rule("XML-009", severity=ERROR, basis=XSD, source="SSP 2.0, all schemas", blocks_run=True)
def no_empty_containers(file: File) -> Iterator[Finding]:
    """An element that holds a list, such as `Connectors`, is left out if the list is empty.

    Only the `Parameters` of a parameter set are required, and may be empty.

    Fix: delete the element.
    """
    for found in _violations(file, "XML-009"):
        empty = found.place
        if isinstance(empty, Element):
            plain = len(empty) == 0 and not empty.attrib  # contains no comment either
            yield replace(found, fix=deleted(empty, safe=plain))


@FILES.rule("SSD-COMP-001", severity=ERROR, basis=XSD, source="SSP 1.0.1 §5.4", versions=["1.0"], blocks_run=True)
def components_have_sources(file: File) -> Iterator[Finding]:
    """A component of SSP 1.0 has a `source`; since 2.0 a component without one is a placeholder.

    Fix: refer to an FMU, or declare version 2.0.
    """
    yield from _violations(file, "SSD-COMP-001")


@FILES.rule("ID-002", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.1")
def ids_across_inline_content(structure: Structure) -> Iterator[Finding]:
    """Ids are unique in the whole file, inline content of other formats and versions included.

    Fix: choose another id for one of the elements.

    Accepted: a reference points to the first system with that id.
    """
    first: dict[str, Element] = {}
    foreign = structure.foreign(structure.root)
    for element in structure.root.having("id"):
        if isinstance(element, ssc.Base) and element.id is not None and element not in foreign:
            other = first.setdefault(element.id, element)
            if other is not element:
                yield Finding(element, f"{other.address} has the id '{element.id}' too", "", "id")


@FILES.rule("VER-004", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.1, §2.2.1", versions=["1.0"])
def inline_version(inline: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """Content written inline in a 1.0 system structure does not declare 2.0.

    The file declares 1.0, but a tool for 1.0 cannot read all of it.

    Fix: declare 2.0 for the whole file, or move the content to a separate file.
    """
    if inline.getparent() is not None and inline.version == "2.0":
        yield Finding(inline, f"inline content of version 2.0 in a file of version {structure.version}", "", "version")


@FILES.rule("XML-007", severity=INFO, basis=SHOULD, source="SSP 2.0 §6, §7, §8")
def usual_ending(file: File) -> Iterator[Finding]:
    """Parameter sets, mappings and signal dictionaries have the endings .ssv, .ssm and .ssb.

    People and tools recognize the format by the ending, although the media type of the reference decides.

    Fix: rename the file, and the references to it.
    """
    ending = _ENDINGS.get(local_name(file.expected.qualified_name))
    if ending and _is_expected(file) and not file.name.lower().endswith(ending):
        yield Finding(_root(file), f"the file is a {_local(_root(file))}, usually named *{ending}")


@FILES.rule("XML-012", severity=WARNING, basis=POLICY, source="SSP 2.0 §5.1, §6.1; the schema admits an empty name")
def named_documents(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """The name of a system structure or parameter set is not blank.

    Users choose variants by that name.

    Fix: write a name that says what the file describes.
    """
    if isinstance(root, ssd.SystemStructureDescription | ssv.ParameterSet) and not root.name.strip():
        yield Finding(root, "the name is blank", "", "name")


_NEARLY = re.compile(r"v?([12])(\.0(\.\d+)?)?", re.IGNORECASE)


def _version(root: Element) -> Fix | None:
    """Replace the version by the most similar one, or by the first one for which the document is valid. The fix is safe
    if no version was stated.
    """
    stated = root.get("version", "").strip()
    if near := _NEARLY.fullmatch(stated):
        return rewritten(root, "version", f"{near[1]}.0")
    for version in VERSIONS:
        tried = deepcopy(root)
        tried.set("version", version)
        if not violated_places(tried, version):
            return rewritten(root, "version", version, safe=not stated)
    return None


def _root(file: File) -> Element:
    assert file.document is not None  # files without a tree are subjects of the rules over `Unreadable`
    return file.document.root


def _is_expected(file: File) -> bool:
    return isinstance(_root(file), file.expected)


def _local(element: Element) -> str:
    return local_name(element.tag)


def _violations(file: File, code: str) -> Iterator[Finding]:
    """Violations of the schema that belong to this code."""
    if file.violations and _is_expected(file):
        for violation in _by_code(file).get(code, ()):
            advice = 'write version="2.0"' if code == "VER-002" else ""
            yield Finding(violation.element, violation.message, advice, violation.attribute)


@lru_cache(maxsize=4)
def _by_code(file: File) -> dict[str, list[SchemaFinding]]:
    """Violations of the schema, each under the most specific code."""
    newer = set()
    if file.version == "1.0":
        still = violated_places(_root(file), "2.0")
        newer = {(one.element, one.attribute) for one in file.violations} - still
    found = defaultdict(list)
    for violation in file.violations:
        feature_of_2 = violation.part is DocumentPart.DOCUMENT and (violation.element, violation.attribute) in newer
        known = _code(violation)
        found["VER-002" if feature_of_2 and known != "SSD-COMP-001" else known].append(violation)
    return found


def _code(violation: SchemaFinding) -> str:
    element, attribute = violation.element, violation.attribute
    if not attribute and _in_wrong_namespace(element):
        return "XML-008"
    if attribute == "id":
        return "ID-001"
    if not attribute and element.tag in _containers() and next(element.iterchildren("*"), None) is None:
        return "XML-009"
    missing = violation.kind == "SCHEMAV_CVC_COMPLEX_TYPE_4"
    if missing and isinstance(element, ssd.Component) and "'source'" in violation.message:
        return "SSD-COMP-001"
    if attribute == "name" and not element.get("name") and isinstance(element, ssd.SystemElement):
        return "SSD-ELEM-001"
    of_document = "XML-101" if violation.unknown_attribute else "XML-004"
    return {DocumentPart.INLINE: "XML-005", DocumentPart.INLINE_METADATA: "XML-006"}.get(violation.part, of_document)


@cache
def _containers() -> frozenset[str]:
    """Elements that contain a list and must not be empty."""
    slots = [slot for kind in Element.kinds() for slot in kind.slots]
    return frozenset(slot.container for slot in slots if slot.container and not slot.keep)


def _in_wrong_namespace(element: Element) -> bool:
    """True if the element has the name of an SSP element, in another namespace of SSP."""
    known = _names()
    others = {f"{{{uri}}}{_local(element)}" for uri in NSMAP.values()}
    return element.tag not in known and bool(known & others)


def _declaration(element: Element) -> str:
    """Attribute that declares the namespace of an element; empty if it has none."""
    uri = element.tag.rpartition("}")[0].lstrip("{")
    prefix = next((key for key, value in element.nsmap.items() if value == uri), None)
    return "" if not uri else f"xmlns:{prefix}" if prefix else "xmlns"


def _misspelt_declaration(element: Element) -> Finding | None:
    """Declaration that puts an element into an unknown namespace; None if the namespace belongs to SSP, or there is
    none.
    """
    uri = element.tag.rpartition("}")[0].lstrip("{")
    if not uri or uri in NSMAP.values():
        return None
    known = _names()
    meant = [right for right in NSMAP.values() if f"{{{right}}}{_local(element)}" in known]
    name = _declaration(element)
    usual = NSMAP.get(name.partition(":")[2], "")
    right = usual if usual in meant else meant[0]
    around = [element, *(each for each in element.iterancestors() if uri in each.nsmap.values())]
    return Finding(cast(Element, around[-1]), f"{uri} is not a namespace of SSP", f'write {name}="{right}"', name)


@cache
def _names() -> frozenset[str]:
    """The qualified names of all elements of SSP."""
    return frozenset(kind.qualified_name for kind in Element.kinds())
