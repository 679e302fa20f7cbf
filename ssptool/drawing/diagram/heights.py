"""Heights of the stations of layers, chosen so that most lines are straight."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

from ssptool.drawing.diagram.layers import Edge, Station

Hop: TypeAlias = tuple[Edge, Station, Station]
"""An edge between two consecutive stations."""

_SWEEPS = 12
"""Maximum number of sweeps; heights settle in a few."""

_GRID = 2.0**-8
"""Heights [mm] are multiples of this, so that their sums are exact and lines between equal heights are straight."""


def on_grid(height: float) -> float:
    """The nearest multiple of the grid."""
    return round(height / _GRID) * _GRID


Pulls: TypeAlias = list[tuple[Station, float]]
"""Connected stations of a station, and how much higher than each it has to be for a straight line."""


class Heights:
    """Heights of the lower edges of stations.

    Parameters
    ----------
    hops
        Edges that pull stations towards each other.
    pin
        The height at which an edge meets a station, above its lower edge.
    apart
        Smallest distance between the lower edges of a station and of the station below it.
        reach
            Largest distance that a station may be moved to make more of its lines straight.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Station]],
        hops: Iterable[Hop],
        pin: Callable[[Edge, Station], float],
        apart: Callable[[Station, Station], float],
        reach: float,
    ) -> None:
        self._pin = pin
        self._apart = apart
        self._of: dict[Station, float] = {}
        floors = [self._floor(row) for row in rows]
        for row, floor in zip(rows, floors, strict=True):
            self._of |= zip(row, floor, strict=True)
        pulls: dict[Station, Pulls] = defaultdict(list)
        for edge, one, other in hops:
            higher = pin(edge, other) - pin(edge, one)
            pulls[one].append((other, higher))
            pulls[other].append((one, -higher))
        self._settle([*zip(rows, floors, strict=True)], pulls)
        for row in [*rows, *rows[::-1]]:
            for place in range(len(row)):
                self._straighten(row, place, pulls, reach)

    def __getitem__(self, station: Station) -> float:
        return self._of[station]

    def at(self, edge: Edge, station: Station) -> float:
        """The height at which an edge begins, passes or ends."""
        return self._of[station] + self._pin(edge, station)

    def move(self, stations: Iterable[Station], up: float) -> None:
        for station in stations:
            self._of[station] += up

    def _settle(
        self, rows: Sequence[tuple[Sequence[Station], Sequence[float]]], pulls: Mapping[Station, Pulls]
    ) -> None:
        """Move stations towards their pulls, from the first row to the last and back, until none moves."""
        for sweep in range(_SWEEPS):
            moved = False
            for row, floor in rows if sweep % 2 == 0 else rows[::-1]:
                found = _nearest([self._wanted(station, pulls[station]) for station in row], floor)
                moved = moved or found != [self._of[station] for station in row]
                self._of |= zip(row, found, strict=True)
            if not moved:
                break

    def _wanted(self, station: Station, pulls: Pulls) -> float:
        """The height at which its lines would be straight, on average."""
        of = self._of
        return sum([of[other] + higher for other, higher in pulls]) / len(pulls) if pulls else of[station]

    def _straighten(self, row: Sequence[Station], place: int, pulls: Mapping[Station, Pulls], reach: float) -> None:
        """Move a station to the near height with most straight lines; neighbours make room."""
        station = row[place]
        shifts = {self._of[other] + higher - self._of[station] for other, higher in pulls[station]}
        near = [shift for shift in shifts if 0.0 < abs(shift) <= reach]
        best, most = dict[Station, float](), 0
        for shift in sorted(near, key=lambda shift: (abs(shift), shift)):
            moved = self._moved(row, place, shift)
            gain = sum([self._straight(moved[one], pulls[one]) for one in moved])
            gain -= sum([self._straight(self._of[one], pulls[one]) for one in moved])
            if gain > most:
                best, most = moved, gain
        self._of |= best

    def _straight(self, height: float, pulls: Pulls) -> int:
        return sum([self._of[other] + higher == height for other, higher in pulls])

    def _moved(self, row: Sequence[Station], place: int, shift: float) -> dict[Station, float]:
        """New heights of a moved station and of the stations that it pushes."""
        height = self._of[row[place]] + shift
        moved = {row[place]: height}
        side = -1 if shift < 0.0 else 1
        for station in row[place + 1 :] if side > 0 else row[:place][::-1]:
            step = self._step(row[place], station) if side > 0 else self._step(station, row[place])
            height += side * step
            if (self._of[station] - height) * side >= 0.0:
                break
            moved[station] = height
            place += side
        return moved

    def _step(self, below: Station, above: Station) -> float:
        """The demanded distance, rounded up to the grid."""
        return math.ceil(self._apart(below, above) / _GRID) * _GRID

    def _floor(self, row: Sequence[Station]) -> list[float]:
        """The lowest heights of a row whose first station is at 0."""
        return [0.0, *accumulate(self._step(below, above) for below, above in pairwise(row))][: len(row)]


def _nearest(wanted: Sequence[float], floor: Sequence[float]) -> list[float]:
    """The heights nearest to the wanted ones (least squares) that keep order and the gaps of the lowest ones."""
    free = rising([height - low for height, low in zip(wanted, floor, strict=True)])
    # Rounding keeps order, and so the gaps.
    return [on_grid(height) + low for height, low in zip(free, floor, strict=True)]


def rising(values: Sequence[float]) -> list[float]:
    """The nearest non-decreasing values (least squares).

    Pools of unordered neighbours get their mean (the algorithm PAVA). For few values, this is faster than numpy.
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        total, number = value, 1
        while pools and pools[-1][0] * number >= total * pools[-1][1]:
            before = pools.pop()
            total, number = total + before[0], number + before[1]
        pools.append((total, number))
    return [total / number for total, number in pools for _ in range(number)]
