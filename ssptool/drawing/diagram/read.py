"""Sheets read from system structures: boxes, pins, placement and marks."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from ssptool.documents import ssd
from ssptool.documents.archive import Archive, UnresolvableUri
from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.drawing.diagram.heights import on_grid
from ssptool.drawing.diagram.layout import LayoutBox
from ssptool.drawing.diagram.model import (
    MIXED,
    DrawnBlock,
    DrawnNote,
    Icon,
    Line,
    Pin,
    Point,
    Rectangle,
    Sheet,
    Span,
    StatedBlock,
    StatedLine,
    StatedPin,
    StatedSheet,
    text_width,
)
from ssptool.errors import WrongUsage
from ssptool.fmu.terminals import TERMINALS, terminal_positions
from ssptool.network.tree import ComponentPlace, ElementPath, SystemPlace, Tree, build_tree

_MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
_FMU_ICONS = ("terminalsAndIcons/icon.svg", "terminalsAndIcons/icon.png", "icon.svg", "icon.png", "model.png")
"""Entries of icons in FMI 3.0 and 2.0, the better formats first."""

MOST_PIXELS = 2**24
"""Largest number of pixels of an icon: a few kilobytes can declare 10⁹ pixels of four bytes each."""


Places: TypeAlias = Mapping[str, tuple[float, float]]
"""Positions of connectors, in fractions of the box of their element."""


def stated_sheets(archive: Archive, structure: Document) -> dict[ElementPath, StatedSheet]:
    """A sheet for each readable system, the root first, including nested SSDs and packages."""
    return sheets_of(build_tree(archive, structure))


def sheets_of(tree: Tree) -> dict[ElementPath, StatedSheet]:
    """A sheet for each system of a tree, the root first."""
    systems = {place.path: place for place in tree.systems}
    fmus = {place.path: place for place in tree.components}
    return {place.path: _Reader(place, systems, fmus).sheet() for place in tree.systems}


class _Reader:
    def __init__(
        self, place: SystemPlace, systems: Mapping[ElementPath, SystemPlace], fmus: Mapping[ElementPath, ComponentPlace]
    ) -> None:
        self._archive = place.scope.archive
        self._place = place
        self._systems = systems
        self._fmus = fmus
        self._file = place.scope.document.name
        self._pictures: dict[str, tuple[bytes, str] | None] = {}
        self._terminals: dict[str, Places] = {}

    def sheet(self) -> StatedSheet:
        system = self._place.system
        name = self._place.path[-1] if self._place.path else system.name
        canvas = system.system_geometry
        return StatedSheet(
            path=self._place.path,
            name=name,
            canvas=None if canvas is None else _area(canvas),
            blocks=tuple(self._block(element) for element in system.elements),
            lines=tuple(self._line(connection) for connection in system.connections),
            notes=tuple(DrawnNote(place, note.text) for note in system.notes if (place := _area(note)) is not None),
            pins=tuple(_pin(connector) for connector in system.connectors),
        )

    def _block(self, element: ssd.SystemElement) -> StatedBlock:
        path = (*self._place.path, element.name)
        geometry = element.geometry
        extent = None if geometry is None else _area(geometry)
        places = self._places(path)
        return StatedBlock(
            path=path,
            source=_source(element),
            described=element.description or "",
            extent=extent,
            rotation=0.0 if geometry is None or extent is None else _angle(geometry.rotation),
            icon=self._icon(path, geometry),
            pins=tuple(_pin(connector, places.get(connector.name)) for connector in element.connectors),
            opens=path in self._systems,
            span=self._span(element),
        )

    def _places(self, path: ElementPath) -> Places:
        """Positions of connectors from the FMU or system behind an element, if the element states none."""
        if path in self._systems:
            own = {connector.name: connector.geometry for connector in self._systems[path].system.connectors}
            return {name: (place.x, place.y) for name, place in own.items() if place is not None}
        place = self._fmus.get(path)
        return {} if place is None else self._places_of_fmu(place.source)

    def _places_of_fmu(self, source: str) -> Places:
        if source not in self._terminals:
            entry = self._archive.inside(source, TERMINALS)
            known = self._archive.has(entry)
            self._terminals[source] = terminal_positions(self._archive.content(entry)) if known else {}
        return self._terminals[source]

    def _line(self, connection: ssd.Connection) -> StatedLine:
        geometry = connection.geometry
        return StatedLine(
            start=connection.start,
            end=connection.end,
            way=None if geometry is None else _way(geometry),
            described=(f"{connection.start} – {connection.end}",),
            spans=(self._span(connection),),
        )

    def _span(self, element: Element) -> Span:
        last = max((node.line for node in element.iter() if isinstance(node, Element)), default=element.line)
        return Span(self._file, element.line, last)

    def _icon(self, path: ElementPath, geometry: ssd.ElementGeometry | None) -> Icon | None:
        found = self._stated_icon(geometry) or self._fmu_icon(path)
        if found is None:
            return None
        content, media_type = found
        if geometry is None:
            return Icon(content, media_type, keeps_ratio=True)
        turned = _angle(geometry.icon_rotation)
        return Icon(content, media_type, turned, geometry.icon_flip, geometry.icon_fixed_aspect_ratio)

    def _stated_icon(self, geometry: ssd.ElementGeometry | None) -> tuple[bytes, str] | None:
        if geometry is None or geometry.icon_source is None:
            return None
        try:
            entry = self._archive.resolve(self._file, geometry.icon_source)
        except UnresolvableUri:
            return None
        return self._picture(entry)

    def _fmu_icon(self, path: ElementPath) -> tuple[bytes, str] | None:
        place = self._fmus.get(path)
        if place is None:
            return None
        if place.source not in self._pictures:
            pictures = (self._picture(self._archive.inside(place.source, name)) for name in _FMU_ICONS)
            self._pictures[place.source] = next(filter(None, pictures), None)
        return self._pictures[place.source]

    def _picture(self, entry: str) -> tuple[bytes, str] | None:
        media_type = next((kind for ending, kind in _MEDIA_TYPES.items() if entry.lower().endswith(ending)), None)
        if media_type is None or not self._archive.has(entry):
            return None
        content = self._archive.content(entry)
        if content.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
            if width * height > MOST_PIXELS:
                raise WrongUsage(
                    f"the icon {entry} has {width} x {height} pixels, and at most {MOST_PIXELS} in all are drawn; "
                    "replace it by a smaller picture"
                )
        return content, media_type


FARTHEST, CLOSEST, OFF_EDGE = 1e6, 1e-6, 1e3
"""Largest coordinate and smallest extent of a picture [units], and largest distance of a connector [extents]."""


def _area(box: ssd.Box) -> Rectangle | None:
    """A rectangle; None if it is empty or not finite, for which the standard defines no place. Raises WrongUsage."""
    extent = Rectangle(box.x1, box.y1, box.x2, box.y2)
    corners = (box.x1, box.y1, box.x2, box.y2)
    if not all(map(math.isfinite, corners)) or not extent.width > 0.0 or not extent.height > 0.0:
        return None
    _require_drawable(box, corners, FARTHEST)
    if (smallest := min(extent.width, extent.height)) < CLOSEST:
        raise WrongUsage(f"{box.position}: the extent {smallest:g} is too small to draw; correct it, or remove it")
    return extent


def _require_drawable(element: Element, coordinates: Iterable[float], most: float) -> None:
    """Raise WrongUsage for a coordinate that no picture reaches."""
    for one in coordinates:
        if abs(one) > most:
            raise WrongUsage(
                f"{element.position}: the coordinate {one:g} is too far away to draw, at most {most:g}; correct it, "
                "or remove it"
            )


def _way(geometry: ssd.ConnectionGeometry) -> tuple[tuple[float, float], ...] | None:
    """Way points; None if a coordinate is missing or not finite. Raises WrongUsage."""
    xs, ys = geometry.points_x, geometry.points_y
    if len(xs) != len(ys) or not all(map(math.isfinite, (*xs, *ys))):
        return None
    _require_drawable(geometry, (*xs, *ys), FARTHEST)
    return tuple(zip(xs, ys, strict=True))


def _place(geometry: Element, x: float | None, y: float | None) -> tuple[float, float] | None:
    if x is None or y is None or not math.isfinite(x) or not math.isfinite(y):
        return None
    _require_drawable(geometry, (x, y), OFF_EDGE)
    return x, y


def _angle(degrees: float) -> float:
    """An angle of less than one turn; 0 if it is not finite."""
    return math.fmod(degrees, 360.0) if math.isfinite(degrees) else 0.0


def _pin(connector: ssd.Connector, otherwise: tuple[float, float] | None = None) -> StatedPin:
    geometry = connector.geometry
    place = otherwise if geometry is None else _place(geometry, geometry.x, geometry.y)
    inner = place
    if geometry is not None:
        inner = _place(geometry, geometry.system_inner_x, geometry.system_inner_y) or place
    return StatedPin(connector.name, connector.kind.value, place, inner, "; ".join(_facts(connector)))


def _facts(connector: ssd.Connector) -> Iterator[str]:
    unit = f" [{connector.unit}]" if connector.unit else ""
    yield f"{connector.name}: {connector.kind.value}{' ' + connector.type_name if connector.type_name else ''}{unit}"
    if connector.description:
        yield connector.description


def _source(element: ssd.SystemElement) -> str:
    if isinstance(element, ssd.Component):
        return (element.source or "").rpartition("/")[2]
    return element.dictionary if isinstance(element, ssd.SignalDictionaryReference) else ""


@dataclass(frozen=True, slots=True)
class Placement:
    """Maps the canvas of a system to the box of its element: stretched, mirrored like its corners, and rotated with
    it.
    """

    canvas: Rectangle
    box: Rectangle
    rotation: float = 0.0

    @property
    def _scales(self) -> tuple[float, float]:
        """Scales of both axes; negative if the box is mirrored."""
        across, up = self.box.x2 - self.box.x1, self.box.y2 - self.box.y1
        return across / (self.canvas.x2 - self.canvas.x1), up / (self.canvas.y2 - self.canvas.y1)

    def point(self, point: tuple[float, float]) -> Point:
        (x, y), (sx, sy) = point, self._scales
        at = Point(self.box.x1 + (x - self.canvas.x1) * sx, self.box.y1 + (y - self.canvas.y1) * sy)
        centre = Point(*self.box.centre)
        off = self._turned(at.x - centre.x, at.y - centre.y)
        return Point(centre.x + off.x, centre.y + off.y)

    def sheet(self, sheet: Sheet) -> Sheet:
        return replace(
            sheet,
            text=sheet.text * min(map(abs, self._scales)),
            canvas=self.box,
            blocks=tuple(map(self._block, sheet.blocks)),
            lines=tuple(map(self._line, sheet.lines)),
            notes=tuple(DrawnNote(self._extent(note.extent, 0.0)[0], note.text) for note in sheet.notes),
            pins=(),
            insets=tuple(map(self.sheet, sheet.insets)),
        )

    def _turned(self, x: float, y: float) -> Point:
        sine, cosine = math.sin(math.radians(self.rotation)), math.cos(math.radians(self.rotation))
        if self.rotation % 90 == 0:
            sine, cosine = round(sine), round(cosine)
        return Point(cosine * x - sine * y, sine * x + cosine * y)

    def _extent(self, extent: Rectangle, rotation: float) -> tuple[Rectangle, float]:
        """A box and its angle. (A rotated box in a box of another aspect ratio is not sheared.)"""
        sx, sy = self._scales
        lying = round(rotation / 90) % 2 == 1
        width = (extent.x2 - extent.x1) * math.copysign(sy if lying else sx, sx) / 2
        height = (extent.y2 - extent.y1) * math.copysign(sx if lying else sy, sy) / 2
        x, y = self.point(extent.centre)
        return Rectangle(x - width, y - height, x + width, y + height), self.rotation + rotation * math.copysign(
            1, sx * sy
        )

    def _block(self, block: DrawnBlock) -> DrawnBlock:
        extent, rotation = self._extent(block.extent, block.rotation)
        turned = math.copysign(1, self._scales[0] * self._scales[1])
        icon = block.icon and replace(block.icon, rotation=self.rotation + turned * block.icon.rotation)
        return replace(
            block,
            extent=extent,
            rotation=rotation,
            icon=icon,
            icon_extent=extent if block.covered else self._extent(block.icon_extent, block.rotation)[0],
            pins=tuple(map(self.pin, block.pins)),
            feedthrough=tuple(map(self._line, block.feedthrough)),
        )

    def _line(self, line: Line) -> Line:
        return replace(line, points=tuple(map(self.point, line.points)))

    def pin(self, pin: Pin) -> Pin:
        sx, sy = self._scales
        outward = self._turned(math.copysign(1, sx) * pin.outward.x, math.copysign(1, sy) * pin.outward.y)
        return replace(pin, at=self.point(pin.at), outward=outward)


INFLOWS = frozenset({"input", "parameter", "structuralParameter", "inout"})


def shown(pins: Sequence[StatedPin], connected: set[str]) -> tuple[StatedPin, ...]:
    """Connectors to draw: signals, and all others with a place or a connection."""
    return tuple(
        pin
        for pin in pins
        if pin.kind in ("input", "output", "inout") or pin.place is not None or pin.name in connected
    )


def fractions(pins: Sequence[StatedPin], *, inside: bool) -> dict[str, tuple[float, float]]:
    """Position of each connector in fractions of the box: as stated, or evenly at the left (inflows) or right side."""
    found = {pin.name: pin.inner if inside else pin.place for pin in pins}
    for side, flows_in in ((0.0, True), (1.0, False)):
        homeless = [pin.name for pin in pins if found[pin.name] is None and (pin.kind in INFLOWS) is flows_in]
        for place, name in enumerate(homeless, start=1):
            found[name] = (side, 1.0 - place / (len(homeless) + 1))
    return {name: place for name, place in found.items() if place is not None}


def placed(
    pins: Sequence[StatedPin], extent: Rectangle, rotation: float, *, inside: bool = False
) -> tuple[tuple[Pin, ...], Mapping[str, tuple[Point, Point]]]:
    """The pins to draw, and for each connector its position and outward direction.

    Positions follow the stated corners, so that they are mirrored and rotated with the element.
    """
    uv = fractions(pins, inside=inside)
    ends = {name: _turned(extent, place, rotation) for name, place in uv.items()}
    together: dict[tuple[float, float], list[StatedPin]] = defaultdict(list)
    for pin in pins:
        together[uv[pin.name]].append(pin)
    return tuple(_placed_pin(group, *ends[group[0].name]) for group in together.values()), ends


def _turned(extent: Rectangle, place: tuple[float, float], rotation: float) -> tuple[Point, Point]:
    u, v = place
    (x1, y1), (x2, y2) = extent.corners
    cx, cy = extent.centre
    dx, dy = x1 + u * (x2 - x1) - cx, y1 + v * (y2 - y1) - cy
    # The side that is nearest; its normal is mirrored with the box.
    _, nx, ny = min((u, -1.0, 0.0), (1 - u, 1.0, 0.0), (v, 0.0, -1.0), (1 - v, 0.0, 1.0))
    nx, ny = nx * math.copysign(1, x2 - x1), ny * math.copysign(1, y2 - y1)
    sine, cosine = math.sin(math.radians(rotation)), math.cos(math.radians(rotation))
    if rotation % 90 == 0:
        sine, cosine = round(sine), round(cosine)
    return (
        Point(cx + cosine * dx - sine * dy, cy + sine * dx + cosine * dy),
        Point(cosine * nx - sine * ny, sine * nx + cosine * ny),
    )


def _placed_pin(group: Sequence[StatedPin], at: Point, outward: Point) -> Pin:
    kinds = {pin.kind for pin in group}
    return Pin(
        kind=kinds.pop() if len(kinds) == 1 else MIXED,
        at=at,
        outward=outward,
        names=tuple(pin.name for pin in group),
        described=tuple(pin.described for pin in group),
    )


class Mark(StrEnum):
    """Marks of drawn things; the first is the strongest."""

    ERROR = "error"
    WARNING = "warning"
    LOOP = "loop"
    INFO = "info"


MEANINGS = {Mark.ERROR: "error", Mark.WARNING: "warning", Mark.LOOP: "algebraic loop", Mark.INFO: "remark"}
"""Texts of the legend."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on the element that a line of a file states."""

    mark: Mark
    file: str
    line: int
    text: str


