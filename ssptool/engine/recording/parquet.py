"""Traces as Apache Parquet: the file is complete after every group of rows."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]

from ssptool.documents.foreign_files import require_file
from ssptool.engine.recording.foreign_tables import NO_TIMES, column_named, is_time, read_times
from ssptool.engine.recording.patterns import chosen
from ssptool.engine.recording.writer import FootedFile, News, Patience, Writer, refuse_repeats
from ssptool.engine.trace import (
    BYTES,
    NUMBERED,
    TEXT,
    Column,
    Floats,
    StringTable,
    Trace,
    facts_of,
    met,
    time_name,
    values_of,
)
from ssptool.errors import UnusableFile, WrongUsage
from ssptool.foreign_text import json_content

MAGIC = b"PAR1"

TYPES = {
    "Boolean": pa.bool_(),
    "Float32": pa.float32(),
    "Enumeration": pa.int64(),
    TEXT: pa.string(),
    BYTES: pa.large_binary(),
} | {f"{sign}Int{bits}": getattr(pa, f"{sign.lower()}int{bits}")() for sign in ("", "U") for bits in (8, 16, 32, 64)}
"""Types of columns, by the types of their signals; all others are doubles."""

_PLAIN = "Float64"
_TILE = 256
"""Rows that are converted to columns at once, so that their cells stay in the cache."""

_PAD = 8
"""Padding between two columns: at distances that are powers of two, they would compete for the same cache lines."""


class Columns:
    """Rows of cells as columns, up to a limited number.

    Parameters
    ----------
    contents
        String table of columns of strings and bytes, which may grow.
    """

    def __init__(self, types: Sequence[str], schema: Any, contents: StringTable) -> None:
        self._types = types
        self._schema = schema
        self._contents = contents
        self._cells: Floats = np.empty((len(types), 0))
        self._views: list[Any] = []
        self.count = 0

    @property
    def space(self) -> int:
        """Free space, in rows."""
        return len(self._cells[0]) - self.count

    def make_space(self, rows: int) -> None:
        """Allocate space for at least this number of rows; must be empty."""
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
        """Add rows, no more than there is space for."""
        for first in range(0, len(rows), _TILE):
            tile = rows[first : first + _TILE]
            self._cells[:, self.count : self.count + len(tile)] = tile.T
            self.count += len(tile)

    def table(self, first: int, count: int) -> Any:
        """The first rows as a table, valid until they are overwritten."""
        arrays = [
            _array(self._cells[place, first : first + count], self._types[place], self._contents)
            if view is None
            else view.slice(first, count)
            for place, view in enumerate(self._views)
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def repeating(self, count: int) -> list[str]:
        """Columns worth compressing: numbers that are mostly constant, and everything that is not a double."""
        distance = max(1, count // _SAMPLES)
        bits = self._cells[:, :count].view(np.int64)
        before = bits[:, : count - 1 : distance]
        same = np.count_nonzero(before == bits[:, 1::distance][:, : before.shape[1]], axis=1)
        names = zip(self._schema.names, self._types, same.tolist(), strict=True)
        return [name for name, kind, same in names if kind != _PLAIN or 2 * same > before.shape[1]]


_SAMPLES = 64
"""Number of pairs of consecutive values that are compared to decide whether a column is mostly constant."""


def _array(cells: Floats, kind: str, contents: StringTable) -> Any:
    """A column as an array of Arrow."""
    if kind in NUMBERED:
        values, places = met(cells.view(np.int64), kind, contents)
        return pa.array(values, type=TYPES[kind]).take(pa.array(places))
    return pa.array(np.ascontiguousarray(values_of(cells, kind)), safe=False)


class Encoder:
    """Encoder of tables with one schema as groups of rows.

    Each string or byte sequence is stored once per group, numbers as they are. Minimum and maximum are stored for times
    only. Only repeating columns are compressed: varying numbers have 52 random bits each, and compressing them would
    take longer than everything else. The compression is snappy, which every reader supports.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        texts = [field.name for field in schema if field.type in (TYPES[TEXT], TYPES[BYTES])]
        self._options = {
            "use_dictionary": texts or False,
            "write_statistics": [schema[0].name],
            "write_batch_size": 1 << 20,  # number of values per pass through layers with a fixed cost
        }

    def empty(self, metadata: dict[bytes, bytes]) -> Any:
        """Footer without groups."""
        schema = self._schema.with_metadata(metadata)
        writer = pq.ParquetWriter(pa.BufferOutputStream(), schema, **self._options)
        writer.close()
        return writer.writer.metadata

    def encode(self, table: Any, compressed: Sequence[str], offset: int, take: Callable[[bytes], None]) -> Any:
        """Pass the bytes of a group for this offset of a file to `take`, and return the metadata that refer to it."""
        sink = _Sink(take)
        file = pa.BufferedOutputStream(pa.PythonFile(sink, mode="w"), _BUFFER)
        compression = dict.fromkeys(compressed, "snappy") or "none"
        options = {**self._options, "compression": compression, "store_schema": False}
        with pq.ParquetWriter(file, table.schema, **options) as writer:
            missing = offset - len(MAGIC)
            while missing > 0:
                # The writer takes offsets from the byte count of this file.
                part = _NOTHING.slice(0, min(missing, _NOTHING.size))
                file.write(part)
                missing -= part.size
            file.flush()
            with sink:
                writer.write_table(table)
                file.flush()
        return writer.writer.metadata


