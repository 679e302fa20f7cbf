"""Links: connections with the connectors at their ends, and the interfaces of components and systems.

A component may refer to a system (SSP 2.0 §5.4); it then has the connectors of that system. `signal_flow` is the graph
of connections with one vertex per FMU, which is far smaller than the graph of all signals.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ssptool.documents import ssc, ssd
from ssptool.documents.element import Element
from ssptool.fmu.description import fixed_shape
from ssptool.fmu.units import PhysicalUnit, stated_or_own
from ssptool.many_values import made, once
from ssptool.network.conversion import Verdict, canonical
from ssptool.network.graph_algorithms import between_cycles
from ssptool.network.legality import (
    Carried,
    Obstacle,
    Owner,
    StatedShape,
    acting_kind,
    by_variable,
    leads_forward,
    obstacles,
    ticks,
)
from ssptool.rules.subjects import Instance, Structure, around, first, found_once, pool, remembered


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """The attributes of a connector except its name. A large system has few different values, so rules check each one
    once.

    `type` is the type element of one of the connectors; those of the others have the same attributes. `sizes` and
    `size_connectors` have one entry per dimension, `clocks` has the names of the clocks of the connector.
    """

    kind: ssd.ConnectorKind
    type: ssc.SignalType | None
    unit: str | None
    sizes: tuple[int | None, ...]
    size_connectors: tuple[str | None, ...]
    clocks: frozenset[str]

    @property
    def type_name(self) -> str | None:
        return None if self.type is None else self.type.type_name

    @property
    def interval(self) -> str | None:
        """The `intervalVariability` of a clock."""
        return self.type.interval_variability if isinstance(self.type, ssc.Clock) else None


class Declared(NamedTuple):
    """A connector with its attributes."""

    connector: ssd.Connector
    name: str
    says: Statement


@dataclass(frozen=True, slots=True, eq=False)
class SystemInterface:
    """A system seen from inside: its elements by name, and the connectors of each element by the name of the element;
    its own connectors under "".
    """

    elements: Mapping[str, ssd.SystemElement]
    connectors: Mapping[str, Mapping[str, Declared]]

    def connector(self, element: str, name: str) -> Declared | None:
        return self.connectors.get(element, {}).get(name)


@dataclass(frozen=True, slots=True, eq=False)
class StatedConnectors:
    """Names and attributes of the connectors of an element; elements with equal connectors share it.

    `nameless`: a name is empty or blank.
    """

    connectors: tuple[tuple[str, Statement], ...]
    names: frozenset[str]
    statements: frozenset[Statement]
    nameless: bool


@remembered
def stated_connectors(element: ssd.SystemElement, structure: Structure) -> StatedConnectors:
    """Names and attributes of the connectors of an element."""

    def of_all() -> StatedConnectors:
        known: dict[Hashable, tuple[str, Statement]] = pool(tuple, structure)
        every = [once(known, one.likeness(), partial(_stated, one, structure)) for one in element.connectors]
        names, statements = frozenset(name for name, _ in every), frozenset(says for _, says in every)
        return StatedConnectors(tuple(every), names, statements, not all(map(str.strip, names)))

    return once(pool(StatedConnectors, structure), element.likeness_of_connectors(), of_all)


@remembered
def declared(element: ssd.SystemElement, structure: Structure) -> tuple[Declared, ...]:
    """The connectors of an element."""
    both = zip(element.connectors, stated_connectors(element, structure).connectors, strict=True)
    return tuple([made(Declared, (connector, *one)) for connector, one in both])


def declared_as(
    element: ssd.SystemElement, structure: Structure, fits: Callable[[Statement], bool]
) -> Iterator[Declared]:
    """The connectors of an element whose attributes fit."""
    fitting = {says for says in stated_connectors(element, structure).statements if fits(says)}
    return (one for one in declared(element, structure) if one.says in fitting) if fitting else iter(())


def _stated(connector: ssd.Connector, structure: Structure) -> tuple[str, Statement]:
    statements, names = pool(Statement, structure), pool(str, structure)
    parts = [(child.element_class, *child.attrib.items()) for child in connector if isinstance(child, _STATING)]
    words = (connector.get("kind"), *parts)
    says = statements.get(words)
    if says is None:
        says = statements[words] = _statement(connector)
    name = connector.name
    return names.setdefault(name, name), says


@remembered
def by_name(element: ssd.SystemElement, structure: Structure) -> Mapping[str, Declared]:
    """The connectors of an element by name, the first of each name."""
    return {one.name: one for one in reversed(declared(element, structure))}


@remembered
def interface(system: ssd.System, structure: Structure) -> SystemInterface:
    """The elements and connectors that connections of a system can refer to, the first of each name."""
    elements: dict[str, ssd.SystemElement] = {}
    connectors = {"": by_name(system, structure)}
    for element in system.elements:
        if elements.setdefault(element.name, element) is element:
            own = by_name(element, structure)
            # An element without a name has the same key as the system, whose connectors come first.
            connectors[element.name] = own if element.name else {**own, **connectors[""]}
    return SystemInterface(elements, connectors)


_STATING = (ssc.SignalType, ssc.Dimension, ssd.Clock)


def _statement(connector: ssd.Connector) -> Statement:
    dimensions = connector.dimensions
    return Statement(
        kind=connector.kind,
        type=first(connector, ssc.SignalType),
        unit=connector.unit,
        sizes=tuple(dimension.size for dimension in dimensions),
        size_connectors=tuple(dimension.size_connector for dimension in dimensions),
        clocks=frozenset(clock.name for clock in connector.clocks),
    )


def instance_of(element: Element | None, structure: Structure) -> Instance | None:
    """The system that a component refers to; None if there is none, or it is unreadable or contains the component
    (SSD-COMP-008).
    """
    found = structure.instance(element)
    return None if found is None or not isinstance(element, ssd.Component) or recursive(element, structure) else found


def recursive(component: ssd.Component, structure: Structure) -> bool:
    """True if a component is, directly or through others, an instance of a system that contains it."""
    found = structure.instance(component)
    if found is None:
        return False
    inside = _systems_inside(found.system, found.structure)
    return any(system in inside for system in around(component, ssd.System))


@remembered
def _systems_inside(system: ssd.System, structure: Structure) -> frozenset[ssd.System]:
    """A system and all systems inside it, including those that components refer to."""
    found, waiting = {system}, [Instance(system, structure)]
    while waiting:
        around = waiting.pop()
        for element in around.system.elements:
            inner = Instance(element, around.structure) if isinstance(element, ssd.System) else None
            inner = inner or around.structure.instance(element)
            if inner is not None and inner.system not in found:
                found.add(inner.system)
                waiting.append(inner)
    return frozenset(found)


NOTHING = Carried()
Indices = tuple[int, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The properties of an end of a connection that rules compare; equal connectors share one value.

    `ticks`: it is a clock of an element that ticks by itself, which counts as an output. `shape` contains the extents
    (None if unknown), () for a scalar; it is None if the number of dimensions is unknown.
    """

    owner: Owner
    kind: ssd.ConnectorKind
    says: Statement
    carried: Carried
    shape: StatedShape | None
    ticks: bool = False


