"""Every connector of a tree as a flat value."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

from ssptool.documents import ssb, ssc, ssd
from ssptool.documents.diagnostics import Position
from ssptool.documents.element import Element
from ssptool.documents.ssd import ConnectorKind
from ssptool.fmu.description import Causality, FmuDescription, Variability, Variable
from ssptool.fmu.units import PhysicalUnit, named, stated_or_own
from ssptool.many_values import made, once
from ssptool.network.conversion import canonical, items_of
from ssptool.network.legality import stated_or_own_kind
from ssptool.network.network import Scope, Signal
from ssptool.network.tree import ComponentPlace, DictionaryPlace, ElementPath, ReferencePlace, SystemPlace, Tree, dotted


class ConnectorKey(NamedTuple):
    """Address of a connector.

    `inner`: the inner side of a connector of a system that a component refers to, or the receiving side of a connector
    of a dictionary reference. `dictionary`: name of the dictionary of an entry.
    """

    path: ElementPath
    connector: str
    inner: bool = False
    dictionary: str | None = None

    @property
    def signal(self) -> Signal:
        """The signal in the flat network, where the inner and outer side of a system are the same."""
        path = self.path if self.dictionary is None else (*self.path, self.dictionary)
        return Signal(dotted(path), self.connector)

    @property
    def of_root(self) -> bool:
        """True for a connector of the root system itself."""
        return not self.path and self.dictionary is None


Extents: TypeAlias = tuple[int | str | None, ...]


class FlatConnector(NamedTuple):
    """A connector with its properties from document and FMU.

    `unit` is the stated unit, or the unit of the variable. `variable` is None for connectors of systems; their `type`
    and `unit` are None if the SSD does not state them. `extents` are the sizes of an array: a number, the name of the
    connector with the number, or None if nothing is stated. `array` is the name of the array of an element. `shared`:
    the connector belongs to a signal dictionary, as an entry or a connector of a reference, and accepts no parameters.
    `clock` contains the attributes of an `ssc:Clock` as written.
    """

    key: ConnectorKey
    signal: Signal
    position: Position
    kind: ConnectorKind
    type: str | None
    unit: PhysicalUnit | None
    description: str
    variable: Variable | None
    variable_unit: PhysicalUnit | None
    items: Mapping[str, int]
    extents: Extents = ()
    array: str | None = None
    shared: bool = False
    clock: tuple[tuple[str, str], ...] = ()

    @property
    def interval(self) -> str | None:
        """The `intervalVariability` of a clock in the SSD."""
        return dict(self.clock).get("intervalVariability") if self.clock else None


_Facts: TypeAlias = tuple[str, tuple[object, ...]]
"""Properties that equal connectors of a variable share: its name, and the fields of `FlatConnector` from `kind` on."""

_Known: TypeAlias = tuple[dict[Hashable, _Facts | None], dict[Hashable, list[_Facts | None]]]
"""Properties by likeness: of single connectors, and of all connectors of a component."""


def flat_connectors(tree: Tree) -> dict[ConnectorKey, FlatConnector]:
    """All connectors of a tree; for an FMU only those with the name of a variable."""
    found: dict[ConnectorKey, FlatConnector] = {}
    for connector in chain.from_iterable(map(_of_system, tree.systems)):
        found.setdefault(connector.key, connector)
    known: dict[tuple[int, ...], _Known] = defaultdict(lambda: ({}, {}))
    for component in tree.components:
        for connector in _of_component(component, known):
            found.setdefault(connector.key, connector)
    for reference in tree.references:
        for stated in reference.reference.connectors:
            for connector in _of_reference(reference, stated):
                found.setdefault(connector.key, connector)
    return found


def _of_reference(place: ReferencePlace, connector: ssd.Connector) -> Iterator[FlatConnector]:
    """Both sides of a connector and its dictionary entry, which completes the connector.

    Without an entry the sides are not connected.
    """
    dictionary = place.dictionary
    entry = None if dictionary is None else dictionary.entries.get(connector.name)
    side = _of_connector(connector, ConnectorKey(place.path, connector.name), place.scope)._replace(shared=True)
    if dictionary is not None and entry is not None:
        shared = _of_entry(entry, dictionary)
        yield shared
        side = side._replace(
            type=side.type or shared.type,
            unit=side.unit or shared.unit,
            items=side.items or shared.items,
            extents=side.extents or shared.extents,
        )
    yield side
    yield side._replace(key=side.key._replace(inner=True))


def _of_entry(entry: ssb.DictionaryEntry, dictionary: DictionaryPlace) -> FlatConnector:
    key = ConnectorKey(dictionary.path, entry.name, dictionary=dictionary.name)
    return FlatConnector(
        key=key,
        signal=key.signal,
        kind=ConnectorKind.INOUT,
        type=None if entry.type_name is None else canonical(entry.type_name),
        unit=named(dictionary.units, entry.unit),
        position=entry.position,
        description=entry.description or "",
        variable=None,
        variable_unit=None,
        items=items_of(entry, dictionary.content.enumerations),
        extents=_extents(entry.dimensions),
        shared=True,
    )


def _of_system(place: SystemPlace) -> Iterator[FlatConnector]:
    inner = place.host is not None
    for connector in place.system.connectors:
        yield _of_connector(connector, ConnectorKey(place.path, connector.name, inner), place.scope)
    if place.host is not None and place.host_scope is not None:
        for connector in place.host.connectors:
            yield _of_connector(connector, ConnectorKey(place.path, connector.name), place.host_scope)


def stated_connector(connector: ssd.Connector, path: ElementPath, scope: Scope) -> FlatConnector:
    """A connector of the element at a path, with the properties that the SSD states."""
    return _of_connector(connector, ConnectorKey(path, connector.name), scope)


def _of_connector(connector: ssd.Connector, key: ConnectorKey, scope: Scope) -> FlatConnector:
    return FlatConnector(
        key=key,
        signal=key.signal,
        kind=connector.kind,
        type=None if connector.type_name is None else canonical(connector.type_name),
        unit=named(scope.units, connector.unit),
        position=scope.survey.position(connector),
        description=connector.description or "",
        variable=None,
        variable_unit=None,
        items=items_of(connector, scope.document.structure.enumerations),
        extents=_extents(connector.dimensions),
        clock=_clock(connector.type),
    )


def _clock(type: Element | None) -> tuple[tuple[str, str], ...]:
    if not isinstance(type, ssc.Clock):
        return ()
    return tuple((str(name), str(value)) for name, value in type.attrib.items())


def _extents(dimensions: Iterable[ssc.Dimension]) -> Extents:
    return tuple(each.size_connector if each.size is None else each.size for each in dimensions)


def _of_component(place: ComponentPlace, known: Mapping[tuple[int, ...], _Known]) -> Iterator[FlatConnector]:
    path, name, connectors = place.path, dotted(place.path), place.component.connectors
    single, listed = known[id(place.fmu), id(place.elements), id(place.scope.units)]

    def facts_of_all() -> list[_Facts | None]:
        return [once(single, connector.likeness(), partial(_facts, connector, place)) for connector in connectors]

    every = once(listed, place.component.likeness_of_connectors(), facts_of_all)
    for facts, position in zip(every, place.scope.survey.of_siblings(connectors), strict=True):
        if facts is not None:
            own, shared = facts
            key, signal = made(ConnectorKey, (path, own, False, None)), made(Signal, (name, own))
            yield made(FlatConnector, (key, signal, position, *shared))


def _facts(connector: ssd.Connector, place: ComponentPlace) -> _Facts | None:
    """The properties of a connector; None if its FMU has no such variable."""
    variable = place.fmu.variables.get(connector.name)
    if variable is None:
        return None
    own = unit_of(variable, place.fmu)
    one = FlatConnector(
        key=ConnectorKey(place.path, variable.name),
        signal=Signal(dotted(place.path), variable.name),
        position=place.scope.survey.position(connector),
        kind=stated_or_own_kind(connector.kind, variable),
        type=variable.type,
        unit=stated_or_own(named(place.scope.units, connector.unit), own),
        description=connector.description or variable.description,
        variable=variable,
        variable_unit=own,
        items=variable.items,
        extents=place.elements.arrays.get(variable.name, ()),
        clock=_clock(connector.type),
    )
    return variable.name, one[3:]


def unit_of(variable: Variable, fmu: FmuDescription) -> PhysicalUnit | None:
    """The unit of an FMU's variable."""
    return named(fmu.units, variable.unit)


def settable(variable: Variable) -> bool:
    """True if a variable can be set before initialization (catalogue §1.6, step 6; AMB-14)."""
    if variable.variability is Variability.CONSTANT:
        return False
    return variable.causality is Causality.INPUT or variable.initial in ("exact", "approx")
