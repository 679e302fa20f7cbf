"""Level and upright ways around boxes, for lines whose ends have a place but that have no way points."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from ssptool.drawing.sheets.sheet import Point
from ssptool.drawing.sheets.stated import Extent

MOST = 200
"""With more boxes a way through all gaps between them, or free places for lines, take too long to find."""
_BEND = 8.0
"""A bend is as long as so much of the distance to keep from boxes."""

Free = NDArray[np.bool_]


def way_around(begin: Point, finish: Point, boxes: Sequence[Extent], apart: float) -> list[Point] | None:
    """The shortest way with few bends, outside of all (upright) boxes; None if there is none.

    It runs on the grid of lines at the distance `apart` from the boxes, and through both ends.
    """
    if len(boxes) > MOST:
        return None
    xs = sorted({begin.x, finish.x, *(x for box in boxes for x in (box.x1 - apart, box.x2 + apart))})
    ys = sorted({begin.y, finish.y, *(y for box in boxes for y in (box.y1 - apart, box.y2 + apart))})
    lows = np.array([(box.x1, box.y1, box.x2, box.y2) for box in boxes]).reshape(-1, 4).T
    level = _free(np.array(xs), np.array(ys), lows)
    upright = _free(np.array(ys), np.array(xs), lows[[1, 0, 3, 2]]).T
    start, end = (xs.index(begin.x), ys.index(begin.y)), (xs.index(finish.x), ys.index(finish.y))
    places = _shortest(xs, ys, level, upright, start, end, _BEND * apart)
    return None if places is None else [Point(xs[i], ys[j]) for i, j in places]


def crosses(way: Sequence[Point], boxes: Sequence[Extent]) -> bool:
    """Whether a way of level and upright parts runs through a box."""
    return any(
        min(a.x, b.x) < box.x2 and max(a.x, b.x) > box.x1 and min(a.y, b.y) < box.y2 and max(a.y, b.y) > box.y1
        for a, b in pairwise(way)
        for box in boxes
    )


def _free(along: NDArray[np.float64], beside: NDArray[np.float64], boxes: NDArray[np.float64]) -> Free:
    """(n - 1, m): whether the part of a grid line between two crossings is outside of all boxes (4, k)."""
    a1, b1, a2, b2 = boxes
    over = (along[:-1, None] < a2) & (along[1:, None] > a1)
    within = (beside[:, None] < b2) & (beside[:, None] > b1)
    free: Free = ~((over.astype(np.int32) @ within.T.astype(np.int32)) > 0)
    return free


_Place = tuple[int, int]


def _shortest(
    xs: Sequence[float], ys: Sequence[float], level: Free, upright: Free, start: _Place, end: _Place, bend: float
) -> list[_Place] | None:
    """Dijkstra's way over crossings, each with the direction from which it was reached."""
    tie = count()
    waiting: list[tuple[float, int, _Place, int, tuple[_Place, int] | None]] = [(0.0, next(tie), start, -1, None)]
    before: dict[tuple[_Place, int], tuple[_Place, int] | None] = {}
    while waiting:
        cost, _, place, way, last = heappop(waiting)
        if (place, way) in before:
            continue
        before[place, way] = last
        if place == end:
            return _back(before, (place, way))
        for there, direction in _beside(place, level, upright):
            if (there, direction) not in before:
                length = abs(xs[there[0]] - xs[place[0]]) + abs(ys[there[1]] - ys[place[1]])
                turned = bend if way not in (-1, direction) else 0.0
                heappush(waiting, (cost + length + turned, next(tie), there, direction, (place, way)))
    return None


def _beside(place: _Place, level: Free, upright: Free) -> Iterator[tuple[_Place, int]]:
    """The crossings that can be reached, and whether levelly (0) or upright (1)."""
    i, j = place
    if i < len(level) and level[i, j]:
        yield (i + 1, j), 0
    if i > 0 and level[i - 1, j]:
        yield (i - 1, j), 0
    if j < upright.shape[1] and upright[i, j]:
        yield (i, j + 1), 1
    if j > 0 and upright[i, j - 1]:
        yield (i, j - 1), 1


def _back(before: dict[tuple[_Place, int], tuple[_Place, int] | None], last: tuple[_Place, int]) -> list[_Place]:
    way = []
    state: tuple[_Place, int] | None = last
    while state is not None:
        way.append(state[0])
        state = before[state]
    return way[::-1]