@dataclass(slots=True, eq=False)  # frozen would double the cost of creation, and there are very many
class LinkEnd:
    """A connector at the end of a connection; `owner` is the enclosing system if `element` is empty."""

    owner: ssd.SystemElement
    element: str
    declared: Declared
    side: Side

    @property
    def connector(self) -> ssd.Connector:
        return self.declared.connector

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def carried(self) -> Carried:
        return self.side.carried

    def __str__(self) -> str:
        return f"{self.element}.{self.name}" if self.element else f"{self.name} of the system"


class StatedConnection(NamedTuple):
    """A connection as written: the addresses of both connectors, and indices."""

    connection: ssd.Connection
    start: ssd.ConnectorRef
    end: ssd.ConnectorRef
    start_indices: Indices
    end_indices: Indices


class Link(NamedTuple):
    """A connection between two connectors that exist. `flow` is (source, destination); None if it is not legal.

    Indices select connected elements of arrays; None: the whole array.
    """

    connection: ssd.Connection
    start: LinkEnd
    end: LinkEnd
    flow: tuple[LinkEnd, LinkEnd] | None
    transformation: ssc.Transformation | None
    start_indices: Indices
    end_indices: Indices


class Links(NamedTuple):
    """The connections of a system: `links` with declared connectors, and `loose` ones with an undeclared connector."""

    links: tuple[Link, ...]
    loose: tuple[StatedConnection, ...]


