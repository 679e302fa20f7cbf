"""Which signals are recorded."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from ssptool.engine.plan import Plan


class NothingMatches(ValueError):
    """A pattern fits no signal."""

    def __init__(self, pattern: str, near: Sequence[str]) -> None:
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        super().__init__(f"no signal that can be recorded is called {pattern!r}{hint}")
        self.pattern = pattern
        self.near = tuple(near)


def select(plan: Plan, patterns: Sequence[str]) -> Plan:
    """The plan with only those signals recorded that one of the patterns fits; without patterns, as it is.

    Parameters
    ----------
    patterns
        Full names, in which * stands for any text and ? for any letter. A name that is a signal's is no pattern.

    Raises
    ------
    NothingMatches
        A pattern fits no signal.
    """
    if not patterns:
        return plan
    names = [column.signal for column in plan.columns]
    for pattern in patterns:
        if not any(_fits(name, pattern) for name in names):
            raise NothingMatches(pattern, get_close_matches(pattern, names))
    chosen = [number for number, name in enumerate(names) if any(_fits(name, pattern) for pattern in patterns)]
    return replace(
        plan,
        columns=tuple(plan.columns[number] for number in chosen),
        recorded=tuple(plan.recorded[number] for number in chosen),
    )


def _fits(name: str, pattern: str) -> bool:
    # Brackets are part of the names of array elements.
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))
