"""Frozen plan of an exported FMU: the plan of its system, and the variables that importers see."""

from collections.abc import Mapping, Sequence

from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.freeze import clock_places, clock_times, frozen_system
from ssptool.engine.run.frozen_variables import (
    Json,
    conversion_facts,
    frozen_parameter_wires,
    frozen_variable,
    json_value,
)
from ssptool.exporting.capabilities import ExportInterface, driven_by_inputs
from ssptool.exporting.interface import ExportedClock, ExportedVariable, PartTarget
from ssptool.network.network import Signal


def frozen(plan: Plan, variables: Sequence[ExportedVariable], interface: ExportInterface) -> Json:
    """Content of the file, except the token, which is computed from it."""
    return frozen_system(plan, driven_by_inputs(plan)) | {
        "interface": str(interface),
        "variables": _variables(plan, variables),
        "parameter_wires": list(frozen_parameter_wires(plan)),
    }


def _variables(plan: Plan, variables: Sequence[ExportedVariable]) -> list[Json]:
    places = clock_places(plan, plan.event_modes)
    return [_variable(one, places) for one in variables]


def _variable(one: ExportedVariable, places: Mapping[Signal, list[int]]) -> Json:
    """A variable of the system; `places` are the indices of the clocks of parts."""
    found: Json = {"name": one.name, "type": one.type, "causality": str(one.causality)}
    if one.variability == "tunable":
        found["tunable"] = True
    if one.variability == "discrete" and one.causality == "input":
        found["discrete"] = True
    if one.clock is not None:
        return found | {"clock": _system_clock(one.clock, places)}
    if one.continuous is not None:
        found[str(one.continuous.role)] = one.continuous.number
    if one.shape:
        found["size"] = one.size
    if one.slots:
        return found | {"slots": list(one.slots)}
    if one.targets:
        found["targets"] = [_target(target) for target in one.targets]
    if one.starts:
        found["starts"] = [json_value(start, one.type) for start in one.starts]
    return found


def _system_clock(clock: ExportedClock, places: Mapping[Signal, list[int]]) -> Json:
    found: Json = {"variability": clock.stated["intervalVariability"], **clock_times(clock.interval, clock.shift)}
    if clock.source is not None:
        return found | {"source": places[clock.source]}
    return found | {"triggers": [places[signal] for signal in clock.triggers]}


def _target(one: PartTarget) -> Json:
    own = {"own": list(one.own)} if one.own else {}
    return frozen_variable(one.variable) | conversion_facts(one.conversion) | own
