"""Why an edit cannot be made."""

from collections.abc import Collection
from difflib import get_close_matches

from ssptool.wrong_usage import WrongUsage


class EditError(ValueError):
    """An edit that cannot be made: what was asked for, why not, and what to try."""


class UnknownName(WrongUsage, EditError):
    """A name that the system does not have; `near` are those like it."""

    def __init__(self, what: str, name: str, known: Collection[str]) -> None:
        self.name = name
        self.near = near_misses(name, known)
        super().__init__(f"there is no {what} {name!r}{hint(name, known)}")


class AmbiguousName(WrongUsage, EditError):
    """A name with dots that can be read in several ways, the `candidates`."""

    def __init__(self, name: str, candidates: Collection[str]) -> None:
        self.name = name
        self.candidates = tuple(candidates)
        super().__init__(
            f"{name!r} is ambiguous, because names may contain dots: it is {' or '.join(candidates)}; "
            "in Python give the parts as a tuple, such as ('Plant', 'System1', 'x1')"
        )


def near_misses(name: str, known: Collection[str]) -> tuple[str, ...]:
    return tuple(get_close_matches(name, sorted(set(known)), n=3))


def hint(name: str, known: Collection[str]) -> str:
    """The end of a message about an unknown name: the nearest known ones, or the first of all."""
    if near := near_misses(name, known):
        return f"; did you mean {_quoted(near, ' or ')}?"
    if not known:
        return ""
    more = f", {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"; there are {_quoted(sorted(known)[:_SHOWN], ', ')}{more}"


_SHOWN = 12


def _quoted(names: Collection[str], between: str) -> str:
    return between.join(f"'{name}'" for name in names)
