"""Where an FMU says that its terminals are on its icon (FMI 3.0 §2.4.9, terminalsAndIcons.xml; FMI 2.0 the same)."""

from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

from lxml import etree


class Box(NamedTuple):
    """Two corners in the coordinates of the FMU, y up; swapped corners mirror."""

    x1: float
    y1: float
    x2: float
    y2: float


_WHOLE = Box(-100.0, -100.0, 100.0, 100.0)
"""The coordinate system where the FMU states none; an icon without an extent fills it."""


def terminal_places(content: bytes) -> dict[str, tuple[float, float]]:
    """For each variable of a terminal with a place: the middle of the terminal, in fractions of the icon's box.

    What is not well-formed or no number states no place.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.parse(BytesIO(content), parser).getroot()
    except etree.XMLSyntaxError:
        return {}
    whole = _box(root.find("GraphicalRepresentation/CoordinateSystem")) or _WHOLE
    icon = _box(root.find("GraphicalRepresentation/Icon")) or whole
    if icon.x1 == icon.x2 or icon.y1 == icon.y2:
        return {}
    return dict(_places(root, icon))


def _places(root: etree._Element, icon: Box) -> Iterator[tuple[str, tuple[float, float]]]:
    for terminal in root.iterfind("Terminals//Terminal"):
        box = _box(terminal.find("TerminalGraphicalRepresentation"))
        if box is None:
            continue
        u = ((box.x1 + box.x2) / 2 - icon.x1) / (icon.x2 - icon.x1)
        v = ((box.y1 + box.y2) / 2 - icon.y1) / (icon.y2 - icon.y1)
        for member in terminal.iterfind("TerminalMemberVariable"):
            if name := member.get("variableName"):
                yield name, (min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0))


def _box(node: etree._Element | None) -> Box | None:
    if node is None:
        return None
    try:
        return Box(*(float(node.get(name, "")) for name in Box._fields))
    except ValueError:
        return None
