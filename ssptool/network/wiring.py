"""Wiring: from the connections of nested systems to flows from component to component.

A connection is a segment between two connectors. A flow follows segments through the boundaries of systems and composes
their conversions: for each segment the conversion of units, then the segment's transformation.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, pairwise
from typing import NamedTuple

from ssptool.documents import ssc
from ssptool.documents.diagnostics import Position
from ssptool.fmu.units import PhysicalUnit
from ssptool.many_values import made
from ssptool.network.arrays import Unpaired, by_element, pairs_of_elements, shapes
from ssptool.network.connectors import ConnectorKey, FlatConnector
from ssptool.network.conversion import IncompatibleUnits, conversion
from ssptool.network.legality import Owner, acting_kind, leads_forward, ticks
from ssptool.network.network import IDENTITY, Conversion, Leg, LegKind, Wire
from ssptool.network.tree import ElementPath, ReferencePlace, SystemPlace, Tree


class Segment(NamedTuple):
    """A directed connection of the system at `owner`; or the step through the boundary of a system that a component
    refers to. `number` counts the segments in document order. Indices select an element of an array at the source and
    at the destination.
    """

    kind: LegKind
    number: int
    owner: ElementPath
    source: ConnectorKey
    destination: ConnectorKey
    position: Position
    suppress_unit_conversion: bool = False
    transformation: Conversion = IDENTITY
    source_indices: tuple[int, ...] | None = None
    destination_indices: tuple[int, ...] | None = None

    @property
    def is_whole(self) -> bool:
        """True if no index selects an element."""
        return self.source_indices is None and self.destination_indices is None


class PlainConnection(NamedTuple):
    """A connection between the variables of two components that changes no value, as most do; `number` is that of a
    segment.
    """

    number: int
    destination: ConnectorKey
    wire: Wire


class Flow(NamedTuple):
    """A path of segments from one connector to its final destination."""

    source: FlatConnector
    destination: FlatConnector
    conversion: Conversion
    legs: tuple[Leg, ...]
    order: tuple[int, ...]

    @property
    def wire(self) -> Wire:
        return Wire(self.source.signal, self.destination.signal, self.conversion, self.legs)

    @property
    def dangles(self) -> bool:
        """True if it ends at the connector of a nested system without further connection."""
        return self.destination.variable is None and not self.destination.key.of_root


class Wiring:
    """The connectors of a tree and the segments between them.

    `plain` contains the wires of plain connections with their order; no segments and flows are made for them.
    """

    def __init__(self, tree: Tree, connectors: Mapping[ConnectorKey, FlatConnector]) -> None:
        self._tree = tree
        self._inside: dict[ConnectorKey, list[ConnectorKey]] = defaultdict(list)
        self._leaving: dict[ConnectorKey, list[Segment]] = defaultdict(list)
        self.driven: set[ConnectorKey] = set()
        self._conversions: dict[tuple[int, int, bool], Conversion | IncompatibleUnits] = {}
        self.plain: list[tuple[tuple[int, ...], Wire]] = []
        numbers = count()
        within = [one for place in tree.systems for one in self._stated(place, connectors, numbers)]
        through = [one for place in tree.references for one in _through_dictionary(place, connectors, numbers)]
        whole = (
            (one.source, one.destination)
            for one in (*within, *through)
            if not isinstance(one, PlainConnection) and one.is_whole
        )
        self.shapes = shapes(tree, connectors, whole)
        self.connectors = by_element(connectors, self.shapes)
        for stated in within:
            if isinstance(stated, PlainConnection):
                if stated.destination not in self.driven:
                    self.driven.add(stated.destination)
                    self.plain.append(((stated.number,), stated.wire))
            elif self.shapes or not stated.is_whole:
                for segment in self._single(stated):
                    self._connect(segment)
            else:
                self._connect(stated)
        for stated in through:
            for segment in self._single(stated):
                writes = segment.destination.dictionary is not None
                if segment.source in self.driven if writes else segment.destination in self._leaving:
                    self._connect(segment)
        self._deduce()

    def _single(self, segment: Segment) -> Iterable[Segment]:
        """Segments of single elements in place of a segment of arrays."""
        known = self.shapes
        if segment.is_whole and segment.source not in known and segment.destination not in known:
            return (segment,)
        ends = ((segment.source, segment.source_indices), (segment.destination, segment.destination_indices))
        try:
            source, destination = ((key, known.get(key, ()), indices) for key, indices in ends)
            pairs = pairs_of_elements(source, destination)
            return [segment._replace(source=start, destination=end) for start, end in pairs]
        except Unpaired as problem:
            rules = ("SSD-CONN-009",) if segment.is_whole else ("SSD-CONN-010", "SSD-CONN-011")
            self._tree.refuse(segment.position, str(problem), rules=rules)
            return ()

    @property
    def leading_on(self) -> list[tuple[ConnectorKey, FlatConnector]]:
        """Connectors at which a connection starts."""
        return [one for one in self.connectors.items() if one[0] in self._leaving]

    def flows_from(self, key: ConnectorKey) -> Iterator[Flow]:
        """All flows from a connector to their final destinations: a component, the root system, or a dangling end."""
        source = self.connectors[key]
        # A connector has one driver, so the paths from an undriven connector form a tree: none is visited twice.
        waiting: list[tuple[Segment, ...]] = [(segment,) for segment in self._leaving.get(key, ())]
        while waiting:
            way = waiting.pop()
            destination = self.connectors[way[-1].destination]
            if destination.variable is not None:
                yield self._flow(source, destination, way)
                continue
            onward = self._leaving.get(destination.key, ())
            if destination.key.of_root or not onward:
                yield self._flow(source, destination, way)
            elif destination.key != key:
                waiting.extend((*way, segment) for segment in onward)

    def _stated(
        self, place: SystemPlace, connectors: Mapping[ConnectorKey, FlatConnector], numbers: Iterator[int]
    ) -> Iterator[Segment | PlainConnection]:
        """The legal connections of a system, and the steps through its boundary."""
        stated, owners = place.system.connections, _Owners(place)
        manners = _Manners(place.scope.document.version, self._passes_on)
        for connection, at in zip(stated, place.scope.survey.of_siblings(stated), strict=True):
            (start_element, start_name), (end_element, end_name) = connection.ends
            (owner, path, inner), (other, to_path, to_inner) = owners[start_element], owners[end_element]
            # Plain tuples, which are equal to keys and made in less time: there are very many.
            start = connectors.get((path, start_name, inner, None))  # type: ignore[call-overload]
            end = connectors.get((to_path, end_name, to_inner, None))  # type: ignore[call-overload]
            if start is None or end is None:
                continue
            forward, plain = manners.of(owner, start, other, end)
            if forward is None:
                if all(ticks(by, one.interval, one.variable) for by, one in ((owner, start), (other, end))):
                    reason = "a connection of two time-based clocks"
                    self._tree.refuse(at, reason, rules=("SSD-CONN-003",))
                continue
            source, destination = (start, end) if forward else (end, start)
            number = next(numbers)
            # If both ends name elements, four attributes contain nothing else.
            if plain and len(connection.keys()) == 4 and not len(connection):
                ends = source.signal, destination.signal
                leg = made(Leg, (LegKind.CONNECTION, *ends, at, None, IDENTITY, IDENTITY))
                wire = made(Wire, (*ends, IDENTITY, (leg,)))
                yield made(PlainConnection, (number, destination.key, wire))
                continue
            from_start, from_end = connection.indices
            yield Segment(
                kind=LegKind.CONNECTION,
                number=number,
                owner=place.path,
                source=source.key,
                # The receiving side of a dictionary reference.
                destination=destination.key._replace(inner=True) if destination.shared else destination.key,
                position=at,
                suppress_unit_conversion=connection.suppress_unit_conversion,
                transformation=_transformation(connection.transformation, source, destination),
                source_indices=from_start if forward else from_end,
                destination_indices=from_end if forward else from_start,
            )
        yield from _through_boundary(place, connectors, numbers)

    def _passes_on(self, source: FlatConnector, destination: FlatConnector) -> bool:
        """True if a connection of these connectors is plain unless it states units, indices or a transformation."""
        ends = source, destination
        if any(one.variable is None or one.shared or one.extents for one in ends):
            return False
        relative = any(map(_is_relative, ends))
        units = [source.variable_unit, source.unit, destination.unit, destination.variable_unit]
        stated = [unit for unit in units if unit is not None]
        return all(
            one is other or self._conversion(one, other, relative) is IDENTITY for one, other in pairwise(stated)
        )

    def _flow(self, source: FlatConnector, destination: FlatConnector, way: tuple[Segment, ...]) -> Flow:
        relative = _is_relative(source) or _is_relative(destination)
        legs = self._at_variable(source, source.variable_unit, source.unit, relative)
        unit = source.variable_unit if source.unit is None else source.unit
        at = source.signal
        for segment in way:
            reached = self.connectors[segment.destination]
            stated, change = reached.unit, IDENTITY
            if not segment.suppress_unit_conversion:
                change = self._converted(unit, stated, relative, segment)
                stated = unit if stated is None else stated
            units, to = _names(unit, stated, change), reached.signal
            legs.append(Leg(segment.kind, at, to, segment.position, units, change, segment.transformation))
            unit, at = stated, to
        legs += self._at_variable(destination, destination.unit, destination.variable_unit, relative)
        total = IDENTITY
        for leg in legs:
            if leg.unit_conversion is not IDENTITY or leg.transformation is not IDENTITY:
                total = total.then(leg.conversion)
        return Flow(source, destination, total, tuple(legs), tuple([segment.number for segment in way]))

    def _at_variable(
        self, connector: FlatConnector, source: PhysicalUnit | None, target: PhysicalUnit | None, relative: bool
    ) -> list[Leg]:
        """Conversion between a variable's own unit and the unit that the SSD states for it (see rule FMU-006)."""
        if connector.variable is None or source is target:
            return []
        change = self._conversion(source, target, relative)
        if change is IDENTITY or not isinstance(change, Conversion):
            return []
        at, units = connector.signal, _names(source, target, change)
        return [Leg(LegKind.VARIABLE, at, at, connector.position, units, change)]

    def _converted(
        self, unit: PhysicalUnit | None, stated: PhysicalUnit | None, relative: bool, segment: Segment
    ) -> Conversion:
        change = self._conversion(unit, stated, relative)
        if isinstance(change, Conversion):
            return change
        if segment.kind is LegKind.CONNECTION:
            self._tree.refuse(segment.position, str(change), rules=("UNIT-006",))
        return IDENTITY

    def _conversion(
        self, source: PhysicalUnit | None, target: PhysicalUnit | None, relative: bool
    ) -> Conversion | IncompatibleUnits:
        """Cached conversion between two units; documents and FMUs have one object for each of their units."""
        known = self._conversions.get((id(source), id(target), relative))
        if known is None:
            try:
                known = conversion(source, target, relative)
            except IncompatibleUnits as problem:
                known = problem
            else:
                if known is not IDENTITY:
                    self._tree.rely_on(source, target)
            self._conversions[id(source), id(target), relative] = known
        return known

    def _connect(self, segment: Segment) -> None:
        source, destination, owner = segment.source, segment.destination, segment.owner
        if destination in self.driven:
            return  # one connection per destination (SSD-CONN-004)
        self.driven.add(destination)
        self._leaving[source].append(segment)
        if segment.kind is LegKind.DICTIONARY:
            return
        if source.path == owner:
            self._inside[source].append(destination)
        if destination.path == owner:
            self._inside[destination].append(source)

    def _deduce(self) -> None:
        """Fill in missing types and units from the inner connectors, if these agree."""
        without_variable = [(key, one) for key, one in self.connectors.items() if one.variable is None]
        for key in [key for key, one in without_variable if _is_open(one)]:
            self._deduced(key, frozenset())

    def _deduced(self, key: ConnectorKey, waiting: frozenset[ConnectorKey]) -> FlatConnector:
        connector = self.connectors[key]
        if not _is_open(connector):
            return connector
        around = waiting | {key}
        inner = [self._deduced(other, around) for other in self._inside.get(key, ()) if other not in around]
        if connector.unit is None:
            connector = connector._replace(unit=_the_unit(inner))
        if connector.type is None:
            types = {other.type for other in inner if other.type is not None}
            connector = connector._replace(type=types.pop() if len(types) == 1 else None)
        self.connectors[key] = connector
        return connector


