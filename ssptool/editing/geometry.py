"""Places of elements in the diagram of their system."""

from math import isfinite

from ssptool.documents import ssd
from ssptool.documents.vocabulary import number_text
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.interface import SIZE
from ssptool.editing.names import Name, find_element


def place_at(
    draft: Draft, name: Name, x: float, y: float, width: float | None = None, height: float | None = None
) -> None:
    """Give an element a place: its lower left corner, and its size, else the one that it has [mm].

    Lines to it lose their way points, because they lead to where it was; a canvas grows to hold it.

    Raises
    ------
    UnknownName, AmbiguousName
        There is no such element, or there are several.
    EditError
        It is the root system, or the place is none.
    """
    place = find_element(draft.system, name)
    if not place.path:
        raise EditError("the root system has no place: name an element")
    before = place.element.geometry
    wide = (SIZE if before is None else abs(before.x2 - before.x1)) if width is None else width
    high = (SIZE if before is None else abs(before.y2 - before.y1)) if height is None else height
    if not all(map(isfinite, (x, y, wide, high))) or wide <= 0 or high <= 0:
        raise EditError(f"a place is two finite numbers and a size above 0; found {x:g}, {y:g} and {wide:g} x {high:g}")
    mirrored = (False, False) if before is None else (before.x1 > before.x2, before.y1 > before.y2)
    geometry = before if before is not None else ssd.ElementGeometry.new()
    for axis, low, size, turned in (("x", x, wide, mirrored[0]), ("y", y, high, mirrored[1])):
        low_end, high_end = ("2", "1") if turned else ("1", "2")
        geometry.set(axis + low_end, number_text(low))
        geometry.set(axis + high_end, number_text(low + size))
    if before is None:
        place.element.geometry = geometry
    _forget_ways(place.system, place.path[-1])
    _grow(place.system, x, y, x + wide, y + high)
    draft.note(f"placed {place} at {x:g}, {y:g}")


def _forget_ways(system: ssd.System, element: str) -> None:
    for connection in system.connections:
        if connection.geometry is not None and element in {end.element for end in connection.ends}:
            connection.geometry = None


def _grow(system: ssd.System, x1: float, y1: float, x2: float, y2: float) -> None:
    """Enlarge a stated canvas, if an element stands out of it."""
    canvas = system.system_geometry
    if canvas is None:
        return
    for name, now, wanted in (("x1", canvas.x1, min(canvas.x1, x1)), ("y1", canvas.y1, min(canvas.y1, y1))):
        if wanted < now:
            canvas.set(name, number_text(wanted))
    for name, now, wanted in (("x2", canvas.x2, max(canvas.x2, x2)), ("y2", canvas.y2, max(canvas.y2, y2))):
        if wanted > now:
            canvas.set(name, number_text(wanted))
