"""Offsets in a text as positions of the protocol, and back."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from ssptool.editing.changes import TextChange

_LINE_END = re.compile(r"\r\n|\n|\r")


class Places:
    """The lines of a text, whose columns are counted in the units that the client chose."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text = text
        self.codec = codec
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def position(self, offset: int) -> types.Position:
        line = bisect_right(self._starts, offset) - 1
        return types.Position(line, self.codec.client_num_units(self.text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    @property
    def whole(self) -> types.Range:
        return self.range(0, len(self.text))

    def offset(self, position: types.Position) -> int:
        """The offset of a position; of one behind the end of its line, that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        left, at = position.character, start
        while left > 0 and at < len(self.text) and self.text[at] not in "\r\n":
            left -= self.codec.client_num_units(self.text[at])
            at += 1
        return at

    def line(self, number: int) -> int:
        """The offset of a line, counted from 1, or of the last."""
        return self._starts[min(max(number, 1), len(self._starts)) - 1]

    def edits(self, changes: Iterable[TextChange]) -> list[types.TextEdit]:
        return [types.TextEdit(self.range(change.start, change.end), change.text) for change in changes]


def path_of(uri: str) -> Path | None:
    """The file of a URI; None for what is not a file."""
    path: str | None = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return None if path is None else Path(path)


def uri_of(path: Path) -> str:
    return str(uris.from_fs_path(str(path)))