def _is_open(connector: FlatConnector) -> bool:
    """True if type or unit must come from inner connectors."""
    return connector.variable is None and (connector.type is None or connector.unit is None)


def _is_relative(connector: FlatConnector) -> bool:
    return connector.variable is not None and connector.variable.relative_quantity


def _names(source: PhysicalUnit | None, target: PhysicalUnit | None, change: Conversion) -> tuple[str, str] | None:
    """Names of two units if a conversion is needed; otherwise None."""
    if change is IDENTITY or source is None or target is None:
        return None
    return source.name, target.name


def _the_unit(connectors: list[FlatConnector]) -> PhysicalUnit | None:
    units = [connector.unit for connector in connectors if connector.unit is not None]
    definitions = {(u.name if u.exponents is None else u.exponents, u.factor, u.offset) for u in units}
    return units[0] if len(definitions) == 1 else None


class _Owners(dict[str, tuple[Owner, ElementPath, bool]]):
    """Owner, path and side of connectors, by the name of their element in a connection ("": the system itself)."""

    def __init__(self, place: SystemPlace) -> None:
        super().__init__({"": (Owner.SYSTEM, place.path, place.host is not None)})
        self._path = place.path

    def __missing__(self, element: str) -> tuple[Owner, ElementPath, bool]:
        self[element] = Owner.ELEMENT, (*self._path, element), False
        return self[element]


