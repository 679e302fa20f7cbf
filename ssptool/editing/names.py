"""Resolve names such as `Plant.System1.x1`. Names may contain dots: every split that exists is found."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ssptool.documents import ssd
from ssptool.editing.changes import AmbiguousName, EditError, UnknownName

Name: TypeAlias = str | tuple[str, ...]
"""A full name as text, or its parts: the names of elements from the outermost in, and of a connector."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An element where it stands: `path` are the names down to it, `around` the systems, outermost first.

    Of the root system both are empty.
    """

    path: tuple[str, ...]
    element: ssd.SystemElement
    around: tuple[ssd.System, ...] = ()

    def __str__(self) -> str:
        return ".".join(self.path) or "the system"

    @property
    def system(self) -> ssd.System:
        """The system directly around it; of the root system an error."""
        if not self.around:
            raise EditError("the root system is in no system")
        return self.around[-1]


@dataclass(frozen=True, slots=True, eq=False)
class ConnectorPlace:
    """A connector and the element that has it."""

    owner: Place
    connector: ssd.Connector

    def __str__(self) -> str:
        return ".".join((*self.owner.path, self.connector.name))


T = TypeVar("T", bound=Place | ConnectorPlace)


def shown(name: Name) -> str:
    return name if isinstance(name, str) else ".".join(name)


def places(root: ssd.System) -> Iterator[Place]:
    """The root system and everything in it, outer ones first."""
    yield from _within(Place((), root))


def _within(place: Place) -> Iterator[Place]:
    yield place
    if isinstance(place.element, ssd.System):
        for element in place.element.elements:
            yield from _within(Place((*place.path, element.name), element, (*place.around, place.element)))


def connectors(root: ssd.System) -> Iterator[ConnectorPlace]:
    for place in places(root):
        for connector in place.element.connectors:
            yield ConnectorPlace(place, connector)


def find_element(root: ssd.System, name: Name) -> Place:
    """The element of this full name; the empty name or that of the root system is the root system.

    Raises
    ------
    UnknownName, AmbiguousName
    """
    found = _elements(root, name)
    if not found:
        raise UnknownName("element", shown(name), [str(place) for place in places(root) if place.path])
    return _only(name, found)


def find_system(root: ssd.System, name: Name) -> tuple[Place, ssd.System]:
    """The system of this full name. Raises as `find_element`, or EditError if it is no system."""
    place = find_element(root, name)
    if not isinstance(place.element, ssd.System):
        raise EditError(f"{shown(name)!r} is no system, but a {type(place.element).__name__.lower()}")
    return place, place.element


def find(root: ssd.System, name: Name) -> Place | ConnectorPlace:
    """The element or the connector of this full name; a connector of the root system has no dot in front.

    Raises as `find_element`.
    """
    found: list[Place | ConnectorPlace] = [*_elements(root, name), *_connectors(root, name)]
    if not found:
        raise unknown_connector(root, name)
    return _only(name, found)


def unknown_connector(root: ssd.System, name: Name) -> UnknownName:
    """The error for a name that is neither an element nor a connector, which says as much as can be said."""
    known = {str(place) for place in places(root) if place.path} | {str(found) for found in connectors(root)}
    owner, _, connector = shown(name).rpartition(".")
    try:
        place = find_element(root, owner) if owner else None
    except (UnknownName, AmbiguousName):
        place = None
    if place is None:
        return UnknownName("element or connector", shown(name), known)
    return UnknownName(f"connector of {place} named", connector, [c.name for c in place.element.connectors])


def _elements(root: ssd.System, name: Name) -> list[Place]:
    found = [place for place in places(root) if _is(place.path, name) and place.path]
    if not found and (not name or shown(name) in (".", root.get("name"))):
        return [Place((), root)]
    return found


def _connectors(root: ssd.System, name: Name) -> list[ConnectorPlace]:
    text = shown(name)
    return [
        ConnectorPlace(place, connector)
        for place in places(root)
        if text.startswith(".".join(place.path))
        for connector in place.element.connectors
        if _is((*place.path, connector.name), name)
    ]


def _is(path: tuple[str, ...], name: Name) -> bool:
    return ".".join(path) == name if isinstance(name, str) else path == name


def _only(name: Name, found: list[T]) -> T:
    if len(found) > 1:
        raise AmbiguousName(shown(name), [_described(each) for each in found])
    return found[0]


def _described(found: Place | ConnectorPlace) -> str:
    if isinstance(found, Place):
        return "the element " + " / ".join(found.path)
    owner = " / ".join(found.owner.path) or "the system"
    return f"the connector {found.connector.name!r} of {owner}"
