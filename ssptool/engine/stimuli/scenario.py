"""Scenarios: override, bias or reset a variable at a time."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from ssptool.arguments import seconds
from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.engine.stimuli.stimuli import (
    ConnectionOverride,
    InputSource,
    ParameterChange,
    Stimuli,
    Target,
    of_variable,
    start_constant,
    targets,
)
from ssptool.engine.stimuli.time_signals import Action, Constant, Overridden, SignalOverride
from ssptool.errors import WrongValue, in_other_case, similar_names
from ssptool.fmu.description import Causality, Variability
from ssptool.network.conversion import InvalidValue, is_number
from ssptool.network.network import Network, Port, Signal
from ssptool.option_words import ActionWord
from ssptool.public_calls import public

Scalar: TypeAlias = float | int | bool | str


@public
@dataclass(frozen=True, slots=True)
class Event:
    """Event of a scenario: at `time` [s] after the start of the run, an action on a variable, by its full name.

    Attributes
    ----------
    variable
        `Vehicle.speed`; an input of the system has no dot.
    value
        New value, or the bias to add; unused for a reset.
    line
        Line in the file; 0: the event does not come from a file.
    """

    time: float
    variable: str
    action: Action | ActionWord
    value: Scalar | None = None
    line: int = 0

    def __post_init__(self) -> None:
        """Convert text to an action, and reject invalid values."""
        if self.action not in list(Action):
            raise WrongValue(f"action must be one of {', '.join(Action)}; found {self.action!r}")
        object.__setattr__(self, "action", Action(self.action))
        object.__setattr__(self, "time", seconds("time", self.time))
        if not 0 <= self.time < math.inf:
            raise WrongValue(f"an event must have a time that is not negative, found {self.time!r} s")
        if self.value is None and self.action is not Action.RESET:
            raise WrongValue(f"{self.action} of {self.variable} needs a value")

    def __str__(self) -> str:
        value = "" if self.value is None else f" {'with' if self.action is Action.OVERRIDE else 'by'} {self.value!r}"
        return f"{self.action} {self.variable}{value}"


@public
@dataclass(frozen=True, slots=True)
class Scenario:
    """Events, in any order. If `end` [s] is given, all variables are reset at this time after the start."""

    events: tuple[Event, ...]
    end: float | None = None
    source: str = "scenario"

    @property
    def file(self) -> Path | None:
        return Path(self.source) if any(event.line for event in self.events) else None


def by_variable(scenario: Scenario) -> Iterator[tuple[str, tuple[Event, ...]]]:
    """Variables with their events in the order of time; events at the same time keep the order of the list."""
    found: dict[str, list[Event]] = {}
    for event in sorted(scenario.events, key=lambda event: event.time):
        found.setdefault(event.variable, []).append(event)
    for name, events in found.items():
        yield name, tuple(events)


def resolve_scenario(scenario: Scenario, network: Network, sources: tuple[InputSource, ...], start: float) -> Stimuli:
    """The stimuli of a run that starts at `start` [s]: driven inputs with the changes of the scenario.

    Raises
    ------
    BadData
        The scenario is wrong; the error lists all findings.
    """
    resolution = _Resolution(scenario, network, sources, start)
    for name, events in by_variable(scenario):
        resolution.add(name, events)
    if resolution.findings:
        raise BadData("the scenario", resolution.findings)
    return resolution.stimuli()


class _Resolution:
    """Events sorted by their targets: unconnected inputs, connected inputs, outputs and parameters."""

    def __init__(self, scenario: Scenario, network: Network, sources: tuple[InputSource, ...], start: float) -> None:
        self.scenario = scenario
        self.network = network
        self.start = start
        self.findings: list[DataFinding] = []
        self.sources = {one.signal: one for one in sources}
        self.free = {target.signal: target for target in targets(network).values()}
        self.at_source: dict[Signal, tuple[SignalOverride, ...]] = {}
        self.at_destination: dict[Signal, tuple[SignalOverride, ...]] = {}
        self.parameter_changes: list[ParameterChange] = []
        every = [*network.ports, *(port for component in network.components.values() for port in component.ports)]
        self.ports = {str(port.signal): port for port in every}
        self.connected = {wire.destination for wire in network.wires}

    def add(self, name: str, events: tuple[Event, ...]) -> None:
        only = self.network.in_the_only_component(name)
        port = self.ports.get(name) or self.ports.get(only)
        signal = port.signal if port is not None else self._variable(name)
        if signal is None:
            own = in_other_case(name, self._names()) or in_other_case(only, self._names())
            if own not in (None, name):
                self.add(own, events)
                return
        if signal is None:
            near = similar_names(name, tuple(self._names()))
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            self._refuse(events, f"the system has no such variable{hint}")
        elif signal in self.free:
            self._free_input(self.free[signal], events)
        elif port is not None and port.kind == "output" and not port.signal.component:
            self._refuse(events, "it is an output of the system, which nothing in the system reads; name its source")
        elif port is not None and port.kind in ("input", "output"):
            self._connected(port, events)
        else:
            self._parameter(signal, events)

    def stimuli(self) -> Stimuli:
        connections = tuple(
            ConnectionOverride(
                wire.source,
                wire.destination,
                wire.conversion,
                self.at_source.get(wire.source, ()),
                self.at_destination.get(wire.destination, ()),
            )
            for wire in self.network.wires
            if wire.source in self.at_source or wire.destination in self.at_destination
        )
        lines = [f"t = {self.start + event.time:g} s: {event}" for event in sorted(self.scenario.events, key=_time)]
        if self.scenario.end is not None:
            lines.append(f"t = {self.start + self.scenario.end:g} s: reset all")
        return Stimuli(tuple(self.sources.values()), connections, tuple(self.parameter_changes), tuple(lines))

    # -- by kind ---------------------------------------------------------------------------------------------

    def _free_input(self, target: Target, events: tuple[Event, ...]) -> None:
        base = self.sources.get(target.signal)
        if base is None:
            time_signal = start_constant(self.network, target.signal)
            if time_signal is None:
                time_signal = Constant(_NEUTRAL.get(target.type, 0))
                if not target.signal.component:
                    time_signal = _outer(self.network, target.signal) or time_signal
            base = InputSource(target.signal, time_signal, f"its value at the start, {time_signal.value!r}")
        overridden = Overridden(base.time_signal, self._overrides(target, events))
        self.sources[target.signal] = replace(
            base, time_signal=overridden, origin=f"{base.origin}; changed by the scenario"
        )

    def _connected(self, port: Port, events: tuple[Event, ...]) -> None:
        changes = self._overrides(of_variable(port.signal, self.network.variable(port.signal)), events)
        if port.kind == "input":
            self.at_destination[port.signal] = changes
        elif any(wire.source == port.signal for wire in self.network.wires):
            self.at_source[port.signal] = changes
        else:
            self._refuse(events, "nothing is connected to this output, so nothing would change")

    def _parameter(self, signal: Signal, events: tuple[Event, ...]) -> None:
        variable = self.network.variable(signal)
        if variable.causality is not Causality.PARAMETER or variable.variability is not Variability.TUNABLE:
            self._refuse(
                events,
                f"it is a {variable.variability} {variable.causality}; only inputs, connected outputs and tunable "
                "parameters can be changed",
            )
        else:
            base = start_constant(self.network, signal)
            neutral = _NEUTRAL.get(variable.type, 0)
            changes = self._overrides(of_variable(signal, variable), events)
            self.parameter_changes.append(ParameterChange(signal, neutral if base is None else base.value, changes))

    # --------------------------------------------------------------------------------------------------------

    def _overrides(self, target: Target, events: tuple[Event, ...]) -> tuple[SignalOverride, ...]:
        """Overrides of a variable, including the reset at the end of the scenario, in times of the run."""
        found = []
        unbounded = replace(target, minimum=-math.inf, maximum=math.inf)
        for event in events:
            if event.action is Action.RESET:
                found.append(SignalOverride(self.start + event.time, Action.RESET))
                continue
            if event.action is Action.BIAS and not is_number(target.type):
                self._refuse((event,), f"a {target.type} cannot be biased; override it")
                continue
            taker = unbounded if event.action is Action.BIAS else target
            try:
                found.append(SignalOverride(self.start + event.time, Action(event.action), taker.take(event.value)))
            except InvalidValue as error:
                self._refuse((event,), f"found {error.found!r}, expected {error.expected}")
        if self.scenario.end is not None:
            found.append(SignalOverride(self.start + self.scenario.end, Action.RESET))
        return tuple(found)

    def _variable(self, name: str) -> Signal | None:
        for signal in self.network.readings(name):
            component = self.network.components.get(signal.component)
            if component is not None and signal.variable in component.description.variables:
                return signal
        return None

    def _names(self) -> Iterable[str]:
        yield from self.ports
        for component in self.network.components.values():
            fmu = component.description
            for variable in (fmu.whole or fmu.variables).values():
                if variable.variability is Variability.TUNABLE:
                    yield str(Signal(component.name, variable.name))

    def _refuse(self, events: Iterable[Event], message: str) -> None:
        for event in events:
            self.findings.append(DataFinding(self.scenario.source, event.line, event.variable, message))


_NEUTRAL: Mapping[str, float | str | bool] = {"String": "", "Boolean": False, "Float64": 0.0, "Float32": 0.0}


def _outer(network: Network, signal: Signal) -> Constant | None:
    """Start value of an input of the system; if it states none, that of the first input that it is connected to."""
    for wire in network.wires:
        if wire.source == signal and (there := start_constant(network, wire.destination)) is not None:
            value, conversion = there.value, wire.conversion
            if isinstance(value, float) and conversion.factor and not conversion.table:
                return Constant((value - conversion.offset) / conversion.factor)
            if not conversion.table:
                return there
    return None


def _time(event: Event) -> float:
    return event.time