_BUFFER = 1 << 18
"""Bytes that are passed to Python at once."""

# Zeros that replace the part of the file that is already written; their pages are never touched.
_NOTHING = pa.py_buffer(np.zeros(1 << 26, dtype=np.uint8))


class _Sink:
    """Sink that passes on only bytes written within its context, without the start and the end of a file."""

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


GROUP_VALUES = 1 << 18
"""Number of values at which a group of rows is written."""

GROUP_ROWS = 4096
"""Smallest number of rows in such a group: each column takes some microseconds, and space in all later footers."""

FOOTERS = 32
"""Smallest ratio of a group to its footer. A byte of the footer takes longer to write than one of the group, and the
footer grows with the number of groups.
"""

MOST_VALUES, FEW_ROWS = 1 << 24, 1024
"""Largest number of values of a group (128 MiB of memory), unless it would have too few rows."""

MANIFEST = b"ssptool"
"""Key of the manifest in the metadata of the file."""

_HEADER = 64  # approximate header of a column [byte]


MOST_ACTIONS = 32
"""Largest number of actions that wait for a group to be written, because the memory that they free is still in use."""


class ParquetWriter(Writer):
    """Writer of groups of rows, each with a new footer that overwrites the old one.

    A Parquet file ends with a footer and cannot be read without it. So a file that is written in the usual way is lost
    if its writer is killed. Here each group is written together with a footer for all groups so far.

    References
    ----------
    Apache Parquet, "File format": row groups are found by absolute offsets, so the bytes between them do not matter.
    """

    def __init__(self, path: Path, columns: Sequence[Column], contents: StringTable, files: ExitStack) -> None:
        schema = pa.schema([_time([column.signal for column in columns]), *map(_field, columns)])
        bare = pa.schema([field.remove_metadata() for field in schema])
        self._width = len(schema)
        self._columns = Columns(("Float64", *(column.type for column in columns)), bare, contents)
        self._groups, self._footers = Encoder(bare), Encoder(schema)
        self._footer: Any = self._footers.empty({})
        file = files.enter_context(path.open("wb", buffering=0))
        self._file = FootedFile(file, MAGIC, _serialized(self._footer))
        self._actions: list[Callable[[], None]] = []
        self._patience = Patience()

    def write(self, rows: Floats) -> None:
        while len(rows):
            if not self._columns.count:
                self._columns.make_space(self._rows_of_group())
            taken = rows[: self._columns.space]
            self._columns.add(taken)
            if not self._columns.space:
                self._write_group()
            rows = rows[len(taken) :]
        if self._patience.over:
            self._write_group()

    def when_written(self, action: Callable[[], None]) -> None:
        self._actions.append(action)
        if len(self._actions) >= MOST_ACTIONS or not self._columns.count:
            self._write_group()

    def close(self, manifest: str) -> None:
        self._write_group()
        footer = self._footers.empty({MANIFEST: manifest.encode()})
        footer.append_row_groups(self._footer)
        encoded = _serialized(footer)
        self._file.begin(len(encoded))
        self._file.finish(encoded)

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
        # The first call loads libraries.
        self._patience.renew(0.0 if first else thread_time() - began)

    def _write_rows(self, first: int, count: int) -> None:
        """Write rows of the present columns as a group; if that fails, the file is unchanged."""
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
        """Write as many of the first `count` rows as fit."""
        first, part = 0, count
        while part > 1:
            part //= 2
            with suppress(OSError):
                self._write_rows(first, part)
                first += part


def _serialized(footer: Any) -> bytes:
    """Serialized metadata, as at the end of a file."""
    buffer = io.BytesIO()
    footer.write_metadata_file(buffer)
    return buffer.getvalue()[len(MAGIC) :]


def _time(signals: Sequence[str]) -> Any:
    return pa.field(time_name(signals), pa.float64(), nullable=False, metadata={"unit": "s", "type": "Float64"})


def _field(column: Column) -> Any:
    kind = TYPES.get(column.type, pa.float64())
    return pa.field(column.signal, kind, nullable=False, metadata=facts_of(column))


def read_parquet(path: Path) -> Trace:
    """Read a trace that `ParquetWriter` or a similar tool wrote.

    Raises
    ------
    UnusableFile
        The file is not a Parquet file, or its first column is not `time`.
    """
    require_file(path)
    with _readable(path):
        refuse_repeats(path, pq.read_schema(path).names)
        return trace_of_table(path, pq.ParquetFile(path).read())


def trace_of_table(path: Path, table: Any) -> Trace:
    """The trace in a table of Arrow from this file. Raises UnusableFile."""
    time, columns = _columns(path, table.schema)
    # By index: finding a column by its name would search thousands of columns.
    others = [column for place, column in enumerate(table.columns) if place != time]
    values = (_values(path, one, column) for one, column in zip(columns, others, strict=True))
    return Trace.of(_times(path, table, time), zip(columns, values, strict=True))


