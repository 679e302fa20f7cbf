"""What documents say of the look of a system; what they leave open is None."""

import math
from collections.abc import Iterator

from ssptool.dataclass import dataclass
from ssptool.network.places import Path


@dataclass(frozen=True, slots=True)
class Extent:
    """Two corners in the canvas around [mm], x to the right and y up. Of a mirrored element x1 > x2 or y1 > y2."""

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
    def upright(self) -> "Extent":
        """With its corners in order."""
        return Extent(min(self.x1, self.x2), min(self.y1, self.y2), max(self.x1, self.x2), max(self.y1, self.y2))

    def turned(self, degrees: float) -> "Extent":
        """The upright box around this one when it has turned about its centre."""
        (x, y), width, height = self.centre, self.width, self.height
        sine, cosine = abs(math.sin(math.radians(degrees))), abs(math.cos(math.radians(degrees)))
        half = (width * cosine + height * sine) / 2, (width * sine + height * cosine) / 2
        return Extent(x - half[0], y - half[1], x + half[0], y + half[1])


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a file that describe something."""

    file: str
    first: int
    last: int

    def has(self, file: str, line: int) -> bool:
        return file == self.file and self.first <= line <= self.last


@dataclass(frozen=True, slots=True)
class StatedPin:
    """A connector. `place` is in fractions of its element's box, `inner` the same seen from inside a system.

    `described` is what a reader may want to know: type, unit, description.
    """

    name: str
    kind: str
    place: tuple[float, float] | None
    inner: tuple[float, float] | None
    described: str


@dataclass(frozen=True, slots=True)
class Icon:
    """A picture (PNG or SVG) and how it is put into the box of its element. Angle in degrees, counter-clockwise."""

    content: bytes
    media_type: str
    rotation: float = 0.0
    flip: bool = False
    keeps_ratio: bool = False


@dataclass(frozen=True, slots=True)
class StatedFeedthrough:
    """An output of an element that depends on an input of it."""

    inlet: str
    outlet: str
    described: str
    span: Span


@dataclass(frozen=True, slots=True)
class StatedBlock:
    """An element. `opens` says that it has a sheet of its own. Angle in degrees, counter-clockwise."""

    path: Path
    source: str
    described: str
    extent: Extent | None
    rotation: float
    icon: Icon | None
    pins: tuple[StatedPin, ...]
    opens: bool
    span: Span
    feedthrough: tuple[StatedFeedthrough, ...] = ()

    @property
    def name(self) -> str:
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class StatedLine:
    """A connection between (element, connector), "" being the system itself; `way` are the points between its ends."""

    start: tuple[str, str]
    end: tuple[str, str]
    way: tuple[tuple[float, float], ...] | None
    described: str
    span: Span


@dataclass(frozen=True, slots=True)
class Note:
    """A text in the canvas; a line break begins a paragraph."""

    extent: Extent
    text: str


@dataclass(frozen=True, slots=True)
class StatedSheet:
    """A system: its elements, connections and notes, and its own connectors as seen from inside."""

    path: Path
    name: str
    canvas: Extent | None
    blocks: tuple[StatedBlock, ...]
    lines: tuple[StatedLine, ...]
    notes: tuple[Note, ...]
    pins: tuple[StatedPin, ...]

    def connected(self) -> Iterator[tuple[str, str]]:
        """(element, connector) of every end of a connection."""
        for line in self.lines:
            yield line.start
            yield line.end

    def fed_through(self) -> Iterator[tuple[str, str]]:
        """(element, connector) of every end of a dependence inside an element."""
        for block in self.blocks:
            for each in block.feedthrough:
                yield block.name, each.inlet
                yield block.name, each.outlet
