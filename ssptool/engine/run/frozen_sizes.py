"""Control of macro step sizes as data, for the frozen plan of a run."""

import math
from collections.abc import Sequence

from ssptool.engine.masters.power_bonds import PowerBond
from ssptool.engine.masters.step_sizes import SizeControl, SizeRule
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.coupling import nominal_stated, other_slots, real_slots
from ssptool.engine.run.frozen_variables import Json

_WAYS = {SizeRule.DOUBLING: 4.0, SizeRule.DEFECTS: 1e9}
"""Largest number of times that an input counts as passing through its range in a run."""


def frozen_sizes(plan: Plan, control: SizeControl) -> Json:
    """Data of the control of macro step sizes."""
    limits = {"tolerance": control.tolerance, "largest": control.largest, "order": control.order}
    limits |= control.controller._asdict()
    if control.rule is SizeRule.ENERGY:
        bonds, others = _bonds(plan, control.bonds), other_slots(plan).tolist()
        return {"energy": limits | {"bonds": bonds, "others": others}}
    if control.rule is SizeRule.DEFECTS:
        limits["largest"] = min(control.largest, _until_noticed(plan, control.tolerance))
    limits |= {"first": control.first, "share": control.share, "ways": _WAYS[control.rule]}
    return {str(control.rule): limits | _compared(plan)}


def _until_noticed(plan: Plan, tolerance: float) -> float:
    """Largest step [s] at whose end a jump or a switch may be noticed; steps that are not repeated cannot locate it.
    The higher the requested accuracy, the earlier it is noticed, so that the error estimate includes the effect.
    """
    switches = not {wire.destination for wire in plan.wires}.isdisjoint(other_slots(plan).tolist())
    part = tolerance if switches else math.sqrt(tolerance)
    return part * (plan.interval.stop - plan.interval.start)


def _compared(plan: Plan) -> Json:
    """Signals that are compared."""
    stated, repeated = nominal_stated(plan), _repeated(plan)
    slots, inputs = _real_slots(plan), connected_inputs(plan)
    return {
        "reals": slots,
        "nominal": [plan.nominal[slot] if stated[slot] else None for slot in slots],
        "others": [slot for slot in other_slots(plan).tolist() if slot not in repeated],
        "switches": _switches(plan, inputs),
        "inputs": inputs,
    }


def connected_inputs(plan: Plan) -> list[int]:
    """Slots of real inputs of components that a connection drives."""
    return sorted({wire.destination for wire in plan.wires} & set(_real_slots(plan)))


def _real_slots(plan: Plan) -> list[int]:
    reals = real_slots(plan)
    return sorted(set(range(len(plan.signals)) if reals is None else reals.tolist()) - _repeated(plan))


def _repeated(plan: Plan) -> set[int]:
    """Slots of connectors of the system that repeat signals of components, and do so at communication points only, not
    at the end of steps that are tried.
    """
    fed = {wire.destination for wire in plan.wires}
    return {slot for slot in fed if plan.signals[slot].component not in plan.network.components}


def _switches(plan: Plan, inputs: Sequence[int]) -> list[Json]:
    """Outputs that are not real numbers: whether their component depends on them through others, and those of the
    connected real `inputs` that it has.
    """
    others = set(other_slots(plan).tolist())
    coupled = {k for group in plan.groups if len(group.instances) > 1 for k in group.instances}
    return [
        {"output": [slot], "acts_back": k in coupled, "causes": sorted(set(one.input_slots) & set(inputs))}
        for k, one in enumerate(plan.instances)
        for slot in one.output_slots
        if slot in others
    ]


def _bonds(plan: Plan, bonds: Sequence[PowerBond]) -> list[Json]:
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    return [
        {
            "outputs": [slots[bond.first], slots[bond.second]],
            "inputs": [slots[bond.into_first], slots[bond.into_second]],
            "factors": [bond.first_factor, bond.second_factor],
            "scales": [bond.first_scale, bond.second_scale],
            "nominal": bond.nominal,
        }
        for bond in bonds
    ]
