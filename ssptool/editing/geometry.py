"""Positions of elements in the diagram of their system."""

from collections.abc import Sequence
from enum import StrEnum
from math import isfinite
from typing import NamedTuple

from ssptool.arguments import number
from ssptool.documents import ssd
from ssptool.documents.vocabulary import number_text
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.interface import PLACES, SIZE, CanvasBox, hold
from ssptool.editing.names import Name, find_element


class ElementAlignment(StrEnum):
    """Ways of aligning or distributing elements."""

    LEFT = "left"
    RIGHT = "right"
    TOP = "top"
    BOTTOM = "bottom"
    CENTRE = "centre"
    MIDDLE = "middle"
    ACROSS = "across"
    DOWN = "down"


_FINEST = 0.1
"""Distance that alignments distinguish [mm]."""


class _Box(NamedTuple):
    """Box of an element: its lower left corner and its size [mm, upwards]."""

    name: Name
    corner: tuple[float, float]
    size: tuple[float, float]

    def end(self, axis: int) -> float:
        return self.corner[axis] + self.size[axis]

    def at(self, axis: int, low: float) -> tuple[float, float]:
        """Corner after a move along an axis."""
        return (low, self.corner[1]) if axis == 0 else (self.corner[0], low)


def place_at(
    draft: Draft, name: Name, x: float, y: float, width: float | None = None, height: float | None = None
) -> None:
    """Place an element [mm]: its lower left corner, and its size (default: its current size).

    Lines to it lose their way points, which belong to its old place. A canvas grows with the element.

    Raises
    ------
    UnknownName, AmbiguousName
        The element does not exist, or there are several.
    EditError
        The element is the root system, or the place is not valid.
    """
    place = find_element(draft.system, name)
    if not place.path:
        raise EditError("the root system has no place: name an element")
    before = place.element.geometry
    wide = (SIZE if before is None else abs(before.x2 - before.x1)) if width is None else width
    high = (SIZE if before is None else abs(before.y2 - before.y1)) if height is None else height
    x, y, wide, high = (number(*one) for one in (("x", x), ("y", y), ("width", wide), ("height", high)))
    if not all(map(isfinite, (x, y, wide, high))) or wide <= 0 or high <= 0:
        raise EditError(f"a place is two finite numbers and a size above 0; found {x:g}, {y:g} and {wide:g} x {high:g}")
    mirrored = (False, False) if before is None else (before.x1 > before.x2, before.y1 > before.y2)
    geometry = before if before is not None else ssd.ElementGeometry.new()
    for axis, low, size, turned in (("x", x, wide, mirrored[0]), ("y", y, high, mirrored[1])):
        low_end, high_end = ("2", "1") if turned else ("1", "2")
        geometry.set(axis + low_end, number_text(low))
        geometry.set(axis + high_end, number_text(round(low + size, PLACES)))
    if before is None:
        place.element.geometry = geometry
    _forget_ways(place.system, place.path[-1])
    hold(place.system, CanvasBox(x, y, x + wide, y + high))
    draft.note(f"placed {place} at {x:g}, {y:g}")


def align(draft: Draft, names: Sequence[Name], to: str) -> None:
    """Move elements of one system to an edge or an axis of the box around them, or to equal distances.

    Raises
    ------
    UnknownName, AmbiguousName
        An element does not exist, or there are several.
    EditError
        There are too few elements, one has no position, or they are in different systems.
    """
    if to not in list(ElementAlignment):
        raise EditError(f"elements are aligned to one of {', '.join(ElementAlignment)}; found {to!r}")
    way = ElementAlignment(to)
    spread = way in (ElementAlignment.ACROSS, ElementAlignment.DOWN)
    if len(names) < 2 + spread:
        raise EditError(f"name at least {'three elements to spread' if spread else 'two elements to align'}")
    boxes = [_box_of(draft, name) for name in names]
    if len({find_element(draft.system, name).path[:-1] for name in names}) > 1:
        raise EditError("elements of different systems are not in one diagram: name elements of one system")
    axis = (
        0
        if way in (ElementAlignment.LEFT, ElementAlignment.RIGHT, ElementAlignment.CENTRE, ElementAlignment.ACROSS)
        else 1
    )
    lows = _spread(boxes, axis) if spread else _aligned(boxes, axis, way)
    for box, low in zip(boxes, lows, strict=True):
        if abs(low - box.corner[axis]) > _FINEST / 2:
            place_at(draft, box.name, *box.at(axis, round(low, 1)))


def _box_of(draft: Draft, name: Name) -> _Box:
    place = find_element(draft.system, name)
    geometry = place.element.geometry if place.path else None
    if geometry is None:
        raise EditError(f"{place} has no place yet; give it one with `ssptool place`")
    (x1, x2), (y1, y2) = sorted((geometry.x1, geometry.x2)), sorted((geometry.y1, geometry.y2))
    return _Box(name, (x1, y1), (x2 - x1, y2 - y1))


def _aligned(boxes: Sequence[_Box], axis: int, way: ElementAlignment) -> list[float]:
    """Lower ends of aligned elements along an axis."""
    low, high = min(box.corner[axis] for box in boxes), max(box.end(axis) for box in boxes)
    if way in (ElementAlignment.LEFT, ElementAlignment.BOTTOM):
        return [low for _ in boxes]
    if way in (ElementAlignment.RIGHT, ElementAlignment.TOP):
        return [high - box.size[axis] for box in boxes]
    return [(low + high - box.size[axis]) / 2 for box in boxes]


def _spread(boxes: Sequence[_Box], axis: int) -> list[float]:
    """Lower ends of elements along an axis at equal distances; the first and the last stay."""
    order = sorted(range(len(boxes)), key=lambda number: boxes[number].corner[axis])
    first, last = boxes[order[0]], boxes[order[-1]]
    gap = (last.end(axis) - first.corner[axis] - sum(box.size[axis] for box in boxes)) / (len(boxes) - 1)
    found, at = [box.corner[axis] for box in boxes], first.corner[axis]
    for place in order[:-1]:
        found[place] = at
        at += boxes[place].size[axis] + gap
    return found


def _forget_ways(system: ssd.System, element: str) -> None:
    for connection in system.connections:
        if connection.geometry is not None and element in {end.element for end in connection.ends}:
            connection.geometry = None
