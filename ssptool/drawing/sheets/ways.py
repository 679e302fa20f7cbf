"""The ways of lines that nothing else sets."""

from collections.abc import Iterator

from ssptool.drawing.sheets.sheet import Line, Point


def halfway(start: Point, outward: Point, end: Point, other: Point, reach: float) -> Iterator[Point]:
    """Out of both pins (points, and unit vectors away from their elements) and across halfway between."""
    begin = Point(start.x + reach * outward.x, start.y + reach * outward.y)
    finish = Point(end.x + reach * other.x, end.y + reach * other.y)
    yield start
    yield begin
    if outward.x and other.x:
        if outward.x * (finish.x - begin.x) >= 0:
            x = (begin.x + finish.x) / 2
            yield from (Point(x, begin.y), Point(x, finish.y))
        else:
            y = (begin.y + finish.y) / 2
            yield from (Point(begin.x, y), Point(finish.x, y))
    elif outward.x:
        yield Point(finish.x, begin.y)
    else:
        yield Point(begin.x, finish.y)
    yield finish
    yield end


def merged(lines: Iterator[Line]) -> Iterator[Line]:
    """Lines that take the same way, in either direction, as one."""
    together: dict[tuple[Point, ...], list[Line]] = {}
    for line in lines:
        way = line.points if line.points[::-1] not in together else line.points[::-1]
        together.setdefault(way, []).append(line)
    for way, group in together.items():
        yield Line(way, tuple(d for one in group for d in one.described), tuple(s for one in group for s in one.spans))
