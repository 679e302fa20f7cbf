"""A sheet as SVG."""

import base64
import math
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from lxml import etree

from ssptool.drawing.diagram.labels import CROWDED, lettered
from ssptool.drawing.diagram.model import (
    MOST_APART,
    DrawnBlock,
    DrawnNote,
    Icon,
    Label,
    Line,
    Pin,
    Point,
    Rectangle,
    Role,
    Sheet,
    Span,
    TextAnchor,
    text_width,
)
from ssptool.drawing.diagram.read import INFLOWS, MEANINGS, Mark, Remark, strength
from ssptool.drawing.diagram.routing import branches, crossings, interrupted
from ssptool.foreign_text import joined_lines, json_text, one_line
from ssptool.network.tree import ElementPath, dotted

SVG = "http://www.w3.org/2000/svg"
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
LETTERS, SMALLEST = 13.0, 6.0
"""Height of letters at the natural size of a picture, and smallest height in nested systems [px]."""

EMPTY = "This system has no elements."

_STYLE = """
.sheet .ground { fill: white; }
.sheet .frame { fill: #f4f7fb; stroke: #2b3a4a; }
.sheet .opens > .frame { fill: #e6eefa; }
.sheet .around { fill: none; stroke: #b9c3cd; }
.sheet .name { fill: #17202a; font-weight: bold; }
.sheet .quiet { fill: #54626f; }
.sheet .label { fill: #34414e; }
.sheet .wire { fill: none; stroke: #33475b; stroke-linejoin: round; }
.sheet .through { stroke: #6f7f8f; }
.sheet .pin { fill: #33475b; stroke: #33475b; }
.sheet .out { fill: white; }
.sheet .note { fill: #fffbe6; stroke: #d8cfa0; }
.sheet .error > .frame, .sheet .error.wire { stroke: #c4312f; }
.sheet .error > .frame { fill: #fbe9e8; }
.sheet .warning > .frame, .sheet .warning.wire { stroke: #a86100; }
.sheet .warning > .frame { fill: #fdf1de; }
.sheet .loop > .frame, .sheet .loop.wire { stroke: #a3189b; }
.sheet .info > .frame, .sheet .info.wire { stroke: #1664b0; }
.sheet a:focus .frame, .sheet a:hover .frame { stroke: #1664b0; }
"""

_GAP = 0.36
"""Gap of a line at a crossing, relative to the height of letters; parallel lines have a distance of 0.45."""

_BUNDLE = 2.2
"""Relative width of a line that represents many connections."""

_WIDER = 2.0
"""Relative line width of marked elements, and of elements that can be opened."""

Remarks = Mapping[Span, Sequence[Remark]]
LinkOf = Callable[[ElementPath], str]


def sheet_svg(
    sheet: Sheet, remarks: Remarks, link: LinkOf | None = None, meanings: Mapping[Mark, str] = MEANINGS
) -> str:
    """The SVG text. `link` returns the address of the sheet of an element (default: no links).

    `meanings` are the texts of the legend.
    """
    return etree.tostring(_Picture(sheet, remarks, link, meanings).root, pretty_print=True, encoding="unicode")


def svg_with_origin(sheet: Sheet, link: LinkOf, *, whole: bool) -> tuple[str, Point]:
    """The SVG text, and the upper left corner of the picture in the coordinates of the document [mm, upwards].

    There is no space between elements, which a browser would turn into nodes. Without `whole`, the picture is an
    overview: elements with their names, and lines.
    """
    picture = _Picture(sheet, {}, link, MEANINGS, whole=whole)
    return etree.tostring(picture.root, encoding="unicode"), picture.origin


