"""What parameters can be given to: the variables of FMUs and the connectors of systems, found by their names.

Names are compared as whole strings, because the names of elements and variables may contain dots; one name
may be that of several targets, which are then all set (rule SSD-PAR-012).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from ssptool.documents.diagnostics import Position
from ssptool.fmu.description import Variable
from ssptool.fmu.units import Unit
from ssptool.network.places import ComponentPlace, Path, Tree, dotted
from ssptool.network.signals import Signal
from ssptool.network.terminals import Key, settable, unit_of
from ssptool.network.wiring import Wiring


@dataclass(frozen=True, slots=True)
class VariableTarget:
    """A variable of an FMU; it needs no connector."""

    place: ComponentPlace
    name: str

    def __str__(self) -> str:
        return str(self.signal)

    @property
    def signal(self) -> Signal:
        return Signal(dotted(self.place.path), self.name)

    @property
    def variable(self) -> Variable:
        return self.place.fmu.variables[self.name]

    @property
    def type(self) -> str:
        return self.variable.type

    @property
    def items(self) -> Mapping[str, int]:
        return self.variable.items

    @property
    def unit(self) -> Unit | None:
        return unit_of(self.variable, self.place.fmu)

    @property
    def relative(self) -> bool:
        return self.variable.relative_quantity

    @property
    def bounds(self) -> tuple[float, float]:
        return self.variable.minimum, self.variable.maximum

    @property
    def settable(self) -> bool:
        return settable(self.variable)


@dataclass(frozen=True, slots=True)
class SystemTarget:
    """A connector of a system, of any kind."""

    key: Key
    type: str
    items: Mapping[str, int]
    unit: Unit | None
    position: Position
    relative: bool = False
    bounds: tuple[float, float] = (-inf, inf)
    settable: bool = True

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return str(self.signal)

    @property
    def signal(self) -> Signal:
        return Signal(dotted(self.key.path), self.key.connector)


Target: TypeAlias = VariableTarget | SystemTarget


class Targets:
    """All targets of a tree by their hierarchical names."""

    def __init__(self, tree: Tree, wiring: Wiring) -> None:
        self._components: dict[str, list[ComponentPlace]] = defaultdict(list)
        self._connectors: dict[str, list[SystemTarget]] = defaultdict(list)
        for place in tree.components:
            self._components[dotted(place.path)].append(place)
        for key, terminal in wiring.terminals.items():
            hidden = key.inner and Key(key.path, key.connector) in wiring.terminals
            if terminal.variable is None and not hidden and not terminal.shared:
                target = SystemTarget(key, terminal.type or "Float64", terminal.items, terminal.unit, terminal.position)
                self._connectors[str(target)].append(target)

    def named(self, name: str, path: Path) -> list[Target]:
        """Everything that is called `name`, seen from the element at `path`."""
        full = ".".join((*path, name))
        inside = [target for target in self._connectors.get(full, ()) if target.key.path[: len(path)] == path]
        return [*inside, *self._variables(full, path)]

    def _variables(self, full: str, path: Path) -> Iterator[VariableTarget]:
        # Whole names are compared: a dot at any place may be the one between component and variable.
        dot = full.find(".")
        while dot >= 0:
            for place in self._components.get(full[:dot], ()):
                if place.path[: len(path)] == path and full[dot + 1 :] in place.fmu.variables:
                    yield VariableTarget(place, full[dot + 1 :])
            dot = full.find(".", dot + 1)

    def names(self) -> list[str]:
        """The full names of everything that takes a value."""
        variables = (
            f"{component}.{name}"
            for component, places in self._components.items()
            for place in places
            for name, variable in place.fmu.variables.items()
            if settable(variable)
        )
        return [*self._connectors, *variables]
