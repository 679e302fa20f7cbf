"""Large systems as groups of elements, each with a sheet of its own.

Elements without a place are grouped if there are many: into communities, which have more connections inside than
among each other.

References
----------
Blondel, Guillaume, Lambiotte and Lefebvre 2008, "Fast unfolding of communities in large networks".
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TypeAlias

import networkx as nx

from ssptool.drawing.diagram.model import Span, StatedBlock, StatedLine, StatedPin, StatedSheet
from ssptool.drawing.diagram.read import INFLOWS
from ssptool.network.tree import ElementPath

MOST_ELEMENTS = 60
"""Elements without a place that are drawn in one sheet; more are grouped."""

End: TypeAlias = tuple[str, str]
"""(element, connector); the element "" is the system itself."""

Members: TypeAlias = Mapping[ElementPath, ElementPath]
"""The group of each element, both by their paths."""

_SEED = 1
"""A fixed seed, so that the communities are the same each time."""
_SMALLEST, _TYPICAL = 3, 25
"""Elements of a group: fewer are drawn individually if there is room; groups by order have this number."""


def with_groups(
    stated: Mapping[ElementPath, StatedSheet], before: Members | None = None, *, stay: bool = False
) -> dict[ElementPath, StatedSheet]:
    """The sheets, the large ones as a sheet of groups, followed by one for each group.

    Parameters
    ----------
    before
        Groups of an earlier drawing, which are kept as far as they fit.
    stay
        Elements that have received a place since then stay in their groups.
    """
    found: dict[ElementPath, StatedSheet] = {}
    for sheet in stated.values():
        found |= {one.path: one for one in _grouped(sheet, before or {}, stay=stay)}
    return found


def members_of(stated: Mapping[ElementPath, StatedSheet]) -> Members:
    """The group of each element that is in one."""
    groups = dict.fromkeys(block.path for sheet in stated.values() for block in sheet.blocks if block.group)
    return {block.path: path for path in groups for block in stated[path].blocks}


def _grouped(sheet: StatedSheet, before: Members, *, stay: bool) -> Iterator[StatedSheet]:
    """A sheet, followed by the sheets of its groups."""
    depth = len(sheet.path)
    inside = {path for path, group in before.items() if stay and group[:depth] == sheet.path and len(group) > depth}
    loose = [block for block in sheet.blocks if block.extent is None or block.path in inside]
    if len(loose) <= MOST_ELEMENTS:
        yield sheet
        return
    outer, inner = _Division(sheet, _kept(sheet, loose, before) or _found(sheet, loose)).sheets()
    yield outer
    for group in inner:
        yield from _grouped(group, before, stay=stay)


# -- which elements belong together ------------------------------------------------------------------------------------

Parts: TypeAlias = Mapping[str, tuple[StatedBlock, ...]]
"""The elements of each group by its name."""


def _found(sheet: StatedSheet, loose: Sequence[StatedBlock]) -> Parts:
    """Communities, numbered in the order of the document."""
    communities = nx.community.louvain_communities(_graph(sheet, loose), seed=_SEED)
    found = [sorted(one) for one in communities]
    found = _packed(found, len(loose)) if len(found) > 1 else _chunks(range(len(loose)))
    word = "Group"
    while any(block.name.startswith(word) for block in sheet.blocks):
        word = f"Found {word}"
    groups = [one for one in sorted(found) if len(one) >= _SMALLEST]
    return {f"{word} {number}": tuple(loose[at] for at in one) for number, one in enumerate(groups, 1)}


def _graph(sheet: StatedSheet, loose: Sequence[StatedBlock]) -> "nx.Graph[int]":
    """Elements by their places, with the numbers of connections as weights."""
    number = {block.name: place for place, block in enumerate(loose)}
    pairs = Counter(
        (min(ends), max(ends))
        for line in sheet.lines
        if len(ends := {number[name] for name, _ in (line.start, line.end) if name in number}) == 2
    )
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(loose)))
    graph.add_weighted_edges_from((one, other, weight) for (one, other), weight in sorted(pairs.items()))
    return graph


def _packed(found: list[list[int]], elements: int) -> list[list[int]]:
    """Limit the number of groups: small groups are merged in the order of the document."""
    single = sum(len(one) for one in found if len(one) < _SMALLEST)
    if single + sum(len(one) >= _SMALLEST for one in found) <= MOST_ELEMENTS:
        return found
    most = max(_TYPICAL, math.ceil(elements / (MOST_ELEMENTS // 3)))
    packed = [one for one in found if len(one) >= most]
    filled: list[int] = []
    for one in sorted(one for one in found if len(one) < most):
        if filled and len(filled) + len(one) > most:
            packed.append(filled)
            filled = []
        filled = sorted([*filled, *one])
    return [*packed, filled] if filled else packed


def _chunks(places: Sequence[int]) -> list[list[int]]:
    """Groups in the order of the document, for elements that form a single community."""
    size = max(_TYPICAL, math.ceil(len(places) / MOST_ELEMENTS))
    return [list(places[begin : begin + size]) for begin in range(0, len(places), size)]


def _kept(sheet: StatedSheet, loose: Sequence[StatedBlock], before: Members) -> Parts | None:
    """The groups of an earlier drawing with most of the elements. New elements join the groups of their partners."""
    depth = len(sheet.path)
    of = {
        block.name: group[depth]
        for block in loose
        if (group := before.get(block.path, ()))[:depth] == sheet.path and len(group) > depth
    }
    if 2 * len(of) < len(loose):
        return None
    pulls: dict[str, Counter[str]] = defaultdict(Counter)
    for line in sheet.lines:
        for (one, _), (other, _) in permutations((line.start, line.end)):
            if one not in of and other in of:
                pulls[one][of[other]] += 1
    parts: dict[str, list[StatedBlock]] = {name: [] for name in dict.fromkeys(of.values())}
    for block in loose:
        name = of.get(block.name) or max(sorted(pulls[block.name]), key=pulls[block.name].__getitem__, default="")
        parts.setdefault(name, []).append(block)
    groups = {name: tuple(blocks) for name, blocks in parts.items() if name and len(blocks) >= _SMALLEST}
    if any(block.name in groups for block in sheet.blocks):
        return None
    boxes = len(groups) + len(loose) - sum(map(len, groups.values()))
    return groups if boxes <= MOST_ELEMENTS and max(map(len, groups.values()), default=0) < len(loose) else None


# -- sheets ------------------------------------------------------------------------------------------------------------

Drawn: TypeAlias = dict[tuple[End, End], list[StatedLine]]
"""Connections by the ends between which they are drawn, the source first."""
Tags: TypeAlias = dict[tuple[str, str, str], list[StatedLine]]
"""Connections across the border of a group, by element, kind of connector, and other end."""


class _Division:
    """A sheet divided into an outer sheet with a box for each group, and an inner sheet for each group.

    In the outer sheet, all lines that leave a group are one net. In an inner sheet, no line runs to the edge;
    connectors of the elements state the number and the other end of these connections.
    """

    def __init__(self, sheet: StatedSheet, parts: Parts) -> None:
        self._sheet = sheet
        self._parts = parts
        self._group_of = {block.name: name for name, blocks in parts.items() for block in blocks}
        self._outflows = {(block.name, pin.name) for block in sheet.blocks for pin in block.pins if _leaves(pin)}
        self._outflows |= {("", pin.name) for pin in sheet.pins if not _leaves(pin)}
        self._outer: Drawn = defaultdict(list)
        self._within: dict[str, list[StatedLine]] = {name: [] for name in parts}
        self._tags: Tags = defaultdict(list)
        crossing = [ends for line in sheet.lines if (ends := self._crossing(line)) is not None]
        self._leaving = Counter(self._box(source) for source, _, _ in crossing)
        self._between = Counter((self._box(source), self._box(destination)) for source, destination, _ in crossing)
        for source, destination, line in crossing:
            self._divide(source, destination, line)

    def sheets(self) -> tuple[StatedSheet, list[StatedSheet]]:
        boxes = [block for block in self._sheet.blocks if block.name not in self._group_of]
        outer = replace(
            self._sheet,
            blocks=(*boxes, *(self._block(name) for name in self._parts)),
            lines=(*(line for line in self._sheet.lines if self._is_outside(line)), *_lines(self._outer)),
        )
        return outer, [self._inside(name) for name in self._parts]

    # -- connections ---------------------------------------------------------------------------------------------------

    def _is_outside(self, line: StatedLine) -> bool:
        return line.start[0] not in self._group_of and line.end[0] not in self._group_of

    def _crossing(self, line: StatedLine) -> tuple[End, End, StatedLine] | None:
        """Source and destination of a connection to or from a group; all others are drawn as they are."""
        groups = {self._group_of.get(element) for element, _ in (line.start, line.end)}
        if len(groups) == 1:
            if (group := groups.pop()) is not None:
                self._within[group].append(line)
            return None
        forward = line.start in self._outflows or line.end not in self._outflows
        return (line.start, line.end, line) if forward else (line.end, line.start, line)

    def _divide(self, source: End, destination: End, line: StatedLine) -> None:
        """A connection as a part of one in the outer sheet, and of one connector inside each group."""
        leaves, enters = self._box(source), self._box(destination)
        outlet, inlet = source, destination
        if leaves in self._parts:
            outlet = leaves, f"{self._leaving[leaves]} to others"
            self._tags[source[0], "output", "others"].append(line)
        if enters in self._parts:
            inlet = enters, ".".join(filter(None, source))
            if leaves in self._parts:
                inlet = enters, f"{self._between[leaves, enters]} from {leaves}"
            self._tags[destination[0], "input", leaves or "outside"].append(line)
        self._outer[outlet, inlet].append(line)

    def _box(self, end: End) -> str:
        return self._group_of.get(end[0], end[0])

    # -- elements ------------------------------------------------------------------------------------------------------

    def _block(self, name: str) -> StatedBlock:
        blocks, path = self._parts[name], (*self._sheet.path, name)
        return StatedBlock(
            path=path,
            source=f"{len(blocks)} elements, grouped by connections",
            described=", ".join(block.name for block in blocks),
            extent=None,
            rotation=0.0,
            icon=None,
            pins=tuple(self._pins(name)),
            opens=True,
            span=Span("\0".join(("", *path)), 0, 0),
            group=True,
        )

    def _pins(self, group: str) -> Iterator[StatedPin]:
        found: dict[tuple[str, str], list[StatedLine]] = defaultdict(list)
        for ends, lines in self._outer.items():
            for (name, connector), kind in zip(ends, ("output", "input"), strict=True):
                if name == group:
                    found[connector, kind] += lines
        for (connector, kind), lines in found.items():
            yield StatedPin(connector, kind, None, None, f"{connector}: {_described(lines)}")

    def _inside(self, name: str) -> StatedSheet:
        within = self._within[name]
        needed = {end for line in within for end in (line.start, line.end)}
        there = {block.name for block in self._parts[name]}
        new: dict[str, list[StatedPin]] = defaultdict(list)
        replaced: set[End] = set()
        for (element, kind, other), lines in self._tags.items():
            if element in there:
                text = f"{len(lines)} {'from' if kind == 'input' else 'to'} {other}"
                new[element].append(StatedPin(text, kind, None, None, f"{text}: {_described(lines)}"))
                replaced |= {end for line in lines for end in (line.start, line.end)} - needed
        return StatedSheet(
            path=(*self._sheet.path, name),
            name=name,
            canvas=None,
            blocks=tuple(_with_pins(block, replaced, new[block.name]) for block in self._parts[name]),
            lines=tuple(within),
            notes=(),
            pins=(),
        )


def _leaves(pin: StatedPin) -> bool:
    return pin.kind not in INFLOWS


def _described(lines: Sequence[StatedLine]) -> str:
    return "; ".join(text for line in lines for text in line.described)


def _lines(drawn: Drawn) -> Iterator[StatedLine]:
    for (source, destination), lines in drawn.items():
        described = tuple(text for line in lines for text in line.described)
        spans = tuple(span for line in lines for span in line.spans)
        yield StatedLine(source, destination, None, described, spans)


def _with_pins(block: StatedBlock, replaced: Collection[End], new: Sequence[StatedPin]) -> StatedBlock:
    kept = (pin for pin in block.pins if (block.name, pin.name) not in replaced)
    return replace(block, pins=(*kept, *new))
