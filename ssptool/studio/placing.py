"""Places of elements as edits: what is drawn where no document says it gets a place, so that it stays where it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ssptool.drawing.diagram.model import Rectangle
from ssptool.errors import WrongUsage
from ssptool.foreign_text import one_line
from ssptool.network.tree import ElementPath
from ssptool.studio.model import NoSuchSheet, SystemModel

APART = 40.0
"""Between what has its place and a group of elements that gets one [mm]."""

Edit = dict[str, Any]


def moves(model: SystemModel, sheet: ElementPath, elements: Sequence[ElementPath], dx: float, dy: float) -> list[Edit]:
    """The edits that move elements of a sheet [mm, upwards]."""
    return _placed(model, sheet, dict.fromkeys(elements, lambda box: _shifted(box, dx, dy)))


def resizes(
    model: SystemModel, sheet: ElementPath, element: ElementPath, edges: Mapping[str, float], smallest: float = 1.0
) -> list[Edit]:
    """The edits that move edges (`x1`, `y1`, `x2`, `y2`) of an element [mm, upwards]; the opposite ones stay."""

    def resized(box: Rectangle) -> Rectangle:
        wanted = replace(box, **{name: getattr(box, name) + by for name, by in edges.items()})
        return Rectangle(
            min(wanted.x1, box.x2 - smallest) if "x1" in edges else wanted.x1,
            min(wanted.y1, box.y2 - smallest) if "y1" in edges else wanted.y1,
            max(wanted.x2, box.x1 + smallest) if "x2" in edges else wanted.x2,
            max(wanted.y2, box.y1 + smallest) if "y2" in edges else wanted.y2,
        )

    return _placed(model, sheet, {element: resized})


def alignments(model: SystemModel, sheet: ElementPath, elements: Sequence[ElementPath], to: str) -> list[Edit]:
    """The edits that align elements of a sheet, which get a place first if they have none."""
    aligned = {"verb": "align", "elements": [list(path) for path in elements], "to": to}
    return [*_placed(model, sheet, {}), aligned]


def routes(
    model: SystemModel, sheet: ElementPath, text: str, ends: Sequence[Sequence[str]], way: Sequence[Sequence[float]]
) -> list[Edit]:
    """The edits that lead the line of a connection over points, which are those between the ends of `way`.

    Points are those of a picture, with y down; where they are in the document follows from the first one, at a
    connector. Raises CannotRoute.
    """
    drawn = [line for line in model.arranged(sheet).lines if [*map(one_line, line.described)] == [text]]
    if model.system_of(sheet) != sheet or not drawn or len(way) < 2:
        raise CannotRoute
    if any(block.extent is None for block in model.stated[sheet].blocks):
        raise CannotRoute
    (x, y), start = way[0], drawn[0].points[0]
    points = [(round(start.x + px - x, 1), round(start.y - (py - y), 1)) for px, py in way[1:-1]]
    a, b = ends
    return [{"verb": "route", "a": list(a), "b": list(b), "points": points}]


class CannotRoute(WrongUsage):
    """A line that the documents cannot lead over points."""

    def __init__(self) -> None:
        super().__init__(
            "only the line of one connection, in a system whose elements all have places, can be led over points; "
            "moving an element gives places to all of its system"
        )


def _placed(
    model: SystemModel, sheet: ElementPath, changes: Mapping[ElementPath, Callable[[Rectangle], Rectangle]]
) -> list[Edit]:
    """Places for elements that change, and for those of the sheet that have none."""
    if sheet not in model.stated:
        raise NoSuchSheet(sheet)
    stated = {block.path: block for block in model.stated[sheet].blocks if not block.group}
    drawn = {block.path: block.extent.upright for block in model.arranged(sheet).blocks}
    homeless = {path for path, block in stated.items() if block.extent is None}
    dx, dy = _beside(model, sheet, [drawn[path] for path in stated]) if len(homeless) == len(stated) else (0.0, 0.0)
    edits = []
    for path in stated:
        if path in changes or path in homeless:
            box = changes[path](drawn[path]) if path in changes else drawn[path]
            edits.append(_place(path, _shifted(box, dx, dy)))
    return edits


def _beside(model: SystemModel, sheet: ElementPath, boxes: Sequence[Rectangle]) -> tuple[float, float]:
    """By how much the elements of a group are moved, so that they stand beside all others of the system."""
    system = model.system_of(sheet)
    if system == sheet or not boxes:
        return 0.0, 0.0
    others = [
        block.extent.upright
        for each in model.stated.values()
        if model.system_of(each.path) == system
        for block in each.blocks
        if block.extent is not None
    ]
    if not others:
        return 0.0, 0.0
    return (
        max(box.x2 for box in others) + APART - min(box.x1 for box in boxes),
        max(box.y2 for box in others) - max(box.y2 for box in boxes),
    )


def _shifted(box: Rectangle, dx: float, dy: float) -> Rectangle:
    return Rectangle(box.x1 + dx, box.y1 + dy, box.x2 + dx, box.y2 + dy)


def _place(path: ElementPath, box: Rectangle) -> Edit:
    place = {"x": box.x1, "y": box.y1, "width": box.width, "height": box.height}
    return {"verb": "place", "name": list(path), **{name: round(value, 1) for name, value in place.items()}}
