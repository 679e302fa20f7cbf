"""Placement of labels of boxes and pins in free space."""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from ssptool.drawing.diagram.model import DrawnBlock, Label, Pin, Point, Rectangle, Role, Sheet, TextAnchor
from ssptool.drawing.diagram.read import PIN_TEXT

Floats = NDArray[np.float64]


class Occupied:
    """Occupied space: upright boxes and straight lines as rows of growing arrays. A query may leave out the areas of an
    owner.
    """

    def __init__(self) -> None:
        self._areas = _Rows()
        self._lines = _Rows()
        self._owned: dict[Hashable, list[int]] = {}

    def area(self, extent: Rectangle, owner: Hashable = None) -> None:
        if owner is not None:
            self._owned.setdefault(owner, []).append(len(self._areas))
        self._areas.add(extent.x1, extent.y1, extent.x2, extent.y2)

    def line(self, points: Sequence[Point]) -> None:
        for (x1, y1), (x2, y2) in pairwise(points):
            self._lines.add(x1, y1, x2, y2)

    def outline(self, extent: Rectangle) -> None:
        a, b, c, d = extent.x1, extent.y1, extent.x2, extent.y2
        self.line([Point(a, b), Point(c, b), Point(c, d), Point(a, d), Point(a, b)])

    def free(self, extent: Rectangle, owner: Hashable = None) -> bool:
        return not self._covered(extent, owner).any() and not self._crossed(extent).any()

    def hidden(self, extent: Rectangle) -> int:
        """Number of areas and lines that a label would cover."""
        return int(self._covered(extent, None).sum() + self._crossed(extent).sum())

    def _covered(self, extent: Rectangle, owner: Hashable) -> NDArray[np.bool_]:
        x1, y1, x2, y2 = self._areas.columns
        found: NDArray[np.bool_] = (x1 < extent.x2) & (extent.x1 < x2) & (y1 < extent.y2) & (extent.y1 < y2)
        if owner is not None:
            found[self._owned.get(owner, [])] = False
        return found

    def _crossed(self, extent: Rectangle) -> NDArray[np.bool_]:
        """Whether a box and a line overlap: no separating axis (horizontal, vertical, normal to the line) exists."""
        x1, y1, x2, y2 = self._lines.columns
        (cx, cy), w, h = extent.centre, extent.width / 2, extent.height / 2
        dx, dy = (x2 - x1) / 2, (y2 - y1) / 2
        mx, my = (x1 + x2) / 2 - cx, (y1 + y2) / 2 - cy
        near = (np.abs(mx) < w + np.abs(dx)) & (np.abs(my) < h + np.abs(dy))
        found: NDArray[np.bool_] = near & (np.abs(dx * my - dy * mx) <= w * np.abs(dy) + h * np.abs(dx))
        return found


class _Rows:
    """A growing array (n, 4); its capacity doubles when it is full."""

    def __init__(self) -> None:
        self._rows: Floats = np.empty((64, 4))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, *row: float) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._count] = row
        self._count += 1

    @property
    def columns(self) -> Floats:
        return self._rows[: self._count].T


_SMALLER = (1.0, 0.85, 0.7)
"""Sizes of names and outer labels relative to the letters of the sheet, in the order in which they are tried."""


CROWDED = 1_000
"""Number of lines of a sheet above which labels inside elements do not search for a free place (takes seconds)."""


def lettered(sheet: Sheet) -> Sheet:
    """Label a sheet and nested sheets: elements always, connectors if there is room."""
    return _Lettering(sheet).sheet(sheet)


