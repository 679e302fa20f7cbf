"""The ways of lines that nothing else sets, and where lines branch."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ssptool.drawing.sheets.routes import crosses, way_around
from ssptool.drawing.sheets.sheet import Line, Point
from ssptool.drawing.sheets.stated import Extent


def free_way(
    start: Point, outward: Point, end: Point, other: Point, reach: float, boxes: Sequence[Extent]
) -> list[Point]:
    """Out of both pins (points, and unit vectors away from their elements), across halfway between or around boxes."""
    simple = list(halfway(start, outward, end, other, reach))
    if not crosses(simple, boxes):
        return simple
    # A pin of an element that stands askew may be inside of the box around it.
    begin, finish = simple[1], simple[-2]
    others = [box for box in boxes if not (_is_in(begin, box) or _is_in(finish, box))]
    way = way_around(begin, finish, others, reach / 2)
    return simple if way is None else [start, *way, end]


def _is_in(point: Point, box: Extent) -> bool:
    return box.x1 < point.x < box.x2 and box.y1 < point.y < box.y2


def branches(lines: Sequence[Line]) -> list[Point]:
    """Where lines from one pin part: points from which three parts of them go out."""
    nets: dict[Point, list[Line]] = defaultdict(list)
    for line in lines:
        for pin in (line.points[0], line.points[-1]):
            nets[pin].append(line)
    found = (point for pin, net in nets.items() if len(net) > 1 for point in _branches(net) if point != pin)
    return list(dict.fromkeys(found))


def _branches(net: Sequence[Line]) -> Iterator[Point]:
    parts = [part for line in net for part in pairwise(line.points)]
    for point in dict.fromkeys(point for line in net for point in line.points[1:-1]):
        directions = {direction for part in parts for direction in _directions(point, *part)}
        if len(directions) > 2:
            yield point


def _directions(point: Point, one: Point, other: Point) -> Iterator[tuple[int, int]]:
    """Those in which a level or upright part goes from a point, if that is on it."""
    if one.x == other.x == point.x and min(one.y, other.y) <= point.y <= max(one.y, other.y):
        yield from ((0, (y > point.y) - (y < point.y)) for y in (one.y, other.y) if y != point.y)
    elif one.y == other.y == point.y and min(one.x, other.x) <= point.x <= max(one.x, other.x):
        yield from (((x > point.x) - (x < point.x), 0) for x in (one.x, other.x) if x != point.x)


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
