"""Wires between slots."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ssptool.engine.kernel.interface import UNCHANGED, ActedWire, Change, ChangeKind, Floats, Slots, Tables
from ssptool.engine.kernel.twin.cells import Cells, changed_integer


@dataclass(slots=True)
class TwinWire:
    """`factor` and `offset` are with what is done to doubles at its ends, `stated` are those without."""

    source: int
    destination: int
    factor: float
    offset: float
    table: Mapping[int, int] | None
    stated: tuple[float, float]
    at_source: Change = UNCHANGED  # of integers, likewise the other
    at_destination: Change = UNCHANGED


class Wires:
    """At most one leads to a slot. Those to slots that nobody has `owned` are `outer` ones."""

    def __init__(self, cells: Cells, owned: Collection[int]) -> None:
        self._cells = cells
        self._owned = owned
        self._by_destination: dict[int, TwinWire] = {}
        self.outer: list[TwinWire] = []

    def __len__(self) -> int:
        return len(self._by_destination)

    def connect(
        self,
        sources: Slots,
        destinations: Slots,
        factors: Sequence[float],
        offsets: Sequence[float],
        tables: Tables,
    ) -> None:
        rows = enumerate(zip(sources, destinations, factors, offsets, strict=True))
        for wire in (TwinWire(*row, tables.get(number), (row[2], row[3])) for number, row in rows):
            self._check(wire)
            self._by_destination[wire.destination] = wire
            if wire.destination not in self._owned:
                self.outer.append(wire)

    def _check(self, wire: TwinWire) -> None:
        for slot in (wire.source, wire.destination):
            self._cells.check(slot)
        integer = wire.source in self._cells.holds_integer
        if wire.destination in self._cells.holds_integer:
            if not integer:
                raise ValueError(f"a wire leads from slot {wire.source}, a double, to {wire.destination}, an integer")
            if (wire.factor, wire.offset) != (1.0, 0.0):
                raise ValueError(f"the wire to slot {wire.destination}, an integer, has a factor or an offset")
        if wire.table and not integer:
            raise ValueError(f"the wire from slot {wire.source}, a double, has a table")
        if wire.destination in self._by_destination:
            raise ValueError(f"two wires lead to slot {wire.destination}")

    def into(self, slots: Slots) -> tuple[TwinWire, ...]:
        return tuple(self._by_destination[slot] for slot in slots if slot in self._by_destination)

    def copy(self, wires: Sequence[TwinWire]) -> None:
        values, integers, holds_integer = self._cells.values, self._cells.integers, self._cells.holds_integer
        for wire in wires:
            if wire.source not in holds_integer:
                values[wire.destination] = _delivered(wire, values[wire.source])
                continue
            number = changed_integer(int(integers[wire.source]), wire.at_source)
            if wire.table:
                number = wire.table.get(number, number)
            if wire.destination in holds_integer:
                integers[wire.destination] = changed_integer(number, wire.at_destination)
            else:
                values[wire.destination] = _delivered(wire, float(number))

    def copy_tangents(self, wires: Sequence[TwinWire], tangents: Floats) -> None:
        """By the chain rule; integers do not move."""
        for wire in wires:
            if wire.source not in self._cells.holds_integer:
                tangents[wire.destination] = wire.factor * tangents[wire.source]

    def act(self, wires: Sequence[ActedWire]) -> None:
        for acted in wires:
            self._cells.check(acted.destination)
            if acted.destination not in self._by_destination:
                raise ValueError(f"no wire leads to slot {acted.destination}")
        for acted in wires:
            wire = self._by_destination[acted.destination]
            wire.factor, wire.offset = wire.stated
            if wire.source in self._cells.holds_integer:
                wire.at_source = acted.at_source
            else:
                _change_source(wire, acted.at_source)
            if wire.destination in self._cells.holds_integer:
                wire.at_destination = acted.at_destination
            else:
                _change_destination(wire, acted.at_destination)


def _delivered(wire: TwinWire, value: float) -> float:
    """Where nothing is done to it the value itself, and where it does not count the offset itself: a zero with its
    sign.
    """
    if wire.factor == 0.0:
        return wire.offset
    return value if (wire.factor, wire.offset) == (1.0, 0.0) else wire.factor * value + wire.offset


def _change_source(wire: TwinWire, change: Change) -> None:
    """With what is done to doubles at its ends, a wire still is a factor and an offset."""
    if change.kind != ChangeKind.NONE:
        wire.offset = _delivered(wire, change.cell)
    if change.kind == ChangeKind.OVERRIDE:
        wire.factor = 0.0


def _change_destination(wire: TwinWire, change: Change) -> None:
    if change.kind == ChangeKind.NONE:
        return
    replaced = change.kind == ChangeKind.OVERRIDE
    wire.offset = change.cell if replaced else wire.offset + change.cell
    if replaced:
        wire.factor = 0.0
