"""Subjects of rules: packages, files and structures, walks over their elements, and references from one to another.

A URI of a `source` attribute follows SSP 2.0 §5.4 and RFC 3986. Results about a structure that several rules need are
computed once and stored with the structure.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import unquote

from lxml import etree

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents import uri as uris
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument
from ssptool.documents.document import Document, Repair
from ssptool.documents.element import Element
from ssptool.documents.schema import SchemaFinding
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.vocabulary import (
    FMU,
    PACKAGE,
    PARAMETER_MAPPING,
    PARAMETER_SET,
    SIGNAL_DICTIONARY,
    SYSTEM_STRUCTURE,
    media_type,
)
from ssptool.errors import abbreviated
from ssptool.fmu.description import FmuDescription, UnreadableFmu
from ssptool.fmu.units import PhysicalUnit, named
from ssptool.network.conversion import document_units
from ssptool.rules.catalogue import Finding, repaired
from ssptool.rules.fmu_files import FmuFile

E = TypeVar("E", bound=Element)

_HOLDING = (ssc.Annotation, ssc.Content, ssd.ParameterValues, ssd.ParameterMapping, ssd.SignalDictionary)
_HOLDERS = tuple(kind.qualified_name for kind in _HOLDING)
# Looking up the class is fastest.
_HOLDING_CLASSES = frozenset(form for kind in _HOLDING for form in kind.forms)


def every(root: Element, *kinds: type[E]) -> Iterator[E]:
    """All elements of these kinds in document order, including the root and inline content."""
    # In one pass, because foreign elements come after their container.
    foreign: set[etree._Element] = set()
    for element in root.iter(*{*(kind.qualified_name for kind in kinds), *_HOLDERS}):
        if isinstance(element, kinds) and not (foreign and element in foreign):
            yield element
        if type(element) in _HOLDING_CLASSES:
            foreign.update(_foreign_in(element))


def foreign_elements(root: Element) -> frozenset[etree._Element]:
    """Elements that no schema of SSP covers.

    These are the content of annotations and metadata, and inline content that is not an SSP document.
    """
    return frozenset(element for holder in root.iter(*_HOLDERS) for element in _foreign_in(holder))


def _foreign_in(holder: etree._Element) -> Iterator[etree._Element]:
    for child in holder.iterchildren("*"):
        if _is_foreign(holder, child):
            yield from child.iter("*")


def _is_foreign(holder: etree._Element, child: etree._Element) -> bool:
    if isinstance(holder, ssc.Annotation | ssc.Content):
        return True
    return not isinstance(child, ssc.TopLevel | ssc.MetaData | ssc.Signature | ssc.Annotation)


def first(element: Element, kind: type[E]) -> E | None:
    """The first child of a kind; faster than a search of lxml for many tags."""
    for child in element:
        if isinstance(child, kind):
            return child
    return None


def around(element: Element, kind: type[E]) -> Iterator[E]:
    """The elements of this kind that contain an element, the nearest first."""
    for ancestor in element.iterancestors():
        if isinstance(ancestor, kind):
            yield ancestor


def full_name(element: ssd.SystemElement) -> str:
    """The names of the systems around an element except the outermost, and its own, joined by dots."""
    return ".".join((*[system.name for system in around(element, ssd.System)][-2::-1], element.name))


def container(element: Element) -> ssc.TopLevel:
    """The root of the (possibly inline) document that contains an element."""
    return element if isinstance(element, ssc.TopLevel) else next(around(element, ssc.TopLevel))


_NOT_IN_URIS = re.compile(r'[\s\\<>"{}|^`]|%(?![0-9A-Fa-f]{2})')
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|/")


class Reach(StrEnum):
    """Target of a URI."""

    INSIDE = "to an entry of the package"
    SAME_DOCUMENT = "to the document itself"
    OUTSIDE = "out of the package"
    ABSOLUTE = "to an absolute address"
    INVALID = "nowhere: it is not a URI"
    UNKNOWN = "into a component that cannot be opened"


class Reference(NamedTuple):
    """A URI resolved against a file: `entry` is the path inside the archive, `fragment` the part after `#`."""

    uri: str
    reach: Reach
    entry: str = ""
    fragment: str = ""
    reason: str = ""


def inside(reference: Reference) -> str:
    """Entry of the system structure in a referenced package: the one in the fragment, or the default one."""
    return f"{reference.entry}{NESTING_MARK}{unquote(reference.fragment) or DEFAULT_STRUCTURE}"


def resolve(uri: str, base: str, within: Callable[[str, str], str] = uris.resolve) -> Reference:
    """Resolve a URI against the file of the archive that contains it; `within` resolves it in packages inside of the
    archive.
    """
    path, _, fragment = uri.partition("#")
    if wrong := _NOT_IN_URIS.search(uri):
        return Reference(uri, Reach.INVALID, reason=f"the character {wrong[0][:1]!r} is not allowed there")
    if _ABSOLUTE.match(path):
        return Reference(uri, Reach.ABSOLUTE, fragment=fragment)
    if not path:
        return Reference(uri, Reach.SAME_DOCUMENT, base, fragment)
    try:
        return Reference(uri, Reach.INSIDE, within(base, path), fragment)
    except uris.UnresolvableUri as problem:
        leaves = ".." in path.split("/")
        return Reference(uri, Reach.OUTSIDE if leaves else Reach.INVALID, reason=problem.reason)


def refer(element: Element, uri: str, base: str, archive: Archive) -> Reference:
    """Resolve a URI of an element in the file `base`, according to `sourceBase`."""
    holder = _base(element)
    if holder is None:
        return resolve(uri, base, archive.resolve)
    whole = refer(holder, getattr(holder, "source", None) or "", base, archive)
    if whole.reach is not Reach.INSIDE or not archive.has(whole.entry):
        return Reference(uri, Reach.UNKNOWN)
    if isinstance(holder, ssd.Component) and not whole.entry.lower().endswith(".ssd"):
        return resolve(uri, whole.entry, archive.inside)
    return resolve(uri, whole.entry, archive.resolve)


def _base(element: Element) -> Element | None:
    """The enclosing element whose file is the base of a URI; None if the base is the document itself."""
    match getattr(element, "source_base", None):
        case ssd.SourceBase.COMPONENT:
            return next(around(element, ssd.Component), None)
        case ssc.MetaSourceBase.RESOURCE | ssc.MetaSourceBase.META_DATA:
            return next(around(element, Element), None)
        case _:
            return None


R = TypeVar("R", bound=Element)

STRUCTURE_TYPES = (SYSTEM_STRUCTURE, PACKAGE)
WITH_UNITS = (ssd.SystemStructureDescription, ssv.ParameterSet, ssb.SignalDictionary)
DOCUMENT_ROOTS: tuple[type[ssc.TopLevel], ...] = (*WITH_UNITS, ssm.ParameterMapping)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An archive, or its file `name`, that could not be opened because of `problems`."""

    problems: tuple[Diagnostic, ...]
    archive: Archive | None = None
    name: str = ""

    def reported(self, code: str, repair: Callable[[bytes], Repair | None] | None = None) -> Iterator[Finding]:
        """Problems of this code, with the fix that may repair the file."""
        for problem in self.problems:
            if problem.code == code:
                fix = None
                if self.archive is not None and repair is not None:
                    fix = repaired(self.archive, self.name, repair(self.archive.read(self.name)))
                yield Finding(problem.position, problem.message, problem.advice, fix=fix)


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One XML document of the package, readable or not.

    `expected` is the root element that the reference states; `problems` are the reasons if the file has no tree;
    `violations` are violations of the schema of its declared version.
    """

    name: str
    expected: type[ssc.TopLevel]
    document: Document | None
    problems: tuple[Diagnostic, ...] = ()
    violations: tuple[SchemaFinding, ...] = ()

    @property
    def version(self) -> str:
        return self.document.version if self.document else ""

    @property
    def valid(self) -> bool:
        """True if the document is schema-valid, except for unknown attributes."""
        return (
            self.document is not None
            and isinstance(self.document.root, self.expected)
            and self.version in ("1.0", "2.0")
            and all(one.unknown_attribute for one in self.violations)
        )


_UNKNOWN = object()


@dataclass(frozen=True, eq=False)
class Structure:
    """One (schema-valid) SSD with everything that it refers to.

    `files` are the parameter sets, mappings and dictionaries that it refers to, `fmu_files` the FMUs of its components,
    `inner` the SSDs that components refer to, including those in packages inside of the archive; all by path in the
    archive. `opened` returns such an SSD as a structure.
    """

    archive: Archive
    file: File
    files: Mapping[str, File]
    fmu_files: Mapping[str, FmuFile]
    inner: Mapping[str, File]
    opened: "Callable[[str], Structure]"
    _components: dict[Element, FmuDescription | None] = field(default_factory=dict, repr=False)
    _units: dict[Element, Mapping[str, PhysicalUnit]] = field(default_factory=dict, repr=False)
    _foreign: dict[Element, frozenset[etree._Element]] = field(default_factory=dict, repr=False)
    _found: dict[type[Element], tuple[Any, ...]] = field(default_factory=dict, repr=False)
    _references: dict[str, Reference] = field(default_factory=dict, repr=False)
    _instances: "dict[Element, Instance | None]" = field(default_factory=dict, repr=False)
    memory: dict[Any, dict[Any, Any]] = field(default_factory=dict, repr=False)
    """Function → its result for the structure; see `remembered`."""

    @property
    def root(self) -> ssd.SystemStructureDescription:
        assert self.file.document is not None
        return self.file.document.structure

    @property
    def version(self) -> str:
        return self.file.version

    @cached_property
    def fmus(self) -> Mapping[str, FmuDescription | UnreadableFmu]:
        """Model descriptions of the FMUs, or the reason why one cannot be read."""
        return {entry: fmu.description for entry, fmu in self.fmu_files.items()}

    @cached_property
    def systems(self) -> tuple[ssd.System, ...]:
        """The root system and those inside it, in document order."""
        return tuple(self.root.systems())

    def all(self, kind: type[R]) -> tuple[R, ...]:
        """Elements of a kind in the SSD, including inline content, in document order."""
        if kind not in self._found:
            self._found[kind] = tuple(every(self.root, kind))
        return self._found[kind]

    def tables(self) -> Iterator[str]:
        """Existing entries that table components refer to."""
        for component in self.all(ssd.Component) if self.file.valid else ():
            if component.is_table:
                reference = self.reference(component, component.source or "")
                if reference.reach is Reach.INSIDE and self.archive.has(reference.entry):
                    yield reference.entry

    def roots(self) -> Iterator[ssc.TopLevel]:
        """Root elements of the structure: its own, then those of the valid files that it refers to."""
        yield self.root
        for file in self.files.values():
            if file.valid and file.document is not None:
                yield file.document.root_as(file.expected)

    def documents(self) -> Iterator[ssc.TopLevel]:
        """The roots and their inline documents, each with its own units and enumerations."""
        for root in self.roots():
            yield from every(root, *DOCUMENT_ROOTS)

    def bindings_and_mappings(self) -> Iterator[ssd.ParameterBinding | ssd.ParameterMapping]:
        for binding in self.all(ssd.ParameterBinding):
            yield binding
            if binding.parameter_mapping is not None:
                yield binding.parameter_mapping

    def foreign(self, root: Element) -> frozenset[etree._Element]:
        """The elements of a document that no schema of SSP covers; see `foreign_elements`."""
        if root not in self._foreign:
            self._foreign[root] = foreign_elements(root)
        return self._foreign[root]

    def units(self, root: Element) -> Mapping[str, PhysicalUnit]:
        """The units that a document defines."""
        if root not in self._units:
            self._units[root] = document_units(root) if isinstance(root, WITH_UNITS) else {}
        return self._units[root]

    def unit(self, root: Element, name: str | None) -> PhysicalUnit | None:
        """Unit with this name in a document, from its definition, otherwise from its name; None if unknown."""
        unit = named(self.units(root), name)
        return None if unit is None or unit.exponents is None else unit

    def line_of(self, element: Element) -> int:
        """Line of an element of the SSD."""
        return 0 if self.file.document is None else self.file.document.line_of(element)

    def reference(self, element: Element, uri: str) -> Reference:
        """Resolve the URI of an element of the SSD, or of a file that the SSD refers to."""
        if isinstance(element, ssc.MetaData | ssc.Signature):
            return refer(element, uri, element.position.file, self.archive)
        if isinstance(element, ssd.ParameterBinding | ssd.ParameterMapping):
            return refer(element, uri, self.file.name, self.archive)
        if uri not in self._references:
            self._references[uri] = refer(element, uri, self.file.name, self.archive)
        return self._references[uri]

    def fmu_of(self, element: Element | None) -> FmuDescription | None:
        """The model description of a component; None if it is not an FMU, or cannot be read."""
        if not isinstance(element, ssd.Component):
            return None
        known = self._components.get(element, _UNKNOWN)
        if known is _UNKNOWN:
            reference = self.reference(element, element.source or "")
            packed = is_fmu(element) and reference.reach is Reach.INSIDE
            description = self.fmus.get(reference.entry) if packed else None
            known = self._components[element] = description if isinstance(description, FmuDescription) else None
        return cast("FmuDescription | None", known)

    def instance(self, element: Element | None) -> "Instance | None":
        """The system that a component refers to; None for an FMU or an unreadable system."""
        if not isinstance(element, ssd.Component):
            return None
        if element not in self._instances:
            self._instances[element] = self._instance(element)
        return self._instances[element]

    def _instance(self, component: ssd.Component) -> "Instance | None":
        if not is_structure(component) or not component.source:
            return None
        reference = self.reference(component, component.source or "")
        if reference.reach is Reach.SAME_DOCUMENT:
            return self._with_id(reference.fragment)
        packed = is_packed(component)
        file = self.inner.get(inside(reference) if packed else reference.entry)
        if reference.reach is not Reach.INSIDE or file is None or not file.valid:
            return None
        structure = self.opened(file.name)
        whole = packed or not reference.fragment
        return Instance(structure.root.system, structure) if whole else structure._with_id(reference.fragment)

    def _with_id(self, identifier: str) -> "Instance | None":
        found = (system for system in self.systems if system.id == identifier)
        return (
            next((Instance(system, self) for system in found), None) if identifier else Instance(self.root.system, self)
        )

    def variants_of(self, package: str) -> list[str]:
        """System structures at the root of a package inside of the archive; empty if it cannot be opened."""
        try:
            with Archive.open(self.archive.local_path(package)) as inner:
                return [name for name in inner.names() if "/" not in name and name.lower().endswith(".ssd")]
        except InvalidDocument:
            return []

    def parameter_set_of(self, binding: ssd.ParameterBinding) -> ssv.ParameterSet | None:
        """The values of a binding, inline or in a file; None if missing or not an SSV."""
        if binding.type != PARAMETER_SET:
            return None
        if binding.source is None:
            return binding.parameter_set
        return self._root_of(binding, binding.source, ssv.ParameterSet)

    def mapping_of(self, mapping: ssd.ParameterMapping) -> ssm.ParameterMapping | None:
        """A mapping, inline or in a file; None if missing or not an SSM."""
        if mapping.type != PARAMETER_MAPPING:
            return None
        return (
            mapping.inline if mapping.source is None else self._root_of(mapping, mapping.source, ssm.ParameterMapping)
        )

    def dictionary_of(self, dictionary: ssd.SignalDictionary) -> ssb.SignalDictionary | None:
        """A dictionary, inline or in a file; None if missing or not an SSB."""
        if dictionary.type != SIGNAL_DICTIONARY:
            return None
        if dictionary.source is None:
            return dictionary.inline
        return self._root_of(dictionary, dictionary.source, ssb.SignalDictionary)

    def _root_of(self, element: Element, uri: str, kind: type[R]) -> R | None:
        reference = self.reference(element, uri)
        file = self.files.get(reference.entry) if reference.reach is Reach.INSIDE else None
        if file is None or not file.valid or file.document is None:
            return None
        return file.document.root if isinstance(file.document.root, kind) else None


@dataclass(frozen=True, slots=True)
class Instance:
    """A system that a component refers to, and its structure."""

    system: ssd.System
    structure: Structure


class LoneDocument(Structure):
    """A single parameter set, parameter mapping or signal dictionary, without a structure."""

    @property
    def root(self) -> Any:
        assert self.file.document is not None
        return self.file.document.root_as(self.file.expected)


@dataclass(frozen=True, eq=False)
class Package:
    """An archive with its checked structures and all files that these refer to.

    `packages` are nested packages, whose contents are not included; `complete`: true if all structures at the root are
    checked.
    """

    archive: Archive
    files: tuple[File, ...]
    structures: tuple[Structure, ...]
    packages: tuple[str, ...]
    complete: bool
    lines: dict[str, Sequence[str]] = field(default_factory=dict, repr=False)
    """File → its lines, for excerpts."""

    def forget(self) -> None:
        """Drop cached results of rules, which for a large system need more memory than excerpts and reports may add."""
        for structure in self.structures:
            structure.memory.clear()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the entries of the archive, read once."""
        return self.archive.names()

    @property
    def alone(self) -> bool:
        """True for a single document, false for a package."""
        return any(isinstance(structure, LoneDocument) for structure in self.structures)


