"""Groups and layouts of an earlier page, so that what has not changed keeps its place and is not laid out again."""

import hashlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssptool.drawing.diagram.groups import Members
from ssptool.drawing.diagram.layers import Edge
from ssptool.drawing.diagram.layout import Layout, LayoutBox, Spacing, lay_out
from ssptool.drawing.diagram.model import Point
from ssptool.foreign_text import json_content

DATA = "layout"
"""Name of the element of a page that keeps it."""

_KEPT = re.compile(rf'<script type="application/json" id="{DATA}">(.*?)</script>', re.DOTALL)
_METHOD = 2
"""Counts changes of the layout: what an earlier one made is not used."""


@dataclass(slots=True)
class Memory:
    """Groups by their elements, and numbers of layouts by a digest of what was laid out: of an earlier page, and used.

    A page is a file of whoever sent it: what does not fit is laid out anew.
    """

    members: Members = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    used: dict[str, Layout] = field(default_factory=dict)

    @classmethod
    def of_page(cls, page: Path) -> "Memory":
        """What a page keeps; nothing, if there is none, or it is another file."""
        try:
            found = _KEPT.search(page.read_text(encoding="utf-8")) if page.is_file() else None
            content = json_content(found[1]) if found is not None else {"groups": [], "layouts": {}}
            groups = {_path(element): _path(group) for element, group in content["groups"]}
            return cls(groups, dict(content["layouts"]))
        except (OSError, ValueError, TypeError, KeyError, IndexError):
            return cls()

    def lay_out(
        self,
        boxes: Sequence[LayoutBox],
        edges: Sequence[Edge],
        spacing: Spacing,
        first: Collection[str],
        last: Collection[str],
        *,
        folds: bool,
    ) -> Layout:
        """The layout as it was, if all of this is as it was."""
        stated = _METHOD, tuple(boxes), tuple(edges), spacing, tuple(first), tuple(last), folds
        key = hashlib.sha256(repr(stated).encode()).hexdigest()[:32]
        if key not in self.used:
            kept = _layout(self.known.get(key), boxes, edges)
            self.used[key] = kept or lay_out(boxes, edges, spacing, first, last, folds=folds)
        return self.used[key]

    def content(self, members: Members) -> dict[str, Any]:
        """What a page keeps of the layouts that were used, and of the groups."""
        return {
            "groups": [[element, group] for element, group in members.items()],
            "layouts": {
                key: [list(layout.corners.values()), [_flat(way) for way in layout.ways.values()]]
                for key, layout in self.used.items()
            },
        }


def _path(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(names)
    return tuple(names)


def _flat(way: Sequence[Point]) -> list[float]:
    return [number for point in way for number in point]


def _layout(kept: Any, boxes: Sequence[LayoutBox], edges: Sequence[Edge]) -> Layout | None:
    """Corners and ways in the order of the boxes and edges, each as numbers; None if they are not."""
    try:
        corners, ways = kept
        placed = {box.name: _points(corner)[0] for box, corner in zip(boxes, corners, strict=True)}
        return Layout(placed, {edge: _points(way) for edge, way in zip(edges, ways, strict=True)})
    except (TypeError, ValueError, IndexError):
        return None


def _points(numbers: Any) -> tuple[Point, ...]:
    values = [float(number) for number in numbers]
    if not all(map(math.isfinite, values)):
        raise ValueError(numbers)
    return tuple(Point(x, y) for x, y in zip(values[::2], values[1::2], strict=True))
