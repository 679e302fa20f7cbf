"""Values in slots, and the polynomials of inputs over a step."""

from collections.abc import Sequence, Sized
from typing import Protocol, TypeVar

import numpy as np

from ssptool.engine.kernel.interface import Floats, Integers, SlotOverride, SlotOverrideKind, Slots

MAX_ORDER = 2
"""Highest order of the polynomials of inputs; the history holds one point more."""

Item = TypeVar("Item", covariant=True)


class Items(Protocol[Item]):
    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Item: ...


def check_index(index: int, items: Sized, what: str) -> None:
    if not 0 <= index < len(items):
        raise IndexError(f"{what} {index} does not exist, there are {len(items)}")


def item(items: Items[Item], index: int, what: str) -> Item:
    check_index(index, items, what)
    return items[index]


def check_order(order: int) -> None:
    if order not in range(1, MAX_ORDER + 1):
        raise ValueError(f"polynomial order is {order}, must be 1 to {MAX_ORDER}")


ENTRY_BYTES = 64
"""Memory of a content besides its bytes."""


class TwinStringTable:
    """Contents of strings and binaries by number. A number is never used again."""

    def __init__(self) -> None:
        self._all: dict[int, bytes] = {}
        self._numbers: dict[bytes, int] = {}
        self._kept: set[int] = set()
        self._next = self.bytes = 0
        self.number(b"", keep=True)

    def __len__(self) -> int:
        return self._next

    def __getitem__(self, number: int) -> bytes:
        if number not in self._all:
            raise IndexError(f"content {number} does not exist, or is forgotten")
        return self._all[number]

    def number(self, content: bytes, keep: bool = False) -> int:
        found = self._numbers.setdefault(content, self._next)
        if found == self._next:
            self._all[found] = content
            self._next += 1
            self.bytes += ENTRY_BYTES + len(content)
        if keep:
            self._kept.add(found)
        return found

    def forget(self, needed: Sequence[int]) -> list[int]:
        forgotten = sorted(self._all.keys() - self._kept - set(needed))
        for number in forgotten:
            content = self._all.pop(number)
            del self._numbers[content]
            self.bytes -= ENTRY_BYTES + len(content)
        return forgotten


def overridden_double(value: float, override: SlotOverride) -> float:
    match override.kind:
        case SlotOverrideKind.OVERRIDE:
            return override.value
        case SlotOverrideKind.BIAS:
            return value + override.value
        case _:
            return value


def overridden_integer(number: int, override: SlotOverride) -> int:
    """Sums wrap around as they do in all integers of the machine: so those without a sign are right as well."""
    bits = int(np.float64(override.value).view(np.int64))
    match override.kind:
        case SlotOverrideKind.OVERRIDE:
            return bits
        case SlotOverrideKind.BIAS:
            return (number + bits + 2**63) % 2**64 - 2**63
        case _:
            return number


class SlotValues:
    """Values in slots, and the polynomials of inputs over a step."""

    def __init__(self, slots: int, integers: Slots) -> None:
        self.values: Floats = np.zeros(slots)
        self.integers: Integers = self.values.view(np.int64)
        self.input_value: Floats = np.zeros(slots)
        self.input_rates: Floats = np.zeros((MAX_ORDER, slots))
        self.contents = TwinStringTable()
        for slot in integers:
            self.check(slot)
        self.holds_integer = frozenset(integers)
        self.demands: dict[int, tuple[bool, int]] = {}

    def demand(self, slot: int, nonnegative: bool, digits: int) -> None:
        self.check(slot)
        if slot not in self.holds_integer:
            raise ValueError(f"slot {slot} holds no integer")
        known = self.demands.get(slot, (False, 64))
        self.demands[slot] = known[0] or nonnegative, min(known[1], digits)

    def meets_demand(self, slot: int) -> bool:
        nonnegative, digits = self.demands.get(slot, (False, 64))
        number = int(self.integers[slot])
        size = abs(number)
        return not (number < 0 and nonnegative) and size.bit_length() - (size & -size).bit_length() < digits

    def check(self, slot: int) -> None:
        check_index(slot, self.values, "slot")

    def move(self, slot: int, value: float, first: float, second: float) -> None:
        self.input_value[slot] = value
        self.input_rates[:, slot] = first, second