def findings(diagnostics: Iterable[Diagnostic]) -> Iterator[Remark]:
    """Findings of a validation as remarks."""
    for one in diagnostics:
        yield Remark(Mark(one.severity.value), one.position.file, one.position.line, f"{one.code}: {one.message}")


def marked(sheets: Sequence[StatedSheet], remarks: Iterable[Remark]) -> Mapping[Span, tuple[Remark, ...]]:
    """Remarks by drawn thing: each belongs to the smallest thing that contains its line.

    An element with a sheet of its own gets the number of remarks inside.
    """
    spans = list(dict.fromkeys(span for sheet in sheets for span in _spans(sheet)))
    found: dict[Span, list[Remark]] = {}
    for remark in remarks:
        around = [span for span in spans if span.has(remark.file, remark.line)]
        if around:
            found.setdefault(min(around, key=lambda span: span.last - span.first), []).append(remark)
    # Inner sheets come after outer ones, so that what is deep inside shows in all that is around it. An element that
    # references place several times has the same inside everywhere.
    by_path = {sheet.path: sheet for sheet in sheets}
    looked_into: set[Span] = set()
    for block in (block for sheet in reversed(sheets) for block in sheet.blocks if block.path in by_path):
        if block.span not in looked_into:
            looked_into.add(block.span)
            if (inside := _inside(by_path[block.path], found)) is not None:
                found.setdefault(block.span, []).append(replace(inside, file=block.span.file, line=block.span.first))
    return {span: tuple(sorted(group, key=strength)) for span, group in found.items()}


