"""Explain the value of a variable from the provenance in a network; no value is computed again."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import TypeAlias

from ssptool.documents.diagnostics import Position
from ssptool.errors import near_misses
from ssptool.fmu.description import Causality, Value, Variability, Variable
from ssptool.network.arrays import elements
from ssptool.network.connectors import settable
from ssptool.network.network import (
    IDENTITY,
    Assignment,
    Conversion,
    FlatComponent,
    Leg,
    Network,
    Port,
    Signal,
    TableComponent,
    TableOutput,
    Unmatched,
    UnsupportedFeature,
    Wire,
)
from ssptool.network.targets import UnknownVariable


class Origin(StrEnum):
    """Where a value comes from; what is listed first wins."""

    CONNECTION = "connection"
    ASSIGNMENT = "assignment"
    CALCULATED = "calculated"
    """The FMU calculates it."""
    TABLE = "table"
    """It is a column of a table."""
    DEFAULT = "default"
    """The start value in the FMU: nothing else sets it."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Default:
    """The start value that an FMU states, and where."""

    value: Value
    position: Position


@dataclass(frozen=True, slots=True)
class Explanation:
    """One variable or connector, where its value comes from, and where it goes.

    `kind` is that of the connector, or the causality where there is none. `value` is the one at the start, None if it
    is not known before the run; `item` its name if it is that of an enumeration. `assignment` may be there beside an
    `arriving` wire, which then wins (AMB-12); `brought` is the one at the source of that wire.
    """

    signal: Signal
    kind: str
    type: str
    unit: str | None
    description: str
    source: str
    position: Position
    origin: Origin
    value: Value | None = None
    item: str = ""
    assignment: Assignment | None = None
    default: Default | None = None
    arriving: Wire | None = None
    brought: Assignment | None = None
    leaving: tuple[Wire, ...] = ()
    refused: tuple[UnsupportedFeature, ...] = ()
    """What it is given as well, but this version cannot take."""
    during: tuple[str, ...] = ()
    """What acts on it from outside during a run, if that is known."""


Explained: TypeAlias = Explanation | Unmatched
"""An Unmatched is a parameter of that name that is no variable's."""


def explain(network: Network, *names: str) -> tuple[Explained, ...]:
    """Explain variables and connectors by their full names, such as `System1.m1`.

    A name that is that of several variables gives all of them.

    Raises
    ------
    UnknownName
        Nothing has one of the names, neither a variable nor a parameter in a set.
    """
    return _Explainer(network).named(names)


def explain_all(network: Network) -> tuple[Explained, ...]:
    """Every connector, every parameter of an FMU, everything that is given a value, and what matched nothing."""
    explainer = _Explainer(network)
    return (*map(explainer.explanation, explainer.all()), *network.unmatched)


