"""Terminals of an FMU, and their positions on its icon (terminalsAndIcons.xml, FMI 3.0 §2.4.9; FMI 2.0 the same).

A terminal is a named group of variables that are connected together. The file is optional.
"""

from collections.abc import Iterator
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from ssptool.documents.foreign_files import UNREADABLE_ZIP, ForeignZip, read_bytes
from ssptool.errors import UnusableFile
from ssptool.fmu.model_description_xml import zip_contents

TERMINALS = "terminalsAndIcons/terminalsAndIcons.xml"
MAXIMUM_SIZE = 64 * 1024 * 1024
"""Maximum size of the XML [bytes], because a zip may hide gigabytes."""


class MatchingRule(StrEnum):
    """Matching rule: the members of two terminals that belong together (FMI 3.0 §2.4.9.2.1; FMI-LS-BUS)."""

    PLUG = "plug"
    BUS = "bus"
    SEQUENCE = "sequence"
    NONE = "none"
    TRANSCEIVER = "org.fmi-ls-bus.transceiver"


FLOWS = ("inflow", "outflow")


def flow_factor(one: str, other: str) -> float | None:
    """Factor between two members of these kinds: flows into a node sum to zero (FMI 3.0 §2.4.9.2.2). None if a flow is
    combined with another kind.
    """
    flows = [kind in FLOWS for kind in (one, other)]
    if any(flows) and not all(flows):
        return None
    return -1.0 if all(flows) and one == other else 1.0


class TerminalMember(NamedTuple):
    """A member of a terminal; `name` is unique in the terminal (or empty, which sequences allow), `kind` is its
    `variableKind`.
    """

    name: str
    variable: str
    kind: str = "signal"


class Terminal(NamedTuple):
    """A terminal with its members in order. A nested terminal has a name with a dot, `outer.inner`."""

    name: str
    matching_rule: str
    kind: str
    members: tuple[TerminalMember, ...]


def read_terminals(path: Path) -> dict[str, Terminal]:
    """The terminals of the FMU (a zip or an unpacked folder) at `path`, including nested ones; empty if there are none.

    Raises
    ------
    UnusableFile
        The file is too large, not well-formed XML, or lacks a required attribute.
    """
    content = _content(path)
    if content is None:
        return {}
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.parse(BytesIO(content), parser).getroot()
    except etree.XMLSyntaxError as error:
        raise UnusableFile(path, f"{TERMINALS}: {error}") from error
    return {terminal.name: terminal for terminal in _terminals(path, root.iterfind("Terminals/Terminal"), "")}


def _content(path: Path) -> bytes | None:
    if path.is_dir():
        file = path / TERMINALS
        return read_bytes(file) if file.is_file() else None
    try:
        if TERMINALS not in zip_contents(path).names:
            return None
        with ForeignZip(path) as archive:
            if (size := archive.getinfo(TERMINALS).file_size) > MAXIMUM_SIZE:
                raise UnusableFile(path, f"{TERMINALS}: it has {size} bytes; at most {MAXIMUM_SIZE} are read")
            return archive.read(TERMINALS)
    except UNREADABLE_ZIP as error:
        raise UnusableFile(path, f"{TERMINALS}: not an intact zip archive ({error})") from error


def _terminals(path: Path, nodes: Iterator[etree._Element], outer: str) -> Iterator[Terminal]:
    for node in nodes:
        name = outer + _required(path, node, "name")
        members = tuple(_members(path, node))
        yield Terminal(name, node.get("matchingRule", MatchingRule.PLUG), node.get("terminalKind", ""), members)
        yield from _terminals(path, node.iterfind("Terminal"), name + ".")


def _members(path: Path, terminal: etree._Element) -> Iterator[TerminalMember]:
    for node in terminal:
        if node.tag == "TerminalMemberVariable":
            variable = _required(path, node, "variableName")
            yield TerminalMember(node.get("memberName", ""), variable, node.get("variableKind", "signal"))
        elif node.tag == "TerminalStreamMemberVariable":
            # In stream connections, the inflow of one side is the upstream value of the other side.
            for way in ("in", "out"):
                name = node.get(f"{way}StreamMemberName", "")
                yield TerminalMember(name, _required(path, node, f"{way}StreamVariableName"), f"{way}Stream")


def _required(path: Path, node: etree._Element, attribute: str) -> str:
    text = node.get(attribute)
    if not text:
        raise UnusableFile(path, f"{TERMINALS}: line {node.sourceline}: {node.tag} has no attribute {attribute}")
    return text


class Extent(NamedTuple):
    """Two corners in the coordinates of the FMU, y up; swapped corners mirror."""

    x1: float
    y1: float
    x2: float
    y2: float


_DEFAULT_EXTENT = Extent(-100.0, -100.0, 100.0, 100.0)
"""Default coordinate system; an icon without an extent fills it."""


def terminal_positions(content: bytes) -> dict[str, tuple[float, float]]:
    """Variable of a terminal with a position → center of the terminal, in fractions of the icon's box.

    Malformed XML and invalid numbers give no positions.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.parse(BytesIO(content), parser).getroot()
    except etree.XMLSyntaxError:
        return {}
    whole = _extent(root.find("GraphicalRepresentation/CoordinateSystem")) or _DEFAULT_EXTENT
    icon = _extent(root.find("GraphicalRepresentation/Icon")) or whole
    if icon.x1 == icon.x2 or icon.y1 == icon.y2:
        return {}
    return dict(_terminal_positions(root, icon))


def _terminal_positions(root: etree._Element, icon: Extent) -> Iterator[tuple[str, tuple[float, float]]]:
    for terminal in root.iterfind("Terminals//Terminal"):
        box = _extent(terminal.find("TerminalGraphicalRepresentation"))
        if box is None:
            continue
        u = ((box.x1 + box.x2) / 2 - icon.x1) / (icon.x2 - icon.x1)
        v = ((box.y1 + box.y2) / 2 - icon.y1) / (icon.y2 - icon.y1)
        for member in terminal.iterfind("TerminalMemberVariable"):
            if name := member.get("variableName"):
                yield name, (min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0))


def _extent(node: etree._Element | None) -> Extent | None:
    if node is None:
        return None
    try:
        return Extent(*(float(node.get(name, "")) for name in Extent._fields))
    except ValueError:
        return None