def _inside(sheet: StatedSheet, found: Mapping[Span, Sequence[Remark]]) -> Remark | None:
    """One remark for all the remarks in a system."""
    there = [remark for span in dict.fromkeys(_spans(sheet)) for remark in found.get(span, ())]
    if not there:
        return None
    strongest = min(there, key=strength)
    return replace(strongest, text=there[0].text if len(there) == 1 else f"inside: {len(there)} remarks")


def _spans(sheet: StatedSheet) -> Iterator[Span]:
    for block in sheet.blocks:
        yield block.span
    yield from (span for line in sheet.lines for span in line.spans)


_STRENGTHS = {mark: number for number, mark in enumerate(Mark)}


def strength(remark: Remark) -> int:
    """The strongest is 0."""
    return _STRENGTHS[remark.mark]


PIN_TEXT = 0.85
"""Size of pin labels relative to names."""
HEAD = 2.6
"""Height of the title relative to the letters."""
_ROW, _FOOT, _BESIDE = 1.8, 0.8, 0.9
"""Height of a line of labels, and room below and next to labels, relative to the height of letters."""
_LEAST, _ICON, _MIDDLE = 6.0, 6.0, 3.0
"""Width of a box, side of an icon, room between the two columns of labels, over the height of the letters."""


def box_of(block: StatedBlock, pins: Sequence[StatedPin], text: float, inset: Sheet | None) -> LayoutBox:
    """A box large enough for the name, and for the labels of the pins in two columns, or for the content."""
    return _around(block, pins, text, inset) if inset is not None else _plain(block, pins, text)


