"""Parameters that are connected, during a run: what follows from a tunable one that has changed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ssptool.engine.ending import Ending, Failure
from ssptool.engine.plan import Plan
from ssptool.engine.stopped import Stopped
from ssptool.engine.unsupported import Unsupported
from ssptool.fmu.description import Causality, Value, Variability
from ssptool.fmu.instance import FmuInstance
from ssptool.network.network import Network
from ssptool.network.signals import Signal, Wire
from ssptool.network.values import convert

Give = Callable[[Signal, Value], None]


MAX_PASSES = 100


def pass_on(
    plan: Plan, instances: Mapping[str, FmuInstance], changed: Iterable[str], give: Give, time: float
) -> dict[str, None]:
    """What components with `changed` parameters calculate from them goes where it is connected to, until nothing
    changes, at this time [s]; gives the names of all components with a change. `give` sets a variable to a value.

    Raises
    ------
    Stopped
        Something changes again and again.
    """
    every = dict.fromkeys(changed)
    fresh = every.copy()
    for _ in range(MAX_PASSES):
        news = dict(_news(plan, instances, fresh))
        if not news:
            return every
        for signal, value in news.items():
            give(signal, value)
        fresh = dict.fromkeys(signal.component for signal in news)
        every |= fresh
    raise Stopped(unsettled("parameters that are calculated from each other do not settle", news, MAX_PASSES, time))


def unsettled(what: str, signals: Iterable[Signal], passes: int, time: float) -> Failure:
    """After so many passes these signals still change."""
    return Failure(
        Ending.EVENTS,
        f"{what}, after {passes} passes: {', '.join(map(str, signals))}",
        "look for equations that contradict each other around a loop of connections",
        time,
    )


def _news(plan: Plan, instances: Mapping[str, FmuInstance], changed: Iterable[str]) -> Iterator[tuple[Signal, Value]]:
    for wire in plan.parameter_wires:
        if wire.source.component in changed and plan.network.variable(wire.source).variability is TUNABLE:
            found = instances[wire.source.component].get([wire.source.variable])[wire.source.variable]
            taking = plan.network.variable(wire.destination)
            value = convert(str(wire.destination), wire.conversion.carry(found), taking.type)
            instance = instances[wire.destination.component]
            if value != instance.get([wire.destination.variable])[wire.destination.variable]:
                yield wire.destination, value


TUNABLE = Variability.TUNABLE


def why_not(network: Network, wires: Sequence[Wire], parameter: Signal) -> str:
    """Why a tunable parameter cannot change although it is one; empty if it can."""
    for wire in wires:
        if wire.destination == parameter:
            return f"it is connected to {wire.source}, which gives it its value"
    for wire in _reached(network, wires, parameter.component):
        variable = network.variable(wire.destination)
        if variable.causality is Causality.PARAMETER and variable.variability is not TUNABLE:
            return (
                f"{wire.source} may follow from it, and is connected to the {variable.variability} parameter "
                f"{wire.destination}, which cannot change during a run"
            )
    return ""


def check_settings(network: Network, wires: Sequence[Wire], parameters: Iterable[Signal]) -> None:
    """That these parameters can change during a run.

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