class _Picture:
    """Coordinates are millimetres with y down: the upper left corner of the page is the origin."""

    def __init__(
        self,
        sheet: Sheet,
        remarks: Remarks,
        link: LinkOf | None,
        meanings: Mapping[Mark, str],
        *,
        whole: bool = True,
    ) -> None:
        self._whole = whole
        sheet = lettered(sheet)
        self._remarks = remarks
        self._meanings = meanings
        self._link = link
        self._around = _around(sheet)
        self.origin = Point(self._around.x1, self._around.y2)
        self._legend = [mark for mark in Mark if mark in _seen(sheet, remarks)]
        width = self._around.width
        height = self._around.height + (2.4 * sheet.text if self._legend else 0.0)
        scale = max(LETTERS / sheet.text, SMALLEST / min(one.text for one in sheet.all()))
        self.root = etree.Element(
            "svg",
            {
                "class": "sheet",
                "role": "img" if link is None else "group",
                "aria-label": one_line(f"Diagram of {sheet.name}"),
                "font-family": FONT,
            },
            nsmap={None: SVG},  # type: ignore[dict-item]  # lxml takes None for the default namespace
            viewBox=f"0 0 {width:g} {height:g}",
            width=f"{width * scale:.0f}",
            height=f"{height * scale:.0f}",
        )
        etree.SubElement(self.root, "title").text = one_line(sheet.name)
        etree.SubElement(self.root, "style").text = _STYLE
        etree.SubElement(self.root, "rect", {"class": "ground"}, width="100%", height="100%")
        self._use(sheet)
        if sheet.pins:
            self._rect(self.root, sheet.canvas, "around")
        self._sheet(sheet)
        self._use(sheet)
        if not sheet.blocks and not sheet.notes:
            self._write(
                self.root, Label(EMPTY, Point(*sheet.canvas.centre), TextAnchor.MIDDLE, sheet.text, Role.SOURCE)
            )
        self._write_legend()

    def _use(self, sheet: Sheet) -> None:
        self._text = sheet.text
        self._stroke = sheet.text / 14

    def _sheet(self, sheet: Sheet) -> None:
        self._use(sheet)
        for note in sheet.notes:
            self._note(note)
        crossed = crossings(sheet.lines) if len(sheet.lines) <= CROWDED else {}  # gaps between gaps show nothing
        paths = {"": sheet.path} | {block.name: block.path for block in sheet.blocks}
        for number, line in enumerate(sheet.lines):
            node = self._line(self.root, line, gaps=crossed.get(number, ()))
            for end, element in zip(("from", "to"), line.elements, strict=True):
                self._identify(node, end, paths[element])
            if self._link is not None:
                node.set("data-connections", _listed(line.described))
            for label in line.labels:
                self._write(self.root, label)
        for point in branches(sheet.lines):
            at = self._at(point)
            dot = {"class": "pin", "cx": f"{at.x:g}", "cy": f"{at.y:g}", "r": f"{0.17 * self._text:g}"}
            etree.SubElement(self.root, "circle", dot | {"stroke-width": "0"})
        for block in sheet.blocks:
            self._block(block)
        for pin in sheet.pins:
            self._pin(self.root, pin, own=True)
        for label in sheet.labels:
            self._write(self.root, label)
        for inset in sheet.insets:
            self._sheet(inset)

    # -- coordinates -----------------------------------------------------------------------------------------------

    def _at(self, point: tuple[float, float]) -> Point:
        return Point(point[0] - self._around.x1, self._around.y2 - point[1])

    def _rect(self, parent: etree._Element, extent: Rectangle, css: str, rotation: float = 0.0) -> etree._Element:
        corner = self._at((extent.upright.x1, extent.upright.y2))
        rect = etree.SubElement(
            parent,
            "rect",
            {"class": css, "stroke-width": f"{1.4 * self._stroke:g}"},
            x=f"{corner.x:g}",
            y=f"{corner.y:g}",
            width=f"{extent.width:g}",
            height=f"{extent.height:g}",
            rx=f"{0.4 * self._text:g}",
        )
        if rotation:
            centre = self._at(extent.centre)
            rect.set("transform", f"rotate({-rotation:g} {centre.x:g} {centre.y:g})")
        return rect

    def _write(self, parent: etree._Element, label: Label) -> None:
        at = self._at(label.at)
        node = etree.SubElement(parent, "text", {"class": label.role.value, "text-anchor": label.anchor.value})
        node.set("x", f"{at.x:g}")
        node.set("y", f"{at.y + 0.36 * label.size:g}")
        node.set("font-size", f"{label.size:g}")
        node.text = one_line(label.text)

    def _write_legend(self) -> None:
        group = etree.SubElement(self.root, "g", {"class": "legend"})
        x, y = self._around.x1 + self._text, self._around.y1 - 1.2 * self._text
        for mark in self._legend:
            points = Point(x, y), Point(x + 2 * self._text, y)
            self._line(group, Line(points, (self._meanings[mark],), ()), mark.value)
            at = Point(x + 2.6 * self._text, y)
            label = Label(self._meanings[mark], at, TextAnchor.START, 0.85 * self._text, Role.PIN)
            self._write(group, label)
            x = label.extent.x2 + 2 * self._text

    # -- things ----------------------------------------------------------------------------------------------------

    def _block(self, block: DrawnBlock) -> None:
        parent = self.root
        if self._link is not None and block.opens:
            address = self._link(block.path)
            parent = etree.SubElement(self.root, "a", {"href": address, "aria-label": one_line(f"Open {block.name}")})
        remarks = self._remarks.get(block.span, ())
        css = " ".join(
            [
                "block",
                *(["opens"] if block.opens else []),
                *(["group"] if block.group else []),
                *(remark.mark.value for remark in remarks[:1]),
            ]
        )
        group = etree.SubElement(parent, "g", {"class": css})
        self._identify(group, "of", block.path)
        if self._link is not None and not block.group:
            group.set("data-name", one_line(dotted(block.path)))
        _add_tooltip(group, [block.name, block.source, block.described, *(remark.text for remark in remarks)])
        frame = self._rect(group, block.extent, "frame", block.rotation)
        if block.opens:
            frame.set("stroke-width", f"{_WIDER * 1.4 * self._stroke:g}")
        if block.group:
            frame.set("stroke-dasharray", f"{0.8 * self._text:g} {0.4 * self._text:g}")
        if block.icon is not None:
            if block.covered:
                frame.set("fill-opacity", "1" if remarks else "0")
                frame.set("stroke-opacity", "1" if remarks else "0.25")
            self._icon(group, block, block.icon)
        for line in block.feedthrough:
            self._line(group, line, "through", dashed=True)
        for pin in block.pins if self._whole else ():
            self._pin(group, pin)
        for label in block.labels:
            if self._whole or label.role is Role.NAME:
                self._write(group, label)

    def _icon(self, group: etree._Element, block: DrawnBlock, icon: Icon) -> None:
        """The icon has its own angle, absolute in the canvas; width and height are swapped if its box differs by
        90°.
        """
        extent = block.icon_extent
        lying = round((block.rotation - icon.rotation) / 90) % 2 == 1
        width, height = (extent.height, extent.width) if lying else (extent.width, extent.height)
        centre = self._at(extent.centre)
        mirror = (-1 if icon.flip and extent.x1 > extent.x2 else 1, -1 if icon.flip and extent.y1 > extent.y2 else 1)
        etree.SubElement(
            group,
            "image",
            href=f"data:{icon.media_type};base64,{base64.b64encode(icon.content).decode()}",
            x=f"{-width / 2:g}",
            y=f"{-height / 2:g}",
            width=f"{width:g}",
            height=f"{height:g}",
            preserveAspectRatio="xMidYMid meet" if icon.keeps_ratio else "none",
            transform=f"translate({centre.x:g} {centre.y:g}) rotate({-icon.rotation:g}) scale({mirror[0]} {mirror[1]})",
        )

    def _pin(self, parent: etree._Element, pin: Pin, *, own: bool = False) -> None:
        """A triangle in the direction of the signal, or a square for all other kinds.

        The system's own connectors point into the sheet.
        """
        at = self._at(pin.at)
        size = 0.32 * self._text
        flows_in = pin.kind in INFLOWS
        group = etree.SubElement(parent, "g", {"class": "connector"})
        _add_tooltip(group, pin.described)
        if self._link is not None:
            group.set("data-pins", _listed(pin.names))
        angle = math.degrees(math.atan2(-pin.outward.y, pin.outward.x)) + (180 if flows_in is not own else 0)
        shape = _glyph(size, pointed=pin.kind in ("input", "output"))
        glyph = etree.SubElement(group, "path", {"class": "pin" if flows_in else "pin out"}, d=shape)
        glyph.set("transform", f"translate({at.x:g} {at.y:g}) rotate({angle:g})")
        glyph.set("stroke-width", f"{self._stroke:g}")

    def _line(
        self, parent: etree._Element, line: Line, css: str = "", *, dashed: bool = False, gaps: Collection[Point] = ()
    ) -> etree._Element:
        """A line with gaps at crossings with lines of other signals."""
        remarks = [remark for span in line.spans for remark in self._remarks.get(span, ())]
        remarks.sort(key=strength)
        classes = " ".join(filter(None, ["wire", css, *(remark.mark.value for remark in remarks[:1])]))
        runs = interrupted(line.points, gaps, _GAP * self._text)
        way = " ".join(f"M{' '.join(f'{x:g},{y:g}' for x, y in map(self._at, run))}" for run in runs)
        node = etree.SubElement(parent, "path", {"class": classes}, d=way)
        stands_out = remarks or css in list(Mark)
        width = _WIDER if stands_out else 1.0
        node.set("stroke-width", f"{self._stroke * width * (_BUNDLE if len(line.spans) > MOST_APART else 1.0):g}")
        if dashed:
            node.set("stroke-dasharray", f"{0.3 * self._text:g} {0.25 * self._text:g}")
        _add_tooltip(node, [*line.described, *(remark.text for remark in remarks)])
        return node

    def _identify(self, node: etree._Element, role: str, path: ElementPath) -> None:
        """Data for the script of a page, which finds and traces drawn elements."""
        if self._link is not None:
            node.set(f"data-{role}", one_line("/".join(path)))

    def _note(self, note: DrawnNote) -> None:
        group = etree.SubElement(self.root, "g")
        if self._link is not None:
            group.set("class", "noted")
            group.set("data-note", note.text)
        self._rect(group, note.extent, "note")
        size, lines = _fitted(note, self._text)
        corner = Point(note.extent.upright.x1, note.extent.upright.y2)
        for number, text in enumerate(lines):
            at = Point(corner.x + 0.6 * size, corner.y - size * (1.1 + 1.3 * number))
            self._write(group, Label(text, at, TextAnchor.START, size, Role.PIN))


