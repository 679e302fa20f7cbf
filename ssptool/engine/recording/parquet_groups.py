"""Groups of rows of a Parquet file: rows that become columns, and columns as they are in the file."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]

from ssptool.engine.columns import BYTES, NUMBERED, TEXT, met, values_of
from ssptool.engine.recording.contents import Contents
from ssptool.engine.trace import Floats

MAGIC = b"PAR1"

TYPES = {
    "Boolean": pa.bool_(),
    "Float32": pa.float32(),
    "Enumeration": pa.int64(),
    TEXT: pa.string(),
    BYTES: pa.large_binary(),
} | {f"{sign}Int{bits}": getattr(pa, f"{sign.lower()}int{bits}")() for sign in ("", "U") for bits in (8, 16, 32, 64)}
"""Of a column, by that of its signal; all others are doubles."""

_PLAIN = "Float64"
_TILE = 256
"""Rows that are turned into columns at once: their cells stay in the cache."""

_PAD = 8
"""Numbers between two columns: at distances that are powers of two, they would contend for the same places in it."""


class Columns:
    """Rows of cells as columns, as many as there is space for.

    Parameters
    ----------
    contents
        What the numbers in columns of texts and bytes mean; the list may grow.
    """

    def __init__(self, types: Sequence[str], schema: Any, contents: Contents) -> None:
        self._types = types
        self._schema = schema
        self._contents = contents
        self._cells: Floats = np.empty((len(types), 0))
        self._views: list[Any] = []
        self.count = 0

    @property
    def space(self) -> int:
        """For so many rows more."""
        return len(self._cells[0]) - self.count

    def make_space(self, rows: int) -> None:
        """For so many at least; there must be none now."""
        if rows <= self._cells.shape[1]:
            return
        width = len(self._types)
        self._cells = np.empty((width, rows + _PAD))[:, :rows]
        cells, distance = pa.py_buffer(self._cells.base), self._cells.strides[0]
        self._views = [
            pa.Array.from_buffers(pa.float64(), rows, [None, cells.slice(place * distance, 8 * rows)])
            if kind == _PLAIN
            else None
            for place, kind in enumerate(self._types)
        ]

    def add(self, rows: Floats) -> None:
        """No more than there is space for."""
        for first in range(0, len(rows), _TILE):
            tile = rows[first : first + _TILE]
            self._cells[:, self.count : self.count + len(tile)] = tile.T
            self.count += len(tile)

    def table(self, first: int, count: int) -> Any:
        """So many rows; valid until others take their place."""
        arrays = [
            _array(self._cells[place, first : first + count], self._types[place], self._contents)
            if view is None
            else view.slice(first, count)
            for place, view in enumerate(self._views)
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def repeating(self, count: int) -> list[str]:
        """The columns that are worth to be compressed: of numbers that mostly stay what they are, and all that are no
        doubles.
        """
        distance = max(1, count // _SAMPLES)
        bits = self._cells[:, :count].view(np.int64)
        before = bits[:, : count - 1 : distance]
        same = np.count_nonzero(before == bits[:, 1::distance][:, : before.shape[1]], axis=1)
        names = zip(self._schema.names, self._types, same.tolist(), strict=True)
        return [name for name, kind, same in names if kind != _PLAIN or 2 * same > before.shape[1]]


_SAMPLES = 64
"""Pairs of values that follow one another, from which it is told whether a column repeats itself."""


def _array(cells: Floats, kind: str, contents: Contents) -> Any:
    """A column as an array of Arrow."""
    if kind in NUMBERED:
        values, places = met(cells.view(np.int64), kind, contents)
        return pa.array(values, type=TYPES[kind]).take(pa.array(places))
    return pa.array(np.ascontiguousarray(values_of(cells, kind)), safe=False)


class Encoder:
    """Tables of one schema as groups of rows.

    Texts and bytes are stored once per group, numbers as they are. The least and the largest value is known of times
    only. Compressed is what repeats itself: numbers that differ have 52 random bits each, and to look for something in
    them takes longer than all the rest. It is done with snappy, which every reader has.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        texts = [field.name for field in schema if field.type in (TYPES[TEXT], TYPES[BYTES])]
        self._options = {
            "use_dictionary": texts or False,
            "write_statistics": [schema[0].name],
            "write_batch_size": 1 << 20,  # values that pass at once through layers that cost something each time
        }

    def empty(self, metadata: dict[bytes, bytes]) -> Any:
        """A footer of no groups."""
        schema = self._schema.with_metadata(metadata)
        writer = pq.ParquetWriter(pa.BufferOutputStream(), schema, **self._options)
        writer.close()
        return writer.writer.metadata

    def encode(self, table: Any, compressed: Sequence[str], offset: int, take: Callable[[bytes], None]) -> Any:
        """Give the bytes of a group as it is at this offset of a file, and return the metadata that refer to it."""
        sink = _Sink(take)
        file = pa.BufferedOutputStream(pa.PythonFile(sink, mode="w"), _BUFFER)
        compression = dict.fromkeys(compressed, "snappy") or "none"
        options = {**self._options, "compression": compression, "store_schema": False}
        with pq.ParquetWriter(file, table.schema, **options) as writer:
            missing = offset - len(MAGIC)
            while missing > 0:
                # The file counts these bytes, and from that count the writer takes the offsets.
                part = _NOTHING.slice(0, min(missing, _NOTHING.size))
                file.write(part)
                missing -= part.size
            file.flush()
            with sink:
                writer.write_table(table)
                file.flush()
        return writer.writer.metadata


_BUFFER = 1 << 18
"""Bytes that are handed to Python at once."""

# So much of nothing stands for the part of the file that is already written; its pages are never touched.
_NOTHING = pa.py_buffer(np.zeros(1 << 26, dtype=np.uint8))


class _Sink:
    """Hands on what is written in its context, and nothing else: not the beginning of a file, and not its end."""

    closed = False

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._taking = False

    def __enter__(self) -> None:
        self._taking = True

    def __exit__(self, *_: object) -> None:
        self._taking = False

    def write(self, data: bytes) -> int:
        if self._taking:
            self._take(data)
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass
