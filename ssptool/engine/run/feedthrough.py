"""Undeclared direct feedthrough: connected inputs, and outputs that must not depend on them, as data for the system."""

import math
from collections.abc import Iterator, Mapping

from ssptool.engine.kernel.calls import ACCESS, FLOAT
from ssptool.engine.planning.plan import Feedthrough, Plan, PlannedInstance
from ssptool.engine.run.frozen_variables import Json
from ssptool.fmu.description import Variability, Variable
from ssptool.network.signal_graph import Stage, needs


def undeclared_feedthrough(plan: Plan, found: tuple[tuple[int, int], ...]) -> tuple[Feedthrough, ...]:
    """Direct feedthrough of components, from slots of inputs and outputs."""
    ends = ((plan.signals[one], plan.signals[other]) for one, other in found)
    return tuple(Feedthrough(one.component, one.variable, other.variable) for one, other in ends)


def frozen_denials(plan: Plan) -> Iterator[Json]:
    """Declared absence of direct feedthrough, by component, with the data for testing it."""
    wired = {wire.destination for wire in plan.wires}
    for number, one in enumerate(plan.instances):
        slots = {signal.variable: slot for signal, slot in zip(one.inputs, one.input_slots, strict=True)}
        denied = _denials(plan, one, [name for name, slot in slots.items() if slot in wired])
        if not denied:
            continue
        slots |= {signal.variable: slot for signal, slot in zip(one.outputs, one.output_slots, strict=True)}
        outputs = list(dict.fromkeys(output for outputs in denied.values() for output in outputs))
        places = {name: place for place, name in enumerate(outputs)}
        variables = one.description.variables
        yield {
            "part": number,
            "saves_state": one.capabilities.saves_state,
            "type": ACCESS[one.description.fmi_major][FLOAT],
            "inputs": [
                frozen_end(variables[name], slots[name]) | {"outputs": [places[output] for output in denied[name]]}
                for name in denied
            ],
            "outputs": [frozen_end(variables[name], slots[name]) for name in outputs],
        }


def frozen_end(variable: Variable, slot: int) -> Json:
    """A real variable whose value is varied or observed in the test."""
    found: Json = {"slot": slot, "reference": variable.reference, "nominal": variable.nominal}
    return found | ({"maximum": variable.maximum} if math.isfinite(variable.maximum) else {})


def _denials(plan: Plan, one: PlannedInstance, wired: list[str]) -> Mapping[str, list[str]]:
    """Connected input of a component → its outputs that do not depend on the input, according to the FMU."""
    variables = one.description.variables
    found: dict[str, list[str]] = {name: [] for name in wired if is_continuous(variables[name])}
    if not found:
        return {}
    component = plan.network.components[one.name]
    for output in (signal.variable for signal in one.outputs if is_continuous(variables[signal.variable])):
        declared = needs(component, output, Stage.COMMUNICATION)
        for name in found:
            if declared is not None and name not in declared:
                found[name].append(output)
    return {name: outputs for name, outputs in found.items() if outputs}


def is_continuous(variable: Variable) -> bool:
    """True for a continuous scalar, whose value may be varied."""
    return variable.type == "Float64" and variable.array is None and variable.variability is Variability.CONTINUOUS
