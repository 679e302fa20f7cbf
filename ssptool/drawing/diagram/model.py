"""Sheets: systems as their documents state them, and as they are drawn."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple
from unicodedata import east_asian_width

from ssptool.network.tree import ElementPath


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Two corners in the enclosing canvas [mm], x to the right and y up. Of a mirrored element x1 > x2 or y1 > y2."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def width(self) -> float:
        return abs(self.x2 - self.x1)

    @property
    def height(self) -> float:
        return abs(self.y2 - self.y1)

    @property
    def centre(self) -> tuple[float, float]:
        return (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2

    @property
    def corners(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (self.x1, self.y1), (self.x2, self.y2)

    @property
    def upright(self) -> "Rectangle":
        """The rectangle with its corners in order."""
        return Rectangle(min(self.x1, self.x2), min(self.y1, self.y2), max(self.x1, self.x2), max(self.y1, self.y2))

    def turned(self, degrees: float) -> "Rectangle":
        """The upright box around this one when it has turned about its centre."""
        (x, y), width, height = self.centre, self.width, self.height
        sine, cosine = abs(math.sin(math.radians(degrees))), abs(math.cos(math.radians(degrees)))
        half = (width * cosine + height * sine) / 2, (width * sine + height * cosine) / 2
        return Rectangle(x - half[0], y - half[1], x + half[0], y + half[1])


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a file that state an element; a group has none."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}:{self.first}" if self.file else ""

    def has(self, file: str, line: int) -> bool:
        return file == self.file and self.first <= line <= self.last


@dataclass(frozen=True, slots=True)
class StatedPin:
    """A connector. `place` is in fractions of its element's box, `inner` the same seen from inside a system.

    `described` is text for the user: type, unit, description.
    """

    name: str
    kind: str
    place: tuple[float, float] | None
    inner: tuple[float, float] | None
    described: str


@dataclass(frozen=True, slots=True)
class Icon:
    """A picture (PNG or SVG) and how it is placed in the box of its element. Angle in degrees, counter-clockwise."""

    content: bytes
    media_type: str
    rotation: float = 0.0
    flip: bool = False
    keeps_ratio: bool = False


@dataclass(frozen=True, slots=True)
class StatedFeedthrough:
    """A dependency of an output of an element on one of its inputs."""

    inlet: str
    outlet: str
    described: str
    span: Span


@dataclass(frozen=True, slots=True)
class StatedBlock:
    """An element. `opens` is True if it has its own sheet. Angle in degrees, counter-clockwise.

    A group is not an element of the document. It represents several elements without a position.
    """

    path: ElementPath
    source: str
    described: str
    extent: Rectangle | None
    rotation: float
    icon: Icon | None
    pins: tuple[StatedPin, ...]
    opens: bool
    span: Span
    feedthrough: tuple[StatedFeedthrough, ...] = ()
    group: bool = False

    @property
    def name(self) -> str:
        return self.path[-1]


MOST_APART = 8
"""Maximum number of connections from one component to another that are drawn individually; more are bundled."""


@dataclass(frozen=True, slots=True)
class StatedLine:
    """A connection between (element, connector), where "" is the system itself; `way` contains the points between its
    ends.

    A bundle of connections has the descriptions and lines of all of them.
    """

    start: tuple[str, str]
    end: tuple[str, str]
    way: tuple[tuple[float, float], ...] | None
    described: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class DrawnNote:
    """A note on the canvas; a line break begins a paragraph."""

    extent: Rectangle
    text: str


@dataclass(frozen=True, slots=True)
class StatedSheet:
    """A system: its elements, connections and notes, and its own connectors as seen from inside."""

    path: ElementPath
    name: str
    canvas: Rectangle | None
    blocks: tuple[StatedBlock, ...]
    lines: tuple[StatedLine, ...]
    notes: tuple[DrawnNote, ...]
    pins: tuple[StatedPin, ...]

    def connected(self) -> Iterator[tuple[str, str]]:
        """(element, connector) of every end of a connection."""
        for line in self.lines:
            yield line.start
            yield line.end

    def fed_through(self) -> Iterator[tuple[str, str]]:
        """(element, connector) of every end of a dependency inside an element."""
        for block in self.blocks:
            for each in block.feedthrough:
                yield block.name, each.inlet
                yield block.name, each.outlet


_CLASSES = (
    (0.46, " ',-./:;IJ\\fijl|"),
    (0.57, '!"()*[]_`rt'),
    (0.67, "?Lcsxz"),
    (0.86, "ABDGHKNRUVX"),
    (0.95, "#&+<=>OQw^~"),
    (1.1, "%@Mm"),
    (1.15, "W"),
)
_WIDTHS = {letter: width for width, letters in _CLASSES for letter in letters}
_OTHER, _FULL = 0.76, 1.1
_REGULAR = 0.93
"""Width of a regular letter relative to that of a bold one."""

LINE = 1.2
"""Line height relative to the height of letters."""


def text_width(text: str, size: float = 1.0, *, bold: bool = False) -> float:
    """Width of a line of text in letters of this size (the em), in the unit of the size."""
    return _width(text) * size * (1.0 if bold else _REGULAR)


@lru_cache(maxsize=1 << 14)
def _width(text: str) -> float:
    """Width in bold letters of size 1."""
    return sum(_WIDTHS.get(letter) or (_FULL if east_asian_width(letter) in "WF" else _OTHER) for letter in text)


class Point(NamedTuple):
    x: float
    y: float


MIXED = "mixed"
"""The kind of a position with connectors of several kinds, such as the flange of a mechanical part."""


class Role(StrEnum):
    """The role of a label."""

    NAME = "name"
    SOURCE = "quiet"
    PIN = "label"


class TextAnchor(StrEnum):
    START = "start"
    MIDDLE = "middle"
    END = "end"


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text; `at` is in the middle of its height, and horizontally at its anchor."""

    text: str
    at: Point
    anchor: TextAnchor
    size: float
    role: Role

    @property
    def extent(self) -> Rectangle:
        """The area that the label covers, rounded up."""
        width, height = text_width(self.text, self.size, bold=self.role is Role.NAME), LINE * self.size
        left = {TextAnchor.START: 0.0, TextAnchor.MIDDLE: 0.5, TextAnchor.END: 1.0}[self.anchor] * width
        x, y = self.at.x - left, self.at.y - height / 2
        return Rectangle(x, y, x + width, y + height)


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
    """One or more connections with the same way, or a dependency inside an element.

    `elements` are the names of the elements at its ends; "" is the system itself. `labels` are texts at the line.
    """

    points: tuple[Point, ...]
    described: tuple[str, ...]
    spans: tuple[Span, ...]
    elements: tuple[str, str] = ("", "")
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnBlock:
    """An element at its position; the extent is as stated and may be mirrored.

    Attributes
    ----------
    icon_extent
        The box of the icon; if it is smaller than the element, labels fit next to it.
    feedthrough
        Dependencies of outputs on inputs, as lines inside.
    opens
        True if it has its own sheet.
    """

    path: ElementPath
    source: str
    described: str
    extent: Rectangle
    rotation: float
    icon: Icon | None
    icon_extent: Rectangle
    pins: tuple[Pin, ...]
    feedthrough: tuple[Line, ...]
    opens: bool
    span: Span
    labels: tuple[Label, ...] = ()
    group: bool = False

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def covered(self) -> bool:
        """Whether the icon covers the element, so that labels are outside."""
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
        Nested systems, drawn in the box of their element, which has their pins.
    labels
        Labels of its pins.
    """

    path: ElementPath
    name: str
    canvas: Rectangle
    text: float
    blocks: tuple[DrawnBlock, ...]
    lines: tuple[Line, ...]
    notes: tuple[DrawnNote, ...]
    pins: tuple[Pin, ...]
    insets: tuple["Sheet", ...] = ()
    labels: tuple[Label, ...] = ()

    def all(self) -> Iterator["Sheet"]:
        """This sheet and its nested sheets, from outside to inside."""
        yield self
        for inset in self.insets:
            yield from inset.all()
