"""Arrange a system as a drawing: stated positions are kept, elements without one get a place."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from statistics import median
from typing import TypeAlias

from ssptool.documents.document import garbage_collection_paused
from ssptool.drawing.diagram.groups import MOST_ELEMENTS
from ssptool.drawing.diagram.heights import on_grid
from ssptool.drawing.diagram.layers import Edge
from ssptool.drawing.diagram.layout import Layout, LayoutBox, Spacing, straightened
from ssptool.drawing.diagram.memory import Memory, SheetName
from ssptool.drawing.diagram.model import (
    MOST_APART,
    DrawnBlock,
    Line,
    Pin,
    Point,
    Rectangle,
    Sheet,
    StatedBlock,
    StatedLine,
    StatedPin,
    StatedSheet,
    text_width,
)
from ssptool.drawing.diagram.read import (
    HEAD,
    INFLOWS,
    PIN_TEXT,
    Placement,
    box_of,
    columns_of,
    middle_of,
    placed,
    shown,
)
from ssptool.drawing.diagram.routing import Ends, Router, merged, nets_of, routed
from ssptool.errors import WrongUsage
from ssptool.network.tree import ElementPath
from ssptool.option_words import DrawnConnections
from ssptool.work_in_progress import one_by_one, tell

End: TypeAlias = tuple[str, str]
"""(element, connector); the element "" is the system itself."""

TEXT = 3.0
"""Default height of letters [mm]."""
_LANE = 0.45
"""Distance of parallel lines, as a part of the height of letters."""


MOST_SHEETS = 1_000
"""Maximum number of systems of one picture or page: each takes milliseconds, and references can multiply them."""


def _too_many_systems(found: int) -> WrongUsage:
    """Error: more systems would be drawn than a person can look at."""
    return WrongUsage(
        f"{found} systems would be drawn, at most {MOST_SHEETS}; "
        "draw one of them as .svg or .png: --level NAME, with a smaller --depth"
    )


def bundled(stated: StatedSheet, open_ones: Collection[str] = ()) -> StatedSheet:
    """The sheet with one line for many connections from one component to another.

    Connectors without other lines are replaced by one that shows their number. Lines with a stated way, connectors with
    a stated position, and elements in `open_ones` (drawn with their content) do not change.
    """
    pins = {(block.name, pin.name): pin for block in stated.blocks for pin in block.pins if pin.place is None}
    groups: dict[tuple[str, str], list[StatedLine]] = defaultdict(list)
    for line in stated.lines:
        ends = sorted((line.start, line.end), key=lambda end: end in pins and pins[end].kind == "input")
        kinds = [pins[end].kind for end in ends if end in pins and end[0] not in open_ones]
        if line.way is None and kinds == ["output", "input"] and ends[0][0] != ends[1][0]:
            groups[ends[0][0], ends[1][0]].append(line)
    bundles = {pair: lines for pair, lines in groups.items() if len(lines) > MOST_APART}
    inside = {line for lines in bundles.values() for line in lines}
    others = [line for line in stated.lines if line not in inside]
    needed = {end for line in others for end in (line.start, line.end)}
    replaced = {end for line in inside for end in (line.start, line.end)} - needed
    new: dict[str, list[StatedPin]] = defaultdict(list)
    for (source, destination), lines in bundles.items():
        described = "; ".join(text for line in lines for text in line.described)
        start, end = (source, f"{len(lines)} to {destination}"), (destination, f"{len(lines)} from {source}")
        new[source].append(StatedPin(start[1], "output", None, None, f"{start[1]}: {described}"))
        new[destination].append(StatedPin(end[1], "input", None, None, f"{end[1]}: {described}"))
        texts = tuple(text for line in lines for text in line.described)
        others.append(StatedLine(start, end, None, texts, tuple(span for line in lines for span in line.spans)))
    blocks = (
        replace(block, pins=(*(p for p in block.pins if (block.name, p.name) not in replaced), *new[block.name]))
        for block in stated.blocks
    )
    return replace(stated, blocks=tuple(blocks), lines=tuple(others)) if bundles else stated


def arranged(
    stated: Mapping[ElementPath, StatedSheet],
    path: ElementPath = (),
    depth: int = 0,
    connections: DrawnConnections = DrawnConnections.ALL,
    memory: Memory | None = None,
    most_routed: int | None = None,
) -> Sheet:
    """The drawing of a system with the content of its elements, up to a number of levels.

    If more than `most_routed` lines would have to be routed around elements (slow), each is drawn with one step.

    Raises
    ------
    WrongUsage
        The drawing has more than `MOST_SHEETS` sheets.
    """
    tell("drawing")
    _check_number(sum(path == each[: len(path)] and len(each) <= len(path) + depth for each in stated))
    return _Arranger(stated, connections, memory, most_routed).sheet(path, depth)


def all_arranged(
    stated: Mapping[ElementPath, StatedSheet], connections: DrawnConnections, memory: Memory | None = None
) -> list[Sheet]:
    """The drawings of all systems without the content of their elements. Raises WrongUsage."""
    _check_number(len(stated))
    arranger = _Arranger(stated, connections, memory)
    with garbage_collection_paused():
        return [arranger.sheet(path, 0) for path in one_by_one("drawing sheet", list(stated))]


def expanded(
    stated: Mapping[ElementPath, StatedSheet], connections: DrawnConnections, memory: Memory | None = None
) -> list[Sheet]:
    """Drawings of all systems with their nested systems inside, unless that is too much for one sheet.

    Raises WrongUsage.
    """
    _check_number(len(stated))
    around = [path for path in stated if _is_around(stated, path) and _size(stated, path) <= MOST_ELEMENTS]
    arranger = _Arranger(stated, connections, memory)
    return [arranger.sheet(path, math.inf) for path in one_by_one("drawing inside of sheet", around)]


def _is_around(stated: Mapping[ElementPath, StatedSheet], path: ElementPath) -> bool:
    return any(block.path in stated and not block.group for block in stated[path].blocks)


def _size(stated: Mapping[ElementPath, StatedSheet], path: ElementPath) -> int:
    """Number of elements of a system and of its nested systems, down to groups."""
    inside = [block.path for block in stated[path].blocks if block.path in stated and not block.group]
    return len(stated[path].blocks) + sum(_size(stated, one) for one in inside)


def _check_number(sheets: int) -> None:
    if sheets > MOST_SHEETS:
        raise _too_many_systems(sheets)


class _Arranger:
    """Cache of the contents of elements, because each content is drawn in all enclosing systems."""

    def __init__(
        self,
        stated: Mapping[ElementPath, StatedSheet],
        connections: DrawnConnections,
        memory: Memory | None = None,
        most_routed: int | None = None,
    ) -> None:
        self._stated = stated
        self._connections = connections
        self._memory = memory or Memory()
        self._most_routed = math.inf if most_routed is None else most_routed
        self._insides: dict[tuple[ElementPath, float], Sheet] = {}

    def sheet(self, path: ElementPath, depth: float, *, nested: bool = False) -> Sheet:
        stated = self._stated[path]
        inside = {
            block.name: self._inside(block.path, depth - 1)
            for block in stated.blocks
            if depth > 0 and block.path in self._stated and not block.group
        }
        if self._connections is DrawnConnections.BUNDLED:
            stated = bundled(stated, inside)
        return _Arrangement(stated, inside, nested, self._memory, self._most_routed).sheet()

    def _inside(self, path: ElementPath, depth: float) -> Sheet:
        key = path, depth
        if key not in self._insides:
            self._insides[key] = self.sheet(path, depth, nested=True)
        return self._insides[key]


class _Arrangement:
    """Arrangement of a sheet: stated positions are kept, and all other elements are laid out."""

    def __init__(
        self, stated: StatedSheet, inside: Mapping[str, Sheet], nested: bool, memory: Memory, most_routed: float
    ) -> None:
        self._stated = stated
        self._most_routed = most_routed
        self._memory = memory
        self._inside = inside
        self._nested = nested
        self._text = _text_height(stated)
        connected: dict[str, set[str]] = defaultdict(set)
        for element, name in (*stated.connected(), *stated.fed_through()):
            connected[element].add(name)
        self._pins = {block.name: shown(block.pins, connected[block.name]) for block in stated.blocks}
        self._own = shown(stated.pins, connected[""])
        self._kinds = {(name, pin.name): pin.kind for name, pins in self._pins.items() for pin in pins}
        self._kinds |= {("", pin.name): pin.kind for pin in self._own}
        self._homeless = {
            block.name: box_of(block, self._pins[block.name], self._text, inside.get(block.name))
            for block in stated.blocks
            if block.extent is None
        }
        # The connectors of the system are part of the layout if it is free to be drawn in any way.
        self._free = stated.canvas is None and len(self._homeless) == len(stated.blocks)
        self._stubs = {pin.name: self._stub(pin) for pin in self._own} if self._free else {}
        self._layout = self._lay_out()
        self._shift = self._below_what_has_its_place()
        self._extents = {block.name: self._extent(block) for block in stated.blocks}
        self._boxes = [self._extents[block.name].turned(block.rotation) for block in stated.blocks]
        self._ends: dict[End, tuple[Point, Point]] = {}

    def sheet(self) -> Sheet:
        blocks = tuple(map(self._block, self._stated.blocks))
        canvas = self._canvas()
        insets = {name: self._placement(name).sheet(sheet) for name, sheet in self._inside.items()}
        return Sheet(
            path=self._stated.path,
            name=self._stated.name,
            canvas=canvas,
            text=self._text,
            blocks=blocks,
            notes=self._stated.notes,
            pins=self._own_pins(canvas),
            lines=tuple(merged(self._lines(canvas))),
            insets=tuple(self._joined(name, inset) for name, inset in insets.items()),
        )

    # -- layout of what has no place -------------------------------------------------------------------------------

    def _lay_out(self) -> Layout:
        boxes = [*self._homeless.values(), *self._stubs.values()]
        there = {box.name for box in boxes}
        edges = [edge for edge in map(self._edge, self._stated.lines) if edge is not None]
        among = [edge for edge in dict.fromkeys(edges) if {edge.source[0], edge.destination[0]} <= there]
        spacing = Spacing(row=3 * self._text, lane=1.4 * self._text, margin=1.6 * self._text)
        stubs = self._stubs.values()
        first, last = [box.name for box in stubs if box.outlets], [box.name for box in stubs if box.inlets]
        folds = any(block.group for block in self._stated.blocks)
        self._sheet_name = SheetName(self._stated.path, inside=bool(self._inside), named=self._nested and bool(stubs))
        return self._memory.lay_out(self._sheet_name, boxes, among, spacing, first, last, folds=folds)

    def _stub(self, pin: StatedPin) -> LayoutBox:
        """A connector of the system in the layout; its label has room above the line if it is drawn in a box."""
        side = {pin.name: on_grid(self._text)}
        width = text_width(pin.name, PIN_TEXT * self._text) if self._nested else 0.0
        inflow = pin.kind in INFLOWS
        name = _stub_name(pin.name)
        return LayoutBox(name, width + self._text, 2 * self._text, {} if inflow else side, side if inflow else {})

    def _edge(self, line: StatedLine) -> Edge | None:
        """An edge from source to destination; None if the kinds of the ends give no direction."""
        forward = self._flows_out(line.start) or not self._flows_out(line.end)
        source, destination = (line.start, line.end) if forward else (line.end, line.start)
        if self._flows_out(source) and not self._flows_out(destination) and destination in self._kinds:
            return Edge(*(end if end[0] else (_stub_name(end[1]), end[1]) for end in (source, destination)))
        return None

    def _flows_out(self, end: End) -> bool:
        """True if a signal flows from the connector into the sheet; connectors of the system are seen from inside."""
        return end in self._kinds and (self._kinds[end] in INFLOWS) == (end[0] == "")

    def _below_what_has_its_place(self) -> Point:
        placed = [block.extent.upright for block in self._stated.blocks if block.extent is not None]
        if not placed or not self._homeless:
            return Point(0.0, 0.0)
        return Point(min(each.x1 for each in placed), min(each.y1 for each in placed) - 5 * self._text)

    def _extent(self, block: StatedBlock) -> Rectangle:
        if block.extent is not None:
            return block.extent
        (x, y), box = self._moved(self._layout.corners[block.name]), self._homeless[block.name]
        return Rectangle(x, y, x + box.width, y + box.height)

    def _moved(self, point: Point) -> Point:
        return Point(point.x + self._shift.x, point.y + self._shift.y) if any(self._shift) else point

    # -- drawn elements ---------------------------------------------------------------------------------------------

    def _block(self, block: StatedBlock) -> DrawnBlock:
        extent, pins = self._extents[block.name], self._pins[block.name]
        drawn, ends = placed(pins, extent, block.rotation) if block.extent else self._pins_of_box(block.name)
        self._ends |= {(block.name, name): end for name, end in ends.items()}
        expanded = block.name in self._inside
        return DrawnBlock(
            path=block.path,
            source=block.source,
            described=block.described,
            extent=extent,
            rotation=block.rotation,
            icon=None if expanded else block.icon,
            icon_extent=extent if block.extent else middle_of(pins, extent, self._text),
            pins=drawn,
            feedthrough=() if expanded else tuple(self._feedthrough(block, ends)),
            opens=block.opens,
            span=block.span,
            group=block.group,
        )

    def _pins_of_box(self, name: str) -> tuple[tuple[Pin, ...], Mapping[str, tuple[Point, Point]]]:
        box, extent = self._homeless[name], self._extents[name]
        ends = {name: (Point(extent.x1, extent.y1 + y), Point(-1.0, 0.0)) for name, y in box.inlets.items()}
        ends |= {name: (Point(extent.x2, extent.y1 + y), Point(1.0, 0.0)) for name, y in box.outlets.items()}
        pins = self._pins[name]
        return tuple(Pin(pin.kind, *ends[pin.name], (pin.name,), (pin.described,)) for pin in pins), ends

    def _feedthrough(self, block: StatedBlock, ends: Mapping[str, tuple[Point, Point]]) -> Iterator[Line]:
        """Distance of the two columns of labels."""
        text, (left, right) = self._text, columns_of(self._pins[block.name], self._text)
        for each in block.feedthrough:
            if each.inlet in ends and each.outlet in ends:
                (start, inward), (end, outward) = ends[each.inlet], ends[each.outlet]
                x1, x2 = start.x - inward.x * (left + 0.5 * text), end.x - outward.x * (right + 0.5 * text)
                yield Line((Point(x1, start.y), Point(x2, end.y)), (each.described,), (each.span,))

    def _placement(self, name: str) -> Placement:
        """Placement of the content of an element; below the name, if there is room."""
        block = next(block for block in self._stated.blocks if block.name == name)
        extent = self._extents[name]
        if block.extent is None:
            extent = replace(extent, y2=extent.y2 - HEAD * self._text)
        return Placement(self._inside[name].canvas, extent, block.rotation)

    def _joined(self, name: str, inset: Sheet) -> Sheet:
        """Add lines from the pins of the element to their places inside."""
        boxes = [block.extent.turned(block.rotation) for block in inset.blocks]
        router, lines = Router(boxes, _LANE * inset.text, self._extents[name]), list[Line]()
        for number, line in enumerate(inset.lines):
            router.take(line.points, number)
        for inner in map(self._placement(name).pin, self._inside[name].pins):
            for outer, outward in {self._ends[name, each] for each in inner.names if (name, each) in self._ends}:
                if abs(outer.x - inner.at.x) + abs(outer.y - inner.at.y) > 0.01 * self._text:
                    inward = Point(-outward.x, -outward.y)
                    net = len(inset.lines) + len(lines)
                    way = router.way(outer, inward, inner.at, inner.outward, net, 1.5 * inset.text)
                    router.take(way, net)
                    lines.append(Line(way, (), ()))
        return replace(inset, lines=(*inset.lines, *lines))

    def _canvas(self) -> Rectangle:
        """The stated canvas, or the box around everything."""
        stated = self._stated.canvas
        if stated is not None and not self._homeless:
            return stated
        points = [corner for extent in self._extents.values() for corner in extent.corners]
        points += [corner for note in self._stated.notes for corner in note.extent.corners]
        points += [] if stated is None else stated.corners
        points += [self._moved(point) for point in dict.fromkeys(chain.from_iterable(self._layout.ways.values()))]
        for pin, stub in self._stubs.items():
            corner = self._layout.corners[_stub_name(pin)]
            points += [corner, Point(corner.x + stub.width, corner.y + stub.height)]
        if not points:
            return Rectangle(0.0, 0.0, 40 * self._text, 20 * self._text)
        xs, ys = [x for x, _ in points], [y for _, y in points]
        margin = 2 * self._text
        return Rectangle(min(xs) - margin, min(ys) - margin, max(xs) + margin, max(ys) + margin)

    def _own_pins(self, canvas: Rectangle) -> tuple[Pin, ...]:
        """The connectors of the system, which point into the sheet: seen from inside."""
        if self._free:
            return tuple(self._free_pin(pin, canvas) for pin in self._own)
        pins, ends = placed(self._own, canvas, 0.0, inside=True)
        self._ends |= {("", name): (at, Point(-out.x, -out.y)) for name, (at, out) in ends.items()}
        return tuple(replace(pin, outward=Point(-pin.outward.x, -pin.outward.y)) for pin in pins)

    def _free_pin(self, pin: StatedPin, canvas: Rectangle) -> Pin:
        """Pin at the edge of the canvas, at its stub."""
        inflow = pin.kind in INFLOWS
        y = self._layout.corners[_stub_name(pin.name)].y + self._stubs[pin.name].height / 2
        end = Point(canvas.x1 if inflow else canvas.x2, y), Point(1.0 if inflow else -1.0, 0.0)
        self._ends["", pin.name] = end
        return Pin(pin.kind, *end, (pin.name,), (pin.described,))

    # -- lines -----------------------------------------------------------------------------------------------------

    def _lines(self, canvas: Rectangle) -> Iterator[Line]:
        shown = [line for line in self._stated.lines if line.start in self._ends and line.end in self._ends]
        ends = [(*self._ends[line.start], *self._ends[line.end]) for line in shown]
        ways = {place: way for place, line in enumerate(shown) if (way := self._way(line)) is not None}
        missing = [place for place in range(len(shown)) if place not in ways]
        if len(missing) > self._most_routed:
            ways |= {place: _one_step(ends[place]) for place in missing}
        elif missing:
            ways |= self._routed(missing, ways, ends, canvas)
        for place, line in enumerate(shown):
            yield Line(ways[place], line.described, line.spans, (line.start[0], line.end[0]))

    def _routed(
        self, missing: Sequence[int], ways: Mapping[int, Sequence[Point]], ends: Sequence[Ends], canvas: Rectangle
    ) -> Iterator[tuple[int, tuple[Point, ...]]]:
        """Ways of lines without one, the shortest first, clear of existing ways."""
        router, nets = Router(self._boxes, _LANE * self._text, canvas), nets_of((one[0], one[2]) for one in ends)
        kept = dict(self._kept_ways(missing, ends))
        for place, way in (*ways.items(), *kept.items()):
            router.take(way, nets[place])
        left = {place: ends[place] for place in missing if place not in kept}
        found = kept | dict(routed(router, left, dict(enumerate(nets)), 1.5 * self._text))
        if self._memory.ways is not None:
            self._memory.ways[self._sheet_name] = {ends[place]: way for place, way in found.items()}
        yield from found.items()

    def _kept_ways(self, missing: Sequence[int], ends: Sequence[Ends]) -> Iterator[tuple[int, tuple[Point, ...]]]:
        """Ways of an earlier drawing with unchanged ends that do not cross an element now."""
        known = (self._memory.ways or {}).get(self._sheet_name, {})
        for place in missing:
            way = known.get(ends[place])
            if way is not None and not any(_runs_through(way, box, 0.1 * self._text) for box in self._boxes):
                yield place, tuple(way)

    def _way(self, line: StatedLine) -> tuple[Point, ...] | None:
        """The way from the document or the layout; None if the line must still be routed."""
        (start, _), (end, _) = self._ends[line.start], self._ends[line.end]
        if line.way is not None:
            return straightened([start, *(Point(x, y) for x, y in line.way), end])
        edge = self._edge(line)
        if edge is not None and edge in self._layout.ways:
            way = tuple(map(self._moved, self._layout.ways[edge]))
            begin, finish = (start, end) if self._flows_out(line.start) else (end, start)
            return way if (way[0], way[-1]) == (begin, finish) else straightened([begin, *way, finish])
        return None


def _one_step(ends: Ends) -> tuple[Point, ...]:
    """A way between two ends with one step halfway, ignoring all elements."""
    start, _, end, _ = ends
    middle = (start.x + end.x) / 2
    return straightened([start, Point(middle, start.y), Point(middle, end.y), end])


def _runs_through(way: Sequence[Point], box: Rectangle, rim: float) -> bool:
    return any(
        min(one.x, other.x) < box.x2 - rim
        and max(one.x, other.x) > box.x1 + rim
        and min(one.y, other.y) < box.y2 - rim
        and max(one.y, other.y) > box.y1 + rim
        for one, other in pairwise(way)
    )


def _text_height(stated: StatedSheet) -> float:
    """An eighth of the typical size of elements, because canvases have any scale."""
    sizes = [min(block.extent.width, block.extent.height) for block in stated.blocks if block.extent is not None]
    return max(median(sizes) / 8, 1e-9) if sizes else TEXT


def _stub_name(connector: str) -> str:
    return f"\0{connector}"