@remembered
def connections(system: ssd.System, structure: Structure) -> tuple[StatedConnection, ...]:
    """The connections of a system as written."""
    found = []
    for one in system.connections:
        get = one.attrib.get
        start = made(ssd.ConnectorRef, (get("startElement", ""), get("startConnector", "")))
        end = made(ssd.ConnectorRef, (get("endElement", ""), get("endConnector", "")))
        indices = (None, None) if get("startIndices") is get("endIndices") is None else one.indices
        found.append(made(StatedConnection, (one, start, end, *indices)))
    return tuple(found)


def links(system: ssd.System, structure: Structure) -> tuple[Link, ...]:
    """The connections of a system whose connectors are both declared."""
    return _links(system, structure).links


def loose(system: ssd.System, structure: Structure) -> tuple[StatedConnection, ...]:
    """The connections of a system with an undeclared connector."""
    return _links(system, structure).loose


@remembered
def alike(system: ssd.System, structure: Structure) -> tuple[tuple[Link, ...], ...]:
    """The links of a system in groups with equal ends, so a rule on the ends checks each group once."""
    found = defaultdict[tuple[Side, Side], list[Link]](list)
    for link in links(system, structure):
        found[link.start.side, link.end.side].append(link)
    return tuple(map(tuple, found.values()))


@remembered
def indexed(system: ssd.System, structure: Structure) -> tuple[Link, ...]:
    """Links with indices at one or both ends."""
    found = links(system, structure)
    return tuple(link for link in found if link.start_indices is not None or link.end_indices is not None)


@remembered
def _links(system: ssd.System, structure: Structure) -> Links:
    found, loose = [], []
    ends, directions = _Ends(system, structure), dict[tuple[Side, Side], bool | None]()
    for stated in connections(system, structure):
        start, end = ends[stated.start], ends[stated.end]
        if start is None or end is None:
            loose.append(stated)
            continue
        sides = start.side, end.side
        if sides not in directions:
            directions[sides] = _leads_forward(*sides, structure.version)
        forward, connection = directions[sides], stated.connection
        flow = None if forward is None else (start, end) if forward else (end, start)
        transformation = first(connection, ssc.Transformation) if len(connection) else None
        indices = stated.start_indices, stated.end_indices
        found.append(made(Link, (connection, start, end, flow, transformation, *indices)))
    return Links(tuple(found), tuple(loose))


def _leads_forward(one: Side, other: Side, version: str) -> bool | None:
    return leads_forward(one.owner, one.kind, other.owner, other.kind, version)


def connectable(system: ssd.System, start: ssd.ConnectorRef, end: ssd.ConnectorRef, structure: Structure) -> bool:
    """True if a connection of two connectors of a system would be legal, or if one of them is not declared."""
    ends = _Ends(system, structure)
    one, other = ends[start], ends[end]
    if one is None or other is None:
        return True
    forward = _leads_forward(one.side, other.side, structure.version)
    flow = (one, other) if forward else (other, one)
    return forward is not None and all(found.verdict is not Verdict.ERROR for found in _between(*flow))


def _between(source: LinkEnd, destination: LinkEnd) -> Iterator[Obstacle]:
    return obstacles(source.carried, destination.carried, source.side.shape, destination.side.shape)


@remembered
def found_obstacles(system: ssd.System, structure: Structure) -> tuple[tuple[Link, Obstacle], ...]:
    """Obstacles to the links of a system that result from the values at their ends."""
    found = []
    for same in alike(system, structure):
        if same[0].flow is not None:
            known = _between(*same[0].flow)
            found += [(link, one) for one in known for link in same if not _lifted(one, link)]
    return tuple(found)


def _lifted(obstacle: Obstacle, link: Link) -> bool:
    if obstacle.code == "SSD-CONN-009":
        return link.start_indices is not None or link.end_indices is not None
    passes = obstacle.code == "UNIT-006" and link.connection.suppress_unit_conversion
    return passes or isinstance(link.transformation, obstacle.lifted_by)