def is_fmu(component: ssd.Component) -> bool:
    """True if the type of a component is that of an FMU."""
    stated = component.get("type")
    if stated is None:
        return component.media_type == FMU and not _of_same_document(component)
    return media_type(stated) == FMU


def once_per_source(
    structure: Structure, texts: Callable[[ssd.Component, Structure], Iterator[tuple[str, str]]]
) -> Iterator[Finding]:
    """Findings about the files of components: one per file and text, at the first component that uses it.

    `texts` are message and advice for a component. If several components use the file, the message names them.
    """
    users: dict[tuple[str | None, str, str], list[ssd.Component]] = {}
    for component in structure.all(ssd.Component):
        for message, advice in texts(component, structure):
            users.setdefault((component.source, message, advice), []).append(component)
    for (_, message, advice), components in users.items():
        if len(components) > 1:
            message += f" ({len(components)} components: {abbreviated(map(full_name, components))})"
        yield Finding(components[0], message, advice, "source")


def is_structure(component: ssd.Component) -> bool:
    """True if a component refers to a system structure."""
    stated = component.get("type")
    return _of_same_document(component) if stated is None else media_type(stated) in STRUCTURE_TYPES


def _of_same_document(component: ssd.Component) -> bool:
    """True if a component without a type is a system of the same document: `source="#id"` (AMB-18)."""
    return (component.source or "").startswith("#") and component.get("type") is None


