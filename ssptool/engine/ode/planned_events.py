"""What components of model exchange exchange at events only, and their clocks."""

from collections.abc import Mapping

from ssptool.engine.event_mode.planned import EventModes, clock_wires, event_member
from ssptool.fmu.description import InterfaceType
from ssptool.network.network import Network


def plan_ode_events(network: Network, implementations: Mapping[str, InterfaceType]) -> EventModes:
    """Members are components with inputs that are not continuous, which may be set in event mode only, or with clocks.

    References
    ----------
    FMI 2.0.4 §3.2.3, FMI 3.0 §3.2 (which variables may be set in continuous-time mode).
    """
    integrated = [
        component
        for name, component in network.components.items()
        if implementations[name] is InterfaceType.MODEL_EXCHANGE
    ]
    members = {component.name: event_member(component) for component in integrated}
    members = {name: member for name, member in members.items() if member.inputs or member.outputs or member.clocks}
    inputs = {one.signal for member in members.values() for one in member.inputs}
    triggered = {source: found for source, found in clock_wires(network).items() if source.component in members}
    return EventModes(members, tuple(wire for wire in network.wires if wire.destination in inputs), triggered)
