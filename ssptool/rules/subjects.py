"""What rules run over, besides elements: the package, a file of it, and a system structure with all it refers to."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, TypeVar

from ssptool.dataclass import dataclass
from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.media_types import (
    FMU,
    PACKAGE,
    PARAMETER_MAPPING,
    PARAMETER_SET,
    SIGNAL_DICTIONARY,
    SYSTEM_STRUCTURE,
)
from ssptool.documents.repair import Repair
from ssptool.documents.schema import SchemaFinding
from ssptool.fmu.description import FmuDescription, UnreadableFmu
from ssptool.fmu.units import Unit, named
from ssptool.network.units import document_units
from ssptool.rules.catalogue import Finding
from ssptool.rules.fixes import repaired
from ssptool.rules.references import Reach, Reference, inside, refer
from ssptool.rules.trees import every

R = TypeVar("R", bound=Element)

STRUCTURE_TYPES = (SYSTEM_STRUCTURE, PACKAGE)
WITH_UNITS = (ssd.SystemStructureDescription, ssv.ParameterSet, ssb.SignalDictionary)
DOCUMENT_ROOTS: tuple[type[ssc.TopLevel], ...] = (*WITH_UNITS, ssm.ParameterMapping)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An archive, or the file of this `name` in it, that could not be opened; `problems` say why."""

    problems: tuple[Diagnostic, ...]
    archive: Archive | None = None
    name: str = ""

    def reported(self, code: str, repair: Callable[[bytes], Repair | None] | None = None) -> Iterator[Finding]:
        """What the reader said under this code, with the fix that may repair the file."""
        for problem in self.problems:
            if problem.code == code:
                fix = None
                if self.archive is not None and repair is not None:
                    fix = repaired(self.archive, self.name, repair(self.archive.read(self.name)))
                yield Finding(problem.position, problem.message, problem.advice, fix=fix)


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One XML document of the package, readable or not.

    `expected` is the root element that the reference to it promises; `problems` say why it has no tree;
    `violations` are those of the schema of the version that it declares.
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
        """Whether rules may rely on its structure."""
        return (
            self.document is not None
            and isinstance(self.document.root, self.expected)
            and self.version in ("1.0", "2.0")
            and not self.violations
        )


