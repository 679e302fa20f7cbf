"""What a simulation under the control of a program has been through."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import LONG_AGO, Floats

REMEMBERED = 3
"""Points that inputs may be extrapolated from: as many as a kernel remembers."""


class SimulationRows:
    """Its rows.

    Attributes
    ----------
    history : (k, 1 + slots)
        Time and values at the accepted points from which inputs are extrapolated, k ≤ 3.
    last : (1 + slots,)
        The last row, which need not be one of them.
    at_point
        Whether it is one, and not on a side of an event.
    """

    def __init__(self, slots: int, recorded: Sequence[int]) -> None:
        self.history: Floats = np.empty((0, 1 + slots))
        self.last: Floats = np.zeros(1 + slots)
        self.at_point = True
        self._chosen = [0, *(1 + slot for slot in recorded)]
        self._rows: list[Floats] = []

    @property
    def time(self) -> float:
        """Of the last one [s]."""
        return float(self.last[0])

    @property
    def recorded(self) -> Floats:
        """(n, 1 + recorded) All rows since entry, of what is recorded."""
        self._rows = [np.concatenate(self._rows)] if self._rows else []
        return self._rows[0] if self._rows else self.history[:, self._chosen]

    def add(self, rows: Floats, points: NDArray[np.bool_] | None = None) -> None:
        """`points` says which are accepted ones; None: all are."""
        if not len(rows):
            return
        self.at_point = points is None or bool(points[-1])
        self.last = rows[-1].copy()
        self._rows.append(rows[:, self._chosen])
        accepted = rows if points is None else rows[points]
        history = np.concatenate([self.history, accepted[-REMEMBERED:]])[-REMEMBERED:]
        sides = np.flatnonzero(np.diff(history[:, 0]) == 0)
        if sides.size:
            # At the other side of an event, what was before is forgotten.
            history = _forgetful(history[sides[-1] + 1 :])
        self.history = history

    def replace_last(self, values: Floats) -> None:
        """By these values, from which inputs may have jumped: what was before is forgotten."""
        self.last = np.concatenate([[self.time], values])
        self.history = _forgetful(self.last[None])
        self._rows[-1][-1] = self.last[self._chosen]

    def go_on(self, history: Floats, last: Floats) -> None:
        """From those of another simulation."""
        self.history, self.last = history, last
        self._rows = [last[np.newaxis, self._chosen]]


def _forgetful(since: Floats) -> Floats:
    """These points, before which there was nothing but the first of them."""
    return np.concatenate([[np.concatenate([[LONG_AGO], since[0, 1:]])], since])