@lru_cache(maxsize=4096)
def _listed(texts: tuple[str, ...]) -> str:
    return json_text([one_line(text) for text in texts])


@lru_cache(maxsize=64)
def _glyph(size: float, *, pointed: bool) -> str:
    if pointed:
        return f"M{-size:g},{-size:g} L{size:g},0 L{-size:g},{size:g} z"
    return f"M{-size:g},{-size:g} H{size:g} V{size:g} H{-size:g} z"


def _around(sheet: Sheet) -> Rectangle:
    """The canvas and everything outside of it, with a margin."""
    found = [sheet.canvas.upright, *_extents(sheet)]
    rim = sheet.text
    return Rectangle(
        min(each.x1 for each in found) - rim,
        min(each.y1 for each in found) - rim,
        max(each.x2 for each in found) + rim,
        max(each.y2 for each in found) + rim,
    )


def _extents(sheet: Sheet) -> Iterator[Rectangle]:
    for one in sheet.all():
        yield from (label.extent for label in one.labels)
        yield from (note.extent.upright for note in one.notes)
        if points := [point for line in one.lines for point in line.points]:
            xs, ys = zip(*points, strict=True)
            yield Rectangle(min(xs), min(ys), max(xs), max(ys))
        yield from (label.extent for line in one.lines for label in line.labels)
        for block in one.blocks:
            yield block.extent.turned(block.rotation)
            yield from (label.extent for label in block.labels)


