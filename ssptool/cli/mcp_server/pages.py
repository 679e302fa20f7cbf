"""Answers of tools, in short pages. Each page states how many entries follow and how to request them."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from ssptool.errors import WrongUsage
from ssptool.foreign_text import json_text, several_lines

PAGE_BYTES = 2_000
"""Size of a page [byte], unless the client asks for another one."""

LEAST_BYTES, MOST_BYTES = 500, 100_000

KEPT_ANSWERS = 32
"""Answers whose further pages can be asked for; the oldest are forgotten."""

_ROOM_FOR_MORE = 150
"""Bytes of a page for the words on what is left."""


class PagedItems(NamedTuple):
    """An answer as JSON: facts, and items in a list of this name, which pages divide."""

    facts: Mapping[str, Any]
    name: str
    items: Sequence[Any]


class FailedAnswer(NamedTuple):
    """A text about something that was done and failed, such as a run: the client is told that it is an error."""

    text: str


Answer = str | PagedItems


def _unknown_cursor(cursor: str) -> WrongUsage:
    """A cursor of no page that is left."""
    return WrongUsage(
        f"there is no page {cursor!r}: cursors are those of the last {KEPT_ANSWERS} answers; call the tool again"
    )


@dataclass(slots=True)
class _Rest:
    """Rest of an answer, from one of its items on."""

    answer: Answer
    pieces: list[str]
    """Lines of a text, or items of a table as JSON."""


@dataclass
class Pages:
    """Answers that are not yet read to their end."""

    _rests: "OrderedDict[str, _Rest]" = field(default_factory=OrderedDict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def first(self, answer: Answer, size: int) -> str:
        """The first page of an answer, of this many bytes."""
        if isinstance(answer, PagedItems):
            return self._page(answer, [json_text(item, separators=(", ", ": ")) for item in answer.items], 0, size)
        return self._page(answer, list(_lines(several_lines(answer), size - _ROOM_FOR_MORE)), 0, size)

    def next(self, cursor: str, size: int) -> str:
        """The page that an earlier one named. Raises WrongUsage."""
        name, _, start = cursor.partition(":")
        rest = self._rests.get(name)
        if rest is None or not start.isdecimal() or not 0 < int(start) < len(rest.pieces):
            raise _unknown_cursor(cursor)
        self._rests.move_to_end(name)
        return self._page(rest.answer, rest.pieces, int(start), size, name)

    def _page(self, answer: Answer, pieces: list[str], start: int, size: int, name: str = "") -> str:
        around = len(_written(answer, [], "").encode())
        end = _fitting(pieces, start, size - around - _ROOM_FOR_MORE)
        if start == 0 and _fitting(pieces, 0, size - around) == len(pieces):
            end = len(pieces)
        if end == len(pieces):
            return _written(answer, pieces[start:end], "")
        name = name or self._kept(_Rest(answer, pieces))
        what = "items" if isinstance(answer, PagedItems) else "lines"
        more = f"{what} {start + 1} to {end} of {len(pieces)}; the next: more(cursor='{name}:{end}')"
        return _written(answer, pieces[start:end], more)

    def _kept(self, rest: _Rest) -> str:
        name = f"page{next(self._numbers)}"
        self._rests[name] = rest
        while len(self._rests) > KEPT_ANSWERS:
            self._rests.popitem(last=False)
        return name


def _lines(text: str, longest: int) -> Iterator[str]:
    """Lines of a text; lines longer than a page are divided."""
    for line in text.rstrip("\n").split("\n"):
        while len(line.encode()) > longest:
            piece = line.encode()[:longest].decode(errors="ignore")
            yield piece
            line = line[len(piece) :]
        yield line


def _fitting(pieces: Sequence[str], start: int, size: int) -> int:
    """The end of the pieces that fit; one does at least."""
    end, left = start, size
    while end < len(pieces) and (left := left - len(pieces[end].encode()) - 2) >= 0:
        end += 1
    return max(end, min(start + 1, len(pieces)))


def _written(answer: Answer, pieces: Sequence[str], more: str) -> str:
    if not isinstance(answer, PagedItems):
        return "\n".join([*pieces, *([f"… {more}"] if more else [])])
    head = [f"{json_text(name)}: {json_text(value)}" for name, value in answer.facts.items()]
    tail = [f'"more": {json_text(more)}'] if more else []
    listed = ",\n".join(pieces)
    items = f"{json_text(answer.name)}: [\n{listed}\n]" if pieces else f"{json_text(answer.name)}: []"
    return "{" + ",\n".join([*head, items, *tail]) + "}"