def middle_of(pins: Sequence[StatedPin], extent: Rectangle, text: float) -> Rectangle:
    """The room for an icon in such a box: between the labels, below the name."""
    left, right = columns_of(pins, text)
    top = extent.y2 - (HEAD - 0.4) * text
    width, height = extent.width - left - right - text, top - extent.y1 - 0.8 * text
    side = max(min(width, height), text)
    x, y = (extent.x1 + left + extent.x2 - right) / 2, (top + extent.y1 + 0.8 * text) / 2
    return Rectangle(x - side / 2, y - side / 2, x + side / 2, y + side / 2)


def columns_of(pins: Sequence[StatedPin], text: float) -> tuple[float, float]:
    """Widths of the labels at the left and at the right, with the room between them and the edge."""
    left, right = (
        max((text_width(pin.name, PIN_TEXT * text) + _BESIDE * text for pin in side), default=0.0)
        for side in _sides(pins)
    )
    return left, right


def _plain(block: StatedBlock, pins: Sequence[StatedPin], text: float) -> LayoutBox:
    sides = _sides(pins)
    rows = _ROW * max(len(sides[0]), len(sides[1]), 1)
    head = HEAD + (_ROW if block.group else 0.0)  # below the name of a group stands what it is
    height = (head + max(rows, _ICON if block.icon else 0.0) + _FOOT) * text
    middle = _ICON if block.icon else 2 * _MIDDLE if block.feedthrough else _MIDDLE
    width = sum(columns_of(pins, text)) + middle * text
    name = text_width(block.name, text, bold=True) + 1.2 * text
    if block.group:
        name = max(name, text_width(block.source, 0.8 * text) + 1.2 * text)
    left, right = (
        {pin.name: height - (head + _ROW * (place + 0.5)) * text for place, pin in enumerate(side)} for side in sides
    )
    return LayoutBox(block.name, max(width, name, _LEAST * text), height, left, right)


