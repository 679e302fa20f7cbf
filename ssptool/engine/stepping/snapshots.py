"""Snapshots of a simulation: states in memory that it can restore."""

from typing import NamedTuple

from ssptool.engine.masters.protocols import SavedState
from ssptool.engine.stepping.values import PointOfRows
from ssptool.public_calls import public


class PointOfRun(NamedTuple):
    """Facts of a simulation at a point, in addition to its system."""

    rows: PointOfRows
    memory: SavedState
    steps: int
    sets: int
    finished: bool
    terminated: bool


@public
class SimulationSnapshot:
    """State of a simulation at a communication point, for its `restore`. Its memory is freed with the last reference.

    Attributes
    ----------
    time : [s]
        The communication point.
    """

    def __init__(self, number: int, point: PointOfRun, forgotten: list[int]) -> None:
        self.time = float(point.rows.last[0])
        self._number, self._point, self._forgotten = number, point, forgotten

    def __repr__(self) -> str:
        return f"<Snapshot at t = {self.time:g} s>"

    def __del__(self) -> None:
        self._forgotten.append(self._number)
