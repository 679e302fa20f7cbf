"""A sheet as SVG."""

import base64
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence

from lxml import etree

from ssptool.drawing.sheets.marks import Remark
from ssptool.drawing.sheets.pins import INFLOWS, LETTER
from ssptool.drawing.sheets.sheet import MIXED, Block, Line, Pin, Point, Sheet
from ssptool.drawing.sheets.stated import Extent, Icon, Note, Span
from ssptool.network.places import Path

SVG = "http://www.w3.org/2000/svg"
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
LETTERS = 13.0
"""Height of letters at the natural size of a picture [px]."""

_STYLE = """
.sheet .frame { fill: #f4f7fb; stroke: #2b3a4a; }
.sheet .opens .frame { fill: #e6eefa; }
.sheet .name { fill: #17202a; font-weight: bold; }
.sheet .below { paint-order: stroke; stroke: white; stroke-linejoin: round; }
.sheet .quiet { fill: #54626f; }
.sheet .label { fill: #34414e; }
.sheet .wire { fill: none; stroke: #33475b; stroke-linejoin: round; }
.sheet .pin { fill: #33475b; stroke: #33475b; }
.sheet .out { fill: white; }
.sheet .note { fill: #fffbe6; stroke: #d8cfa0; }
.sheet .error .frame, .sheet .error.wire { stroke: #c4312f; }
.sheet .error .frame { fill: #fbe9e8; }
.sheet .warning .frame, .sheet .warning.wire { stroke: #a86100; }
.sheet .warning .frame { fill: #fdf1de; }
.sheet .info .frame, .sheet .info.wire { stroke: #1664b0; }
.sheet .loop .frame, .sheet .loop.wire { stroke: #c4312f; }
.sheet a:focus .frame, .sheet a:hover .frame { stroke: #1664b0; }
"""

_WIDER = 2.0
"""Width of the lines of what is marked or can be opened, over that of others."""

Remarks = Mapping[Span, Sequence[Remark]]
LinkOf = Callable[[Path], str]


def sheet_svg(sheet: Sheet, remarks: Remarks, link: LinkOf | None = None) -> str:
    """The SVG text. `link` gives the address of the sheet of an element that has one; without it, nothing is a link."""
    return etree.tostring(sheet_element(sheet, remarks, link), pretty_print=True, encoding="unicode")


def sheet_element(sheet: Sheet, remarks: Remarks, link: LinkOf | None = None) -> etree._Element:
    return _Picture(sheet, remarks, link).root