@dataclass(frozen=True, eq=False)
class Structure:
    """One (schema-valid) SSD with everything that it refers to.

    `files` are the parameter sets, mappings and dictionaries it names, `fmus` the model descriptions of its
    components or why there is none, `inner` the SSDs that components are made of, those in packages inside the archive
    included; all by their path in the archive. `opened` gives such an SSD with what that refers to.
    """

    archive: Archive
    file: File
    files: Mapping[str, File]
    fmus: Mapping[str, FmuDescription | UnreadableFmu]
    inner: Mapping[str, File]
    opened: "Callable[[str], Structure]"
    _components: dict[Element, FmuDescription | None] = field(default_factory=dict, repr=False)
    _units: dict[Element, Mapping[str, Unit]] = field(default_factory=dict, repr=False)
    _found: dict[type[Element], tuple[Any, ...]] = field(default_factory=dict, repr=False)
    _references: dict[str, Reference] = field(default_factory=dict, repr=False)
    _instances: "dict[Element, Instance | None]" = field(default_factory=dict, repr=False)
    memory: dict[Any, dict[Any, Any]] = field(default_factory=dict, repr=False)
    """By function: what it found of the structure; see `ssptool.rules.memory`."""

    @property
    def root(self) -> ssd.SystemStructureDescription:
        assert self.file.document is not None
        return self.file.document.structure

    @property
    def version(self) -> str:
        return self.file.version

    def all(self, kind: type[R]) -> tuple[R, ...]:
        """The elements of a kind in the SSD, those of inline content included, in document order."""
        if kind not in self._found:
            self._found[kind] = tuple(every(self.root, kind))
        return self._found[kind]

    def tables(self) -> Iterator[str]:
        """The entries of the files that components of type table name and that are there."""
        for component in self.all(ssd.Component) if self.file.valid else ():
            if component.is_table:
                reference = self.reference(component, component.source or "")
                if reference.reach is Reach.INSIDE and self.archive.has(reference.entry):
                    yield reference.entry

    def roots(self) -> Iterator[ssc.TopLevel]:
        """The trees of the structure: its own, then those of the valid files that it refers to."""
        yield self.root
        for file in self.files.values():
            if file.valid and file.document is not None:
                yield file.document.root_as(file.expected)

    def documents(self) -> Iterator[ssc.TopLevel]:
        """The roots, and the documents written inline in them: each has units and enumerations of its own."""
        for root in self.roots():
            yield from every(root, *DOCUMENT_ROOTS)

    def bindings_and_mappings(self) -> Iterator[ssd.ParameterBinding | ssd.ParameterMapping]:
        for binding in self.all(ssd.ParameterBinding):
            yield binding
            if binding.parameter_mapping is not None:
                yield binding.parameter_mapping

    def units(self, root: Element) -> Mapping[str, Unit]:
        """The units that a document defines."""
        if root not in self._units:
            self._units[root] = document_units(root) if isinstance(root, WITH_UNITS) else {}
        return self._units[root]

    def unit(self, root: Element, name: str | None) -> Unit | None:
        """The unit that a document means by a name; None if neither a definition nor the name tells it."""
        unit = named(self.units(root), name)
        return None if unit is None or unit.exponents is None else unit

    def line_of(self, element: Element) -> int:
        """The line of an element of the SSD."""
        return 0 if self.file.document is None else self.file.document.line_of(element)

    def reference(self, element: Element, uri: str) -> Reference:
        """What the URI of an element of the SSD, or of a file that it names, refers to."""
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
        if element not in self._components:
            reference = self.reference(element, element.source or "")
            packed = is_fmu(element) and reference.reach is Reach.INSIDE
            description = self.fmus.get(reference.entry) if packed else None
            self._components[element] = description if isinstance(description, FmuDescription) else None
        return self._components[element]

    def instance(self, element: Element | None) -> "Instance | None":
        """The system that a component is an instance of; None if it is an FMU, or that system cannot be read."""
        if not isinstance(element, ssd.Component):
            return None
        if element not in self._instances:
            self._instances[element] = self._instance(element)
        return self._instances[element]

    def _instance(self, component: ssd.Component) -> "Instance | None":
        if not component.source or not is_structure(component):
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
        found = (system for system in self.root.systems() if system.id == identifier)
        return (
            next((Instance(system, self) for system in found), None) if identifier else Instance(self.root.system, self)
        )

    def variants_of(self, package: str) -> list[str]:
        """The system structures at the root of a package inside the archive; none if it cannot be opened."""
        try:
            with Archive.open(self.archive.local_path(package)) as inner:
                return [name for name in inner.names() if "/" not in name and name.lower().endswith(".ssd")]
        except InvalidDocument:
            return []

    def parameter_set_of(self, binding: ssd.ParameterBinding) -> ssv.ParameterSet | None:
        """The values of a binding, inline or in a file; None if they are not there or not an SSV."""
        if binding.type != PARAMETER_SET:
            return None
        if binding.source is None:
            return binding.parameter_set
        return self._root_of(binding, binding.source, ssv.ParameterSet)

    def mapping_of(self, mapping: ssd.ParameterMapping) -> ssm.ParameterMapping | None:
        """A mapping, inline or in a file; None if it is not there or not an SSM."""
        if mapping.type != PARAMETER_MAPPING:
            return None
        return (
            mapping.inline if mapping.source is None else self._root_of(mapping, mapping.source, ssm.ParameterMapping)
        )

    def dictionary_of(self, dictionary: ssd.SignalDictionary) -> ssb.SignalDictionary | None:
        """A dictionary, inline or in a file; None if it is not there or not an SSB."""
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
    """A system that a component is, in the structure where it stands."""

    system: ssd.System
    structure: Structure


@dataclass(frozen=True, eq=False)
class Package:
    """An archive with the structures in it that are checked, and all files that these refer to.

    `packages` are those inside it, which are not looked into; `complete`: these are all structures at its root.
    """

    archive: Archive
    files: tuple[File, ...]
    structures: tuple[Structure, ...]
    packages: tuple[str, ...]
    complete: bool

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The entries of the archive, listed once."""
        return self.archive.names()


def is_fmu(component: ssd.Component) -> bool:
    """Whether a component says that it is an FMU."""
    return component.media_type == FMU and not _of_same_document(component)


def is_structure(component: ssd.Component) -> bool:
    """Whether a component says that it is a system of its own."""
    return component.media_type in STRUCTURE_TYPES or _of_same_document(component)


def _of_same_document(component: ssd.Component) -> bool:
    """Whether a component without a type is a system of the same document: `source="#id"` (AMB-18)."""
    return (component.source or "").startswith("#") and component.get("type") is None


def is_packed(component: ssd.Component) -> bool:
    """Whether a component that is a system of its own refers to a package; where ending and type differ, the ending."""
    ending = (component.source or "").partition("#")[0].lower().rpartition(".")[2]
    return ending == "ssp" or (ending != "ssd" and component.media_type == PACKAGE)
