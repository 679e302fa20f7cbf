"""How large the box of an element is where nothing states it, and where its pins are."""

from collections.abc import Callable, Sequence

from ssptool.drawing.sheets.layered import Box
from ssptool.drawing.sheets.measures import text_width
from ssptool.drawing.sheets.pins import INFLOWS
from ssptool.drawing.sheets.sheet import Sheet
from ssptool.drawing.sheets.stated import Extent, StatedBlock, StatedPin

PIN_TEXT = 0.85
"""Letters of the labels of pins, over those of names."""
HEAD = 2.6
"""Height of the title over that of the letters."""
_ROW, _FOOT, _BESIDE = 1.8, 0.8, 0.9
"""Height of a line of labels, room below them and beside them, over the height of the letters."""
_LEAST, _ICON, _MIDDLE = 6.0, 6.0, 3.0
"""Width of a box, side of an icon, room between the two columns of labels, over the height of the letters."""


def box_of(block: StatedBlock, pins: Sequence[StatedPin], text: float, inset: Sheet | None) -> Box:
    """Large enough for the name above, and for the labels of the pins in two columns below, or for what is inside."""
    return _around(block, pins, text, inset) if inset is not None else _plain(block, pins, text)


def middle_of(pins: Sequence[StatedPin], extent: Extent, text: float) -> Extent:
    """The room for an icon in such a box: between the labels, below the name."""
    left, right = columns_of(pins, text)
    top = extent.y2 - (HEAD - 0.4) * text
    width, height = extent.width - left - right - text, top - extent.y1 - 0.8 * text
    side = max(min(width, height), text)
    x, y = (extent.x1 + left + extent.x2 - right) / 2, (top + extent.y1 + 0.8 * text) / 2
    return Extent(x - side / 2, y - side / 2, x + side / 2, y + side / 2)


def columns_of(pins: Sequence[StatedPin], text: float) -> tuple[float, float]:
    """Widths of the labels at the left and at the right, with the room between them and the edge."""
    left, right = (
        max((text_width(pin.name, PIN_TEXT * text) + _BESIDE * text for pin in side), default=0.0)
        for side in _sides(pins)
    )
    return left, right


def _plain(block: StatedBlock, pins: Sequence[StatedPin], text: float) -> Box:
    sides = _sides(pins)
    rows = _ROW * max(len(sides[0]), len(sides[1]), 1)
    height = (HEAD + max(rows, _ICON if block.icon else 0.0) + _FOOT) * text
    middle = _ICON if block.icon else 2 * _MIDDLE if block.feedthrough else _MIDDLE
    width = sum(columns_of(pins, text)) + middle * text
    name = text_width(block.name, text, bold=True) + 1.2 * text
    left, right = (
        {pin.name: height - (HEAD + _ROW * (place + 0.5)) * text for place, pin in enumerate(side)} for side in sides
    )
    return Box(block.name, max(width, name, _LEAST * text), height, left, right)


def _around(block: StatedBlock, pins: Sequence[StatedPin], text: float, inset: Sheet) -> Box:
    """The sheet inside at the scale at which its letters are as high; pins where those of the sheet are."""
    scale = text / inset.text
    title = text_width(block.name, text, bold=True) + 1.2 * text
    width, height = inset.canvas.width * scale, inset.canvas.height * scale
    heights = {name: (pin.at.y - inset.canvas.y1) * scale for pin in inset.pins for name in pin.names}
    left, right = (_heights(side, heights.get, height) for side in _sides(pins))
    return Box(block.name, max(width, title, _LEAST * text), height + HEAD * text, left, right)


def _heights(side: Sequence[StatedPin], inside: Callable[[str], float | None], height: float) -> dict[str, float]:
    """As inside, if they are apart there; else evenly."""
    found = [inside(pin.name) for pin in side]
    apart = len({round(y, 6) for y in found if y is not None}) == len(side)
    if apart and all(y is not None and 0.0 < y < height for y in found):
        return {pin.name: y for pin, y in zip(side, found, strict=True) if y is not None}
    return {pin.name: height * (1 - (place + 0.5) / len(side)) for place, pin in enumerate(side)}


def _sides(pins: Sequence[StatedPin]) -> tuple[list[StatedPin], list[StatedPin]]:
    return [pin for pin in pins if pin.kind in INFLOWS], [pin for pin in pins if pin.kind not in INFLOWS]
