"""Near misses: what someone who wrote a name that does not exist may have meant."""

from collections.abc import Collection
from difflib import get_close_matches

from ssptool.wrong_usage import WrongUsage

NEAR_MISSES = 3
MOST_COMPARED = 2_000_000
"""Pairs of names that are compared at most; beyond, none are given."""


class UnknownName(WrongUsage, LookupError):
    """A name that is no variable of the system; `near` are names like it."""

    def __init__(self, name: str, near: tuple[str, ...]) -> None:
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `ssptool explain SYSTEM --all` lists those it has"
        super().__init__(f"the system has no variable {name!r}{hint}")
        self.name = name
        self.near = near

    def __str__(self) -> str:
        return str(self.args[0])


def near_misses(names: Collection[str], known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """For each of the names the known ones that end with it or look like it, the likeliest first."""
    if len(known) * len(names) > MOST_COMPARED:
        return dict.fromkeys(names, ())
    return {name: _near(name, known) for name in names}


def _near(name: str, known: Collection[str]) -> tuple[str, ...]:
    longer = [other for other in known if other.endswith("." + name) or other.startswith(name + ".")]
    return tuple(dict.fromkeys((*longer, *get_close_matches(name, known, NEAR_MISSES))))[:NEAR_MISSES]
