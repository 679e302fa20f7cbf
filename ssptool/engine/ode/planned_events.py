"""What components of model exchange exchange at events only, and their clocks."""

from collections.abc import Mapping

from ssptool.engine.event_mode.planned import EventModes, clock_wires, event_member
from ssptool.engine.plan import Plan
from ssptool.engine.stimuli.stimuli import feed
from ssptool.fmu.description import InterfaceType, Variability
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


def takes_samples(plan: Plan) -> bool:
    """Whether something that changes all the time is exchanged at events only, so at communication points at least."""
    if plan.ode is None:
        return False
    components = {one.name: one.description.variables for one in plan.integrated}
    moving = {feed(driven.signal) for driven in plan.stimuli.driven if driven.course.continuous}
    return any(
        wire.source in moving
        or (
            wire.source.component in components
            and components[wire.source.component][wire.source.variable].variability is Variability.CONTINUOUS
        )
        for wire in plan.ode.events.wires
    )
