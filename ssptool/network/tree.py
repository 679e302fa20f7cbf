"""The tree of systems and components of an SSD, with the FMUs, SSDs and signal dictionaries that they refer to.

A place is a system, a component or a reference to a signal dictionary, with its path in the tree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ssptool.documents import ssb, ssd
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.document import Document, Positions
from ssptool.documents.storage import NESTING_MARK, MissingEntry
from ssptool.documents.vocabulary import FMU, PACKAGE, SIGNAL_DICTIONARY, SYSTEM_STRUCTURE
from ssptool.fmu.description import FmuDescription, UnreadableFmu, shape_of, unsupported_of_fmi1, with_array_elements
from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION
from ssptool.fmu.read_description import read_description
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.conversion import document_units
from ssptool.network.network import LoneFmu, Scope, Signal, TableOutput, UnsupportedFeature
from ssptool.network.tables import TableFile, outputs_of, read_table

ElementPath: TypeAlias = tuple[str, ...]
"""Names of the elements from the root system (not included) to a place; names may contain dots."""


def dotted(path: ElementPath) -> str:
    """Full name of a place; for a single FMU still a `LoneFmu`."""
    return path[0] if len(path) == 1 else ".".join(path)


@dataclass(frozen=True, slots=True, eq=False)
class SystemPlace:
    """A system in the tree.

    `host` is the component that refers to this system, if there is one. Then the connectors of the component are the
    outer side of the system, and its bindings are applied after those of the system.
    """

    path: ElementPath
    system: ssd.System
    scope: Scope
    host: ssd.Component | None = None
    host_scope: Scope | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ComponentPlace:
    """An FMU or a table in the tree; `source` is its entry in the archive.

    `elements` is `fmu` with arrays replaced by their elements, with the sizes at this place. For a table, `fmu` has a
    variable for each output, and `table` the values; for an FMU `table` is None.
    """

    path: ElementPath
    component: ssd.Component
    scope: Scope
    source: str
    fmu: FmuDescription
    elements: FmuDescription
    table: Mapping[str, TableOutput] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MissingPlace:
    """A component without a readable implementation: its `kind` is `problem` (such as FMU, "not readable")."""

    path: ElementPath
    component: ssd.Component
    scope: Scope
    kind: str
    problem: str

    def __str__(self) -> str:
        return f"the {self.kind} of {dotted(self.path)} is {self.problem}"


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryPlace:
    """A signal dictionary of the system at `path`; `units` are those of its entries."""

    path: ElementPath
    name: str
    content: ssb.SignalDictionary
    entries: Mapping[str, ssb.DictionaryEntry]
    units: Mapping[str, PhysicalUnit]


@dataclass(frozen=True, slots=True, eq=False)
class ReferencePlace:
    """A reference to a signal dictionary in the tree; `dictionary` is None if missing or unreadable."""

    path: ElementPath
    reference: ssd.SignalDictionaryReference
    scope: Scope
    dictionary: DictionaryPlace | None


@dataclass(slots=True)
class Tree:
    """All places in document order, systems before their content.

    `sizes` are integer parameter values of variables and connectors, some of which are sizes of arrays.
    """

    systems: list[SystemPlace] = field(default_factory=list)
    components: list[ComponentPlace] = field(default_factory=list)
    references: list[ReferencePlace] = field(default_factory=list)
    missing: list[MissingPlace] = field(default_factory=list)
    unsupported: list[UnsupportedFeature] = field(default_factory=list)
    assumed_units: dict[str, PhysicalUnit] = field(default_factory=dict)
    sizes: Mapping[Signal, int] = field(default_factory=dict)

    def rely_on(self, *units: PhysicalUnit | None) -> None:
        """Register undefined units whose meaning a conversion derives from the name."""
        self.assumed_units.update((unit.name, unit) for unit in units if unit is not None and unit.assumed)

    def refuse(
        self,
        position: Position,
        feature: str,
        signal: Signal | None = None,
        rules: tuple[str, ...] = (),
        advice: str = "",
    ) -> None:
        self.unsupported.append(UnsupportedFeature(position, feature, signal, rules, advice))


MOST_ELEMENTS = 100_000
"""Largest number of array elements of all connectors. A stated size could require any amount of memory: each element is
a signal of its own, with about 900 bytes.
"""

MOST_ELEMENTS_OF_FMU = 2_000_000
"""Largest number of array elements of the variables of one component, which a parameter could determine; they need less
memory.
"""


def sized(fmu: FmuDescription, sizes: Mapping[str, int], entry: str, tree: Tree) -> FmuDescription:
    """`fmu` with arrays replaced by elements; if that is impossible, it is unchanged and reported as unsupported."""
    total = sum(prod(shape_of(variable, sizes)) for variable in fmu.variables.values() if variable.shape)
    position = Position(f"{entry.rstrip('/')}/{MODEL_DESCRIPTION}")
    if total > MOST_ELEMENTS_OF_FMU:
        tree.refuse(position, f"arrays with {total} elements in total, more than the limit of {MOST_ELEMENTS_OF_FMU}")
        return fmu
    try:
        return with_array_elements(fmu, sizes)
    except ValueError as problem:
        tree.refuse(position, str(problem))
        return fmu


_ENDING = ".fmu"


def fmu_entry(archive: Archive, entry: str) -> str:
    """The entry of the FMU of a component with the source `entry`.

    A folder with a model description is an unpacked FMU. If `x.fmu` is missing, the folder `x` is used.
    """
    if archive.has(entry):
        return entry
    folder = entry.rstrip("/")
    plain = folder[: -len(_ENDING)] if folder.lower().endswith(_ENDING) else folder
    return next((name for name in (folder, plain) if archive.has(f"{name}/{MODEL_DESCRIPTION}")), entry)


def has_fmu(archive: Archive, entry: str) -> bool:
    """True if an FMU exists, as a file or unpacked."""
    return archive.has(entry) or fmu_entry(archive, entry) != entry or archive.has(f"{entry}/{MODEL_DESCRIPTION}")


def fmu_path(archive: Archive, entry: str) -> Path:
    """The path of the FMU for `read_description`.

    Raises
    ------
    MissingEntry, InvalidDocument
        The FMU is missing or cannot be unpacked.
    """
    return archive.local_path(fmu_entry(archive, entry))


MOST_PLACES = 1_000_000
"""Largest number of systems and components."""

MOST_COPIES = 20_000
"""Largest number of systems and components in repeated uses of systems. 30 systems, each of which refers to the next
one twice, would be a thousand million, and each takes a part of a millisecond whenever the system is read.
"""


def build_tree(archive: Archive, structure: Document) -> Tree:
    """Build the tree of an SSD; components without a readable implementation are `missing`, and rules report them."""
    tree = Tree()
    root = structure.structure
    scope = Scope(archive, structure, document_units(root), Positions(structure))
    _TreeBuilder(tree).system(SystemPlace((), root.system, scope), Around(frozenset(), {}))
    return tree


class Around(NamedTuple):
    """Surroundings of a place: enclosing systems, which must not recur, and the nearest dictionary of each name."""

    systems: frozenset[ssd.System]
    dictionaries: Mapping[str, DictionaryPlace]


class _TreeBuilder:
    """Walks through the documents; reads each model description and each SSD once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._fmus: dict[str, FmuDescription | None] = {}
        self._files: dict[str, TableFile] = {}
        self._with_elements: dict[str, FmuDescription] = {}
        self._names: set[ElementPath] = set()
        self._full_names: set[str] = set()
        self._identified: dict[str, dict[str, ssd.System]] = {}
        self._used: set[ssd.System] = set()
        self._copies = 0

    def system(self, place: SystemPlace, outside: Around) -> None:
        self.tree.systems.append(place)
        own = {dictionary.name: dictionary for dictionary in self._dictionaries(place)}
        around = Around(outside.systems | {place.system}, {**outside.dictionaries, **own})
        copied = place.system in self._used
        self._used.add(place.system)
        for element in place.system.elements:
            lone = place.scope.archive.is_fmu and not place.path
            path = (*place.path, LoneFmu(element.name) if lone else element.name)
            if path in self._names:
                continue  # names are unique in a system (SSD-ELEM-002)
            if len(self._names) == MOST_PLACES:
                self.tree.refuse(element.position, f"more than {MOST_PLACES} systems and components")
                return
            if copied and self._copies == MOST_COPIES:
                what = f"more than {MOST_COPIES} systems and components in systems that several components refer to"
                self.tree.refuse(element.position, what)
                return
            self._copies += copied
            self._names.add(path)
            if isinstance(element, ssd.System):
                self.system(SystemPlace(path, element, place.scope), around)
            elif isinstance(element, ssd.Component):
                self.component(element, path, place.scope, around)
            elif isinstance(element, ssd.SignalDictionaryReference):
                seen = around.dictionaries.get(element.dictionary)
                self.tree.references.append(ReferencePlace(path, element, place.scope, seen))

    def component(self, component: ssd.Component, path: ElementPath, scope: Scope, around: Around) -> None:
        kind, source = component.media_type, component.source
        if source is None:
            self.tree.refuse(component.position, f"{component.name!r}: a component without an implementation")
            self._miss(component, path, scope, "not stated: there is no source")
        elif source.startswith("#"):
            self._same_document(component, path, scope, around)
        elif kind == SYSTEM_STRUCTURE and "#" in source:
            self.tree.refuse(component.position, f"{component.name!r}: a reference into another SSD")
            self._miss(component, path, scope, "not read: it is part of another SSD")
        elif kind in (SYSTEM_STRUCTURE, PACKAGE):
            self._nested(component, path, scope, around)
        elif component.is_table:
            self._table(component, path, scope)
        elif kind != FMU:
            what = f"{component.name!r}: a component of type {kind or 'empty'}"
            self.tree.refuse(component.position, what, rules=("SSD-COMP-004",))
            self._miss(component, path, scope, f"not read: it is of type {kind or 'empty'}")
        else:
            self._fmu(component, path, scope)

    def _miss(
        self, component: ssd.Component, path: ElementPath, scope: Scope, problem: str, kind: str = "implementation"
    ) -> None:
        self.tree.missing.append(MissingPlace(path, component, scope, kind, problem))

    def _miss_file(
        self, component: ssd.Component, path: ElementPath, scope: Scope, kind: str, entry: str | None
    ) -> None:
        """Register a component whose file is missing or cannot be read."""
        if entry is None:
            problem = f"not read: {component.source!r} is not a file of the package"
        elif has_fmu(scope.archive, entry):
            problem = f"not readable: {entry} (`ssptool validate` says why)"
        else:
            problem = f"missing: there is no file {scope.archive.stated(entry)!r}"
        self._miss(component, path, scope, problem, kind)

    def _fmu(self, component: ssd.Component, path: ElementPath, scope: Scope) -> None:
        entry = _entry(scope, component.source)
        if entry is None:
            self.tree.refuse(
                component.position,
                f"{component.name!r}: the source {component.source!r}, which ssptool cannot read here",
                advice=f"copy the FMU into the package with `ssptool replace SYSTEM {dotted(path)} FILE.fmu`",
            )
            self._miss_file(component, path, scope, "FMU", entry)
            return
        entry = fmu_entry(scope.archive, entry)
        if entry not in self._fmus:
            self._fmus[entry] = _read(scope.archive, entry)
        fmu = self._fmus[entry]
        if fmu is None:
            if NESTING_MARK in entry:
                self.tree.refuse(component.position, f"{component.name!r}: an FMU that cannot be read, {entry}")
            self._miss_file(component, path, scope, "FMU", entry)
            return
        if unsupported := unsupported_of_fmi1(fmu):
            self.tree.refuse(component.position, f"{component.name!r}: {unsupported}")
        if component.implementation is ssd.Implementation.SCHEDULED_EXECUTION:
            self.tree.refuse(component.position, f"{component.name!r}: scheduled execution")
        self._place(ComponentPlace(path, component, scope, entry, fmu, self._elements(entry, fmu)))

    def _place(self, place: ComponentPlace) -> None:
        name = dotted(place.path)
        if name in self._full_names:
            self.tree.refuse(place.component.position, f"a second component with the full name {name!r}")
            return
        self._full_names.add(name)
        self.tree.components.append(place)

    def _table(self, component: ssd.Component, path: ElementPath, scope: Scope) -> None:
        entry = _entry(scope, component.source)
        if entry is None or not scope.archive.has(entry):
            self.tree.refuse(
                component.position,
                f"{component.name!r}: the source {component.source!r}, which ssptool cannot read here",
            )
            self._miss_file(component, path, scope, "table", entry)
            return
        if entry not in self._files:
            self._files[entry] = read_table(scope.archive, entry)
        outputs, description, problems = outputs_of(component, self._files[entry], scope)
        for problem in problems:
            self.tree.refuse(problem.position, f"{component.name!r}: {problem.message}", rules=(problem.rule,))
        self._place(ComponentPlace(path, component, scope, entry, description, description, outputs))

    def _elements(self, entry: str, fmu: FmuDescription) -> FmuDescription:
        """The description with array elements in the default sizes of the FMU."""
        if entry not in self._with_elements:
            self._with_elements[entry] = sized(fmu, {}, entry, self.tree)
        return self._with_elements[entry]

    def _same_document(self, component: ssd.Component, path: ElementPath, scope: Scope, around: Around) -> None:
        document = scope.document
        if document.name not in self._identified:
            systems = reversed([*document.structure.systems()])
            self._identified[document.name] = {system.id: system for system in systems if system.id is not None}
        system = self._identified[document.name].get((component.source or "").removeprefix("#"))
        if system is not None and system not in around.systems:
            self.system(SystemPlace(path, system, scope, component, scope), around)

    def _nested(self, component: ssd.Component, path: ElementPath, scope: Scope, around: Around) -> None:
        entry = structure_of(scope, component)
        if entry is None:
            self._miss_file(component, path, scope, "system", _entry(scope, (component.source or "").partition("#")[0]))
            return
        try:
            document = scope.archive.document(entry)
            root = document.structure
        except (InvalidDocument, MissingEntry) as problem:
            if NESTING_MARK in entry:
                self.tree.refuse(component.position, f"{component.name!r}: {problem}")
            self._miss_file(component, path, scope, "system", entry)
            return
        if root.system not in around.systems:
            inner = Scope(scope.archive, document, document_units(root), Positions(document))
            # Dictionaries of the host are not visible in another document (AMB-21).
            self.system(SystemPlace(path, root.system, inner, component, scope), Around(around.systems, {}))

    def _dictionaries(self, place: SystemPlace) -> Iterator[DictionaryPlace]:
        """Readable dictionaries of a system, in reverse order, so that the first of each name counts."""
        for declared in reversed(place.system.signal_dictionaries):
            if declared.type != SIGNAL_DICTIONARY:
                self.tree.refuse(declared.position, f"the signal dictionary {declared.name!r} of type {declared.type}")
                continue
            content = dictionary_content(declared, place.scope)
            if content is not None:
                entries = {entry.name: entry for entry in reversed(content.entries)}
                yield DictionaryPlace(place.path, declared.name, content, entries, document_units(content))


