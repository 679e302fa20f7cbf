"""Traces as Apache Parquet, complete after every group of rows."""

import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic, thread_time
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]

from ssptool.engine.columns import BYTES, NUMBERED, TEXT
from ssptool.engine.recording.contents import Contents
from ssptool.engine.recording.footed_file import FootedFile
from ssptool.engine.recording.parquet_groups import MAGIC, TYPES, Columns, Encoder
from ssptool.engine.recording.writer import UnreadableTrace, refuse_repeats
from ssptool.engine.trace import TIME_NAMES, Column, Floats, Trace, time_name

GROUP_VALUES = 1 << 18
"""In a group of rows before it is written."""

GROUP_ROWS = 4096
"""At least, in such a group: each column of it costs some microseconds, and a place in all footers after it."""

FOOTERS = 32
"""So many times its footer, at least: a byte of it takes longer than one of the group, and it grows with the groups."""

MOST_VALUES, FEW_ROWS = 1 << 24, 1024
"""But no more than that, 128 MiB of memory, unless they were too few rows."""

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

_HEADER = 64  # bytes, about, before the values of a column


MOST_ACTIONS = 32
"""That wait for a group to be written: what they let go takes memory."""


class ParquetWriter:
    """Writes groups of rows, each time with a new footer over the old one.

    A Parquet file ends with a footer, and without it nothing can be read. So a file that grew the usual way would be
    lost with its writer. Here each group goes into the file together with a footer for everything so far.

    References
    ----------
    Apache Parquet, "File format": row groups refer to absolute offsets, so what lies between them does not matter.
    """

    def __init__(self, path: Path, columns: Sequence[Column], contents: Contents = (b"",)) -> None:
        schema = pa.schema([_time([column.signal for column in columns]), *map(_field, columns)])
        bare = pa.schema([field.remove_metadata() for field in schema])
        self._width = len(schema)
        self._columns = Columns(("Float64", *(column.type for column in columns)), bare, contents)
        self._groups, self._footers = Encoder(bare), Encoder(schema)
        self._footer: Any = self._footers.empty({})
        self._file = FootedFile(path, MAGIC, _serialized(self._footer))
        self._actions: list[Callable[[], None]] = []
        self._writing = 0.0
        self._began = self._wrote = monotonic()

    def write(self, rows: Floats) -> None:
        while len(rows):
            if not self._columns.count:
                self._columns.make_space(self._rows_of_group())
            taken = rows[: self._columns.space]
            self._columns.add(taken)
            if not self._columns.space:
                self._write_group()
            rows = rows[len(taken) :]
        now = monotonic()
        patience = max(GROUP_SECONDS, LATE_PART * (now - self._began), self._writing / WRITING_PART)
        if now - self._wrote >= patience:
            self._write_group()

    def when_written(self, action: Callable[[], None]) -> None:
        self._actions.append(action)
        if len(self._actions) >= MOST_ACTIONS or not self._columns.count:
            self._write_group()

    def notes(self) -> tuple[str, ...]:
        return ()

    def close(self, manifest: str) -> None:
        self._write_group()
        footer = self._footers.empty({MANIFEST: manifest.encode()})
        footer.append_row_groups(self._footer)
        encoded = _serialized(footer)
        self._file.begin(len(encoded))
        self._file.finish(encoded)
        self._file.close()

    def _rows_of_group(self) -> int:
        rows = max(GROUP_ROWS, GROUP_VALUES // self._width, FOOTERS * len(self._file.footer) // (8 * self._width))
        return min(rows, max(MOST_VALUES // self._width, FEW_ROWS))

    def _write_group(self) -> None:
        try:
            self._write_columns()
        finally:
            for action in self._actions:
                action()
            self._actions = []

    def _write_columns(self) -> None:
        count, self._columns.count = self._columns.count, 0
        if not count:
            return
        began = thread_time()
        first = not self._footer.num_row_groups
        try:
            self._write_rows(0, count)
        except OSError:
            self._write_what_fits(count)
            raise
        self._wrote = monotonic()
        # The first one loads libraries.
        self._writing = 0.0 if first else thread_time() - began

    def _write_rows(self, first: int, count: int) -> None:
        """Rows of the present columns as a group; if that fails, the file is as it was before."""
        table, compressed = self._columns.table(first, count), self._columns.repeating(count)
        file = self._file
        try:
            file.begin(self._width * (8 * count + _HEADER))
            self._footer.append_row_groups(self._groups.encode(table, compressed, file.place, file.write))
            file.finish(_serialized(self._footer))
        except BaseException:
            file.abandon()
            self._footer = pq.read_metadata(pa.BufferReader(MAGIC + file.footer))
            raise

    def _write_what_fits(self, count: int) -> None:
        """Of so many rows, which have no room together, the first ones, as far as there is."""
        first, part = 0, count
        while part > 1:
            part //= 2
            with contextlib.suppress(OSError):
                self._write_rows(first, part)
                first += part


def _serialized(footer: Any) -> bytes:
    """As it is at the end of a file."""
    buffer = io.BytesIO()
    footer.write_metadata_file(buffer)
    return buffer.getvalue()[len(MAGIC) :]


def _time(signals: Sequence[str]) -> Any:
    return pa.field(time_name(signals), pa.float64(), nullable=False, metadata={"unit": "s", "type": "Float64"})


_TRUE = "true"


def _field(column: Column) -> Any:
    told = {"unit": column.unit, "type": column.type, "description": column.description}
    facts = {name: fact for name, fact in told.items() if fact}
    if column.discrete:
        facts["discrete"] = _TRUE
    return pa.field(column.signal, TYPES.get(column.type, pa.float64()), nullable=False, metadata=facts)


def read_parquet(path: Path) -> Trace:
    """Read a trace that `ParquetWriter` or a similar tool wrote.

    Raises
    ------
    UnreadableTrace
        It is not a Parquet file, or its first column is not `time`.
    """
    try:
        refuse_repeats(path, pq.read_schema(path).names)
        table = pq.ParquetFile(path).read()
    except pa.ArrowException as error:
        raise UnreadableTrace(path, str(error)) from None
    if not table.column_names or table.column_names[0] not in TIME_NAMES:
        raise UnreadableTrace(path, f"the first column must be 'time', found {table.column_names[:1]}")
    columns = [_column(field) for field in list(table.schema)[1:]]
    # By place: to find one of thousands of columns by its name is to look at all of them.
    values = (_values(path, one, column) for one, column in zip(columns, table.columns[1:], strict=True))
    return Trace.of(table[0].to_numpy(), zip(columns, values, strict=True))


def _values(path: Path, column: Column, found: Any) -> Any:
    if found.null_count and not column.real:
        raise UnreadableTrace(path, f"column {column.signal} lacks {found.null_count} values")
    values = found.to_pylist() if column.type in NUMBERED else found.to_numpy()
    expected = {"f"} if column.real else {"b", "i", "u"}
    if column.type not in NUMBERED and values.dtype.kind not in expected | {"i", "u"}:
        raise UnreadableTrace(path, f"column {column.signal} has values of type {found.type}, not {column.type}")
    return values


_NAMES = {type: name for name, type in TYPES.items() if name != "Enumeration"} | {
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
