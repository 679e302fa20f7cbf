"""Names in the documents of a system: which of them refer to the same thing, and where it is defined."""

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

from lxml import etree

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.network.tree import fmu_entry
from ssptool.rules.subjects import File, Package, Reach, Structure, around, container, every


class NameKind(StrEnum):
    """Kind of a named thing."""

    ELEMENT = "element"
    CONNECTOR = "connector"
    VARIABLE = "variable of an FMU"
    UNIT = "unit"
    ENUMERATION = "enumeration"
    DICTIONARY = "signal dictionary"
    PARAMETER = "parameter"
    FILE = "file"


class Named(NamedTuple):
    """A named thing in its scope: the system of an element, the element of a connector, or the file of a variable."""

    kind: NameKind
    scope: Hashable
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Mention:
    """An attribute whose value names a thing; `defines`: the thing gets its name here.

    `before` is the part of the value before the name: the prefix of a binding.
    """

    named: Named
    document: Document
    element: Element
    attribute: str
    defines: bool = False
    before: str = ""


@dataclass(slots=True, eq=False)
class Names:
    """Mentions of names in the documents of a package."""

    of: dict[Named, list[Mention]] = field(default_factory=lambda: defaultdict(list))
    _at: dict[tuple[etree._Element, str], list[Mention]] = field(default_factory=lambda: defaultdict(list))

    def add(self, mention: Mention) -> None:
        """Add a mention once, even if several structures refer to the same file."""
        here = self._at[mention.element, mention.attribute]
        if all(known.named != mention.named for known in here):
            here.append(mention)
            self.of[mention.named].append(mention)


def names_of(package: Package) -> Names:
    """The names in all documents of a package that can be read and that their schemas allow."""
    names = Names()
    for structure in package.structures:
        if structure.file.valid:
            for mention in _Reader(structure).mentions():
                names.add(mention)
    return names


def mentions_at(package: Package, element: Element, attribute: str) -> list[Mention]:
    """The mentions at an attribute: those of `names_of`, without a look at all others."""
    names = Names()
    for structure in package.structures:
        if structure.file.valid:
            for mention in _Reader(structure).mentions_at(element):
                if mention.element is element and mention.attribute == attribute:
                    names.add(mention)
    return [mention for found in names.of.values() for mention in found]


def definitions_of(package: Package, named: Named) -> list[Mention] | None:
    """The places where an element, connector or dictionary of a system gets its name; None for other things."""
    if not isinstance(named.scope, ssd.System | ssd.Component | ssd.SignalDictionaryReference):
        return None
    inside: Iterator[Element] = chain(named.scope.connectors)
    if isinstance(named.scope, ssd.System):
        inside = chain(inside, named.scope.signal_dictionaries, named.scope.elements)
    found = [mentions_at(package, one, "name") for one in inside if one.get("name") == named.name]
    return [mention for each in found for mention in each if mention.named == named and mention.defines]


