"""Connections as rules see them: with both connectors, the direction of the flow, and what is known of its value."""

from collections.abc import Mapping
from typing import NamedTuple

from ssptool.documents import ssc, ssd
from ssptool.documents.element import Element
from ssptool.fmu.description import FmuDescription, Variable
from ssptool.fmu.units import Unit
from ssptool.network.connections import End, direct
from ssptool.network.types import canonical, is_float
from ssptool.network.units import named
from ssptool.rules.instances import instance_of
from ssptool.rules.memory import remembered
from ssptool.rules.subjects import Structure
from ssptool.rules.trees import first


class Carried(NamedTuple):
    """What is known of the value of a connector: what it states itself, else what the FMU's variable says.

    `type` has FMI 3.0's spelling; `items` are those of an enumeration. None: not known.
    """

    type: str | None = None
    unit: Unit | None = None
    items: Mapping[str, int] | None = None
    relative: bool = False

    @property
    def floating(self) -> bool:
        return self.type is not None and is_float(self.type)


NOTHING = Carried()
Indices = tuple[int, ...] | None


class LinkEnd(NamedTuple):
    """A connector in its place; `owner` is the enclosing system itself where `end.element` is empty.

    `ticks`: it is a clock of an element that ticks by itself, which counts as an output.
    """

    owner: ssd.SystemElement
    connector: ssd.Connector
    end: End
    carried: Carried
    ticks: bool = False

    def __str__(self) -> str:
        return f"{self.end.element}.{self.end.connector}" if self.end.element else f"{self.end.connector} of the system"


class Link(NamedTuple):
    """A connection between two connectors that exist. `flow` is (source, destination); None if it is not legal.

    Indices are those of the elements of arrays that are connected; None: the whole.
    """

    connection: ssd.Connection
    start: LinkEnd
    end: LinkEnd
    flow: tuple[LinkEnd, LinkEnd] | None
    transformation: ssc.Transformation | None
    start_indices: Indices
    end_indices: Indices


class Stated(NamedTuple):
    """What a connection says: element ("": the enclosing system) and connector of both ends, and indices there."""

    connection: ssd.Connection
    start: tuple[str, str]
    end: tuple[str, str]
    start_indices: Indices
    end_indices: Indices


@remembered
def connections(system: ssd.System, structure: Structure) -> tuple[Stated, ...]:
    """The connections of a system as they are written."""
    return tuple(
        Stated(
            one,
            (one.start_element, one.start_connector),
            (one.end_element, one.end_connector),
            one.start_indices,
            one.end_indices,
        )
        for one in system.connections
    )


@remembered
def links(system: ssd.System, structure: Structure) -> tuple[Link, ...]:
    """The connections of a system whose connectors are both declared."""
    found = []
    ends = _Ends(system, structure)
    for stated in connections(system, structure):
        connection, start, end = stated.connection, ends[stated.start], ends[stated.end]
        if start is not None and end is not None:
            directed = direct(start.end, end.end, structure.version)
            flow = None if directed is None else (start, end) if directed[0] is start.end else (end, start)
            transformation = first(connection, ssc.Transformation)
            found.append(Link(connection, start, end, flow, transformation, stated.start_indices, stated.end_indices))
    return tuple(found)


def ticking(connector: ssd.Connector, owner: ssd.SystemElement, structure: Structure) -> bool:
    """Whether this is a clock that ticks by itself: such a one counts as an output (SSP 2.0 §5.3.2.1). What the SSD
    leaves open is taken from the FMU.
    """
    clock = first(connector, ssc.Clock)
    if clock is not None and clock.interval_variability is not None:
        return clock.interval_variability is not ssc.IntervalVariability.TRIGGERED
    description = structure.fmu_of(owner)
    variable = None if description is None else description.variables.get(connector.name)
    stated = {} if variable is None else dict(variable.clock)
    return stated.get("intervalVariability", "triggered") != "triggered"


def both_ticking(link: Link) -> bool:
    """Whether a connection makes two clocks of elements tick together that tick by themselves."""
    return link.start.ticks and link.end.ticks


def carried_by(connector: ssd.Connector, owner: ssd.SystemElement, structure: Structure) -> Carried:
    """What is known of the value of a connector of a component, system or dictionary reference."""
    stated = stated_by(connector, structure)
    description = structure.fmu_of(owner)
    variable = None if description is None else description.variables.get(connector.name)
    if isinstance(owner, ssd.System):
        return _completed(stated, attached(owner, structure).get(connector.name, ()), connector.unit is not None)
    if isinstance(owner, ssd.Component) and description is None:
        inside = carried_inside(connector, owner, structure)
        return stated if inside is None else _completed(stated, (inside,), connector.unit is not None)
    if description is None or variable is None:
        return stated
    known = by_variable(description, variable)
    agreed = stated.type is None or stated.type == known.type
    return Carried(
        stated.type or known.type,
        stated.unit or (known.unit if agreed else None),
        stated.items if stated.items is not None else (known.items if agreed else None),
        known.relative,
    )


