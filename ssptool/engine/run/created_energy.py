"""Energy that a coupling creates, or destroys, at power bonds whose inputs are held over steps."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.masters.energy import PowerBond, bonds_of_units
from ssptool.engine.planning.plan import Plan
from ssptool.engine.trace import Floats, Trace
from ssptool.fmu.description import InterfaceType


class CreatedEnergy(NamedTuple):
    """Energy that a run creates at a bond, relative to the range of what has flowed through the bond.

    It is negative where energy is destroyed. `time` [s] is that of the step that creates most.
    """

    bond: PowerBond
    share: float
    time: float


def created_energy(plan: Plan, trace: Trace, rows: NDArray[np.bool_]) -> Iterator[CreatedEnergy]:
    """Energy at each power bond between components that hold their inputs from the start of a step, by rows of a trace.

    Over a step of h each side takes the other's output at the start, and gives the mean of its own: with the outputs
    y1 and y2, w · h · (mean(y1) · y2 − mean(y2) · y1) more flows into one component than out of the other.
    """
    held = {
        one.name
        for one in plan.instances
        if one.interface is InterfaceType.CO_SIMULATION and plan.substeps(one).count == 1
    }
    places = {column.signal: place for place, column in enumerate(trace.columns)}
    for bond in bonds_of_units(plan.network):
        names = str(bond.first), str(bond.second)
        if {bond.first.component, bond.second.component} <= held and places.keys() >= set(names):
            one, other = (trace.cells[rows, places[name]] for name in names)
            yield from _created(bond, trace.t[rows], one, other)


def _created(bond: PowerBond, t: Floats, one: Floats, other: Floats) -> Iterator[CreatedEnergy]:
    factor, h = bond.first_factor * bond.first_scale, np.diff(t)
    with np.errstate(over="ignore", invalid="ignore"):  # of a run that grows without bound nothing is told
        mean_one, mean_other = (0.5 * (y[1:] + y[:-1]) for y in (one, other))
        created = factor * h * (mean_one * other[:-1] - mean_other * one[:-1])
        flowed = np.cumsum(factor * h * mean_one * mean_other)
    total, scale = float(np.sum(created)), float(np.max(flowed, initial=0.0) - np.min(flowed, initial=0.0))
    if np.isfinite(total) and 0.0 < scale < np.inf:
        yield CreatedEnergy(bond, total / scale, float(t[np.argmax(np.abs(created))]))