class _Manners:
    """Directions of connections, and whether they can be plain; the connectors of large systems have few kinds."""

    def __init__(self, version: str, passes_on: Callable[[FlatConnector, FlatConnector], bool]) -> None:
        self._version, self._passes_on = version, passes_on
        self._known: dict[tuple[object, ...], tuple[bool | None, bool]] = {}

    def of(self, owner: Owner, start: FlatConnector, other: Owner, end: FlatConnector) -> tuple[bool | None, bool]:
        """True if a connection points from its start to its end (None if it is not legal); and true if it is plain
        unless it states more than its ends.
        """
        alike = (
            *(owner is other, id(start.kind), id(start.variable), id(start.unit), start.clock),
            *(owner is Owner.SYSTEM, id(end.kind), id(end.variable), id(end.unit), end.clock),
        )
        known = self._known.get(alike)
        if known is None:
            kinds = [
                acting_kind(by, one.kind, one.interval, one.variable) for by, one in ((owner, start), (other, end))
            ]
            forward = leads_forward(owner, kinds[0], other, kinds[1], self._version)
            plain = forward is not None and self._passes_on(*((start, end) if forward else (end, start)))
            known = self._known[alike] = forward, plain
        return known


def _transformation(
    transformation: ssc.Transformation | None, source: FlatConnector, destination: FlatConnector
) -> Conversion:
    match transformation:
        case ssc.LinearTransformation(factor=factor, offset=offset):
            return Conversion(factor, offset)
        case ssc.BooleanMappingTransformation() | ssc.IntegerMappingTransformation():
            pairs = {int(key): int(value) for key, value in transformation.table.items()}
        case ssc.EnumerationMappingTransformation():
            # Rule TRF-009 reports unknown names.
            pairs = {
                source.items[key]: destination.items[value]
                for key, value in transformation.table.items()
                if key in source.items and value in destination.items
            }
        case _:
            return IDENTITY
    return Conversion(table=tuple((key, value) for key, value in pairs.items() if key != value))


