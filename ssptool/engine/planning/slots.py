"""Slots of a run: its signals by name, and their start values."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import overload

from ssptool.engine.kernel.calls import ACCESS, FLOAT
from ssptool.engine.kernel.slot_values import NOTHING
from ssptool.engine.masters.registry import capabilities
from ssptool.engine.planning.events import CLOCK, EventModes, clock_signals
from ssptool.engine.planning.plan import PlannedInstance, PlannedWire
from ssptool.engine.stimuli.stimuli import Stimuli, source_signal
from ssptool.engine.trace import Column, holds_integer
from ssptool.errors import abbreviated
from ssptool.fmu.description import Causality, InterfaceType, Value, Variability, Variable
from ssptool.many_values import made
from ssptool.network.arrays import whole, wholes
from ssptool.network.network import IDENTITY, Network, Port, Signal, Unmatched, Wire


class SlotTable:
    """Slots: all inputs and outputs of components and of the system whose types are supported, in document order."""

    def __init__(
        self,
        network: Network,
        implementations: Mapping[str, InterfaceType],
        stimuli: Stimuli,
        events: EventModes,
    ) -> None:
        self.network = network
        self.events = events
        self.flow = events.between_events(network)
        outputs = events.outputs | clock_signals(network)
        self.still = outputs | {whole(signal, network.arrays) for signal in outputs}  # constant between events
        self.at_events = events.inputs | outputs
        self.implementations = implementations
        self.stimuli = stimuli
        self.input_sources = {source_signal(source.signal): source for source in stimuli.sources}
        ports = [_carried(network.ports, ACCESS[3])]
        # The variable of each slot; None for slots of the system itself.
        self.variables: list[Variable | None] = [None] * len(ports[0])
        for name, component in network.components.items():
            carried = set(ACCESS.get(component.description.fmi_major, ())) - {CLOCK}
            ports.append(_carried(component.ports, carried | {CLOCK} if name in events.members else carried))
            variables = component.description.variables
            self.variables += [variables[port.signal.variable] for port in ports[-1]]
        self._of_component = dict(zip(network.components, ports[1:], strict=True))
        self.ports = tuple(chain.from_iterable(ports))
        self.signals = tuple([port.signal for port in self.ports])
        self.types = tuple(map(_exchanged_as, self.ports))
        # A driven input of a component is recorded itself, not its source.
        hidden = {signal for signal, source in self.input_sources.items() if signal != source.signal}
        hidden |= {port.signal for one in network.components.values() if one.delays for port in one.ports}
        self.recorded = tuple([slot for slot, signal in enumerate(self.signals) if signal not in hidden])
        self.slots = {signal: slot for slot, signal in enumerate(self.signals)}
        self.whole = {signal: array for signal, array in wholes(network).items() if signal in self.slots}
        self.arrays: dict[Signal, list[int]] = defaultdict(list)
        for signal, array in self.whole.items():
            self.arrays[array].append(self.slots[signal])
        self.sources = {wire.destination: wire for wire in self.flow.wires}
        self.nominal = tuple([1.0 if variable is None else variable.nominal for variable in self.variables])
        known = chain.from_iterable(one.variables.values() for one in network.descriptions)
        self._held = {id(variable) for variable in known if variable.is_held}
        self.starts: dict[str, dict[str, Value]] = defaultdict(dict)
        self.structure: dict[str, dict[str, Value]] = defaultdict(dict)
        for signal, given in network.assignments.items():
            kind = self.structure if _is_structural(network, signal) else self.starts
            kind[signal.component][signal.variable] = given.value

    def slots_of(self, signal: Signal) -> tuple[int, ...]:
        """Slots of a scalar, or of all elements of an array; none if it is not exchanged."""
        slot = self.slots.get(signal)
        return tuple(self.arrays.get(signal, ())) if slot is None else (slot,)

    def of_components(self, signals: Iterable[Signal]) -> list[tuple[int, ...]]:
        """The slots of each signal; empty for signals of the system itself."""
        if self.arrays:
            return [self.slots_of(signal) if signal.component else () for signal in signals]
        slots = self.slots
        return [(slots[signal],) if signal in slots and signal.component else () for signal in signals]

    def kind(self, signal: Signal) -> str:
        """The type of a scalar, an element or an array."""
        return self.types[self.slots[signal] if signal in self.slots else self.arrays[signal][0]]

    def instance(self, name: str) -> PlannedInstance:
        component, slots, sources = self.network.components[name], self.slots, self.sources
        ports = self._of_component[name]
        if self.at_events:
            ports = [port for port in ports if port.signal not in self.at_events]
        inputs = tuple([port.signal for port in ports if port.kind == "input"])
        outputs = tuple([port.signal for port in ports if port.kind == "output"])
        fed = [signal for signal in inputs if signal in sources]
        wired = tuple([signal.variable for signal in fed if self.types[slots[signal]] == FLOAT])
        jumps = len(wired) < len(fed) or (
            bool(self._held) and any(self._is_held(slots[sources[signal].source]) for signal in fed)
        )
        return PlannedInstance(
            name=name,
            source=component.source,
            description=component.description,
            inputs=inputs,
            outputs=outputs,
            input_slots=tuple([slots[signal] for signal in inputs]),
            output_slots=tuple([slots[signal] for signal in outputs]),
            starts=MappingProxyType(self.starts[name]),
            wired=wired,
            capabilities=capabilities(component, wired, self.implementations[name], jumps=jumps),
            interface=self.implementations[name],
            structure=MappingProxyType(self.structure[name]),
        )

    def _is_held(self, slot: int) -> bool:
        """True if a signal is an output of a component and changes only at events."""
        return id(self.variables[slot]) in self._held

    def feeds(self, instance: PlannedInstance) -> bool:
        """True if a wire ends at the instance."""
        return any(signal in self.sources for signal in instance.inputs)

    def wires(self) -> tuple[PlannedWire, ...]:
        return tuple(map(self._wire, self.flow.wires))

    def _wire(self, wire: Wire) -> PlannedWire:
        source, destination, conversion = self.slots[wire.source], self.slots[wire.destination], wire.conversion
        variable, discrete = self.variables[destination], self._is_held(source)
        if variable is None or self.types[destination] != FLOAT:
            return PlannedWire(source, destination, conversion, discrete)
        return made(PlannedWire, (source, destination, conversion, discrete, variable.minimum, variable.maximum))

    def constants(self) -> dict[int, Value]:
        """Values of inputs of the system that nothing drives: their start values, or those of their destinations."""
        inputs = [port.signal for port in self.network.ports if port.signal in self.slots and port.kind == "input"]
        found = {signal: self._value(signal) for signal in inputs}
        for wire in self.network.wires:
            if wire.source in found and found[wire.source] is None:
                found[wire.source] = self._there(wire)
        known = {self.slots[signal]: value for signal, value in found.items()}
        return {slot: self._nothing(slot) if value is None else value for slot, value in known.items()}

    def driven(self, start: float) -> dict[int, Value]:
        """Values of input sources at the start time [s]."""
        return {self.slots[signal]: source.time_signal.after(start) for signal, source in self.input_sources.items()}

    def _there(self, wire: Wire) -> Value | None:
        """Value of the source of a wire, from a given or declared start value of its destination."""
        if holds_integer(self.kind(wire.source)):
            # A table cannot be inverted.
            known = None if wire.conversion.table else self._value(wire.destination)
            return known if known is not None or wire.conversion.table else self._start(wire.destination)
        return self._back(wire, self._given(wire.destination) or self._stated(wire.destination))

    def _nothing(self, slot: int) -> Value:
        return NOTHING.get(self.types[slot], 0)

    def _value(self, signal: Signal) -> Value | None:
        assignment = self.network.assignments.get(signal)
        return None if assignment is None else assignment.value

    def guesses(self) -> dict[int, Value]:
        """First guesses of source slots: the start values of connected inputs, converted to their sources, or start
        values that are given for the sources. If several inputs have one, the last counts.
        """
        found: dict[int, Value] = {}
        value: Value | None
        given = self.network.assignments
        for wire in self.flow.wires:
            if wire.source in given:
                found[self.slots[wire.source]] = given[wire.source].value
        for wire in self.flow.wires:
            if wire.destination not in given or wire.source in self.input_sources:
                continue
            if not holds_integer(self.kind(wire.source)):
                value = self._back(wire, self._given(wire.destination))
            else:
                value = None if wire.conversion.table else self._value(wire.destination)
            if value is not None:
                found[self.slots[wire.source]] = value
        return found

    def _back(self, wire: Wire, value: float | None) -> float | None:
        """Value of the source of a wire that gives its destination this `value`."""
        conversion = wire.conversion
        return None if value is None or not conversion.factor else (value - conversion.offset) / conversion.factor

    def _stated(self, signal: Signal) -> float | None:
        start = self._start(signal)
        return None if start is None else float(start)

    def _start(self, signal: Signal) -> Value | None:
        """Start value in the FMU."""
        component = self.network.components.get(signal.component)
        return component.description.variables[signal.variable].start if component else None

    def _given(self, signal: Signal) -> float | None:
        assignment = self.network.assignments.get(signal)
        return None if assignment is None else float(assignment.value)

    def column(self, port: Port) -> Column:
        component = self.network.components.get(port.signal.component)
        known = component.description.variables.get(port.signal.variable) if component else None
        events = known is not None and known.variability is not Variability.CONTINUOUS
        kind = _exchanged_as(port)
        discrete = events and not holds_integer(kind)
        wire = self.sources.get(port.signal)
        source = "" if wire is None or wire.conversion != IDENTITY else str(wire.source)
        of_fmu = known if known is not None and known.unit == port.unit else None
        relative, display = (False, None) if of_fmu is None else (of_fmu.relative_quantity, of_fmu.display)
        return Column(
            str(port.signal),
            port.unit,
            kind,
            port.description,
            discrete,
            source,
            port.signal.alias,
            relative=relative,
            display=display,
        )

    def notes(self) -> Iterable[str]:
        if missed := self.network.unmatched:
            yield _without_effect(missed)
        for name, component in self.network.components.items():
            if len(self._of_component[name]) == len(component.ports):
                continue
            others = [
                str(port.signal)
                for port in component.ports
                if port.kind in ("input", "output") and port.signal not in self.slots and port.type != CLOCK
            ]
            if others:
                unsupported = "neither exchanged nor recorded, because signals of their types are not supported"
                yield f"{unsupported}: {', '.join(others)}"


class LaterColumns(Sequence[Column]):
    """Columns of all recorded slots, created at first use: a plan that is only printed needs none."""

    def __init__(self, table: SlotTable) -> None:
        self._count = len(table.recorded)
        self._table: SlotTable | None = table
        self._made: tuple[Column, ...] = ()

    @property
    def _columns(self) -> tuple[Column, ...]:
        if (table := self._table) is not None:
            self._made = tuple(table.column(table.ports[slot]) for slot in table.recorded)
            self._table = None
        return self._made

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Column: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Column]: ...
    def __getitem__(self, index: int | slice) -> Column | Sequence[Column]:
        return self._columns[index]

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    def __repr__(self) -> str:
        return repr(self._columns)

    def __eq__(self, other: object) -> bool:
        return self._columns == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._columns)

    def __reduce__(self) -> tuple[type[tuple[Column, ...]], tuple[tuple[Column, ...]]]:
        """Send the columns to another process as they are."""
        return tuple, (self._columns,)


def _without_effect(missed: Sequence[Unmatched]) -> str:
    """Line on parameters that match no variable, with similar names for the first of them."""
    first, *others = missed
    near = f"; did you mean {', '.join(first.near)}?" if first.near else ""
    if not others:
        return f"{first.position}: parameter {first.name} matches no variable and has no effect{near}"
    names = abbreviated([one.name for one in missed])
    return f"{first.position}: {len(missed)} parameters match no variable and have no effect: {names}{near}"


def _carried(ports: Iterable[Port], types: Collection[str]) -> list[Port]:
    """Inputs and outputs of these types."""
    return [port for port in ports if port.kind in ("input", "output") and port.type in types]


def _exchanged_as(port: Port) -> str:
    """Type of the exchanged signal; for a clock, the type of its tick."""
    return "Boolean" if port.type == CLOCK else port.type


def _is_structural(network: Network, signal: Signal) -> bool:
    component = network.components.get(signal.component)
    variable = component.description.variables.get(signal.variable) if component else None
    return variable is not None and variable.causality is Causality.STRUCTURAL_PARAMETER
