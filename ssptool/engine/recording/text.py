"""Rows of cells as lines of text."""

from collections.abc import Sequence

import numpy as np

from ssptool.engine.columns import REAL_TYPES, TEXT, values_of
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
    are doubled inside.

    Parameters
    ----------
    texts
        What the numbers of texts mean; may grow.
    """

    def __init__(self, types: Sequence[str], texts: Sequence[str] = ("",), *, native: bool = NATIVE) -> None:
        self._types = tuple(types)
        self._kinds = "".join(map(_kind, types)).encode("ascii")
        self._texts = texts
        self._quoted: list[bytes] = []
        self._native = native

    def of(self, rows: Floats) -> bytes:
        if TEXT in self._types:
            self._quoted += map(_quoted, self._texts[len(self._quoted) :])
        if self._native and rows.size:
            return _csv(np.ascontiguousarray(rows), self._kinds, self._quoted)
        return self._plain(rows)

    def _plain(self, rows: Floats) -> bytes:
        """The same without native code, which is slower."""
        columns = [self._column(rows[:, place], kind) for place, kind in enumerate(self._types)]
        return b"".join(b",".join(row) + b"\n" for row in zip(*columns, strict=True))

    def _column(self, cells: Floats, kind: str) -> list[bytes]:
        if kind == TEXT:
            return [self._quoted[number] for number in cells.view(np.int64).tolist()]
        # A Float32 is written as the double that it is in its cell.
        values = values_of(cells, "Float64" if kind in REAL_TYPES else "UInt64" if kind == "UInt64" else "Int64")
        return [repr(value).encode("ascii") for value in values.tolist()]


def _kind(kind: str) -> str:
    if kind in REAL_TYPES:
        return "f"
    return {TEXT: "t", "UInt64": "u"}.get(kind, "i")


def _quoted(text: str) -> bytes:
    return b'"' + text.replace('"', '""').encode("utf-8", "replace") + b'"'
