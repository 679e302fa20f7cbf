"""Ways of lines between boxes: no two signals share a part of a way or meet at a corner."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ssptool.drawing.diagram.layout import straightened
from ssptool.drawing.diagram.model import Line, Point, Rectangle

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int_]
Way: TypeAlias = tuple[Point, ...]
Ends: TypeAlias = tuple[Point, Point, Point, Point]
"""Both pins of a line, each with a unit vector away from its element."""
Net: TypeAlias = int
"""A net of connected pins: its lines may overlap, and a dot marks their branches."""

_BEND, _CROSSING, _TOGETHER = 4.0, 2.0, 0.4
"""Cost of a bend and of a crossing in lanes, and relative cost of a way on a line of the same net."""
_ASIDE = 6
"""Number of lanes on either side of the middle that are tried before a way is searched."""
_AROUND = (8.0, 40.0, 1000.0)
"""Distances around both ends [lanes] within which a way is searched, one after the other."""
_MARGIN = 2.0
"""Distance [lanes] between a box, or the tip of a pin, and the next line."""
_HAIR = 1e-9
"""Distance at which things touch [mm]."""
_SAME = 1e-6
"""Distance, as a fraction of a lane, below which lines count as overlapping."""


@dataclass(slots=True)
class _Parts:
    """Straight parts of lines along one axis: position, range, net, and whether a line exists (1) or is planned (0)."""

    rows: list[tuple[float, float, float, float, float]] = field(default_factory=list)
    made: Floats = field(default_factory=lambda: np.empty((0, 5)))

    def add(self, at: float, one: float, other: float, net: Net, drawn: bool) -> None:
        self.rows.append((at, min(one, other), max(one, other), float(net), float(drawn)))

    @property
    def array(self) -> Floats:
        """(n, 5)"""
        if len(self.made) < len(self.rows):
            self.made = np.array(self.rows)
        return self.made


class Router:
    """Ways between pins, found one by one, each clear of boxes and of earlier ways.

    Parameters
    ----------
    boxes
        Boxes that ways must not cross.
    lane
        Distance between parallel lines, and between lines and boxes, if there is room.
        limits
            Area for ways whose ends are both inside.
    """

    def __init__(self, boxes: Sequence[Rectangle], lane: float, limits: Rectangle) -> None:
        edge = 0.5 * lane
        self._limits = Rectangle(limits.x1 + edge, limits.y1 + edge, limits.x2 - edge, limits.y2 - edge)
        self._boxes = np.array([(box.x1, box.y1, box.x2, box.y2) for box in boxes]).reshape(-1, 4)
        self._lane = lane
        self._parts = (_Parts(), _Parts())
        """Upright ones, by x, and level ones, by y."""

    def take(self, way: Sequence[Point], net: Net, *, drawn: bool = True) -> None:
        """Keep other lines clear of a way."""
        for one, other in pairwise(way):
            for axis in (0, 1):
                if one[axis] == other[axis] and one != other:
                    self._parts[axis].add(one[axis], one[1 - axis], other[1 - axis], net, drawn)

    def keep_free(self, pin: Point, outward: Point, net: Net) -> None:
        """Keep other lines clear of the area in front of a pin."""
        self.take((pin, _out(pin, outward, _MARGIN * self._lane)), net, drawn=False)

    def way(self, start: Point, outward: Point, end: Point, other: Point, net: Net, reach: float) -> Way:
        """Way out of both pins (points, and unit vectors away from their elements), across halfway or around boxes.

        Distances are halved if there is no room. If there is no way at all, the line goes straight across.
        """
        for part in (1.0, 0.5, 0.25, 0.0625):
            apart = part * self._lane
            for aside in _either_side(_ASIDE):
                way = straightened([*halfway(start, outward, end, other, reach, aside * apart)])
                if self._is_clear(way, net, apart):
                    return way
            ends = [_out(start, outward, _MARGIN * apart), _out(end, other, _MARGIN * apart)]
            for around in _AROUND:
                near = self._near(ends, around * self._lane)
                found = _Grid(near, self._lane, apart, net, ends).way(0 if outward.x else 1)
                if found is not None:
                    return straightened([start, *found, end])
        return straightened([*halfway(start, outward, end, other, reach)])

    def _is_clear(self, way: Sequence[Point], net: Net, apart: float) -> bool:
        """Whether a way of level and upright parts keeps this distance from boxes and from parts of other nets.

        The first and the last part begin at a box.
        """
        limits, inner = self._limits, way[1:-1]
        if any(not (limits.x1 <= x <= limits.x2 and limits.y1 <= y <= limits.y2) for x, y in inner):
            return False
        for place, (one, other) in enumerate(pairwise(way)):
            low, high = np.minimum(one, other), np.maximum(one, other)
            margin = 0.0 if place in (0, len(way) - 2) else 0.9 * _MARGIN * apart
            x1, y1, x2, y2 = self._boxes.T
            inside = (low[0] < x2 + margin) & (high[0] > x1 - margin) & (low[1] < y2 + margin) & (high[1] > y1 - margin)
            if inside.any():
                return False
            for axis in (0, 1):
                if one[axis] == other[axis]:
                    at, begin, finish, of, _ = self._parts[axis].array.T
                    beside = (abs(at - one[axis]) < 0.9 * apart) & (of != net)
                    if (beside & (begin < high[1 - axis] + 0.9 * apart) & (finish > low[1 - axis] - 0.9 * apart)).any():
                        return False
        return True

    def _near(self, ends: Sequence[Point], around: float) -> "_Surroundings":
        """Things in the rectangle around two points."""
        one, other = ends
        limits = self._limits
        x1, x2 = _within(limits.x1, min(one.x, other.x), max(one.x, other.x), limits.x2, around)
        y1, y2 = _within(limits.y1, min(one.y, other.y), max(one.y, other.y), limits.y2, around)
        boxes, (upright, level) = self._boxes, (parts.array for parts in self._parts)
        window = Rectangle(x1, y1, x2, y2)
        within = (boxes[:, 0] < x2) & (boxes[:, 2] > x1) & (boxes[:, 1] < y2) & (boxes[:, 3] > y1)
        # A pin of a rotated element may be inside the box around the element.
        for x, y in ends:
            within &= ~((boxes[:, 0] < x) & (x < boxes[:, 2]) & (boxes[:, 1] < y) & (y < boxes[:, 3]))
        near_x = (upright[:, 0] > x1) & (upright[:, 0] < x2) & (upright[:, 1] < y2) & (upright[:, 2] > y1)
        near_y = (level[:, 0] > y1) & (level[:, 0] < y2) & (level[:, 1] < x2) & (level[:, 2] > x1)
        return _Surroundings(window, boxes[within], upright[near_x], level[near_y])


T = TypeVar("T")


def routed(router: Router, missing: Mapping[T, Ends], nets: Mapping[T, Net], reach: float) -> Iterator[tuple[T, Way]]:
    """Ways of lines that have none yet, the shortest first."""
    for line, (start, outward, end, other) in missing.items():
        router.keep_free(start, outward, nets[line])
        router.keep_free(end, other, nets[line])
    for line in sorted(missing, key=lambda line: _distance(missing[line][0], missing[line][2])):
        way = router.way(*missing[line], nets[line], reach)
        router.take(way, nets[line])
        yield line, way


def _distance(one: Point, other: Point) -> float:
    return abs(one.x - other.x) + abs(one.y - other.y)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Boxes (n, 4), and upright and level parts (n, 5), in a window."""

    window: Rectangle
    boxes: Floats
    upright: Floats
    level: Floats


