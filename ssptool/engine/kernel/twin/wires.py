"""Wires between slots."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ssptool.engine.kernel.interface import (
    UNCHANGED,
    Floats,
    OverriddenWire,
    SlotOverride,
    SlotOverrideKind,
    Slots,
    Tables,
)
from ssptool.engine.kernel.twin.slot_values import SlotValues, overridden_integer


@dataclass(slots=True)
class TwinWire:
    """`factor` and `offset` are with what is done to doubles at its ends, `stated` are those without."""

    source: int
    destination: int
    factor: float
    offset: float
    table: Mapping[int, int] | None
    stated: tuple[float, float]
    at_source: SlotOverride = UNCHANGED  # of integers, likewise the other
    at_destination: SlotOverride = UNCHANGED


class Wires:
    """Wires between slots, at most one into each. Wires into slots that no instance has `owned` are `outer` ones."""

    def __init__(self, slot_values: SlotValues, owned: Collection[int]) -> None:
        self._slot_values = slot_values
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
            self._slot_values.check(slot)
        integer = wire.source in self._slot_values.holds_integer
        if wire.destination in self._slot_values.holds_integer:
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
        every = self._slot_values
        values, integers, holds_integer = every.values, every.integers, every.holds_integer
        for wire in wires:
            if wire.source not in holds_integer:
                values[wire.destination] = _delivered(wire, values[wire.source])
                continue
            number = overridden_integer(int(integers[wire.source]), wire.at_source)
            if wire.table:
                number = wire.table.get(number, number)
            if wire.destination in holds_integer:
                integers[wire.destination] = overridden_integer(number, wire.at_destination)
            else:
                values[wire.destination] = _delivered(wire, float(number))

    def copy_tangents(self, wires: Sequence[TwinWire], tangents: Floats) -> None:
        """Copy tangents along wires by the chain rule; integers have none."""
        for wire in wires:
            if wire.source not in self._slot_values.holds_integer:
                tangents[wire.destination] = wire.factor * tangents[wire.source]

    def override_wires(self, wires: Sequence[OverriddenWire]) -> None:
        for override in wires:
            self._slot_values.check(override.destination)
            if override.destination not in self._by_destination:
                raise ValueError(f"no wire leads to slot {override.destination}")
        for override in wires:
            wire = self._by_destination[override.destination]
            wire.factor, wire.offset = wire.stated
            if wire.source in self._slot_values.holds_integer:
                wire.at_source = override.at_source
            else:
                _override_source(wire, override.at_source)
            if wire.destination in self._slot_values.holds_integer:
                wire.at_destination = override.at_destination
            else:
                _override_destination(wire, override.at_destination)


def _delivered(wire: TwinWire, value: float) -> float:
    """Value that a wire delivers: the source itself if factor and offset do nothing, the offset itself if the factor is
    zero, so that zeros keep their signs.
    """
    if wire.factor == 0.0:
        return wire.offset
    return value if (wire.factor, wire.offset) == (1.0, 0.0) else wire.factor * value + wire.offset


def _override_source(wire: TwinWire, override: SlotOverride) -> None:
    """Apply an override at the source of a wire of doubles; the wire stays a factor and an offset."""
    if override.kind != SlotOverrideKind.NONE:
        wire.offset = _delivered(wire, override.value)
    if override.kind == SlotOverrideKind.OVERRIDE:
        wire.factor = 0.0


def _override_destination(wire: TwinWire, override: SlotOverride) -> None:
    if override.kind == SlotOverrideKind.NONE:
        return
    replaced = override.kind == SlotOverrideKind.OVERRIDE
    wire.offset = override.value if replaced else wire.offset + override.value
    if replaced:
        wire.factor = 0.0