class _Picture:
    """Coordinates are millimetres with y down: the upper left corner of the canvas is the origin."""

    def __init__(self, sheet: Sheet, remarks: Remarks, link: LinkOf | None) -> None:
        self._sheet = sheet
        self._remarks = remarks
        self._link = link
        self._text = sheet.text
        self._stroke = sheet.text / 14
        # Names below the lowest elements and the labels of the system's own connectors need room, too.
        letters = max((len(pin.label) for pin in sheet.pins), default=0)
        self._rim = max(2.5, LETTER * letters + 2.0) * sheet.text
        canvas = sheet.canvas
        width, height = canvas.width + 2 * self._rim, canvas.height + 2 * self._rim
        scale = LETTERS / sheet.text
        self.root = etree.Element(
            "svg",
            {
                "class": "sheet",
                "role": "img" if link is None else "group",
                "aria-label": f"Diagram of {sheet.name}",
                "font-family": FONT,
            },
            nsmap={None: SVG},  # type: ignore[dict-item]  # lxml takes None for the default namespace
            viewBox=f"0 0 {width:g} {height:g}",
            width=f"{width * scale:.0f}",
            height=f"{height * scale:.0f}",
        )
        etree.SubElement(self.root, "title").text = sheet.name
        etree.SubElement(self.root, "style").text = _STYLE
        etree.SubElement(self.root, "rect", width="100%", height="100%", fill="white")
        for note in sheet.notes:
            self._note(note)
        for line in sheet.lines:
            self._line(line)
        for block in sheet.blocks:
            self._block(block)
        for pin in sheet.pins:
            self._pin(self.root, pin, Point(-pin.outward.x, -pin.outward.y), outside=True)

    # -- coordinates -----------------------------------------------------------------------------------------------

    def _at(self, point: tuple[float, float]) -> Point:
        canvas = self._sheet.canvas
        return Point(point[0] - canvas.x1 + self._rim, canvas.y2 - point[1] + self._rim)

    def _rect(self, parent: etree._Element, extent: Extent, css: str, rotation: float = 0.0) -> etree._Element:
        corner = self._at((min(extent.x1, extent.x2), max(extent.y1, extent.y2)))
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

    def _write(
        self, parent: etree._Element, at: Point, text: str, css: str, anchor: str = "middle", size: float = 1.0
    ) -> None:
        """Text with its middle at a height; `size` is relative to the letters of the sheet."""
        node = etree.SubElement(parent, "text", {"class": css, "text-anchor": anchor})
        node.set("x", f"{at.x:g}")
        node.set("y", f"{at.y + 0.36 * size * self._text:g}")
        node.set("font-size", f"{size * self._text:g}")
        # Where a line passes, letters are kept apart from it.
        node.set("stroke-width", f"{0.3 * size * self._text:g}")
        node.text = text

    # -- things ----------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        parent = self.root
        if self._link is not None and block.opens:
            address = self._link(block.path)
            parent = etree.SubElement(self.root, "a", {"href": address, "aria-label": f"Open {block.name}"})
        remarks = self._remarks.get(block.span, ())
        css = " ".join(["block", *(["opens"] if block.opens else []), *(remark.mark.value for remark in remarks[:1])])
        group = etree.SubElement(parent, "g", {"class": css})
        _tell(group, [block.name, block.source, block.described, *(remark.text for remark in remarks)])
        frame = self._rect(group, block.extent, "frame", block.rotation)
        if block.opens:
            frame.set("stroke-width", f"{_WIDER * 1.4 * self._stroke:g}")
        if block.icon is not None:
            frame.set("fill-opacity", "1" if remarks else "0")
            frame.set("stroke-opacity", "1" if remarks else "0.25")
            self._icon(group, block, block.icon)
        self._names(group, block)
        for pin in block.pins:
            self._pin(group, pin, pin.outward)

    def _names(self, group: etree._Element, block: Block) -> None:
        """Inside in the middle if nothing else is there; above the labels of pins if they leave room; else below."""
        upright = _upright(block)
        x, y = upright.centre
        labels = [pin.at.y for pin in block.pins if pin.label]
        below = block.icon is not None or max(labels, default=-math.inf) > upright.y2 - 2.4 * self._text
        room = upright.width * (1.8 if below else 0.94)
        size = min(1.0, room / (1.15 * LETTER * self._text * max(len(block.name), 1)))
        height = upright.y1 - 1.1 * self._text if below else upright.y2 - 1.4 * self._text if labels else y
        self._write(group, self._at((x, height)), block.name, "name below" if below else "name", size=size)
        if not below and not labels and block.source and upright.height > 5 * self._text:
            size = min(0.8, room / (LETTER * self._text * len(block.source)))
            self._write(group, self._at((x, height - 1.6 * self._text)), block.source, "quiet", size=size)

    def _icon(self, group: etree._Element, block: Block, icon: Icon) -> None:
        """Turned by its own angle, absolute in the canvas; upright in a box that lies, it takes the lying box."""
        extent = block.extent
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

    def _pin(self, parent: etree._Element, pin: Pin, outward: Point, *, outside: bool = False) -> None:
        """A triangle in the direction of the signal, or a square for all other kinds; and the label beside it."""
        at = self._at(pin.at)
        size = 0.32 * self._text
        flows_in = pin.kind in INFLOWS
        group = etree.SubElement(parent, "g", {"class": "connector"})
        _tell(group, pin.described)
        angle = math.degrees(math.atan2(-outward.y, outward.x)) + (180 if flows_in else 0)
        shape = f"M{-size:g},{-size:g} L{size:g},0 L{-size:g},{size:g} z"
        if pin.kind == MIXED or pin.kind not in ("input", "output"):
            shape = f"M{-size:g},{-size:g} H{size:g} V{size:g} H{-size:g} z"
        glyph = etree.SubElement(group, "path", {"class": "pin" if flows_in else "pin out"}, d=shape)
        glyph.set("transform", f"translate({at.x:g} {at.y:g}) rotate({angle:g})")
        glyph.set("stroke-width", f"{self._stroke:g}")
        if pin.label:
            step = (1.1 if outside else -0.9) * self._text
            anchor = "start" if step * outward.x > 0 else "end"
            self._write(group, Point(at.x + step * outward.x, at.y), pin.label, "label", anchor, 0.85)

    def _line(self, line: Line) -> None:
        remarks = [remark for span in line.spans for remark in self._remarks.get(span, ())]
        css = " ".join(["wire", *(remark.mark.value for remark in remarks[:1])])
        points = " ".join(f"{x:g},{y:g}" for x, y in map(self._at, line.points))
        node = etree.SubElement(self.root, "polyline", {"class": css}, points=points)
        node.set("stroke-width", f"{self._stroke * (_WIDER if remarks else 1.0):g}")
        _tell(node, [*line.described, *(remark.text for remark in remarks)])

    def _note(self, note: Note) -> None:
        group = etree.SubElement(self.root, "g")
        self._rect(group, note.extent, "note")
        size, lines = _fitted(note, self._text)
        corner = self._at((min(note.extent.x1, note.extent.x2), max(note.extent.y1, note.extent.y2)))
        for number, text in enumerate(lines):
            at = Point(corner.x + 0.6 * size, corner.y + size * (1.1 + 1.3 * number))
            self._write(group, at, text, "label", "start", size / self._text)


def _upright(block: Block) -> Extent:
    """The box around an element as it lies in the canvas, with its corners in order."""
    (x, y), width, height = block.extent.centre, block.extent.width, block.extent.height
    sine, cosine = abs(math.sin(math.radians(block.rotation))), abs(math.cos(math.radians(block.rotation)))
    half = (width * cosine + height * sine) / 2, (width * sine + height * cosine) / 2
    return Extent(x - half[0], y - half[1], x + half[0], y + half[1])


def _fitted(note: Note, text: float) -> tuple[float, list[str]]:
    """The largest letters, up to those of the sheet, with which the text fits into its box; and its lines."""
    size = text
    while True:
        columns = max(1, int((note.extent.width - 1.2 * size) / (LETTER * size)))
        lines = [line for part in note.text.splitlines() for line in (textwrap.wrap(part, columns) or [""])]
        if (len(lines) * 1.3 + 0.6) * size <= note.extent.height or size < text / 8:
            return size, lines
        size *= 0.9


def _tell(node: etree._Element, facts: Sequence[str]) -> None:
    """What appears when the pointer rests there, and what a screen reader says."""
    title = etree.Element("title")
    title.text = "\n".join(filter(None, facts))
    node.insert(0, title)
