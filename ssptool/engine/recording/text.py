"""Rows of cells as lines of text."""

from collections.abc import Callable, Sequence

import numpy as np

from ssptool.engine.columns import BYTES, NUMBERED, REAL_TYPES, TEXT, from_content, values_of
from ssptool.engine.recording.contents import Contents
from ssptool.engine.trace import Floats

try:
    from ssptool.engine.recording._text import csv as _csv
except ImportError:
    NATIVE = False
else:
    NATIVE = True


class Lines:
    """Makes rows (k, n) of cells of these types to lines of comma-separated values.

    Of numbers, these are the shortest that read back to the same bits; a Boolean is 0 or 1; texts are in quotes, which
    are doubled inside, and so are bytes, as two hexadecimal digits each.

    Parameters
    ----------
    contents
        What the numbers of texts and bytes mean.
    """

    def __init__(self, types: Sequence[str], contents: Contents = (b"",), *, native: bool = NATIVE) -> None:
        self._types = tuple(types)
        self._kinds = "".join(map(_kind, types)).encode("ascii")
        self._contents = contents
        self._places = {kind: [k for k, one in enumerate(types) if one == kind] for kind in (TEXT, BYTES)}
        self._written: dict[str, list[bytes]] = {kind: [] for kind in (TEXT, BYTES)}
        self._native = native

    def of(self, rows: Floats) -> bytes:
        if any(self._places.values()):
            rows = self._renumbered(rows)
        if self._native and rows.size:
            return _csv(np.ascontiguousarray(rows), self._kinds, self._written[TEXT], self._written[BYTES])
        return self._plain(rows)

    def _renumbered(self, rows: Floats) -> Floats:
        """With the numbers of texts and bytes among those that are in these rows, which are made ready."""
        rows = rows.copy()
        for kind, places in self._places.items():
            used, ranks = np.unique(rows[:, places].view(np.int64), return_inverse=True)
            self._written[kind] = [_WRITE[kind](self._contents[number]) for number in used.tolist()]
            rows[:, places] = ranks.reshape(len(rows), len(places)).view(np.float64)
        return rows

    def _plain(self, rows: Floats) -> bytes:
        """The same without native code, which is slower."""
        columns = [self._column(rows[:, place], kind) for place, kind in enumerate(self._types)]
        return b"".join(b",".join(row) + b"\n" for row in zip(*columns, strict=True))

    def _column(self, cells: Floats, kind: str) -> list[bytes]:
        if kind in NUMBERED:
            return [self._written[kind][number] for number in cells.view(np.int64).tolist()]
        # A Float32 is written as the double that it is in its cell.
        values = values_of(cells, "Float64" if kind in REAL_TYPES else "UInt64" if kind == "UInt64" else "Int64")
        return [repr(value).encode("ascii") for value in values.tolist()]


def _kind(kind: str) -> str:
    if kind in REAL_TYPES:
        return "f"
    return {TEXT: "t", BYTES: "b", "UInt64": "u"}.get(kind, "i")


def _quoted(content: bytes) -> bytes:
    return b'"' + str(from_content(content, TEXT)).replace('"', '""').encode() + b'"'


def _digits(content: bytes) -> bytes:
    return b'"' + content.hex().encode("ascii") + b'"'


_WRITE: dict[str, Callable[[bytes], bytes]] = {TEXT: _quoted, BYTES: _digits}
