"""Moves of elements as edits: what is drawn where no document says it gets a place, so that it stays where it is."""

from collections.abc import Sequence
from typing import Any

from ssptool.drawing.diagram.model import Rectangle
from ssptool.errors import WrongUsage
from ssptool.network.tree import ElementPath
from ssptool.studio.model import SystemModel


class DrawnInGroups(WrongUsage):
    """Elements without a place in a system that is drawn as groups."""

    def __init__(self) -> None:
        super().__init__(
            "this system has many elements without a place, so it is drawn in groups, in which nothing can be moved; "
            "give the elements places with `ssptool place`"
        )


def moves(
    model: SystemModel, sheet: ElementPath, elements: Sequence[ElementPath], dx: float, dy: float
) -> list[dict[str, Any]]:
    """The edits that move elements of a sheet [mm, upwards]. Raises DrawnInGroups."""
    stated = {block.path: block for block in model.stated[sheet].blocks} if sheet in model.stated else {}
    drawn = {block.path: block.extent.upright for block in model.arranged(sheet).blocks}
    if model.system_of(sheet) != sheet or any(block.group for block in stated.values()):
        raise DrawnInGroups
    edits = [_placed(path, drawn[path], dx, dy) for path in elements if path in drawn]
    others = (path for path, block in stated.items() if block.extent is None and path not in elements)
    return edits + [_placed(path, drawn[path], 0.0, 0.0) for path in others]


def _placed(path: ElementPath, extent: Rectangle, dx: float, dy: float) -> dict[str, Any]:
    place = {"x": extent.x1 + dx, "y": extent.y1 + dy, "width": extent.width, "height": extent.height}
    return {"verb": "place", "name": list(path), **{name: round(value, 1) for name, value in place.items()}}
