"""Layered layout of boxes without a place.

References
----------
Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of hierarchical system structures".
Eades, Lin and Smyth 1993, "A fast and effective heuristic for the feedback arc set problem".
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias

import networkx

from ssptool.drawing.diagram.model import Point


class Edge(NamedTuple):
    """From (box, outlet) to (box, inlet)."""

    source: tuple[str, str]
    destination: tuple[str, str]


class Passage(NamedTuple):
    """The point at which all edges from one outlet pass a layer."""

    source: tuple[str, str]
    layer: int


Station: TypeAlias = str | Passage
"""A station of a layer: a box by its name, or the passage of an outlet."""


@dataclass(frozen=True, slots=True)
class Layers:
    """`rows[n]` are the stations of layer n from bottom to top; `stations` those of each edge on its way.

    `backward` are the edges that close cycles: they have no stations.
    """

    rows: tuple[tuple[Station, ...], ...]
    stations: Mapping[Edge, tuple[Station, ...]]
    backward: tuple[Edge, ...]


def in_layers(
    boxes: Sequence[str], edges: Sequence[Edge], first: Collection[str] = (), last: Collection[str] = ()
) -> Layers:
    """Assign layers: sources to layer 0, every other box behind its last predecessor.

    Layers have about as many boxes as there are layers, `first` (sources) and `last` not counted, so that drawings fit
    on pages: what would make a layer too high goes to the next.

    Parameters
    ----------
    last
        Go to a layer behind all others.
    """
    number = {box: place for place, box in enumerate(boxes)}
    arcs = [(number[edge.source[0]], number[edge.destination[0]]) for edge in edges]
    rank = {vertex: place for place, vertex in enumerate(_sequence(len(boxes), arcs))}
    cut = {place for place, (tail, head) in enumerate(arcs) if rank[tail] >= rank[head]}
    forward = [edge for place, edge in enumerate(edges) if place not in cut]
    graph = networkx.DiGraph([arc for place, arc in enumerate(arcs) if place not in cut])
    graph.add_nodes_from(range(len(boxes)))
    most = max(_LEAST, math.ceil(math.sqrt(len(boxes))))
    depth = _depths(graph, most, {number[box] for box in (*first, *last)})
    end = 1 + max((depth[place] for box, place in number.items() if box not in last), default=-1)
    depth = [end if box in last else depth[place] for box, place in number.items()]
    stations = {edge: tuple(_stations(edge, depth, number)) for edge in forward}
    backward = tuple(edge for place, edge in enumerate(edges) if place in cut)
    return Layers(_ordered(boxes, depth, stations), stations, backward)


_LEAST = 5
"""A layer of so many boxes is not too high."""


def _sequence(vertices: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Vertices in a sequence with few backward arcs: sources first, sinks last, else by largest difference of out- and
    in-degree.

    Eades, Lin and Smyth 1993, algorithm GR; of equal vertices the first.
    """
    after: list[list[int]] = [[] for _ in range(vertices)]
    before: list[list[int]] = [[] for _ in range(vertices)]
    for tail, head in arcs:
        if tail != head:
            after[tail].append(head)
            before[head].append(tail)
    out, into = [len(each) for each in after], [len(each) for each in before]
    left: list[int] = []
    right: list[int] = []
    waiting = dict.fromkeys(range(vertices))
    while waiting:
        sink = next((one for one in waiting if not out[one]), None)
        source = None if sink is not None else next((one for one in waiting if not into[one]), None)
        vertex = next(
            (one for one in (sink, source) if one is not None), max(waiting, key=lambda one: out[one] - into[one])
        )
        (left if sink is None else right).append(vertex)
        del waiting[vertex]
        for head in after[vertex]:
            into[head] -= 1
        for tail in before[vertex]:
            out[tail] -= 1
    return left + right[::-1]


def _depths(graph: "networkx.DiGraph[int]", most: int, uncounted: Collection[int]) -> list[int]:
    """The longest way from a source to each vertex, or more where a layer is full."""
    depth = [0] * len(graph)
    full: Counter[int] = Counter()
    for vertex in networkx.lexicographical_topological_sort(graph):
        depth[vertex] = 1 + max((depth[before] for before in graph.predecessors(vertex)), default=-1)
        if vertex not in uncounted:
            while full[depth[vertex]] == most:
                depth[vertex] += 1
            full[depth[vertex]] += 1
    return depth


