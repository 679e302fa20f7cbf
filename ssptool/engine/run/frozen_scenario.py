"""The scenario of a run as data for the system; exported FMUs have none."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from ssptool.engine.planning.plan import Plan
from ssptool.engine.planning.stimuli import slot_sources, table_rows
from ssptool.engine.run.frozen_variables import (
    Json,
    NumberedParts,
    frozen_variable,
    json_value,
    numbered_parts,
    part_variable,
)
from ssptool.engine.stimuli.stimuli import Boundary, ParameterChange, boundaries
from ssptool.engine.stimuli.time_signals import Action, Overridden, SignalOverride, active


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
    sources, parts = enumerate(slot_sources(plan)), numbered_parts(plan)
    return {
        "segment": segment,
        "columns": [
            {"column": place, **_override(one.type, one.time_signal.overrides, jump.last)}
            for place, one in sources
            if isinstance(one.time_signal, Overridden) and table_rows(one.time_signal) is not None
        ],
        "wires": [*_connections(plan, jump.last, at_events=False), *_shown(plan, jump.last)],
        "at_events": [*_connections(plan, jump.last, at_events=True)],
        "settings": [
            _setting(parts, one, jump.last)
            for one in plan.stimuli.parameter_changes
            if any(jump.first <= change.time <= jump.last for change in one.overrides)
        ],
    }


def _connections(plan: Plan, t: float, *, at_events: bool) -> Iterator[Json]:
    """Overrides in force at t [s] of connections whose signals are exchanged only at events, or of all others."""
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    inputs = plan.event_modes.inputs | (plan.ode.events.inputs if plan.ode is not None else frozenset())
    for one in plan.stimuli.connections:
        if (one.destination in inputs) == at_events:
            yield _wire(plan, (slots[one.source], slots[one.destination]), (one.at_source, one.at_destination), t)


def _shown(plan: Plan, t: float) -> Iterator[Json]:
    """Overrides of connectors of nested systems between source and destination, which are recorded only."""
    changed = {one.source: one.at_source for one in plan.stimuli.connections if one.at_source}
    for wire in plan.shown_wires:
        if (at_source := changed.get(plan.signals[wire.source])) is not None:
            yield _wire(plan, (wire.source, wire.destination), (at_source, ()), t)


def _wire(plan: Plan, ends: tuple[int, int], overrides: tuple[Sequence[SignalOverride], ...], t: float) -> Json:
    """Overrides at both ends of a wire between these slots."""
    at_ends = zip(("at_source", "at_destination"), ends, overrides, strict=True)
    return {"to": ends[1], **{name: _override(plan.types[slot], own, t) for name, slot, own in at_ends}}


def _override(kind: str, overrides: Sequence[SignalOverride], t: float) -> Json:
    change = active(overrides, t)
    if change is None or change.action is Action.RESET:
        return {"action": "none"}
    return {"action": str(change.action), "type": kind, "value": json_value(change.value, kind)}


def _setting(parts: NumberedParts, changed: ParameterChange, t: float) -> Json:
    one, change = part_variable(parts, changed.signal), active(changed.overrides, t)
    value = changed.base if change is None else change(changed.base)
    return frozen_variable(one) | {"value": json_value(value, one.suffix)}
