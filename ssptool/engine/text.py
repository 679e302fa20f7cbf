"""Enumerations of many things in one sentence."""

from collections.abc import Iterable

NAMED = 5
"""What a sentence names before it counts the others."""


def abbreviated(things: Iterable[object], most: int = NAMED, *, separator: str = ", ") -> str:
    """The first ones, and how many more there are; at least two, as one takes no more room than their number."""
    texts = list(map(str, things))
    if len(texts) <= most + 1:
        return separator.join(texts)
    return f"{separator.join(texts[:most])}{separator.rstrip(', ')} and {len(texts) - most} more"
