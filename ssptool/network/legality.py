"""Legality of a connection: direction, types, units and dimensions.

Rules, network, edits, suggestions and completion use the same functions. `direction` follows from the kinds of the
connectors (SSP 2.0 §5.3.2.1, table 2.5.1 of the rule catalogue); `obstacles` follow from the values at both ends.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import NamedTuple, TypeAlias

from ssptool.documents import ssc
from ssptool.documents.ssd import ConnectorKind
from ssptool.fmu.description import Causality, FmuDescription, Variable
from ssptool.fmu.units import PhysicalUnit, named
from ssptool.network.conversion import Relation, Verdict, convertible, is_float, relation, verdict


class Owner(StrEnum):
    """Owner of a connector: the system that contains the connection, or one of its elements."""

    SYSTEM = "S"
    ELEMENT = "E"


class LegalConnection(NamedTuple):
    """One legal pair of connectors, from source to destination, and the version of SSP that introduced it."""

    source_owner: Owner
    source_kind: ConnectorKind
    destination_owner: Owner
    destination_kind: ConnectorKind
    since: str = "1.0"


class ConnectionEnd(NamedTuple):
    """One end of a connection: an element ("": the enclosing system), its connector, and the kind of the connector."""

    element: str
    connector: str
    kind: ConnectorKind

    @property
    def owner(self) -> Owner:
        return Owner.ELEMENT if self.element else Owner.SYSTEM


_DESTINATIONS = (
    (Owner.ELEMENT, ConnectorKind.INPUT),
    (Owner.ELEMENT, ConnectorKind.INOUT),
    (Owner.ELEMENT, ConnectorKind.PARAMETER),
    (Owner.ELEMENT, ConnectorKind.STRUCTURAL_PARAMETER),
    (Owner.SYSTEM, ConnectorKind.OUTPUT),
    (Owner.SYSTEM, ConnectorKind.LOCAL),
    (Owner.SYSTEM, ConnectorKind.CALCULATED_PARAMETER),
    (Owner.SYSTEM, ConnectorKind.CONSTANT),
)
# The rows are those of the standard's table; the columns are the destinations above, in order. 1 and 2: legal since
# this version of SSP; a dot: illegal.
_SOURCES = (
    (Owner.SYSTEM, ConnectorKind.INPUT, "11..12.."),
    (Owner.SYSTEM, ConnectorKind.PARAMETER, "111.121."),
    (Owner.SYSTEM, ConnectorKind.STRUCTURAL_PARAMETER, "2222222."),
    (Owner.ELEMENT, ConnectorKind.OUTPUT, "11..12.."),
    (Owner.ELEMENT, ConnectorKind.LOCAL, "22..22.."),
    (Owner.ELEMENT, ConnectorKind.INOUT, "1...12.."),
    (Owner.ELEMENT, ConnectorKind.CALCULATED_PARAMETER, "111.121."),
    (Owner.ELEMENT, ConnectorKind.CONSTANT, "22222222"),
)

LEGAL: frozenset[LegalConnection] = frozenset(
    LegalConnection(source_owner, source_kind, owner, kind, f"{since}.0")
    for source_owner, source_kind, marks in _SOURCES
    for (owner, kind), since in zip(_DESTINATIONS, marks, strict=True)
    if since != "."
)
_SINCE = {
    ((row.source_owner, row.source_kind), (row.destination_owner, row.destination_kind)): row.since for row in LEGAL
}


def direct(
    start: ConnectionEnd, end: ConnectionEnd, version: str = "2.0"
) -> tuple[ConnectionEnd, ConnectionEnd] | None:
    """Source and destination of a connection; None if the table of this version of SSP does not contain the pair.

    Start and end of a connection imply no direction: the kinds of the two connectors decide. An `unspecified` connector
    (SSP 2.0) gets a kind for which the pair is legal. If that is possible in both directions, the direction is unknown
    and the result is also None.
    """
    forward = leads_forward(start.owner, start.kind, end.owner, end.kind, version)
    if forward is None:
        return None
    return (start, end) if forward else (end, start)


@cache
def leads_forward(
    start_owner: Owner, start: ConnectorKind, end_owner: Owner, end: ConnectorKind, version: str = "2.0"
) -> bool | None:
    """True if a connection between connectors of these kinds points from its start to its end; None as for `direct`."""
    forward = _allows((start_owner, start), (end_owner, end), version)
    backward = _allows((end_owner, end), (start_owner, start), version)
    return None if forward == backward else forward


def _allows(source: tuple[Owner, ConnectorKind], destination: tuple[Owner, ConnectorKind], version: str) -> bool:
    return any(
        since <= version and _fits(source, legal_source) and _fits(destination, legal_destination)
        for (legal_source, legal_destination), since in _SINCE.items()
    )


def _fits(connector: tuple[Owner, ConnectorKind], legal: tuple[Owner, ConnectorKind]) -> bool:
    return connector[0] == legal[0] and connector[1] in (legal[1], ConnectorKind.UNSPECIFIED)


def ticks(owner: Owner, stated: str | None, variable: Variable | None) -> bool:
    """True if a connector is a clock of an element that ticks by itself. `stated` is the `intervalVariability` in the
    SSD, which counts if there is no FMU.
    """
    own = dict(variable.clock).get("intervalVariability", stated) if variable is not None and variable.clock else stated
    return owner is Owner.ELEMENT and own not in (None, "triggered")


def acting_kind(owner: Owner, kind: ConnectorKind, stated: str | None, variable: Variable | None) -> ConnectorKind:
    """The kind that counts for a connection; `stated` as for `ticks`.

    A clock that ticks by itself counts as an output whatever its causality (SSP 2.0 §5.3.2.1); an `unspecified`
    connector of an FMU has the kind of its variable.
    """
    return ConnectorKind.OUTPUT if ticks(owner, stated, variable) else stated_or_own_kind(kind, variable)


def stated_or_own_kind(kind: ConnectorKind, variable: Variable | None) -> ConnectorKind:
    """Kind of a connector; if the SSD leaves it `unspecified`, the kind of its variable."""
    return _KINDS[variable.causality] if kind is ConnectorKind.UNSPECIFIED and variable is not None else kind


_KINDS = {
    Causality.PARAMETER: ConnectorKind.PARAMETER,
    Causality.CALCULATED_PARAMETER: ConnectorKind.CALCULATED_PARAMETER,
    Causality.STRUCTURAL_PARAMETER: ConnectorKind.STRUCTURAL_PARAMETER,
    Causality.INPUT: ConnectorKind.INPUT,
    Causality.OUTPUT: ConnectorKind.OUTPUT,
    Causality.LOCAL: ConnectorKind.LOCAL,
    Causality.INDEPENDENT: ConnectorKind.UNSPECIFIED,
    Causality.NONE: ConnectorKind.UNSPECIFIED,
}


class Carried(NamedTuple):
    """Type, unit and dimensions of a connector's value: those of the connector if stated, otherwise those of the FMU's
    variable.

    `type` has FMI 3.0's spelling; `items` are those of an enumeration. `relative`: it is a difference of two values
    (FMI's relativeQuantity). None: unknown.
    """

    type: str | None = None
    unit: PhysicalUnit | None = None
    items: Mapping[str, int] | None = None
    relative: bool | None = None

    @property
    def floating(self) -> bool:
        return self.type is not None and is_float(self.type)


def by_variable(fmu: FmuDescription, variable: Variable) -> Carried:
    """The value of a variable of an FMU."""
    items = variable.items if variable.type == "Enumeration" else None
    return Carried(variable.type, named(fmu.units, variable.unit), items, variable.relative_quantity)


StatedShape: TypeAlias = tuple[int | None, ...]


class Obstacle(NamedTuple):
    """A finding about the values at both ends of a connection, with the code of its rule.

    `source` and `destination` are predicates that describe the difference. `lifted_by`: a transformation that removes
    the obstacle.
    """

    code: str
    verdict: Verdict
    source: str
    destination: str
    reason: str = ""
    advice: str = ""
    lifted_by: tuple[type[ssc.Transformation], ...] = ()

    def between(self, source: object, destination: object) -> str:
        """Text of the finding for these connectors."""
        return f"{source} {self.source}, {destination} {self.destination}" + (f": {self.reason}" if self.reason else "")


def obstacles(
    source: Carried, destination: Carried, shape: StatedShape | None, other: StatedShape | None
) -> Iterator[Obstacle]:
    """The obstacles between a source and a destination, each with its dimensions if they are known."""
    yield from _types(source, destination)
    yield from _units(source.unit, destination.unit)
    yield from _differences(source, destination)
    if shape is not None and other is not None and _differ(shape, other):
        yield Obstacle("SSD-CONN-009", Verdict.ERROR, f"is {shape_words(shape)}", shape_words(other))


def _types(source: Carried, destination: Carried) -> Iterator[Obstacle]:
    code = "SSD-CONN-008"
    if source.type is None or destination.type is None:
        return
    between = relation(source.type, destination.type)
    if between is Relation.IDENTICAL:
        known = destination.items
        lost = [item for item, value in (source.items or {}).items() if known and known.get(item) != value]
        if lost:
            names, others = (", ".join(items[:3]) for items in (lost, [*(known or ())]))
            advice = "add an EnumerationMappingTransformation for the items that differ"
            mappings = (ssc.Transformation,)
            what = f"has the items {names}", others
            yield Obstacle(code, Verdict.ERROR, *what, "map them", advice, mappings)
        return
    judged = verdict(source.type, destination.type)
    advice = {
        Relation.ENUMERATION: "add an IntegerMappingTransformation",
        Relation.WIDENING: "",
    }.get(between, "connect connectors of one type, or convert in a component")
    lifting = (ssc.IntegerMappingTransformation,) if between is Relation.ENUMERATION else ()
    yield Obstacle(code, judged, f"is {source.type}", destination.type, between, advice, lifting)


def _units(one: PhysicalUnit | None, other: PhysicalUnit | None) -> Iterator[Obstacle]:
    if one is not None and other is not None and not convertible(one, other):
        here, there = (_told(unit) for unit in (one, other))
        what = f"is in {here}", f"in {there}"
        yield Obstacle("UNIT-006", Verdict.ERROR, *what, "these units do not convert", "connect other connectors")


def _differences(source: Carried, destination: Carried) -> Iterator[Obstacle]:
    """Obstacle between a difference and a value, which differ because zero is arbitrary in units with an offset."""
    if None in (source.relative, destination.relative) or source.relative is destination.relative:
        return
    if any(unit is not None and unit.has_arbitrary_zero for unit in (source.unit, destination.unit)):
        words = {True: "a difference (relativeQuantity)", False: "an absolute value"}
        what = f"is {words[bool(source.relative)]}", words[bool(destination.relative)]
        reason = "the number passes without an offset between the units"
        advice = "connect values of one kind, or add the reference as a LinearTransformation"
        yield Obstacle("UNIT-102", Verdict.WARNING, *what, reason, advice, (ssc.LinearTransformation,))


def _told(unit: PhysicalUnit) -> str:
    return unit.name if unit.in_base_units == unit.name else f"{unit.name} ({unit.in_base_units})"


def _differ(shape: StatedShape, other: StatedShape) -> bool:
    sizes = zip(shape, other, strict=False)
    return len(shape) != len(other) or any(a != b for a, b in sizes if a is not None and b is not None)


def shape_words(shape: StatedShape) -> str:
    return "a scalar" if not shape else "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
