"""Remove elements and connectors, with their connections and the parameters that only they use."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ssptool.documents import ssd, ssm, ssv
from ssptool.documents.element import Element
from ssptool.editing.bind import Addressees, BoundSet, bound, uses
from ssptool.editing.changes import EditError
from ssptool.editing.connect import described
from ssptool.editing.draft import ConnectorPlace, Draft, Place
from ssptool.editing.interface import shrink
from ssptool.editing.names import Name, SharedStructure, enter, find, is_host, shown
from ssptool.editing.units import drop_unused, used_enumerations, used_units
from ssptool.errors import WrongUsage, abbreviated


def remove(draft: Draft, name: Name, with_resource: bool) -> None:
    """Remove an element or a connector, its connections, and parameters and mappings that set nothing else.

    Units and enumerations of the document that only it used are also removed. A connector of a component with a nested
    structure is removed inside and outside, unless other components use that structure.

    Parameters
    ----------
    with_resource
        Remove the file of the component from the archive, if nothing else refers to it.

    Raises
    ------
    UnknownName, AmbiguousName
        There is no such element or connector, or there are several.
    EditError
        It is the root system.
    """
    found = find(draft.system, name)
    if isinstance(found, ConnectorPlace):
        _remove_connector(draft, found)
        if is_host(found.owner.element):
            _remove_inside(draft, found)
    elif not found.path:
        raise EditError(f"{shown(name) or 'the root system'} is the whole system, and cannot be removed from itself")
    else:
        _remove_element(draft, found, with_resource)


def _remove_element(draft: Draft, place: Place, with_resource: bool) -> None:
    element, system = place.element, place.system
    before = _references(draft)
    units, enumerations = used_units(element), used_enumerations(element)
    entries = {entry for source in _sources(element) if (entry := draft.entry(source))}
    _drop_connections(draft, system, place.path[:-1], element.name)
    element.delete()
    draft.note(f"removed {place}")
    if shrink(system, element):
        draft.note("the canvas is smaller now")
    _drop_references(before, element)
    for dropped in drop_unused(draft.root, units, enumerations):
        draft.note(f"removed the {dropped}, which nothing else used")
    for entry in sorted(entries):
        draft.release(entry, with_resource)


def _remove_connector(draft: Draft, found: ConnectorPlace) -> None:
    owner, connector = found.owner, found.connector
    before = _references(draft)
    units, enumerations = used_units(connector), used_enumerations(connector)
    if isinstance(owner.element, ssd.System):
        _drop_connections(draft, owner.element, owner.path, "", connector.name)
    if owner.around:
        _drop_connections(draft, owner.system, owner.path[:-1], owner.element.name, connector.name)
    connector.delete()
    draft.note(f"removed the connector {found}")
    _drop_references(before, connector)
    for dropped in drop_unused(draft.root, units, enumerations):
        draft.note(f"removed the {dropped}, which nothing else used")


@dataclass(frozen=True, slots=True, eq=False)
class _Reference:
    """A parameter, or an entry of a mapping, that sets the object with the name `full` in the draft."""

    draft: Draft
    bound: BoundSet
    element: ssv.Parameter | ssm.MappingEntry
    full: str

    @property
    def file(self) -> str:
        return self.bound.file if isinstance(self.element, ssv.Parameter) else self.bound.mapping_file


def _references(draft: Draft) -> list[_Reference]:
    """Parameters that refer to an existing target, in the structure and in enclosing ones."""
    found = []
    for around, _ in draft.outwards():
        addressees = Addressees(around)
        found += [each for each in _all_references(around) if addressees.of(each.full)]
    return found


def _all_references(draft: Draft) -> Iterator[_Reference]:
    for each in bound(draft):
        named = (
            [(parameter, each.binding.prefix + parameter.name) for parameter in each.values.parameters]
            if each.mapping is None
            else [(entry, entry.target) for entry in each.mapping.entries]
        )
        for element, name in named:
            yield _Reference(draft, each, element, ".".join((*each.place.path, name)))


def _drop_references(before: list[_Reference], removed: Element) -> None:
    """Remove references that pointed only to removed objects. Their contents are removed with them."""
    outside = [each for each in before if not _inside(each.bound.binding, removed)]
    known = {id(each.draft): Addressees(each.draft) for each in outside}
    without_target = [each for each in outside if not known[id(each.draft)].of(each.full)]
    for values, references in groupby(without_target, key=lambda each: each.bound):
        group = list(references)
        _drop_from(values, group, known[id(group[0].draft)])


def _drop_from(values: BoundSet, references: list[_Reference], addressees: Addressees) -> None:
    """Remove parameters and entries of one binding that nothing else uses, and the binding if that leaves it empty."""
    draft = references[0].draft
    needed = {each.element for each in _all_references(draft) if addressees.of(each.full)}
    elsewhere = bool(draft.other_users(references[0].file))
    kept = references if elsewhere else [each for each in references if each.element in needed]
    gone = [each for each in references if each not in kept]
    with_parameter = [reference for reference in gone if _drop(reference)]
    if with_parameter:
        draft.note(f"{values} no longer has {abbreviated(each.full for each in with_parameter)}")
    if unmapped := [each for each in gone if each not in with_parameter]:
        told = f"no longer sets {abbreviated(each.full for each in unmapped)}; the parameters stay in {values}"
        mapping = "" if values.maps_inline else f" in {values.mapping_file}"
        draft.note(f"the mapping{mapping} {told}")
    if kept:
        draft.note(f"{values} keeps {abbreviated(each.full for each in kept)}, because others use it as well")
    if not values.values.parameters:
        entry = draft.entry(values.binding.source)
        values.binding.delete()
        draft.note(f"removed the binding of {values} to {values.place}, which is empty now")
        draft.release(entry)


def _drop(reference: _Reference) -> bool:
    """Remove a parameter; or an entry of a mapping, with its parameter if nothing else uses it.

    Returns false if the parameter is kept.
    """
    each, element = reference.bound, reference.element
    unused = [element] if isinstance(element, ssv.Parameter) else []
    if isinstance(element, ssm.MappingEntry):
        element.delete()
        named = [one for one in each.values.parameters if each.binding.prefix + one.name == element.source]
        used = {use.parameter for use in uses(reference.draft)}
        unused = [] if reference.draft.other_users(each.file) else [one for one in named if one not in used]
    for parameter in unused:
        units, enumerations = used_units(parameter), used_enumerations(parameter)
        parameter.delete()
        drop_unused(each.values, units, enumerations)
    return bool(unused)


def _remove_inside(draft: Draft, found: ConnectorPlace) -> None:
    """Remove the connector of the structure that a component refers to; `found` was the connector of the component."""
    try:
        inner = enter(draft, found.owner)
    except SharedStructure as shared:
        others = ", ".join(user for user in shared.users if user != str(found.owner))
        draft.note(f"{shared.document} keeps its connector {found.connector.name}, because {others} also uses it")
        return
    except WrongUsage:
        return  # rules report unreadable structures
    for connector in inner.system.connectors:
        if connector.name == found.connector.name:
            _remove_connector(inner, ConnectorPlace(Place((), inner.system), connector))


def _drop_connections(
    draft: Draft, system: ssd.System, path: tuple[str, ...], element: str, connector: str | None = None
) -> None:
    """Remove the connections of an element (empty: the system itself), or of one of its connectors."""
    for connection in system.connections:
        if any(end.element == element and connector in (None, end.connector) for end in connection.ends):
            draft.note(f"disconnected {described(connection, path)}")
            connection.delete()


def _sources(element: ssd.SystemElement) -> list[str]:
    return [component.source for component in element.every(ssd.Component) if component.source]


def _inside(binding: ssd.ParameterBinding, element: Element) -> bool:
    return any(above is element for above in binding.iterancestors())
