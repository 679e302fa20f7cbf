"""Traces as Apache Parquet, complete after every group of rows."""

import contextlib
import io
import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic, thread_time
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]

from ssptool.engine.columns import BYTES, NUMBERED, TEXT, met, values_of
from ssptool.engine.recording.writer import UnreadableTrace, refuse_repeats
from ssptool.engine.trace import Column, Floats, Trace

GROUP_VALUES = 1 << 18
"""In a group of rows before it is written."""

GROUP_ROWS = 2048
"""At least, in such a group: each column of it costs some microseconds, and a place in all footers after it."""

GROUP_SECONDS = 0.1
"""After so long [s] a group is written however small it is; or after a small part of the time since the start, or so
long that writing it takes a small part of that time.
"""

LATE_PART = 0.01
"""Of the time since the start: what a killed run may lose, if that is more."""

WRITING_PART = 0.05
"""Of the time: what groups may take that are smaller than they should be."""

MANIFEST = b"ssptool"
"""Under this key the manifest is in the metadata of the file."""

_MAGIC = b"PAR1"
_MOST_PARTS = 1000  # in one system call
_TYPES = {
    "Boolean": pa.bool_(),
    "Float32": pa.float32(),
    "Enumeration": pa.int64(),
    TEXT: pa.string(),
    BYTES: pa.large_binary(),
} | {f"{sign}Int{bits}": getattr(pa, f"{sign.lower()}int{bits}")() for sign in ("", "U") for bits in (8, 16, 32, 64)}
# So much of nothing stands for the part of the file that is already written; its pages are never touched.
_NOTHING = pa.py_buffer(np.zeros(1 << 26, dtype=np.uint8))


