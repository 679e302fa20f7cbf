"""A free spot in the canvas of a system for a new element."""

from collections.abc import Iterable
from itertools import count

from ssptool.dataclass import dataclass
from ssptool.documents import ssd
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.editing.numbers import number_text

SIZE = 40.0  # mm, width and least height of a box
PER_CONNECTOR = 8.0
GAP = 40.0
COLUMNS = 6


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, lower left and upper right corner, in mm."""

    x1: float
    y1: float
    x2: float
    y2: float

    def meets(self, other: "Box") -> bool:
        return self.x1 < other.x2 and other.x1 < self.x2 and self.y1 < other.y2 and other.y1 < self.y2


def place(element: ssd.SystemElement, system: ssd.System) -> None:
    """Give a new element of a system a box in a free spot, and enlarge the canvas, if there is one, to hold it."""
    others = _boxes(each for each in system.elements if each is not element)
    box = free_spot(others, len(element.connectors))
    element.geometry = ssd.ElementGeometry.new()
    for corner in ("x1", "y1", "x2", "y2"):
        element.geometry.set(corner, number_text(getattr(box, corner)))
    canvas = system.system_geometry
    if canvas is not None and others:
        margin_x = canvas.x2 - max(each.x2 for each in others)
        margin_y = canvas.y2 - max(each.y2 for each in others)
        if canvas.x2 < box.x2:
            canvas.set("x2", number_text(box.x2 + max(margin_x, 0.0)))
        if canvas.y2 < box.y2:
            canvas.set("y2", number_text(box.y2 + max(margin_y, 0.0)))


def shrink(system: ssd.System, gone: ssd.SystemElement) -> bool:
    """After an element was removed from where `place` would put it: the canvas as it was before `place`.

    Gives whether it is another than before.
    """
    canvas, others = system.system_geometry, _boxes(system.elements)
    box = _box(gone)
    if canvas is None or box is None or not others or box != free_spot(others, len(gone.connectors)):
        return False
    right, top = max(each.x2 for each in others), max(each.y2 for each in others)
    size = canvas.x2, canvas.y2
    if box.x2 > right and canvas.x2 >= box.x2:
        canvas.set("x2", number_text(right + canvas.x2 - box.x2))
    if box.y2 > top and canvas.y2 >= box.y2:
        canvas.set("y2", number_text(top + canvas.y2 - box.y2))
    return size != (canvas.x2, canvas.y2)


def free_spot(others: Iterable[Box], connectors: int) -> Box:
    """The first cell of a grid, row by row from the lower left corner of the others, that meets none of them."""
    taken = list(others)
    left = min((box.x1 for box in taken), default=10.0)
    bottom = min((box.y1 for box in taken), default=10.0)
    height = max(SIZE, PER_CONNECTOR * (connectors + 1))
    for cell in count():
        row, column = divmod(cell, COLUMNS)
        x, y = left + column * (SIZE + GAP), bottom + row * (height + GAP)
        box = Box(x, y, x + SIZE, y + height)
        if not any(box.meets(other) for other in taken):
            return box
    raise AssertionError("an endless grid has a free cell")


def _boxes(elements: Iterable[ssd.SystemElement]) -> list[Box]:
    return [box for element in elements if (box := _box(element)) is not None]


def _box(element: ssd.SystemElement) -> Box | None:
    geometry = element.geometry
    if geometry is None:
        return None
    try:
        x, y = sorted((geometry.x1, geometry.x2)), sorted((geometry.y1, geometry.y2))
    except InvalidDocument:
        return None
    box = Box(x[0], y[0], x[1], y[1])
    return box if all(abs(value) < 1e9 for value in (*x, *y)) else None
