"""Patterns of full signal names, in which * matches any text and ? any character."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Protocol

from ssptool.errors import NEAR_MISSES, UnknownName, ambiguous_case


class NamedColumn(Protocol):
    """Column of results: the name of its signal, and for a lone FMU also the name with its component (otherwise
    empty).
    """

    @property
    def signal(self) -> str: ...

    @property
    def full_name(self) -> str: ...


def fits(pattern: str, signal: str) -> bool:
    """True if a pattern matches a name. A name without wildcards matches itself."""
    # Brackets belong to the names of array elements.
    return signal == pattern or fnmatchcase(signal, pattern.replace("[", "[[]"))


def fits_any(patterns: Iterable[str], signal: str) -> bool:
    return any(fits(pattern, signal) for pattern in patterns)


def _unfit(pattern: str, signals: Sequence[str], what: str) -> UnknownName:
    """Error for a pattern that matches none of the `signals`; `what` is their kind."""
    near, said = near_names(pattern, signals), f"no {what} is called {pattern!r}"
    if near and fits(f"*.{pattern}", near[0]):
        near = (f"*.{pattern}", *near)
    return UnknownName(said, pattern, signals, near=near[:NEAR_MISSES])


def near_names(pattern: str, signals: Sequence[str]) -> Sequence[str]:
    """Names that end with the pattern; if there are none, names that differ in case only; otherwise similar names."""
    if ending := [signal for signal in signals if fits(f"*.{pattern}", signal)]:
        return ending
    small = pattern.lower()
    if alike := [signal for signal in signals if fits_any((small, f"*.{small}"), signal.lower())]:
        return alike
    return get_close_matches(pattern, signals) if len(signals) <= _COMPARED else []


def checked_patterns(patterns: Iterable[str], signals: Sequence[str], what: str) -> tuple[str, ...]:
    """Patterns that match some of the signals; `what` is their kind.

    A pattern without an exact match is compared regardless of case; if it has commas outside of brackets, it is split
    into its parts.

    Raises
    ------
    UnknownName
        A pattern matches no signal.
    AmbiguousName
        It matches signals that differ in case only.
    """
    return tuple(found for pattern in patterns for found in _checked(pattern, signals, what))


_COMMA = re.compile(r",(?![^\[]*\])")
"""Comma that is not part of an array index."""


def _checked(pattern: str, signals: Sequence[str], what: str) -> Sequence[str]:
    if any(fits(pattern, signal) for signal in signals):
        return (pattern,)
    folded = pattern.casefold()
    alike = dict.fromkeys(signal for signal in signals if fits(folded, signal.casefold()))
    if not alike and len(parts := [part.strip() for part in _COMMA.split(pattern)]) > 1:
        return checked_patterns(parts, signals, what)
    if not alike:
        raise _unfit(pattern, signals, what)
    for signal in alike:
        same = [other for other in alike if other.casefold() == signal.casefold()]
        if len(same) > 1:
            raise ambiguous_case(pattern, same)
    return tuple(alike)


def chosen(patterns: Sequence[str], columns: Sequence[NamedColumn], what: str = "recorded signal") -> list[int]:
    """Indices of the columns with a name that matches a pattern; without patterns, of all columns. Raises as
    `checked_patterns`.
    """
    patterns = column_patterns(patterns, columns, what)
    return [place for place, column in enumerate(columns) if not patterns or fits_column(patterns, column)]


def column_patterns(patterns: Iterable[str], columns: Sequence[NamedColumn], what: str) -> tuple[str, ...]:
    """Patterns that match names of columns, as `checked_patterns`."""
    names = [column.signal for column in columns]
    found: list[str] = []
    for pattern in patterns:
        fitting = any(fits_column([pattern], column) for column in columns)
        found += [pattern] if fitting else checked_patterns([pattern], names, what)
    return tuple(found)


def fits_column(patterns: Sequence[str], column: NamedColumn) -> bool:
    """True if a pattern matches the name of a column, or that with its component."""
    return any(fits_any(patterns, name) for name in (column.signal, column.full_name) if name)


_COMPARED = 20_000
"""Largest number of names that are searched for similar ones."""
