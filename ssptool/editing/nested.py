"""Names that lead into nested structures: what is edited is the document in which the named thing stands."""

import posixpath
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from itertools import count

from ssptool.documents import ssd
from ssptool.documents.archive import DEFAULT_STRUCTURE
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.storage import MissingEntry
from ssptool.documents.vocabulary import PACKAGE, SYSTEM_STRUCTURE
from ssptool.editing.changes import AmbiguousName, EditError, UnknownName
from ssptool.editing.draft import Draft, Host
from ssptool.editing.names import Name, Place, find, find_element, places, shown
from ssptool.editing.parameters import Use, uses
from ssptool.network.tree import build_tree


class Sharing(StrEnum):
    """What to do about a nested document that is used in several places, when one of them is to be edited."""

    REFUSE = "refuse"
    ALL = "all"
    COPY = "copy"


class SharedStructure(EditError):
    """A nested document that other components are made of as well; `users` are all of them."""

    def __init__(self, document: str, host: str, users: tuple[str, ...]) -> None:
        others = " and ".join(user for user in users if user != host)
        super().__init__(
            f"{host} is made of {document}, and so is {others}: an edit of one is one of all. "
            f"To edit it for all of them use --shared all; to give {host} a copy of its own first, --shared copy"
        )
        self.document = document
        self.users = users


def reach(
    draft: Draft, *names: Name, sharing: Sharing = Sharing.REFUSE, inside: bool = False
) -> tuple[Draft, tuple[Name, ...]]:
    """The structure in which named things stand together, and their names as seen from there.

    Names that are known in a structure are meant there; others may lead into a component that is made of another
    structure: `Outer.Inner.m`.

    Parameters
    ----------
    inside
        A system is meant: the name of such a component itself means the system that it is made of.

    Raises
    ------
    SharedStructure
        Other components are made of the same document, and `sharing` does not say what to do.
    EditError
        The names are not all inside the same component, or its structure cannot be read.
    """
    place = next((found for name in names if (found := _way_in(draft, name, inside)) is not None), None)
    if place is None:
        return draft, names
    below = [_below(name, place.path) for name in names]
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
    """The structure that a component is made of. Raises as `reach`."""
    inner = _open(draft, place)
    users = users_of(inner)
    if len(users) > 1 and sharing is Sharing.REFUSE:
        raise SharedStructure(inner.where, ".".join(inner.path), users)
    if len(users) > 1 and sharing is Sharing.COPY:
        _copy(draft, place, inner)
        return _open(draft, place)
    return inner


def users_of(inner: Draft) -> tuple[str, ...]:
    """The full names of all components that are made of the same document, and the variants that it is or has.

    Those of the variant that is edited come first.
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
    """The paths of the components of a variant, by default the edited one, that are made of the same document."""
    root = inner.outermost
    return _hosts(root, variant or root.document.name, inner.where)


def uses_inside(draft: Draft, name: str, sharing: Sharing, strict: bool = False) -> Iterator[Use]:
    """The parameters called `name` that nested structures give, outer structures last.

    They have the names that they have in the given structure. Those of documents of which other components are made
    as well are left out, or if `strict` a reason to raise SharedStructure, or treated as `sharing` says.
    """
    place = max((each for each in hosts(draft) if _below(name, each.path)), key=_length, default=None)
    if place is None:
        return
    rest = shown(_below(name, place.path) or "")
    try:
        inner = enter(draft, place, Sharing.ALL)
        if _uses_of(inner, rest, sharing, strict) and sharing is not Sharing.ALL:
            inner = enter(draft, place, sharing)
    except EditError:
        if strict:
            raise
        return
    for use in _uses_of(inner, rest, sharing, strict):
        where = Place((*place.path, *use.bound.place.path), use.bound.place.element, use.bound.place.around)
        file = use.bound.file
        if inner.archive is not draft.archive:
            file = inner.packages.name.removeprefix(draft.packages.name) + file
        yield replace(use, bound=replace(use.bound, place=where, file=file))


def _uses_of(inner: Draft, name: str, sharing: Sharing, strict: bool) -> list[Use]:
    return [*uses_inside(inner, name, sharing, strict), *(use for use in uses(inner) if use.full == name)]


def hosts(draft: Draft) -> Iterator[Place]:
    """The components of a structure that are made of others."""
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
    """The component into which a name leads that is not known in a structure; the one with the longest name."""
    if inside:
        with suppress(UnknownName, AmbiguousName):
            place = find_element(draft.system, name)
            return place if is_host(place.element) else None
    elif _is_known(draft, name):
        return None
    within = [place for place in hosts(draft) if _below(name, place.path)]
    return max(within, key=_length, default=None)


def _length(place: Place) -> int:
    return len(".".join(place.path))


def _is_known(draft: Draft, name: Name) -> bool:
    try:
        find(draft.system, name)
    except AmbiguousName:
        return True
    except UnknownName:
        return False
    return True


def _below(name: Name, path: tuple[str, ...]) -> Name | None:
    """The rest of a name that begins with a path; empty for the path itself, None if it does not."""
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
        told = f"the system {meant}" if meant is not None else f"{source}, which is not there"
        raise EditError(f"{place} stands for {told} of the same document: name that instead")
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
    if entry is None:  # unpacked, as a folder
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
    """Give a component a copy of the document or package that it shares with others."""
    if inner.base != draft.base:
        raise EditError(f"{inner.base} is an unpacked package, which ssptool does not copy: pack it first")
    source = place.element.get("source") or ""
    uri, hash_, variant = source.partition("#")
    entry = draft.entry(uri)
    assert entry is not None
    draft.packages.put_back(draft.archive)
    stem, suffix = posixpath.splitext(entry)
    copy = next(name for number in count(2) if not draft.archive.has(name := f"{stem}_{number}{suffix}"))
    draft.archive.put(copy, draft.archive.content(entry))
    place.element.set("source", draft.reference(copy) + hash_ + variant)
    draft.note(f"{place} has a copy of its own now, {draft.packages.name}{copy}")