class _Grid:
    """A grid around two ends, and the cost of going from one crossing of it to the next.

    `costs[0][i, j]` is that from (i, j) to (i + 1, j), `costs[1][i, j]` that from (i, j) to (i, j + 1).
    """

    def __init__(self, near: _Surroundings, lane: float, apart: float, net: Net, ends: Sequence[Point]) -> None:
        self._lane = lane
        own_x, own_y = (parts[(parts[:, 3] == net) & (parts[:, 4] > 0)][:, 0] for parts in (near.upright, near.level))
        window = near.window
        self.xs = _grid_lines(
            window.x1, window.x2, apart, near.boxes[:, (0, 2)], near.upright[:, 0], [*(end.x for end in ends), *own_x]
        )
        self.ys = _grid_lines(
            window.y1, window.y2, apart, near.boxes[:, (1, 3)], near.level[:, 0], [*(end.y for end in ends), *own_y]
        )
        self._start, self._end = map(self._place, ends)
        level = np.repeat(np.diff(self.xs)[:, None], len(self.ys), axis=1)
        upright = np.repeat(np.diff(self.ys)[None, :], len(self.xs), axis=0)
        self.costs = (level, upright)
        self._mark_lines(level, self.xs, self.ys, near.level, near.upright, apart, net)
        self._mark_lines(upright.T, self.ys, self.xs, near.upright, near.level, apart, net)
        self._mark_boxes(near.boxes, 0.9 * _MARGIN * apart)

    def _place(self, point: Point) -> tuple[int, int]:
        return int(np.searchsorted(self.xs, point.x)), int(np.searchsorted(self.ys, point.y))

    def _mark_lines(
        self, costs: Floats, along: Floats, beside: Floats, same: Floats, across: Floats, apart: float, net: Net
    ) -> None:
        """Block ways on and next to lines of other nets. Crossing them costs extra; ways on the same net cost less."""
        gap, hair = 0.9 * apart, _SAME * self._lane
        at, low, high = across[across[:, 3] != net].T[:3]
        columns = np.searchsorted(along, at - hair) - 1
        there = (columns >= 0) & (columns < len(costs))
        crossed = _covered(costs.shape, columns, columns + 1, *_spans(beside, low, high), there)
        costs += crossed * (_CROSSING * self._lane)
        for at, low, high, _, drawn in same[same[:, 3] == net].tolist():
            if drawn:
                rows = _between(beside, at - hair, at + hair)
                first, last = np.searchsorted(along, (low - hair, high + hair))
                costs[first : max(first, last - 1), rows] *= _TOGETHER
        at, low, high = same[same[:, 3] != net].T[:3]
        firsts = np.maximum(np.searchsorted(along, low - gap) - 1, 0)
        lasts = np.searchsorted(along, high + gap)
        costs[_covered(costs.shape, firsts, lasts, *_spans(beside, at - gap, at + gap)) > 0] = np.inf

    def _mark_boxes(self, boxes: Floats, margin: float) -> None:
        x1, y1, x2, y2 = boxes.T + np.array([[-margin], [-margin], [margin], [margin]])
        for costs, along, beside, (low, high), (first, last) in (
            (self.costs[0], self.xs, self.ys, (x1, x2), (y1, y2)),
            (self.costs[1].T, self.ys, self.xs, (y1, y2), (x1, x2)),
        ):
            begin, end = np.maximum(np.searchsorted(along, low) - 1, 0), np.searchsorted(along, high)
            rows = np.searchsorted(beside, first, side="right"), np.searchsorted(beside, last)
            costs[_covered(costs.shape, begin, end, *rows) > 0] = np.inf

    def way(self, outward: int) -> list[Point] | None:
        """The shortest way, with few bends and crossings, first along the axis `outward`; None if there is none.

        Each crossing of the grid occurs twice: for horizontal and for vertical ways. A bend connects the two.
        """
        places = np.arange(2 * len(self.xs) * len(self.ys)).reshape(2, len(self.xs), len(self.ys))
        level, upright = self.costs
        graph = _graph(
            (places[0, :-1], places[0, 1:], level),
            (places[1, :, :-1], places[1, :, 1:], upright),
            (places[0], places[1], np.full(places[0].shape, _BEND * self._lane)),
        )
        start, ends = places[(outward, *self._start)], places[(slice(None), *self._end)]
        distance, before = dijkstra(graph, directed=False, indices=start, return_predecessors=True)
        place = int(ends[np.argmin(distance[ends])])
        if not np.isfinite(distance[place]):
            return None
        way = []
        while place >= 0:
            i, j = divmod(place % places[0].size, len(self.ys))
            way.append(Point(float(self.xs[i]), float(self.ys[j])))
            place = int(before[place])
        return way[::-1]