def _around(block: StatedBlock, pins: Sequence[StatedPin], text: float, inset: Sheet) -> LayoutBox:
    """The inner sheet, scaled to letters of the same height; its pins at those of the outer sheet."""
    scale = text / inset.text
    title = text_width(block.name, text, bold=True) + 1.2 * text
    width, height = inset.canvas.width * scale, inset.canvas.height * scale
    heights = {name: (pin.at.y - inset.canvas.y1) * scale for pin in inset.pins for name in pin.names}
    left, right = (_heights(side, heights.get, height) for side in _sides(pins))
    return LayoutBox(block.name, max(width, title, _LEAST * text), height + HEAD * text, left, right)


def _heights(side: Sequence[StatedPin], inside: Callable[[str], float | None], height: float) -> dict[str, float]:
    """Heights as inside, if these are far enough apart; otherwise evenly spaced."""
    found = [inside(pin.name) for pin in side]
    apart = len({round(y, 6) for y in found if y is not None}) == len(side)
    if apart and all(y is not None and 0.0 < y < height for y in found):
        return {pin.name: on_grid(y) for pin, y in zip(side, found, strict=True) if y is not None}
    return {pin.name: on_grid(height * (1 - (place + 0.5) / len(side))) for place, pin in enumerate(side)}


def _sides(pins: Sequence[StatedPin]) -> tuple[list[StatedPin], list[StatedPin]]:
    return [pin for pin in pins if pin.kind in INFLOWS], [pin for pin in pins if pin.kind not in INFLOWS]