class ParquetWriter:
    """Writes groups of rows, each time with a new footer over the old one.

    A Parquet file ends with a footer, and without it nothing can be read. So a file that grew the usual way would be
    lost with its writer. Here each group goes into the file together with a footer for everything so far, in one
    system call.

    References
    ----------
    Apache Parquet, "File format": row groups refer to absolute offsets, so what lies between them does not matter.
    """

    def __init__(self, path: Path, columns: Sequence[Column], contents: Sequence[bytes] = (b"",)) -> None:
        self._schema = pa.schema([_TIME, *(_field(column) for column in columns)])
        self._types = ("Float64", *(column.type for column in columns))
        self._contents = contents
        self._file = path.open("wb", buffering=0)
        self._end = os.pwrite(self._file.fileno(), _MAGIC, 0)
        self._footer: Any = self._empty({})
        self._columns: Floats = np.empty((len(self._types), 0))
        self._count = 0
        self._groups = 0
        self._writing = 0.0
        self._last = b""
        self._began = self._wrote = monotonic()
        self._put([], self._footer)

    def write(self, rows: Floats) -> None:
        while len(rows):
            space = self._space()
            taken = rows[: space.shape[1]]
            _transpose(taken, space)
            self._count += len(taken)
            if self._count == self._columns.shape[1]:
                self._write_group()
            rows = rows[len(taken) :]
        now = monotonic()
        patience = max(GROUP_SECONDS, LATE_PART * (now - self._began), self._writing / WRITING_PART)
        if now - self._wrote >= patience:
            self._write_group()

    def notes(self) -> tuple[str, ...]:
        return ()

    def close(self, manifest: str) -> None:
        self._write_group()
        footer = self._empty({MANIFEST: manifest.encode()})
        footer.append_row_groups(self._footer)
        self._put([], footer)
        self._file.close()

    def _space(self) -> Floats:
        """Where the next rows of the group go, as columns (1 + p, k)."""
        if not self._count:
            width = len(self._types)
            # A group is not smaller than the footer, which is written with it: so all footers are no more than all
            # groups.
            rows = max(GROUP_ROWS, GROUP_VALUES // width, len(self._last) // (8 * width))
            if rows > self._columns.shape[1]:
                self._columns = np.empty((width, rows + _PAD))[:, :rows]
        return self._columns[:, self._count :]

    def _write_group(self) -> None:
        if not self._count:
            return
        began = thread_time()
        count, self._count = self._count, 0
        try:
            self._write_rows(0, count)
        except OSError:
            self._write_what_fits(count)
            raise
        self._wrote = monotonic()
        # The first one loads libraries.
        self._writing = thread_time() - began if self._groups else 0.0
        self._groups += 1

    def _write_rows(self, first: int, count: int) -> None:
        """Rows of the present columns as a group."""
        parts, metadata = _encoded(self._schema, self._table(first, count), self._end)
        self._footer.append_row_groups(metadata)
        self._put(parts, self._footer)

    def _write_what_fits(self, count: int) -> None:
        """Of so many rows, which have no room together, the first ones, as far as there is."""
        first, part = 0, count
        while part > 1:
            part //= 2
            # The footer knows of the group that had no room: the last one that was written does not.
            self._footer = pq.read_metadata(pa.BufferReader(_MAGIC + self._last))
            with contextlib.suppress(OSError):
                self._write_rows(first, part)
                first += part

    def _table(self, first: int, count: int) -> Any:
        cells = pa.py_buffer(self._columns.base)
        row = self._columns.strides[0]
        arrays = [
            pa.Array.from_buffers(pa.float64(), count, [None, cells.slice(place * row + 8 * first, 8 * count)])
            if kind == "Float64"
            else _array(self._columns[place, first : first + count], kind, self._contents)
            for place, kind in enumerate(self._types)
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _put(self, group: Sequence[bytes], footer: Any) -> None:
        """A group over the last footer, and the new footer behind it; or if there is no room, the last footer again."""
        buffer = io.BytesIO()
        footer.write_metadata_file(buffer)
        encoded = buffer.getvalue()[len(_MAGIC) :]
        try:
            self._overwrite([*group, encoded])
        except OSError:
            self._overwrite([self._last])
            self._file.truncate(self._end + len(self._last))
            raise
        self._last = encoded
        self._end += sum(map(len, group))

    def _overwrite(self, parts: list[bytes]) -> None:
        """What is in the file behind its last group, in one system call if the system takes all at once."""
        if len(parts) > _MOST_PARTS:
            parts = [b"".join(parts)]
        whole = sum(map(len, parts))
        written = os.pwritev(self._file.fileno(), parts, self._end)
        while written < whole:  # such as before a full disk says so
            written += os.pwrite(self._file.fileno(), b"".join(parts)[written:], self._end + written)

    def _empty(self, metadata: Mapping[bytes, bytes]) -> Any:
        """A footer of no row groups."""
        schema = self._schema.with_metadata(dict(metadata))
        writer = pq.ParquetWriter(io.BytesIO(), schema, **_options(schema))
        writer.close()
        return writer.writer.metadata


def _array(cells: Floats, kind: str, contents: Sequence[bytes]) -> Any:
    """A column as an array of Arrow."""
    if kind in NUMBERED:
        values, places = met(cells.view(np.int64), kind, contents)
        return pa.array(values, type=_TYPES[kind]).take(pa.array(places))
    return pa.array(np.ascontiguousarray(values_of(cells, kind)), safe=False)


_COMPRESSION = "snappy"
_TIME = pa.field("time", pa.float64(), nullable=False, metadata={"unit": "s", "type": "Float64"})


_TRUE = "true"


def _fact(fact: str | bool) -> str:
    return fact if isinstance(fact, str) else _TRUE


def _options(schema: Any) -> dict[str, Any]:
    """Texts and bytes are stored once per group, numbers as they are. The least and the largest value is known of times
    only.
    """
    texts = [field.name for field in schema if field.type in (_TYPES[TEXT], _TYPES[BYTES])]
    return {"use_dictionary": texts or False, "compression": _COMPRESSION, "write_statistics": ["time"]}


def _field(column: Column) -> Any:
    facts = {name: _fact(fact) for name, fact in asdict(column).items() if fact and name != "signal"}
    return pa.field(column.signal, _TYPES.get(column.type, pa.float64()), nullable=False, metadata=facts)


class _Sink:
    """Keeps what a Parquet writer writes once `keeping` is set."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.keeping = False

    def write(self, data: Any) -> int:
        if self.keeping:
            self.parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def _encoded(schema: Any, table: Any, offset: int) -> tuple[list[bytes], Any]:
    """The parts of a group of rows as it is at this offset of a file, and the metadata that refer to it."""
    sink = _Sink()
    file = pa.BufferedOutputStream(pa.PythonFile(sink, mode="w"), _BUFFER)
    writer = pq.ParquetWriter(file, schema, **_options(schema))
    missing = offset - len(_MAGIC)
    while missing > 0:
        # The file counts these bytes, and from that count the writer takes the offsets.
        part = _NOTHING.slice(0, min(missing, _NOTHING.size))
        file.write(part)
        missing -= part.size
    file.flush()
    sink.keeping = True
    writer.write_table(table)
    writer.close()
    file.flush()
    parts = sink.parts
    (footer,) = struct.unpack("<I", _last(parts, 8)[:4])
    _last(parts, footer)
    return parts, writer.writer.metadata


def _last(parts: list[bytes], count: int) -> bytes:
    """Take so many bytes off the end."""
    taken: list[bytes] = []
    while count:
        part = parts.pop()
        if len(part) > count:
            parts.append(part[:-count])
            part = part[-count:]
        taken.append(part)
        count -= len(part)
    return b"".join(reversed(taken))


_TILE = 256
"""Rows that are turned into columns at once: their cells stay in the cache."""

_PAD = 8
"""Numbers between two columns: at distances that are powers of two, they would contend for the same places in it."""

_BUFFER = 1 << 18
"""Bytes that are handed to Python at once."""


def _transpose(rows: Floats, columns: Floats) -> None:
    """Rows (k, n) into columns (n, m), m ≥ k."""
    for first in range(0, len(rows), _TILE):
        tile = rows[first : first + _TILE]
        columns[:, first : first + len(tile)] = tile.T


def read_parquet(path: Path) -> Trace:
    """Read a trace that `ParquetWriter` or a similar tool wrote.

    Raises
    ------
    UnreadableTrace
        It is not a Parquet file, or its first column is not `time`.
    """
    try:
        refuse_repeats(path, pq.read_schema(path).names)
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise UnreadableTrace(path, str(error)) from None
    if not table.column_names or table.column_names[0] != "time":
        raise UnreadableTrace(path, f"the first column must be 'time', found {table.column_names[:1]}")
    columns = [_column(field) for field in list(table.schema)[1:]]
    return Trace.of(table["time"].to_numpy(), [(one, _values(path, one, table[one.signal])) for one in columns])


def _values(path: Path, column: Column, found: Any) -> Any:
    if found.null_count and not column.real:
        raise UnreadableTrace(path, f"column {column.signal} lacks {found.null_count} values")
    values = found.to_pylist() if column.type in NUMBERED else found.to_numpy()
    expected = {"f"} if column.real else {"b", "i", "u"}
    if column.type not in NUMBERED and values.dtype.kind not in expected | {"i", "u"}:
        raise UnreadableTrace(path, f"column {column.signal} has values of type {found.type}, not {column.type}")
    return values


_NAMES = {type: name for name, type in _TYPES.items() if name != "Enumeration"} | {
    pa.large_string(): TEXT,
    pa.binary(): BYTES,
}


def _column(field: Any) -> Column:
    facts = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    kind = facts.get("type") or _NAMES.get(field.type, "Float64")
    return Column(field.name, facts.get("unit"), kind, facts.get("description", ""), facts.get("discrete") == _TRUE)


def read_manifest(path: Path) -> Mapping[str, Any]:
    """What is written of the run in the file; empty if it did not come to its end."""
    text = (pq.read_schema(path).metadata or {}).get(MANIFEST, b"{}")
    manifest: Mapping[str, Any] = json.loads(text)
    return manifest