def _graph(*edges: tuple[NDArray[np.int_], NDArray[np.int_], Floats]) -> csr_array:
    """Graph of edges by origin, target and cost; edges of infinite cost are left out."""
    one, other, costs = (np.concatenate([part[place].ravel() for part in edges]) for place in range(3))
    there, size = np.isfinite(costs), int(other.max()) + 1
    return csr_array((costs[there], (one[there], other[there])), shape=(size, size))


def _grid_lines(low: float, high: float, apart: float, edges: Floats, lines: Floats, exact: Iterable[float]) -> Floats:
    """Coordinates for ways: one lane from edges of boxes (n, 2) and from lines (n,), and exact ones."""
    exact = np.array([*exact])
    beside = [
        edges[:, 0] - _MARGIN * apart,
        edges[:, 1] + _MARGIN * apart,
        *(at + side * apart for at in (lines, exact) for side in (-1, 1)),
    ]
    there = np.unique(np.concatenate(beside))
    there = there[(there > low) & (there < high)]
    there = there[np.diff(there, prepend=-np.inf) > 0.4 * apart]
    return np.unique(np.concatenate([there, exact]))


def _between(values: Floats, low: float, high: float) -> slice:
    """The range of sorted values from low to high, both included."""
    return slice(int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right")))


def _spans(values: Floats, low: Floats, high: Floats) -> tuple[Places, Places]:
    """Starts and ends of the ranges of sorted values from each low to its high, both included."""
    return np.searchsorted(values, low), np.searchsorted(values, high, side="right")


def _covered(
    shape: tuple[int, ...],
    begin: Places,
    end: Places,
    first: Places,
    last: Places,
    only: NDArray[np.bool_] | None = None,
) -> Places:
    """Number of rectangles [begin, end) x [first, last) that cover each place."""
    kept = (begin < end) & (first < last)
    if only is not None:
        kept &= only
    begin, end, first, last = (one[kept] for one in (begin, end, first, last))
    corners = np.zeros((shape[0] + 1, shape[1] + 1), dtype=np.int32)
    for i, j, sign in ((begin, first, 1), (begin, last, -1), (end, first, -1), (end, last, 1)):
        np.add.at(corners, (np.minimum(i, shape[0]), np.minimum(j, shape[1])), sign)
    return corners.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]