def _columns(path: Path, schema: Any) -> tuple[int, list[Column]]:
    """Index of the time column, and the other columns. Raises UnusableFile.

    pandas writes the index of a frame after its columns.
    """
    names = schema.names
    time = (
        0 if names and is_time(names[0]) else next((place for place, name in enumerate(names) if is_time(name)), None)
    )
    if time is None:
        raise UnusableFile(path, f"one column {NO_TIMES}; found {', '.join(names[:4]) or 'none'}")
    return time, [_column(field) for place, field in enumerate(schema) if place != time]


def _times(path: Path, table: Any, place: int) -> Floats:
    unit = (table.schema.field(place).metadata or {}).get(b"unit", b"").decode()
    return read_times(path, table.column_names[place], table[place].to_numpy(), unit)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert errors of Arrow and of decoding, which concern the content; those of the operating system have an
    errno.
    """
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, WrongUsage) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise UnusableFile(path, str(error)) from None


def _values(path: Path, column: Column, found: Any) -> Any:
    if found.null_count and not column.real:
        raise UnusableFile(path, f"column {column.signal} lacks {found.null_count} values")
    values = found.to_pylist() if column.type in NUMBERED else found.to_numpy()
    expected = {"f"} if column.real else {"b", "i", "u"}
    if column.type not in NUMBERED and values.dtype.kind not in expected | {"i", "u"}:
        raise UnusableFile(path, f"column {column.signal} has values of type {found.type}, not {column.type}")
    return values


_NAMES = {type: name for name, type in TYPES.items() if name != "Enumeration"} | {
    pa.large_string(): TEXT,
    pa.binary(): BYTES,
}


def _column(field: Any) -> Column:
    facts = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    return column_named(field.name, _NAMES.get(field.type, "Float64"), facts)


def read_manifest(path: Path) -> Mapping[str, Any]:
    """Manifest of the run in the file; empty if the run was interrupted."""
    require_file(path)
    with _readable(path):
        text = (pq.read_schema(path).metadata or {}).get(MANIFEST, b"{}")
    manifest: Mapping[str, Any] = json_content(text)
    return manifest


class ParquetTail:
    """Reader of a Parquet file that a run is writing: each group of rows is read once.

    Parameters
    ----------
    patterns
        Patterns of the signals to read; none: all. The first look at the file raises UnknownName if a pattern matches
        nothing.

    Notes
    -----
    The file ends with a footer, except while a run is writing it. So a file without a footer is damaged only if it is
    unchanged at the next look.
    """

    def __init__(self, path: Path, patterns: Sequence[str] = ()) -> None:
        self._path = path
        self._patterns = patterns
        self._damaged: tuple[int, int, int] | None = None
        self._schema: Any = None
        self._groups: list[tuple[int, int, int]] = []

    def read(self) -> News:
        identity = None
        try:
            require_file(self._path)
            status = self._path.stat()
            if not status.st_size:  # it has just been opened
                return News(replaced=self._forget())
            identity = status.st_ino, status.st_size, status.st_mtime_ns
            with _readable(self._path), pq.ParquetFile(self._path) as file:
                news = self._news(file)
        except FileNotFoundError:
            return News(replaced=self._forget())
        except UnusableFile:
            if identity == self._damaged:
                raise
            self._damaged = identity
            return News()
        return news

    def _forget(self) -> bool:
        """Drop all rows, because they belong to another file; returns true if there were any."""
        known, self._schema, self._groups = self._schema, None, []
        return known is not None

    def _news(self, file: Any) -> News:
        schema = file.schema_arrow
        groups = [_identity(file.metadata.row_group(number)) for number in range(file.metadata.num_row_groups)]
        known = len(self._groups)
        replaced = self._schema is not None and not (self._schema.equals(schema) and groups[:known] == self._groups)
        if replaced:
            self._forget()
            known = 0
        time, columns = _columns(self._path, schema)
        refuse_repeats(self._path, schema.names)
        places = chosen(self._patterns, columns)
        end, count = known, 0
        while end < len(groups) and count * len(schema) < MOST_VALUES:
            count += groups[end][0]
            end += 1
        table = file.read_row_groups(list(range(known, end)))
        picked = [(columns[place], table[place + (place >= time)]) for place in places]
        values = [_values(self._path, column, found) for column, found in picked]
        manifest = json_content((schema.metadata or {}).get(MANIFEST, b"{}")) if end == len(groups) else {}
        if not isinstance(manifest, Mapping):
            raise UnusableFile(self._path, "the description of its run is not a JSON object")
        self._schema, self._groups = schema, groups[:end]
        kept = tuple(column for column, _ in picked)
        return News(True, kept, _times(self._path, table, time), values, replaced, manifest, end < len(groups))


def _identity(group: Any) -> tuple[int, int, int]:
    """Rows, bytes and offset of a group, which do not change when the file grows."""
    return group.num_rows, group.total_byte_size, group.column(0).data_page_offset