@dataclass(slots=True)
class _Explainer:
    """The wires of a network by the signals that they start at, end at and pass."""

    network: Network
    ports: dict[Signal, Port] = field(default_factory=dict)
    arriving: dict[Signal, Wire] = field(default_factory=dict)
    leaving: dict[Signal, list[Wire]] = field(default_factory=lambda: defaultdict(list))
    passing: dict[Signal, list[Wire]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[Signal, list[UnsupportedFeature]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        network = self.network
        for item in network.unsupported:
            if item.signal is not None:
                self.refused[item.signal].append(item)
        parts = (network.ports, network.boundaries, *(c.ports for c in network.components.values()))
        self.ports = {port.signal: port for ports in parts for port in ports}
        inside = {port.signal for port in network.boundaries}
        for wire in (*network.wires, *network.dangling):
            if wire.source == wire.destination:
                continue  # the two sides of a boundary that is not connected further: one name, one connector
            self.leaving[wire.source].append(wire)
            self.arriving[wire.destination] = wire
            for signal in dict.fromkeys(leg.source for leg in wire.legs[1:]):
                if signal in inside and signal not in (wire.source, wire.destination):
                    self.passing[signal].append(wire)

    def named(self, names: tuple[str, ...]) -> tuple[Explained, ...]:
        found: list[Explained] = []
        for name in names:
            signals = tuple(dict.fromkeys(self._signals(name)))
            unmatched = tuple(missed for missed in self.network.unmatched if missed.name == name)
            if not signals and not unmatched:
                known = [str(signal) for signal in self._everything()]
                raise UnknownVariable(name, near_misses([name], known)[name])
            found += (*map(self.explanation, signals), *unmatched)
        return tuple(found)

    def all(self) -> Iterator[Signal]:
        parameters = (Causality.PARAMETER, Causality.STRUCTURAL_PARAMETER)
        ports, given = self.ports, self.network.assignments
        own = (port.signal for port in (*self.network.ports, *self.network.boundaries))
        yield from dict.fromkeys(own)
        for component in self.network.components.values():
            for name, variable in component.description.variables.items():
                signal = Signal(component.name, name)
                if signal in ports or signal in given or variable.causality in parameters:
                    yield signal

    def explanation(self, signal: Signal) -> Explanation:
        component = self.network.components.get(signal.component)
        variable = None if component is None else component.description.variables.get(signal.variable)
        port = self.ports.get(signal)
        if component is not None and variable is not None:
            return self._of_variable(signal, component, variable, port)
        assert port is not None
        return self._of_port(port)

    def _of_variable(
        self, signal: Signal, component: FlatComponent, variable: Variable, port: Port | None
    ) -> Explanation:
        at = Position(component.model_description, variable.line)
        arriving, assignment = self.arriving.get(signal), self.network.assignments.get(signal)
        default = None if variable.start is None else Default(variable.start, at)
        if arriving is not None:
            origin, value = Origin.CONNECTION, self._carried(arriving)
        elif assignment is not None:
            origin, value = Origin.ASSIGNMENT, assignment.value
        elif default is not None and (settable(variable) or variable.variability is Variability.CONSTANT):
            origin, value = Origin.DEFAULT, default.value
        else:
            origin, value = Origin.NOTHING if settable(variable) else Origin.CALCULATED, None
        return Explanation(
            signal=signal,
            kind=str(variable.causality) if port is None else port.kind,
            type=variable.type,
            unit=variable.unit,
            description=variable.description if port is None else port.description,
            source=component.source,
            position=at if port is None else port.position,
            origin=origin,
            value=value,
            item=next((item for item, number in variable.items.items() if number == value), ""),
            assignment=assignment,
            default=default,
            arriving=arriving,
            brought=self._brought(arriving),
            leaving=tuple(self.leaving.get(signal, ())),
            refused=self._refused(signal),
        )

    def _of_port(self, port: Port) -> Explanation:
        given = self.network.boundary_assignments if port.signal.component else self.network.assignments
        parts = [_cut(wire, port.signal) for wire in self.passing.get(port.signal, ())]
        arriving = parts[0][0] if parts else self.arriving.get(port.signal)
        assignment = given.get(port.signal)
        origin, value = Origin.NOTHING, None
        table, column = self._table(port.signal)
        if table is not None:
            origin = Origin.TABLE
        elif arriving is not None:
            origin, value = Origin.CONNECTION, self._carried(arriving)
        elif assignment is not None:
            origin, value = Origin.ASSIGNMENT, assignment.value
        return Explanation(
            signal=port.signal,
            kind=port.kind if table is None else "output",
            type=port.type,
            unit=port.unit,
            description=port.description,
            source="" if table is None else table.source,
            position=port.position,
            origin=origin,
            value=value,
            assignment=assignment,
            arriving=arriving,
            brought=self._brought(arriving),
            leaving=(*self.leaving.get(port.signal, ()), *(after for _, after in parts)),
            refused=self._refused(port.signal),
            during=() if column is None else (str(column),),
        )

    def _table(self, signal: Signal) -> tuple[TableComponent, TableOutput] | tuple[None, None]:
        """The table of which this is an output, and the column."""
        found = ((table, table.outputs[signal]) for table in self.network.tables.values() if signal in table.outputs)
        return next(found, (None, None))

    def _refused(self, signal: Signal) -> tuple[UnsupportedFeature, ...]:
        return tuple(self.refused.get(signal, ()))

    def _brought(self, wire: Wire | None) -> Assignment | None:
        """What was given to the source of a wire."""
        if wire is None:
            return None
        given, inside = self.network.assignments, self.network.boundary_assignments
        return given.get(wire.source, inside.get(wire.source))

    def _carried(self, wire: Wire) -> Value | None:
        """What a wire brings, where its source is known before the run: set on a system, or a constant."""
        source = self.explanation(wire.source)
        value, fixed = source.value, source.kind in ("constant", "parameter", "structuralParameter")
        if source.source and not fixed:
            return None
        return None if value is None else wire.conversion.carry(value)

    def _signals(self, name: str) -> Iterator[Signal]:
        # Whole names are compared: a dot at any place may be the one between component and variable.
        dot = -1
        while True:
            signal = Signal(name[: max(dot, 0)], name[dot + 1 :])
            component = self.network.components.get(signal.component)
            if signal in self.ports or (component is not None and signal.variable in component.description.variables):
                yield signal
            yield from elements(signal, self.network.arrays[signal]) if signal in self.network.arrays else ()
            dot = name.find(".", dot + 1)
            if dot < 0:
                return

    def _everything(self) -> Iterator[Signal]:
        yield from self.ports
        for component in self.network.components.values():
            yield from (Signal(component.name, name) for name in component.description.variables)


def _cut(wire: Wire, signal: Signal) -> tuple[Wire, Wire]:
    """The part of a wire before a connector that it passes, and the part after."""
    number = next(number for number, leg in enumerate(wire.legs) if leg.source == signal)
    before, after = wire.legs[:number], wire.legs[number:]
    return Wire(wire.source, signal, _composed(before), before), Wire(signal, wire.destination, _composed(after), after)


def _composed(legs: tuple[Leg, ...]) -> Conversion:
    return reduce(Conversion.then, (leg.conversion for leg in legs), IDENTITY)
