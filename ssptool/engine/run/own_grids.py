"""Outputs that change only at points of a grid of their FMU, which integrates or samples on it, at any step size."""

from typing import NamedTuple

import numpy as np

from ssptool.engine.planning.plan import Plan
from ssptool.engine.trace import Floats, Trace
from ssptool.fmu.description import InterfaceType

FEWEST_POINTS = 8
"""Smallest number of changes between steps without a change that shows a grid."""

NOTABLE_PART = 0.01
"""Smallest part of the changes of a signal that these make up; below it, they may be rounding."""


REGULAR = 0.85
"""Part of the distances that are multiples of one, as far as steps show them, on a grid."""


class OwnGrid(NamedTuple):
    """A continuous output that changes at points of a grid of its FMU: the first one, and their distance [s]."""

    signal: str
    time: float
    spacing: float

    def __str__(self) -> str:
        return (
            f"{self.signal} changes only at points about {self.spacing:.2g} s apart; if its FMU integrates on this "
            "grid, smaller steps do not show the error of that"
        )


def own_grid(plan: Plan, trace: Trace) -> OwnGrid | None:
    """The recorded output of co-simulation with the widest grid that the rows of all steps show; None: no output."""
    stepped = (one for one in plan.instances if one.interface is InterfaceType.CO_SIMULATION)
    outputs = {slot for one in stepped for slot in one.output_slots}
    rows = np.append(trace.t[1:] > trace.t[:-1], True)
    found = []
    for place, slot in enumerate(plan.recorded):
        column = trace.columns[place]
        if slot in outputs and column.real and not column.held:
            points = _points(trace.t[rows], trace.cells[rows, place])
            if points is not None:
                found.append(OwnGrid(column.signal, *points))
    return max(found, key=lambda one: one.spacing, default=None)


def _points(t: Floats, values: Floats) -> tuple[float, float] | None:
    """The first point of the grid on which values (n,) change, and the distance of its points [s]; None: no grid.

    A signal that switches between few values is on no grid, nor is a rounded one, whose changes are not equally far
    apart.
    """
    moves = values[1:] != values[:-1]
    alone = moves.copy()
    alone[1:] &= ~moves[:-1]
    alone[:-1] &= ~moves[1:]
    at = np.flatnonzero(alone)
    if len(at) < FEWEST_POINTS or 2 * len(np.unique(values[at + 1])) < len(at):
        return None
    with np.errstate(invalid="ignore"):
        changes = np.abs(np.diff(values))
    if not np.sum(changes[at]) >= NOTABLE_PART * np.sum(changes):
        return None
    steps = np.flatnonzero(moves)
    between = alone[steps[1:]] & alone[steps[:-1]]
    # A change is somewhere in its step.
    distances = np.diff((t[steps] + t[steps + 1]) / 2)[between]
    unclear = ((np.diff(t)[steps[1:]] + np.diff(t)[steps[:-1]]) / 2)[between]
    if not len(distances):
        return None
    spacing = float(np.median(distances))
    off = np.abs(distances - spacing * np.maximum(np.round(distances / spacing), 1.0))
    if np.count_nonzero(off <= unclear) < REGULAR * len(distances):
        return None
    return float(t[at[0] + 1]), spacing
