"""Names such as `Plant.System1.x1`: their elements and connectors, including those in nested structures.

Names may contain dots: every split that exists is found. A name that points into a component with another structure
refers to an element of that document, which is then edited.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeAlias, TypeVar

from ssptool.arguments import texts
from ssptool.documents import ssd
from ssptool.documents.archive import DEFAULT_STRUCTURE
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.storage import MissingEntry
from ssptool.documents.vocabulary import PACKAGE, SYSTEM_STRUCTURE
from ssptool.editing.changes import EditError
from ssptool.editing.draft import ConnectorPlace, Draft, Host, Place, copied
from ssptool.errors import AmbiguousName, UnknownName, in_other_case
from ssptool.network.tree import build_tree
from ssptool.option_words import Sharing

Name: TypeAlias = str | tuple[str, ...]
"""A full name as text, or its parts: names of elements from the outermost inwards, and of a connector."""


T = TypeVar("T", bound=Place | ConnectorPlace)


def shown(name: Name) -> str:
    """A name as a string. Raises WrongArgument if it is neither a string nor a tuple of strings."""
    return name if isinstance(name, str) else ".".join(texts("name", name, "a full name"))


def places(root: ssd.System) -> Iterator[Place]:
    """The root system and all its elements, outer ones first."""
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
    """Element with this full name; the empty name and the name of the root system mean the root system.

    Raises
    ------
    UnknownName, AmbiguousName
    """
    found = _elements(root, name)
    if not found and (own := in_other_case(shown(name), map(str, places(root)))) is not None:
        found = _elements(root, own)
    if not found:
        known = [str(place) for place in places(root) if place.path]
        raise UnknownName(f"there is no element {shown(name)!r}", shown(name), known)
    return _only(name, found)


def find_system(root: ssd.System, name: Name) -> tuple[Place, ssd.System]:
    """System with this full name. Raises as `find_element`, or EditError if it is not a system."""
    place = find_element(root, name)
    if not isinstance(place.element, ssd.System):
        raise EditError(f"{shown(name)!r} is a {type(place.element).__name__.lower()}, not a system")
    return place, place.element


def find(root: ssd.System, name: Name, *, exact: bool = False) -> Place | ConnectorPlace:
    """Element or connector with this full name; the name of a connector of the root system has no dot in front.

    If there is no exact match and not `exact`, case is ignored. Raises as `find_element`.
    """
    found: list[Place | ConnectorPlace] = [*_elements(root, name), *_connectors(root, name)]
    if not found:
        known = chain(map(str, places(root)), map(str, connectors(root)))
        if exact or (own := in_other_case(shown(name), known)) is None:
            raise unknown_connector(root, name)
        found = [*_elements(root, own), *_connectors(root, own)]
    return _only(name, found)


def unknown_connector(root: ssd.System, name: Name) -> UnknownName:
    """Error for a name that is neither an element nor a connector, with as much advice as possible."""
    known = {str(place) for place in places(root) if place.path} | {str(found) for found in connectors(root)}
    owner, _, connector = shown(name).rpartition(".")
    try:
        place = find_element(root, owner) if owner else None
    except (UnknownName, AmbiguousName):
        place = None
    if place is None:
        return UnknownName(f"there is no element or connector {shown(name)!r}", shown(name), known)
    return UnknownName(f"{place} has no connector {connector!r}", connector, [c.name for c in place.element.connectors])


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
        raise ambiguous_dots(shown(name), [_described(each) for each in found])
    return found[0]


def ambiguous_dots(name: str, candidates: Sequence[str]) -> AmbiguousName:
    """Error for a name with dots that has several readings."""
    reason = f", because names may contain dots: it is {' or '.join(candidates)}"
    way = "in Python give the parts as a tuple, such as ('Plant', 'System1', 'x1')"
    return AmbiguousName(name, candidates, reason, way)


def _described(found: Place | ConnectorPlace) -> str:
    if isinstance(found, Place):
        return "the element " + " / ".join(found.path)
    owner = " / ".join(found.owner.path) or "the system"
    return f"the connector {found.connector.name!r} of {owner}"


class SharedStructure(EditError):
    """Other components use the same nested document; `users` are all of them."""

    def __init__(self, document: str, host: str, users: tuple[str, ...]) -> None:
        super().__init__(
            f"{document} is the structure of {', '.join(dict.fromkeys((host, *users)))}: an edit changes all of them; "
            f"use --shared all to edit it for all of them, or --shared copy to give {host} a copy of its own"
        )
        self.document = document
        self.users = users


def reach(
    draft: Draft, *names: Name, sharing: Sharing = Sharing.REFUSE, inside: bool = False
) -> tuple[Draft, tuple[Name, ...]]:
    """The structure that contains the named objects, and their names inside it.

    A name that exists in a structure refers to it. Other names may point into a component with a nested structure:
    `Outer.Inner.m`.

    Parameters
    ----------
    inside
        The name refers to a system: the name of such a component then means its nested system.

    Raises
    ------
    SharedStructure
        Other components use the same document, and `sharing` does not allow the edit.
    EditError
        The names are not all inside the same component, or its structure cannot be read.
    """
    place = next((found for name in names if (found := _way_in(draft, name, inside)) is not None), None)
    if place is None:
        return draft, names
    below = [rest_below(name, place.path) for name in names]
    if any(each is None for each in below):
        outside = next(shown(name) for name, each in zip(names, below, strict=True) if each is None)
        raise EditError(
            f"{outside} is not inside {place}, which is made of a document of its own: name connectors of {place} "
            "to connect the two sides"
        )
    return reach(
        enter(draft, place, sharing), *(each for each in below if each is not None), sharing=sharing, inside=inside
    )


def enter(draft: Draft, place: Place, sharing: Sharing = Sharing.REFUSE) -> Draft:
    """Structure that a component refers to. Raises as `reach`."""
    inner = _open(draft, place)
    users = users_of(inner)
    if len(users) > 1 and sharing is Sharing.REFUSE:
        raise SharedStructure(inner.where, ".".join(inner.path), users)
    if len(users) > 1 and sharing is Sharing.COPY:
        _copy(draft, place, inner)
        return _open(draft, place)
    return inner


def users_of(inner: Draft) -> tuple[str, ...]:
    """Full names of all components that use the same document, and the variants that it is or contains.

    Names of the edited variant come first.
    """
    root = inner.outermost
    users = [".".join(path) for path in host_paths(inner)]
    if inner.archive is root.archive and inner.document in root.archive.variants():
        users.append(f"the variant {inner.document.name}")
    for variant in root.archive.variants():
        if variant is not root.document and variant is not inner.document:
            with suppress(InvalidDocument):
                found = _hosts(root, variant.name, inner.where)
                users += [f"{'.'.join(path)} of {variant.name}" for path in found]
    return tuple(users)


def host_paths(inner: Draft, variant: str | None = None) -> list[tuple[str, ...]]:
    """Paths of the components of a variant (default: the edited one) that refer to the same document."""
    root = inner.outermost
    return _hosts(root, variant or root.document.name, inner.where)


def hosts(draft: Draft) -> Iterator[Place]:
    """Components of a structure that refer to other structures."""
    for place in places(draft.system):
        if isinstance(place.element, ssd.Component) and is_host(place.element):
            yield place


def is_host(element: ssd.SystemElement) -> bool:
    return isinstance(element, ssd.Component) and (
        element.media_type in (PACKAGE, SYSTEM_STRUCTURE) or (element.source or "").startswith("#")
    )


def _hosts(root: Draft, variant: str, document: str) -> list[tuple[str, ...]]:
    tree = build_tree(root.archive, root.archive.document(variant))
    return [place.path for place in tree.systems if place.host is not None and place.scope.document.name == document]


def _way_in(draft: Draft, name: Name, inside: bool) -> Place | None:
    """The component that an unknown name points into; the one with the longest name."""
    if inside:
        with suppress(UnknownName, AmbiguousName):
            place = find_element(draft.system, name)
            return place if is_host(place.element) else None
    elif _is_known(draft, name):
        return None
    within = [place for place in hosts(draft) if rest_below(name, place.path)]
    return max(within, key=path_length, default=None)


def path_length(place: Place) -> int:
    return len(".".join(place.path))


def _is_known(draft: Draft, name: Name) -> bool:
    try:
        find(draft.system, name, exact=True)
    except AmbiguousName:
        return True
    except UnknownName:
        return False
    return True


def rest_below(name: Name, path: tuple[str, ...]) -> Name | None:
    """The rest of a name after a path; empty for the path itself, None if the name does not start with it."""
    if isinstance(name, tuple):
        return name[len(path) :] or "" if name[: len(path)] == path else None
    start = ".".join(path)
    if name == start:
        return ""
    return name.removeprefix(f"{start}.") if name.startswith(f"{start}.") else None


def _open(draft: Draft, place: Place) -> Draft:
    component, source = place.element, place.element.get("source") or ""
    assert isinstance(component, ssd.Component)
    if source.startswith("#"):
        meant = next((each for each in places(draft.system) if each.element.get("id") == source[1:]), None)
        told = f"{source}, which does not exist" if meant is None else f"the system {meant}: use this name instead"
        raise EditError(f"{place} refers to {told}")
    uri, _, variant = source.partition("#")
    packed = component.media_type == PACKAGE
    if not packed and variant:
        raise EditError(f"{place} refers into another document ({source}), which ssptool does not edit")
    try:
        return _of_package(draft, place, uri, variant) if packed else _of_document(draft, place, uri)
    except (InvalidDocument, MissingEntry) as problem:
        raise EditError(f"what {place} is made of cannot be read: {problem}") from problem


def _of_document(draft: Draft, place: Place, uri: str) -> Draft:
    entry = draft.entry(uri)
    if entry is None:
        raise EditError(f"{place} is made of {uri!r}, which is not in {draft.archive.path.name}")
    document = draft.archive.document(entry)
    document.root_as(ssd.SystemStructureDescription)
    return Draft(draft.archive, document, draft.notes, draft.packages, Host(draft, place), draft.base)


def _of_package(draft: Draft, place: Place, uri: str, variant: str) -> Draft:
    entry, name = draft.entry(uri), variant or DEFAULT_STRUCTURE
    if entry is None:  # unpacked as a folder
        found = draft.entry(f"{uri.rstrip('/')}/{name}")
        if found is None:
            raise EditError(f"{place} is made of {uri!r}, which is not in {draft.archive.path.name}")
        inner = _of_document(draft, place, f"{uri.rstrip('/')}/{name}")
        inner.base = found.removesuffix(name)
        return inner
    archive, packages = draft.packages.open(draft.archive, entry)
    document = archive.document(name)
    document.root_as(ssd.SystemStructureDescription)
    return Draft(archive, document, draft.notes, packages, Host(draft, place))


def _copy(draft: Draft, place: Place, inner: Draft) -> None:
    """Let a component refer to its own copy of a document or package that it shares with others."""
    if inner.base != draft.base:
        raise EditError(f"{inner.base} is an unpacked package, which ssptool does not copy: pack it first")
    source = place.element.get("source") or ""
    uri, hash_, variant = source.partition("#")
    entry = draft.entry(uri)
    assert entry is not None
    draft.packages.put_back(draft.archive)
    copy = copied(draft, entry)
    place.element.set("source", draft.reference(copy) + hash_ + variant)
    draft.note(f"{place} has a copy of its own now, {draft.packages.name}{copy}")


def require_free(system: ssd.System, name: str, where: str, advice: str) -> None:
    if not name:
        raise EditError("an element needs a name")
    if name in {element.name for element in system.elements}:
        raise EditError(f"there is already an element {name!r} in {where}: {advice}")
