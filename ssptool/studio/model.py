"""Model of the page, derived from the present documents: systems, sheets, connections, loops."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Self

from lxml import etree

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.drawing.diagram.arrange import arranged
from ssptool.drawing.diagram.drawing import Values, values_of
from ssptool.drawing.diagram.groups import members_of, with_groups
from ssptool.drawing.diagram.labels import CROWDED
from ssptool.drawing.diagram.memory import Memory
from ssptool.drawing.diagram.model import Rectangle, Sheet, StatedBlock, StatedLine, StatedSheet
from ssptool.drawing.diagram.read import PIN_TEXT, sheets_of
from ssptool.drawing.diagram.svg import svg_with_origin
from ssptool.errors import WrongUsage
from ssptool.foreign_text import one_line
from ssptool.network.dependencies import analyze
from ssptool.network.explanation import Explained, explain_all
from ssptool.network.flatten import build_network
from ssptool.network.network import IDENTITY, Leg, Network, Port, Signal
from ssptool.network.tree import ElementPath, Tree, build_tree, dotted
from ssptool.option_words import DrawnConnections
from ssptool.studio.findings import DrawnPlaces

MOST_ROUTED = 50
"""Largest number of lines in a sheet that are routed around elements; if there are more, each gets only one step, which
is fast.
"""

MOST_FOUND = 50
"""Largest number of elements in the result of a search."""


def no_such_sheet(path: ElementPath) -> WrongUsage:
    """A system that no longer exists."""
    return WrongUsage(f"there is no system {dotted(path)!r} any more")


class SystemModel:
    """All data derived from one state of the documents, each computed at first use.

    Unchanged elements and lines keep their positions from `before`. New elements join the group `joined`, in whose
    sheet they were added.
    """

    def __init__(
        self, archive: Archive, structure: Document, before: "SystemModel | None" = None, joined: ElementPath = ()
    ) -> None:
        self.archive = archive
        self.structure = structure
        self.held: dict[ElementPath, Rectangle] = {} if before is None else dict(before.held)
        """Positions of elements of systems drawn in groups, until the studio ends; the documents do not contain them.
        """
        self._elements = {} if before is None else before._elements_by_system()
        self._joined = joined
        self._sheets: dict[tuple[ElementPath, bool], dict[str, Any]] = {}
        self._arranged: dict[ElementPath, Sheet] = {}
        self._memory = Memory(ways={}) if before is None else before._remembered()

    @cached_property
    def tree(self) -> Tree:
        """The tree of all systems and components."""
        return build_tree(self.archive, self.structure)

    @cached_property
    def documented(self) -> Mapping[ElementPath, StatedSheet]:
        """Systems as stated in their documents."""
        return sheets_of(self.tree)

    @cached_property
    def stated(self) -> Mapping[ElementPath, StatedSheet]:
        """Systems as stated in their documents, with groups of the elements of large ones."""
        members, joined = dict(self._memory.members), self._joined
        grown = max((path for path in self.documented if path == joined[: len(path)]), key=len, default=())
        for path, elements in self._elements_by_system().items():
            before = self._elements.get(path, ())
            changed = [pair for pair in zip(before, elements, strict=False) if pair[0] != pair[1]]
            if len(before) == len(elements) and len(changed) == 1:  # one element was renamed
                ((old, new),) = changed
                members |= {new: members[old]} if old in members else {}
                self.held |= {new: self.held[old]} if old in self.held else {}
            elif path == grown != joined:
                members |= dict.fromkeys(set(elements) - set(before), joined)
        return with_groups(self.documented, members, stay=True)

    def _elements_by_system(self) -> dict[ElementPath, tuple[ElementPath, ...]]:
        return {path: tuple(block.path for block in sheet.blocks) for path, sheet in self.documented.items()}

    @cached_property
    def _lines(self) -> Mapping[ElementPath, Mapping[str, StatedLine]]:
        """The connections of each system by their texts, between connectors of its own elements."""
        return {
            path: {one_line(line.described[0]): line for line in sheet.lines if line.described}
            for path, sheet in self.documented.items()
        }

    @cached_property
    def places(self) -> DrawnPlaces:
        return DrawnPlaces(self.stated.values())

    @cached_property
    def network(self) -> Network | None:
        """The flat network; None if it cannot be made, for which findings give the reason."""
        try:
            return build_network(self.archive, self.structure)
        except InvalidDocument:
            return None

    @cached_property
    def ports(self) -> Mapping[Signal, Port]:
        if (network := self.network) is None:
            return {}
        parts = (network.ports, network.boundaries, *(one.ports for one in network.components.values()))
        return {port.signal: port for ports in parts for port in ports}

    @cached_property
    def legs(self) -> Mapping[tuple[Signal, Signal], tuple[Leg, Signal]]:
        """Steps of wires by their ends, with the signal at the start of the wire."""
        if self.network is None:
            return {}
        wires = (*self.network.wires, *self.network.dangling)
        return {(leg.source, leg.destination): (leg, wire.source) for wire in wires for leg in wire.legs}

    @cached_property
    def explained(self) -> Sequence[Explained]:
        """Origins of all values; empty if the system cannot be flattened."""
        return () if self.network is None else explain_all(self.network)

    @cached_property
    def values(self) -> Values:
        """Texts on the values of all variables and connectors."""
        return values_of(self.explained)

    def _remembered(self) -> Memory:
        return self._memory.followed(members_of(self.stated))

    # -- for the page ----------------------------------------------------------------------------------------------

    def systems(self) -> list[dict[str, Any]]:
        """The tree of systems: each sheet with its elements."""
        return [
            {
                "path": list(sheet.path),
                "name": sheet.name,
                "elements": [_entry(block) for block in sheet.blocks],
            }
            for sheet in self.stated.values()
        ]

    def sheet(self, path: ElementPath, *, afar: bool = False) -> dict[str, Any]:
        """Picture of a system, and data on the elements in it.

        With `afar`, connectors in a crowded system are left out, because they would be too small to see.
        """
        stated = self._sheet(path)
        whole = not afar or len(stated.lines) <= CROWDED
        if (path, whole) not in self._sheets:
            self._sheets[path, whole] = self._drawn(stated, whole=whole)
        return self._sheets[path, whole]

    def _drawn(self, stated: StatedSheet, *, whole: bool) -> dict[str, Any]:
        path, sheet = stated.path, self.arranged(stated.path)
        svg, origin = svg_with_origin(sheet, _no_address, whole=whole)
        return {
            "path": list(path),
            "system": list(self.system_of(path)),
            "name": stated.name,
            "whole": whole,
            "letter": PIN_TEXT * sheet.text,
            "origin": list(origin),
            "svg": svg,
            "blocks": {key_of(block.path): _block(block) for block in stated.blocks},
        }

    def connections(self, path: ElementPath) -> dict[str, Any]:
        """The connections of a sheet by their texts: ends, types, units and conversions."""
        return {one_line(line.described[0]): self._connection(path, line) for line in _single(self._sheet(path))}

    def arranged(self, path: ElementPath) -> Sheet:
        if path not in self._arranged:
            sheet = self._sheet(path)
            blocks = (replace(one, extent=one.extent or self.held.get(one.path)) for one in sheet.blocks)
            drawn = {path: replace(sheet, blocks=tuple(blocks))}
            self._arranged[path] = arranged(drawn, path, 0, DrawnConnections.BUNDLED, self._memory, MOST_ROUTED)
        return self._arranged[path]

    def _sheet(self, path: ElementPath) -> StatedSheet:
        if path not in self.stated:
            raise no_such_sheet(path)
        return self.stated[path]

    def block(self, path: ElementPath) -> StatedBlock:
        """An element by its path. Raises WrongUsage."""
        for sheet in self.stated.values():
            for block in sheet.blocks:
                if block.path == path:
                    return block
        raise no_such_sheet(path)

    def system_of(self, path: ElementPath) -> ElementPath:
        """The system whose elements a sheet shows; for a group, the system around it."""
        groups = {block.path for sheet in self.stated.values() for block in sheet.blocks if block.group}
        return next(path[:end] for end in range(len(path), -1, -1) if path[:end] not in groups)

    def all_connectors(self, path: ElementPath) -> list[ElementPath]:
        """The connectors of the system that a sheet shows, and of all its elements."""
        around = self.system_of(path)
        sheet = self.documented[around]
        own = [(*around, pin.name) for pin in sheet.pins]
        return own + [(*block.path, pin.name) for block in sheet.blocks for pin in block.pins]

    def connectors(self, owner: ElementPath, names: Collection[str]) -> list[str]:
        """Names that are drawn as connectors at an element or a system; other names stand for several connectors."""
        pins = [*(self.documented[owner].pins if owner in self.documented else ())]
        around = self.documented.get(owner[:-1])
        pins += [pin for block in (around.blocks if around else ()) if block.path == owner for pin in block.pins]
        known = {pin.name for pin in pins}
        return [name for name in names if name in known]

    def loops(self) -> list[list[str]]:
        """The connections in algebraic loops, as pairs of full names."""
        if self.network is None:
            return []
        found, names = (loop for cycle in analyze(self.network).cycles for loop in cycle.loops), set[tuple[str, str]]()
        looped = {signal: number for number, loop in enumerate(found) for signal in loop.block.signals}
        for wire in self.network.wires:
            if wire.source in looped and looped[wire.source] == looped.get(wire.destination):
                names |= {(str(leg.source), str(leg.destination)) for leg in wire.legs}
        return sorted(map(list, names))

    def find(self, words: str) -> list[dict[str, Any]]:
        """Elements whose names, files, descriptions or connectors contain all words; matches of names come first."""
        wanted = words.lower().split()
        found = []
        for sheet in self.stated.values():
            for block in sheet.blocks:
                name = dotted(block.path).lower()
                text = "\n".join([name, block.source, block.described, *(pin.described for pin in block.pins)]).lower()
                if not block.group and all(word in text for word in wanted):
                    apart = 0 if all(word in name for word in wanted) else 1
                    found.append((apart, len(name), {"sheet": list(sheet.path), **_entry(block)}))
        found.sort(key=lambda one: one[:2])
        return [one for _, _, one in found[:MOST_FOUND]] if wanted else []

    def ends(self, sheet: ElementPath, text: str) -> list[ElementPath]:
        """The connectors at the ends of a connection, by the elements and systems that have them."""
        around = self.system_of(sheet)
        line = self._lines[around].get(text)
        return [] if line is None else [(*around, *filter(None, end)) for end in (line.start, line.end)]

    def xml(self, file: str, line: int) -> "XmlText | None":
        """The text of the element that starts at a line of a file, with its children."""
        try:
            document = self.archive.document(file)
        except (InvalidDocument, LookupError):
            return None
        elements = (one for one in document.root.iter("*") if isinstance(one, Element))
        node = next((one for one in elements if one.line == line), None)
        return None if node is None else XmlText.of(document, node)

    def _connection(self, sheet: ElementPath, line: StatedLine) -> dict[str, Any]:
        around = self.system_of(sheet)
        line = self._lines[around].get(one_line(line.described[0]), line)
        ends = [Signal(dotted((*around, *filter(None, [element]))), name) for element, name in (line.start, line.end)]
        found = self.legs.get((ends[0], ends[1])) or self.legs.get((ends[1], ends[0]))
        ports = [self.ports.get(end) for end in ends]
        if found is not None and found[0].source == ends[1]:
            ends, ports = ends[::-1], ports[::-1]
        leg, origin = found or (None, ends[0])
        return {
            "ends": [[*around, *filter(None, end)] for end in (line.start, line.end)],
            "names": [str(end) for end in ends],
            "type": next((port.type for port in ports if port is not None), ""),
            "units": [port.unit or "" if port is not None else "" for port in ports],
            "conversion": "" if leg is None or leg.conversion == IDENTITY else leg.conversion.formula("v"),
            "signal": str(origin),
            "where": str(line.spans[0]),
        }


def key_of(path: ElementPath) -> str:
    """Name of an element in the picture."""
    return one_line("/".join(path))


class XmlText(NamedTuple):
    """The text of an element in its file, and the indentation of its lines after the first."""

    raw: str
    indent: str

    @classmethod
    def of(cls, document: Document, node: etree._Element) -> Self:
        start, end = document.text.extent(node)
        raw = document.source[start:end].decode("utf-8", "replace")
        rest = [line for line in raw.splitlines()[1:] if line.strip()]
        return cls(raw, min((line[: len(line) - len(line.lstrip())] for line in rest), key=len, default=""))

    @property
    def shown(self) -> str:
        """The text without its indentation."""
        return "\n".join(line.removeprefix(self.indent) for line in self.raw.splitlines())

    def indented(self, shown: str) -> str:
        """A text like `shown` with the indentation in the file."""
        end = "\r\n" if "\r\n" in self.raw else "\n"
        first, *rest = shown.strip().splitlines() or [""]
        return end.join([first, *(f"{self.indent}{line}" if line.strip() else line for line in rest)])


def _no_address(path: ElementPath) -> str:
    """No address: the page opens systems itself."""
    return "#" + key_of(path)


def _single(stated: StatedSheet) -> Iterator[StatedLine]:
    return (line for line in stated.lines if len(line.described) == 1)


def _entry(block: StatedBlock) -> dict[str, Any]:
    return {"path": list(block.path), "name": block.name, "source": block.source, "opens": block.opens}


def _block(block: StatedBlock) -> dict[str, Any]:
    return {
        **_entry(block),
        "group": block.group,
        "described": block.described,
        "placed": block.extent is not None,
        "turned": bool(block.rotation),
        "inserts": {"input", "output"} <= {pin.kind for pin in block.pins},
    }
