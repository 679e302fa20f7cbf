"""Explain the value of a variable from the provenance in a network, and list the inputs that no connection drives.

Values are only looked up, not computed again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import NamedTuple, TypeAlias

from ssptool.documents.diagnostics import Position
from ssptool.documents.vocabulary import rounded_text
from ssptool.errors import in_other_case, similar_names
from ssptool.fmu.description import Causality, Value, Variability, Variable
from ssptool.fmu.units import with_unit
from ssptool.network.arrays import elements, whole
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
from ssptool.network.targets import owner_of, unknown_variable
from ssptool.printed import Printed
from ssptool.work_in_progress import tell


class Origin(StrEnum):
    """Origin of a value; the first applicable one counts."""

    CONNECTION = "connection"
    ASSIGNMENT = "assignment"
    CALCULATED = "calculated"
    """The FMU calculates it."""
    TABLE = "table"
    """Column of a table."""
    DEFAULT = "default"
    """The start value in the FMU: nothing else sets it."""
    MISSING = "missing"
    """The component is missing, and only the SSD is known."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Default:
    """The start value in an FMU, and its position."""

    value: Value
    position: Position


class UnresolvedEnd(NamedTuple):
    """The other end of a connection with a missing component; `missing` describes the missing file, if there is one."""

    signal: Signal
    position: Position
    missing: str


