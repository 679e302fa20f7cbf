"""Wiring: from the connections of nested systems to flows from component to component.

A connection is a segment between two terminals. A flow follows segments through the boundaries of systems and
composes what happens to the value on the way: conversion of units per segment, then the segment's
transformation.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from ssptool.documents import ssc, ssd
from ssptool.documents.diagnostics import Position
from ssptool.fmu.units import Unit
from ssptool.network.connections import End, direct
from ssptool.network.places import Path, ReferencePlace, SystemPlace, Tree
from ssptool.network.signals import IDENTITY, Conversion, Leg, LegKind, Wire
from ssptool.network.terminals import Key, Terminal
from ssptool.network.units import IncompatibleUnits, conversion

NOT_CARRIED = ("Binary", "Clock")
"""Types whose values are not carried by wires yet."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One connection of the system at `owner`, directed; or the step through the boundary of a system that a component
    refers to. `number` counts the segments in document order.
    """

    kind: LegKind
    owner: Path
    source: Key
    destination: Key
    position: Position
    suppress_unit_conversion: bool = False
    transformation: Conversion = IDENTITY
    number: int = 0


@dataclass(frozen=True, slots=True)
class Flow:
    """A path from one terminal to another where it ends."""

    source: Terminal
    destination: Terminal
    legs: tuple[Leg, ...]
    order: tuple[int, ...]

    @property
    def conversion(self) -> Conversion:
        return reduce(Conversion.then, (leg.conversion for leg in self.legs), IDENTITY)

    @property
    def wire(self) -> Wire:
        return Wire(self.source.key.signal, self.destination.key.signal, self.conversion, self.legs)

    @property
    def dangles(self) -> bool:
        """Whether it ends at the connector of a system inside, from where nothing leads on."""
        return self.destination.variable is None and not self.destination.key.of_root


class Wiring:
    """The terminals of a tree and the segments between them."""

    def __init__(self, tree: Tree, terminals: Mapping[Key, Terminal]) -> None:
        self._tree = tree
        self._inside: dict[Key, list[Key]] = defaultdict(list)
        self._leaving: dict[Key, list[Segment]] = defaultdict(list)
        self.driven: set[Key] = set()
        self.terminals = dict(terminals)
        for place in tree.systems:
            for segment in _segments(place, self.terminals, tree):
                self._connect(segment)
        for reference in tree.references:
            for segment in _through_dictionary(reference, self.terminals):
                writes = segment.destination.dictionary is not None
                if segment.source in self.driven if writes else segment.destination in self._leaving:
                    self._connect(segment)
        self._deduce()

    def flows_from(self, key: Key) -> Iterator[Flow]:
        """Every flow from a terminal to where it ends: at a component, at the root system, or dangling."""
        source = self.terminals[key]
        # A terminal has one driver, so the ways from an undriven one form a tree: none is visited twice.
        waiting: list[tuple[Segment, ...]] = [(segment,) for segment in self._leaving.get(key, ())]
        while waiting:
            way = waiting.pop()
            destination = self.terminals[way[-1].destination]
            onward = () if destination.variable is not None else self._leaving.get(destination.key, ())
            if destination.key.of_root or not onward:
                yield self._flow(source, destination, way)
            elif destination.key != key:
                waiting.extend((*way, segment) for segment in onward)

    def _flow(self, source: Terminal, destination: Terminal, way: tuple[Segment, ...]) -> Flow:
        variables = (source.variable, destination.variable)
        relative = any(variable is not None and variable.relative_quantity for variable in variables)
        legs = [*self._at_variable(source, source.variable_unit, source.unit, relative)]
        unit = source.variable_unit if source.unit is None else source.unit
        for segment in way:
            stated = self.terminals[segment.destination].unit
            if segment.suppress_unit_conversion:
                legs.append(_leg(segment))
                unit = stated
            else:
                legs.append(_leg(segment, unit, stated, self._converted(unit, stated, relative, segment)))
                unit = unit if stated is None else stated
        legs.extend(self._at_variable(destination, destination.unit, destination.variable_unit, relative))
        return Flow(source, destination, tuple(legs), tuple(segment.number for segment in way))

    def _at_variable(
        self, terminal: Terminal, source: Unit | None, target: Unit | None, relative: bool
    ) -> Iterator[Leg]:
        """Between a variable's own unit and the one that the SSD states for it (see rule FMU-006)."""
        if terminal.variable is None or source is target or source is None or target is None:
            return
        try:
            change = conversion(source, target, relative)
        except IncompatibleUnits:
            return
        if change != IDENTITY:
            at, units = terminal.key.signal, (source.name, target.name)
            yield Leg(LegKind.VARIABLE, at, at, terminal.position, units, change)

    def _converted(self, unit: Unit | None, stated: Unit | None, relative: bool, segment: Segment) -> Conversion:
        try:
            return conversion(unit, stated, relative)
        except IncompatibleUnits as problem:
            if segment.kind is LegKind.CONNECTION:
                self._tree.refuse(segment.position, str(problem))
            return IDENTITY

    def _connect(self, segment: Segment) -> None:
        if segment.destination in self.driven:
            return  # One connection per destination (SSD-CONN-004).
        self.driven.add(segment.destination)
        self._leaving[segment.source].append(replace(segment, number=len(self.driven)))
        if segment.kind is LegKind.DICTIONARY:
            return
        for outer, inner in (
            (segment.source, segment.destination),
            (segment.destination, segment.source),
        ):
            if outer.path == segment.owner:
                self._inside[outer].append(inner)

    def _deduce(self) -> None:
        """Types and units that are not stated are those of the inner connectors, if these agree."""
        for key in list(self.terminals):
            self._deduced(key, frozenset())

    def _deduced(self, key: Key, waiting: frozenset[Key]) -> Terminal:
        terminal = self.terminals[key]
        if terminal.variable is not None or (terminal.type is not None and terminal.unit is not None):
            return terminal
        around = waiting | {key}
        inner = [self._deduced(other, around) for other in self._inside.get(key, ()) if other not in around]
        if terminal.unit is None:
            terminal = replace(terminal, unit=_the_unit(inner))
        if terminal.type is None:
            types = {other.type for other in inner if other.type is not None}
            terminal = replace(terminal, type=types.pop() if len(types) == 1 else None)
        self.terminals[key] = terminal
        return terminal


