"""Control of macro step sizes as data, for the frozen plan of a run."""

import math
from collections.abc import Mapping, Sequence

from ssptool.engine.masters.adaptive import Adaptive
from ssptool.engine.masters.defects import DefectControlled
from ssptool.engine.masters.energy import EnergyControlled, PowerBond
from ssptool.engine.masters.master import Master
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.coupling import nominal_stated, other_slots, real_slots
from ssptool.engine.run.frozen_variables import Json
from ssptool.network.network import Signal

_CONTROL = ("safety", "integral", "proportional", "least_factor", "largest_factor")


def frozen_sizes(plan: Plan, master: Master) -> Json:
    """Data of the control of macro step sizes by this master."""
    if isinstance(master, Adaptive):
        return {"doubling": _compared(plan, master)}
    if isinstance(master, DefectControlled):
        return {"defects": _compared(plan, master) | {"largest": min(master.largest, _until_noticed(plan, master))}}
    assert isinstance(master, EnergyControlled)
    return {"energy": _energy(plan, master)}


def _until_noticed(plan: Plan, master: DefectControlled) -> float:
    """Largest step [s] at whose end a jump or a switch may be noticed; steps that are not repeated cannot locate it.
    The higher the requested accuracy, the earlier it is noticed, so that the error estimate includes the effect.
    """
    switches = not {wire.destination for wire in plan.wires}.isdisjoint(other_slots(plan).tolist())
    part = master.tolerance if switches else math.sqrt(master.tolerance)
    return part * (plan.interval.stop - plan.interval.start)


def _compared(plan: Plan, master: Adaptive | DefectControlled) -> Json:
    """Limits, and the signals that are compared."""
    reals, stated, repeated = real_slots(plan), nominal_stated(plan), _repeated(plan)
    slots = sorted(set(range(len(plan.signals)) if reals is None else reals.tolist()) - repeated)
    inputs = sorted({wire.destination for wire in plan.wires} & set(slots))
    limits = ("tolerance", "largest", "first", "smallest", "order", "share", "ways")
    return {
        **{name: getattr(master, name) for name in (*limits, *_CONTROL)},
        "reals": slots,
        "nominal": [plan.nominal[slot] if stated[slot] else None for slot in slots],
        "others": [slot for slot in other_slots(plan).tolist() if slot not in repeated],
        "switches": _switches(plan, inputs),
        "inputs": inputs,
    }


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


def _energy(plan: Plan, master: EnergyControlled) -> Json:
    """Limits, bonds, and signals that are not real numbers."""
    limits = ("tolerance", "largest", "smallest", "order")
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    return {
        **{name: getattr(master, name) for name in (*limits, *_CONTROL)},
        "bonds": [_bond(one, slots) for one in master.bonds],
        "others": other_slots(plan).tolist(),
    }


def _bond(bond: PowerBond, slots: Mapping[Signal, int]) -> Json:
    return {
        "outputs": [slots[bond.first], slots[bond.second]],
        "inputs": [slots[bond.into_first], slots[bond.into_second]],
        "factors": [bond.first_factor, bond.second_factor],
        "scales": [bond.first_scale, bond.second_scale],
        "nominal": bond.nominal,
    }
