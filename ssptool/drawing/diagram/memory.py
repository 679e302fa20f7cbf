"""Groups and layouts of an earlier page, so that unchanged parts keep their places without a new layout."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ssptool.drawing.diagram.amending import EarlierLayout, amended
from ssptool.drawing.diagram.groups import Members
from ssptool.drawing.diagram.layers import Edge
from ssptool.drawing.diagram.layout import Layout, LayoutBox, Spacing, lay_out
from ssptool.drawing.diagram.model import Point, Rectangle
from ssptool.drawing.diagram.routing import Ends
from ssptool.foreign_text import json_content
from ssptool.network.tree import ElementPath

DATA = "layout"
"""Name of the element of a page that keeps it."""

_KEPT = re.compile(rf'<script type="application/json" id="{DATA}">(.*?)</script>', re.DOTALL)
_METHOD = 3
"""Version of the layout; results of earlier versions are not used."""


class SheetName(NamedTuple):
    """Name of a drawing of a system, or of the inside of its elements, and the names of its connectors."""

    path: ElementPath
    inside: bool
    named: bool


@dataclass(slots=True)
class Memory:
    """Groups by their elements, and layouts by their sheets: those of an earlier page, and those in use.

    Pages are untrusted files. Parts that do not fit get a new layout.
    """

    members: Members = field(default_factory=dict)
    known: dict[SheetName, EarlierLayout] = field(default_factory=dict)
    used: dict[SheetName, tuple[Sequence[LayoutBox], Layout]] = field(default_factory=dict)
    ways: dict[SheetName, dict[Ends, Sequence[Point]]] | None = None
    """Ways of lines around elements that have a place; None: they are not kept."""

    @classmethod
    def of_page(cls, page: Path) -> "Memory":
        """The layouts that a page contains; empty if the file does not exist or was not written by ssptool."""
        try:
            found = _KEPT.search(page.read_text(encoding="utf-8")) if page.is_file() else None
            return cls() if found is None else cls.of_content(json_content(found[1]))
        except (OSError, ValueError, TypeError, KeyError, IndexError):
            return cls()

    @classmethod
    def of_content(cls, content: Any) -> "Memory":
        """Read the content. Raises ValueError, TypeError, KeyError or IndexError if ssptool did not write it."""
        groups = {_path(element): _path(group) for element, group in content["groups"]}
        layouts = content["layouts"] if content["method"] == _METHOD else []
        return cls(groups, dict(map(_earlier, layouts)))

    def lay_out(
        self,
        name: SheetName,
        boxes: Sequence[LayoutBox],
        edges: Sequence[Edge],
        spacing: Spacing,
        first: Collection[str],
        last: Collection[str],
        *,
        folds: bool,
    ) -> Layout:
        """The earlier layout, as far as all arguments are unchanged."""
        if name not in self.used:
            known = self.known.get(name)
            kept = amended(known, boxes, edges, spacing, first, last) if known is not None and boxes else None
            self.used[name] = boxes, kept or lay_out(boxes, edges, spacing, first, last, folds=folds)
        return self.used[name][1]

    def followed(self, members: Members) -> "Memory":
        """The memory for a later drawing of the same program: with the layouts that were used here."""
        used = {name: _as_earlier(boxes, layout) for name, (boxes, layout) in self.used.items()}
        return Memory(members, {**self.known, **used}, ways=self.ways)

    def content(self, members: Members) -> dict[str, Any]:
        """Layouts and groups, in the form that a page stores."""
        return {
            "method": _METHOD,
            "groups": [[element, group] for element, group in members.items()],
            "layouts": [
                [
                    name,
                    [[box.name, *layout.corners[box.name], box.width, box.height] for box in boxes],
                    [[number for point in way for number in point] for way in layout.ways.values()],
                ]
                for name, (boxes, layout) in self.used.items()
            ],
        }


def _as_earlier(boxes: Sequence[LayoutBox], layout: Layout) -> EarlierLayout:
    extents = {box.name: _extent(layout.corners[box.name], Point(box.width, box.height)) for box in boxes}
    return EarlierLayout(extents, {(way[0], way[-1]): tuple(way) for way in layout.ways.values()})


def _path(names: Any) -> ElementPath:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(names)
    return tuple(names)


def _earlier(kept: Any) -> tuple[SheetName, EarlierLayout]:
    (path, inside, named), boxes, ways = kept
    extents = {str(name): _extent(*_points(numbers)) for name, *numbers in boxes}
    drawn = {(way[0], way[-1]): way for way in map(_way, ways)}
    return SheetName(_path(path), bool(inside), bool(named)), EarlierLayout(extents, drawn)


def _extent(corner: Point, size: Point) -> Rectangle:
    return Rectangle(*corner, corner.x + size.x, corner.y + size.y)


def _way(numbers: Any) -> tuple[Point, ...]:
    way = _points(numbers)
    if not all(one.x == other.x or one.y == other.y for one, other in pairwise(way)):
        raise ValueError(numbers)
    return way


def _points(numbers: Any) -> tuple[Point, ...]:
    values = [float(number) for number in numbers]
    if not all(map(math.isfinite, values)):
        raise ValueError(numbers)
    return tuple(Point(x, y) for x, y in zip(values[::2], values[1::2], strict=True))
