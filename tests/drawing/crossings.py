"""Ways that run through boxes."""

from collections.abc import Sequence
from itertools import pairwise

from ssptool.drawing.diagram.model import Point, Rectangle


def crosses(way: Sequence[Point], boxes: Sequence[Rectangle]) -> bool:
    """Whether a way of level and upright parts runs through a box."""
    return any(
        min(a.x, b.x) < box.x2 and max(a.x, b.x) > box.x1 and min(a.y, b.y) < box.y2 and max(a.y, b.y) > box.y1
        for a, b in pairwise(way)
        for box in boxes
    )
