"""Applied stimuli: inputs, overrides and parameter changes during a run; propagation of connected parameters."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ssptool.engine.assembly.running_events import EventOverrides
from ssptool.engine.failure import Ending, Failure, IntegrationStopped, Unsupported
from ssptool.engine.kernel.interface import OK, Call, Instruction, Kernel, Op, Outcome, OverriddenWire, write_slot
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import SlotSources, slot_override, slot_sources
from ssptool.engine.stimuli.stimuli import boundaries, same_time
from ssptool.engine.stimuli.time_signals import SignalOverride, active
from ssptool.fmu.description import Causality, Value, Variability
from ssptool.fmu.instance import FmuInstance
from ssptool.network.conversion import convert
from ssptool.network.network import Network, Signal, Wire

SetValue = Callable[[Signal, Value], None]
"""Sets a variable to a value."""

Instances = Mapping[str, FmuInstance]

MAX_PASSES = 100
"""Largest number of changes of one parameter in a propagation; one with more does not settle."""


def propagate_at_start(plan: Plan, instances: Instances) -> None:
    """Propagate calculated parameters along connections in initialization mode.

    What an FMU has been given is remembered, since parameters may not be asked for before initialization has ended.

    Raises
    ------
    Stopped
        Something changes again and again.
    """
    given: dict[Signal, Value] = {}

    def set_value(signal: Signal, value: Value) -> None:
        instances[signal.component].set({signal.variable: value})
        given[signal] = value

    _Propagation(plan, plan.parameter_wires, instances, given.get, set_value).start(instances, plan.interval.start)


def propagate(
    plan: Plan, instances: Instances, changed: Iterable[str], set_value: SetValue, time: float
) -> dict[str, None]:
    """Propagate the values that components calculate from `changed` parameters along connections until nothing changes,
    at this time [s]; returns the names of all changed components.

    Raises
    ------
    Stopped
        Something changes again and again.
    """
    wires = [one for one in plan.parameter_wires if plan.network.variable(one.source).variability is TUNABLE]
    return _Propagation(plan, wires, instances, lambda signal: _ask(instances, signal), set_value).start(changed, time)


def _ask(instances: Instances, signal: Signal) -> Value:
    return instances[signal.component].get([signal.variable])[signal.variable]


class _Propagation(NamedTuple):
    """Propagation along connections of parameters, from component to component; `present` returns the value of a
    destination, if known.
    """

    plan: Plan
    wires: Iterable[Wire]
    instances: Instances
    present: Callable[[Signal], Value | None]
    set_value: SetValue

    def start(self, changed: Iterable[str], time: float) -> dict[str, None]:
        """Propagate from these components until nothing changes; returns the names of all changed components."""
        leaving: dict[str, list[Wire]] = {}
        for wire in self.wires:
            leaving.setdefault(wire.source.component, []).append(wire)
        every = dict.fromkeys(changed)
        waiting, times = every.copy(), Counter[Signal]()
        while waiting:
            component = next(iter(waiting))
            del waiting[component]
            for wire in leaving.get(component, ()):
                if self._propagates(wire):
                    times[wire.destination] += 1
                    waiting[wire.destination.component] = every[wire.destination.component] = None
                    if times[wire.destination] > MAX_PASSES:
                        # All parameters of a loop change about equally often.
                        often = (str(signal) for signal, count in times.items() if 2 * count > MAX_PASSES)
                        raise IntegrationStopped(endless_parameters(often, time))
        return every

    def _propagates(self, wire: Wire) -> bool:
        """Copy the value over the wire; returns whether the destination changes."""
        taking = self.plan.network.variable(wire.destination)
        found = wire.conversion.carry(_ask(self.instances, wire.source))
        value = convert(str(wire.destination), found, taking.type)
        if value == self.present(wire.destination):
            return False
        self.set_value(wire.destination, value)
        return True


def endless_parameters(names: Iterable[str], time: float) -> Failure:
    """Failure of parameters, by their full names, that change again and again."""
    return unsettled("parameters that are calculated from each other do not settle", names, MAX_PASSES, time)


def unsettled(what: str, signals: Iterable[Signal | str], passes: int, time: float) -> Failure:
    """Failure of signals that still change after this number of passes."""
    return Failure(
        Ending.EVENTS,
        f"{what}, after {passes} passes: {', '.join(map(str, signals))}",
        "look for equations that contradict each other around a loop of connections",
        time,
    )


TUNABLE = Variability.TUNABLE


def why_not(network: Network, wires: Sequence[Wire], parameter: Signal) -> str:
    """Reason why a tunable parameter cannot change during this run; empty if it can."""
    for wire in wires:
        if wire.destination == parameter:
            return f"its value comes from {wire.source} over a connection"
    for wire in _reached(network, wires, parameter.component):
        variable = network.variable(wire.destination)
        if variable.causality is Causality.PARAMETER and variable.variability is not TUNABLE:
            return (
                f"{wire.source} may depend on it and is connected to the {variable.variability} parameter "
                f"{wire.destination}, which cannot change during a run"
            )
    return ""


def check_settings(network: Network, wires: Sequence[Wire], parameters: Iterable[Signal]) -> None:
    """Check that these parameters can change during a run.

    Raises
    ------
    Unsupported
    """
    for parameter in parameters:
        if reason := why_not(network, wires, parameter):
            raise Unsupported(f"change of {parameter} during a run", reason, "set its value at the start only")


def _reached(network: Network, wires: Sequence[Wire], component: str) -> Iterator[Wire]:
    """Connections that a change of a parameter of this component may go through."""
    known, waiting = {component}, [component]
    while waiting:
        name = waiting.pop()
        for wire in wires:
            if wire.source.component == name and network.variable(wire.source).variability is TUNABLE:
                yield wire
                if wire.destination.component not in known:
                    known.add(wire.destination.component)
                    waiting.append(wire.destination.component)


class SlotOverrides(NamedTuple):
    """Overrides at both ends of the wire that leads to a slot."""

    destination: int
    source_type: str
    destination_type: str
    at_source: tuple[SignalOverride, ...]
    at_destination: tuple[SignalOverride, ...]


class WireOverrides:
    """Overridden wires of one kernel; `sources` are the slots that its wires start from."""

    def __init__(self, plan: Plan, kernel: Kernel, sources: Collection[int]) -> None:
        self._kernel = kernel
        self._wires = tuple(slot_overrides(plan, sources))

    def go_to(self, t: float) -> None:
        """Apply the overrides that are in force at t [s] from now on."""
        kernel = self._kernel
        if self._wires:
            kernel.override_wires(
                [
                    OverriddenWire(
                        one.destination,
                        slot_override(kernel, one.source_type, active(one.at_source, t)),
                        slot_override(kernel, one.destination_type, active(one.at_destination, t)),
                    )
                    for one in self._wires
                ]
            )


def inputs_at_events(plan: Plan) -> frozenset[Signal]:
    """Inputs that are set at events only."""
    return plan.event_modes.inputs | (plan.ode.events.inputs if plan.ode is not None else frozenset())


def slot_overrides(plan: Plan, sources: Collection[int]) -> Iterator[SlotOverrides]:
    """Overrides of a scenario on the wires that start from these slots."""
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    elsewhere = inputs_at_events(plan)
    for connection in plan.stimuli.connections:
        if connection.destination in elsewhere:
            continue
        source, destination = slots[connection.source], slots[connection.destination]
        if source in sources:
            types = plan.types[source], plan.types[destination]
            yield SlotOverrides(destination, *types, connection.at_source, connection.at_destination)
    # Connectors of systems inside on the way of what a source gives, which are there for the trace.
    changed = {
        slots[connection.source]: connection.at_source
        for connection in plan.stimuli.connections
        if connection.at_source
    }
    for wire in plan.shown_wires:
        if wire.source in changed and wire.source in sources:
            types = plan.types[wire.source], plan.types[wire.destination]
            yield SlotOverrides(wire.destination, *types, changed[wire.source], ())


class AppliedStimuli:
    """Apply inputs and scenarios segment by segment; nothing jumps inside a segment. At both ends of a segment each
    signal has the limit from inside.

    Attributes
    ----------
    end : [s]
        End of the present segment; inf after the last jump.
    segment
        Its number, from 0.
    """

    def __init__(
        self,
        plan: Plan,
        instances: tuple[FmuInstance, ...],
        kernel: Kernel,
        more: Sequence[tuple[Kernel, Collection[int]]] = (),
        at_events: Sequence[EventOverrides] = (),
    ) -> None:
        """`more`: kernels beside the one of all components, with the slots from which they have the wires; `at_events`
        are connections that no kernel has.
        """
        self.kernel = kernel
        self._plan = plan
        self._instances = {instance.name: instance for instance in instances}
        self._sources = SlotSources(plan, kernel)
        kernels = ((kernel, range(len(plan.signals))), *more)
        self._kernels = [one for one, _ in kernels]
        self._wires: tuple[WireOverrides | EventOverrides, ...] = (
            *(WireOverrides(plan, one, sources) for one, sources in kernels),
            *at_events,
        )
        self._boundaries = boundaries(plan.stimuli.jumps, plan.interval.start, plan.interval.stop)
        self._knots = sorted(set(chain.from_iterable(one.time_signal.knots for one in slot_sources(plan))))
        self.go_to(0)

    # -- segments -------------------------------------------------------------------------------------------

    def write(self, t: float) -> None:
        """Write the values of all input sources at t [s], which lies in the present segment."""
        if self._sources:
            self._sources.write(t)

    def jump(self) -> Outcome:
        """Go from the end of the present segment to the start of the next, and set tunable parameters that change
        there.

        Raises
        ------
        FmiError
            An FMU refuses the value of a parameter.
        Stopped
            Parameters that depend on each other do not settle.
        """
        boundary = self._boundaries[self.segment]
        self.go_to(self.segment + 1)
        self.write(self._begin)
        changed = dict.fromkeys(self._set_parameters(boundary.first, boundary.last))
        if changed and self._plan.parameter_wires:
            changed = propagate(self._plan, self._instances, changed, self._set_value, boundary.last)
        calls = [Call(i, (), one.output_slots) for i, one in enumerate(self._plan.instances) if one.name in changed]
        calls = [call for call in calls if call.outputs]
        return self.kernel.evaluate(self.kernel.schedule(calls)) if calls else OK

    def _set_value(self, signal: Signal, value: Value) -> None:
        self._instances[signal.component].set({signal.variable: value})
        if signal in self._plan.signals:
            slot = self._plan.signals.index(signal)
            for kernel in self._kernels:
                write_slot(kernel, slot, self._plan.types[slot], value)

    def go_to(self, segment: int) -> None:
        """Go to the segment with this number; values and parameters are already those of that segment."""
        self.segment = segment
        self._begin, self.end = self.limits(segment)
        if self._sources:
            self._sources.between(self._begin, self.end)
        for wires in self._wires:
            wires.go_to(self._begin)

    def limits(self, segment: int) -> tuple[float, float]:
        """Start and end [s] of a segment."""
        begin = self._boundaries[segment - 1].last if segment else self._plan.interval.start
        return begin, self._boundaries[segment].first if segment < len(self._boundaries) else math.inf

    def limit(self, t: float) -> float:
        """The next time after t [s] that an integrator must not step over; inf if there is none."""
        for knot in self._knots[bisect_right(self._knots, t) :]:
            if not same_time(knot, t):
                return min(knot, self.end)
        return self.end

    def _set_parameters(self, first: float, last: float) -> Iterator[str]:
        for setting in self._plan.stimuli.parameter_changes:
            if any(first <= one.time <= last for one in setting.overrides):
                change = active(setting.overrides, last)
                value = setting.base if change is None else change(setting.base)
                self._instances[setting.signal.component].set({setting.signal.variable: value})
                yield setting.signal.component

    # -- macro steps -----------------------------------------------------------------------------------------

    @property
    def stepwise(self) -> bool:
        """True if there are functions, which are called at every step."""
        return self._sources.has_functions

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Instructions at the start of a macro step; none if functions drive inputs."""
        return (Instruction(Op.DRIVE),) if self._sources else ()

    def begin(self, h: float, end: float) -> None:
        """Before the macro step of size h [s] to `end` [s]."""
        if self._sources:
            self._sources.drive(end, h)
