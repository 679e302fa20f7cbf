"""Lines of different pins that would run on top of each other, which could not be told apart, side by side."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice, pairwise
from typing import TypeAlias

import networkx as nx

from ssptool.drawing.sheets.routes import MOST, crosses
from ssptool.drawing.sheets.sheet import Line, Point
from ssptool.drawing.sheets.stated import Extent

_TRIED = 81
"""Places that are tried for a part of a line."""

Run: TypeAlias = tuple[int, float]
"""The parts of a net on one straight line: they stay together."""
Span: TypeAlias = tuple[float, float]


def side_by_side(lines: Sequence[Line], movable: Sequence[bool], lane: float, boxes: Sequence[Extent]) -> list[Line]:
    """The lines, with parts moved by whole lanes where they lie on parts of lines from and to other pins.

    Only the inner parts of the lines that are `movable` move, neither into boxes nor nearer to them than a lane.
    """
    if len(boxes) > MOST:
        return list(lines)
    kept = [Extent(box.x1 - lane, box.y1 - lane, box.x2 + lane, box.y2 + lane) for box in boxes]
    nets = _nets(lines)
    for axis in (0, 1):
        shifts = _shifts(lines, movable, nets, axis, lane, kept)
        lines = [
            replace(line, points=_moved(line.points, axis, net, shifts)) if moves else line
            for line, moves, net in zip(lines, movable, nets, strict=True)
        ]
    return list(lines)


def _nets(lines: Sequence[Line]) -> list[int]:
    """Lines that share a pin belong together, and may run on top of each other: a dot shows where they part."""
    pins = nx.Graph((line.points[0], line.points[-1]) for line in lines)
    number = {pin: n for n, net in enumerate(nx.connected_components(pins)) for pin in net}
    return [number[line.points[0]] for line in lines]


def _shifts(
    lines: Sequence[Line],
    movable: Sequence[bool],
    nets: Sequence[int],
    axis: int,
    lane: float,
    boxes: Sequence[Extent],
) -> dict[Run, float]:
    taken = _Taken(lane)
    runs: dict[Run, list[Span]] = defaultdict(list)
    for line, moves, net in zip(lines, movable, nets, strict=True):
        inner = set(_inner(line.points, axis)) if moves else set()
        for k, (one, other) in enumerate(pairwise(line.points)):
            if one[axis] == other[axis]:
                span = min(one[1 - axis], other[1 - axis]), max(one[1 - axis], other[1 - axis])
                if k in inner:
                    runs[net, one[axis]].append(span)
                else:
                    taken.take((net, one[axis]), [span])
    shifts = {}
    for run, spans in runs.items():
        shifts[run] = _shift(run, spans, taken, axis, lane, boxes)
        taken.take((run[0], run[1] + shifts[run]), spans)
    return shifts


def _shift(run: Run, spans: Sequence[Span], taken: "_Taken", axis: int, lane: float, boxes: Sequence[Extent]) -> float:
    """The least with which a run keeps apart from those of other nets; where it is crowded half a lane has to do."""
    net, at = run
    for apart in (lane, lane / 2):
        for shift in islice(_either_side(apart / 2), _TRIED):
            into = shift and any(crosses(_part(at + shift, span, axis), boxes) for span in spans)
            if not into and taken.is_free((net, at + shift), spans, 0.9 * apart):
                return shift
    return 0.0


class _Taken:
    """What runs where, to be found by its place."""

    def __init__(self, lane: float) -> None:
        self._lane = lane
        self._there: dict[int, list[tuple[Run, Span]]] = defaultdict(list)

    def take(self, run: Run, spans: Sequence[Span]) -> None:
        self._there[round(run[1] / self._lane)].extend((run, span) for span in spans)

    def is_free(self, run: Run, spans: Sequence[Span], apart: float) -> bool:
        """Whether no other net has a part beside these that is nearer than `apart`, which is less than a lane."""
        place = round(run[1] / self._lane)
        near = [each for bin in (place - 1, place, place + 1) for each in self._there[bin]]
        return not any(
            net != run[0] and abs(at - run[1]) < apart and low < high_of and low_of < high
            for (net, at), (low, high) in near
            for low_of, high_of in spans
        )


def _either_side(step: float) -> Iterator[float]:
    """Where a line may go instead of its place, the nearest first."""
    yield 0.0
    for n in count(1):
        yield from (n * step, -n * step)


def _inner(points: Sequence[Point], axis: int) -> Iterator[int]:
    """The parts across an axis that do not touch a pin."""
    return (k for k in range(1, len(points) - 2) if points[k][axis] == points[k + 1][axis])


def _part(at: float, span: Span, axis: int) -> tuple[Point, Point]:
    low, high = span
    return (Point(at, low), Point(at, high)) if axis == 0 else (Point(low, at), Point(high, at))


def _moved(points: Sequence[Point], axis: int, net: int, shifts: dict[Run, float]) -> tuple[Point, ...]:
    moved = list(points)
    for k in _inner(points, axis):
        at = points[k][axis] + shifts[net, points[k][axis]]
        for j in (k, k + 1):
            moved[j] = Point(at, moved[j].y) if axis == 0 else Point(moved[j].x, at)
    return tuple(moved)
