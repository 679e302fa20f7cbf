"""A sheet put into the box of an element (SSP 2.0, ssd:ElementGeometry and ssd:SystemGeometry)."""

import math
from dataclasses import replace

from ssptool.dataclass import dataclass
from ssptool.drawing.sheets.sheet import Block, Line, Pin, Point, Sheet
from ssptool.drawing.sheets.stated import Extent, Note


@dataclass(frozen=True, slots=True)
class Placement:
    """The canvas of a system is stretched to the box of its element, mirrored as its corners are, and turns with it."""

    canvas: Extent
    box: Extent
    rotation: float = 0.0

    @property
    def _scales(self) -> tuple[float, float]:
        """Negative where the box is mirrored."""
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
            notes=tuple(Note(self._extent(note.extent, 0.0)[0], note.text) for note in sheet.notes),
            pins=(),
            insets=tuple(map(self.sheet, sheet.insets)),
        )

    def _turned(self, x: float, y: float) -> Point:
        sine, cosine = math.sin(math.radians(self.rotation)), math.cos(math.radians(self.rotation))
        if self.rotation % 90 == 0:
            sine, cosine = round(sine), round(cosine)
        return Point(cosine * x - sine * y, sine * x + cosine * y)

    def _extent(self, extent: Extent, rotation: float) -> tuple[Extent, float]:
        """A box and its angle. (One that stands askew in a box of another aspect would be sheared: it is not.)"""
        sx, sy = self._scales
        lying = round(rotation / 90) % 2 == 1
        width = (extent.x2 - extent.x1) * math.copysign(sy if lying else sx, sx) / 2
        height = (extent.y2 - extent.y1) * math.copysign(sx if lying else sy, sy) / 2
        x, y = self.point(extent.centre)
        return Extent(x - width, y - height, x + width, y + height), self.rotation + rotation * math.copysign(
            1, sx * sy
        )

    def _block(self, block: Block) -> Block:
        extent, rotation = self._extent(block.extent, block.rotation)
        icon = block.icon and replace(block.icon, rotation=block.icon.rotation + self.rotation)
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
