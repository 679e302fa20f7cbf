"""Remove elements and connectors, with the connections that touch them."""

from ssptool.documents import ssd
from ssptool.editing.bind import uses
from ssptool.editing.changes import EditError
from ssptool.editing.connect import described
from ssptool.editing.draft import ConnectorPlace, Draft, Place
from ssptool.editing.interface import shrink
from ssptool.editing.names import Name, SharedStructure, enter, find, is_host, shown
from ssptool.editing.units import drop_unused, used_enumerations, used_units


def remove(draft: Draft, name: Name, with_resource: bool) -> None:
    """Remove an element or a connector; connections that touch it go as well.

    Units and enumerations of the document that only it used go, too. Of a component that is made of another
    structure a connector goes inside and outside, unless other components are made of that structure as well.

    Parameters
    ----------
    with_resource
        Take the file that the component referred to out of the archive, if nothing else refers to it.

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
    addressing = [
        use
        for around, path in draft.outwards()
        for use in uses(around)
        if f"{use.full}.".startswith(".".join((*path, *place.path, "")))
    ]
    units, enumerations = used_units(element), used_enumerations(element)
    entries = {entry for source in _sources(element) if (entry := draft.entry(source))}
    _drop_connections(draft, system, place.path[:-1], element.name)
    element.delete()
    draft.note(f"removed {place}")
    if shrink(system, element):
        draft.note("the canvas is smaller now")
    for dropped in drop_unused(draft.root, units, enumerations):
        draft.note(f"removed the {dropped}, which nothing else used")
    if outside := [use for use in addressing if not _inside(use.bound.binding, element)]:
        names = ", ".join(use.full for use in outside[:6]) + " …" * (len(outside) > 6)
        draft.note(f"parameters that address {place} have no effect now: {names}")
    for entry in sorted(entries):
        draft.release(entry, with_resource)


def _remove_connector(draft: Draft, found: ConnectorPlace) -> None:
    owner, connector = found.owner, found.connector
    units, enumerations = used_units(connector), used_enumerations(connector)
    if isinstance(owner.element, ssd.System):
        _drop_connections(draft, owner.element, owner.path, "", connector.name)
    if owner.around:
        _drop_connections(draft, owner.system, owner.path[:-1], owner.element.name, connector.name)
    connector.delete()
    draft.note(f"removed the connector {found}")
    for dropped in drop_unused(draft.root, units, enumerations):
        draft.note(f"removed the {dropped}, which nothing else used")


def _remove_inside(draft: Draft, found: ConnectorPlace) -> None:
    """Remove the connector of the structure that a component is made of; `found` was that of the component."""
    try:
        inner = enter(draft, found.owner)
    except SharedStructure as shared:
        others = ", ".join(user for user in shared.users if user != str(found.owner))
        draft.note(f"{shared.document} keeps its connector {found.connector.name}, because {others} is made of it too")
        return
    except EditError:
        return  # It cannot be read: the rules say why.
    for connector in inner.system.connectors:
        if connector.name == found.connector.name:
            _remove_connector(inner, ConnectorPlace(Place((), inner.system), connector))


def _drop_connections(
    draft: Draft, system: ssd.System, path: tuple[str, ...], element: str, connector: str | None = None
) -> None:
    """Remove what is connected to an element (empty: the system itself), or to one connector of it."""
    for connection in system.connections:
        if any(end.element == element and connector in (None, end.connector) for end in connection.ends):
            draft.note(f"disconnected {described(connection, path)}")
            connection.delete()


def _sources(element: ssd.SystemElement) -> list[str]:
    return [component.source for component in element.every(ssd.Component) if component.source]


def _inside(binding: ssd.ParameterBinding, element: ssd.SystemElement) -> bool:
    return any(above is element for above in binding.iterancestors())
