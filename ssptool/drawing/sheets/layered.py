"""A layered layout: sources left, what depends on them to the right; lines run horizontally and vertically.

The heights follow from isotonic regression: every box is moved as near to its neighbours as those above and below it
allow.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from ssptool.drawing.sheets.layers import Edge, Station, in_layers
from ssptool.drawing.sheets.sheet import Point

_SWEEPS = 12
"""Of the heights, there and back; they settle in a few."""


@dataclass(frozen=True, slots=True)
class Box:
    """`inlets` and `outlets` are the heights of its pins above its lower edge, at its left and right [mm]."""

    name: str
    width: float
    height: float
    inlets: Mapping[str, float]
    outlets: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Spacing:
    """Between boxes above each other, between lines, and between a box and the first line beside it [mm]."""

    row: float
    lane: float
    margin: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Lower left corners of the boxes, and the way of each edge from pin to pin."""

    corners: Mapping[str, Point]
    ways: Mapping[Edge, tuple[Point, ...]]


def lay_out(boxes: Sequence[Box], edges: Sequence[Edge], spacing: Spacing) -> Layout:
    """Place all boxes; edges that close cycles run back below everything."""
    drawing = _Drawing(boxes, edges, spacing)
    return Layout(drawing.corners, {edge: drawing.way(edge) for edge in edges})


