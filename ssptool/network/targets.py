"""Targets of parameters: variables of FMUs and connectors of systems, found by name, and unknown names.

Names are compared as whole strings, because names of elements and variables may contain dots. If several targets have
one name, all of them are set (rule SSD-PAR-012). The name of an array stands for all its elements."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeAlias, TypeVar

from ssptool.documents.diagnostics import Position
from ssptool.errors import UnknownName, in_other_case, similar_names
from ssptool.fmu.description import Shape, Variable
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.connectors import ConnectorKey, settable, unit_of
from ssptool.network.network import LoneFmu, Signal
from ssptool.network.tree import ComponentPlace, ElementPath, Tree, dotted
from ssptool.network.wiring import Wiring

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VariableTarget:
    """A variable of an FMU; it needs no connector. If the component has a connector of this name, `stated` is the unit
    of the connector.
    """

    place: ComponentPlace
    name: str
    stated: PhysicalUnit | None = None

    def __str__(self) -> str:
        return str(self.signal)

    @property
    def signal(self) -> Signal:
        return Signal(dotted(self.place.path), self.name)

    @property
    def variable(self) -> Variable:
        return self.place.elements.variables[self.name]

    @property
    def type(self) -> str:
        return self.variable.type

    @property
    def items(self) -> Mapping[str, int]:
        return self.variable.items

    @property
    def unit(self) -> PhysicalUnit | None:
        """Unit of the FMU's variable; if it has none, the unit that the connector states."""
        own = unit_of(self.variable, self.place.elements)
        return self.stated if own is None else own

    @property
    def relative(self) -> bool:
        return self.variable.relative_quantity

    @property
    def bounds(self) -> tuple[float, float]:
        return self.variable.minimum, self.variable.maximum

    @property
    def settable(self) -> bool:
        return settable(self.variable)

    @property
    def is_element(self) -> bool:
        return self.variable.array is not None


@dataclass(frozen=True, slots=True)
class SystemTarget:
    """A connector of a system, of any kind."""

    key: ConnectorKey
    type: str
    items: Mapping[str, int]
    unit: PhysicalUnit | None
    position: Position
    relative: bool = False
    bounds: tuple[float, float] = (-inf, inf)
    settable: bool = True
    is_element: bool = False

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return str(self.signal)

    @property
    def signal(self) -> Signal:
        return Signal(dotted(self.key.path), self.key.connector)


NamedTarget: TypeAlias = VariableTarget | SystemTarget


class Targets:
    """All targets of a tree by hierarchical name."""

    def __init__(self, tree: Tree, wiring: Wiring) -> None:
        self._missing = {dotted(place.path): place for place in tree.missing}
        self._components: dict[str, list[ComponentPlace]] = defaultdict(list)
        self._connectors: dict[str, list[SystemTarget]] = defaultdict(list)
        self._arrays: dict[str, list[tuple[ConnectorKey, Shape]]] = defaultdict(list)
        paths = [*(place.path for place in tree.components), *(place.path for place in tree.missing)]
        self._only: ElementPath = paths[0] if len(paths) == 1 else ()
        for place in tree.components:
            self._components[dotted(place.path)].append(place)
        for key, shape in wiring.shapes.items():
            if dotted(key.path) not in self._components:
                self._arrays[str(key.signal)].append((key, shape))
        self._wired = wiring.connectors
        self._any_arrays = bool(self._arrays) or any(place.elements.arrays for place in tree.components)
        for key, connector in wiring.connectors.items():
            hidden = key.inner and ConnectorKey(key.path, key.connector) in wiring.connectors
            if connector.variable is None and not hidden and not connector.shared:
                kind, position = connector.type or "Float64", connector.position
                is_element = connector.array is not None
                target = SystemTarget(key, kind, connector.items, connector.unit, position, is_element=is_element)
                self._connectors[str(target)].append(target)

    def scope(self, name: str) -> ElementPath:
        """Element that a name from outside is relative to: the root; or its only component, if the name has no other
        meaning. For a single FMU, names refer to its own variables first.
        """
        if not self._only:
            return ()
        first, second = (self._only, ()) if isinstance(self._only[0], LoneFmu) else ((), self._only)
        known = (path for path in (first, second) if self.named(name, path) or self.shapes(name, path))
        return next(known, self._only)

    def similar(self, name: str) -> tuple[str, ...]:
        """Similar names for an unknown name."""
        return similar_names(str(Signal(dotted(self._only), name)), self.names())

    def in_other_case(self, name: str) -> str | None:
        """Full name in correct case, for a name that only matches regardless of case. Raises AmbiguousName."""
        element = name.rpartition("[")[0] if name.endswith("]") else ""
        for own in dict.fromkeys((".".join((*self._only, name)), name)):
            known = self.names()
            if (found := in_other_case(own, known)) is not None:
                return found
            whole = own[: len(own) - len(name) + len(element)] if element else ""
            if whole and (found := in_other_case(whole, known)) is not None:
                return found + own[len(whole) :]
        return None

    def named(self, name: str, path: ElementPath) -> list[NamedTarget]:
        """All targets with this `name`, relative to the element at `path`."""
        full = ".".join((*path, name))
        inside = [target for target in self._connectors.get(full, ()) if target.key.path[: len(path)] == path]
        return [*inside, *self._variables(full, path)]

    def shapes(self, name: str, path: ElementPath) -> list[Shape]:
        """Shapes of all arrays with this `name`, relative to the element at `path`."""
        if not self._any_arrays:
            return []
        full = ".".join((*path, name))
        inside = [shape for key, shape in self._arrays.get(full, ()) if key.path[: len(path)] == path]
        return [*inside, *(shape for _, _, shape in self._owners(full, path) if shape)]

    def _owners(self, full: str, path: ElementPath) -> Iterator[tuple[ComponentPlace, str, Shape | None]]:
        """All splits of a full name into a component and the rest, with the shape of the array of that name."""
        # Whole names are compared, because any dot may be the one between component and variable.
        dot = full.find(".")
        while dot >= 0:
            for place in self._components.get(full[:dot], ()):
                if place.path[: len(path)] == path:
                    yield place, full[dot + 1 :], place.elements.arrays.get(full[dot + 1 :])
            dot = full.find(".", dot + 1)

    def _variables(self, full: str, path: ElementPath) -> Iterator[VariableTarget]:
        for place, name, _ in self._owners(full, path):
            if name in place.elements.variables:
                connector = self._wired.get(ConnectorKey(place.path, name))
                yield VariableTarget(place, name, None if connector is None else connector.unit)

    def why_unknown(self, name: str) -> str:
        """The missing component at the start of a full name, and its problem; empty if there is none."""
        return "" if (found := owner_of(name, self._missing)) is None else str(found)

    def names(self) -> list[str]:
        """Full names of all targets; arrays without their elements."""
        variables = (
            str(Signal(component, name))
            for component, places in self._components.items()
            for place in places
            for name, variable in place.fmu.variables.items()
            if settable(variable)
        )
        return [*self._connectors, *self._arrays, *variables]


def owner_of(name: str, missing: Mapping[str, T]) -> T | None:
    """The missing component whose name is the start of a full name; the innermost one if there are several."""
    inside = [component for component in missing if name.startswith(f"{component}.")]
    return missing[max(inside, key=len)] if inside else None


def unknown_variable(name: str, near: Collection[str], because: str = "") -> UnknownName:
    """Error for a variable that does not exist; `because` is the reason if its component is missing."""
    more = "" if near else "; `ssptool explain SYSTEM --all` lists all variables"
    return UnknownName(f"the system has no variable {name!r}{more}", name, near=near, because=because)