def _within(least: float, low: float, high: float, most: float, around: float) -> tuple[float, float]:
    """The range from low to high, extended by `around` at both ends, but limited to least and most."""
    return min(low, max(least, low - around)), max(high, min(most, high + around))


def _out(pin: Point, outward: Point, reach: float) -> Point:
    return Point(pin.x + reach * outward.x, pin.y + reach * outward.y)


def _either_side(most: int) -> Iterator[int]:
    yield 0
    for n in range(1, most + 1):
        yield from (n, -n)


def any_overlap(boxes: Sequence[Rectangle]) -> bool:
    """Whether two boxes overlap."""
    x1, y1, x2, y2 = np.array([(box.x1, box.y1, box.x2, box.y2) for box in boxes]).reshape(-1, 4).T
    beside = (x1[:, None] < x2[None, :] - _HAIR) & (y1[:, None] < y2[None, :] - _HAIR)
    return int((beside & beside.T).sum()) > len(boxes)


def any_crosses(ways: Iterable[Sequence[Point]], boxes: Sequence[Rectangle]) -> bool:
    """Whether a way of horizontal and vertical parts runs through a box."""
    parts = np.array([(*min(a, b), *max(a, b)) for way in ways for a, b in pairwise(way)]).reshape(-1, 4)
    return any(
        bool(
            (
                (parts[:, 0] < box.x2 - _HAIR)
                & (parts[:, 2] > box.x1 + _HAIR)
                & (parts[:, 1] < box.y2 - _HAIR)
                & (parts[:, 3] > box.y1 + _HAIR)
            ).any()
        )
        for box in boxes
    )


def any_meet(ways: Sequence[tuple[Net, Sequence[Point]]]) -> bool:
    """Whether an end or corner of a way is on a way of another net; if two share a part, one is."""
    points = np.array(list({(*point, float(net)) for net, way in ways for point in way})).reshape(-1, 3)
    for axis in (0, 1):
        parts = np.array(
            sorted(
                {
                    (a[axis], *sorted((a[1 - axis], b[1 - axis])), float(net))
                    for net, way in ways
                    for a, b in pairwise(way)
                    if a[axis] == b[axis]
                }
            )
        ).reshape(-1, 4)
        begin = np.searchsorted(parts[:, 0], points[:, axis] - _HAIR)
        number = np.searchsorted(parts[:, 0], points[:, axis] + _HAIR, side="right") - begin
        # Each point with each part at its x, or y.
        point = np.repeat(points, number, axis=0)
        part = parts[np.repeat(begin - number.cumsum() + number, number) + np.arange(number.sum())]
        along = point[:, 1 - axis]
        on = (part[:, 1] - _HAIR <= along) & (along <= part[:, 2] + _HAIR)
        if (on & (part[:, 3] != point[:, 2])).any():
            return True
    return False


