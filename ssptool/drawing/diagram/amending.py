"""An earlier layout updated with later changes; all other elements and lines keep their places.

New boxes go into free room near their partners, and new lines are routed between the existing ones.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ssptool.drawing.diagram.layers import Edge
from ssptool.drawing.diagram.layout import Layout, LayoutBox, Spacing
from ssptool.drawing.diagram.model import Point, Rectangle
from ssptool.drawing.diagram.room import Gaps, Pull, Room, extent_of
from ssptool.drawing.diagram.routing import Ends, Router, Way, any_crosses, any_meet, any_overlap, nets_of, routed

_LEFT, _RIGHT = Point(-1.0, 0.0), Point(1.0, 0.0)
_FAR = 1e7
"""Distance beyond every sheet [mm]."""
_SAME = 1e-6
"""Sizes that differ by less are the same [mm]."""
_MOST_ROUTED = 40
"""Lines that are routed one by one; for more of them a new layout is faster, and easier to read."""


@dataclass(frozen=True, slots=True)
class EarlierLayout:
    """Extents of boxes by name, and ways of lines by their end points."""

    extents: Mapping[str, Rectangle]
    ways: Mapping[tuple[Point, Point], Way]


def amended(
    earlier: EarlierLayout,
    boxes: Sequence[LayoutBox],
    edges: Sequence[Edge],
    spacing: Spacing,
    first: Collection[str],
    last: Collection[str],
) -> Layout | None:
    """A layout in which every box with the name and size of an earlier box has its place.

    Parameters
    ----------
    first, last
        Connectors of the system: outside of all others, at the left and at the right.

    Returns
    -------
    Layout | None
        None if less than half of the boxes or of the lines are as they were, or if boxes would overlap, lines of
        different pins meet, or lines run through boxes.
    """
    amendment = _Amendment(earlier, boxes, edges, spacing, first, last)
    return amendment.layout() if amendment.is_small() else None


class _Amendment:
    """Places earlier boxes first, then all other boxes, then the missing ways."""

    def __init__(
        self,
        earlier: EarlierLayout,
        boxes: Sequence[LayoutBox],
        edges: Sequence[Edge],
        spacing: Spacing,
        first: Collection[str],
        last: Collection[str],
    ) -> None:
        self._boxes = {box.name: box for box in boxes}
        self._edges = edges
        self._spacing = spacing
        self._first, self._last = first, last
        there = [box for box in boxes if box.name in earlier.extents]
        self._before = {box.name: _corner(box, earlier.extents[box.name]) for box in there}
        self._corners = dict(self._before)
        self._ways = {edge: way for edge in edges if (way := self._known(edge, earlier)) is not None}
        changed = [box for box in there if not _has_size(box, earlier.extents[box.name])]
        self._unchanged = len(there) - len(changed)
        for box in changed:
            self._release(box)

    def is_small(self) -> bool:
        missing = len(self._edges) - len(self._ways)
        half = 2 * self._unchanged >= len(self._boxes) and 2 * missing <= len(self._edges)
        return half and missing <= _MOST_ROUTED

    def layout(self) -> Layout | None:
        gaps = Gaps(2 * (self._spacing.margin + self._spacing.lane), self._spacing.row, self._spacing.margin)
        waiting = [box for box in self._boxes.values() if box.name not in self._corners]
        while waiting:
            box = max(waiting, key=lambda box: len(self._pulls(box)))
            waiting.remove(box)
            room = Room(self._areas(), self._ways.values(), gaps)
            before = self._before.get(box.name)
            self._corners[box.name] = room.nearest(box, self._columns(box, gaps), self._pulls(box), before)
        self._route()
        corners = {name: self._corners[name] for name in self._boxes}
        return Layout(corners, {edge: self._ways[edge] for edge in self._edges}) if self._is_readable() else None

    # -- what was there ------------------------------------------------------------------------------------------------

    def _known(self, edge: Edge, earlier: EarlierLayout) -> Way | None:
        if edge.source[0] in self._corners and edge.destination[0] in self._corners:
            return earlier.ways.get((self._begin(edge), self._end(edge)))
        return None

    def _release(self, box: LayoutBox) -> None:
        """Discard the place of a box whose size has changed, if the box would cover others there."""
        ways = {edge: way for edge, way in self._ways.items() if box.name not in (edge.source[0], edge.destination[0])}
        corner = self._corners.pop(box.name)
        near = Gaps(self._spacing.lane, self._spacing.lane, self._spacing.lane / 2)
        if Room(self._areas(), ways.values(), near).is_free(extent_of(box, corner)):
            self._corners[box.name] = corner
        else:
            self._ways = ways

    # -- places --------------------------------------------------------------------------------------------------------

    def _pulls(self, box: LayoutBox) -> list[Pull]:
        """Lines to boxes that already have a place."""
        found = []
        for edge in self._edges:
            (source, outlet), (destination, inlet) = edge
            if source == box.name and destination in self._corners:
                found.append(Pull(Point(box.width, box.outlets[outlet]), True, self._end(edge)))
            elif destination == box.name and source in self._corners:
                found.append(Pull(Point(0.0, box.inlets[inlet]), False, self._begin(edge)))
        return found

    def _columns(self, box: LayoutBox, gaps: Gaps) -> list[float]:
        """Possible left edges of a box: those of other boxes, and outside of all boxes."""
        extents = list(self._extents().values())
        left = min(each.x1 for each in extents) - gaps.across - box.width
        right = max(each.x2 for each in extents) + gaps.across
        for side, outside in ((self._first, left), (self._last, right)):
            if box.name in side:
                return [*{self._corners[name].x for name in side if name in self._corners}] or [outside]
        return [left, *sorted({each.x1 for each in extents}), right]

    def _extents(self) -> dict[str, Rectangle]:
        return {name: extent_of(self._boxes[name], corner) for name, corner in self._corners.items()}

    def _areas(self) -> Iterator[Rectangle]:
        """Extents; lines of system connectors continue to the edge of the sheet, whose position is not known yet."""
        for name, one in self._extents().items():
            x1, x2 = -_FAR if name in self._first else one.x1, _FAR if name in self._last else one.x2
            yield Rectangle(x1, one.y1, x2, one.y2)

    # -- ways ----------------------------------------------------------------------------------------------------------

    def _begin(self, edge: Edge) -> Point:
        box, corner = self._boxes[edge.source[0]], self._corners[edge.source[0]]
        return Point(corner.x + box.width, corner.y + box.outlets[edge.source[1]])

    def _end(self, edge: Edge) -> Point:
        box, corner = self._boxes[edge.destination[0]], self._corners[edge.destination[0]]
        return Point(corner.x, corner.y + box.inlets[edge.destination[1]])

    def _route(self) -> None:
        nets = self._nets()
        router = Router([*self._extents().values()], self._spacing.lane / 3, self._limits())
        for edge, way in self._ways.items():
            router.take(way, nets[edge])
        for edge, way in self._outside():
            router.take(way, nets[edge])
        missing = {edge: self._ends(edge) for edge in self._edges if edge not in self._ways}
        self._ways |= routed(router, missing, nets, self._spacing.row / 2)

    def _ends(self, edge: Edge) -> Ends:
        return self._begin(edge), _RIGHT, self._end(edge), _LEFT

    def _nets(self) -> dict[Edge, int]:
        return dict(
            zip(self._edges, nets_of((self._begin(edge), self._end(edge)) for edge in self._edges), strict=True)
        )

    def _outside(self) -> Iterator[tuple[Edge, Way]]:
        """Lines from connectors of the system to the edge of the sheet."""
        for edge in self._edges:
            if edge.source[0] in self._first:
                pin = self._begin(edge)
                yield edge, (Point(-_FAR, pin.y), Point(self._corners[edge.source[0]].x, pin.y))
            if edge.destination[0] in self._last:
                pin, box = self._end(edge), self._boxes[edge.destination[0]]
                yield edge, (Point(pin.x + box.width, pin.y), Point(_FAR, pin.y))

    def _limits(self) -> Rectangle:
        extents = [corner for one in self._extents().values() for corner in one.corners]
        xs, ys = zip(*extents, *(point for way in self._ways.values() for point in way), strict=True)
        row = self._spacing.row
        return Rectangle(min(xs) - row, min(ys) - row, max(xs) + row, max(ys) + row)

    def _is_readable(self) -> bool:
        """Whether boxes do not overlap, and lines of different nets do not meet, nor run through boxes."""
        nets, extents = self._nets(), [*self._extents().values()]
        ways = [(nets[edge], way) for edge, way in (*self._ways.items(), *self._outside())]
        return not (any_overlap(extents) or any_meet(ways) or any_crosses([way for _, way in ways], extents))


def _corner(box: LayoutBox, extent: Rectangle) -> Point:
    """Lower left corner that keeps the upper edge in place."""
    same = abs(extent.height - box.height) < _SAME
    return Point(extent.x1, extent.y1 if same else extent.y2 - box.height)


def _has_size(box: LayoutBox, extent: Rectangle) -> bool:
    return abs(extent.width - box.width) < _SAME and abs(extent.height - box.height) < _SAME
