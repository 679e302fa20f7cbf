"""What several rules need of one structure, found once."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from ssptool.rules.subjects import Structure

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remembered(find: Callable[[K, Structure], V]) -> Callable[[K, Structure], V]:
    """A function of something in a structure that remembers its results for as long as the structure lives."""

    def recall(key: K, structure: Structure) -> V:
        known: dict[K, V] = structure.memory.setdefault(find, {})
        if key not in known:
            known[key] = find(key, structure)
        return known[key]

    recall.__doc__ = find.__doc__
    return recall