def _seen(sheet: Sheet, remarks: Remarks) -> set[Mark]:
    """The strongest mark of each element or line, which determines its colour."""
    found = set()
    for one in sheet.all():
        lines = [*one.lines, *(line for block in one.blocks for line in block.feedthrough)]
        for spans in [*((block.span,) for block in one.blocks), *(line.spans for line in lines)]:
            there = [remark for span in spans for remark in remarks.get(span, ())]
            found |= {min(there, key=strength).mark} if there else set()
    return found


def _fitted(note: DrawnNote, text: float) -> tuple[float, list[str]]:
    """The largest letters, up to those of the sheet, that fit into the box; and the lines of the text."""
    size = text
    while True:
        lines = [
            line for part in note.text.splitlines() for line in _wrapped(part, note.extent.width - 1.2 * size, size)
        ]
        if (len(lines) * 1.3 + 0.6) * size <= note.extent.height or size < text / 8:
            return size, lines
        size *= 0.9


def _wrapped(text: str, width: float, size: float) -> list[str]:
    """Lines of a text, broken by the average width of its letters, or earlier if a line is too wide."""
    columns = max(1, int(width * max(len(text), 1) / max(text_width(text, size), 1e-9)))
    while True:
        lines = textwrap.wrap(text, columns) or [""]
        if columns == 1 or all(text_width(line, size) <= width for line in lines):
            return lines
        columns -= 1


def _add_tooltip(node: etree._Element, facts: Sequence[str]) -> None:
    """Text for tooltips and screen readers."""
    title = etree.SubElement(node, "title")
    title.text = _fact_lines(tuple(facts))


@lru_cache(maxsize=4096)
def _fact_lines(facts: tuple[str, ...]) -> str:
    return joined_lines(filter(None, facts))