def dictionary_content(declared: ssd.SignalDictionary, scope: Scope) -> ssb.SignalDictionary | None:
    """The dictionary that a system declares, inline or in a file; None if unreadable, which rules report."""
    if declared.source is None:
        return declared.inline
    try:
        name = scope.archive.resolve(scope.document.name, declared.source)
        return scope.archive.document(name).root_as(ssb.SignalDictionary)
    except (UnresolvableUri, MissingEntry, InvalidDocument):
        return None


def structure_of(scope: Scope, component: ssd.Component) -> str | None:
    """Entry with the SSD that a component refers to: `x.ssd`, or in a package `x.ssp` or `x.ssp#Variant.ssd`.

    None if the reference does not refer to an entry of the archive.
    """
    uri, _, variant = (component.source or "").partition("#")
    entry = _entry(scope, uri)
    if entry is None or component.media_type != PACKAGE:
        return entry
    try:
        inside = scope.archive.inside(entry, variant or DEFAULT_STRUCTURE)
    except UnresolvableUri:
        return None
    return inside if scope.archive.has(inside) or scope.archive.has(entry) else None


def _entry(scope: Scope, source: str | None) -> str | None:
    """Entry of the archive that a component's source refers to; None if there is none."""
    if source is None:
        return None
    try:
        return scope.archive.resolve(scope.document.name, source)
    except UnresolvableUri:
        return None


def _read(archive: Archive, entry: str) -> FmuDescription | None:
    try:
        return read_description(fmu_path(archive, entry))
    except (MissingEntry, InvalidDocument, UnreadableFmu):
        return None
