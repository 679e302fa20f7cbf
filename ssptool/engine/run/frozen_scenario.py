"""The scenario of a run as data for the system; exported FMUs have none."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from ssptool.engine.assembly.applied_stimuli import SlotOverrides, inputs_at_events, slot_overrides
from ssptool.engine.kernel.calls import ACCESS
from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import slot_sources, table_rows
from ssptool.engine.run.frozen_variables import Json, json_value, start_value
from ssptool.engine.stimuli.stimuli import Boundary, ParameterChange, boundaries
from ssptool.engine.stimuli.time_signals import Action, Overridden, SignalOverride, active
from ssptool.fmu.description import element_names


def frozen_scenario(plan: Plan) -> list[Json]:
    """Acts of a scenario. Each starts with a segment, and lists overrides in force and parameters to set."""
    found = [_act(plan, 0, Boundary(-math.inf, -math.inf))]
    actions = sorted(plan.stimuli.actions)
    for segment, jump in enumerate(boundaries(plan.stimuli.jumps, -math.inf, math.inf), start=1):
        if bisect_left(actions, jump.first) < bisect_right(actions, jump.last):
            found.append(_act(plan, segment, jump))
    return found


def _act(plan: Plan, segment: int, jump: Boundary) -> Json:
    """Act for the segment that starts at this jump."""
    numbers = {one.name: number for number, one in enumerate(plan.instances)}
    sources = enumerate(slot_sources(plan))
    return {
        "segment": segment,
        "columns": [
            {"column": place, **_override(one.type, one.time_signal.overrides, jump.last)}
            for place, one in sources
            if isinstance(one.time_signal, Overridden) and table_rows(one.time_signal) is not None
        ],
        "wires": [_wire(one, jump.last) for one in slot_overrides(plan, range(len(plan.signals)))],
        "at_events": [_wire(one, jump.last) for one in _overrides_at_events(plan)],
        "settings": [
            _setting(numbers[one.signal.component], plan, one, jump.last)
            for one in plan.stimuli.parameter_changes
            if any(jump.first <= change.time <= jump.last for change in one.overrides)
        ],
    }


def _overrides_at_events(plan: Plan) -> Iterator[SlotOverrides]:
    """Overrides of signals that are exchanged only at events."""
    slots, inputs = {signal: slot for slot, signal in enumerate(plan.signals)}, inputs_at_events(plan)
    for one in plan.stimuli.connections:
        if one.destination in inputs:
            source, destination = slots[one.source], slots[one.destination]
            types = plan.types[source], plan.types[destination]
            yield SlotOverrides(destination, *types, one.at_source, one.at_destination)


def _wire(one: SlotOverrides, t: float) -> Json:
    return {
        "to": one.destination,
        "at_source": _override(one.source_type, one.at_source, t),
        "at_destination": _override(one.destination_type, one.at_destination, t),
    }


def _override(kind: str, overrides: Sequence[SignalOverride], t: float) -> Json:
    change = active(overrides, t)
    if change is None or change.action is Action.RESET:
        return {"action": "none"}
    return {"action": str(change.action), "type": kind, "value": json_value(change.value, kind)}


def _setting(number: int, plan: Plan, changed: ParameterChange, t: float) -> Json:
    one, change = plan.instances[number], active(changed.overrides, t)
    value = changed.base if change is None else change(changed.base)
    variable = one.description.variables[changed.signal.variable]
    suffix = ACCESS[one.description.fmi_major][variable.type]
    found = {"part": number, "reference": variable.reference, "type": suffix, "value": json_value(value, suffix)}
    if variable.array is None:
        return found
    names = element_names(variable.array, one.description.arrays[variable.array])
    starts = [json_value(start_value(one, name), suffix) for name in names]
    return found | {"size": len(names), "elements": [variable.element], "starts": starts}
