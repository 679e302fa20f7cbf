"""Signals by pattern: full names, in which * stands for any text and ? for any letter."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from ssptool.wrong_usage import WrongUsage


class NothingMatches(WrongUsage, ValueError):
    """A pattern fits none of the `signals`, which are called `what`; `near` are those that may have been meant."""

    def __init__(self, pattern: str, signals: Sequence[str], what: str) -> None:
        near = get_close_matches(pattern, signals)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {_some(signals)}"
        super().__init__(f"no {what} is called {pattern!r}; {hint}")
        self.pattern = pattern
        self.near = tuple(near)


def fits(pattern: str, signal: str) -> bool:
    """Whether a pattern fits a name; a name is a pattern that fits itself."""
    # Brackets are part of the names of array elements.
    return signal == pattern or fnmatchcase(signal, pattern.replace("[", "[[]"))


def fits_any(patterns: Iterable[str], signal: str) -> bool:
    return any(fits(pattern, signal) for pattern in patterns)


def check_patterns(patterns: Iterable[str], signals: Sequence[str], what: str) -> None:
    """Raise NothingMatches for the first pattern that fits none of the signals, which are called `what`."""
    for pattern in patterns:
        if not any(fits(pattern, signal) for signal in signals):
            raise NothingMatches(pattern, signals, what)


_SHOWN = 6
"""Of the names that there are; `near` tells those of long lists."""


def _some(names: Sequence[str]) -> str:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*names[:_SHOWN], *more]) or "none"
