"""Wiring: from the connections of nested systems to flows from component to component.

A connection is a segment between two terminals. A flow follows segments through the boundaries of systems and
composes what happens to the value on the way: conversion of units per segment, then the segment's
transformation.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ssptool.documents import ssc, ssd
from ssptool.documents.diagnostics import Position
from ssptool.fmu.units import Unit
from ssptool.network.connections import End, direct
from ssptool.network.signals import IDENTITY, Conversion
from ssptool.network.terminals import Key, Terminal
from ssptool.network.tree import Path, SystemPlace, Tree
from ssptool.network.units import IncompatibleUnits, conversion

NOT_CARRIED = ("String", "Binary", "Clock")
"""Types whose values are not carried by wires yet."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One connection of the system at `owner`, directed.

    `position` is None for the step through the boundary of a system that a component refers to. `number` counts
    the segments in document order.
    """

    owner: Path
    source: Key
    destination: Key
    position: Position | None = None
    suppress_unit_conversion: bool = False
    transformation: Conversion = IDENTITY
    number: int = 0


@dataclass(frozen=True, slots=True)
class Flow:
    """A path of segments from one terminal to another where it ends."""

    source: Terminal
    destination: Terminal
    conversion: Conversion
    origin: tuple[Position, ...]
    order: tuple[int, ...]


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
        self._deduce()

    def flows_from(self, key: Key) -> Iterator[Flow]:
        """Every flow from a terminal to where it ends: at a component, or at the root system."""
        source = self.terminals[key]
        # A terminal has one driver, so the ways from an undriven one form a tree: none is visited twice.
        waiting: list[tuple[Segment, ...]] = [(segment,) for segment in self._leaving.get(key, ())]
        while waiting:
            way = waiting.pop()
            destination = self.terminals[way[-1].destination]
            if destination.variable is not None or not destination.key.path:
                yield self._flow(source, destination, way)
            elif destination.key != key:
                waiting.extend((*way, segment) for segment in self._leaving.get(destination.key, ()))

    def _flow(self, source: Terminal, destination: Terminal, path: tuple[Segment, ...]) -> Flow:
        variables = (source.variable, destination.variable)
        relative = any(variable is not None and variable.relative_quantity for variable in variables)
        total, unit = _into(source.variable_unit, source.unit, relative)
        for segment in path:
            stated = self.terminals[segment.destination].unit
            if segment.suppress_unit_conversion:
                step, unit = IDENTITY, stated
            else:
                step, unit = self._convert(unit, stated, relative, segment.position)
            total = total.then(step).then(segment.transformation)
        if destination.variable is not None:
            step, _ = _into(destination.unit, destination.variable_unit, relative)
            total = total.then(step)
        origin = tuple(segment.position for segment in path if segment.position is not None)
        return Flow(source, destination, total, origin, tuple(segment.number for segment in path))

    def _convert(
        self, unit: Unit | None, stated: Unit | None, relative: bool, position: Position | None
    ) -> tuple[Conversion, Unit | None]:
        try:
            return conversion(unit, stated, relative), unit if stated is None else stated
        except IncompatibleUnits as problem:
            if position is not None:
                self._tree.refuse(position, str(problem))
            return IDENTITY, stated

    def _connect(self, segment: Segment) -> None:
        if segment.destination in self.driven:
            return  # One connection per destination (SSD-CONN-004).
        self.driven.add(segment.destination)
        self._leaving[segment.source].append(replace(segment, number=len(self.driven)))
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


def _into(source: Unit | None, target: Unit | None, relative: bool) -> tuple[Conversion, Unit | None]:
    """Between a variable's own unit and the one that the SSD states for it (see rule FMU-006)."""
    try:
        return conversion(source, target, relative), target if target is not None else source
    except IncompatibleUnits:
        return IDENTITY, target


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
        position = connection.position
        for feature in _refused(connection, terminals[source], terminals[destination]):
            tree.refuse(position, feature)
        yield Segment(
            place.path,
            source,
            destination,
            position,
            connection.suppress_unit_conversion,
            _linear(connection.transformation),
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
    transformation = connection.transformation
    if transformation is not None and not isinstance(transformation, ssc.LinearTransformation):
        yield f"{type(transformation).__name__} on a connection"
    if connection.start_indices is not None or connection.end_indices is not None:
        yield "a connection of array elements (startIndices, endIndices)"
    elif source.array or destination.array:
        yield "a connection of arrays"
    for kind in sorted({source.type, destination.type} & set(NOT_CARRIED), key=str):
        yield f"a connection of type {kind}"


def _linear(transformation: ssc.Transformation | None) -> Conversion:
    if isinstance(transformation, ssc.LinearTransformation):
        return Conversion(transformation.factor, transformation.offset)
    return IDENTITY


_INWARD = ("input", "parameter", "structuralParameter")


def _through_boundary(place: SystemPlace, terminals: Mapping[Key, Terminal]) -> Iterator[Segment]:
    """The connectors of a component that refers to a system are those of that system with the same name."""
    if place.host is None:
        return
    for connector in place.system.connectors:
        inside, outside = Key(place.path, connector.name, inner=True), Key(place.path, connector.name)
        if inside in terminals and outside in terminals:
            if terminals[inside].kind in _INWARD:
                yield Segment(place.path, outside, inside)
            else:
                yield Segment(place.path, inside, outside)
