"""Probe for outputs that move with an input although the description of their FMU denies it."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.kernel.interface import read_slot
from ssptool.engine.planning.plan import Feedthrough, Plan, PlannedInstance
from ssptool.fmu.description import Value, Variability, Variable
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.network.dependencies import Stage, needs

PROBE = 1e-3
"""Change of an input, relative to the larger of its size and its nominal value."""

MOVED = 1e-9
"""Change of an output, relative to the larger of its size and its nominal value, above which it has moved."""

Denied: TypeAlias = Mapping[str, tuple[str, ...]]
"""Connected input of a component → its outputs which do not depend on the input, as the FMU says."""


def undeclared_feedthrough(assembly: Assembly) -> tuple[Feedthrough, ...]:
    """Pairs of an input and an output that moves with it, against ModelStructure.

    The instances are at the first point after initialization, where outputs belong to the inputs. An FMU that saves its
    state is given changed inputs, and then its state again. Of any other, outputs are asked for after its inputs have
    got the values of their sources, as they do before the first step.

    Raises
    ------
    FmiError
        An FMU does not take back the state, or the inputs, that it had.
    """
    found: list[Feedthrough] = []
    for planned, instance in zip(assembly.plan.instances, assembly.instances, strict=True):
        denied = denials(assembly.plan, planned)
        if not denied:
            continue
        ask = _probed if planned.capabilities.saves_state else _exchanged
        found += (Feedthrough(planned.name, *pair) for pair in ask(assembly, planned, instance, denied))
    return tuple(found)


def denials(plan: Plan, planned: PlannedInstance) -> Denied:
    variables, wired = planned.description.variables, {wire.destination for wire in plan.wires}
    inputs = [
        one.variable
        for one, slot in zip(planned.inputs, planned.input_slots, strict=True)
        if slot in wired and _is_continuous(variables[one.variable])
    ]
    if not inputs:
        return {}
    component = plan.network.components[planned.name]
    found: dict[str, list[str]] = {name: [] for name in inputs}
    for output in (one.variable for one in planned.outputs if _is_continuous(variables[one.variable])):
        declared = needs(component, output, Stage.COMMUNICATION)
        if declared is not None:
            for name in inputs:
                if name not in declared:
                    found[name].append(output)
    return {name: tuple(outputs) for name, outputs in found.items() if outputs}


def _is_continuous(variable: Variable) -> bool:
    return variable.type == "Float64" and variable.array is None and variable.variability is Variability.CONTINUOUS


def _probed(
    assembly: Assembly, planned: PlannedInstance, instance: FmuInstance, denied: Denied
) -> list[tuple[str, str]]:
    """Pairs that move if inputs are changed from a saved state. All at once first: mostly nothing moves."""
    kernel, variables = assembly.kernel, planned.description.variables
    ends = (
        *zip(planned.inputs, planned.input_slots, strict=True),
        *zip(planned.outputs, planned.output_slots, strict=True),
    )
    present = {one.variable: read_slot(kernel, slot, assembly.plan.types[slot]) for one, slot in ends}
    every = tuple(dict.fromkeys(output for outputs in denied.values() for output in outputs))
    changed = {name: _beside(variables[name], present[name], place) for place, name in enumerate(denied)}
    try:
        state = instance.keep_state()
    except FmiError:  # the run may do without
        return []

    def moved(changes: Mapping[str, Value], outputs: Iterable[str]) -> list[str]:
        after: Mapping[str, Value] = {}
        with contextlib.suppress(FmiError):  # which is told if the run itself comes to it
            instance.set(changes)
            after = instance.get(outputs)
        _go_back(instance, state, {name: present[name] for name in changes})
        return [name for name in after if _differ(present[name], after[name], variables[name])]

    found: list[tuple[str, str]] = []
    if moved(changed, every):
        present |= instance.get(every)  # what is in slots may be from before the inputs
        for name, outputs in denied.items():
            found += ((name, output) for output in moved({name: changed[name]}, outputs))
    with contextlib.suppress(FmiError):
        instance.drop_state(state)
    return found


def _go_back(instance: FmuInstance, state: Any, inputs: Mapping[str, Value]) -> None:
    """Restore a state, or at least the inputs where the FMU refuses it in spite of its description."""
    try:
        instance.go_back(state)
    except FmiError:
        instance.set(inputs)


def _exchanged(
    assembly: Assembly, planned: PlannedInstance, instance: FmuInstance, denied: Denied
) -> list[tuple[str, str]]:
    """Pairs of an input that gets another value now, and of an output that moves with it."""
    plan, kernel, variables = assembly.plan, assembly.kernel, planned.description.variables
    slots = {one.variable: slot for one, slot in zip(planned.inputs, planned.input_slots, strict=True)}
    wires = {wire.destination: wire for wire in plan.wires}
    new: dict[str, Value] = {}
    for name in denied:
        wire = wires[slots[name]]
        value = wire.conversion.carry(read_slot(kernel, wire.source, plan.types[wire.source]))
        if _differ(read_slot(kernel, slots[name], "Float64"), value, variables[name]):
            new[name] = value
    every = tuple(dict.fromkeys(output for name in new for output in denied[name]))
    if not every:
        return []
    try:
        before = instance.get(every)
        instance.set(new)
        after = instance.get(every)
    except FmiError:
        return []
    moved = {output for output in every if _differ(before[output], after[output], variables[output])}
    return [(name, output) for name in new for output in denied[name] if output in moved]


def _beside(variable: Variable, value: Value, place: int) -> float:
    """A value beside this one, within the range of the variable; of two inputs the changes differ."""
    assert isinstance(value, float)
    change = PROBE * (1 + 0.37 * place) * max(abs(value), abs(variable.nominal))
    return value + change if value + change <= variable.maximum else value - change


def _differ(one: Value, other: Value, variable: Variable) -> bool:
    assert isinstance(one, float) and isinstance(other, float)
    return not abs(one - other) <= MOVED * max(abs(one), abs(variable.nominal))
