"""Changes made by an edit, and errors of impossible edits."""

import difflib
from collections.abc import Iterable, Sequence
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


class NoText(Exception):
    """A file with an unknown encoding, or without text."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file before and after an edit; `before` is None for a new file, `after` for a deleted one."""

    name: str
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        """A unified diff; for a binary file only a line that states a difference."""
        try:
            before, after = (_lines(content) for content in (self.before, self.after))
        except NoText:
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
    head = _equal(old, new)
    tail = _equal(old[head:][::-1], new[head:][::-1])
    offsets = list(accumulate(map(len, old), initial=0))
    matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    found = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            start, end = offsets[head + a], offsets[head + b]
            found.append(_narrowed(before, start, end, "".join(new[head + c : head + d])))
    return found


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


def _lines(content: bytes | None) -> list[str]:
    # not splitlines(), which also splits at characters that are not line ends in XML
    text, certain = decoded(content or b"")
    if text is None or not certain:
        raise NoText
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
