"""Layout of boxes without a position: layers from left to right, and separate lanes for lines.

The layers may be cut into strips below each other, if this makes letters clearly larger on a page, or if a sheet of
groups (often all connected with each other) would be a long row.
"""

import math
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ssptool.drawing.diagram.heights import Heights, Hop, on_grid
from ssptool.drawing.diagram.layers import Edge, Layers, Passage, Station, in_layers
from ssptool.drawing.diagram.model import Point

_ASPECT = 1.5
"""Width over height of the page on which letters are to be large."""
_FEW, _MOST = 4, 12
"""Number of layers that are not cut, and largest number of strips."""
_WORTHWHILE = 1.3
"""Smallest enlargement of letters that justifies strips, because lines across strips are harder to follow."""

_DENSE = 4
"""Largest number of edges per box: with more, most lines would run across strips."""
_LONGEST = 2.3
"""Largest aspect ratio of folded layers; with labels and margins it may be 2.5."""


class LayerSize(NamedTuple):
    """Size of a layer: its width, including the lines after it, and its lower and upper end."""

    width: float
    bottom: float
    top: float


class Margins(NamedTuple):
    """Room that lines need between strips: left of all strips, and in all channels."""

    aside: float
    below: float


def in_strips(sizes: Sequence[LayerSize], gap: float) -> tuple[range, ...]:
    """The layers of each strip; one strip, unless more make everything clearly larger on a page.

    Parameters
    ----------
    gap
        Between two strips.
    """
    whole = _whole(sizes)
    best = min(_cuts(sizes), key=lambda strips: _page(sizes, strips, gap), default=whole)
    return best if _page(sizes, whole, gap) > _WORTHWHILE * _page(sizes, best, gap) else whole


def folded(sizes: Sequence[LayerSize], gap: float, margins: Callable[[Sequence[range]], Margins]) -> tuple[range, ...]:
    """The layers of each strip, so that neither width nor height is more than 2.5 times the other, if possible.

    If there are several solutions, the one with the largest letters on a page.
    """

    def unreadable(strips: Sequence[range]) -> tuple[float, float]:
        width, height = _extent(sizes, strips, gap)
        aside, below = margins(strips)
        width, height = width + aside, height - gap + below
        return max(width / height, height / width, _LONGEST), max(width / _ASPECT, height)

    return min([_whole(sizes), *_cuts(sizes)], key=unreadable) if sizes else ()


def _whole(sizes: Sequence[LayerSize]) -> tuple[range, ...]:
    return (range(len(sizes)),) if sizes else ()


