"""Conversion between offsets in a text, positions of the protocol and offsets in its bytes.

For each text, tables of its lines and of the characters that count as more than one unit are built once; conversions
then only search in these tables.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from ssptool.editing.changes import TextChange

IntArray: TypeAlias = npt.NDArray[np.int64]

_LINE_END = re.compile(r"\r\n|\n|\r")


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


class UnitTable:
    """Numbers of units before each character of a text; `units_of` counts those of one character, at ASCII one."""

    def __init__(self, text: str, units_of: Callable[[str], int]) -> None:
        more_of = {} if text.isascii() else {one: units_of(one) - 1 for one in set(text) if not one.isascii()}
        self._wide, self._wide_units, self._more = array("q"), array("q"), array("q", [0])
        for found in _NOT_ASCII.finditer(text) if any(more_of.values()) else ():
            if more := more_of[found[0]]:
                self._wide.append(found.start())
                self._wide_units.append(found.start() + self._more[-1])
                self._more.append(self._more[-1] + more)

    def units(self, offset: int) -> int:
        """The number of units before an offset."""
        return offset + self._more[bisect_left(self._wide, offset)]

    def offset(self, units: int) -> int:
        """The offset after `units` units; for a number inside a character, the offset after that character."""
        before = bisect_left(self._wide_units, units)
        return max(units - self._more[before], self._wide[before - 1] + 1 if before else 0)

    def units_of_all(self, offsets: IntArray) -> IntArray:
        """`units` for many offsets."""
        if not self._wide:
            return offsets
        more: IntArray = np.asarray(self._more)[np.searchsorted(self._wide, offsets, "left")]
        return offsets + more

    def offsets_of_all(self, units: IntArray) -> IntArray:
        """`offset` for many numbers of units."""
        if not self._wide:
            return units
        before = np.searchsorted(self._wide_units, units, "left")
        least = np.concatenate(([0], np.asarray(self._wide) + 1))
        offsets: IntArray = np.maximum(units - np.asarray(self._more)[before], least[before])
        return offsets


class Places:
    """The lines of a text; columns are counted in the units that the client chose."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text = text
        self.codec = codec

    @cached_property
    def _ends(self) -> "array[int]":
        """The offset of the end of each line, before its line break."""
        return array("q", [*[end.start() for end in _LINE_END.finditer(self.text)], len(self.text)])

    @cached_property
    def _starts(self) -> "array[int]":
        return array("q", [0, *[end.end() for end in _LINE_END.finditer(self.text)]])

    @cached_property
    def _columns(self) -> UnitTable:
        return UnitTable(self.text, self.codec.client_num_units)

    @cached_property
    def _bytes(self) -> UnitTable:
        return UnitTable(self.text, lambda one: len(one.encode()))

    def position(self, offset: int) -> types.Position:
        return types.Position(*self.line_and_column(offset))

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The fields of a position."""
        line = bisect_right(self._starts, offset) - 1
        return line, self._columns.units(offset) - self._columns.units(self._starts[line])

    def lines_and_columns(self, in_bytes: Sequence[int]) -> tuple[list[int], list[int]]:
        """The lines and columns of many offsets in the text as UTF-8."""
        offsets = self._bytes.offsets_of_all(np.asarray(in_bytes, np.int64))
        starts = np.asarray(self._starts)
        lines = np.searchsorted(starts, offsets, "right") - 1
        columns = self._columns.units_of_all(offsets) - self._columns.units_of_all(starts)[lines]
        return lines.tolist(), columns.tolist()

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    @property
    def whole(self) -> types.Range:
        return self.range(0, len(self.text))

    def offset(self, position: types.Position) -> int:
        """The offset of a position; a position after the end of its line counts as that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        before = self._columns.units(self._starts[position.line])
        return min(self._columns.offset(before + position.character), self._ends[position.line])

    def in_bytes(self, offset: int) -> int:
        """The offset in the text as UTF-8."""
        return self._bytes.units(offset)

    def of_bytes(self, offset: int) -> int:
        """The offset in the text of one in the text as UTF-8."""
        return self._bytes.offset(offset)

    def line(self, number: int) -> int:
        """The offset of a line, counted from 1, or of the last."""
        return self._starts[min(max(number, 1), len(self._starts)) - 1]

    def edits(self, changes: Iterable[TextChange]) -> list[types.TextEdit]:
        return [types.TextEdit(self.range(change.start, change.end), change.text) for change in changes]


def path_of(uri: str) -> Path | None:
    """The file of a URI; None if the URI is not that of a file."""
    path: str | None = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return None if path is None else Path(path)


def uri_of(path: Path) -> str:
    return str(uris.from_fs_path(str(path)))
