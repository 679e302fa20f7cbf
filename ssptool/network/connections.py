"""Which connections are legal, and which way they go (SSP 2.0 §5.3.2.1; catalogue: table 2.5.1)."""

from enum import StrEnum
from functools import cache
from typing import NamedTuple

from ssptool.documents.ssd import ConnectorKind as Kind


class Owner(StrEnum):
    """Whose connector: that of the system which encloses the connection, or of one of its elements."""

    SYSTEM = "S"
    ELEMENT = "E"


class Row(NamedTuple):
    """One legal pair of connectors, from source to destination, and the version of SSP that introduced it."""

    source_owner: Owner
    source_kind: Kind
    destination_owner: Owner
    destination_kind: Kind
    since: str = "1.0"


class End(NamedTuple):
    """One end of a connection: an element ("": the enclosing system), its connector, and the kind of that."""

    element: str
    connector: str
    kind: Kind

    @property
    def owner(self) -> Owner:
        return Owner.ELEMENT if self.element else Owner.SYSTEM


_DESTINATIONS = (
    (Owner.ELEMENT, Kind.INPUT),
    (Owner.ELEMENT, Kind.INOUT),
    (Owner.ELEMENT, Kind.PARAMETER),
    (Owner.ELEMENT, Kind.STRUCTURAL_PARAMETER),
    (Owner.SYSTEM, Kind.OUTPUT),
    (Owner.SYSTEM, Kind.LOCAL),
    (Owner.SYSTEM, Kind.CALCULATED_PARAMETER),
    (Owner.SYSTEM, Kind.CONSTANT),
)
# Row by row as in the standard's table; the columns are the destinations above, in their order.
# 1 and 2: legal since that version of SSP; a dot: illegal.
_SOURCES = (
    (Owner.SYSTEM, Kind.INPUT, "11..12.."),
    (Owner.SYSTEM, Kind.PARAMETER, "111.121."),
    (Owner.SYSTEM, Kind.STRUCTURAL_PARAMETER, "2222222."),
    (Owner.ELEMENT, Kind.OUTPUT, "11..12.."),
    (Owner.ELEMENT, Kind.LOCAL, "22..22.."),
    (Owner.ELEMENT, Kind.INOUT, "1...12.."),
    (Owner.ELEMENT, Kind.CALCULATED_PARAMETER, "111.121."),
    (Owner.ELEMENT, Kind.CONSTANT, "22222222"),
)

LEGAL: frozenset[Row] = frozenset(
    Row(source_owner, source_kind, owner, kind, f"{since}.0")
    for source_owner, source_kind, marks in _SOURCES
    for (owner, kind), since in zip(_DESTINATIONS, marks, strict=True)
    if since != "."
)
_SINCE = {
    ((row.source_owner, row.source_kind), (row.destination_owner, row.destination_kind)): row.since for row in LEGAL
}


def direct(start: End, end: End, version: str = "2.0") -> tuple[End, End] | None:
    """The source and the destination of a connection; None if the table of this version of SSP has no such
    pair.

    Start and end of a connection imply no direction: the kinds of the two connectors decide. An `unspecified`
    connector (SSP 2.0) takes whatever kind makes the pair legal; if that is possible in both directions, the
    direction is unknown and the result is None as well.
    """
    forward = leads_forward(start.owner, start.kind, end.owner, end.kind, version)
    if forward is None:
        return None
    return (start, end) if forward else (end, start)


@cache
def leads_forward(start_owner: Owner, start: Kind, end_owner: Owner, end: Kind, version: str = "2.0") -> bool | None:
    """Whether a connection between connectors of these kinds leads from its start to its end; None as for `direct`."""
    forward = _allows((start_owner, start), (end_owner, end), version)
    backward = _allows((end_owner, end), (start_owner, start), version)
    return None if forward == backward else forward


def _allows(source: tuple[Owner, Kind], destination: tuple[Owner, Kind], version: str) -> bool:
    return any(
        since <= version and _fits(source, legal_source) and _fits(destination, legal_destination)
        for (legal_source, legal_destination), since in _SINCE.items()
    )


def _fits(connector: tuple[Owner, Kind], legal: tuple[Owner, Kind]) -> bool:
    return connector[0] == legal[0] and connector[1] in (legal[1], Kind.UNSPECIFIED)