def both_ticking(link: Link) -> bool:
    """True if a connection joins two clocks of elements that both tick by themselves."""
    return link.start.side.ticks and link.end.side.ticks


def carried_by(connector: Declared, owner: ssd.SystemElement, structure: Structure) -> Carried:
    """Type, unit and dimensions of the value of a connector of a component, system or dictionary reference."""
    stated, has_unit = stated_by(connector.says, structure), connector.says.unit is not None
    description = structure.fmu_of(owner)
    variable = None if description is None else description.variables.get(connector.name)
    if isinstance(owner, ssd.System):
        return _completed(stated, attached(owner, structure).get(connector.name, ()), has_unit)
    if isinstance(owner, ssd.Component) and description is None:
        inside = carried_inside(connector.name, owner, structure)
        return stated if inside is None else _completed(stated, (inside,), has_unit)
    if description is None or variable is None:
        return stated
    known = by_variable(description, variable)
    agreed = stated.type is None or stated.type == known.type
    return Carried(
        stated.type or known.type,
        stated_or_own(stated.unit, known.unit) if agreed else stated.unit,
        stated.items if stated.items is not None else (known.items if agreed else None),
        known.relative,
    )


def carried_inside(name: str, component: ssd.Component, structure: Structure) -> Carried | None:
    """Type, unit and dimensions of the inner connector of this name of a component that refers to a system; None
    without one.
    """
    instance = instance_of(component, structure)
    inner = None if instance is None else by_name(instance.system, instance.structure).get(name)
    return None if instance is None or inner is None else carried_by(inner, instance.system, instance.structure)


def _completed(stated: Carried, inside: tuple[Carried, ...], has_unit: bool) -> Carried:
    """A system's connector with facts from the connectors connected to it inside, if these agree (SSP 2.0 §4.5.1)."""
    types, units = distinct_types(inside), distinct_units(inside)
    type = stated.type or (types[0] if len(types) == 1 else None)
    unit = stated.unit or (units[0] if len(units) == 1 and not has_unit else None)
    items = stated.items
    if items is None and stated.type is None:
        items = next((value.items for value in inside if value.items is not None), None) if len(inside) == 1 else None
    relative = inside[0].relative if len({value.relative for value in inside}) == 1 else None
    return Carried(type, unit, items, relative)


def distinct_types(values: tuple[Carried, ...]) -> list[str]:
    return sorted({value.type for value in values if value.type is not None})


def distinct_units(values: tuple[Carried, ...]) -> list[PhysicalUnit]:
    """The different units by definition."""
    units = [value.unit for value in values if value.unit is not None]
    return list({(unit.exponents or unit.name, unit.factor, unit.offset): unit for unit in units}.values())


@remembered
def attached(system: ssd.System, structure: Structure) -> Mapping[str, tuple[Carried, ...]]:
    """Values of the inner connectors that each connector of a system is connected to."""
    seen = interface(system, structure)
    found: dict[str, tuple[Carried, ...]] = {}
    for stated in connections(system, structure):
        if stated.start.element and stated.end.element:
            continue
        connection = stated.connection
        for place, (other, own) in ((stated.start, stated.end), (stated.end, stated.start)):
            if not place[0] or other:
                continue
            owner, behind = seen.elements.get(place[0]), seen.connector(*place)
            if owner is not None and behind is not None:
                known = carried_by(behind, owner, structure)
                converted = first(connection, ssc.Transformation) is None and not connection.suppress_unit_conversion
                known = known if converted else Carried(known.type)
                found[own] = (*found.get(own, ()), known)
    return found


def stated_by(says: Statement, structure: Structure) -> Carried:
    """Type, unit and dimensions that a connector states itself."""
    type = says.type
    return NOTHING if type is None else _by_words((type.type_name, type.get("unit"), type.get("name")), structure)


@remembered
def _by_words(words: tuple[str, str | None, str | None], structure: Structure) -> Carried:
    """Type, unit and items from their names in the SSD."""
    type_name, unit, enumeration = words
    # Another rule reports undefined units (UNIT-002).
    return Carried(
        canonical(type_name),
        structure.unit(structure.root, unit),
        None if enumeration is None else enumeration_items(structure.root, enumeration),
    )