@dataclass(slots=True, eq=False)
class _Reader:
    """Collects the mentions in one structure and in the files that it refers to."""

    structure: Structure

    def mentions(self) -> Iterator[Mention]:
        for file in (self.structure.file, *self.structure.files.values()):
            if file.valid and file.document is not None:
                yield from self._in_document(file, file.document)
        yield from self._mapped()

    def _in_document(self, file: File, document: Document) -> Iterator[Mention]:
        root = document.root
        for element in root.iter("*"):
            if isinstance(element, ssd.System):
                yield from self._system(document, element)
            elif isinstance(element, Element):
                yield from self._own(document, element)
        if file is not self.structure.file:
            entry = Named(NameKind.FILE, file.name, file.name)
            yield Mention(entry, document, root, "", True)

    def mentions_at(self, element: Element) -> Iterator[Mention]:
        """Some mentions of a document, with all those of an element in it."""
        root = element.getroottree().getroot()
        files = (self.structure.file, *self.structure.files.values())
        file = next((one for one in files if one.document is not None and one.document.root is root), None)
        if file is None or file.document is None or not file.valid:
            return
        document = file.document
        if element is root and file is not self.structure.file:
            yield Mention(Named(NameKind.FILE, file.name, file.name), document, element, "", True)
        if isinstance(element, ssm.MappingEntry):
            yield from self._mapped()
        if not isinstance(element, ssd.System):
            yield from self._own(document, element)
        for holder in (element, *element.iterancestors()):
            if isinstance(holder, ssd.SystemElement | ssd.SignalDictionary):
                yield from self._held(document, holder)
                return

    def _held(self, document: Document, holder: ssd.SystemElement | ssd.SignalDictionary) -> Iterator[Mention]:
        """The mentions at an element or dictionary of a system, and at its connectors."""
        system = next(around(holder, ssd.System), None)
        if system is None:
            if holder is self.structure.root.system:
                yield from self._connectors(document, self.structure.root.system)
        elif isinstance(holder, ssd.SignalDictionary):
            if any(one is holder for one in system.signal_dictionaries):
                yield self._dictionary(document, system, holder)
        elif any(one is holder for one in system.elements):
            yield from self._placed(document, system, holder)

    def _own(self, document: Document, element: Element) -> Iterator[Mention]:
        """The mentions at an element that follow from itself."""
        match element:
            case ssd.Connection():
                yield from self._connection(document, element)
            case ssv.Parameter() | ssb.DictionaryEntry():
                scope = container(element)
                yield Mention(Named(NameKind.PARAMETER, scope, element.name), document, element, "name", True)
            case ssc.Unit():
                unit = Named(NameKind.UNIT, container(element), element.name)
                yield Mention(unit, document, element, "name", True)
            case ssc.Enumeration() | ssv.Enumeration() if element.get("name"):
                named = Named(NameKind.ENUMERATION, container(element), element.get("name", ""))
                yield Mention(named, document, element, "name", is_definition(element))
            case ssd.Component() | ssd.ParameterBinding() | ssd.ParameterMapping() | ssd.SignalDictionary():
                yield from self._source(document, element)
        if unit_name := element.get("unit"):
            unit = Named(NameKind.UNIT, container(element), unit_name)
            yield Mention(unit, document, element, "unit")

    def _system(self, document: Document, system: ssd.System) -> Iterator[Mention]:
        if system is self.structure.root.system:
            yield from self._connectors(document, system)
        for dictionary in system.signal_dictionaries:
            yield self._dictionary(document, system, dictionary)
        for element in system.elements:
            yield from self._placed(document, system, element)

    def _dictionary(self, document: Document, system: ssd.System, dictionary: ssd.SignalDictionary) -> Mention:
        return Mention(Named(NameKind.DICTIONARY, system, dictionary.name), document, dictionary, "name", True)

    def _placed(self, document: Document, system: ssd.System, element: ssd.SystemElement) -> Iterator[Mention]:
        """The mentions at an element of a system and at its connectors."""
        named = Named(NameKind.ELEMENT, system, element.name)
        yield Mention(named, document, element, "name", True)
        yield from self._connectors(document, element)
        if isinstance(element, ssd.SignalDictionaryReference):
            owner = self._owner_of_dictionary(system, element.dictionary)
            named = Named(NameKind.DICTIONARY, owner, element.dictionary)
            yield Mention(named, document, element, "dictionary")

    def _owner_of_dictionary(self, system: ssd.System, name: str) -> ssd.System:
        systems = [system, *around(system, ssd.System)]
        having = (one for one in systems if any(each.name == name for each in one.signal_dictionaries))
        return next(having, system)

    def _connectors(self, document: Document, element: ssd.SystemElement) -> Iterator[Mention]:
        fmu = self.fmu_entry(element)
        for connector in element.connectors:
            named = Named(NameKind.CONNECTOR, element, connector.name)
            yield Mention(named, document, connector, "name", True)
            if fmu:
                yield Mention(Named(NameKind.VARIABLE, fmu, connector.name), document, connector, "name")
            for clock in connector.clocks:
                yield Mention(Named(NameKind.CONNECTOR, element, clock.name), document, clock, "name")
            for dimension in connector.dimensions:
                if size := dimension.size_connector:
                    yield Mention(Named(NameKind.CONNECTOR, element, size), document, dimension, "sizeConnector")

    def _connection(self, document: Document, connection: ssd.Connection) -> Iterator[Mention]:
        system = next(around(connection, ssd.System), None)
        if system is None:
            return
        elements = self._elements(system)
        for side, (name, connector) in (("start", connection.start), ("end", connection.end)):
            owner: ssd.SystemElement | None = elements.get(name) if name else system
            if name:
                yield Mention(Named(NameKind.ELEMENT, system, name), document, connection, f"{side}Element")
            if owner is not None:
                named = Named(NameKind.CONNECTOR, owner, connector)
                yield Mention(named, document, connection, f"{side}Connector")

    def _elements(self, system: ssd.System) -> dict[str, ssd.SystemElement]:
        known: dict[ssd.System, dict[str, ssd.SystemElement]] = self.structure.memory.setdefault(_Reader, {})
        if system not in known:
            known[system] = {element.name: element for element in system.elements}
        return known[system]

    def _source(self, document: Document, element: Element) -> Iterator[Mention]:
        if (uri := element.get("source")) and document is self.structure.file.document:
            reference = self.structure.reference(element, uri)
            if reference.reach is Reach.INSIDE:
                yield Mention(Named(NameKind.FILE, reference.entry, reference.entry), document, element, "source")

    def _mapped(self) -> Iterator[Mention]:
        """The parameters that mapping entries name, and the names of their targets."""
        for binding in self.structure.all(ssd.ParameterBinding):
            values = self.structure.parameter_set_of(binding)
            holder = binding.parameter_mapping
            mapping = None if holder is None else self.structure.mapping_of(holder)
            if values is None or mapping is None:
                continue
            document = self._document_of(mapping)
            for entry in every(mapping, ssm.MappingEntry) if document is not None else ():
                assert document is not None
                if entry.source.startswith(binding.prefix):
                    named = Named(NameKind.PARAMETER, values, entry.source.removeprefix(binding.prefix))
                    yield Mention(named, document, entry, "source", before=binding.prefix)

    def _document_of(self, element: Element) -> Document | None:
        root = element.getroottree().getroot()
        files = (self.structure.file, *self.structure.files.values())
        return next((file.document for file in files if file.document is not None and file.document.root is root), None)

    def fmu_entry(self, element: Element) -> str:
        """The entry of the FMU of a component; empty if it has none that can be read."""
        if self.structure.fmu_of(element) is None or not isinstance(element, ssd.Component):
            return ""
        return fmu_entry(self.structure.archive, self.structure.reference(element, element.source or "").entry)


def is_definition(element: Element) -> bool:
    """Whether the element defines an enumeration, and is not the type of a variable."""
    parent = element.getparent()
    return parent is not None and parent.tag.endswith("}Enumerations")
