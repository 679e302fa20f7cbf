"""The connectors of elements, read once for all rules; what they state is one value for all that state the same."""

from collections.abc import Mapping
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.documents import ssc, ssd
from ssptool.rules.memory import pool, remembered
from ssptool.rules.subjects import Structure
from ssptool.rules.trees import first


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """What a connector states besides its name: a large system has few of these, so that rules judge each one once.

    `type` is that of one of the connectors; those of the others have the same attributes. `sizes` and
    `size_connectors` have one entry per dimension, `clocks` the names of those to which the connector belongs.
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


class Declared(NamedTuple):
    """A connector and what it states."""

    connector: ssd.Connector
    name: str
    says: Statement


@dataclass(frozen=True, slots=True, eq=False)
class Interface:
    """A system seen from inside: its elements by name, and by their names the connectors of each; its own under ""."""

    elements: Mapping[str, ssd.SystemElement]
    connectors: Mapping[str, Mapping[str, Declared]]

    def connector(self, element: str, name: str) -> Declared | None:
        return self.connectors.get(element, {}).get(name)


@remembered
def declared(element: ssd.SystemElement, structure: Structure) -> tuple[Declared, ...]:
    """The connectors of an element."""
    statements = pool(Statement, structure)
    found = []
    for connector in element.connectors:
        parts = [(type(child), *child.attrib.items()) for child in connector if isinstance(child, _STATING)]
        words = (connector.get("kind"), *parts)
        says = statements.get(words)
        if says is None:
            says = statements[words] = _statement(connector)
        found.append(Declared(connector, connector.name, says))
    return tuple(found)


@remembered
def by_name(element: ssd.SystemElement, structure: Structure) -> Mapping[str, Declared]:
    """The connectors of an element; of those with one name the first."""
    return {one.name: one for one in reversed(declared(element, structure))}


@remembered
def interface(system: ssd.System, structure: Structure) -> Interface:
    """The elements and connectors that connections of a system can lead to; of those with one name the first."""
    elements: dict[str, ssd.SystemElement] = {}
    connectors = {"": by_name(system, structure)}
    for element in system.elements:
        if elements.setdefault(element.name, element) is element:
            own = by_name(element, structure)
            # Of an element without a name the connectors come behind those of the system itself.
            connectors[element.name] = own if element.name else {**own, **connectors[""]}
    return Interface(elements, connectors)


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
