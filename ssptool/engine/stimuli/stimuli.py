"""Resolved inputs and scenarios of a run: driven inputs, and the times of their jumps."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.engine.stimuli.time_signals import (
    Constant,
    Function,
    Interpolation,
    Overridden,
    SignalOverride,
    Table,
    TimeSignal,
    active,
)
from ssptool.errors import similar_names
from ssptool.fmu.description import Value, Variable
from ssptool.fmu.units import PhysicalUnit, named
from ssptool.network.conversion import NO_ITEMS, InvalidValue, conversion, convert, from_cell
from ssptool.network.network import Assignment, Conversion, Network, Port, Signal, TableComponent, Wire

NAMED = 5
"""Number of inputs that a message lists."""


@dataclass(frozen=True, slots=True)
class Target:
    """An input that no connection drives: of the system itself, or of a component.

    `items` are those of an enumeration; `minimum` and `maximum` is the range that the FMU allows.
    """

    signal: Signal
    type: str
    unit: str | None
    items: Mapping[str, int] = field(default_factory=dict)
    minimum: float = -math.inf
    maximum: float = math.inf
    relative: bool = False

    @property
    def name(self) -> str:
        return str(self.signal)

    @property
    def unbounded(self) -> bool:
        """True if every finite double is valid."""
        return self.type == "Float64" and self.minimum == -math.inf and self.maximum == math.inf

    def read(self, text: str) -> Value:
        """Value from a text. Raises InvalidValue."""
        return self.within(self.parsed(text))

    def parsed(self, text: str) -> Value:
        """Value from a text, without a check of its range, because it may have another unit."""
        return from_cell(self.name, text, self.type, self.items)

    def take(self, value: object) -> Value:
        """Convert a Python or numpy value to the type. Raises InvalidValue."""
        return self.within(self.typed(value))

    def typed(self, value: object) -> Value:
        """Convert a value to the type, without a check of its range, because it may have another unit."""
        if getattr(value, "shape", ()) != ():
            raise InvalidValue(self.name, value, "one value, not an array")
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, float) and plain.is_integer() and self.type not in ("Float64", "Float32", "String"):
            plain = int(plain)  # from a table of doubles
        if self.type == "Boolean" and plain in (0, 1):
            plain = bool(plain)
        if not isinstance(plain, bool | int | float | str):
            raise InvalidValue(self.name, value, "a number, a Boolean or a string")
        return convert(self.name, plain, self.type, self.items or NO_ITEMS)

    def within(self, value: Value) -> Value:
        """The value itself; raises InvalidValue if it is not finite, or out of the range of the FMU."""
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidValue(self.name, value, "a finite number")
        if isinstance(value, int | float) and not self.minimum <= value <= self.maximum:
            raise InvalidValue(self.name, value, f"a number from {self.minimum:g} to {self.maximum:g}")
        return value

    def conversion(self, unit: str, units: Mapping[str, PhysicalUnit]) -> Conversion:
        """Conversion from values in `unit` to those of the input. Raises IncompatibleUnits."""
        return conversion(named(units, unit), named(units, self.unit), self.relative)


def targets(network: Network) -> dict[str, Target]:
    """Inputs that can be driven, by full name."""
    driven = {wire.destination for wire in network.wires}
    found = {str(port.signal): _outer(network, port) for port in network.ports if port.kind == "input"}
    for component in network.components.values():
        for port in component.of_kind("input"):
            variable = component.description.variables.get(port.signal.variable)
            if port.signal not in driven and variable is not None:
                found[str(port.signal)] = of_variable(port.signal, variable)
    return found


def of_variable(signal: Signal, variable: Variable) -> Target:
    """A variable of an FMU as a target."""
    return Target(
        signal,
        variable.type,
        variable.unit,
        variable.items,
        variable.minimum,
        variable.maximum,
        variable.relative_quantity,
    )


def _outer(network: Network, port: Port) -> Target:
    """Target for an input of the system; an enumeration has the items of the input that it is connected to."""
    for wire in network.wires:
        component = network.components.get(wire.destination.component)
        if wire.source == port.signal and component is not None and port.type == "Enumeration":
            return Target(
                port.signal, port.type, port.unit, component.description.variables[wire.destination.variable].items
            )
    return Target(port.signal, port.type, port.unit)


def why_not(network: Network, name: str, known: Mapping[str, Target]) -> str:
    """Reason why an input of this name does not exist or cannot be driven."""
    for wire in network.wires:
        if str(wire.destination) == name:
            return f"it is connected: {wire.source} drives it"
    ports = [*network.ports, *(port for component in network.components.values() for port in component.ports)]
    for port in ports:
        if str(port.signal) == name:
            return f"it is of kind {port.kind}; only inputs can be driven"
    near = similar_names(name, tuple(known))
    if near:
        hint = f"; did you mean {' or '.join(near)}?"
    else:
        hint = f"; its free inputs are {', '.join(list(known)[:NAMED])}" if known else "; all its inputs are connected"
    return f"the system has no input of this name{hint}"


def known_units(network: Network, more: Mapping[str, PhysicalUnit]) -> dict[str, PhysicalUnit]:
    """Units that the system defines: those of its documents, then those of its FMUs."""
    found = dict(more)
    for component in network.components.values():
        for name, unit in component.description.units.items():
            if name not in found or found[name].exponents is None:
                found[name] = unit
    return found


@dataclass(frozen=True, slots=True)
class InputSource:
    """Source of an input: its signal over time, in the unit and type of the input, and text for its origin.

    `file` is the file that it comes from, if there is one, and `note` a note on skipped parts of the file. `table` is
    the component whose output it is; its first value is held before its first row.
    """

    signal: Signal
    time_signal: TimeSignal
    origin: str
    file: Path | None = None
    table: TableComponent | None = None
    note: str = ""


class ConnectionOverride(NamedTuple):
    """Overrides of a connection by a scenario, at its source and at its destination."""

    source: Signal
    destination: Signal
    conversion: Conversion
    at_source: tuple[SignalOverride, ...]
    at_destination: tuple[SignalOverride, ...]


class ParameterChange(NamedTuple):
    """Overrides of a tunable parameter by a scenario; `base` is its value otherwise."""

    signal: Signal
    base: Value
    overrides: tuple[SignalOverride, ...]


@dataclass(frozen=True, slots=True)
class Stimuli:
    """Input sources, overridden connections and parameter changes of a run.

    `events` are texts for the events of the scenario, `files` are all files that were read.
    """

    sources: tuple[InputSource, ...] = ()
    connections: tuple[ConnectionOverride, ...] = ()
    parameter_changes: tuple[ParameterChange, ...] = ()
    events: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sources or self.connections or self.parameter_changes)

    @property
    def jumps(self) -> tuple[float, ...]:
        """Times [s] at which a signal or parameter jumps, ascending."""
        return tuple(sorted(set(self._jumps())))

    @property
    def actions(self) -> tuple[float, ...]:
        """Times [s] at which a scenario acts."""
        return tuple(self._actions())

    def _jumps(self) -> Iterator[float]:
        for source in self.sources:
            yield from source.time_signal.jumps
        yield from self._actions()

    def _actions(self) -> Iterator[float]:
        for source in self.sources:
            if isinstance(source.time_signal, Overridden):
                yield from (one.time for one in source.time_signal.overrides)
        for connection in self.connections:
            yield from (one.time for one in (*connection.at_source, *connection.at_destination))
        for parameter in self.parameter_changes:
            yield from (one.time for one in parameter.overrides)

    def fingerprint(self) -> list[str]:
        """Strings that are equal for equal stimuli; functions are compared only by their settings."""
        time_signals = [f"{one.signal}: {_digest(one.time_signal)}" for one in self.sources]
        return [*time_signals, *map(_digest, self.connections), *map(_digest, self.parameter_changes)]

    def check_start(self, start: float) -> None:
        """Check that there are values from the start time [s] on.

        Raises
        ------
        BadData
        """
        findings = [
            DataFinding(
                source.origin,
                0,
                str(source.signal),
                f"its first value is at t = {source.time_signal.first:g} s, and the run starts at {start:g} s; "
                "add a row for the start time, or start later (--start-time)",
            )
            for source in self.sources
            if source.time_signal.first > start and source.table is None
        ]
        if findings:
            raise BadData("the inputs", findings)


def of_tables(network: Network) -> tuple[InputSource, ...]:
    """Outputs of table components."""
    return tuple(
        InputSource(
            signal,
            Table(output.times, output.values, Interpolation.LINEAR if output.linear else Interpolation.HOLD),
            f"{table.source}, column {output.column} ({'linear' if output.linear else 'held'})",
            table=table,
        )
        for table in network.tables.values()
        for signal, output in table.outputs.items()
    )


def notes_on_sources(stimuli: Stimuli, start: float, stop: float) -> Iterator[str]:
    """Notes on skipped parts of files, and on tables that do not cover the run from start to stop [s]."""
    yield from dict.fromkeys(source.note for source in stimuli.sources if source.note)
    told: set[str] = set()
    for source in stimuli.sources:
        base = source.time_signal.base if isinstance(source.time_signal, Overridden) else source.time_signal
        if source.table is None or not isinstance(base, Table) or source.table.name in told:
            continue
        told.add(source.table.name)
        first, last = base.times[0], base.times[-1]
        held = [f"first values are held until {first:g} s"] * (start < first)
        held += [f"last values are held from {last:g} s on"] * (stop > last)
        if held:
            rows = f"{source.table.source} has rows from {first:g} s to {last:g} s"
            yield f"{source.table.name}: {rows}; its {' and its '.join(held)}"


def _digest(stimulus: TimeSignal | ConnectionOverride | ParameterChange) -> str:
    match stimulus:
        case Overridden(base, overrides):
            return f"{_digest(base)}, {overrides}"
        case Function(steps=steps, interpolation=how):
            return f"a function, {steps}, {how}"
        case _:
            return hashlib.sha256(repr(stimulus).encode()).hexdigest()


NO_STIMULI = Stimuli()


def source_signal(signal: Signal) -> Signal:
    """Signal with the values of an input source: an input of the system itself; otherwise a hidden input of the system
    that is wired to the input.
    """
    return signal if not signal.component else Signal("", f"{signal} (driven)")


def extended(network: Network, stimuli: Stimuli, start: float) -> Network:
    """The network with a hidden input of the system, and a wire, for each driven input of a component; and with the
    parameter values at the start time [s].
    """
    inside = [one.signal for one in stimuli.sources if one.signal.component]
    if not inside and not stimuli.parameter_changes:
        return network
    ports = {port.signal: port for component in network.components.values() for port in component.ports}
    more = tuple(ports[signal]._replace(signal=source_signal(signal)) for signal in inside)
    wires = tuple(Wire(source_signal(signal), signal) for signal in inside)
    assignments = dict(network.assignments)
    for parameter in stimuli.parameter_changes:
        if change := active(parameter.overrides, start):
            assignments[parameter.signal] = Assignment(parameter.signal, change(parameter.base), None, ())
    return replace(network, ports=(*network.ports, *more), wires=(*network.wires, *wires), assignments=assignments)


def start_constant(network: Network, signal: Signal) -> Constant | None:
    """Start value of an undriven input of a component, if the system or its FMU states one."""
    if signal in network.assignments:
        return Constant(network.assignments[signal].value)
    component = network.components.get(signal.component)
    start = component.description.variables[signal.variable].start if component else None
    return None if start is None else Constant(start)


SAME_TIME = 1e-12
"""Relative distance below which jumps count as one, such as 0.3 and 0.1 + 0.2."""


class Boundary(NamedTuple):
    """An instant [s] of one or several jumps, with the earliest and the latest of their times."""

    first: float
    last: float


def boundaries(jumps: Iterable[float], start: float, stop: float) -> tuple[Boundary, ...]:
    """Boundaries between segments: jumps after the start and not after the stop [s], in order. Jumps at the start count
    as done.
    """
    found: list[Boundary] = []
    for time in sorted(jumps):
        if same_time(time, start) or not start < time or (time > stop and not same_time(time, stop)):
            continue
        if found and same_time(found[-1].first, time):
            found[-1] = Boundary(found[-1].first, time)
        else:
            found.append(Boundary(time, time))
    return tuple(found)


def same_time(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=SAME_TIME, abs_tol=SAME_TIME)
