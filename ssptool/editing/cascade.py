"""Remove and report references to a dropped element, in every document of a package."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.storage import MissingEntry
from ssptool.editing import originals
from ssptool.editing.changes import Change, Loss

R = TypeVar("R", bound=Element)


@dataclass(frozen=True, slots=True, eq=False)
class Gone:
    """A dropped object: its kind, its name, and the element that contains it.

    This element is the owner of a connector, or the root of the document; `item` is an item of the enumeration `name`.
    """

    kind: type[Element]
    name: str
    place: Element
    item: str = ""


def gone_with(element: Element, root: Element) -> Iterator[Gone]:
    """Objects that disappear together with an element; must be called before its removal."""
    if isinstance(element, ssd.Connector):
        yield Gone(ssd.Connector, element.name, cast(Element, cast(Element, element.getparent()).getparent()))
    elif isinstance(element, ssv.Parameter | ssb.DictionaryEntry):
        yield Gone(element.element_class, element.name, root)
    elif isinstance(element, ssc.EnumerationItem):
        enumeration = cast(Element, element.getparent())
        name = enumeration.get("name", "")
        yield Gone(ssc.EnumerationItem, name, root, element.name)
        if len(list(enumeration.iterchildren(ssc.EnumerationItem.qualified_name))) == 1:
            yield Gone(ssc.Enumeration, name, root)


class Cascade:
    """Documents of a package (or a single document) in which an object was dropped."""

    def __init__(self, archive: Archive | None, documents: tuple[Document, ...]) -> None:
        self._archive = archive
        self._documents = {document.name: document for document in documents}
        self._changes: list[Change] = []
        self._pending: list[Gone] = []

    def run(self, gone: list[Gone]) -> list[Change]:
        """Drop references to dropped objects, recursively. Return the dropped references."""
        self._pending = list(gone)
        while self._pending:
            thing = self._pending.pop(0)
            if thing.kind is ssd.Connector:
                self._of_connector(thing)
            elif thing.kind is ssv.Parameter:
                self._of_parameter(thing)
            elif thing.kind is ssb.DictionaryEntry:
                self._of_signal(thing)
            elif thing.kind is ssc.Enumeration:
                self._of_enumeration(thing)
            else:
                self._of_item(thing)
        return self._changes

    def _of_connector(self, thing: Gone) -> None:
        """Drop references to a connector of a system: in parameters, in mappings, and in connectors of components that
        refer to the system.
        """
        for binding, path in _bindings_around(thing.place):
            name = ".".join((*path, thing.name))
            for entry in self._entries(binding):
                if entry.target == name:
                    self._drop("DIFF-05", entry, f"the mapping to {name!r} is dropped with that connector")
            values = binding.parameter_set
            for parameter in () if values is None or binding.parameter_mapping is not None else values.parameters:
                if binding.prefix + parameter.name == name:
                    self._drop("DIFF-05", parameter, f"the parameter {parameter.name!r} is dropped with that connector")
        around = thing.place.getparent()
        if isinstance(around, ssd.SystemStructureDescription):
            for component in self._components_made_of(around):
                for connector in component.connectors:
                    if connector.name == thing.name:
                        where = f"of {component.name!r} is dropped with the connector of its structure"
                        self._drop_connector("DIFF-05", connector, where)

    def _of_parameter(self, thing: Gone) -> None:
        """Drop mapping entries of a parameter; entries for parameters that other sets also have are kept."""
        for binding in self._bindings():
            if self._values(binding) is not thing.place:
                continue
            name = binding.prefix + thing.name
            for entry in self._entries(binding):
                if entry.source == name and not self._is_given(entry, name):
                    self._drop(
                        "DIFF-04", entry, f"the mapping of {name!r} to {entry.target!r} is dropped with that parameter"
                    )

    def _of_signal(self, thing: Gone) -> None:
        """Drop connectors of references to a signal of a dictionary, which have the name of the signal."""
        for document in self._documents.values():
            for reference in document.root.every(ssd.SignalDictionaryReference):
                if self._dictionary(reference) is thing.place:
                    for connector in reference.connectors:
                        if connector.name == thing.name:
                            where = f"of {reference.name!r} is dropped with that signal of the dictionary"
                            self._drop_connector("DIFF-03", connector, where)

    def _of_enumeration(self, thing: Gone) -> None:
        """Remove the type of objects whose enumeration is removed, or the objects themselves."""
        for type_ in [*thing.place.every(ssc.Enumeration), *thing.place.every(ssv.Enumeration)]:
            typed = type_.getparent()
            if type_.get("name") != thing.name or _root(type_) is not thing.place:
                continue
            if isinstance(typed, ssd.Connector):
                message = f"the connector {typed.name!r} has no type: the enumeration {thing.name!r} is gone"
                self._change("DIFF-27", type_, message)
                originals.remove(type_)
            elif isinstance(typed, ssv.Parameter | ssb.DictionaryEntry):
                what = "parameter" if isinstance(typed, ssv.Parameter) else "signal"
                self._drop(
                    "DIFF-27", typed, f"the {what} {typed.name!r} is dropped with the enumeration {thing.name!r}"
                )

    def _of_item(self, thing: Gone) -> None:
        """Drop references to an enumeration item in parameters and mappings."""
        for parameter in list(thing.place.every(ssv.Parameter)):
            type_ = parameter.type
            is_of_it = isinstance(type_, ssv.Enumeration) and (type_.name, type_.get("value")) == (
                thing.name,
                thing.item,
            )
            if is_of_it and _root(parameter) is thing.place:
                self._drop(
                    "DIFF-27", parameter, f"the parameter {parameter.name!r} is dropped with its value {thing.item!r}"
                )
        for connection in list(thing.place.every(ssd.Connection)):
            mapping = connection.transformation
            if isinstance(mapping, ssc.EnumerationMappingTransformation) and thing.name in _types_of_ends(connection):
                for entry in mapping.entries:
                    if thing.item in (entry.source, entry.target):
                        message = f"the mapping of {entry.source!r} to {entry.target!r} is dropped with its item"
                        self._drop("DIFF-27", entry, message)

    def _drop_connector(self, code: str, connector: ssd.Connector, where: str) -> None:
        owner = cast(ssd.SystemElement, cast(Element, connector.getparent()).getparent())
        for connection in list(connections_of(connector, owner)):
            self._drop(code, connection, f"the connection {ends_of(connection)} is dropped with its connector")
        self._drop(code, connector, f"the connector {connector.name!r} {where}")

    def _drop(self, code: str, element: Element, message: str) -> None:
        self._change(code, element, message)
        self._pending += gone_with(element, _root(element))
        originals.remove(element)

    def _change(self, code: str, element: Element, message: str) -> None:
        self._changes.append(Change(code, Loss.DROPPED, element.position, message))

    def _bindings(self) -> Iterator[ssd.ParameterBinding]:
        for document in self._documents.values():
            yield from list(document.root.every(ssd.ParameterBinding))

    def _values(self, binding: ssd.ParameterBinding) -> ssv.ParameterSet | None:
        if binding.source is None:
            return binding.parameter_set
        return self._linked(binding, binding.source, ssv.ParameterSet)

    def _entries(self, binding: ssd.ParameterBinding) -> tuple[ssm.MappingEntry, ...]:
        holder = binding.parameter_mapping
        mapping = None if holder is None else self._mapping(holder)
        return () if mapping is None else mapping.entries

    def _mapping(self, holder: ssd.ParameterMapping) -> ssm.ParameterMapping | None:
        return holder.inline if holder.source is None else self._linked(holder, holder.source, ssm.ParameterMapping)

    def _is_given(self, entry: ssm.MappingEntry, name: str) -> bool:
        """True if a binding with this mapping still has a parameter of this name."""
        for binding in self._bindings():
            values = self._values(binding)
            names = () if values is None else (binding.prefix + parameter.name for parameter in values.parameters)
            if entry in self._entries(binding) and name in names:
                return True
        return False

    def _dictionary(self, reference: ssd.SignalDictionaryReference) -> ssb.SignalDictionary | None:
        for system in reference.iterancestors(ssd.System.qualified_name):
            for declared in cast(ssd.System, system).signal_dictionaries:
                if declared.name == reference.dictionary:
                    if declared.source is None:
                        return declared.inline
                    return self._linked(declared, declared.source, ssb.SignalDictionary)
        return None

    def _components_made_of(self, root: Element) -> Iterator[ssd.Component]:
        for document in self._documents.values():
            for component in document.root.every(ssd.Component):
                uri, _, variant = (component.source or "").partition("#")
                if isinstance(component, ssd.Component) and uri:
                    folder = f"{uri}/{variant or DEFAULT_STRUCTURE}"
                    kind = ssd.SystemStructureDescription
                    if root in (self._linked(component, uri, kind), self._linked(component, folder, kind)):
                        yield component

    def _linked(self, element: Element, source: str | None, kind: type[R]) -> R | None:
        """Root of the document that a reference in an element points to, if it is one of the documents of this
        cascade.
        """
        if not source or self._archive is None:
            return None
        try:
            name = self._archive.resolve(element.position.file, source)
            document = self._documents.get(name)
            return None if document is None else document.root_as(kind)
        except (UnresolvableUri, InvalidDocument, MissingEntry):
            return None


def connections_of(connector: ssd.Connector, owner: ssd.SystemElement) -> Iterator[ssd.Connection]:
    """Connections at a connector, inside of its system and around it."""
    container = owner.getparent()
    around = None if container is None else container.getparent()
    for system, element in ((owner, ""), (around, owner.get("name", ""))):
        for connection in system.connections if isinstance(system, ssd.System) else ():
            if (element, connector.name) in connection.ends:
                yield connection


def ends_of(connection: ssd.Connection) -> str:
    """Both ends, for messages."""
    return " – ".join(map(str, connection.ends))


def _bindings_around(owner: Element) -> Iterator[tuple[ssd.ParameterBinding, tuple[str, ...]]]:
    """Bindings of a system and of all enclosing systems, each with the path by which it refers to the system.

    Empty for other elements, whose parameters refer to their implementation.
    """
    if not isinstance(owner, ssd.System):
        return
    path: tuple[str, ...] = ()
    for system in (owner, *owner.iterancestors(ssd.System.qualified_name)):
        for binding in cast(ssd.System, system).parameter_bindings:
            yield binding, path
        path = (system.get("name", ""), *path)


def _root(element: Element) -> Element:
    """Root of the document that contains an element; the document may be inline in another one."""
    roots = (ssd.SystemStructureDescription, ssv.ParameterSet, ssm.ParameterMapping, ssb.SignalDictionary)
    for each in (element, *element.iterancestors()):
        if isinstance(each, roots):
            return each
    return cast(Element, element.getroottree().getroot())


def _types_of_ends(connection: ssd.Connection) -> list[str]:
    """The enumerations of the two ends of a connection."""
    system = cast(ssd.System, cast(Element, connection.getparent()).getparent())
    owners = {"": cast(ssd.SystemElement, system), **{each.name: each for each in system.elements}}
    found = []
    for element, name in connection.ends:
        for connector in owners[element].connectors if element in owners else ():
            if connector.name == name and isinstance(connector.type, ssc.Enumeration):
                found.append(connector.type.name)
    return found
