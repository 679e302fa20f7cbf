"""Free room of a sheet, for new boxes near their partners."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from ssptool.drawing.diagram.layout import LayoutBox
from ssptool.drawing.diagram.model import Point, Rectangle
from ssptool.drawing.diagram.routing import Floats, Way

_BACK = 10.0
"""Additional cost, as length, of a line that runs back, in gaps between boxes."""


class Gaps(NamedTuple):
    """Distances of a box to boxes at its sides, to boxes above and below, and to lines [mm]."""

    across: float
    row: float
    lines: float


class Pull(NamedTuple):
    """A line to another box: which pin it leaves or enters (from the lower left corner), and the other pin."""

    pin: Point
    leaves: bool
    other: Point

    def length(self, corner: Point, gaps: Gaps) -> float:
        x, y = corner.x + self.pin.x, corner.y + self.pin.y
        ahead = self.other.x - x if self.leaves else x - self.other.x
        back = 0.0 if ahead >= gaps.across else _BACK * gaps.row
        return abs(ahead) + abs(y - self.other.y) + back

    def height(self) -> float:
        """Height of the lower corner at which the line is exactly straight."""
        y = self.other.y - self.pin.y
        near = (y, math.nextafter(y, math.inf), math.nextafter(y, -math.inf))
        return next((one for one in near if one + self.pin.y == self.other.y), y)


class Room:
    """Room between boxes and lines, below the upper edge of the sheet (y = 0).

    Parameters
    ----------
    areas
        Areas that boxes must not cover.
    """

    def __init__(self, areas: Iterable[Rectangle], ways: Iterable[Way], gaps: Gaps) -> None:
        self._areas = np.array([(one.x1, one.y1, one.x2, one.y2) for one in areas]).reshape(-1, 4)
        self._lines = np.array([(*a, *b) for way in ways for a, b in map(sorted, pairwise(way))]).reshape(-1, 4)
        self._gaps = gaps

    def is_free(self, extent: Rectangle) -> bool:
        across, row, lines = self._gaps
        return not (_touches(self._areas, extent, across, row) or _touches(self._lines, extent, lines, lines))

    def nearest(self, box: LayoutBox, columns: Sequence[float], pulls: Sequence[Pull], earlier: Point | None) -> Point:
        """The lower left corner with the shortest lines, near the earlier one, among free places in columns."""
        bottom = float(min(self._areas[:, 1].min(initial=0.0), self._lines[:, 1].min(initial=0.0)))
        right = float(self._areas[:, 2].max(initial=0.0))

        def cost(corner: Point) -> float:
            grown = max(corner.x + box.width - right, 0.0) + max(bottom - corner.y, 0.0)
            moved = abs(corner.x - earlier.x) + abs(corner.y - earlier.y) if earlier else 0.0
            return grown + moved + sum(pull.length(corner, self._gaps) for pull in pulls)

        heights = [*self._heights(box, pulls), bottom - self._gaps.row - box.height]
        places = [Point(x, y) for x, y in product(columns, dict.fromkeys(heights)) if y + box.height <= 0.0]
        return next(corner for corner in sorted(places, key=cost) if self.is_free(extent_of(box, corner)))

    def _heights(self, box: LayoutBox, pulls: Sequence[Pull]) -> Iterator[float]:
        """Heights of straight lines, and heights above and below other boxes."""
        yield from (pull.height() for pull in pulls)
        yield from (self._areas[:, 3] + self._gaps.row).tolist()
        yield from (self._areas[:, 1] - self._gaps.row - box.height).tolist()


def extent_of(box: LayoutBox, corner: Point) -> Rectangle:
    return Rectangle(corner.x, corner.y, corner.x + box.width, corner.y + box.height)


def _touches(there: Floats, extent: Rectangle, across: float, up: float) -> bool:
    """Whether anything is nearer than these distances to an area."""
    x1, y1, x2, y2 = there.T
    beside = (x1 < extent.x2 + across - _HAIR) & (x2 > extent.x1 - across + _HAIR)
    return bool((beside & (y1 < extent.y2 + up - _HAIR) & (y2 > extent.y1 - up + _HAIR)).any())


_HAIR = 1e-6
"""Distances that differ by less are equal [mm]."""
