"""The frozen plan of an exported FMU: that of its system, with the variables that importers see."""

from collections.abc import Iterator, Mapping, Sequence

from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.freeze import Json, clock_places, clock_times, conversion_facts, frozen_system, json_value
from ssptool.exporting.capabilities import ExportInterface, able, driven_by_inputs
from ssptool.exporting.interface import ExportedClock, ExportedVariable
from ssptool.exporting.part_variables import PartTarget, PartVariable, numbered_parts, part_variable
from ssptool.fmu.description import Variability
from ssptool.network.network import Signal


def frozen(plan: Plan, variables: Sequence[ExportedVariable], interface: ExportInterface) -> Json:
    """The content of the file, but for the token, which follows from it."""
    return frozen_system(plan, driven_by_inputs(plan)) | {
        "interface": str(interface),
        "goes_back": able(plan, "canGetAndSetFMUstate"),
        "variables": _variables(plan, variables),
        "parameter_wires": list(_parameter_wires(plan)),
    }


def _variables(plan: Plan, variables: Sequence[ExportedVariable]) -> list[Json]:
    places = clock_places(plan, plan.event_modes)
    return [_variable(one, places) for one in variables]


def _variable(one: ExportedVariable, places: Mapping[Signal, list[int]]) -> Json:
    """A variable of the system; `places` are those of the clocks of parts."""
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
    found: Json = {"variability": clock.stated["intervalVariability"], **clock_times(clock)}
    if clock.source is not None:
        return found | {"source": places[clock.source]}
    return found | {"triggers": [places[signal] for signal in clock.triggers]}


def _target(one: PartTarget) -> Json:
    own = {"own": list(one.own)} if one.own else {}
    return _part_variable(one.variable) | conversion_facts(one.conversion) | own


def _part_variable(one: PartVariable) -> Json:
    found: Json = {"part": one.part, "reference": one.reference, "type": one.suffix}
    if one.size != 1 or one.elements:
        found["size"] = one.size
    if one.elements:
        found["elements"] = list(one.elements)
        found["starts"] = [json_value(start, one.suffix) for start in one.starts]
    return found


def _parameter_wires(plan: Plan) -> Iterator[Json]:
    parts = numbered_parts(plan)
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    for wire in plan.parameter_wires:
        tunable = plan.network.variable(wire.source).variability is Variability.TUNABLE
        yield {
            "from": _part_variable(part_variable(parts, wire.source)),
            "to": _part_variable(part_variable(parts, wire.destination)),
            "destination": str(wire.destination),
            "tunable": tunable,
            **({"slot": slots[wire.destination]} if wire.destination in slots else {}),
            **conversion_facts(wire.conversion),
        }