def _stations(edge: Edge, depth: Sequence[int], number: Mapping[str, int]) -> Iterator[Station]:
    begin, end = edge.source[0], edge.destination[0]
    yield begin
    yield from (Passage(edge.source, layer) for layer in range(depth[number[begin]] + 1, depth[number[end]]))
    yield end


def _ordered(
    boxes: Sequence[str], depth: Sequence[int], stations: Mapping[Edge, Sequence[Station]]
) -> tuple[tuple[Station, ...], ...]:
    layer_of: dict[Station, int] = dict(zip(boxes, depth, strict=True))
    layer_of |= {one: one.layer for way in stations.values() for one in way if isinstance(one, Passage)}
    rows: list[list[Station]] = [[] for _ in range(1 + max(layer_of.values(), default=-1))]
    for station, layer in layer_of.items():
        # Edges pass in the middle of equals: beside them, each layer would stand lower than the one before.
        place = len(rows[layer]) // 2 if isinstance(station, Passage) else len(rows[layer])
        rows[layer].insert(place, station)
    hops = sorted({(a, b) for way in stations.values() for a, b in pairwise(way)}, key=str)
    before, after = _neighbours(hops)
    best, fewest, idle = rows, _crossings(rows, hops), 0
    for sweep in range(_ORDERING_SWEEPS):
        if not fewest or idle == _IDLE_SWEEPS:
            break
        rows = _swept(rows, before) if sweep % 2 == 0 else _swept(rows[::-1], after)[::-1]
        idle += 1
        if (crossings := _crossings(rows, hops)) < fewest:
            best, fewest, idle = rows, crossings, 0
    return tuple(tuple(reversed(row)) for row in best)  # y points up: the first of a layer is its lowest


_ORDERING_SWEEPS, _IDLE_SWEEPS = 12, 4
"""Number of sweeps, and of those without a better order, after which more rarely reduce crossings."""

_Neighbours: TypeAlias = Mapping[Station, Sequence[Station]]


def _neighbours(hops: Iterable[tuple[Station, Station]]) -> tuple[_Neighbours, _Neighbours]:
    """Those of each station in the row before it, and in the row after it."""
    before: dict[Station, list[Station]] = defaultdict(list)
    after: dict[Station, list[Station]] = defaultdict(list)
    for one, other in hops:
        before[other].append(one)
        after[one].append(other)
    return before, after


def _swept(rows: Sequence[Sequence[Station]], neighbours: _Neighbours) -> list[list[Station]]:
    """Rows in which each station stands by the mean place of its neighbours in the row before."""
    swept: list[list[Station]] = []
    place: dict[Station, int] = {}
    for row in rows:
        mean = {
            station: sum([place[one] for one in neighbours[station]]) / len(neighbours[station])
            if station in neighbours
            else float(number)
            for number, station in enumerate(row)
        }
        swept.append(sorted(row, key=mean.__getitem__))
        place = {station: number for number, station in enumerate(swept[-1])}
    return swept


def _crossings(rows: Sequence[Sequence[Station]], hops: Iterable[tuple[Station, Station]]) -> int:
    """Number of crossing pairs of hops between neighbouring rows."""
    place = {station: (layer, number) for layer, row in enumerate(rows) for number, station in enumerate(row)}
    crossings = 0
    seen: list[int] = []
    layer = -1
    for (at, _), end in sorted((place[a], place[b][1]) for a, b in hops):
        if at != layer:
            layer, seen = at, []
        crossings += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return crossings


Hop: TypeAlias = tuple[Edge, Station, Station]
"""An edge between two stations that follow each other."""

_SWEEPS = 12
"""They settle in a few."""

_GRID = 2.0**-8
"""Heights [mm] are multiples of it, so that their sums are exact, and a line between equal heights is straight."""


def on_grid(height: float) -> float:
    """The nearest height whose sums with others of the kind are exact."""
    return round(height / _GRID) * _GRID


