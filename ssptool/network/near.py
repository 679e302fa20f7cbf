"""Near misses: known names that resemble an unknown one, for messages."""

from collections.abc import Collection
from difflib import get_close_matches

NEAR_MISSES = 3
MOST_COMPARED = 2_000_000
"""Pairs of names that are compared at most; beyond, none are given."""


def near_misses(names: Collection[str], known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """For each of the names the known ones that end with it or look like it, the likeliest first."""
    if len(known) * len(names) > MOST_COMPARED:
        return dict.fromkeys(names, ())
    return {name: _near(name, known) for name in names}


def _near(name: str, known: Collection[str]) -> tuple[str, ...]:
    longer = [other for other in known if other.endswith("." + name) or other.startswith(name + ".")]
    return tuple(dict.fromkeys((*longer, *get_close_matches(name, known, NEAR_MISSES))))[:NEAR_MISSES]
