"""Events of co-simulation and of an ODE beside it: whether they are those of the whole system."""

from collections.abc import Mapping
from dataclasses import replace

from ssptool.engine.capabilities import SAVES
from ssptool.engine.event_mode.planned import NO_EVENT_MODES, EventModes, clock_wires, saves
from ssptool.engine.unsupported import UnsupportedByFmu
from ssptool.fmu.description import InterfaceType, Variability
from ssptool.network.network import Network
from ssptool.network.signals import Wire


def shared_with_ode(
    network: Network, implementations: Mapping[str, InterfaceType], of_simulation: EventModes, of_ode: EventModes
) -> tuple[EventModes, EventModes]:
    """The event modes of the whole system, and those that the ODE has for itself.

    Where clocks, or what changes at events only, lead from one to the other, all are members of the first: a macro step
    then ends at every event of the ODE, and all components go through it together. Where the macro step could not be
    taken back to there, the ODE keeps its events to itself, and others hear of them at communication points.

    Raises
    ------
    UnsupportedByFmu
        Clocks are connected, and a macro step cannot be taken back to where one of the ODE ticks.
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
    silent = {name for name, kind in implementations.items() if kind is InterfaceType.CO_SIMULATION}
    silent -= of_simulation.members.keys()  # what these do inside a step, nobody knows
    told = (one for one in crossing if one.destination in heard and one.source.component not in silent)
    # What changes all the time is sampled, on either side.
    jumps = any(network.variable(one.source).variability is not Variability.CONTINUOUS for one in told)
    if not of_simulation.rolls_back or not jumps:
        return of_simulation, of_ode
    together = of_simulation.beside(of_ode)
    return replace(together, clock_wires=clock_wires(network), with_ode=True), NO_EVENT_MODES


def _crosses(wire: Wire, implementations: Mapping[str, InterfaceType]) -> bool:
    ends = [implementations.get(signal.component) for signal in (wire.source, wire.destination)]
    return None not in ends and ends[0] is not ends[1]
