"""Applied stimuli: inputs, overrides and parameter changes during a run; propagation of connected parameters."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ssptool.engine.failure import Ending, Failure, RunError, Unsupported
from ssptool.engine.planning.plan import Plan
from ssptool.engine.stimuli.time_signals import SignalOverride
from ssptool.fmu.description import Causality, Value, Variability
from ssptool.fmu.instance import FmuInstance
from ssptool.network.conversion import convert
from ssptool.network.network import Network, Signal, Wire

SetValue = Callable[[Signal, Value], None]
"""Sets a variable to a value."""

Instances = Mapping[str, FmuInstance]

MAX_PASSES = 100
"""Largest number of changes of one parameter in a propagation. A parameter that changes more often does not settle."""


def propagate(
    plan: Plan, instances: Instances, changed: Iterable[str], set_value: SetValue, time: float
) -> dict[str, None]:
    """Propagate the values that components calculate from `changed` parameters along connections until nothing changes,
    at this time [s]. Returns the names of all changed components.

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
                        raise RunError(endless_parameters(often, time))
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
    """Connections that a change of a parameter of this component may propagate through."""
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
    """Overrides at both ends of a wire; `destination` is the slot of its destination."""

    destination: int
    source_type: str
    destination_type: str
    at_source: tuple[SignalOverride, ...]
    at_destination: tuple[SignalOverride, ...]


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
    # Connectors of nested systems between source and destination, which are recorded only.
    changed = {
        slots[connection.source]: connection.at_source
        for connection in plan.stimuli.connections
        if connection.at_source
    }
    for wire in plan.shown_wires:
        if wire.source in changed and wire.source in sources:
            types = plan.types[wire.source], plan.types[wire.destination]
            yield SlotOverrides(wire.destination, *types, changed[wire.source], ())
