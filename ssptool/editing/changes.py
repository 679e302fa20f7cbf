"""Changes made by an edit, and errors of impossible edits."""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from ssptool.documents.diagnostics import Position
from ssptool.documents.document import decoded
from ssptool.errors import WrongUsage
from ssptool.public_calls import public


class Loss(StrEnum):
    """Loss of information by one change."""

    NOTHING = "restored"
    RENAMED = "renamed"
    WEAKENED = "weakened"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an edit. `code`: the difference between the versions of SSP (DIFF-…)."""

    code: str
    loss: Loss
    position: Position
    message: str

    def __str__(self) -> str:
        return f"{self.position}: {self.loss}: {self.message}"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file before and after an edit; `before` is None for a new file, `after` for a deleted one."""

    name: str
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        """A unified diff; for a binary file only a line that states a difference."""
        before, after = (_lines(content) for content in (self.before, self.after))
        if before is None or after is None:
            return f"Binary file {self.name} differs\n"
        old = "/dev/null" if self.before is None else f"a/{self.name}"
        new = "/dev/null" if self.after is None else f"b/{self.name}"
        return "".join(_ended(line) for line in difflib.unified_diff(before, after, old, new))


class TextChange(NamedTuple):
    """Replace the characters `start` to `end` of a text."""

    start: int
    end: int
    text: str


def text_changes(before: str, after: str) -> list[TextChange]:
    """Changes that turn one text into another, in order, without equal lines and equal ends of lines."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    offsets = list(accumulate(map(len, old), initial=0))
    return [
        _narrowed(before, offsets[first], offsets[last], "".join(new[start:end]))
        for first, last, start, end in _changed_lines(old, new)
    ]


_MOST_COMPARED = 1_000_000
"""Pairs of lines that are compared each with each; above it, unequal lines between equal ones are one change."""


def _changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of lines `old[a:b]` that `new[c:d]` replace, as (a, b, c, d), in order.

    Lines that occur once in both texts, and in the same order, divide them; so the work grows with the texts, not with
    their square, also where most lines occur many times.
    """
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        a, b, c, d = waiting.pop()
        head = _equal(old[a:b], new[c:d])
        a, c = a + head, c + head
        tail = _equal(old[a:b][::-1], new[c:d][::-1])
        b, d = b - tail, d - tail
        if a == b or c == d:
            if a < b or c < d:
                yield a, b, c, d
        elif shared := _shared_once(old[a:b], new[c:d]):
            begins = [(a, c), *((a + one + 1, c + other + 1) for one, other in shared)]
            ends = [*((a + one, c + other) for one, other in shared), (b, d)]
            parts = ((i, k, j, m) for (i, j), (k, m) in zip(begins, ends, strict=True))
            waiting.extend(reversed(list(parts)))
        elif (b - a) * (d - c) <= _MOST_COMPARED:
            matcher = difflib.SequenceMatcher(None, old[a:b], new[c:d], autojunk=False)
            for kind, i, j, k, m in matcher.get_opcodes():
                if kind != "equal":
                    yield a + i, a + j, c + k, c + m
        else:
            yield a, b, c, d


def _shared_once(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest row of lines that occur once in both texts, in the same order in both, as pairs of their numbers."""
    counts, in_new = Counter(old), Counter(new)
    places = {line: number for number, line in enumerate(new)}
    pairs = [(number, places[line]) for number, line in enumerate(old) if counts[line] == 1 and in_new.get(line) == 1]
    last: list[int] = []  # the smallest end of the rows of each length; `ends` has the pairs at these ends
    ends: list[int] = []
    before: dict[int, int] = {}
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(last, place)
        before[at] = ends[length - 1] if length else -1
        last[length : length + 1], ends[length : length + 1] = [place], [at]
    row, at = [], ends[-1] if ends else -1
    while at >= 0:
        row.append(pairs[at])
        at = before[at]
    return row[::-1]


def _narrowed(before: str, start: int, end: int, text: str) -> TextChange:
    """The change without equal characters at its ends."""
    left = _equal(before[start:end], text)
    right = _equal(before[start + left : end][::-1], text[left:][::-1])
    return TextChange(start + left, end - right, text[left : len(text) - right])


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """Number of equal items at the start."""
    pairs = zip(one, other, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@public
def unified_diff(edits: Iterable[FileEdit]) -> str:
    """Unified diffs of all files in one text."""
    return "".join(edit.diff for edit in edits)


def _lines(content: bytes | None) -> list[str] | None:
    """Lines of a file; None if its encoding is unknown or it is not a text."""
    # not splitlines(), which also splits at characters that are not line ends in XML
    text, certain = decoded(content or b"")
    if text is None or not certain:
        return None
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1])


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


class EditError(WrongUsage, ValueError):
    """The edit is not possible; the message contains the request, the reason and the remedy."""


class RefusedEdit(EditError):
    """An edit that is impossible for several `reasons`, which the message lists."""

    exit_status = 1

    def __init__(self, said: str, reasons: Sequence[object]) -> None:
        super().__init__(said)
        self.reasons = tuple(reasons)
