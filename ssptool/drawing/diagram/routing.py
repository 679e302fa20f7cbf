"""Ways of lines between boxes, and lanes between layers."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, islice, pairwise
from typing import TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ssptool.drawing.diagram.model import Line, Point, Rectangle

MOST = 200
"""With more boxes a way through all gaps between them, or free places for lines, take too long to find."""
_BEND = 8.0
"""A bend is as long as so much of the distance to keep from boxes."""

_FreePlaces = NDArray[np.bool_]


def way_around(begin: Point, finish: Point, boxes: Sequence[Rectangle], apart: float) -> list[Point] | None:
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


def crosses(way: Sequence[Point], boxes: Sequence[Rectangle]) -> bool:
    """Whether a way of level and upright parts runs through a box."""
    return any(
        min(a.x, b.x) < box.x2 and max(a.x, b.x) > box.x1 and min(a.y, b.y) < box.y2 and max(a.y, b.y) > box.y1
        for a, b in pairwise(way)
        for box in boxes
    )


def _free(along: NDArray[np.float64], beside: NDArray[np.float64], boxes: NDArray[np.float64]) -> _FreePlaces:
    """(n - 1, m): whether the part of a grid line between two crossings is outside of all boxes (4, k)."""
    a1, b1, a2, b2 = boxes
    over = (along[:-1, None] < a2) & (along[1:, None] > a1)
    within = (beside[:, None] < b2) & (beside[:, None] > b1)
    free: _FreePlaces = ~((over.astype(np.int32) @ within.T.astype(np.int32)) > 0)
    return free


_Place = tuple[int, int]


def _shortest(
    xs: Sequence[float],
    ys: Sequence[float],
    level: _FreePlaces,
    upright: _FreePlaces,
    start: _Place,
    end: _Place,
    bend: float,
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


def _beside(place: _Place, level: _FreePlaces, upright: _FreePlaces) -> Iterator[tuple[_Place, int]]:
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


def free_way(
    start: Point, outward: Point, end: Point, other: Point, reach: float, boxes: Sequence[Rectangle]
) -> list[Point]:
    """Out of both pins (points, and unit vectors away from their elements), across halfway between or around boxes."""
    simple = list(halfway(start, outward, end, other, reach))
    if not crosses(simple, boxes):
        return simple
    # A pin of an element that stands askew may be inside of the box around it.
    begin, finish = simple[1], simple[-2]
    others = [box for box in boxes if not (_is_in(begin, box) or _is_in(finish, box))]
    way = way_around(begin, finish, others, reach / 2)
    return simple if way is None else [start, *way, end]


def _is_in(point: Point, box: Rectangle) -> bool:
    return box.x1 < point.x < box.x2 and box.y1 < point.y < box.y2


def branches(lines: Sequence[Line]) -> list[Point]:
    """Branches of lines from one pin: points with at least three parts."""
    nets: dict[Point, list[Line]] = defaultdict(list)
    for line in lines:
        for pin in (line.points[0], line.points[-1]):
            nets[pin].append(line)
    found = (point for pin, net in nets.items() if len(net) > 1 for point in _branches(net) if point != pin)
    return list(dict.fromkeys(found))


def _branches(net: Sequence[Line]) -> Iterator[Point]:
    parts = [part for line in net for part in pairwise(line.points)]
    for point in dict.fromkeys(point for line in net for point in line.points[1:-1]):
        directions = {direction for part in parts for direction in _directions(point, *part)}
        if len(directions) > 2:
            yield point


def _directions(point: Point, one: Point, other: Point) -> Iterator[tuple[int, int]]:
    """Those in which a level or upright part goes from a point, if that is on it."""
    if one.x == other.x == point.x and min(one.y, other.y) <= point.y <= max(one.y, other.y):
        yield from ((0, (y > point.y) - (y < point.y)) for y in (one.y, other.y) if y != point.y)
    elif one.y == other.y == point.y and min(one.x, other.x) <= point.x <= max(one.x, other.x):
        yield from (((x > point.x) - (x < point.x), 0) for x in (one.x, other.x) if x != point.x)


def halfway(start: Point, outward: Point, end: Point, other: Point, reach: float) -> Iterator[Point]:
    """Out of both pins (points, and unit vectors away from their elements) and across halfway between."""
    begin = Point(start.x + reach * outward.x, start.y + reach * outward.y)
    finish = Point(end.x + reach * other.x, end.y + reach * other.y)
    yield start
    yield begin
    if outward.x and other.x:
        if outward.x * (finish.x - begin.x) >= 0:
            x = (begin.x + finish.x) / 2
            yield from (Point(x, begin.y), Point(x, finish.y))
        else:
            y = (begin.y + finish.y) / 2
            yield from (Point(begin.x, y), Point(finish.x, y))
    elif outward.x:
        yield Point(finish.x, begin.y)
    else:
        yield Point(begin.x, finish.y)
    yield finish
    yield end


def merged(lines: Iterator[Line]) -> Iterator[Line]:
    """Lines that take the same way, in either direction, as one."""
    together: dict[tuple[Point, ...], list[Line]] = {}
    for line in lines:
        way = line.points if line.points[::-1] not in together else line.points[::-1]
        together.setdefault(way, []).append(line)
    for way, group in together.items():
        yield Line(way, tuple(d for one in group for d in one.described), tuple(s for one in group for s in one.spans))


_TRIED = 81
"""Places that are tried for a part of a line."""

_StraightPart: TypeAlias = tuple[int, float]
"""The parts of a net on one straight line: they stay together."""
_Interval: TypeAlias = tuple[float, float]


def side_by_side(lines: Sequence[Line], movable: Sequence[bool], lane: float, boxes: Sequence[Rectangle]) -> list[Line]:
    """The lines, with parts moved by whole lanes where they lie on parts of lines from and to other pins.

    Only the inner parts of the lines that are `movable` move, neither into boxes nor nearer to them than a lane.
    """
    if len(boxes) > MOST:
        return list(lines)
    kept = [Rectangle(box.x1 - lane, box.y1 - lane, box.x2 + lane, box.y2 + lane) for box in boxes]
    nets = _nets(lines)
    for axis in (0, 1):
        shifts = _shifts(lines, movable, nets, axis, lane, kept)
        lines = [
            replace(line, points=_moved(line.points, axis, net, shifts)) if moves else line
            for line, moves, net in zip(lines, movable, nets, strict=True)
        ]
    return list(lines)


def _nets(lines: Sequence[Line]) -> list[int]:
    """Lines that share a pin belong together, and may run on top of each other: a dot shows where they part."""
    pins = nx.Graph((line.points[0], line.points[-1]) for line in lines)
    number = {pin: n for n, net in enumerate(nx.connected_components(pins)) for pin in net}
    return [number[line.points[0]] for line in lines]


def _shifts(
    lines: Sequence[Line],
    movable: Sequence[bool],
    nets: Sequence[int],
    axis: int,
    lane: float,
    boxes: Sequence[Rectangle],
) -> dict[_StraightPart, float]:
    taken = _Taken(lane)
    runs: dict[_StraightPart, list[_Interval]] = defaultdict(list)
    for line, moves, net in zip(lines, movable, nets, strict=True):
        inner = set(_inner(line.points, axis)) if moves else set()
        for k, (one, other) in enumerate(pairwise(line.points)):
            if one[axis] == other[axis]:
                span = min(one[1 - axis], other[1 - axis]), max(one[1 - axis], other[1 - axis])
                if k in inner:
                    runs[net, one[axis]].append(span)
                else:
                    taken.take((net, one[axis]), [span])
    shifts = {}
    for run, spans in runs.items():
        shifts[run] = _shift(run, spans, taken, axis, lane, boxes)
        taken.take((run[0], run[1] + shifts[run]), spans)
    return shifts


def _shift(
    run: _StraightPart, spans: Sequence[_Interval], taken: "_Taken", axis: int, lane: float, boxes: Sequence[Rectangle]
) -> float:
    """The least with which a run keeps apart from those of other nets; where it is crowded half a lane has to do."""
    net, at = run
    for apart in (lane, lane / 2):
        for shift in islice(_either_side(apart / 2), _TRIED):
            into = shift and any(crosses(_part(at + shift, span, axis), boxes) for span in spans)
            if not into and taken.is_free((net, at + shift), spans, 0.9 * apart):
                return shift
    return 0.0


class _Taken:
    """Occupied parts of lines, indexed by place."""

    def __init__(self, lane: float) -> None:
        self._lane = lane
        self._there: dict[int, list[tuple[_StraightPart, _Interval]]] = defaultdict(list)

    def take(self, run: _StraightPart, spans: Sequence[_Interval]) -> None:
        self._there[round(run[1] / self._lane)].extend((run, span) for span in spans)

    def is_free(self, run: _StraightPart, spans: Sequence[_Interval], apart: float) -> bool:
        """Whether no other net has a part beside these that is nearer than `apart`, which is less than a lane."""
        place = round(run[1] / self._lane)
        near = [each for bin in (place - 1, place, place + 1) for each in self._there[bin]]
        return not any(
            net != run[0] and abs(at - run[1]) < apart and low < high_of and low_of < high
            for (net, at), (low, high) in near
            for low_of, high_of in spans
        )


def _either_side(step: float) -> Iterator[float]:
    """Alternative places of a line, the nearest first."""
    yield 0.0
    for n in count(1):
        yield from (n * step, -n * step)


def _inner(points: Sequence[Point], axis: int) -> Iterator[int]:
    """The parts across an axis that do not touch a pin."""
    return (k for k in range(1, len(points) - 2) if points[k][axis] == points[k + 1][axis])


def _part(at: float, span: _Interval, axis: int) -> tuple[Point, Point]:
    low, high = span
    return (Point(at, low), Point(at, high)) if axis == 0 else (Point(low, at), Point(high, at))


def _moved(points: Sequence[Point], axis: int, net: int, shifts: dict[_StraightPart, float]) -> tuple[Point, ...]:
    moved = list(points)
    for k in _inner(points, axis):
        at = points[k][axis] + shifts[net, points[k][axis]]
        for j in (k, k + 1):
            moved[j] = Point(at, moved[j].y) if axis == 0 else Point(moved[j].x, at)
    return tuple(moved)
