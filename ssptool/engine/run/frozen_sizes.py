"""Control of the sizes of macro steps, in the frozen plan of a run."""

from ssptool.engine.masters.adaptive import Adaptive
from ssptool.engine.masters.energy import Bond, EnergyControlled
from ssptool.engine.masters.master import Master
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.coupling import nominal_stated, other_slots, real_slots
from ssptool.engine.run.frozen_variables import Json


def frozen_sizes(plan: Plan, master: Master) -> Json:
    """Control of sizes that the plan of a run has for a master that chooses them."""
    if isinstance(master, Adaptive):
        return {"doubling": _doubling(plan, master)}
    assert isinstance(master, EnergyControlled)
    return {"energy": _energy(plan, master)}


def _doubling(plan: Plan, master: Adaptive) -> Json:
    """Limits, and the signals that are compared."""
    reals, stated = real_slots(plan), nominal_stated(plan)
    slots = range(len(plan.signals)) if reals is None else reals.tolist()
    limits = ("tolerance", "largest", "safety", "least_factor", "largest_factor", "smallest")
    return {
        **{name: getattr(master, name) for name in limits},
        "order": master.base.inputs.order_of_accuracy,
        "reals": list(slots),
        "nominal": [plan.nominal[slot] if stated[slot] else None for slot in slots],
        "others": other_slots(plan).tolist(),
    }


def _energy(plan: Plan, master: EnergyControlled) -> Json:
    """Limits, bonds, and the signals that are not real numbers."""
    limits = ("tolerance", "largest", "safety", "integral", "proportional")
    factors = ("least_factor", "largest_factor", "smallest", "order")
    return {
        **{name: getattr(master, name) for name in (*limits, *factors)},
        "bonds": [_bond(one) for one in master.bonds],
        "others": other_slots(plan).tolist(),
    }


def _bond(bond: Bond) -> Json:
    return {
        "outputs": [bond.first, bond.second],
        "inputs": [bond.into_first, bond.into_second],
        "factors": [bond.first_factor, bond.second_factor],
        "scales": [bond.first_scale, bond.second_scale],
        "nominal": bond.nominal,
    }
