"""Construction of very many values: a large system has millions of them."""

from collections.abc import Callable, Hashable
from typing import TypeVar

V = TypeVar("V")

made = tuple.__new__
"""Makes a NamedTuple from its class and all its fields, in 40 % of the time that calling the class takes."""


def once(known: dict[Hashable, V], likeness: Hashable | None, make: Callable[[], V]) -> V:
    """The value that elements of this likeness share, made for the first of them; without a likeness a new value."""
    if likeness is None:
        return make()
    if likeness not in known:
        known[likeness] = make()
    return known[likeness]
