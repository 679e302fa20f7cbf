"""From what documents say of the look of a system to a drawing: what has no place gets one."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TypeAlias

from ssptool.drawing.sheets.layered import Box, Layout, Spacing, lay_out, straightened
from ssptool.drawing.sheets.layers import Edge
from ssptool.drawing.sheets.pins import INFLOWS, LETTER, placed, shown
from ssptool.drawing.sheets.sheet import Block, Line, Pin, Point, Sheet
from ssptool.drawing.sheets.stated import Extent, StatedBlock, StatedLine, StatedPin, StatedSheet

End: TypeAlias = tuple[str, str]
"""(element, connector); the element "" is the system itself."""

TEXT = 3.0
"""Height of letters where nothing else sets the scale [mm]."""


def arrange(stated: StatedSheet) -> Sheet:
    """A drawing in which everything that the documents place is where they say, and the rest is laid out."""
    return _Arrangement(stated).sheet()


class _Arrangement:
    def __init__(self, stated: StatedSheet) -> None:
        self._stated = stated
        self._text = _text_height(stated)
        connected = set(stated.connected())
        self._pins = {
            block.name: shown(block.pins, {name for element, name in connected if element == block.name})
            for block in stated.blocks
        }
        self._own = shown(stated.pins, {name for element, name in connected if element == ""})
        self._kinds = {(name, pin.name): pin.kind for name, pins in self._pins.items() for pin in pins}
        self._kinds |= {("", pin.name): pin.kind for pin in self._own}
        self._homeless = [block for block in stated.blocks if block.extent is None]
        # The connectors of the system are part of the layout if it is free to be drawn in any way.
        self._free = stated.canvas is None and len(self._homeless) == len(stated.blocks)
        self._layout = self._lay_out()
        self._extents = {block.name: self._extent(block) for block in stated.blocks}
        self._ends: dict[End, tuple[Point, Point]] = {}

    def sheet(self) -> Sheet:
        blocks = tuple(self._block(block) for block in self._stated.blocks)
        canvas = self._canvas()
        pins = self._free_pins() if self._free else self._edge_pins(canvas)
        return Sheet(
            path=self._stated.path,
            name=self._stated.name,
            canvas=canvas,
            text=self._text,
            blocks=blocks,
            lines=tuple(_merged(self._lines())),
            notes=self._stated.notes,
            pins=pins,
        )

    # -- layout of what has no place -------------------------------------------------------------------------------

    def _lay_out(self) -> Layout:
        boxes = [_box(block.name, self._pins[block.name], self._text) for block in self._homeless]
        if self._free:
            boxes += [_terminal(pin, self._text) for pin in self._own]
        there = {box.name for box in boxes}
        edges = [edge for edge in map(self._edge, self._stated.lines) if edge is not None]
        among = [edge for edge in dict.fromkeys(edges) if {edge.source[0], edge.destination[0]} <= there]
        return lay_out(boxes, among, Spacing(row=4 * self._text, lane=1.5 * self._text, margin=3 * self._text))

    def _edge(self, line: StatedLine) -> Edge | None:
        """From where the signal comes to where it goes; None if the kinds of the ends do not say."""
        source, destination = self._directed(line)
        if self._flows_out(source) and not self._flows_out(destination):
            return Edge(*(self._in_layout(end) for end in (source, destination)))
        return None

    def _directed(self, line: StatedLine) -> tuple[End, End]:
        forward = self._flows_out(line.start) or not self._flows_out(line.end)
        return (line.start, line.end) if forward else (line.end, line.start)

    def _flows_out(self, end: End) -> bool:
        """Whether a signal leaves a connector into the sheet; those of the system are seen from inside."""
        return (self._kinds.get(end, "") in INFLOWS) == (end[0] == "")

    def _in_layout(self, end: End) -> End:
        return end if end[0] else (_terminal_name(end[1]), end[1])

    def _extent(self, block: StatedBlock) -> Extent:
        if block.extent is not None:
            return block.extent
        corner = self._layout.corners[block.name]
        x, y = corner.x + self._shift.x, corner.y + self._shift.y
        box = _box(block.name, self._pins[block.name], self._text)
        return Extent(x, y, x + box.width, y + box.height)

    @property
    def _shift(self) -> Point:
        """What is laid out stands below what has its place."""
        placed = [block.extent for block in self._stated.blocks if block.extent is not None]
        if not placed or not self._layout.corners:
            return Point(0.0, 0.0)
        boxes = [_box(block.name, self._pins[block.name], self._text) for block in self._homeless]
        top = max(self._layout.corners[box.name].y + box.height for box in boxes)
        floor = min(min(extent.y1, extent.y2) for extent in placed)
        return Point(min(min(extent.x1, extent.x2) for extent in placed), floor - 5 * self._text - top)

    # -- what is drawn ---------------------------------------------------------------------------------------------

    def _block(self, block: StatedBlock) -> Block:
        extent = self._extents[block.name]
        if block.extent is None:
            pins, ends = _pins_of_box(self._pins[block.name], extent, self._text)
        else:
            pins, ends = placed(self._pins[block.name], extent, block.rotation, self._text, labelled=block.icon is None)
        self._ends |= {(block.name, name): end for name, end in ends.items()}
        return Block(
            path=block.path,
            source=block.source,
            described=block.described,
            extent=extent,
            rotation=block.rotation,
            icon=block.icon,
            pins=pins,
            opens=block.opens,
            span=block.span,
        )

    def _canvas(self) -> Extent:
        """As stated; else around everything."""
        stated = self._stated.canvas
        if stated is not None and not self._homeless:
            return stated
        points = [corner for extent in self._extents.values() for corner in extent.corners]
        points += [corner for note in self._stated.notes for corner in note.extent.corners]
        points += [] if stated is None else stated.corners
        points += [point for way in self._layout.ways.values() for point in self._shifted(way)]
        points += [] if not self._free else [*self._terminal_corners()]
        if not points:
            return Extent(0.0, 0.0, 40 * self._text, 20 * self._text)
        xs, ys = [x for x, _ in points], [y for _, y in points]
        margin = 3 * self._text
        return Extent(min(xs) - margin, min(ys) - margin, max(xs) + margin, max(ys) + margin)

    def _shifted(self, way: Sequence[Point]) -> tuple[Point, ...]:
        shift = self._shift
        return tuple(Point(point.x + shift.x, point.y + shift.y) for point in way)

    def _terminal_corners(self) -> Iterator[Point]:
        for pin in self._own:
            corner, box = self._layout.corners[_terminal_name(pin.name)], _terminal(pin, self._text)
            yield corner
            yield Point(corner.x + box.width, corner.y + box.height)

    def _free_pins(self) -> tuple[Pin, ...]:
        """The connectors of a system that is drawn freely: at the end of their lines."""
        found = []
        for pin in self._own:
            corner, box = self._layout.corners[_terminal_name(pin.name)], _terminal(pin, self._text)
            inflow = pin.kind in INFLOWS
            at = Point(corner.x + (box.width if inflow else 0.0), corner.y + box.height / 2)
            # Seen from inside, a system's own connector points towards the sheet.
            outward = Point(1.0 if inflow else -1.0, 0.0)
            self._ends["", pin.name] = at, outward
            found.append(Pin(pin.kind, at, outward, pin.name, (pin.described,)))
        return tuple(found)

    def _edge_pins(self, canvas: Extent) -> tuple[Pin, ...]:
        pins, ends = placed(self._own, canvas, 0.0, self._text, inside=True, labelled=True)
        self._ends |= {("", name): (at, Point(-out.x, -out.y)) for name, (at, out) in ends.items()}
        return tuple(
            Pin(pin.kind, pin.at, Point(-pin.outward.x, -pin.outward.y), pin.label, pin.described) for pin in pins
        )

    # -- lines -----------------------------------------------------------------------------------------------------

    def _lines(self) -> Iterator[Line]:
        for line in self._stated.lines:
            if line.start in self._ends and line.end in self._ends:
                yield Line(straightened(self._way(line)), (line.described,), (line.span,))

    def _way(self, line: StatedLine) -> Sequence[Point]:
        (start, outward), (end, other) = self._ends[line.start], self._ends[line.end]
        if line.way is not None:
            return [start, *(Point(x, y) for x, y in line.way), end]
        edge = self._edge(line)
        if edge is not None and edge in self._layout.ways:
            return self._shifted(self._layout.ways[edge])
        return list(_simple_way(start, outward, end, other, 2 * self._text))


def _text_height(stated: StatedSheet) -> float:
    """An eighth of what elements typically measure, since canvases have any scale."""
    sizes = [min(block.extent.width, block.extent.height) for block in stated.blocks if block.extent is not None]
    return max(median(sizes) / 8, 1e-9) if sizes else TEXT


def _terminal_name(connector: str) -> str:
    return f"\0{connector}"


def _terminal(pin: StatedPin, text: float) -> Box:
    """Room for the name of a connector of the system."""
    side = {pin.name: text}
    inflow = pin.kind in INFLOWS
    width = (len(pin.name) + 2) * LETTER * text
    return Box(_terminal_name(pin.name), width, 2 * text, {} if inflow else side, side if inflow else {})


_HEAD, _ROW = 2.6, 1.8
"""Height of the title and of a line of labels, over that of the letters."""


def _box(name: str, pins: Sequence[StatedPin], text: float) -> Box:
    """Large enough for the name above and for the labels of the pins, which stand in two columns below."""
    sides = [pin.name for pin in pins if pin.kind in INFLOWS], [pin.name for pin in pins if pin.kind not in INFLOWS]
    rows = max(len(sides[0]), len(sides[1]), 1)
    height = (_HEAD + _ROW * rows + 0.8) * text
    letters = sum(max(map(len, side), default=0) for side in sides) + 5
    left, right = (
        {name: height - (_HEAD + _ROW * (place + 0.5)) * text for place, name in enumerate(side)} for side in sides
    )
    return Box(name, LETTER * text * max(letters, 1.2 * len(name) + 3, 14), height, left, right)


def _pins_of_box(
    pins: Sequence[StatedPin], extent: Extent, text: float
) -> tuple[tuple[Pin, ...], Mapping[str, tuple[Point, Point]]]:
    box = _box("", pins, text)
    ends = {name: (Point(extent.x1, extent.y1 + y), Point(-1.0, 0.0)) for name, y in box.inlets.items()}
    ends |= {name: (Point(extent.x2, extent.y1 + y), Point(1.0, 0.0)) for name, y in box.outlets.items()}
    return tuple(Pin(pin.kind, *ends[pin.name], pin.name, (pin.described,)) for pin in pins), ends


def _simple_way(start: Point, outward: Point, end: Point, other: Point, reach: float) -> Iterator[Point]:
    """Out of both pins and across halfway between."""
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


def _merged(lines: Iterator[Line]) -> Iterator[Line]:
    """Lines that take the same way, in either direction, as one."""
    together: dict[tuple[Point, ...], list[Line]] = {}
    for line in lines:
        way = line.points if line.points[::-1] not in together else line.points[::-1]
        together.setdefault(way, []).append(line)
    for way, group in together.items():
        yield Line(way, tuple(d for one in group for d in one.described), tuple(s for one in group for s in one.spans))