def _cuts(sizes: Sequence[LayerSize]) -> list[tuple[range, ...]]:
    if len(sizes) < _FEW:
        return []
    widths = [size.width for size in sizes]
    return [tuple(_cut(widths, sum(widths) / count)) for count in range(2, min(_MOST, len(sizes) // 2) + 1)]


def _extent(sizes: Sequence[LayerSize], strips: Sequence[range], gap: float) -> tuple[float, float]:
    """Width and height."""
    width = max((sum(sizes[layer].width for layer in strip) for strip in strips), default=0.0)
    heights = [
        max(sizes[layer].top for layer in strip) - min(sizes[layer].bottom for layer in strip) for strip in strips
    ]
    return width, sum(heights) + gap * len(heights)


def _page(sizes: Sequence[LayerSize], strips: Sequence[range], gap: float) -> float:
    """The height of a page on which this fits."""
    width, height = _extent(sizes, strips, gap)
    return max(width / _ASPECT, height)


def _cut(widths: Sequence[float], most: float) -> Iterator[range]:
    begin, filled = 0, 0.0
    for layer, width in enumerate(widths):
        if layer > begin and filled + width / 2 > most:
            yield range(begin, layer)
            begin, filled = layer, 0.0
        filled += width
    yield range(begin, len(widths))


@dataclass(frozen=True, slots=True)
class LayoutBox:
    """A box to place; `inlets` and `outlets` are the heights of its pins [mm] above its lower edge, at its left and
    right.
    """

    name: str
    width: float
    height: float
    inlets: Mapping[str, float]
    outlets: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distances [mm] between boxes above each other, between lines, and between a box and the first line next to it."""

    row: float
    lane: float
    margin: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Lower left corners of the boxes, and ways of edges from pin to pin, in the given order.

    The sheet begins at y = 0; everything is below.
    """

    corners: Mapping[str, Point]
    ways: Mapping[Edge, tuple[Point, ...]]


def lay_out(
    boxes: Sequence[LayoutBox],
    edges: Sequence[Edge],
    spacing: Spacing,
    first: Collection[str] = (),
    last: Collection[str] = (),
    *,
    folds: bool = False,
) -> Layout:
    """Lay out all boxes, `first` at the left and `last` at the right; edges that close cycles run back below.

    Parameters
    ----------
    folds
        Whether long rows are folded, however many edges there are.
    """
    drawing = _Drawing(boxes, spacing, in_layers([box.name for box in boxes], edges, first, last), folds=folds)
    corners = {box.name: drawing.corners[box.name] for box in boxes}
    return Layout(corners, {edge: drawing.way(edge) for edge in edges})


class _Lanes(NamedTuple):
    """The lane in which each edge turns, lane and height of detours before that, and the number of lanes."""

    turns: Mapping[tuple[Edge, Station], int]
    detours: Mapping[tuple[Edge, Station], tuple[int, float]]
    number: int


class _Drawing:
    """Layers with heights of their stations; lanes between layers, next to strips, and in the channels below strips."""

    def __init__(self, boxes: Sequence[LayoutBox], spacing: Spacing, layers: Layers, *, folds: bool) -> None:
        self._boxes = {box.name: box for box in boxes}
        self._spacing = spacing
        self._layers = layers
        self._layer_of = {station: layer for layer, row in enumerate(self._layers.rows) for station in row}
        self._hops = [(edge, *hop) for edge, way in self._layers.stations.items() for hop in pairwise(way)]
        self._lanes = self._bundles()
        self._strip_of = dict.fromkeys(range(len(layers.rows)), 0)
        self._heights = Heights(layers.rows, self._hops, self._pin, self._apart, spacing.row)
        self._strips: tuple[range, ...] = (range(len(layers.rows)),) if layers.rows else ()
        if folds:
            self._strips = folded([self._size(layer) for layer in self._strip_of], 3 * spacing.row, self._margins)
        elif len(layers.stations) <= _DENSE * len(boxes):
            self._strips = in_strips([self._size(layer) for layer in self._strip_of], 3 * spacing.row)
        if len(self._strips) > 1:
            self._strip_of = {layer: strip for strip, layers in enumerate(self._strips) for layer in layers}
            within = [hop for hop in self._hops if not self._crosses(hop)]
            self._heights = Heights(layers.rows, within, self._pin, self._apart, spacing.row)
        self._turns: dict[tuple[Edge, Station], float] = {}
        self._detours: dict[tuple[Edge, Station], Point] = {}
        """Points that edges pass before they turn, because they would otherwise overlap other edges."""
        self._leaves: dict[tuple[str, str], float] = {}
        self._enters: dict[Edge, float] = {}
        """x of vertical parts: after a station, or next to the boxes for an edge that runs back."""
        self._channels: dict[tuple[int, object], float] = {}
        self._asides: dict[object, float] = {}
        """y of the parts in the channel below a strip, and x of the parts between channels."""
        self.corners: dict[str, Point] = {}
        self._stack()
        for strip in self._strips:
            self._across(strip)

    # -- sizes -----------------------------------------------------------------------------------------------------

    def _pin(self, edge: Edge, station: Station) -> float:
        if not isinstance(station, str):
            return 0.0
        box = self._boxes[station]
        return box.outlets[edge.source[1]] if station == edge.source[0] else box.inlets[edge.destination[1]]

    def _apart(self, below: Station, above: Station) -> float:
        lines = not isinstance(below, str) and not isinstance(above, str)
        size = self._boxes[below].height if isinstance(below, str) else 0.0
        return size + (self._spacing.lane if lines else self._spacing.row)

    def _size(self, layer: int) -> LayerSize:
        row = self._layers.rows[layer]
        ends = [edge.destination for edge in self._layers.backward]
        ends += dict.fromkeys(edge.source for edge in self._layers.backward)
        aside = sum(self._layer_of[end[0]] == layer for end in ends)
        lanes = self._spacing.lane * (self._beside(layer).number + aside) + 2 * self._spacing.margin
        return LayerSize(self._wide(row) + lanes, self._heights[row[0]], self._heights[row[-1]] + self._tall(row[-1]))

    def _margins(self, strips: Sequence[range]) -> Margins:
        """Largest number of lanes: one for each outlet whose lines continue in the next strip or run back."""
        strip_of = {layer: strip for strip, layers in enumerate(strips) for layer in layers}
        across = sum(len(self._lanes[strip.stop - 1]) for strip in strips[:-1])
        back = {
            (edge.source, strip)
            for edge in self._layers.backward
            for strip in {strip_of[self._layer_of[end[0]]] for end in edge}
        }
        aside = across + (len({source for source, _ in back}) if len(strips) > 1 else 0)
        return Margins(self._spacing.lane * aside, self._spacing.lane * (across + len(back)))

    def _wide(self, row: Sequence[Station]) -> float:
        return max((self._boxes[one].width for one in row if isinstance(one, str)), default=0.0)

    def _tall(self, station: Station) -> float:
        return self._boxes[station].height if isinstance(station, str) else 0.0

    def _strip(self, station: Station) -> int:
        return self._strip_of[self._layer_of[station]]

    def _crosses(self, hop: Hop) -> bool:
        return len(self._strips) > 1 and self._strip(hop[1]) != self._strip(hop[2])

    # -- down ------------------------------------------------------------------------------------------------------

    def _stack(self) -> None:
        """Move each strip below the channel of the one above, and give every line in a channel its height."""
        floor = 0.0
        for number, strip in enumerate(self._strips):
            stations = [station for layer in strip for station in self._layers.rows[layer]]
            top = max(self._heights[station] + self._tall(station) for station in stations)
            self._heights.move(stations, on_grid(floor - top))
            lows = {layer: min(map(self._heights.__getitem__, self._layers.rows[layer])) for layer in strip}
            placed: list[tuple[range, float]] = []
            for user, below in self._users(number, strip):
                y = min(lows[layer] for layer in below) - self._spacing.row
                over = [height - self._spacing.lane for other, height in placed if _share(other, below)]
                self._channels[number, user] = min([y, *over])
                placed.append((below, self._channels[number, user]))
            floor = min([*lows.values(), *(height for _, height in placed)]) - self._spacing.row

    def _users(self, number: int, strip: range) -> Iterator[tuple[object, range]]:
        """Users of the channel below a strip, from top to bottom, with the layers below which they run.

        Short ways back come first, then long ones, then lines to the next strip. Edges from one outlet share a lane.
        """

        def below(edge: Edge) -> range:
            # An edge that was cut to open one cycle may go forward after others were cut.
            ends = sorted(self._layer_of[end[0]] for end in (edge.destination, edge.source))
            if self._strip_of[ends[0]] != self._strip_of[ends[1]]:
                # To the channel of another strip, on the left of all.
                ends = [strip.start, next(layer for layer in ends if layer in strip)]
            return range(ends[0], ends[1] + 1)

        back = [edge for edge in self._layers.backward if number in (self._strip(end[0]) for end in edge)]
        ranges: dict[tuple[str, str], range] = {}
        for edge in back:
            one, other = below(edge), ranges.get(edge.source, below(edge))
            ranges[edge.source] = range(min(one.start, other.start), max(one.stop, other.stop))
        heights = {edge.source: self._heights.at(edge, edge.source[0]) for edge in back}
        for source in sorted(ranges, key=lambda source: (len(ranges[source]), heights[source], source)):
            yield Passage(source, -1), ranges[source]
        if strip.stop < len(self._layers.rows):
            for bundle in self._lanes[strip.stop - 1]:
                if any(self._crosses(hop) for hop in bundle):
                    yield bundle[0][0].source, strip

    # -- across ----------------------------------------------------------------------------------------------------

    def _across(self, strip: range) -> None:
        """Left edges of the layers. Between two, the lines of each pin turn in a lane of their own."""
        lane, x = self._spacing.lane, 0.0
        for layer in strip:
            row = self._layers.rows[layer]
            for edge in self._layers.backward:
                if self._layer_of[edge.destination[0]] == layer:
                    self._enters[edge] = x
                    x += lane
            x += self._spacing.margin
            self.corners |= {station: Point(x, self._heights[station]) for station in row if isinstance(station, str)}
            x += self._wide(row) + self._spacing.margin
            for source in dict.fromkeys(edge.source for edge in self._layers.backward):
                if self._layer_of[source[0]] == layer:
                    self._leaves[source] = x
                    x += lane
            lanes = self._beside(layer)
            self._turns |= {turn: x + lane * place for turn, place in lanes.turns.items()}
            self._detours |= {turn: Point(x + lane * place, y) for turn, (place, y) in lanes.detours.items()}
            x += lane * lanes.number

    def _beside(self, layer: int) -> "_Lanes":
        """Lanes behind a layer; lines that do not meet share a lane.

        If each of two lines begins at the height at which the other ends, they would overlap. One of them then makes a
        detour from a lane left of all others to a lane right of all others.
        """
        ordered, stuck = self._in_order(self._lanes[layer])
        reaches: list[tuple[int, float, float]] = []
        turns: dict[tuple[Edge, Station], int] = {}
        for bundle in ordered:
            heights = [self._heights.at(*bundle[0][:2]), *self._ends(bundle)]
            low = -math.inf if any(map(self._crosses, bundle)) else min(heights) - self._spacing.lane
            high = max(heights) + self._spacing.lane
            place = 1 + max((place for place, bottom, top in reaches if bottom < high and low < top), default=-1)
            reaches.append((place, low, high))
            turns |= {(edge, one): len(stuck) + place for edge, one, _ in bundle}
        count = len(stuck) + 1 + max((place for place, _, _ in reaches), default=-1)
        turns |= {(edge, one): count + place for place, bundle in enumerate(stuck) for edge, one, _ in bundle}
        return _Lanes(turns, self._around(layer, stuck), count + len(stuck))

    def _around(self, layer: int, stuck: Sequence[Sequence[Hop]]) -> dict[tuple[Edge, Station], tuple[int, float]]:
        """The first lane of each detour, and its height, which differs from those of all other lines."""
        if not stuck:
            return {}
        used = sorted({y for one in self._lanes[layer] for y in (self._heights.at(*one[0][:2]), *self._ends(one))})
        used = [used[0] - 2 * self._spacing.lane, *used, used[-1] + 2 * self._spacing.lane]
        found: dict[tuple[Edge, Station], tuple[int, float]] = {}
        for place, bundle in enumerate(stuck):
            begin = self._heights.at(*bundle[0][:2])
            _, y = max(
                (min(high - low, self._spacing.lane) - 1e-3 * abs(middle - begin), middle)
                for low, high in pairwise(used)
                for middle in [(low + high) / 2]
            )
            insort(used, y)
            found |= {(edge, one): (place, y) for edge, one, _ in bundle}
        return found

    def _bundles(self) -> list[list[list[Hop]]]:
        """Lines of each layer to the next one, grouped by the pin at which they begin."""
        bundles: list[dict[tuple[str, str], list[Hop]]] = [defaultdict(list) for _ in self._layers.rows]
        for hop in self._hops:
            bundles[self._layer_of[hop[1]]][hop[0].source].append(hop)
        return [list(of_layer.values()) for of_layer in bundles]

    def _in_order(self, bundles: Iterable[Sequence[Hop]]) -> tuple[list[Sequence[Hop]], list[Sequence[Hop]]]:
        """Lines in their order from left to right, and lines that would overlap others.

        Of two lines at one height, the one that begins there is first, so that they do not touch.
        """
        waiting = dict(enumerate(sorted(bundles, key=self._lane_order)))
        begins = sorted((self._heights.at(*bundle[0][:2]), place) for place, bundle in waiting.items())
        before = {
            place: {one for end in self._ends(bundle) for one in _near(begins, end)} - {place}
            for place, bundle in waiting.items()
        }
        ordered, stuck = [], []
        while waiting:
            chosen = next((place for place in waiting if waiting.keys().isdisjoint(before[place])), None)
            if chosen is None:
                stuck.append(waiting.pop(next(iter(waiting))))
            else:
                ordered.append(waiting.pop(chosen))
        return ordered, stuck

    def _ends(self, bundle: Sequence[Hop]) -> list[float]:
        return [self._heights.at(hop[0], hop[2]) for hop in bundle if not self._crosses(hop)]

    def _lane_order(self, bundle: Sequence[Hop]) -> tuple[bool, float]:
        """Order of turning: rising lines from the top down, falling lines from the bottom up, so that none cross."""
        start = self._heights.at(*bundle[0][:2])
        rise = sum(end - start for end in self._ends(bundle))
        return (rise > 0, -start if rise > 0 else start)

    # -- ways ------------------------------------------------------------------------------------------------------

    def way(self, edge: Edge) -> tuple[Point, ...]:
        backward = edge not in self._layers.stations
        return straightened(
            [self._begin(edge), *(self._backward_way if backward else self._forward_way)(edge), self._end(edge)]
        )

    def _begin(self, edge: Edge) -> Point:
        box = self._boxes[edge.source[0]]
        corner = self.corners[box.name]
        return Point(corner.x + box.width, corner.y + box.outlets[edge.source[1]])

    def _end(self, edge: Edge) -> Point:
        corner = self.corners[edge.destination[0]]
        return Point(corner.x, corner.y + self._boxes[edge.destination[0]].inlets[edge.destination[1]])

    def _forward_way(self, edge: Edge) -> Iterator[Point]:
        for one, other in pairwise(self._layers.stations[edge]):
            x = self._turns[edge, one]
            if (edge, one) in self._detours:
                aside = self._detours[edge, one]
                yield from (Point(aside.x, self._heights.at(edge, one)), aside, Point(x, aside.y))
            else:
                yield Point(x, self._heights.at(edge, one))
            if self._crosses((edge, one, other)):
                y, x = self._channels[self._strip(one), edge.source], self._aside(self._strip(one), edge.source)
                yield Point(self._turns[edge, one], y)
                yield Point(x, y)
            yield Point(x, self._heights.at(edge, other))

    def _backward_way(self, edge: Edge) -> Iterator[Point]:
        """The way back: down next to the box, along the channel, and up again."""
        begin, end = self._begin(edge), self._end(edge)
        strips = self._strip(edge.source[0]), self._strip(edge.destination[0])
        user = Passage(edge.source, -1)
        below, above = (self._channels[strip, user] for strip in strips)
        yield Point(self._leaves[edge.source], begin.y)
        yield Point(self._leaves[edge.source], below)
        if strips[0] != strips[1]:
            x = self._aside(-1, user)
            yield Point(x, below)
            yield Point(x, above)
        yield Point(self._enters[edge], above)
        yield Point(self._enters[edge], end.y)

    def _aside(self, strip: int, user: object) -> float:
        """x left of all strips, for lines from one channel to another or into the strip below."""
        place = self._asides.setdefault((strip, user), len(self._asides))
        return -self._spacing.lane * (1 + place)


def _share(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _near(begins: Sequence[tuple[float, int]], height: float) -> list[int]:
    """Places among the sorted (height, place) that are at a height."""
    return [
        place for _, place in begins[bisect_left(begins, (height - 0.1, 0)) : bisect_left(begins, (height + 0.1, 0))]
    ]


def straightened(points: Sequence[Point]) -> tuple[Point, ...]:
    """Remove repeated points, and those in the middle of a straight part."""
    way: list[Point] = []
    for point in points:
        if way and point == way[-1]:
            continue
        if len(way) > 1 and (way[-2].x == way[-1].x == point.x or way[-2].y == way[-1].y == point.y):
            way.pop()
        way.append(point)
    return tuple(way)