@dataclass(frozen=True, slots=True)
class Explanation(Printed):
    """A variable or connector with the origin and the destinations of its value.

    `kind` is the kind of the connector, or the causality of the variable. `value` is the start value; None if it is
    unknown before the run. `item` is the name of an enumeration value. An `arriving` wire overrides an `assignment`
    (AMB-12); `brought` is the value at the source of that wire.
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
    """Unsupported values of the variable."""
    during: tuple[str, ...] = ()
    """Inputs and scenarios that change it during a run, if known."""
    missing: str = ""
    """Missing file of its component, if any."""
    unresolved: tuple["UnresolvedEnd", ...] = ()
    """Connections with missing components."""

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        value = "" if self.value is None else f" = {self.item or repr(self.value)}{unit}"
        return f"<Explanation of {self.signal}: {self.kind} {self.type}{value}, {self.origin}>"


def quantity(value: Value, unit: str | None, item: str = "") -> str:
    """A value with its unit and the name of an enumeration item."""
    match value:
        case bool():
            text = "true" if value else "false"
        case float():
            text = rounded_text(value, 15)
        case bytes():
            text = value.hex().upper()
        case str():
            text = repr(value)
        case _:
            text = str(value)
    return with_unit(text, unit) + (f" ({item})" if item else "")


def origin_text(explanation: Explanation) -> str:
    """Origin of a value, in a few words."""
    match explanation.origin:
        case Origin.CONNECTION:
            assert explanation.arriving is not None
            return f"{explanation.arriving.conversion.formula(str(explanation.arriving.source))} (connected)"
        case Origin.ASSIGNMENT:
            assert explanation.assignment is not None
            beaten = ", ".join(quantity(each.assignment.value, None) for each in explanation.assignment.overridden)
            return f"{explanation.assignment.chain[0].position}" + (f", instead of {beaten}" if beaten else "")
        case Origin.DEFAULT:
            return "constant of the FMU" if explanation.kind == "constant" else "start value in the FMU"
        case Origin.CALCULATED:
            return "calculated by the FMU"
        case Origin.TABLE:
            return f"{explanation.source}, {', '.join(explanation.during)}"
        case Origin.MISSING:
            return explanation.missing
        case Origin.NOTHING:
            return "unsupported values only" if explanation.refused else "nothing sets it"


Explained: TypeAlias = Explanation | Unmatched


class Explanations(Printed, tuple[Explained, ...]):
    """Explanations of the requested names."""


class ExplanationTable(Explanations):
    """Explanations of whole components or of a whole system, one line each."""


"""An Unmatched is a parameter of that name that matches no variable."""


def explain(network: Network, *names: str) -> Explanations:
    """Explain variables and connectors by their full names, such as `System1.m1`.

    If several variables have the same name, all are explained. The name of a component or nested system stands for its
    connectors and parameters.

    Raises
    ------
    UnknownName
        No variable and no parameter has one of the names; `explained` contains the explanations of the others.
    """
    return _Explainer(network).named(names)


def explain_all(network: Network) -> Explanations:
    """Explain all connectors, parameters of FMUs, variables with assigned values, and unmatched parameters."""
    tell("explaining values")
    explainer = _Explainer(network)
    return ExplanationTable((*map(explainer.explanation, explainer.all()), *network.unmatched))


@dataclass(slots=True)
class _Explainer:
    """Wires of a network, by the signals at which they start, end, and through which they pass."""

    network: Network
    ports: dict[Signal, Port] = field(default_factory=dict)
    arriving: dict[Signal, Wire] = field(default_factory=dict)
    leaving: dict[Signal, list[Wire]] = field(default_factory=lambda: defaultdict(list))
    passing: dict[Signal, list[Wire]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[Signal, list[UnsupportedFeature]] = field(default_factory=lambda: defaultdict(list))
    unresolved: dict[Signal, list[UnresolvedEnd]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        network = self.network
        for item in network.unsupported:
            if item.signal is not None:
                self.refused[item.signal].append(item)
        absent = (component.ports for component in network.missing.values())
        parts = (network.ports, network.boundaries, *(c.ports for c in network.components.values()), *absent)
        self.ports = {port.signal: port for ports in parts for port in ports}
        for connection in network.unresolved:
            for here, other in ((connection.start, connection.end), (connection.end, connection.start)):
                missing = str(network.missing.get(other.component, ""))
                self.unresolved[here].append(UnresolvedEnd(other, connection.position, missing))
        inside = {port.signal for port in network.boundaries}
        for wire in (*network.wires, *network.dangling):
            if wire.source == wire.destination:
                continue  # both sides of a boundary without further connection have the same name
            self.leaving[wire.source].append(wire)
            self.arriving[wire.destination] = wire
            for signal in dict.fromkeys(leg.source for leg in wire.legs[1:]):
                if signal in inside and signal not in (wire.source, wire.destination):
                    self.passing[signal].append(wire)

    def named(self, names: tuple[str, ...]) -> Explanations:
        found: list[Explained] = []
        unknown: list[str] = []
        made: type[Explanations] = Explanations
        for name in names:
            signals = tuple(dict.fromkeys(self._signals(name)))
            unmatched = tuple(missed for missed in self.network.unmatched if missed.name == name)
            if not signals and not unmatched:
                signals = self._of_component(name)
                made = ExplanationTable if signals else made
            if not signals and not unmatched:
                own = in_other_case(name, self._names())
                signals = () if own is None else tuple(dict.fromkeys(self._signals(own)))
            if not signals and not unmatched:
                unknown.append(name)
            found += (*map(self.explanation, signals), *unmatched)
        if unknown:
            near = similar_names(unknown[0], [str(signal) for signal in self._everything()])
            missing = owner_of(unknown[0], self.network.missing)
            error = unknown_variable(unknown[0], near, "" if missing is None else str(missing))
            error.found = made(found)
            raise error
        return made(found)

    def _of_component(self, name: str) -> tuple[Signal, ...]:
        """Connectors and parameters of a component, or of all components in a nested system."""
        every = tuple(self.all())
        parts = [signal.component.split(".") for signal in dict.fromkeys(every)]
        known = {".".join(names[:depth]) for names in parts for depth in range(1, len(names) + 1)} - {""}
        meant = name if name in known else in_other_case(name, known)
        return tuple(one for one in every if meant and f"{one.component}.".startswith(f"{meant}."))

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
        yield from (port.signal for component in self.network.missing.values() for port in component.ports)

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
            unit=variable.unit or (None if port is None else port.unit),
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
            unresolved=tuple(self.unresolved.get(signal, ())),
        )

    def _of_port(self, port: Port) -> Explanation:
        given = self.network.boundary_assignments if port.signal.component else self.network.assignments
        parts = [_cut(wire, port.signal) for wire in self.passing.get(port.signal, ())]
        arriving = parts[0][0] if parts else self.arriving.get(port.signal)
        assignment = given.get(port.signal)
        origin, value = Origin.NOTHING, None
        table, column = self._table(port.signal)
        missing = self.network.missing.get(port.signal.component)
        if missing is not None:
            origin = Origin.MISSING
        elif table is not None:
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
            missing="" if missing is None else str(missing),
            unresolved=tuple(self.unresolved.get(port.signal, ())),
        )

    def _table(self, signal: Signal) -> tuple[TableComponent, TableOutput] | tuple[None, None]:
        """Table and column of an output."""
        found = ((table, table.outputs[signal]) for table in self.network.tables.values() if signal in table.outputs)
        return next(found, (None, None))

    def _refused(self, signal: Signal) -> tuple[UnsupportedFeature, ...]:
        return tuple(self.refused.get(signal, ()))

    def _brought(self, wire: Wire | None) -> Assignment | None:
        """Value assigned to the source of a wire."""
        if wire is None:
            return None
        given, inside = self.network.assignments, self.network.boundary_assignments
        return given.get(wire.source, inside.get(wire.source))

    def _carried(self, wire: Wire) -> Value | None:
        """Value at the source of a wire, if it is known before the run: set on a system, or a constant."""
        source = self.explanation(wire.source)
        value, fixed = source.value, source.kind in ("constant", "parameter", "structuralParameter")
        if source.source and not fixed:
            return None
        return None if value is None else wire.conversion.carry(value)

    def _signals(self, name: str) -> tuple[Signal, ...]:
        found = tuple(self._called(name))
        if found or not self.network.of_lone_fmu:
            return found
        return tuple(self._called(self.network.in_the_only_component(name)))

    def _called(self, name: str) -> Iterator[Signal]:
        for signal in reversed(tuple(self.network.called(name))):
            component = self.network.components.get(signal.component)
            if signal in self.ports or (component is not None and signal.variable in component.description.variables):
                yield signal
            yield from elements(signal, self.network.arrays[signal]) if signal in self.network.arrays else ()

    def _names(self) -> Iterator[str]:
        yield from map(str, self._everything())
        yield from map(str, self.network.arrays)

    def _everything(self) -> Iterator[Signal]:
        yield from self.ports
        for component in self.network.components.values():
            yield from (Signal(component.name, name) for name in component.description.variables)


def _cut(wire: Wire, signal: Signal) -> tuple[Wire, Wire]:
    """The parts of a wire before and after a connector through which it passes."""
    number = next(number for number, leg in enumerate(wire.legs) if leg.source == signal)
    before, after = wire.legs[:number], wire.legs[number:]
    return Wire(wire.source, signal, _composed(before), before), Wire(signal, wire.destination, _composed(after), after)


def _composed(legs: tuple[Leg, ...]) -> Conversion:
    return reduce(Conversion.then, (leg.conversion for leg in legs), IDENTITY)


NAMED = 4
"""Number of inputs in a note; the others are counted."""


class UndrivenInput(NamedTuple):
    """An input that keeps its start value.

    Attributes
    ----------
    signal
        The input, named as for inputs of a run.
    value, unit
        The start value in the system or the FMU; None without one.
    connector
        The connector to connect: of the component, or of the nested system that contains it.
    fitting
        A suitable output in the same system with equal type and unit: with the same name, otherwise the only one.
    """

    signal: Signal
    value: Value | None
    unit: str | None
    connector: Signal | None = None
    fitting: Signal | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.signal} (no start value)"
        return f"{self.signal} = {quantity(self.value, self.unit)}"


def unconnected_inputs(network: Network, driven: Collection[Signal] = ()) -> tuple[UndrivenInput, ...]:
    """Inputs of components that have no connection, and are not `driven` in a run."""
    inside = (wire.destination for wire in network.dangling if wire.source.component in network.components)
    fed = {*(wire.destination for wire in network.wires), *inside, *driven}
    entrances = {wire.destination: wire.source for wire in network.dangling}
    found: dict[Signal, UndrivenInput] = {}
    for component in network.components.values():
        for port in component.ports:
            if port.kind == "input" and port.type != "Clock" and port.signal not in fed:
                signal = whole(port.signal, network.arrays)
                at = whole(entrances.get(port.signal, port.signal), network.arrays)
                start, fitting = _start_of(network, port.signal), _fitting(network, port, at)
                found.setdefault(signal, UndrivenInput(signal, start, port.unit, at, fitting))
    return tuple(found.values())


def undriven_inputs(network: Network, driven: Collection[Signal] = ()) -> tuple[UndrivenInput, ...]:
    """Inputs of the system itself that are not `driven` in a run."""
    entering = (wire for wire in reversed(network.wires) if not wire.source.component)
    starts = {wire.source: _start_of(network, wire.destination) for wire in entering if wire.conversion == IDENTITY}
    found: dict[Signal, UndrivenInput] = {}
    for port in network.ports:
        if port.kind == "input" and port.type != "Clock" and port.signal not in driven:
            at, given = whole(port.signal, network.arrays), network.assignments.get(port.signal)
            value = starts.get(port.signal) if given is None else given.value
            found.setdefault(at, UndrivenInput(at, value, port.unit))
    return tuple(found.values())


def notes_on_inputs(network: Network, driven: Collection[Signal]) -> Iterator[str]:
    """Notes on inputs that keep their start values in a run with these `driven` inputs, with advice."""
    loose = unconnected_inputs(network, driven)
    if loose:
        fitting = next((one for one in loose if one.fitting is not None), None)
        how = "--inputs FILE.csv drives inputs"
        if fitting is not None:
            how = f"connect {'it' if len(loose) == 1 else 'e.g.'}: "
            how += f"ssptool connect SYSTEM {fitting.fitting} {fitting.connector}"
        yield f"{_not_connected(loose)}: {_named(loose)} ({how})"
    outside = undriven_inputs(network, driven)
    if outside:
        what = _counted(outside, "input of the system", "inputs of the system")
        yield f"{what} not driven and {_kept(outside)}: {_named(outside)} (--inputs FILE.csv drives inputs)"
    own_clocks = network.own_clocks
    for clock in dict.fromkeys(wire.source.variable for wire in network.wires if wire.source in own_clocks):
        yield f"the clock {clock} of the system never ticks: only importers of an exported FMU tick it (ssptool export)"


def notes_on_exported_inputs(network: Network) -> Iterator[str]:
    """Note on inputs of components that keep their start values in an exported FMU, with advice."""
    if loose := unconnected_inputs(network):
        connector, them = loose[0].connector or loose[0].signal, "it" if len(loose) == 1 else "them"
        how = "only connectors of the system become inputs"
        if "." not in connector.component:  # others are connected inside of their own system
            how += f": ssptool add SYSTEM --connector {connector.variable}"
            how += f", ssptool connect SYSTEM {connector.variable} {connector}"
        yield f"{_not_connected(loose)}, as the FMU has no input for {them}: {_named(loose)} ({how})"


def _not_connected(inputs: Sequence[UndrivenInput]) -> str:
    return f"{_counted(inputs, 'input', 'inputs')} not connected and {_kept(inputs)}"


def _counted(inputs: Sequence[UndrivenInput], one: str, many: str) -> str:
    return f"1 {one} is" if len(inputs) == 1 else f"{len(inputs)} {many} are"


def _kept(inputs: Sequence[UndrivenInput]) -> str:
    return "keeps its start value" if len(inputs) == 1 else "keep their start values"


def _named(inputs: Sequence[UndrivenInput]) -> str:
    more = f" and {len(inputs) - NAMED} more" if len(inputs) > NAMED else ""
    return ", ".join(map(str, inputs[:NAMED])) + more


def _start_of(network: Network, signal: Signal) -> Value | None:
    """The start value of an input of a component."""
    given, component = network.assignments.get(signal), network.components.get(signal.component)
    if given is not None:
        return given.value
    variable = None if component is None else component.description.variables.get(signal.variable)
    return None if variable is None else variable.start


def _fitting(network: Network, port: Port, at: Signal) -> Signal | None:
    """An output in the same system as the connector `at`."""
    level = at.component.rpartition(".")[0]
    used = {wire.source for wire in network.wires}
    beside = [
        other
        for name, component in network.components.items()
        if name.rpartition(".")[0] == level and name != port.signal.component
        for other in component.ports
        if other.kind == "output" and (other.type, other.unit) == (port.type, port.unit)
    ]
    alike = [other.signal for other in beside if other.signal.variable.lower() == at.variable.lower()]
    free = [other.signal for other in beside if other.unit is not None and other.signal not in used]
    chosen = alike or free
    return chosen[0] if len(chosen) == 1 else None
