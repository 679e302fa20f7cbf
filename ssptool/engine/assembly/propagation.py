"""Propagation of connected parameters at the start, and after a change of a tunable one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ssptool.engine.failure import Ending, Failure, IntegrationStopped, Unsupported
from ssptool.engine.planning.plan import Plan
from ssptool.fmu.description import Causality, Value, Variability
from ssptool.fmu.instance import FmuInstance
from ssptool.network.conversion import convert
from ssptool.network.network import Network, Signal, Wire

Give = Callable[[Signal, Value], None]
"""Sets a variable to a value."""

Instances = Mapping[str, FmuInstance]

MAX_PASSES = 100
"""As often a parameter may be given another value before it is said not to settle."""


def pass_on_at_start(plan: Plan, instances: Instances) -> None:
    """In initialization mode: what components calculate from their parameters goes where it is connected to.

    What an FMU has been given is remembered, since parameters may not be asked for before initialization has ended.

    Raises
    ------
    Stopped
        Something changes again and again.
    """
    given: dict[Signal, Value] = {}

    def give(signal: Signal, value: Value) -> None:
        instances[signal.component].set({signal.variable: value})
        given[signal] = value

    _Walk(plan, plan.parameter_wires, instances, given.get, give).start(instances, plan.interval.start)


def pass_on(plan: Plan, instances: Instances, changed: Iterable[str], give: Give, time: float) -> dict[str, None]:
    """What components with `changed` parameters calculate from them goes where it is connected to, until nothing
    changes, at this time [s]; gives the names of all components with a change.

    Raises
    ------
    Stopped
        Something changes again and again.
    """
    wires = [one for one in plan.parameter_wires if plan.network.variable(one.source).variability is TUNABLE]
    return _Walk(plan, wires, instances, lambda signal: _ask(instances, signal), give).start(changed, time)


def _ask(instances: Instances, signal: Signal) -> Value:
    return instances[signal.component].get([signal.variable])[signal.variable]


class _Walk(NamedTuple):
    """Along connections of parameters, from component to component; `present` is what a destination has, if known."""

    plan: Plan
    wires: Iterable[Wire]
    instances: Instances
    present: Callable[[Signal], Value | None]
    give: Give

    def start(self, changed: Iterable[str], time: float) -> dict[str, None]:
        """From these components, until nothing changes; the names of all with a change."""
        leaving: dict[str, list[Wire]] = {}
        for wire in self.wires:
            leaving.setdefault(wire.source.component, []).append(wire)
        every = dict.fromkeys(changed)
        waiting, times = every.copy(), Counter[Signal]()
        while waiting:
            component = next(iter(waiting))
            del waiting[component]
            for wire in leaving.get(component, ()):
                if self._passes(wire):
                    times[wire.destination] += 1
                    waiting[wire.destination.component] = every[wire.destination.component] = None
                    if times[wire.destination] > MAX_PASSES:
                        raise IntegrationStopped(_endless(times, time))
        return every

    def _passes(self, wire: Wire) -> bool:
        """Whether the destination gets another value."""
        taking = self.plan.network.variable(wire.destination)
        found = wire.conversion.carry(_ask(self.instances, wire.source))
        value = convert(str(wire.destination), found, taking.type)
        if value == self.present(wire.destination):
            return False
        self.give(wire.destination, value)
        return True


def _endless(times: Mapping[Signal, int], time: float) -> Failure:
    what = "parameters that are calculated from each other do not settle"
    # Around a loop each is given a value about as often as the others.
    return unsettled(what, (signal for signal, count in times.items() if 2 * count > MAX_PASSES), MAX_PASSES, time)


def unsettled(what: str, signals: Iterable[Signal], passes: int, time: float) -> Failure:
    """After so many passes these signals still change."""
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
            raise Unsupported(f"change of {parameter} during a run", reason, "leave it as it is at the start")


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