def carried_inside(connector: ssd.Connector, component: ssd.Component, structure: Structure) -> Carried | None:
    """What is known of the connector of the same name of the system that a component is; None if there is none."""
    instance = instance_of(component, structure)
    if instance is None:
        return None
    found = (inner for inner in instance.system.connectors if inner.name == connector.name)
    inner = next(found, None)
    return None if inner is None else carried_by(inner, instance.system, instance.structure)


def _completed(stated: Carried, inside: tuple[Carried, ...], has_unit: bool) -> Carried:
    """What a system's connector leaves open is that of the connectors behind it, if these agree (SSP 2.0 §4.5.1)."""
    types, units = distinct_types(inside), distinct_units(inside)
    type = stated.type or (types[0] if len(types) == 1 else None)
    unit = stated.unit or (units[0] if len(units) == 1 and not has_unit else None)
    items = stated.items
    if items is None and stated.type is None:
        items = next((value.items for value in inside if value.items is not None), None) if len(inside) == 1 else None
    return Carried(type, unit, items)


def distinct_types(values: tuple[Carried, ...]) -> list[str]:
    return sorted({value.type for value in values if value.type is not None})


def distinct_units(values: tuple[Carried, ...]) -> list[Unit]:
    """The units, one of each definition."""
    units = [value.unit for value in values if value.unit is not None]
    return list({(unit.exponents or unit.name, unit.factor, unit.offset): unit for unit in units}.values())


@remembered
def attached(system: ssd.System, structure: Structure) -> Mapping[str, tuple[Carried, ...]]:
    """For each connector of a system, what is known of the connectors of elements that it is connected to inside."""
    interface = structure.interface(system)
    found: dict[str, tuple[Carried, ...]] = {}
    for stated in connections(system, structure):
        connection = stated.connection
        for place, (other, own) in ((stated.start, stated.end), (stated.end, stated.start)):
            owner, declared = interface.elements.get(place[0]), interface.connectors.get(place)
            if place[0] and not other and owner is not None and declared is not None:
                known = carried_by(declared, owner, structure)
                converted = first(connection, ssc.Transformation) is None and not connection.suppress_unit_conversion
                known = known if converted else Carried(known.type)
                found[own] = (*found.get(own, ()), known)
    return found


def by_variable(description: FmuDescription, variable: Variable) -> Carried:
    items = variable.items if variable.type == "Enumeration" else None
    return Carried(variable.type, named(description.units, variable.unit), items, variable.relative_quantity)


def stated_by(connector: ssd.Connector, structure: Structure) -> Carried:
    """What a connector says itself of its value."""
    type = first(connector, ssc.SignalType)
    if type is None:
        return NOTHING
    return _by_words((type.type_name, type.get("unit"), type.get("name")), structure)


@remembered
def _by_words(words: tuple[str, str | None, str | None], structure: Structure) -> Carried:
    """What the name of a type, and those of a unit and of an enumeration of the SSD, say."""
    type_name, unit, enumeration = words
    # An undefined unit is the finding of another rule; nothing follows from it.
    return Carried(
        canonical(type_name),
        None if unit is None else structure.units(structure.root).get(unit),
        None if enumeration is None else enumeration_items(structure.root, enumeration),
    )


def enumeration_items(root: Element, name: str) -> Mapping[str, int] | None:
    """The items of an enumeration of a document; None if it is not defined there."""
    for enumeration in getattr(root, "enumerations", ()):
        if enumeration.name == name:
            return {item.name: item.value for item in enumeration.items}
    return None


class _Ends(dict[tuple[str, str], LinkEnd | None]):
    """The connectors that a system sees, by element and connector; None for one that is not declared."""

    def __init__(self, system: ssd.System, structure: Structure) -> None:
        super().__init__()
        self._system = system
        self._structure = structure
        self._interface = structure.interface(system)

    def __missing__(self, place: tuple[str, str]) -> LinkEnd | None:
        element, connector = place
        owner = self._interface.elements.get(element) if element else self._system
        declared = self._interface.connectors.get(place)
        if owner is None or declared is None:
            self[place] = None
        else:
            known = carried_by(declared, owner, self._structure)
            ticks = known.type == "Clock" and bool(element) and ticking(declared, owner, self._structure)
            kind = ssd.ConnectorKind.OUTPUT if ticks else declared.kind
            self[place] = LinkEnd(owner, declared, End(element, connector, kind), known, ticks)
        return self[place]
