"""Variables of an exported system for its own connectors: types, ranges, start values and targets."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from ssptool.documents.ssd import SystemStructureDescription
from ssptool.engine.assembly.applied_stimuli import why_not
from ssptool.engine.planning.events import CLOCK
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import slot_sources
from ssptool.engine.run.freeze import root_starts
from ssptool.engine.run.frozen_variables import numbered_parts, part_variable
from ssptool.exporting.clocks import at_events_only, ends_of_connectors, own_clock
from ssptool.exporting.interface import ExportedVariable, PartTarget, merged, variability_of
from ssptool.fmu.description import Causality, Variability
from ssptool.network.arrays import whole
from ssptool.network.conversion import items_of
from ssptool.network.network import Port, Signal, Wire


def own_variables(plan: Plan, fmi: int) -> Iterator[ExportedVariable]:
    """Variables of system connectors that are not driven by tables. FMI 3.0 has arrays, FMI 2.0 their elements. An
    array with differently connected elements may also be represented by its elements.
    """
    connectors = _Connectors(plan)
    arrays = plan.network.arrays if fmi == 3 else {}
    driven = {plan.signals[one.slot] for one in slot_sources(plan)}
    free = [port for port in plan.network.ports if port.signal not in driven]
    for signal, ports in groupby(free, lambda port: whole(port.signal, arrays)):
        every = tuple(ports)
        found = connectors.variable(signal, every)
        if found is not None:
            yield found
        elif signal in arrays:
            alone = (connectors.variable(port.signal, (port,)) for port in every)
            yield from (one for one in alone if one is not None)


def with_enumerations(
    variables: Sequence[ExportedVariable], root: SystemStructureDescription
) -> tuple[ExportedVariable, ...]:
    """Variables with enumeration items that the document states for connectors of the system, if no FMU states any."""
    stated = {one.name: tuple(items_of(one, root.enumerations).items()) for one in root.system.connectors}
    return tuple(
        replace(one, items=stated.get(one.name, ()))
        if one.type == "Enumeration" and not one.items and not one.signal.component
        else one
        for one in variables
    )


class _Connectors:
    """Connectors of the system, and their connected variables."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._parts = numbered_parts(plan)
        self._slots = {signal: slot for slot, signal in enumerate(plan.signals)}
        self._starts = root_starts(plan)
        self._every_end = ends_of_connectors(plan)
        self._leaving: dict[Signal, list[Wire]] = defaultdict(list)
        self._arriving: dict[Signal, Wire] = {}
        for wire in (*plan.network.wires, *plan.network.dangling):
            if not wire.source.component and wire.destination.component in self._parts:
                self._leaving[wire.source].append(wire)
            if not wire.destination.component and wire.source.component in self._parts:
                self._arriving[wire.destination] = wire

    def variable(self, signal: Signal, ports: Sequence[Port]) -> ExportedVariable | None:
        """Variable of a connector with a port for each element; None if there is no value that applies to all
        elements.
        """
        kind = ports[0].kind
        if ports[0].type == CLOCK:
            return own_clock(self._plan, ports[0])
        if kind in ("input", "output"):
            return self._signal(signal, ports)
        if kind == "parameter":
            return self._parameter(signal, ports)
        return self._calculated(signal, ports) if kind == "calculatedParameter" else None

    def _signal(self, signal: Signal, ports: Sequence[Port]) -> ExportedVariable | None:
        if any(port.signal not in self._slots for port in ports):
            return None
        own = tuple(self._slots[port.signal] for port in ports)
        ranges = {self._range(port.signal) for port in ports}
        low, high = ranges.pop() if len(ranges) == 1 else (-math.inf, math.inf)
        at_events = all(at_events_only(self._plan, self._every_end.get(port.signal, ())) for port in ports)
        return replace(
            self._described(signal, ports),
            causality=Causality(ports[0].kind),
            variability=Variability.DISCRETE if at_events else variability_of(ports[0].type),
            starts=tuple(self._starts[slot] for slot in own) if ports[0].kind == "input" else (),
            nominal=self._nominal(ports[0].signal),
            minimum=low,
            maximum=high,
            slots=own,
        )

    def _parameter(self, signal: Signal, ports: Sequence[Port]) -> ExportedVariable | None:
        """A parameter that is connected to parameters of components, which already have its value."""
        wires = [(place, wire) for place, port in enumerate(ports) for wire in self._leaving[port.signal]]
        given = [self._plan.network.assignments.get(port.signal) for port in ports]
        starts = tuple(one.value for one in given if one is not None)
        if len({place for place, _ in wires}) < len(ports) or len(starts) < len(ports):
            return None
        targets = [
            PartTarget(part_variable(self._parts, wire.destination), wire.conversion, (place,)) for place, wire in wires
        ]
        tunable = all(self._is_tunable(wire.destination) for _, wire in wires)
        return replace(
            self._described(signal, ports),
            causality=Causality.PARAMETER,
            variability=Variability.TUNABLE if tunable else Variability.FIXED,
            starts=starts,
            targets=merged(targets, len(ports)),
        )

    def _is_tunable(self, signal: Signal) -> bool:
        """True if a parameter of a component may change during a run."""
        plan = self._plan
        tunable = plan.network.variable(signal).variability is Variability.TUNABLE
        return tunable and not why_not(plan.network, plan.parameter_wires, signal)

    def _calculated(self, signal: Signal, ports: Sequence[Port]) -> ExportedVariable | None:
        """A parameter that a component calculates."""
        if any(port.signal not in self._arriving for port in ports):
            return None
        wires = [self._arriving[port.signal] for port in ports]
        targets = merged(
            (
                PartTarget(part_variable(self._parts, wire.source), wire.conversion, (place,))
                for place, wire in enumerate(wires)
            ),
            len(ports),
        )
        if len(targets) > 1:
            return None
        tunable = all(self._plan.network.variable(wire.source).variability is Variability.TUNABLE for wire in wires)
        return replace(
            self._described(signal, ports),
            causality=Causality.CALCULATED_PARAMETER,
            variability=Variability.TUNABLE if tunable else Variability.FIXED,
            targets=targets,
        )

    def _described(self, signal: Signal, ports: Sequence[Port]) -> ExportedVariable:
        """Variable with the properties of the connector, and those of the connected variables of FMUs."""
        variables = [self._plan.network.variable(end) for end, _, _ in self._ends(ports[0].signal)]
        return ExportedVariable(
            name=signal.variable,
            signal=signal,
            type=ports[0].type,
            causality=Causality.LOCAL,
            variability=Variability.FIXED,
            unit=ports[0].unit,
            description=ports[0].description,
            shape=self._plan.network.arrays.get(signal, ()),
            items=next((tuple(one.items.items()) for one in variables if one.items), ()),
            mime_type=next((one.mime_type for one in variables if one.mime_type), None),
        )

    def _ends(self, signal: Signal) -> Iterator[tuple[Signal, Wire, bool]]:
        """Variables of components at the other ends of wires; and true if the wire starts there."""
        for wire in self._leaving.get(signal, ()):
            yield wire.destination, wire, False
        if signal in self._arriving:
            yield self._arriving[signal].source, self._arriving[signal], True

    def _nominal(self, signal: Signal) -> float:
        """Nominal value of the variable at the other end, in the connector's own unit."""
        for end, wire, from_there in self._ends(signal):
            if factor := abs(wire.conversion.factor):
                nominal = self._plan.network.variable(end).nominal
                return nominal * factor if from_there else nominal / factor
        return 1.0

    def _range(self, signal: Signal) -> tuple[float, float]:
        """Minimum and maximum: those of the source variable, or those valid for all destinations."""
        low, high = -math.inf, math.inf
        for end, wire, from_there in self._ends(signal):
            conversion = wire.conversion
            if conversion.table or not conversion.factor:
                continue
            variable = self._plan.network.variable(end)
            ends = [
                conversion(one) if from_there else (one - conversion.offset) / conversion.factor
                for one in (variable.minimum, variable.maximum)
            ]
            low, high = max(low, min(ends)), min(high, max(ends))
        return (low, high) if low <= high else (-math.inf, math.inf)