def _leg(segment: Segment, unit: Unit | None = None, stated: Unit | None = None, change: Conversion = IDENTITY) -> Leg:
    units = None if unit is None or stated is None or change == IDENTITY else (unit.name, stated.name)
    source, destination = segment.source.signal, segment.destination.signal
    return Leg(segment.kind, source, destination, segment.position, units, change, segment.transformation)


def _the_unit(terminals: list[Terminal]) -> Unit | None:
    units = [terminal.unit for terminal in terminals if terminal.unit is not None]
    definitions = {(u.name if u.exponents is None else u.exponents, u.factor, u.offset) for u in units}
    return units[0] if len(definitions) == 1 else None


def _segments(place: SystemPlace, terminals: Mapping[Key, Terminal], tree: Tree) -> Iterator[Segment]:
    version = place.scope.document.version
    for connection in place.system.connections:
        start, end = (
            _end(place, terminals, connection.start_element, connection.start_connector),
            _end(place, terminals, connection.end_element, connection.end_connector),
        )
        directed = direct(start[1], end[1], version) if start and end else None
        if directed is None or start is None or end is None:
            continue
        source, destination = (start[0], end[0]) if directed[0] is start[1] else (end[0], start[0])
        if terminals[destination].shared:
            destination = destination._replace(inner=True)  # The side at which values arrive.
        position = connection.position
        for feature in _refused(connection, terminals[source], terminals[destination]):
            tree.refuse(position, feature)
        yield Segment(
            LegKind.CONNECTION,
            place.path,
            source,
            destination,
            position,
            connection.suppress_unit_conversion,
            _transformation(connection.transformation, terminals[source], terminals[destination]),
        )
    yield from _through_boundary(place, terminals)


def _end(place: SystemPlace, terminals: Mapping[Key, Terminal], element: str, connector: str) -> tuple[Key, End] | None:
    if element:
        key = Key((*place.path, element), connector)
    else:
        key = Key(place.path, connector, inner=place.host is not None)
    terminal = terminals.get(key)
    return None if terminal is None else (key, End(element, connector, terminal.kind))


def _refused(connection: ssd.Connection, source: Terminal, destination: Terminal) -> Iterator[str]:
    if connection.start_indices is not None or connection.end_indices is not None:
        yield "a connection of array elements (startIndices, endIndices)"
    elif source.array or destination.array:
        yield "a connection of arrays"
    for kind in sorted({source.type, destination.type} & set(NOT_CARRIED), key=str):
        yield f"a connection of type {kind}"


def _transformation(transformation: ssc.Transformation | None, source: Terminal, destination: Terminal) -> Conversion:
    match transformation:
        case ssc.LinearTransformation(factor=factor, offset=offset):
            return Conversion(factor, offset)
        case ssc.BooleanMappingTransformation() | ssc.IntegerMappingTransformation():
            pairs = {int(key): int(value) for key, value in transformation.table.items()}
        case ssc.EnumerationMappingTransformation():
            # Of names that an end does not know, rule TRF-009 speaks.
            pairs = {
                source.items[key]: destination.items[value]
                for key, value in transformation.table.items()
                if key in source.items and value in destination.items
            }
        case _:
            return IDENTITY
    return Conversion(table=tuple((key, value) for key, value in pairs.items() if key != value))


def _through_dictionary(place: ReferencePlace, terminals: Mapping[Key, Terminal]) -> Iterator[Segment]:
    """From the connectors of a reference to the entries of its dictionary, and from these to the connectors."""
    dictionary = place.dictionary
    if dictionary is None:
        return
    for connector in place.reference.connectors:
        entry = Key(dictionary.path, connector.name, dictionary=dictionary.name)
        outward = Key(place.path, connector.name)
        if entry in terminals:
            inward, kind = outward._replace(inner=True), LegKind.DICTIONARY
            yield Segment(kind, place.path, inward, entry, terminals[entry].position)
            yield Segment(kind, place.path, entry, outward, terminals[outward].position)


_INWARD = ("input", "parameter", "structuralParameter")


def _through_boundary(place: SystemPlace, terminals: Mapping[Key, Terminal]) -> Iterator[Segment]:
    """The connectors of a component that refers to a system are those of that system with the same name."""
    if place.host is None:
        return
    for connector in place.system.connectors:
        inside, outside = Key(place.path, connector.name, inner=True), Key(place.path, connector.name)
        if inside in terminals and outside in terminals:
            inward = terminals[inside].kind in _INWARD
            source, destination = (outside, inside) if inward else (inside, outside)
            yield Segment(LegKind.BOUNDARY, place.path, source, destination, terminals[inside].position)
