"""Components without an implementation that can be read, as far as the SSD states them, and connections to them."""

from collections.abc import Iterator

from ssptool.documents import ssd
from ssptool.network.connectors import stated_connector
from ssptool.network.network import MissingComponent, Port, Signal, UnresolvedConnection
from ssptool.network.tree import ElementPath, MissingPlace, SystemPlace, Tree, dotted


def missing_components(tree: Tree) -> dict[str, MissingComponent]:
    """The missing components by their full names."""
    return {dotted(place.path): _component(place) for place in tree.missing}


def _component(place: MissingPlace) -> MissingComponent:
    component = place.component
    return MissingComponent(
        name=dotted(place.path),
        source=component.source or "",
        kind=place.kind,
        problem=place.problem,
        ports=tuple(_port(place, connector) for connector in component.connectors),
        position=component.position,
    )


def _port(place: MissingPlace, connector: ssd.Connector) -> Port:
    stated = stated_connector(connector, place.path, place.scope)
    unit = None if stated.unit is None else stated.unit.name
    return Port(
        stated.signal, str(stated.kind), stated.type or "", unit, stated.description, stated.position, stated.clock
    )


def unresolved_connections(tree: Tree) -> tuple[UnresolvedConnection, ...]:
    """The connections with an end at a missing component, in document order."""
    missing = {place.path for place in tree.missing}
    return tuple(found for system in tree.systems for found in _unresolved(system, missing)) if missing else ()


def _unresolved(place: SystemPlace, missing: set[ElementPath]) -> Iterator[UnresolvedConnection]:
    for connection in place.system.connections:
        ends = connection.ends
        paths = [(*place.path, end.element) if end.element else place.path for end in ends]
        if not missing.isdisjoint(paths):
            start, end = (Signal(dotted(path), one.connector) for path, one in zip(paths, ends, strict=True))
            yield UnresolvedConnection(start, end, place.scope.survey.position(connection))
