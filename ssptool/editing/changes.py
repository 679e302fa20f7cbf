"""What an edit did to documents: which files changed, and what is worth telling about it."""

import difflib
from collections.abc import Iterable
from enum import StrEnum

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import Position
from ssptool.documents.repair import decoded


class Loss(StrEnum):
    """What the change of one thing costs."""

    NOTHING = "restored"
    REWORDED = "reworded"
    WEAKENED = "weakened"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs after an edit. `code` names the difference between the versions of SSP (DIFF-…)."""

    code: str
    loss: Loss
    position: Position
    message: str

    def __str__(self) -> str:
        return f"{self.position}: {self.loss} {self.code}: {self.message}"


class NoText(Exception):
    """A file of which nobody knows the encoding, if it is a text at all."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file before and after; `before` is None for a new file, `after` for one that goes."""

    name: str
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        """A unified diff; of a file that is no text only that it differs."""
        try:
            before, after = (_lines(content) for content in (self.before, self.after))
        except NoText:
            return f"Binary file {self.name} differs\n"
        old = "/dev/null" if self.before is None else f"a/{self.name}"
        new = "/dev/null" if self.after is None else f"b/{self.name}"
        return "".join(_ended(line) for line in difflib.unified_diff(before, after, old, new))


def unified_diff(edits: Iterable[FileEdit]) -> str:
    """The diffs of all files, one after the other."""
    return "".join(edit.diff for edit in edits)


def _lines(content: bytes | None) -> list[str]:
    # Not splitlines(): that also breaks at characters that are no line ends in XML.
    text, certain = decoded(content or b"")
    if text is None or not certain:
        raise NoText
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1])


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