def is_packed(component: ssd.Component) -> bool:
    """True if a component that refers to a system refers to a package; if extension and type differ, the extension
    counts.
    """
    ending = (component.source or "").partition("#")[0].lower().rpartition(".")[2]
    return ending == "ssp" or (ending != "ssd" and component.media_type == PACKAGE)


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remembered(find: Callable[[K, Structure], V]) -> Callable[[K, Structure], V]:
    """Decorator: cache the results of a function of a subject and a structure in the structure."""

    def recall(key: K, structure: Structure) -> V:
        known: dict[K, V] = structure.memory.setdefault(find, {})
        if key not in known:
            known[key] = find(key, structure)
        return known[key]

    recall.__doc__ = find.__doc__
    return recall


def found_once(find: Callable[[Structure], V]) -> Callable[[Structure], V]:
    """Decorator: cache the result of a function of a structure in the structure."""

    of_whole = remembered(lambda _whole, structure: find(structure))

    def recall(structure: Structure) -> V:
        return of_whole(None, structure)

    recall.__doc__ = find.__doc__
    return recall


def pool(kind: type[V], structure: Structure) -> dict[Any, V]:
    """Values of a class by their arguments, shared within a structure."""
    return structure.memory.setdefault(kind, {})


def content(holder: Element | None) -> list[Element]:
    """The inline content, without metadata and signatures."""
    if holder is None:
        return []
    children = [child for child in holder.iterchildren("*") if isinstance(child, Element)]
    return [child for child in children if not isinstance(child, ssc.MetaData | ssc.Signature)]


def wrong_number(holder: Element, source: str | None, inline: list[Element], what: str) -> Iterator[Finding]:
    if source is not None and inline:
        yield Finding(holder, f"{what} has both a source and inline content", "remove one of them", "source")
    if source is None and not inline:
        yield Finding(holder, f"{what} has neither a source nor inline content", "add one of them")


def wrong_content(holder: Element, inline: list[Element], expected: type[Element]) -> Iterator[Finding]:
    """Finding on inline content that is not one element of the expected kind."""
    if inline and not (len(inline) == 1 and isinstance(inline[0], expected)):
        found = ", ".join(child.tag.rpartition("}")[2] for child in inline[:3])
        name = expected.qualified_name.rpartition("}")[2]
        yield Finding(holder, f"expected one {name}, found {found}")
