"""Traces as Apache Parquet, complete after every group of rows."""

import io
import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]

from ssptool.engine.columns import TEXT, values_of
from ssptool.engine.recording.writer import UnreadableTrace
from ssptool.engine.trace import Column, Floats, Trace

GROUP_VALUES = 1 << 20
"""In a group of rows, at most, before it is written."""

GROUP_SECONDS = 0.1
"""After so long [s] a group is written however small it is; or after a hundredth of the time since the start."""

MANIFEST = b"ssptool"
"""Under this key the manifest is in the metadata of the file."""

_MAGIC = b"PAR1"
_TYPES = {"Boolean": pa.bool_(), "Float32": pa.float32(), "Enumeration": pa.int64(), TEXT: pa.string()} | {
    f"{sign}Int{bits}": getattr(pa, f"{sign.lower()}int{bits}")() for sign in ("", "U") for bits in (8, 16, 32, 64)
}
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

    def __init__(self, path: Path, columns: Sequence[Column], texts: Sequence[str] = ("",)) -> None:
        self._schema = pa.schema([_TIME, *(_field(column) for column in columns)])
        self._types = ("Float64", *(column.type for column in columns))
        self._texts = texts
        self._file = path.open("wb", buffering=0)
        self._end = os.pwrite(self._file.fileno(), _MAGIC, 0)
        self._footer: Any = self._empty({})
        self._pending: list[Floats] = []
        self._values = 0
        self._began = self._wrote = monotonic()
        self._put(b"", self._footer)

    def write(self, rows: Floats) -> None:
        self._pending.append(np.array(rows))
        self._values += rows.size
        now = monotonic()
        patience = max(GROUP_SECONDS, 0.01 * (now - self._began))
        if self._values >= GROUP_VALUES or now - self._wrote >= patience:
            self._write_group()
            self._wrote = now

    def notes(self) -> tuple[str, ...]:
        return ()

    def close(self, manifest: str) -> None:
        self._write_group()
        footer = self._empty({MANIFEST: manifest.encode()})
        footer.append_row_groups(self._footer)
        self._put(b"", footer)
        self._file.close()

    def _write_group(self) -> None:
        if not self._pending:
            return
        rows = np.concatenate(self._pending)
        self._pending, self._values = [], 0
        group, metadata = _encoded(self._schema, self._table(rows), self._end)
        self._footer.append_row_groups(metadata)
        self._put(group, self._footer)

    def _table(self, rows: Floats) -> Any:
        texts = pa.array(self._texts) if TEXT in self._types else None
        arrays = [_array(rows[:, place], kind, texts) for place, kind in enumerate(self._types)]
        return pa.table(arrays, schema=self._schema)

    def _put(self, group: bytes, footer: Any) -> None:
        """A group over the last footer, and the new footer behind it."""
        buffer = io.BytesIO()
        footer.write_metadata_file(buffer)
        content = group + buffer.getvalue()[len(_MAGIC) :]
        written = 0
        while written < len(content):
            written += os.pwrite(self._file.fileno(), content[written:], self._end + written)
        self._end += len(group)

    def _empty(self, metadata: Mapping[bytes, bytes]) -> Any:
        """A footer of no row groups."""
        schema = self._schema.with_metadata(dict(metadata))
        writer = pq.ParquetWriter(io.BytesIO(), schema, **_options(schema))
        writer.close()
        return writer.writer.metadata


def _array(cells: Floats, kind: str, texts: Any) -> Any:
    """A column as an array of Arrow."""
    if kind == TEXT:
        return texts.take(pa.array(np.ascontiguousarray(cells.view(np.int64))))
    return pa.array(np.ascontiguousarray(values_of(cells, kind)), safe=False)


_COMPRESSION = "snappy"
_TIME = pa.field("time", pa.float64(), nullable=False, metadata={"unit": "s", "type": "Float64"})


_TRUE = "true"


def _fact(fact: str | bool) -> str:
    return fact if isinstance(fact, str) else _TRUE


def _options(schema: Any) -> dict[str, Any]:
    """Texts are stored once per group, numbers as they are."""
    texts = [field.name for field in schema if field.type == pa.string()]
    return {"use_dictionary": texts or False, "compression": _COMPRESSION}


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


def _encoded(schema: Any, table: Any, offset: int) -> tuple[bytes, Any]:
    """A group of rows as it is at this offset of a file, and the metadata that refer to it."""
    sink = _Sink()
    file = pa.PythonFile(sink, mode="w")
    writer = pq.ParquetWriter(file, schema, **_options(schema))
    missing = offset - len(_MAGIC)
    while missing > 0:
        # The file counts these bytes, and from that count the writer takes the offsets.
        part = _NOTHING.slice(0, min(missing, _NOTHING.size))
        file.write(part)
        missing -= part.size
    sink.keeping = True
    writer.write_table(table)
    writer.close()
    content = b"".join(sink.parts)
    (footer,) = struct.unpack("<I", content[-8:-4])
    return content[: -8 - footer], writer.writer.metadata


def read_parquet(path: Path) -> Trace:
    """Read a trace that `ParquetWriter` or a similar tool wrote.

    Raises
    ------
    UnreadableTrace
        It is not a Parquet file, or its first column is not `time`.
    """
    try:
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
    values = found.to_pylist() if column.type == TEXT else found.to_numpy()
    expected = {"f"} if column.real else {"O"} if column.type == TEXT else {"b", "i", "u"}
    if column.type != TEXT and values.dtype.kind not in expected | {"i", "u"}:
        raise UnreadableTrace(path, f"column {column.signal} has values of type {found.type}, not {column.type}")
    return values


_NAMES = {type: name for name, type in _TYPES.items() if name != "Enumeration"} | {pa.large_string(): TEXT}


def _column(field: Any) -> Column:
    facts = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    kind = facts.get("type") or _NAMES.get(field.type, "Float64")
    return Column(field.name, facts.get("unit"), kind, facts.get("description", ""), facts.get("discrete") == _TRUE)


def read_manifest(path: Path) -> Mapping[str, Any]:
    """What is written of the run in the file; empty if it did not come to its end."""
    text = (pq.read_schema(path).metadata or {}).get(MANIFEST, b"{}")
    manifest: Mapping[str, Any] = json.loads(text)
    return manifest