class _Drawing:
    """Layers whose stations have heights, and whose lines have lanes between them."""

    def __init__(self, boxes: Sequence[Box], edges: Sequence[Edge], spacing: Spacing) -> None:
        self._boxes = {box.name: box for box in boxes}
        self._spacing = spacing
        self._layers = in_layers([box.name for box in boxes], edges)
        self._hops = {edge: list(pairwise(way)) for edge, way in self._layers.stations.items()}
        self._heights = self._settle()
        self._turns: dict[tuple[Edge, Station], float] = {}
        """x of the vertical part of an edge behind a station."""
        lefts = list(self._across())
        self.corners = {
            station: Point(left, self._heights[station])
            for left, row in zip(lefts, self._layers.rows, strict=True)
            for station in row
            if isinstance(station, str)
        }
        self._detours = self._rank_detours()

    # -- heights ---------------------------------------------------------------------------------------------------

    def _settle(self) -> dict[Station, float]:
        """Lower edges: first stacked, then each layer in turn moved towards its neighbours."""
        self._heights = {}
        for row in self._layers.rows:
            self._heights |= self._nearest(row, [0.0] * len(row))
        pulls: dict[Station, list[tuple[Edge, Station]]] = defaultdict(list)
        for edge, hops in self._hops.items():
            for one, other in hops:
                pulls[one].append((edge, other))
                pulls[other].append((edge, one))
        for sweep in range(_SWEEPS):
            for row in self._layers.rows if sweep % 2 == 0 else self._layers.rows[::-1]:
                self._heights |= self._nearest(row, [self._wanted(station, pulls[station]) for station in row])
        return self._heights

    def _wanted(self, station: Station, pulls: Sequence[tuple[Edge, Station]]) -> float:
        """The height at which its lines would be straight, on average."""
        shifts = [self._at(edge, other) - self._at(edge, station) for edge, other in pulls]
        return self._heights[station] + (sum(shifts) / len(shifts) if shifts else 0.0)

    def _at(self, edge: Edge, station: Station) -> float:
        """The height of an edge where it begins, passes or ends."""
        height = self._heights[station]
        if not isinstance(station, str):
            return height
        if station == edge.source[0]:
            return height + self._boxes[station].outlets[edge.source[1]]
        return height + self._boxes[station].inlets[edge.destination[1]]

    def _nearest(self, row: Sequence[Station], wanted: Sequence[float]) -> dict[Station, float]:
        """The heights nearest to the wanted ones (least squares) that keep order and gaps."""
        offsets = np.zeros(len(row))
        for place in range(1, len(row)):
            below, above = row[place - 1], row[place]
            lines = not isinstance(below, str) and not isinstance(above, str)
            size = self._boxes[below].height if isinstance(below, str) else 0.0
            offsets[place] = offsets[place - 1] + size + (self._spacing.lane if lines else self._spacing.row)
        free = isotonic_regression(np.asarray(wanted) - offsets).x
        return dict(zip(row, (free + offsets).tolist(), strict=True))

    # -- across ----------------------------------------------------------------------------------------------------

    def _across(self) -> Iterator[float]:
        """Left edges of the layers. Between two, the lines of each pin turn in a lane of their own."""
        x = 0.0
        for row in self._layers.rows:
            yield x
            x += max((self._boxes[one].width for one in row if isinstance(one, str)), default=0.0)
            x += self._spacing.margin
            bundles: dict[tuple[str, str], list[tuple[Edge, Station, Station]]] = defaultdict(list)
            standing = set(row)
            for edge, hops in self._hops.items():
                for one, other in hops:
                    if one in standing:
                        bundles[edge.source].append((edge, one, other))
            for bundle in sorted(bundles.values(), key=self._lane_order):
                self._turns |= {(edge, one): x for edge, one, _ in bundle}
                x += self._spacing.lane
            x += self._spacing.margin

    def _lane_order(self, bundle: Sequence[tuple[Edge, Station, Station]]) -> tuple[bool, float]:
        """Lines that rise turn the earlier the higher they begin, lines that fall the earlier the lower: none cross."""
        edge, one, _ = bundle[0]
        start = self._at(edge, one)
        rise = sum(self._at(edge, other) - start for edge, _, other in bundle)
        return (rise > 0, -start if rise > 0 else start)

    # -- ways ------------------------------------------------------------------------------------------------------

    def way(self, edge: Edge) -> tuple[Point, ...]:
        begin, end = self._begin(edge), self._end(edge)
        turns = self._detour(edge, begin, end) if edge in self._detours else self._between(edge)
        return straightened([begin, *turns, end])

    def _begin(self, edge: Edge) -> Point:
        box = self._boxes[edge.source[0]]
        corner = self.corners[box.name]
        return Point(corner.x + box.width, corner.y + box.outlets[edge.source[1]])

    def _end(self, edge: Edge) -> Point:
        corner = self.corners[edge.destination[0]]
        return Point(corner.x, corner.y + self._boxes[edge.destination[0]].inlets[edge.destination[1]])

    def _between(self, edge: Edge) -> Iterator[Point]:
        for one, other in self._hops[edge]:
            x = self._turns[edge, one]
            yield Point(x, self._at(edge, one))
            yield Point(x, self._at(edge, other))

    def _rank_detours(self) -> dict[Edge, int]:
        """The shortest way back is nearest to the boxes."""

        def reach(edge: Edge) -> tuple[float, float, Edge]:
            begin, end = self._begin(edge), self._end(edge)
            return begin.x - end.x, begin.y + end.y, edge

        return {edge: place for place, edge in enumerate(sorted(self._layers.backward, key=reach))}

    def _detour(self, edge: Edge, begin: Point, end: Point) -> Iterator[Point]:
        """Down beside the box, back below everything, and up again."""
        rank = self._detours[edge]
        aside = self._spacing.margin * (0.35 + 0.5 * rank / max(1, len(self._detours)))
        y = min(self._heights.values()) - self._spacing.row - self._spacing.lane * rank
        yield Point(begin.x + aside, begin.y)
        yield Point(begin.x + aside, y)
        yield Point(end.x - aside, y)
        yield Point(end.x - aside, end.y)


def straightened(points: Sequence[Point]) -> tuple[Point, ...]:
    """Without repeated points and without those in the middle of a straight part."""
    way: list[Point] = []
    for point in points:
        if way and point == way[-1]:
            continue
        if len(way) > 1 and (way[-2].x == way[-1].x == point.x or way[-2].y == way[-1].y == point.y):
            way.pop()
        way.append(point)
    return tuple(way)
