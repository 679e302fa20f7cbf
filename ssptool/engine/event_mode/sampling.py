"""Whether values that change between events are taken at events, so that there is one wherever they have changed.

They are looked at at communication points.
"""

from collections.abc import Collection, Iterable

from ssptool.engine.plan import Plan
from ssptool.engine.stimuli.stimuli import feed
from ssptool.fmu.description import Variability
from ssptool.network.signals import Wire


def ode_takes_samples(plan: Plan) -> bool:
    """Whether an ODE that has events of its own does. Whoever steps other components sees to what comes from those."""
    if plan.ode is None:
        return False
    names = {one.name for one in plan.integrated}
    wires = (wire for wire in plan.ode.events.wires if wire.source.component in {*names, ""})
    return _some_change(plan, wires, names)


def system_takes_samples(plan: Plan) -> bool:
    """Whether members of the events of the system do. What belongs to clocks waits for those."""
    modes = plan.event_modes
    unclocked = {one.signal for member in modes.members.values() for one in member.inputs if not one.clocks}
    wires = (wire for wire in modes.wires if wire.destination in unclocked)
    integrated = (one.name for one in plan.integrated if modes.with_ode)
    return _some_change(plan, wires, {*modes.members, *integrated})


def _some_change(plan: Plan, wires: Iterable[Wire], talking: Collection[str]) -> bool:
    """Whether a source may change between events; discrete variables of the components `talking` do not."""
    moving = {feed(driven.signal) for driven in plan.stimuli.driven if not driven.course.steady}
    return any(wire.source in moving or _changes(plan, wire, talking) for wire in wires)


def _changes(plan: Plan, wire: Wire, talking: Collection[str]) -> bool:
    component = plan.network.components.get(wire.source.component)
    if component is None:
        return False  # an input of the system
    variable = component.description.variables[wire.source.variable]
    return component.name not in talking or variable.variability is Variability.CONTINUOUS
