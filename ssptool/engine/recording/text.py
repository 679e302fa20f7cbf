"""Rows of numbers as lines of text."""

import numpy as np

from ssptool.engine.trace import Floats

try:
    from ssptool.engine.recording._text import csv as _csv
except ImportError:
    NATIVE = False
else:
    NATIVE = True


def lines(rows: Floats) -> bytes:
    """Rows (k, n) as lines of comma-separated numbers: the shortest that read back to the same bits."""
    if NATIVE and rows.size:
        return _csv(np.ascontiguousarray(rows), rows.shape[1])
    return plain_lines(rows)


def plain_lines(rows: Floats) -> bytes:
    """The same without native code, which is slower."""
    return "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()).encode("ascii")
