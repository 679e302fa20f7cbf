"""A loop of connections with its values: components in a row, and below them an arrow for each connection."""

from collections.abc import Sequence
from dataclasses import dataclass

from ssptool.drawing.diagram.arrange import TEXT
from ssptool.drawing.diagram.model import (
    DrawnBlock,
    Label,
    Line,
    Pin,
    Point,
    Rectangle,
    Role,
    Sheet,
    Span,
    TextAnchor,
    text_width,
)
from ssptool.drawing.diagram.read import HEAD, Mark, Remark
from ssptool.drawing.diagram.svg import sheet_svg

_LETTERS = 0.85 * TEXT
_ROW, _TURN = 4.6 * _LETTERS, 0.8 * TEXT
"""Height of an arrow with its text, and half the height of an arrow that returns to its component [mm]."""

_ABREAST = 5
"""Largest number of components with room for texts between them; with more, texts are next to the arrows."""

_LONGEST = 48
"""Maximum number of characters of a name or text that are drawn; the tooltip shows all of them."""


@dataclass(frozen=True, slots=True)
class LoopArrow:
    """A connection between two (component, variable), with the texts above and below its arrow.

    `worst`: draw it as the critical one.
    """

    source: tuple[str, str]
    destination: tuple[str, str]
    above: str
    below: str
    worst: bool = False


def loop_svg(name: str, arrows: Sequence[LoopArrow], worst: str) -> str:
    """The loop as SVG; `worst` is the legend of the critical arrow.

    Rows follow the signals: each connection is followed by one from its destination component.
    """
    rows = _followed(arrows)
    columns = list(dict.fromkeys(component for one in rows for component in (one.source[0], one.destination[0])))
    picture = _LoopPicture(rows, columns)
    spans = {_span(row): one for row, one in enumerate(rows)}
    remarks = {span: (Remark(Mark.ERROR, "", 0, worst),) for span, one in spans.items() if one.worst}
    return sheet_svg(picture.sheet(name), remarks, meanings={Mark.ERROR: worst})


def _followed(arrows: Sequence[LoopArrow]) -> list[LoopArrow]:
    waiting, found = list(arrows), list[LoopArrow]()
    while waiting:
        here = found[-1].destination[0] if found else ""
        found.append(next((one for one in waiting if one.source[0] == here), waiting[0]))
        waiting.remove(found[-1])
    return found


def _span(row: int) -> Span:
    return Span("", row + 1, row + 1)


def _short(text: str) -> str:
    """The beginning and the end of a long text."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 1]}…{text[1 - half :]}"


class _LoopPicture:
    """Positions [mm], x to the right and y up; the lower edges of the boxes are at y = 0."""

    def __init__(self, rows: Sequence[LoopArrow], columns: Sequence[str]) -> None:
        self._rows, self._columns = rows, columns
        boxes = [max(6 * TEXT, text_width(_short(name), TEXT, bold=True) + 2 * TEXT) for name in columns]
        texts = max(text_width(_short(text), _LETTERS) for one in rows for text in (one.above, one.below))
        self._between = len(columns) <= _ABREAST
        apart = max(*boxes, texts + TEXT if self._between else 0.0) + TEXT
        self._x = [number * apart for number in range(len(columns))]
        self._boxes = boxes
        self._beside = self._x[-1] + boxes[-1] / 2 + TEXT

    def sheet(self, name: str) -> Sheet:
        bottom = -_ROW * (len(self._rows) + 0.25)
        return Sheet(
            path=(),
            name=name,
            canvas=Rectangle(-self._boxes[0] / 2, bottom, self._x[-1] + self._boxes[-1] / 2, HEAD * TEXT),
            text=TEXT,
            blocks=tuple(self._block(column, bottom) for column in range(len(self._columns))),
            lines=tuple(self._line(row, one) for row, one in enumerate(self._rows)),
            notes=(),
            pins=(),
        )

    def _block(self, column: int, bottom: float) -> DrawnBlock:
        x, half, name = self._x[column], self._boxes[column] / 2, self._columns[column]
        extent = Rectangle(x - half, 0.0, x + half, HEAD * TEXT)
        arriving = [(row, one) for row, one in enumerate(self._rows) if one.destination[0] == name]
        return DrawnBlock(
            path=(str(column), _short(name)),
            source="",
            described=name,
            extent=extent,
            rotation=0.0,
            icon=None,
            icon_extent=extent,
            pins=tuple(self._head(row, one) for row, one in arriving),
            feedthrough=(Line((Point(x, 0.0), Point(x, bottom)), (name,), (Span("", -1 - column, -1 - column),)),),
            opens=False,
            span=Span("", 0, 0),
        )

    def _ends(self, one: LoopArrow) -> tuple[int, int]:
        return self._columns.index(one.source[0]), self._columns.index(one.destination[0])

    def _head(self, row: int, one: LoopArrow) -> Pin:
        """The head of an arrow, in front of the line below its component."""
        start, end = self._ends(one)
        side = 1.0 if start >= end else -1.0
        y = self._height(row) - (_TURN if start == end else 0.0)
        at = Point(self._x[end] + side * 0.32 * TEXT, y)
        return Pin("input", at, Point(side, 0.0), (one.destination[1],), (".".join(one.destination),))

    def _line(self, row: int, one: LoopArrow) -> Line:
        start, end = self._ends(one)
        x, y = self._x[start], self._height(row)
        points = [Point(x, y), Point(self._x[end], y)]
        if start == end:
            turn = x + 2 * TEXT
            points = [Point(x, y + _TURN), Point(turn, y + _TURN), Point(turn, y - _TURN), Point(x, y - _TURN)]
        said = (f"{'.'.join(one.source)} → {'.'.join(one.destination)}", one.above, one.below)
        elements = _short(one.source[0]), _short(one.destination[0])
        return Line(tuple(points), said, (_span(row),), elements, self._texts(start, end, y, one))

    def _texts(self, start: int, end: int, y: float, one: LoopArrow) -> tuple[Label, ...]:
        """Labels next to the line of the source if no other line is there, or next to all lines."""
        if not self._between:
            x, anchor = self._beside, TextAnchor.START
        elif start == end:
            x, anchor = self._x[start] + 2.6 * TEXT, TextAnchor.START
        else:
            way = self._x[1] - self._x[0]
            x, anchor = self._x[start] + (way / 2 if end > start else -way / 2), TextAnchor.MIDDLE
        lines = ((one.above, y + 0.85 * _LETTERS), (one.below, y - 0.9 * _LETTERS))
        return tuple(Label(_short(text), Point(x, at), anchor, _LETTERS, Role.PIN) for text, at in lines if text)

    def _height(self, row: int) -> float:
        return -_ROW * (row + 0.6)