Pulls: TypeAlias = list[tuple[Station, float]]
"""What a station is connected to, and how much higher than that it has to be for a straight line."""


class Heights:
    """Heights of the lower edges of stations.

    Parameters
    ----------
    hops
        What pulls stations towards each other.
    pin
        The height at which an edge meets a station, above its lower edge.
    apart
        How far the lower edge of a station is above that of the one below it, at least.
    reach
        How far a station is moved from where its lines pull it, so that more of them are straight.
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
        """Let stations follow their pulls, in the rows from first to last and back, until none moves."""
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
        """Move a station up or down to where most lines are straight, if that is near; neighbours make room."""
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
        """New heights of a station that is moved, and of those that it pushes."""
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
        """On the grid, and not less than the distance demanded."""
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
    """The nearest values (least squares) of which none is below the one before.

    Pools of neighbours that are not in order take their mean (the algorithm PAVA); for so few, numpy takes longer.
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        total, number = value, 1
        while pools and pools[-1][0] * number >= total * pools[-1][1]:
            before = pools.pop()
            total, number = total + before[0], number + before[1]
        pools.append((total, number))
    return [total / number for total, number in pools for _ in range(number)]


_ASPECT = 1.5
"""Width over height of the page on which letters are to be large."""
_FEW, _MOST = 4, 12
"""So many layers are not cut, and into so many strips at most."""
_WORTHWHILE = 1.3
"""Lines across strips are harder to follow: letters must become this much larger."""

_DENSE = 4
"""With more edges per box the most lines would run across strips."""


class LayerSize(NamedTuple):
    """Size of a layer: its width with the lines behind it, and its lower and upper end."""

    width: float
    bottom: float
    top: float


