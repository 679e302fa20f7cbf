"""A drawing of a system, in which everything has its place [mm, x to the right, y up]."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.drawing.sheets.measures import LINE, text_width
from ssptool.drawing.sheets.stated import Extent, Icon, Note, Span
from ssptool.network.places import Path


class Point(NamedTuple):
    x: float
    y: float


MIXED = "mixed"
"""The kind of a place at which connectors of several kinds stand, such as the flange of a mechanical part."""


class Role(StrEnum):
    """What a label is for."""

    NAME = "name"
    SOURCE = "quiet"
    PIN = "label"


class Anchor(StrEnum):
    START = "start"
    MIDDLE = "middle"
    END = "end"


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text; `at` is in the middle of its height, and horizontally where the anchor says."""

    text: str
    at: Point
    anchor: Anchor
    size: float
    role: Role

    @property
    def extent(self) -> Extent:
        """What it covers, on the safe side."""
        width, height = text_width(self.text, self.size, bold=self.role is Role.NAME), LINE * self.size
        left = {Anchor.START: 0.0, Anchor.MIDDLE: 0.5, Anchor.END: 1.0}[self.anchor] * width
        x, y = self.at.x - left, self.at.y - height / 2
        return Extent(x, y, x + width, y + height)


@dataclass(frozen=True, slots=True)
class Pin:
    """The connectors at one place of an edge; `outward` is the unit vector away from the element."""

    kind: str
    at: Point
    outward: Point
    names: tuple[str, ...]
    described: tuple[str, ...]

    @property
    def label(self) -> str:
        return ", ".join(self.names)


@dataclass(frozen=True, slots=True)
class Line:
    """One or more connections that take the same way; or a dependence inside an element."""

    points: tuple[Point, ...]
    described: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """An element at its place; the extent is as stated, so that it may be mirrored.

    Attributes
    ----------
    icon_extent
        Where the icon is; if that is not all of the element, there is room for labels beside it.
    feedthrough
        Dependences of outputs on inputs, as lines inside.
    opens
        Whether it has a sheet of its own.
    """

    path: Path
    source: str
    described: str
    extent: Extent
    rotation: float
    icon: Icon | None
    icon_extent: Extent
    pins: tuple[Pin, ...]
    feedthrough: tuple[Line, ...]
    opens: bool
    span: Span
    labels: tuple[Label, ...] = ()

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def covered(self) -> bool:
        """By its icon, so that labels have to stand outside."""
        return self.icon is not None and self.icon_extent == self.extent


@dataclass(frozen=True, slots=True)
class Sheet:
    """A system.

    Attributes
    ----------
    text
        The height of its letters [mm].
    pins
        Its own connectors, seen from inside.
    insets
        Systems inside, drawn in the box of their element; without pins of their own, for these are the element's.
    labels
        Those of its pins.
    """

    path: Path
    name: str
    canvas: Extent
    text: float
    blocks: tuple[Block, ...]
    lines: tuple[Line, ...]
    notes: tuple[Note, ...]
    pins: tuple[Pin, ...]
    insets: tuple["Sheet", ...] = ()
    labels: tuple[Label, ...] = ()

    def all(self) -> Iterator["Sheet"]:
        """This one and those inside, the outer before the inner."""
        yield self
        for inset in self.insets:
            yield from inset.all()
