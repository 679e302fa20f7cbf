"""Arguments that cannot be right."""

from collections.abc import Sized
from typing import Protocol, TypeVar

MAX_ORDER = 2
"""Of the polynomials that inputs follow; the history holds one point more."""

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