def in_strips(sizes: Sequence[LayerSize], gap: float) -> tuple[range, ...]:
    """The layers of each strip; one strip, unless more make everything clearly larger on a page.

    Parameters
    ----------
    gap
        Between two strips.
    """

    def page(strips: Sequence[range]) -> float:
        width = max((sum(sizes[layer].width for layer in strip) for strip in strips), default=0.0)
        heights = [
            max(sizes[layer].top for layer in strip) - min(sizes[layer].bottom for layer in strip) for strip in strips
        ]
        return max(width / _ASPECT, sum(heights) + gap * len(heights))

    whole = (range(len(sizes)),) if sizes else ()
    if len(sizes) < _FEW:
        return whole
    widths = [size.width for size in sizes]
    cut = [tuple(_cut(widths, sum(widths) / count)) for count in range(2, min(_MOST, len(sizes) // 2) + 1)]
    best = min(cut, key=page)
    return best if page(whole) > _WORTHWHILE * page(best) else whole


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
    """Lower left corners of the boxes, and ways of edges from pin to pin, in the order in which they were given."""

    corners: Mapping[str, Point]
    ways: Mapping[Edge, tuple[Point, ...]]


def lay_out(
    boxes: Sequence[LayoutBox],
    edges: Sequence[Edge],
    spacing: Spacing,
    first: Collection[str] = (),
    last: Collection[str] = (),
) -> Layout:
    """Lay out all boxes, `first` at the left and `last` at the right; edges that close cycles run back below."""
    drawing = _Drawing(boxes, spacing, in_layers([box.name for box in boxes], edges, first, last))
    corners = {box.name: drawing.corners[box.name] for box in boxes}
    return Layout(corners, {edge: drawing.way(edge) for edge in edges})


class _Lanes(NamedTuple):
    """The lane in which each edge turns, lane and height of detours before that, and the number of lanes."""

    turns: Mapping[tuple[Edge, Station], int]
    detours: Mapping[tuple[Edge, Station], tuple[int, float]]
    number: int


class _Drawing:
    """Layers whose stations have heights; lanes between them, beside the strips and in the channels below these."""

    def __init__(self, boxes: Sequence[LayoutBox], spacing: Spacing, layers: Layers) -> None:
        self._boxes = {box.name: box for box in boxes}
        self._spacing = spacing
        self._layers = layers
        self._layer_of = {station: layer for layer, row in enumerate(self._layers.rows) for station in row}
        self._hops = [(edge, *hop) for edge, way in self._layers.stations.items() for hop in pairwise(way)]
        self._lanes = self._bundles()
        self._strip_of = dict.fromkeys(range(len(layers.rows)), 0)
        self._heights = Heights(layers.rows, self._hops, self._pin, self._apart, spacing.row)
        self._strips: tuple[range, ...] = (range(len(layers.rows)),) if layers.rows else ()
        if len(layers.stations) <= _DENSE * len(boxes):
            self._strips = in_strips([self._size(layer) for layer in self._strip_of], 3 * spacing.row)
        if len(self._strips) > 1:
            self._strip_of = {layer: strip for strip, layers in enumerate(self._strips) for layer in layers}
            within = [hop for hop in self._hops if not self._crosses(hop)]
            self._heights = Heights(layers.rows, within, self._pin, self._apart, spacing.row)
        self._turns: dict[tuple[Edge, Station], float] = {}
        self._detours: dict[tuple[Edge, Station], Point] = {}
        """Before it turns, an edge that would lie on another one goes to this height at this x."""
        self._leaves: dict[tuple[str, str], float] = {}
        self._enters: dict[Edge, float] = {}
        """x of vertical parts: behind a station; beside the boxes, of an edge that runs back."""
        self._channels: dict[tuple[int, object], float] = {}
        self._asides: dict[object, float] = {}
        """y of the parts in the channel below a strip, and x of those that run from channel to channel."""
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
        """Users of the channel below a strip, the uppermost first, with the layers below which they run.

        First short ways back, then long ones, then what goes on in the next strip. Edges from one outlet share theirs.
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
        """Lanes behind a layer: those that do not meet share one.

        Two lines of which each begins at the height at which the other ends would lie on each other: one of them makes
        a detour from a lane left of all to one right of all.
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
        """The first lane of each detour, and the height at which it runs: none of those of other lines."""
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
        """For each layer the lines to the next one, grouped by the pin at which they begin."""
        bundles: list[dict[tuple[str, str], list[Hop]]] = [defaultdict(list) for _ in self._layers.rows]
        for hop in self._hops:
            bundles[self._layer_of[hop[1]]][hop[0].source].append(hop)
        return [list(of_layer.values()) for of_layer in bundles]

    def _in_order(self, bundles: Iterable[Sequence[Hop]]) -> tuple[list[Sequence[Hop]], list[Sequence[Hop]]]:
        """From left to right, and those that would lie on others.

        Of two lines of one height the one that begins there is first: they do not touch.
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
        """Lines that rise turn the earlier the higher they begin, lines that fall the earlier the lower: none cross."""
        start = self._heights.at(*bundle[0][:2])
        rise = sum(end - start for end in self._ends(bundle))
        return (rise > 0, -start if rise > 0 else start)

    # -- ways ------------------------------------------------------------------------------------------------------

    def way(self, edge: Edge) -> tuple[Point, ...]:
        backward = edge not in self._layers.stations
        return straightened([self._begin(edge), *(self._back if backward else self._forth)(edge), self._end(edge)])

    def _begin(self, edge: Edge) -> Point:
        box = self._boxes[edge.source[0]]
        corner = self.corners[box.name]
        return Point(corner.x + box.width, corner.y + box.outlets[edge.source[1]])

    def _end(self, edge: Edge) -> Point:
        corner = self.corners[edge.destination[0]]
        return Point(corner.x, corner.y + self._boxes[edge.destination[0]].inlets[edge.destination[1]])

    def _forth(self, edge: Edge) -> Iterator[Point]:
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

    def _back(self, edge: Edge) -> Iterator[Point]:
        """Down beside the box, back in the channel, and up again."""
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
        """x left of all strips, of what runs from one channel to another or into the strip below."""
        place = self._asides.setdefault((strip, user), len(self._asides))
        return -self._spacing.lane * (1 + place)


def _share(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _near(begins: Sequence[tuple[float, int]], height: float) -> list[int]:
    """Those of the sorted (height, place) that are at a height."""
    return [
        place for _, place in begins[bisect_left(begins, (height - 0.1, 0)) : bisect_left(begins, (height + 0.1, 0))]
    ]


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
