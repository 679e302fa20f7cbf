"""Positions of elements as edits.

If one element gets a position, all others of its sheet get their drawn positions, so that they stay there. In systems
drawn in groups, only moved elements get a position; the others stay in place until the studio ends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ssptool.arguments import number
from ssptool.drawing.diagram.arrange import arranged
from ssptool.drawing.diagram.model import Rectangle
from ssptool.editing.add import free_names
from ssptool.editing.interface import SIZE
from ssptool.errors import WrongUsage
from ssptool.foreign_text import one_line
from ssptool.network.tree import ElementPath
from ssptool.option_words import DrawnConnections
from ssptool.studio.model import SystemModel, no_such_sheet

APART = 40.0
"""Distance between elements with a position and a group that gets one [mm]."""

Edit = dict[str, Any]


def moves(model: SystemModel, sheet: ElementPath, elements: Sequence[ElementPath], dx: float, dy: float) -> list[Edit]:
    """Edits that move elements of a sheet [mm, upwards]."""
    return _placed(model, sheet, dict.fromkeys(elements, lambda box: _shifted(box, dx, dy)))


def resizes(
    model: SystemModel, sheet: ElementPath, element: ElementPath, edges: Mapping[str, float], smallest: float = 1.0
) -> list[Edit]:
    """Edits that move edges (`x1`, `y1`, `x2`, `y2`) of an element [mm, upwards]; the opposite edges stay."""

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
    """Edits that align elements of a sheet; elements without a position get one first."""
    aligned = {"verb": "align", "elements": [list(path) for path in elements], "to": to}
    return [*_placed(model, sheet, {}, elements), aligned]


def arrangement(model: SystemModel, sheet: ElementPath) -> list[Edit]:
    """Edits that give all elements of a system the places of its automatic layout, as if none had a place.

    Raises WrongUsage for a system drawn in groups, which has such a layout already.
    """
    if sheet not in model.stated:
        raise no_such_sheet(sheet)
    if _in_groups(model, sheet):
        raise WrongUsage("a system that is drawn in groups has an automatic layout already")
    stated = model.stated[sheet]
    blocks = tuple(replace(block, extent=None) for block in stated.blocks)
    lines = tuple(replace(line, way=None) for line in stated.lines)
    free = {sheet: replace(stated, canvas=None, blocks=blocks, lines=lines)}
    drawn = arranged(free, sheet, connections=DrawnConnections.BUNDLED)
    return [_place(block.path, block.extent.upright) for block in drawn.blocks]


def additions(
    model: SystemModel, sheet: ElementPath, files: Sequence[str], at: Sequence[float] | None = None
) -> list[Edit]:
    """The edits that add files to the system of a sheet, in a row from a point on [mm, upwards], if it is given.

    In systems drawn in groups they get no place.
    """
    system = model.system_of(sheet)
    if system not in model.documented:
        raise no_such_sheet(sheet)
    names = list(free_names({block.path[-1] for block in model.documented[system].blocks}, files))
    added = [
        {"verb": "add", "fmus": [file], "name": name, "into": list(system)}
        for file, name in zip(files, names, strict=True)
    ]
    if at is None or _in_groups(model, sheet):
        return added
    x, y = (number("at", each) - SIZE / 2 for each in at)
    places = [
        {"verb": "place", "name": [*system, name], "x": round(x + place * 1.5 * SIZE, 1), "y": round(y, 1)}
        for place, name in enumerate(names)
    ]
    return [*_placed(model, sheet, {}), *added, *places]


def held_places(model: SystemModel, sheet: ElementPath) -> dict[ElementPath, Rectangle]:
    """Positions of elements and groups of a sheet that have none in the documents, if its system is drawn in groups."""
    if not _in_groups(model, sheet):
        return {}
    drawn, (dx, dy) = _drawn(model, sheet), _beside(model, sheet)
    stated = {block.path: block.extent for block in model.stated[sheet].blocks}
    return {path: _shifted(box, dx, dy) for path, box in drawn.items() if stated[path] is None}


def routes(
    model: SystemModel, sheet: ElementPath, text: str, ends: Sequence[Sequence[str]], way: Sequence[Sequence[float]]
) -> list[Edit]:
    """Edits that route the line of a connection over the points between the ends of `way`.

    Points are in picture coordinates, with y down; their position in the document follows from the first one, which is
    at a connector. Raises WrongUsage.
    """
    drawn = [line for line in model.arranged(sheet).lines if [*map(one_line, line.described)] == [text]]
    placed = all(block.extent is not None for block in model.stated[sheet].blocks)
    if model.system_of(sheet) != sheet or not drawn or len(way) < 2 or not placed:
        raise _cannot_route()
    (x, y), start = way[0], drawn[0].points[0]
    points = [(round(start.x + px - x, 1), round(start.y - (py - y), 1)) for px, py in way[1:-1]]
    a, b = ends
    return [{"verb": "route", "a": list(a), "b": list(b), "points": points}]


def _cannot_route() -> WrongUsage:
    """Error for a line that the documents cannot route over points."""
    return WrongUsage(
        "only the line of one connection, in a system whose elements all have places, can be led over points; "
        "moving an element gives places to all of its system, if that is not drawn in groups"
    )


def _placed(
    model: SystemModel,
    sheet: ElementPath,
    changes: Mapping[ElementPath, Callable[[Rectangle], Rectangle]],
    needed: Sequence[ElementPath] = (),
) -> list[Edit]:
    """Positions of changed elements, and of others without a position: of all in the sheet, or of those that are
    needed.
    """
    if sheet not in model.stated:
        raise no_such_sheet(sheet)
    stated = {block.path: block for block in model.stated[sheet].blocks if not block.group}
    drawn, (dx, dy) = _drawn(model, sheet), _beside(model, sheet)
    others = set(needed) if _in_groups(model, sheet) else set(stated)
    homeless = {path for path in others if stated[path].extent is None}
    edits = []
    for path in stated:
        if path in changes or path in homeless:
            box = changes[path](drawn[path]) if path in changes else drawn[path]
            edits.append(_place(path, _shifted(box, dx, dy)))
    return edits


def _in_groups(model: SystemModel, sheet: ElementPath) -> bool:
    return model.system_of(sheet) != sheet or any(block.group for block in model.stated[sheet].blocks)


def _drawn(model: SystemModel, sheet: ElementPath) -> dict[ElementPath, Rectangle]:
    return {block.path: block.extent.upright for block in model.arranged(sheet).blocks}


def _beside(model: SystemModel, sheet: ElementPath) -> tuple[float, float]:
    """Shift of the elements of a group, so that they lie next to all other elements of the system.

    No shift if they are already held there, or if some of them have a position.
    """
    system, blocks = model.system_of(sheet), model.stated[sheet].blocks
    settled = any(block.extent is not None or block.path in model.held for block in blocks)
    if system == sheet or settled or not blocks:
        return 0.0, 0.0
    boxes = [*_drawn(model, sheet).values()]
    others = [
        extent.upright
        for each in model.stated.values()
        if model.system_of(each.path) == system
        for block in each.blocks
        if (extent := block.extent or model.held.get(block.path)) is not None
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