def enumeration_items(root: Element, name: str) -> Mapping[str, int] | None:
    """Items of an enumeration of a document; None if the document does not define it."""
    for enumeration in getattr(root, "enumerations", ()):
        if enumeration.name == name:
            return {item.name: item.value for item in enumeration.items}
    return None


class _Ends(dict[ssd.ConnectorRef, LinkEnd | None]):
    """Connectors that connections of a system can refer to, by element and connector; None for an undeclared one."""

    def __init__(self, system: ssd.System, structure: Structure) -> None:
        super().__init__()
        self._structure, seen = structure, interface(system, structure)
        self._seen = {
            name: (owner, _sides(owner, structure), seen.connectors.get(name, {}))
            for name, owner in {**seen.elements, "": system}.items()
        }

    def __missing__(self, place: ssd.ConnectorRef) -> LinkEnd | None:
        element, connector = place
        owner, sides, connectors = self._seen.get(element, _NOTHING_SEEN)
        found, end = connectors.get(connector), None
        if owner is not None and found is not None:
            side = sides.get((found.says, connector))
            if side is None:
                side = sides[found.says, connector] = _new_side(found, owner, element, self._structure)
            end = LinkEnd(owner, element, found, side)
        self[place] = end
        return end


def _sides(owner: ssd.SystemElement, structure: Structure) -> dict[tuple[Statement, str], Side]:
    """Known sides of the connectors of an element. One of an FMU is determined by its attributes and its variable."""
    fmu = structure.fmu_of(owner)
    return {} if fmu is None else structure.memory.setdefault((Side, id(fmu)), {})


_NOTHING_SEEN: tuple[None, dict[tuple[Statement, str], Side], Mapping[str, Declared]] = None, {}, {}


def _new_side(connector: Declared, owner: ssd.SystemElement, element: str, structure: Structure) -> Side:
    carried = carried_by(connector, owner, structure)
    place, says, description = Owner.ELEMENT if element else Owner.SYSTEM, connector.says, structure.fmu_of(owner)
    variable = None if description is None else description.variables.get(connector.name)
    kind, shape = acting_kind(place, says.kind, says.interval, variable), _shape(connector, owner, structure)
    return Side(place, kind, says, carried, shape, ticks(place, says.interval, variable))


def _shape(connector: Declared, owner: ssd.SystemElement, structure: Structure) -> StatedShape | None:
    if connector.says.sizes:
        return connector.says.sizes
    instance = instance_of(owner, structure)
    inner = None if instance is None else by_name(instance.system, instance.structure).get(connector.name)
    if inner is not None and inner.says.sizes:
        return inner.says.sizes
    description = structure.fmu_of(owner)
    variable = None if description is None else description.variables.get(connector.name)
    if variable is not None:
        return fixed_shape(variable)
    return () if connector.says.type is not None else None


@found_once
def signal_flow(structure: Structure) -> Mapping[Hashable, Collection[Hashable]]:
    """Graph of connections. Vertices are FMUs, by component, and connectors of systems, by owner and name."""
    fed: dict[Hashable, dict[Hashable, None]] = {}
    between_fmus = set[tuple[ssd.SystemElement, ssd.SystemElement]]()
    for link in (link for system in structure.systems for link in links(system, structure)):
        if link.flow is None or (link.flow[0].owner, link.flow[1].owner) in between_fmus:
            continue
        source, destination = link.flow
        start, end = vertex_of(source, structure), vertex_of(destination, structure)
        fed.setdefault(start, {})[end] = None
        fed.setdefault(end, {})
        if start is source.owner and end is destination.owner:
            between_fmus.add((start, end))
    return fed


@found_once
def coupled(structure: Structure) -> Collection[Hashable]:
    """Vertices of the signal flow that lie on cycles or between cycles."""
    return between_cycles(signal_flow(structure))


def vertex_of(end: LinkEnd, structure: Structure) -> Hashable:
    """The vertex that a connector belongs to."""
    return end.owner if structure.fmu_of(end.owner) is not None else (end.owner, end.name)