class _Lettering:
    def __init__(self, sheet: Sheet) -> None:
        self._taken = Occupied()
        self._crowded = sum(len(one.lines) for one in sheet.all()) > CROWDED
        self._expanded = {inset.path for one in sheet.all() for inset in one.insets}
        for one in sheet.all():
            self._draw(one)
        self._labels: dict[tuple[str, ...], list[Label]] = {}
        blocks = [(block, one.text) for one in sheet.all() for block in one.blocks]
        # Labels next to pins inside a box have fewer possible places than the name; and a name counts for more than
        # what stands outside.
        for block, text in blocks:
            if not block.covered and block.path not in self._expanded:
                self._pin_labels(block, (self._inside(pin, text) for pin in block.pins))
        for block, text in blocks:
            self._name(block, text)
        for block, text in blocks:
            if block.covered or block.path in self._expanded:
                self._pin_labels(block, (self._beside(pin, text, block) for pin in block.pins))
            else:
                self._source(block, text)

    def sheet(self, sheet: Sheet) -> Sheet:
        own = [self._first([_beyond(pin, sheet.text)]) for pin in sheet.pins]
        return replace(
            sheet,
            blocks=tuple(replace(block, labels=tuple(self._labels[block.path])) for block in sheet.blocks),
            labels=tuple(label for label in own if label is not None),
            insets=tuple(map(self.sheet, sheet.insets)),
        )

    def _draw(self, sheet: Sheet) -> None:
        for block in sheet.blocks:
            around = block.extent.turned(block.rotation)
            if block.path in self._expanded:
                self._taken.outline(around)
            else:
                self._taken.area(around, block.path)
            for line in block.feedthrough:
                self._taken.line(line.points)
            for pin in block.pins:
                self._taken.area(_square(pin.at, 0.36 * sheet.text))
        for note in sheet.notes:
            self._taken.area(note.extent.upright)
        for pin in sheet.pins:
            self._taken.area(_square(pin.at, 0.36 * sheet.text))
        for line in sheet.lines:
            self._taken.line(line.points)

    # -- choice ----------------------------------------------------------------------------------------------------

    def _first(self, places: Iterable[Label], inside: DrawnBlock | None = None) -> Label | None:
        """The first free place, which is then occupied. For labels inside an element, the element is no obstacle."""
        for label in places:
            if self._crowded and inside is not None:
                return label  # there is usually room next to the pins of its own element
            if self._free(label, inside):
                self._taken.area(label.extent)
                return label
        return None

    def _free(self, label: Label, inside: DrawnBlock | None) -> bool:
        if inside is None:
            return self._taken.free(label.extent)
        return _within(label, inside) and self._taken.free(label.extent, inside.path)

    def _pin_labels(self, block: DrawnBlock, choices: Iterable[Sequence[tuple[Label, bool]]]) -> None:
        found = self._labels.setdefault(block.path, [])
        for places in choices:
            for label, inside in places:
                if chosen := self._first([label], block if inside else None):
                    found.append(chosen)
                    break

    def _name(self, block: DrawnBlock, text: float) -> None:
        found = self._labels.setdefault(block.path, [])
        around = block.extent.turned(block.rotation)
        inside = [] if block.covered else list(_in_box(block.name, around, text, titled=bool(block.pins)))
        outside = list(_around(block.name, around, text))
        chosen = self._first(inside, block) or self._first(outside)
        if chosen is None:
            # No place is free: take the one that hides the least.
            chosen = min([*outside, *inside], key=lambda label: self._taken.hidden(label.extent))
            self._taken.area(chosen.extent)
        found.append(chosen)

    def _source(self, block: DrawnBlock, text: float) -> None:
        """Place the source below the name, if there is room inside."""
        name = self._labels[block.path][-1]
        if block.source and block.source != block.name:
            at = Point(name.at.x, name.at.y - 1.5 * text)
            sizes = (0.8 * text, 0.65 * text)
            places = [Label(block.source, at, name.anchor, size, Role.SOURCE) for size in sizes]
            if _within(name, block) and (label := self._first(places, block)):
                self._labels[block.path].append(label)

    # -- places of the labels of pins ------------------------------------------------------------------------------

    def _inside(self, pin: Pin, text: float) -> list[tuple[Label, bool]]:
        size = PIN_TEXT * text
        if abs(pin.outward.x) > 0.9:
            at = Point(pin.at.x - 0.9 * text * pin.outward.x, pin.at.y)
            return [(Label(pin.label, at, _away(-pin.outward.x), size, Role.PIN), True)]
        at = Point(pin.at.x, pin.at.y - 1.1 * text * pin.outward.y)
        return [(Label(pin.label, at, TextAnchor.MIDDLE, size, Role.PIN), True)]

    def _beside(self, pin: Pin, text: float, block: DrawnBlock) -> list[tuple[Label, bool]]:
        """Positions along the outer line, above or below it; inside an element that shows its content."""
        ways = [(-1.0, True), (1.0, False)] if block.path in self._expanded else [(1.0, False)]
        found = []
        for size, (way, inside) in product((smaller * 0.8 * PIN_TEXT * text for smaller in _SMALLER), ways):
            if abs(pin.outward.x) > 0.9:
                x = pin.at.x + 0.6 * text * way * pin.outward.x
                anchor = _away(way * pin.outward.x)
                places = [Point(x, pin.at.y + up * 0.65 * text) for up in (1, -1)]
                found += [(Label(pin.label, at, anchor, size, Role.PIN), inside) for at in places]
            else:
                y = pin.at.y + 0.9 * text * way * pin.outward.y
                for side in (1, -1):
                    at = Point(pin.at.x + 0.45 * side * text, y)
                    found.append((Label(pin.label, at, _away(side), size, Role.PIN), inside))
        return found


