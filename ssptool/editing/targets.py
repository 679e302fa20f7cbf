"""Possible connections of a connector, for programs that let users choose."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ssptool.documents import ssd
from ssptool.editing.changes import EditError
from ssptool.editing.connect import acting_end, carried_by, directed, flow, incompatible
from ssptool.editing.draft import ConnectorPlace, Draft, Place
from ssptool.editing.names import Name, find, find_system
from ssptool.errors import WrongUsage
from ssptool.network.legality import ConnectionEnd, direct


@dataclass(frozen=True, slots=True)
class LegalTarget:
    """A connector, by its path. `units`: names of the units of a conversion, if they differ."""

    path: tuple[str, ...]
    units: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A connector without a source, and its possible sources; those with equal names come first."""

    destination: tuple[str, ...]
    sources: tuple[LegalTarget, ...]


def legal_targets(draft: Draft, name: Name) -> Iterator[LegalTarget]:
    """Connectors to which `connect` can connect this one.

    Raises
    ------
    UnknownName, AmbiguousName, EditError
        The connector does not exist.
    """
    first = find(draft.system, name)
    if not isinstance(first, ConnectorPlace):
        raise EditError(f"{first} is an element: name one of its connectors")
    for place in _around(first.owner):
        ends = _SystemEnds(draft, place)
        own = ends.of(first)
        for second in ends.known.values():
            pair = direct(own.end, second.end, draft.version)
            if pair is not None and _reference(pair[1]) not in ends.taken:
                yield from _target(draft, own.side, second.side)


def suggestions(draft: Draft, system: Name) -> Iterator[Suggestion]:
    """Connectors in a system without a source, with their possible sources."""
    place, _ = find_system(draft.system, system)
    ends = _SystemEnds(draft, place)
    sources = [one for one in ends.known.values() if one.end.kind == _kind_of(one, "output", "input")]
    for reference, one in ends.known.items():
        if one.end.kind == _kind_of(one, "input", "output") and reference not in ends.taken:
            others = sorted(sources, key=lambda source: source.end.connector != one.end.connector)
            apart = (source for source in others if source.end.element != one.end.element)
            found = (target for source in islice(apart, MOST_TRIED) for target in _target(draft, one.side, source.side))
            path = (*draft.path, *one.side.owner.path, one.side.connector.name)
            yield Suggestion(path, tuple(islice(found, MOST_SUGGESTED)))


MOST_TRIED, MOST_SUGGESTED = 200, 20
"""Largest number of sources of one connector that are tried, and that are suggested."""


@dataclass(frozen=True, slots=True, eq=False)
class _KnownEnd:
    end: ConnectionEnd
    side: ConnectorPlace


class _SystemEnds:
    """Connectors that connections of a system can refer to, and those of them that have a source."""

    def __init__(self, draft: Draft, place: Place) -> None:
        assert isinstance(place.element, ssd.System)
        self._system = place.element
        self.known = dict(_ends(draft, place, place.element))
        self.taken = {
            directed(one, [self._end(address) for address in one.ends], draft.version)[1]
            for one in place.element.connections
        }

    def of(self, side: ConnectorPlace) -> _KnownEnd:
        return self.known[side.seen_from(self._system)]

    def _end(self, address: ssd.ConnectorRef) -> ConnectionEnd | None:
        return None if (known := self.known.get(address)) is None else known.end


def _ends(draft: Draft, place: Place, system: ssd.System) -> Iterator[tuple[ssd.ConnectorRef, _KnownEnd]]:
    inside = (Place((*place.path, one.name), one, (*place.around, system)) for one in system.elements)
    for owner in (place, *inside):
        for connector in owner.element.connectors:
            end = acting_end(draft, side := ConnectorPlace(owner, connector), system)
            yield _reference(end), _KnownEnd(end, side)


def _reference(end: ConnectionEnd) -> ssd.ConnectorRef:
    return ssd.ConnectorRef(end.element, end.connector)


def _kind_of(one: _KnownEnd, of_elements: str, of_the_system: str) -> str:
    return of_elements if one.end.element else of_the_system


def _around(owner: Place) -> Iterator[Place]:
    """The system around an element, and the element itself if it is a system."""
    if owner.around:
        yield Place(owner.path[:-1], owner.around[-1], owner.around[:-1])
    if isinstance(owner.element, ssd.System):
        yield owner


def _target(draft: Draft, first: ConnectorPlace, second: ConnectorPlace) -> Iterator[LegalTarget]:
    """The second connector, if it can be connected to the first."""
    try:
        pair = flow(draft, first, second)
    except WrongUsage:
        return
    if incompatible(draft, pair) is None:
        source, destination = (carried_by(draft, side).unit for side in (pair.source, pair.destination))
        differ = source is not None and destination is not None and source.name != destination.name
        path = (*draft.path, *second.owner.path, second.connector.name)
        yield LegalTarget(path, (source.name, destination.name) if source and destination and differ else None)
