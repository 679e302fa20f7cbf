"""Boxes with ports, placed in columns and joined by wires, as SVG.

The layout knows nothing of SSP: it takes boxes in the order in which they should appear from left to right, and
routes wires that run backwards below the boxes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lxml import etree

SVG = "http://www.w3.org/2000/svg"

WIDTH, ROW, HEAD, GAP, LANE, MARGIN = 170.0, 24.0, 34.0, 120.0, 16.0, 24.0
INK, QUIET, FILL, ALARM = "#1f2a36", "#8795a6", "#f3f6fa", "#c4312f"


@dataclass(frozen=True, slots=True)
class Box:
    """One component: inputs at its left edge, outputs at its right, `inner` the dependencies between them."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    inner: tuple[tuple[str, str], ...] = ()

    @property
    def height(self) -> float:
        return HEAD + ROW * max(len(self.inputs), len(self.outputs), 1) + 8.0


@dataclass(frozen=True, slots=True)
class Line:
    """One wire between (box, output) and (box, input); `marked` ones are drawn in the alarm colour."""

    source: tuple[str, str]
    destination: tuple[str, str]
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float


def draw(columns: Sequence[Sequence[Box]], lines: Sequence[Line], marked_inner: frozenset[tuple[str, str, str]]) -> str:
    """The SVG text. `marked_inner` holds (box, input, output) of the inner dependencies to draw in the alarm colour."""
    corners = _place(columns)
    boxes = {box.name: box for column in columns for box in column}
    bottom = max((corners[name].y + box.height for name, box in boxes.items()), default=0.0)
    backward = [line for line in lines if _is_backward(line, corners)]
    right = max((corner.x + WIDTH for corner in corners.values()), default=0.0) + GAP / 2
    height = bottom + LANE * (len(backward) + 1) + MARGIN
    root = etree.Element(
        "svg",
        nsmap={None: SVG},  # type: ignore[dict-item]  # lxml takes None for the default namespace
        viewBox=f"0 0 {right:g} {height:g}",
        width=f"{right:g}",
        height=f"{height:g}",
    )
    root.set("font-family", "Helvetica, Arial, sans-serif")
    _defs(root)
    etree.SubElement(root, "rect", width="100%", height="100%", fill="white")
    for name, box in boxes.items():
        _box(root, box, corners[name], marked_inner)
    lanes: Mapping[Line, int] = {line: number for number, line in enumerate(backward)}
    for line in lines:
        _line(
            root,
            line,
            _pin(line.source, boxes, corners, out=True),
            _pin(line.destination, boxes, corners, out=False),
            lanes.get(line),
            bottom,
        )
    return etree.tostring(root, pretty_print=True, encoding="unicode")


def _place(columns: Sequence[Sequence[Box]]) -> dict[str, Point]:
    corners = {}
    for number, column in enumerate(columns):
        y = MARGIN
        for box in column:
            corners[box.name] = Point(GAP / 2 + number * (WIDTH + GAP), y)
            y += box.height + MARGIN
    return corners


def _is_backward(line: Line, corners: Mapping[str, Point]) -> bool:
    return corners[line.destination[0]].x <= corners[line.source[0]].x


def _pin(end: tuple[str, str], boxes: Mapping[str, Box], corners: Mapping[str, Point], *, out: bool) -> Point:
    box, corner = boxes[end[0]], corners[end[0]]
    names = box.outputs if out else box.inputs
    return Point(corner.x + (WIDTH if out else 0.0), corner.y + HEAD + ROW * (names.index(end[1]) + 0.5))


def _defs(root: etree._Element) -> None:
    defs = etree.SubElement(root, "defs")
    for name, colour in (("arrow", INK), ("alarm", ALARM)):
        marker = etree.SubElement(
            defs,
            "marker",
            id=name,
            viewBox="0 0 8 8",
            refX="8",
            refY="4",
            markerWidth="9",
            markerHeight="9",
            orient="auto",
            markerUnits="userSpaceOnUse",
        )
        etree.SubElement(marker, "path", d="M0,0 L8,4 L0,8 z", fill=colour)


def _text(parent: etree._Element, at: Point, text: str, anchor: str, size: int, weight: str = "normal") -> None:
    node = etree.SubElement(parent, "text", x=f"{at.x:g}", y=f"{at.y:g}", fill=INK)
    node.set("text-anchor", anchor)
    node.set("font-size", str(size))
    node.set("font-weight", weight)
    node.text = text


def _path(parent: etree._Element, d: str, colour: str, width: float, arrow: str = "", dashes: str = "") -> None:
    node = etree.SubElement(parent, "path", d=d, fill="none", stroke=colour)
    node.set("stroke-width", f"{width:g}")
    if arrow:
        node.set("marker-end", f"url(#{arrow})")
    if dashes:
        node.set("stroke-dasharray", dashes)


def _box(root: etree._Element, box: Box, corner: Point, marked: frozenset[tuple[str, str, str]]) -> None:
    frame = etree.SubElement(
        root,
        "rect",
        x=f"{corner.x:g}",
        y=f"{corner.y:g}",
        width=f"{WIDTH:g}",
        height=f"{box.height:g}",
        rx="6",
        fill=FILL,
        stroke=INK,
    )
    frame.set("stroke-width", "1.4")
    _text(root, Point(corner.x + WIDTH / 2, corner.y + 21), box.name, "middle", 14, "bold")
    pins = {name: corner.y + HEAD + ROW * (row + 0.5) for row, name in enumerate(box.inputs)}
    ends = {name: corner.y + HEAD + ROW * (row + 0.5) for row, name in enumerate(box.outputs)}
    for name, y in pins.items():
        _text(root, Point(corner.x + 8, y + 4), name, "start", 12)
    for name, y in ends.items():
        _text(root, Point(corner.x + WIDTH - 8, y + 4), name, "end", 12)
    for source, destination in box.inner:
        alarm = (box.name, source, destination) in marked
        d = f"M{corner.x + 44:g},{pins[source]:g} L{corner.x + WIDTH - 44:g},{ends[destination]:g}"
        _path(root, d, ALARM if alarm else QUIET, 1.8 if alarm else 1.0, dashes="4 3")


def _line(root: etree._Element, line: Line, start: Point, end: Point, lane: int | None, bottom: float) -> None:
    colour, arrow, width = (ALARM, "alarm", 2.0) if line.marked else (INK, "arrow", 1.3)
    if lane is None:
        reach = max(40.0, (end.x - start.x) / 2)
        d = f"M{start.x:g},{start.y:g} C{start.x + reach:g},{start.y:g} {end.x - reach:g},{end.y:g} {end.x:g},{end.y:g}"
    else:
        out, back, y = start.x + 20 + 6 * lane, end.x - 20 - 6 * lane, bottom + LANE * (lane + 1)
        d = f"M{start.x:g},{start.y:g} H{out:g} V{y:g} H{back:g} V{end.y:g} H{end.x:g}"
    _path(root, d, colour, width, arrow)
