"""The heights of what stands in layers: each as near to its neighbours as those above and below it allow.

They follow from isotonic regression, layer by layer, there and back.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from scipy.optimize import isotonic_regression

from ssptool.drawing.sheets.layers import Edge, Station

Hop: TypeAlias = tuple[Edge, Station, Station]
"""An edge between two stations that follow each other."""

_SWEEPS = 12
"""They settle in a few."""


class Heights:
    """Of the lower edges of stations.

    Parameters
    ----------
    hops
        What pulls stations towards each other.
    pin
        The height at which an edge meets a station, above its lower edge.
    apart
        How far the lower edge of a station is above that of the one below it, at least.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Station]],
        hops: Iterable[Hop],
        pin: Callable[[Edge, Station], float],
        apart: Callable[[Station, Station], float],
    ) -> None:
        self._pin = pin
        self._apart = apart
        self._of: dict[Station, float] = {}
        for row in rows:
            self._of |= self._nearest(row, [0.0] * len(row))
        pulls: Mapping[Station, list[tuple[Edge, Station]]] = defaultdict(list)
        for edge, one, other in hops:
            pulls[one].append((edge, other))
            pulls[other].append((edge, one))
        for sweep in range(_SWEEPS):
            for row in rows if sweep % 2 == 0 else rows[::-1]:
                self._of |= self._nearest(row, [self._wanted(station, pulls[station]) for station in row])

    def __getitem__(self, station: Station) -> float:
        return self._of[station]

    def at(self, edge: Edge, station: Station) -> float:
        """Where an edge begins, passes or ends."""
        return self._of[station] + self._pin(edge, station)

    def move(self, stations: Iterable[Station], up: float) -> None:
        for station in stations:
            self._of[station] += up

    def _wanted(self, station: Station, pulls: Sequence[tuple[Edge, Station]]) -> float:
        """The height at which its lines would be straight, on average."""
        shifts = [self.at(edge, other) - self.at(edge, station) for edge, other in pulls]
        return self._of[station] + (sum(shifts) / len(shifts) if shifts else 0.0)

    def _nearest(self, row: Sequence[Station], wanted: Sequence[float]) -> dict[Station, float]:
        """The heights nearest to the wanted ones (least squares) that keep order and gaps."""
        offsets = np.zeros(len(row))
        for place in range(1, len(row)):
            offsets[place] = offsets[place - 1] + self._apart(row[place - 1], row[place])
        free = isotonic_regression(np.asarray(wanted) - offsets).x if len(row) else offsets
        return dict(zip(row, (free + offsets).tolist(), strict=True))