def nets_of(ends: Iterable[tuple[Point, Point]]) -> list[Net]:
    """The net of each line: lines that share a pin belong together."""
    pairs = list(ends)
    number = {pin: n for n, net in enumerate(nx.connected_components(nx.Graph(pairs))) for pin in net}
    return [number[start] for start, _ in pairs]


def halfway(
    start: Point, outward: Point, end: Point, other: Point, reach: float, aside: float = 0.0
) -> Iterator[Point]:
    """Way out of both pins (points, and unit vectors away from their elements) and across in the middle between them,
    or at a distance from it.
    """
    begin = Point(start.x + reach * outward.x, start.y + reach * outward.y)
    finish = Point(end.x + reach * other.x, end.y + reach * other.y)
    yield start
    yield begin
    if outward.x and other.x:
        if outward.x * (finish.x - begin.x) >= 0:
            x = (begin.x + finish.x) / 2 + aside
            yield from (Point(x, begin.y), Point(x, finish.y))
        else:
            y = (begin.y + finish.y) / 2 + aside
            yield from (Point(begin.x, y), Point(finish.x, y))
    elif outward.x:
        yield Point(finish.x, begin.y)
    else:
        yield Point(begin.x, finish.y)
    yield finish
    yield end


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
    """Directions in which a level or upright part leaves a point on it."""
    if one.x == other.x == point.x and min(one.y, other.y) <= point.y <= max(one.y, other.y):
        yield from ((0, (y > point.y) - (y < point.y)) for y in (one.y, other.y) if y != point.y)
    elif one.y == other.y == point.y and min(one.x, other.x) <= point.x <= max(one.x, other.x):
        yield from (((x > point.x) - (x < point.x), 0) for x in (one.x, other.x) if x != point.x)


def crossings(lines: Sequence[Line]) -> Mapping[int, list[Point]]:
    """Number of a line → points of its level parts at which it crosses upright parts of other signals."""
    nets = nets_of((line.points[0], line.points[-1]) for line in lines)
    parts = [(n, *part) for n, line in enumerate(lines) for part in pairwise(line.points)]
    upright = sorted((a.x, min(a.y, b.y), max(a.y, b.y), nets[n]) for n, a, b in parts if a.x == b.x and a.y != b.y)
    xs, lows, highs, owners = np.array(upright, dtype=float).reshape(-1, 4).T
    found: dict[int, list[Point]] = defaultdict(list)
    for n, a, b in parts:
        if a.y != b.y:
            continue
        there = _between(xs, min(a.x, b.x) + _SAME, max(a.x, b.x) - _SAME)
        across = (lows[there] + _SAME < a.y) & (a.y < highs[there] - _SAME) & (owners[there] != nets[n])
        found[n] += [Point(x, a.y) for x in np.unique(xs[there][across]).tolist()]
    return {n: points for n, points in found.items() if points}


def interrupted(way: Sequence[Point], at: Collection[Point], width: float) -> Iterator[list[Point]]:
    """The parts of a way with gaps around points of its level parts; gaps end before corners and before other gaps."""
    run = [way[0]]
    for one, other in pairwise(way):
        low, high = sorted((one.x, other.x))
        places = [low, *sorted({p.x for p in at if p.y == one.y == other.y and low < p.x < high}), high]
        gaps = [
            (x - half, x + half)
            for before, x, after in zip(places, places[1:], places[2:], strict=False)
            if (half := min(width / 2, 0.4 * (x - before), 0.4 * (after - x)))
        ]
        for gap in gaps if one.x < other.x else [gap[::-1] for gap in gaps[::-1]]:
            yield [*run, Point(gap[0], one.y)]
            run = [Point(gap[1], one.y)]
        run.append(other)
    yield run


def merged(lines: Iterator[Line]) -> Iterator[Line]:
    """Lines that take the same way, in either direction, as one."""
    together: dict[tuple[Point, ...], list[Line]] = {}
    for line in lines:
        way = line.points if line.points[::-1] not in together else line.points[::-1]
        together.setdefault(way, []).append(line)
    for way, group in together.items():
        described = tuple(text for one in group for text in one.described)
        yield replace(group[0], points=way, described=described, spans=tuple(s for one in group for s in one.spans))
