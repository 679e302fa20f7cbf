"""Parameters that change during a run: which can, and the propagation of connected ones."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ssptool.engine.failure import Ending, Failure, RunError, Unsupported
from ssptool.engine.planning.plan import Plan
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
    RunError
        Something changes again and again.
    """
    leaving: dict[str, list[Wire]] = defaultdict(list)
    for wire in plan.parameter_wires:
        if plan.network.variable(wire.source).variability is TUNABLE:
            leaving[wire.source.component].append(wire)
    every = dict.fromkeys(changed)
    waiting, times = every.copy(), Counter[Signal]()
    while waiting:
        component = next(iter(waiting))
        del waiting[component]
        for wire in leaving[component]:
            destination = wire.destination
            found = wire.conversion.carry(_ask(instances, wire.source))
            value = convert(str(destination), found, plan.network.variable(destination).type)
            if value == _ask(instances, destination):
                continue
            set_value(destination, value)
            times[destination] += 1
            waiting[destination.component] = every[destination.component] = None
            if times[destination] > MAX_PASSES:
                # All parameters of a loop change about equally often.
                often = (str(signal) for signal, count in times.items() if 2 * count > MAX_PASSES)
                raise RunError(endless_parameters(often, time))
    return every


def _ask(instances: Instances, signal: Signal) -> Value:
    return instances[signal.component].get([signal.variable])[signal.variable]


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
