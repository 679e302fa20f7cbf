"""Variables of components in frozen plans, and connections of calculated parameters; arrays are set as a whole."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ssptool.engine.kernel.calls import ACCESS, FLOAT
from ssptool.engine.kernel.slot_values import NOTHING
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.fmu.description import Value, Variability, element_names
from ssptool.network.network import Conversion, Signal

Json = dict[str, Any]


class PartVariable(NamedTuple):
    """A variable of a part, or some `elements` of an array, counted from 0 (none: all of them).

    `suffix` is the suffix of the FMI functions for its type, `size` the number of all elements. If only some elements
    are meant, `starts` has the values of the whole array, because FMI sets arrays as a whole.
    """

    part: int
    reference: int
    suffix: str
    size: int = 1
    elements: tuple[int, ...] = ()
    starts: tuple[Value, ...] = ()


NumberedParts = Mapping[str, tuple[int, PlannedInstance]]
"""Name of a part → its number, and the part."""


def numbered_parts(plan: Plan) -> NumberedParts:
    return {one.name: (number, one) for number, one in enumerate(plan.instances)}


def part_variable(parts: NumberedParts, signal: Signal) -> PartVariable:
    """A scalar variable of a component, or an element of an array."""
    number, one = parts[signal.component]
    variable = one.description.variables[signal.variable]
    suffix = ACCESS[one.description.fmi_major][variable.type]
    if variable.array is None:
        return PartVariable(number, variable.reference, suffix)
    names = element_names(variable.array, one.description.arrays[variable.array])
    starts = tuple(start_value(one, name) for name in names)
    return PartVariable(number, variable.reference, suffix, len(names), (variable.element,), starts)


def start_value(one: PlannedInstance, name: str) -> Value:
    """Value of a variable or an element before initialization: given by the system, otherwise by the FMU."""
    variable = one.description.variables[name]
    given = one.starts.get(name, variable.start)
    return NOTHING.get(variable.type, 0) if given is None else given


def frozen_variable(one: PartVariable) -> Json:
    found: Json = {"part": one.part, "reference": one.reference, "type": one.suffix}
    if one.size != 1 or one.elements:
        found["size"] = one.size
    if one.elements:
        found["elements"] = list(one.elements)
        found["starts"] = [json_value(start, one.suffix) for start in one.starts]
    return found


def frozen_parameter_wires(plan: Plan) -> Iterator[Json]:
    """Connections from calculated parameters of components to parameters of others."""
    parts = numbered_parts(plan)
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    for wire in plan.parameter_wires:
        tunable = plan.network.variable(wire.source).variability is Variability.TUNABLE
        yield {
            "from": frozen_variable(part_variable(parts, wire.source)),
            "to": frozen_variable(part_variable(parts, wire.destination)),
            "destination": str(wire.destination),
            "tunable": tunable,
            **({"slot": slots[wire.destination]} if wire.destination in slots else {}),
            **conversion_facts(wire.conversion),
        }


def json_value(value: Value, kind: str) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return float(value) if kind in (FLOAT, "Float32") else value


def conversion_facts(conversion: Conversion) -> Json:
    found: Json = {}
    if conversion.table:
        found["table"] = [list(pair) for pair in conversion.table]
    if (conversion.factor, conversion.offset) != (1.0, 0.0):
        found |= {"factor": conversion.factor, "offset": conversion.offset}
    return found
