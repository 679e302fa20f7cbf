"""The meaning of a system as a flat table: one item per component, connector, connection, parameter …

Parts without effect on a simulation are left out: formatting, prefixes, the order of elements and connections,
descriptions, geometry, annotations and metadata.
"""

import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.archive import Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.foreign_files import UNREADABLE_ZIP, ForeignZip
from ssptool.documents.storage import MissingEntry
from ssptool.documents.vocabulary import FMU
from ssptool.fmu.description import FmuDescription, UnreadableFmu
from ssptool.fmu.read_description import read_description
from ssptool.network.conversion import canonical, document_units
from ssptool.network.flatten import build_network
from ssptool.network.network import Assignment
from ssptool.network.tree import ElementPath, build_tree, dotted, fmu_path


def entry_of(archive: Archive, document: str, source: str | None) -> str | None:
    """The entry that a source in a document points to; None if it does not exist."""
    if not source or source.startswith("#"):
        return None
    try:
        name = archive.resolve(document, source)
    except UnresolvableUri:
        return None
    return name if archive.has(name) else None


def short_digest(content: bytes) -> str:
    """Short digest for comparison by eye."""
    return hashlib.sha256(content).hexdigest()[:16]


class ComponentDigests:
    """Digests of the implementations of components. Each file of an archive is read once, documents by name."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._fmus: dict[str, FmuDescription | None] = {}
        self._packed: dict[str, dict[str, str | None]] = {}

    def of(self, document: str, component: ssd.Component, nested: Callable[[str], str]) -> dict[str, str | None]:
        """Facts about the implementation of a component; `nested` returns the digest of a structure."""
        entry = entry_of(self._archive, document, component.source)
        fmu = self.fmu(document, component)
        if entry is None:
            return self._unpacked(document, component.source, fmu)
        if entry not in self._packed:
            own = entry.lower().endswith(".ssd") and fmu is None
            self._packed[entry] = {**_of_fmu(fmu), "content": nested(entry) if own else self._zip_digest(entry)}
        return self._packed[entry]

    def fmu(self, document: str, element: ssd.SystemElement) -> FmuDescription | None:
        """The model description; None if the element is not an FMU, or it cannot be read."""
        if not isinstance(element, ssd.Component) or element.media_type != FMU or not element.source:
            return None
        try:
            entry = self._archive.resolve(document, element.source)
        except UnresolvableUri:
            return None
        if entry not in self._fmus:
            try:
                self._fmus[entry] = read_description(fmu_path(self._archive, entry))
            except (UnreadableFmu, MissingEntry, InvalidDocument):
                self._fmus[entry] = None
        return self._fmus[entry]

    def _unpacked(self, document: str, source: str | None, fmu: FmuDescription | None) -> dict[str, str | None]:
        """Facts about an FMU or package that is a folder in the archive."""
        folder = self._folder(document, source)
        inside = [name for name in self._archive.names() if folder is not None and name.startswith(folder)]
        if folder is None or not inside:
            return {"content": None if (source or "#").startswith("#") else "missing"}
        crcs = [(name.removeprefix(folder), *_crc(self._archive.read(name))) for name in sorted(inside)]
        return {**_of_fmu(fmu), "content": short_digest(repr(crcs).encode())}

    def _folder(self, document: str, source: str | None) -> str | None:
        """Name of the folder that a source refers to, with a slash at its end."""
        if not source or source.startswith("#"):
            return None
        try:
            return self._archive.resolve(document, source.rstrip("/")) + "/"
        except UnresolvableUri:
            return None

    def _zip_digest(self, entry: str) -> str:
        """Digest that is equal for equal files inside, independent of packing."""
        try:
            with ForeignZip(self._archive.local_path(entry)) as packed:
                files = [info for info in packed.infolist() if not info.is_dir()]
            return short_digest(repr(sorted((info.filename, info.CRC, info.file_size) for info in files)).encode())
        except UNREADABLE_ZIP:
            return short_digest(self._archive.read(entry))


def _of_fmu(fmu: FmuDescription | None) -> dict[str, str | None]:
    return {} if fmu is None else {"model": fmu.model_name, "FMI version": fmu.fmi_version, "token": fmu.token}


def _crc(content: bytes) -> tuple[int, int]:
    """CRC of a file, as in the directory of a zip, so that an FMU has the same digest packed and unpacked."""
    return zlib.crc32(content), len(content)


R = TypeVar("R", bound=Element)


@dataclass(frozen=True, slots=True)
class BoundValue:
    """A value as written, and the effect of a mapping on it."""

    value: Any
    unit: str | None
    transformation: ssc.Transformation | None
    position: Position


def bound_values(archive: Archive, structure: Document) -> dict[str, BoundValue]:
    """Full names → values; outer bindings override inner ones, later ones override earlier ones (SSP 2.0 §5.2.3).

    Unreadable sources are skipped.
    """
    found: dict[str, BoundValue] = {}
    owners = sorted(_owners((), structure.structure.system), key=lambda owner: -len(owner[0]))
    for path, element in owners:
        for binding in element.parameter_bindings:
            for name, bound in _of_binding(archive, structure, binding):
                found[".".join((*path, name))] = bound
    return found


def _owners(path: tuple[str, ...], element: ssd.SystemElement) -> Iterator[tuple[tuple[str, ...], ssd.SystemElement]]:
    yield path, element
    if isinstance(element, ssd.System):
        for inner in element.elements:
            yield from _owners((*path, inner.name), inner)


def _of_binding(
    archive: Archive, structure: Document, binding: ssd.ParameterBinding
) -> Iterator[tuple[str, BoundValue]]:
    values = _linked(archive, structure, binding.source, binding.parameter_set, ssv.ParameterSet)
    mapping = binding.parameter_mapping
    renames = None
    if mapping is not None:
        renames = _linked(archive, structure, mapping.source, mapping.inline, ssm.ParameterMapping)
    targets: dict[str, list[ssm.MappingEntry]] = {}
    for entry in () if renames is None else renames.entries:
        targets.setdefault(entry.source, []).append(entry)
    for parameter in () if values is None else values.parameters:
        name, value, unit = binding.prefix + parameter.name, parameter.value, parameter.unit
        if mapping is None:
            yield name, BoundValue(value, unit, None, parameter.position)
        for entry in targets.get(name, ()):
            yield entry.target, BoundValue(value, unit, entry.transformation, parameter.position)


def _linked(archive: Archive, structure: Document, source: str | None, inline: R | None, kind: type[R]) -> R | None:
    if source is None:
        return inline
    try:
        return archive.document(archive.resolve(structure.name, source)).root_as(kind)
    except (UnresolvableUri, MissingEntry, InvalidDocument):
        return None


Fact: TypeAlias = str | int | float | bool | tuple["Fact", ...] | None


class Section(StrEnum):
    """Kinds of items, in the order of reports."""

    STRUCTURE = "structure"
    VARIANT = "variants"
    COMPONENT = "components"
    CONNECTOR = "connectors"
    CONNECTION = "connections"
    DICTIONARY = "signal dictionaries"
    PARAMETER = "parameters"
    UNIT = "units"
    ENUMERATION = "enumerations"


@dataclass(frozen=True, slots=True)
class MeaningItem:
    """One object with its facts; `origin` is its location, which is not a fact."""

    section: Section
    name: str
    facts: Mapping[str, Fact]
    position: Position
    origin: str = ""


Items: TypeAlias = dict[tuple[Section, str], MeaningItem]


def items_of(archive: Archive, structure: Document) -> Items:
    """All items of one variant; the second of two objects with the same name is called `name (2)`.

    Raises
    ------
    InvalidDocument
        A required attribute is missing or has an invalid value.
    """
    found: Items = {}
    counts: Counter[tuple[Section, str]] = Counter()
    for item in _everything(archive, structure):
        counts[item.section, item.name] += 1
        number = counts[item.section, item.name]
        found[item.section, item.name if number == 1 else f"{item.name} ({number})"] = item
    return found


def _everything(archive: Archive, structure: Document) -> Iterator[MeaningItem]:
    """Items of the structure and of nested structures, to any depth."""
    inside = {
        place.path: place.scope.document
        for place in build_tree(archive, structure).systems
        if place.host is not None and not (place.host.source or "").startswith("#")
    }
    outermost = _Reading(archive, structure, told=frozenset(inside))
    yield from outermost.items()
    for path, document in inside.items():
        yield from outermost.of(document, path).items_inside()


def digest(items: Items) -> str:
    """Digest that is equal for equal facts."""
    content = sorted((section, name, sorted(item.facts.items())) for (section, name), item in items.items())
    return short_digest(repr(content).encode())


@dataclass(frozen=True, slots=True)
class _Place:
    """An element with its path; `path` and `name` are empty for the root system."""

    path: ElementPath
    element: ssd.SystemElement

    @property
    def name(self) -> str:
        return dotted(self.path)


class _Reading:
    """One pass over a variant and the documents that it refers to; FMUs are read once."""

    def __init__(
        self,
        archive: Archive,
        structure: Document,
        around: frozenset[str] = frozenset(),
        path: ElementPath = (),
        told: frozenset[ElementPath] = frozenset(),
    ) -> None:
        """`path` is the component of the structure; implementations of components in `told` are reported separately."""
        self._archive = archive
        self._path = path
        self._told = told
        self._document = structure
        self._root = structure.structure
        self._around = around | {structure.name}
        self._digests = ComponentDigests(archive)
        self._places = list(_places(_Place(path, self._root.system)))

    def of(self, structure: Document, path: ElementPath) -> "_Reading":
        """Reading of the structure that the component at `path` refers to."""
        inner = _Reading(self._archive, structure, path=path, told=self._told)
        inner._digests = self._digests
        return inner

    def items(self) -> Iterator[MeaningItem]:
        yield from self._structure()
        yield from self._elements()
        yield from self._parameters()
        yield from self._definitions()

    def items_inside(self) -> Iterator[MeaningItem]:
        """Items of a nested structure, without its experiment and parameters; parameters belong to the whole."""
        name = dotted(self._path)
        yield MeaningItem(Section.STRUCTURE, name, {"SSP version": self._root.version}, self._root.position)
        yield from self._elements()
        for item in self._definitions():
            yield replace(item, name=f"{item.name} (in {name})")

    def _elements(self) -> Iterator[MeaningItem]:
        for place in self._places:
            if place.path != self._path:
                yield self._component(place)
            yield from self._connectors(place)
            if isinstance(place.element, ssd.System):
                yield from _connections(place.name, place.element)
                yield from self._dictionaries(place.name, place.element)

    def _structure(self) -> Iterator[MeaningItem]:
        root, experiment = self._root, self._root.default_experiment
        facts: dict[str, Fact] = {
            "name": root.name,
            "root system": root.system.name,
            "SSP version": root.version,
            "start time": None if experiment is None else experiment.start_time,
            "stop time": None if experiment is None else experiment.stop_time,
        }
        yield MeaningItem(Section.STRUCTURE, "the system", facts, root.position)

    def _component(self, place: _Place) -> MeaningItem:
        element = place.element
        facts: dict[str, Fact]
        if isinstance(element, ssd.Component):
            facts = {
                "is": "component",
                "source": element.source,
                "type": element.type,
                "implementation": str(element.implementation),
            }
            if place.path not in self._told:
                facts |= self._digests.of(self._document.name, element, self._nested_digest)
        elif isinstance(element, ssd.SignalDictionaryReference):
            facts = {"is": "signal dictionary reference", "dictionary": element.dictionary}
        else:
            facts = {"is": "system"}
        return MeaningItem(Section.COMPONENT, place.name, facts, element.position)

    def _nested_digest(self, entry: str) -> str:
        if entry in self._around:
            return "recursion"
        try:
            inner = _Reading(self._archive, self._archive.document(entry), self._around)
            return digest({(item.section, item.name): item for item in inner.items()})
        except InvalidDocument:
            return short_digest(self._archive.read(entry))

    def _connectors(self, place: _Place) -> Iterator[MeaningItem]:
        fmu = self._digests.fmu(self._document.name, place.element)
        for connector in place.element.connectors:
            variable = None if fmu is None else fmu.variables.get(connector.name)
            type_, unit = connector.type_name, connector.unit
            if variable is not None:  # facts that the SSD omits come from the FMU
                type_, unit = type_ or variable.type, unit or variable.unit
            facts: dict[str, Fact] = {
                "kind": str(connector.kind),
                "type": None if type_ is None else canonical(type_),
                "unit": unit,
                "dimensions": tuple(each.size_connector or each.size for each in connector.dimensions),
                "clocks": tuple(sorted(clock.name for clock in connector.clocks)),
            }
            name = ".".join(filter(None, (place.name, connector.name)))
            if self._path and place.path == self._path:  # the component has a connector of this name
                name += " (inside)"
            yield MeaningItem(Section.CONNECTOR, name, facts, connector.position)

    def _dictionaries(self, path: str, system: ssd.System) -> Iterator[MeaningItem]:
        for dictionary in system.signal_dictionaries:
            name = ".".join(filter(None, (path, dictionary.name)))
            yield MeaningItem(Section.DICTIONARY, name, {"source": dictionary.source}, dictionary.position)
            content = self._dictionary(dictionary)
            for entry in () if content is None else content.entries:
                facts: dict[str, Fact] = {"type": canonical(entry.type_name or ""), "unit": entry.unit}
                yield MeaningItem(Section.DICTIONARY, f"{name}.{entry.name}", facts, entry.position)

    def _dictionary(self, dictionary: ssd.SignalDictionary) -> ssb.SignalDictionary | None:
        """The signals of a dictionary, inline or in a file; None if they cannot be read."""
        if dictionary.source is None:
            return dictionary.inline
        entry = entry_of(self._archive, self._document.name, dictionary.source)
        try:
            return None if entry is None else self._archive.document(entry).root_as(ssb.SignalDictionary)
        except InvalidDocument:
            return None

    def _parameters(self) -> Iterator[MeaningItem]:
        """Values of variables, and bound values without a variable in a readable FMU."""
        network = build_network(self._archive, self._document)
        effective = {str(signal): found for signal, found in network.assignments.items()}
        for name, assignment in effective.items():
            yield _assigned(name, assignment)
        for name, bound in bound_values(self._archive, self._document).items():
            if name not in effective:
                yield _bound_value(name, bound)

    def _definitions(self) -> Iterator[MeaningItem]:
        defined = document_units(self._root)
        for element in self._root.units:
            unit = defined[element.name]
            facts: dict[str, Fact] = {
                "factor": unit.factor,
                "offset": unit.offset,
                **({} if unit.exponents is None else unit.exponents._asdict()),
            }
            yield MeaningItem(Section.UNIT, unit.name, facts, element.position)
        for enumeration in self._root.enumerations:
            items: dict[str, Fact] = {item.name: item.value for item in enumeration.items}
            yield MeaningItem(Section.ENUMERATION, enumeration.name, items, enumeration.position)


def _places(place: _Place) -> Iterator[_Place]:
    yield place
    if isinstance(place.element, ssd.System):
        for element in place.element.elements:
            yield from _places(_Place((*place.path, element.name), element))


def _connections(path: str, system: ssd.System) -> Iterator[MeaningItem]:
    """Connections; start and end imply no direction, so the ends are sorted by name."""
    for connection in system.connections:
        ends = sorted((_end(connection.start, connection.start_indices), _end(connection.end, connection.end_indices)))
        facts: dict[str, Fact] = {
            "transformation": transformation_fact(connection.transformation),
            "suppressUnitConversion": connection.suppress_unit_conversion,
        }
        inside = f" (in {path})" if path else ""
        yield MeaningItem(Section.CONNECTION, " – ".join(ends) + inside, facts, connection.position)


def _end(end: ssd.ConnectorRef, indices: tuple[int, ...] | None) -> str:
    where = f"[{', '.join(map(str, indices))}]" if indices is not None else ""
    return f"{end}{where}"


def transformation_fact(transformation: ssc.Transformation | None) -> str | None:
    """Text of a transformation, equal for equal transformations."""
    match transformation:
        case None:
            return None
        case ssc.LinearTransformation(factor=factor, offset=offset):
            return None if (factor, offset) == (1.0, 0.0) else f"{factor!r}·v + {offset!r}"
        case (
            ssc.BooleanMappingTransformation()
            | ssc.IntegerMappingTransformation()
            | ssc.EnumerationMappingTransformation()
        ):
            try:
                rows = [(str(source), str(target)) for source, target in transformation.table.items()]
            except ValueError:  # schema validation reports wrong numbers
                rows = [(entry.source, entry.target) for entry in transformation.entries]
            return ", ".join(f"{source} → {target}" for source, target in sorted(rows))
        case _:
            raise NotImplementedError(f"the transformation {transformation.tag}")


def _assigned(name: str, assignment: Assignment) -> MeaningItem:
    steps = (f"{step.kind} {step.detail}".strip() for step in assignment.chain)
    facts: dict[str, Fact] = {"value": _plain(assignment.value), "unit": assignment.unit}
    return MeaningItem(Section.PARAMETER, name, facts, assignment.chain[0].position, "; ".join(steps))


def _bound_value(name: str, bound: BoundValue) -> MeaningItem:
    facts: dict[str, Fact] = {
        "value": _plain(bound.value),
        "unit": bound.unit,
        "transformation": transformation_fact(bound.transformation),
    }
    return MeaningItem(Section.PARAMETER, name, facts, bound.position, "given; no readable FMU has this variable")


def _plain(value: object) -> Fact:
    """Bytes as hexadecimal digits; -0.0 as 0.0, which has another text."""
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, float):
        return value + 0.0
    return value if isinstance(value, str | int) else None