def _through_dictionary(
    place: ReferencePlace, connectors: Mapping[ConnectorKey, FlatConnector], numbers: Iterator[int]
) -> Iterator[Segment]:
    """Segments from the connectors of a reference to the entries of its dictionary, and from these to the
    connectors.
    """
    dictionary = place.dictionary
    if dictionary is None:
        return
    for connector in place.reference.connectors:
        entry = ConnectorKey(dictionary.path, connector.name, dictionary=dictionary.name)
        outward = ConnectorKey(place.path, connector.name)
        if entry in connectors:
            inward, kind = outward._replace(inner=True), LegKind.DICTIONARY
            yield Segment(kind, next(numbers), place.path, inward, entry, connectors[entry].position)
            yield Segment(kind, next(numbers), place.path, entry, outward, connectors[outward].position)


_INWARD = ("input", "parameter", "structuralParameter")


def _through_boundary(
    place: SystemPlace, connectors: Mapping[ConnectorKey, FlatConnector], numbers: Iterator[int]
) -> Iterator[Segment]:
    """Segments between the connectors of a component that refers to a system and the connectors of that system with the
    same names.
    """
    if place.host is None:
        return
    for connector in place.system.connectors:
        inside, outside = ConnectorKey(place.path, connector.name, inner=True), ConnectorKey(place.path, connector.name)
        if inside in connectors and outside in connectors:
            inward = connectors[inside].kind in _INWARD
            source, destination = (outside, inside) if inward else (inside, outside)
            at = connectors[inside].position
            yield Segment(LegKind.BOUNDARY, next(numbers), place.path, source, destination, at)
