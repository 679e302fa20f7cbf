"""Terminals: every connector of a tree, before wires are drawn from component to component."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ssptool.documents import ssc, ssd
from ssptool.documents.diagnostics import Position
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.fmu.description import Causality, FmuDescription, Variability, Variable
from ssptool.fmu.units import Unit
from ssptool.network.signals import Signal
from ssptool.network.tree import ComponentPlace, Path, Scope, SystemPlace, Tree, dotted
from ssptool.network.types import canonical
from ssptool.network.units import named


class Key(NamedTuple):
    """The address of a terminal; `inner`: on the inside of a system that a component refers to."""

    path: Path
    connector: str
    inner: bool = False

    @property
    def signal(self) -> Signal:
        """The same in the flat network, where inside and outside of a system are one."""
        return Signal(dotted(self.path), self.connector)


@dataclass(frozen=True, slots=True)
class Terminal:
    """A connector, with what its document or its FMU says of it.

    `unit` is the one that a value has here as SSP sees it: the stated one, else that of the variable.
    `variable` is None for the connectors of systems; then `type` and `unit` are None where the SSD does not
    state them.
    """

    key: Key
    kind: Kind
    type: str | None
    unit: Unit | None
    position: Position
    description: str
    variable: Variable | None
    variable_unit: Unit | None
    items: Mapping[str, int]
    array: bool


def terminals(tree: Tree) -> dict[Key, Terminal]:
    """All connectors; of an FMU, those that name one of its variables."""
    found: dict[Key, Terminal] = {}
    for terminal in _all(tree):
        found.setdefault(terminal.key, terminal)
    return found


def _all(tree: Tree) -> Iterator[Terminal]:
    for system in tree.systems:
        yield from _of_system(system)
    for component in tree.components:
        for connector in component.component.connectors:
            variable = component.fmu.variables.get(connector.name)
            if variable is not None:
                yield _of_component(component, connector, variable)


def _of_system(place: SystemPlace) -> Iterator[Terminal]:
    inner = place.host is not None
    for connector in place.system.connectors:
        yield _of_connector(connector, Key(place.path, connector.name, inner), place.scope)
    if place.host is not None and place.host_scope is not None:
        for connector in place.host.connectors:
            yield _of_connector(connector, Key(place.path, connector.name), place.host_scope)


def _of_connector(connector: ssd.Connector, key: Key, scope: Scope) -> Terminal:
    return Terminal(
        key=key,
        kind=connector.kind,
        type=None if connector.type_name is None else canonical(connector.type_name),
        unit=named(scope.units, connector.unit),
        position=connector.position,
        description=connector.description or "",
        variable=None,
        variable_unit=None,
        items=_items(connector, scope),
        array=bool(connector.dimensions),
    )


def _items(connector: ssd.Connector, scope: Scope) -> Mapping[str, int]:
    if not isinstance(connector.type, ssc.Enumeration):
        return MappingProxyType({})
    for enumeration in scope.document.structure.enumerations:
        if enumeration.name == connector.type.name:
            return MappingProxyType({item.name: item.value for item in enumeration.items})
    return MappingProxyType({})


def _of_component(place: ComponentPlace, connector: ssd.Connector, variable: Variable) -> Terminal:
    variable_unit = unit_of(variable, place.fmu)
    stated = named(place.scope.units, connector.unit)
    return Terminal(
        key=Key(place.path, connector.name),
        kind=_KINDS[variable.causality] if connector.kind is Kind.UNSPECIFIED else connector.kind,
        type=variable.type,
        unit=variable_unit if stated is None else stated,
        position=connector.position,
        description=connector.description or variable.description,
        variable=variable,
        variable_unit=variable_unit,
        items=variable.items,
        array=bool(connector.dimensions or variable.shape),
    )


def unit_of(variable: Variable, fmu: FmuDescription) -> Unit | None:
    """The unit of an FMU's variable."""
    return named(fmu.units, variable.unit)


_KINDS = {
    Causality.PARAMETER: Kind.PARAMETER,
    Causality.CALCULATED_PARAMETER: Kind.CALCULATED_PARAMETER,
    Causality.STRUCTURAL_PARAMETER: Kind.STRUCTURAL_PARAMETER,
    Causality.INPUT: Kind.INPUT,
    Causality.OUTPUT: Kind.OUTPUT,
    Causality.LOCAL: Kind.LOCAL,
    Causality.INDEPENDENT: Kind.UNSPECIFIED,
    Causality.NONE: Kind.UNSPECIFIED,
}


def settable(variable: Variable) -> bool:
    """Whether a value may be given to a variable before initialization (catalogue §1.6, step 6; AMB-14)."""
    if variable.variability is Variability.CONSTANT:
        return False
    return variable.causality is Causality.INPUT or variable.initial in ("exact", "approx")
