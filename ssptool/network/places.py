"""Places: where systems, components and references to signal dictionaries stand in the tree behind an SSD."""

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from ssptool.dataclass import dataclass
from ssptool.documents import ssb, ssd
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Position
from ssptool.documents.document import Document
from ssptool.documents.survey import Survey
from ssptool.fmu.description import FmuDescription
from ssptool.fmu.units import Unit
from ssptool.network.network import TableOutput, Unsupported
from ssptool.network.signals import Signal

Path: TypeAlias = tuple[str, ...]
"""The names of the elements from the root system (not named itself) to a place; names may contain dots."""


def dotted(path: Path) -> str:
    """The full name of a place."""
    return ".".join(path)


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A document in its archive: where relative references start and the names of units mean something."""

    archive: Archive
    document: Document
    units: Mapping[str, Unit]
    survey: Survey


@dataclass(frozen=True, slots=True, eq=False)
class SystemPlace:
    """A system in its place.

    `host` is the component that refers to this system, if that is how it came here: then the connectors of
    the component are the system's outside, and its bindings follow those of the system.
    """

    path: Path
    system: ssd.System
    scope: Scope
    host: ssd.Component | None = None
    host_scope: Scope | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ComponentPlace:
    """An FMU or a table in its place; `source` is its entry in the archive.

    `elements` is `fmu` with the elements of arrays in their place, of the sizes that they have here. Of a table, `fmu`
    has a variable for each output, and `table` the values of these; of an FMU that is None.
    """

    path: Path
    component: ssd.Component
    scope: Scope
    source: str
    fmu: FmuDescription
    elements: FmuDescription
    table: Mapping[str, TableOutput] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """A signal dictionary of the system at `path`; `units` are those that its entries name."""

    path: Path
    name: str
    content: ssb.SignalDictionary
    entries: Mapping[str, ssb.DictionaryEntry]
    units: Mapping[str, Unit]


@dataclass(frozen=True, slots=True, eq=False)
class ReferencePlace:
    """A reference to a signal dictionary in its place; `dictionary` is None if there is none that can be read."""

    path: Path
    reference: ssd.SignalDictionaryReference
    scope: Scope
    dictionary: Dictionary | None


@dataclass(slots=True)
class Tree:
    """All places in document order, systems before what is in them.

    `sizes` are the integers that parameters give to variables and connectors: some of them size arrays.
    """

    systems: list[SystemPlace] = field(default_factory=list)
    components: list[ComponentPlace] = field(default_factory=list)
    references: list[ReferencePlace] = field(default_factory=list)
    unsupported: list[Unsupported] = field(default_factory=list)
    assumed_units: dict[str, Unit] = field(default_factory=dict)
    sizes: Mapping[Signal, int] = field(default_factory=dict)

    def rely_on(self, *units: Unit | None) -> None:
        """A value is converted between units; of those that are not defined the names had to tell what they are."""
        self.assumed_units.update((unit.name, unit) for unit in units if unit is not None and unit.assumed)

    def refuse(
        self, position: Position, feature: str, signal: Signal | None = None, rules: tuple[str, ...] = ()
    ) -> None:
        self.unsupported.append(Unsupported(position, feature, signal, rules))
