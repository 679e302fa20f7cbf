"""Rules on geometry: elements, connectors, connections and notes in the canvas."""

import math
from collections.abc import Iterator

from ssptool.documents import ssd
from ssptool.documents.element import Element
from ssptool.rules.catalogue import DERIVED, ERROR, INFO, MUST, POLICY, SHOULD, TEXT, WARNING, Chapter, Finding
from ssptool.rules.subjects import Reach, Structure, around, every

GEOMETRY = Chapter("Geometry (SSP 2.0 §5.2.1.1, §5.2.2, §5.3.2.2, §5.3.4, §5.3.5)")

_PICTURES = (".png", ".svg")


@GEOMETRY.rule("SSD-GEO-001", severity=ERROR, basis=MUST, source="SSP 2.0 §5.3.4")
def canvas_corners(canvas: ssd.SystemGeometry, structure: Structure) -> Iterator[Finding]:
    """The first corner of a canvas is its lower left, the second its upper right one.

    Fix: x1 is less than x2, y1 less than y2.

    Accepted: a run does not read geometry.
    """
    yield from _swapped(canvas)


@GEOMETRY.rule("SSD-GEO-002", severity=WARNING, basis=TEXT, source="SSP 2.0 §5.3.5.1")
def note_corners(note: ssd.Note, structure: Structure) -> Iterator[Finding]:
    """The first corner of a note is its lower left, the second its upper right one.

    Fix: x1 is less than x2, y1 less than y2.
    """
    yield from _swapped(note)


@GEOMETRY.rule("SSD-GEO-003", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.3.2.2")
def paired_points(line: ssd.ConnectionGeometry, structure: Structure) -> Iterator[Finding]:
    """A connection has as many x as y coordinates.

    Together they are the way points of the line.

    Fix: add or delete coordinates.

    Accepted: a run does not read geometry.
    """
    if len(line.points_x) != len(line.points_y):
        yield Finding(line, f"{len(line.points_x)} x coordinates, but {len(line.points_y)} y coordinates")


@GEOMETRY.rule("SSD-GEO-004", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.1.1")
def connector_on_element(place: ssd.ConnectorGeometry, structure: Structure) -> Iterator[Finding]:
    """A connector stands on its element: both coordinates are between 0 and 1.

    They are fractions of the element's box, not millimetres.

    Fix: divide by the size of the element.
    """
    for name, value in (("x", place.x), ("y", place.y)):
        if not 0 <= value <= 1:
            yield Finding(place, f"{name} is {value:g}, outside 0 to 1", "", name)


@GEOMETRY.rule("SSD-GEO-005", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.2")
def visible_elements(box: ssd.ElementGeometry, structure: Structure) -> Iterator[Finding]:
    """The box of an element has a width and a height.

    Fix: move its corners apart.
    """
    if box.x1 == box.x2 or box.y1 == box.y2:
        yield Finding(box, f"the box is {abs(box.x2 - box.x1):g} wide and {abs(box.y2 - box.y1):g} high")


@GEOMETRY.rule("SSD-GEO-006", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.1.1", versions=["2.0"])
def inner_places(place: ssd.ConnectorGeometry, structure: Structure) -> Iterator[Finding]:
    """An inner place is stated for connectors of systems only, and with both coordinates.

    Components have no inside that could be drawn.

    Fix: remove `systemInnerX` and `systemInnerY`, or add the other one.
    """
    given = [place.system_inner_x is not None, place.system_inner_y is not None]
    if any(given) and not isinstance(_owner(place), ssd.System):
        yield Finding(place, "only connectors of systems have an inner place")
    elif any(given) and not all(given):
        yield Finding(place, "one of systemInnerX and systemInnerY is missing")


@GEOMETRY.rule("SSD-GEO-007", severity=WARNING, basis=SHOULD, source="SSP 2.0 §5.2.2")
def icons(box: ssd.ElementGeometry, structure: Structure) -> Iterator[Finding]:
    """The icon of an element is a PNG or SVG file that is there.

    Fix: add the file, correct the reference, or convert the picture.
    """
    if box.icon_source:
        reference = structure.reference(box, box.icon_source)
        if reference.reach is Reach.INSIDE and not structure.archive.has(reference.entry):
            yield Finding(box, f"there is no file '{reference.entry}'", "", "iconSource")
        elif not reference.entry.lower().endswith(_PICTURES):
            yield Finding(box, f"'{box.icon_source}' is neither PNG nor SVG", "", "iconSource")


@GEOMETRY.rule("SSD-GEO-008", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.2.2")
def finite_coordinates(structure: Structure) -> Iterator[Finding]:
    """All coordinates are finite numbers.

    Fix: correct them.

    Accepted: a run does not read geometry.
    """
    kinds: tuple[type[Element], ...] = (
        ssd.ElementGeometry,
        ssd.SystemGeometry,
        ssd.Note,
        ssd.ConnectorGeometry,
        ssd.ConnectionGeometry,
    )
    for element in every(structure.root, *kinds):
        for name, declared in type(element).attributes().items():
            value = getattr(element, name)
            numbers = value if isinstance(value, tuple) else (value,)
            if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
                yield Finding(element, f"{declared.name} is not finite", "", declared.name)


@GEOMETRY.rule("SSD-GEO-010", severity=INFO, basis=POLICY, source="SSP 2.0 §5.2.2")
def root_without_box(structure: Structure) -> Iterator[Finding]:
    """The root system has no box: there is no canvas around it.

    Its own canvas is stated by `SystemGeometry`.

    Fix: remove the `ElementGeometry`.
    """
    box = structure.root.system.geometry
    if box is not None:
        yield Finding(box, "the root system is not part of another canvas")


def _swapped(box: ssd.Box) -> Iterator[Finding]:
    if box.x1 >= box.x2 or box.y1 >= box.y2:
        yield Finding(box, f"({box.x1:g}, {box.y1:g}) is not to the lower left of ({box.x2:g}, {box.y2:g})")


def _owner(place: Element) -> Element | None:
    return next(around(place, ssd.SystemElement), None)