def _beyond(pin: Pin, text: float) -> Label:
    """Position outside the system: its own connectors point into the sheet, so their labels are on the other side."""
    x, y = -pin.outward.x, -pin.outward.y
    if abs(x) > 0.9:
        return Label(pin.label, Point(pin.at.x + 0.9 * text * x, pin.at.y), _away(x), PIN_TEXT * text, Role.PIN)
    return Label(pin.label, Point(pin.at.x, pin.at.y + 1.2 * text * y), TextAnchor.MIDDLE, PIN_TEXT * text, Role.PIN)


def _in_box(name: str, box: Rectangle, text: float, *, titled: bool) -> Iterator[Label]:
    """Places of the name: the middle, the top, then other free space."""
    (x, y), aside = box.centre, 0.6 * text
    heights = [box.y2 - 1.3 * text, y, box.y1 + 1.1 * text]
    if not titled:
        heights = [y, heights[0], heights[2]]
    across = [(x, TextAnchor.MIDDLE), (box.x1 + aside, TextAnchor.START), (box.x2 - aside, TextAnchor.END)]
    for size in _SMALLER:
        for place, anchor in across:
            for height in heights:
                yield Label(name, Point(place, height), anchor, size * text, Role.NAME)


def _around(name: str, box: Rectangle, text: float) -> Iterator[Label]:
    """Positions of the name: below, above, at the corners, at the sides."""
    x, y = box.centre
    for size in _SMALLER:
        for height in (box.y1 - 1.1 * text, box.y2 + 1.1 * text):
            yield Label(name, Point(x, height), TextAnchor.MIDDLE, size * text, Role.NAME)
            yield Label(name, Point(box.x1, height), TextAnchor.START, size * text, Role.NAME)
            yield Label(name, Point(box.x2, height), TextAnchor.END, size * text, Role.NAME)
        for height in (y, box.y2 - 0.6 * text, box.y1 + 0.6 * text):
            yield Label(name, Point(box.x2 + 0.7 * text, height), TextAnchor.START, size * text, Role.NAME)
            yield Label(name, Point(box.x1 - 0.7 * text, height), TextAnchor.END, size * text, Role.NAME)


def _away(x: float) -> TextAnchor:
    return TextAnchor.START if x > 0 else TextAnchor.END


def _square(at: Point, half: float) -> Rectangle:
    return Rectangle(at.x - half, at.y - half, at.x + half, at.y + half)


def _within(label: Label, block: DrawnBlock) -> bool:
    """Whether a label is inside an element, which may be rotated."""
    (cx, cy), box = block.extent.centre, block.extent.upright
    sine, cosine = math.sin(math.radians(block.rotation)), math.cos(math.radians(block.rotation))
    (x1, y1), (x2, y2) = label.extent.corners
    for x, y in ((x1, y1), (x1, y2), (x2, y1), (x2, y2)):
        across, up = cosine * (x - cx) + sine * (y - cy), cosine * (y - cy) - sine * (x - cx)
        if 2 * abs(across) > box.width + _HAIR or 2 * abs(up) > box.height + _HAIR:
            return False
    return True


_HAIR = 1e-9
