"""Events of model exchange in a mixed system: whether they are events of the whole system, and which signals are
sampled.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from ssptool.engine.failure import UnsupportedByFmu
from ssptool.engine.masters.registry import SAVES
from ssptool.engine.planning.events import NO_EVENT_MODES, EventModes, clock_wires, saves
from ssptool.engine.planning.plan import Plan
from ssptool.engine.stimuli.stimuli import source_signal
from ssptool.fmu.description import InterfaceType, Variability
from ssptool.network.network import Network, Wire


def shared_with_ode(
    network: Network, implementations: Mapping[str, InterfaceType], of_simulation: EventModes, of_ode: EventModes
) -> tuple[EventModes, EventModes]:
    """The event modes of the whole system, and those of the ODE alone.

    The events of the ODE are events of the whole system if macro steps can be repeated up to them, and if the ODE has
    state events, or is connected to other components by clocks or by signals that change only at events. A macro step
    then ends at each event, and all components handle it together. Otherwise the ODE handles its events alone, and
    other components see the effects at communication points.

    Raises
    ------
    UnsupportedByFmu
        Clocks are connected, and a macro step cannot be repeated up to a tick in the ODE.
    """
    crossing = [wire for wire in network.wires if _crosses(wire, implementations)]
    clocks = [wire for wire in crossing if wire.destination in clock_wires(network).get(wire.source, ())]
    if clocks and not of_simulation.rolls_back:
        unable = [name for name, one in network.components.items() if not saves(one, implementations[name])]
        what = (
            f"the connection {clocks[0].source} → {clocks[0].destination} of clocks of model exchange and co-simulation"
        )
        raise UnsupportedByFmu(unable[0], SAVES, what, "both as model exchange, or both as co-simulation")
    heard = {signal for modes in (of_simulation, of_ode) for signal in modes.signals}
    # Events of these components inside of a step are unknown.
    silent = _simulated(implementations) - of_simulation.members.keys()
    told = (one for one in crossing if one.destination in heard and one.source.component not in silent)
    # Continuous signals are sampled on both sides.
    jumps = any(network.variable(one.source).variability is not Variability.CONTINUOUS for one in told)
    if of_simulation.rolls_back:
        ends = jumps or _state_events(network, implementations)
    else:
        ends = not of_simulation and _state_events(network, implementations) and _go_back(network, implementations)
    if not ends:
        return of_simulation, of_ode
    together = of_simulation.beside(of_ode)
    return replace(together, clock_wires=clock_wires(network), rolls_back=True, with_ode=True), NO_EVENT_MODES


def _simulated(implementations: Mapping[str, InterfaceType]) -> set[str]:
    return {name for name, kind in implementations.items() if kind is InterfaceType.CO_SIMULATION}


def _state_events(network: Network, implementations: Mapping[str, InterfaceType]) -> bool:
    integrated = network.components.keys() - _simulated(implementations)
    return any(network.components[name].description.event_indicators for name in integrated)


def _go_back(network: Network, implementations: Mapping[str, InterfaceType]) -> bool:
    """True if macro steps of all components of co-simulation can be repeated with any other size."""
    found = (network.components[name].description.co_simulation for name in _simulated(implementations))
    return all(one is not None and one.saves_state and one.any_step for one in found)


def _crosses(wire: Wire, implementations: Mapping[str, InterfaceType]) -> bool:
    ends = [implementations.get(signal.component) for signal in (wire.source, wire.destination)]
    return None not in ends and ends[0] is not ends[1]


def ode_takes_samples(plan: Plan) -> bool:
    """True if an ODE that handles its own events takes samples."""
    if plan.ode is None:
        return False
    names = {one.name for one in plan.integrated}
    wires = (wire for wire in plan.ode.events.wires if wire.source.component in {*names, ""})
    return _some_change(plan, wires, names)


def system_takes_samples(plan: Plan) -> bool:
    """True if members of the events of the system take samples outside of clocks."""
    modes = plan.event_modes
    unclocked = {one.signal for member in modes.members.values() for one in member.inputs if not one.clocks}
    wires = (wire for wire in modes.wires if wire.destination in unclocked)
    integrated = (one.name for one in plan.integrated if modes.with_ode)
    return _some_change(plan, wires, {*modes.members, *integrated})


def _some_change(plan: Plan, wires: Iterable[Wire], talking: Collection[str]) -> bool:
    """True if a source of a wire may change between events. Discrete variables of the components `talking`, which
    handle events, do not.
    """
    moving = {source_signal(source.signal) for source in plan.stimuli.sources if not source.time_signal.steady}
    return any(wire.source in moving or _changes(plan, wire, talking) for wire in wires)


def _changes(plan: Plan, wire: Wire, talking: Collection[str]) -> bool:
    component = plan.network.components.get(wire.source.component)
    if component is None:
        return False  # an input of the system
    variable = component.description.variables[wire.source.variable]
    return component.name not in talking or variable.variability is Variability.CONTINUOUS
