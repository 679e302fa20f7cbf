"""What several rules need of one structure, found once."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

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


def found_once(find: Callable[[Structure], V]) -> Callable[[Structure], V]:
    """The same for a function of a structure as a whole."""

    of_whole = remembered(lambda _whole, structure: find(structure))

    def recall(structure: Structure) -> V:
        return of_whole(None, structure)

    recall.__doc__ = find.__doc__
    return recall


def pool(kind: type[V], structure: Structure) -> dict[Any, V]:
    """The values of a class of which a structure needs one each, by what they are made of."""
    return structure.memory.setdefault(kind, {})
