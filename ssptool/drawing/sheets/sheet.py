"""A drawing of a system, in which everything has its place [mm, x to the right, y up]."""

from dataclasses import dataclass
from typing import NamedTuple

from ssptool.drawing.sheets.stated import Extent, Icon, Note, Span
from ssptool.network.places import Path


class Point(NamedTuple):
    x: float
    y: float


MIXED = "mixed"
"""The kind of a place at which connectors of several kinds stand, such as the flange of a mechanical part."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The connectors at one place of an edge; `outward` is the unit vector away from the element.

    `label` is "" where it would not fit.
    """

    kind: str
    at: Point
    outward: Point
    label: str
    described: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """An element at its place; the extent is as stated, so that it may be mirrored."""

    path: Path
    source: str
    described: str
    extent: Extent
    rotation: float
    icon: Icon | None
    pins: tuple[Pin, ...]
    opens: bool
    span: Span

    @property
    def name(self) -> str:
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Line:
    """One or more connections that take the same way."""

    points: tuple[Point, ...]
    described: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """`text` is the height of its letters [mm]."""

    path: Path
    name: str
    canvas: Extent
    text: float
    blocks: tuple[Block, ...]
    lines: tuple[Line, ...]
    notes: tuple[Note, ...]
    pins: tuple[Pin, ...]
