"""Where the connectors of an element are, and what stands beside them."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ssptool.drawing.sheets.sheet import MIXED, Pin, Point
from ssptool.drawing.sheets.stated import Extent, StatedPin

INFLOWS = frozenset({"input", "parameter", "structuralParameter", "inout"})


def shown(pins: Sequence[StatedPin], connected: set[str]) -> tuple[StatedPin, ...]:
    """Signals, and whatever has a place or a connection: parameters alone would only be crowding."""
    return tuple(
        pin
        for pin in pins
        if pin.kind in ("input", "output", "inout") or pin.place is not None or pin.name in connected
    )


def fractions(pins: Sequence[StatedPin], *, inside: bool) -> dict[str, tuple[float, float]]:
    """Where each connector is, in fractions of the box: as stated, else evenly at the left (what flows in) or right."""
    found = {pin.name: pin.inner if inside else pin.place for pin in pins}
    for side, flows_in in ((0.0, True), (1.0, False)):
        homeless = [pin.name for pin in pins if found[pin.name] is None and (pin.kind in INFLOWS) is flows_in]
        for place, name in enumerate(homeless, start=1):
            found[name] = (side, 1.0 - place / (len(homeless) + 1))
    return {name: place for name, place in found.items() if place is not None}


def placed(
    pins: Sequence[StatedPin], extent: Extent, rotation: float, *, inside: bool = False
) -> tuple[tuple[Pin, ...], Mapping[str, tuple[Point, Point]]]:
    """The pins to draw, and for each connector its place and outward direction.

    Places follow the corners as they are stated, so they are mirrored with the element; then they turn with it.
    """
    uv = fractions(pins, inside=inside)
    ends = {name: _turned(extent, place, rotation) for name, place in uv.items()}
    together: dict[tuple[float, float], list[StatedPin]] = defaultdict(list)
    for pin in pins:
        together[uv[pin.name]].append(pin)
    return tuple(_pin(group, *ends[group[0].name]) for group in together.values()), ends


def _turned(extent: Extent, place: tuple[float, float], rotation: float) -> tuple[Point, Point]:
    u, v = place
    (x1, y1), (x2, y2) = extent.corners
    cx, cy = extent.centre
    dx, dy = x1 + u * (x2 - x1) - cx, y1 + v * (y2 - y1) - cy
    # The side that is nearest; its normal is mirrored with the box.
    _, nx, ny = min((u, -1.0, 0.0), (1 - u, 1.0, 0.0), (v, 0.0, -1.0), (1 - v, 0.0, 1.0))
    nx, ny = nx * math.copysign(1, x2 - x1), ny * math.copysign(1, y2 - y1)
    sine, cosine = math.sin(math.radians(rotation)), math.cos(math.radians(rotation))
    if rotation % 90 == 0:
        sine, cosine = round(sine), round(cosine)
    return (
        Point(cx + cosine * dx - sine * dy, cy + sine * dx + cosine * dy),
        Point(cosine * nx - sine * ny, sine * nx + cosine * ny),
    )


def _pin(group: Sequence[StatedPin], at: Point, outward: Point) -> Pin:
    kinds = {pin.kind for pin in group}
    return Pin(
        kind=kinds.pop() if len(kinds) == 1 else MIXED,
        at=at,
        outward=outward,
        names=tuple(pin.name for pin in group),
        described=tuple(pin.described for pin in group),
    )
