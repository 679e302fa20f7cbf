"""Traces as HDF5: a dataset for each signal, in a file that is complete after every group of rows.

The time is the dataset `time`; signals follow in their order, as datasets with their names. Unit, type, description and
other facts about a signal are attributes of its dataset; the manifest is an attribute of the file.

References
----------
The HDF Group, "HDF5 File Format Specification Version 3.0": in the layouts of HDF5 1.10, which this module writes, all
metadata have check sums.
"""

import io
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from time import thread_time
from typing import Any
from zlib import crc32

import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
import numpy as np
from numpy.typing import NDArray

from ssptool.documents.foreign_files import require_file
from ssptool.engine.recording.foreign_tables import NO_TIMES, column_named, read_times, time_header
from ssptool.engine.recording.writer import Patience, Writer, append, put, refuse_repeats
from ssptool.engine.trace import (
    BYTES,
    FACTS,
    NUMBERED,
    NUMERIC_TYPES,
    TEXT,
    Column,
    Floats,
    StringTable,
    Trace,
    facts_of,
    machine_type,
    time_name,
    values_of,
)
from ssptool.errors import UnusableFile
from ssptool.foreign_text import json_content

MANIFEST = "ssptool"
"""Attribute of the file with the manifest."""

SIGNAL = "signal"
"""Attribute with the name of a signal that cannot be the name of a dataset."""

CHUNK_ROWS = 1024
"""Rows per chunk of a dataset: the smallest space of a signal in the file."""

GROUP_ROWS = 4096
"""Rows in memory before they are written: each dataset takes some tenths of a millisecond."""

_LAYOUTS = ("v110", "v110")
_TEXTS, _BYTES = h5py.string_dtype(), h5py.vlen_dtype(np.uint8)
_NUL = "\0"


class Hdf5Writer(Writer):
    """Writer of groups of rows; for HDF5, the file is closed after each group."""

    def __init__(self, path: Path, columns: Sequence[Column], contents: StringTable, files: ExitStack) -> None:
        time = Column(time_name([column.signal for column in columns]), "s")
        self._name = path.name
        self._columns = (time, *columns)
        self._links = _links(column.signal for column in self._columns)
        self._contents = contents
        self._cut: dict[str, None] = {}
        self._values = [np.empty(GROUP_ROWS, _stored_type(column)) for column in self._columns]
        self._count = self._written = 0
        self._patience = Patience()
        self._file = files.enter_context(path.open("w+b", buffering=0))
        with self._changed("w", track_order=True) as file:
            for link, column, values in zip(self._links, self._columns, self._values, strict=True):
                _begin(file, link, column, values.dtype)

    def write(self, rows: Floats) -> None:
        while len(rows):
            taken = rows[: GROUP_ROWS - self._count]
            self._add(taken)
            rows = rows[len(taken) :]
            if self._count == GROUP_ROWS or self._patience.over:
                self._write_group()

    def notes(self) -> tuple[str, ...]:
        if not self._cut:
            return ()
        return (
            f"{self._name} has texts of {', '.join(self._cut)} up to their first NUL: in HDF5 files it ends a text",
        )

    def close(self, manifest: str) -> None:
        self._write_group()
        with self._changed() as file:
            _tell(file, MANIFEST, manifest)

    def _add(self, rows: Floats) -> None:
        end = self._count + len(rows)
        for place, (column, values) in enumerate(zip(self._columns, self._values, strict=True)):
            found = values_of(rows[:, place], column.type, self._contents)
            if column.type in NUMBERED:
                found = self._objects(column, found)
            values[self._count : end] = found
        self._count = end

    def _objects(self, column: Column, found: NDArray[Any]) -> NDArray[Any]:
        """Strings and bytes as HDF5 expects them."""
        objects = np.empty(len(found), dtype=object)
        for row, value in enumerate(found):
            if column.type == BYTES:
                objects[row] = np.frombuffer(value, np.uint8)
            else:
                objects[row], nul, _ = value.partition(_NUL)
                if nul:
                    self._cut[column.signal] = None
        return objects

    def _write_group(self) -> None:
        count, self._count = self._count, 0
        if not count:
            return
        began = thread_time()
        try:
            self._append(0, count)
        except OSError:
            with suppress(OSError):
                for first in range(0, count, CHUNK_ROWS):  # write the rows that fit on the disk
                    self._append(first, min(first + CHUNK_ROWS, count))
            raise
        self._patience.renew(thread_time() - began)

    def _append(self, first: int, end: int) -> None:
        """Write these rows of the group; if that fails, the file is unchanged."""
        rows = self._written + end - first
        with self._changed() as file:
            for link, values in zip(self._links, self._values, strict=True):
                dataset = file[link].id
                dataset.set_extent((rows,))
                place = dataset.get_space()
                place.select_hyperslab((self._written,), (end - first,))
                dataset.write(h5py.h5s.create_simple((end - first,)), place, values[first:end])
        self._written = rows

    @contextmanager
    def _changed(self, mode: str = "r+", **options: Any) -> Iterator[Any]:
        """The file, opened by HDF5. When the context ends, either all changes are on disk or none."""
        changes = _Changes(self._file)
        with h5py.File(changes, mode, libver=_LAYOUTS, rdcc_nbytes=0, **options) as file:
            yield file
        changes.apply()


def _stored_type(column: Column) -> Any:
    return {TEXT: _TEXTS, BYTES: _BYTES}.get(column.type) or machine_type(column.type)


def _begin(file: Any, link: str, column: Column, kind: Any) -> None:
    dataset = file.create_dataset(link, (0,), kind, maxshape=(None,), chunks=(CHUNK_ROWS,))
    for name, fact in facts_of(column).items():
        _tell(dataset, name, fact)
    if link != column.signal:
        _tell(dataset, SIGNAL, column.signal)


def _tell(described: Any, name: str, text: str) -> None:
    """Write an attribute of fixed length, which has a check sum; one of variable length would be in a heap without
    check sums.
    """
    content = text.encode()
    described.attrs.create(name, content, dtype=h5py.string_dtype(length=max(1, len(content))))


def _links(signals: Iterator[str]) -> list[str]:
    """Unique names of datasets. A slash would create a nested group, and a dot alone means the group."""
    links: dict[str, None] = {}
    for signal in signals:
        link = "signal" if signal in ("", ".") else signal.replace("/", "∕").replace(_NUL, " ")
        while link in links:
            link += "′"
        links[link] = None
    return list(links)


class _Changes:
    """File object for HDF5 that collects changes in memory, so that HDF5 never writes to a full disk.

    Attributes
    ----------
    place
        Offset of the next byte that is read or written.
    size
        Size of the file with its changes [byte].
    """

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._before = self.size = os.fstat(file.fileno()).st_size
        self._pages: dict[int, bytearray] = {}
        self._behind = bytearray()
        self.place = 0

    def apply(self) -> None:
        """Write the changes: first the new part at the end, to which nothing in the file refers yet.

        For a moment, a journal of all other changes follows it, so that `_whole` can complete a file whose writer was
        killed.

        Raises
        ------
        OSError
            Writing failed; the file is unchanged.
        """
        parts = self._parts()
        journal = b"".join(_PART.pack(place, len(content)) + content for place, content in parts.items())
        self._file.seek(self._before)
        append(self._file, self._behind + journal + _JOURNAL.pack(len(journal), crc32(journal), _JOURNAL_END))
        for place, content in parts.items():
            self._file.seek(place)
            put(self._file, content)
        self._file.truncate(self.size)

    def _parts(self) -> dict[int, bytearray]:
        """Changed parts of the file by offset; consecutive pages form one part."""
        parts: dict[int, bytearray] = {}
        start = end = -1
        for number, content in sorted(self._pages.items()):
            if number * _PAGE != end:
                start = number * _PAGE
                parts[start] = bytearray()
            parts[start] += content
            end = start + len(parts[start])
        return parts

    # -- file interface ------------------------------------------------------------------------------------------

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.place, os.SEEK_END: self.size}[whence]
        return self.place

    def tell(self) -> int:
        return self.place

    def read(self, count: int = -1) -> bytes:
        content = bytearray(self.size - self.place if count < 0 else count)
        return bytes(content[: self.readinto(content)])

    def readinto(self, target: Any) -> int:
        view = memoryview(target).cast("B")
        view = view[: max(0, min(len(view), self.size - self.place))]
        inside = self._inside(len(view))
        if inside:
            view[:inside] = self._read_before(self.place, inside)
        for content, here, there in self._changed_parts(inside):
            view[there] = content[here]
        behind = self.place + inside - self._before
        view[inside:] = self._behind[behind : behind + len(view) - inside]
        self.place += len(view)
        return len(view)

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        inside = self._inside(len(view))
        for number in _pages(self.place, inside):
            if number not in self._pages:
                length = min(_PAGE, self._before - number * _PAGE)
                self._pages[number] = bytearray(self._read_before(number * _PAGE, length))
        for page, here, there in self._changed_parts(inside):
            page[here] = view[there]
        if inside < len(view):
            self.truncate(max(self.size, self.place + len(view)))
            behind = self.place + inside - self._before
            self._behind[behind : behind + len(view) - inside] = view[inside:]
        self.place += len(view)
        return len(view)

    def truncate(self, size: int) -> int:
        self.size = size
        length = max(0, size - self._before)
        self._behind.extend(bytes(max(0, length - len(self._behind))))
        del self._behind[length:]
        return size

    def flush(self) -> None:
        pass

    def _read_before(self, offset: int, count: int) -> bytes:
        """Bytes of the file before its changes."""
        self._file.seek(offset)
        return self._file.read(count)

    def _inside(self, count: int) -> int:
        """Number of bytes, of `count` from the present offset, that lie inside of the unchanged file."""
        return max(0, min(count, self._before - self.place))

    def _changed_parts(self, count: int) -> Iterator[tuple[bytearray, slice, slice]]:
        """Changed pages within `count` bytes from the present offset: content, part of it, and its position in the
        bytes.
        """
        for number in _pages(self.place, count) if self._pages else ():
            if (content := self._pages.get(number)) is not None:
                start = number * _PAGE
                first, end = max(self.place, start), min(self.place + count, start + len(content))
                yield content, slice(first - start, end - start), slice(first - self.place, end - self.place)


_PAGE = 512
"""Size of a page, the unit of changes [byte]."""

_PART = struct.Struct("<QQ")
"""Header of each part of a journal: its offset in the file, and its length [byte]."""

_JOURNAL, _JOURNAL_END = struct.Struct("<QI12s"), b"\0ssptool\0end"
"""End of a journal: its length [byte] and check sum."""


def _whole(content: bytes) -> bytes:
    """Content of a file after the changes in the journal at its end, if it has one."""
    if not content.endswith(_JOURNAL_END):
        return content
    length, check, _ = _JOURNAL.unpack(content[-_JOURNAL.size :])
    start = len(content) - _JOURNAL.size - length
    if start < 0 or crc32(journal := content[start : -_JOURNAL.size]) != check:
        return content
    whole, place = bytearray(content[:start]), 0
    while place < length:
        target, size = _PART.unpack_from(journal, place)
        place += _PART.size + size
        whole[target : target + size] = journal[place - size : place]
    return bytes(whole)


def _pages(place: int, count: int) -> range:
    return range(place // _PAGE, -(-(place + count) // _PAGE) if count else place // _PAGE)


def read_hdf5(path: Path) -> Trace:
    """Read a trace from the datasets of a file that `Hdf5Writer` or a similar tool wrote.

    Raises
    ------
    UnusableFile
        The file is not an HDF5 file, has no dataset `time`, or others of another length.
    """
    with _opened(path) as file:
        return _trace(path, file)


def read_manifest(path: Path) -> Mapping[str, Any]:
    """Manifest of the run in the file; empty if the run was interrupted."""
    with _opened(path) as file:
        text = _text(file.attrs.get(MANIFEST, "{}"))
        if not isinstance(text, str):
            raise UnusableFile(path, f"its attribute {MANIFEST} is not text")
        manifest: Mapping[str, Any] = json_content(text)
    return manifest


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file; errors of HDF5 refer to its content, because it was read before."""
    require_file(path)
    content = _whole(_between_writes(path))
    try:
        _check_heaps(content)
        with h5py.File(io.BytesIO(content), "r") as file:
            yield file
    except (OSError, RuntimeError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise UnusableFile(path, f"it is not an HDF5 file of results: {error}") from None


_HEAP, _HEAP_HEADER, _HEAP_OBJECT = b"GCOL\1\0\0\0", struct.Struct("<8xQ"), struct.Struct("<HHxxxxQ")


def _check_heaps(content: bytes) -> None:
    """Raise ValueError if the parts of a heap of strings and bytes are not consecutive: HDF5 2.0 would loop for ever in
    such a heap.
    """
    start = content.find(_HEAP)
    while start >= 0:
        size = _HEAP_HEADER.unpack_from(content[start : start + _HEAP_HEADER.size].ljust(_HEAP_HEADER.size, b"\0"))[0]
        place, end = start + _HEAP_HEADER.size, min(start + size, len(content))
        while place + _HEAP_OBJECT.size <= end:
            number, _, length = _HEAP_OBJECT.unpack_from(content, place)
            if number == 0 and length != end - place:
                raise ValueError(f"the heap at byte {start} is damaged")
            place += length if number == 0 else _HEAP_OBJECT.size + -(-length // 8) * 8
        if place > end:
            raise ValueError(f"the heap at byte {start} is damaged")
        start = content.find(_HEAP, max(place, start + 1))


def _between_writes(path: Path) -> bytes:
    """The bytes of a file that a run may be writing."""
    content = b""
    for _ in range(_LOOKS):
        before = path.stat()
        content = path.read_bytes()
        after = path.stat()
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            break
    return content


_LOOKS = 10
"""Number of attempts to read a file that changes while it is read."""


def _trace(path: Path, file: Any) -> Trace:
    names = list(file)
    time = time_header(names)
    if time is None:
        raise UnusableFile(path, f"one dataset {NO_TIMES}; found {', '.join(names[:4]) or 'none'}")
    times = _dataset(path, file, time)
    found = [_dataset(path, file, name) for name in names if name != time]
    columns = [_column(path, dataset) for dataset in found]
    refuse_repeats(path, [column.signal for column in columns])
    for dataset in (times, *found):
        _require_rows(path, dataset, times.shape[:1], file.id.get_filesize())
    values = [_values(path, column, dataset) for column, dataset in zip(columns, found, strict=True)]
    unit = _text(times.attrs.get("unit", times.attrs.get("units", "")))  # netCDF calls it units
    moments = read_times(path, time, _values(path, _column(path, times), times), str(unit))
    return Trace.of(moments, zip(columns, values, strict=True))


def _dataset(path: Path, file: Any, name: str) -> Any:
    """The dataset of this name. Raises UnusableFile if it is not a dataset, or has its values in another file."""
    if isinstance(file.get(name, getlink=True), h5py.HardLink) and isinstance(dataset := file[name], h5py.Dataset):
        if not dataset.is_virtual and not dataset.external:
            return dataset
        raise UnusableFile(path, f"the values of {name} are in other files")
    raise UnusableFile(path, f"{name} is not a dataset: all signals must be datasets, like the time")


_MOST_PACKED = 1100
"""Largest compression ratio of a dataset (deflate: 1032)."""


def _require_rows(path: Path, dataset: Any, shape: tuple[int, ...], size: int) -> None:
    """Raise UnusableFile if a dataset has another shape than (n,) of the times, or more values than such a file can
    contain.
    """
    name = dataset.name.removeprefix("/")
    if dataset.shape != shape:
        raise UnusableFile(path, f"{name} has the shape {dataset.shape}, the time {shape}")
    packed = _MOST_PACKED if dataset.id.get_create_plist().get_nfilters() else 1
    if dataset.nbytes > packed * min(size, dataset.id.get_storage_size()):
        raise UnusableFile(path, f"{name} declares {dataset.size} values, more than are in the file")


_KINDS = {machine_type(kind): kind for kind in sorted(NUMERIC_TYPES - {"Enumeration"})}


def _column(path: Path, dataset: Any) -> Column:
    facts = {name: _text(dataset.attrs[name]) for name in (*FACTS, SIGNAL) if name in dataset.attrs}
    signal = facts.pop(SIGNAL, dataset.name.removeprefix("/"))
    kind = TEXT if h5py.check_string_dtype(dataset.dtype) else _KINDS.get(dataset.dtype.newbyteorder("="), "Float64")
    if h5py.check_vlen_dtype(dataset.dtype) == np.uint8:
        kind = BYTES
    return column_named(signal, kind, facts)


def _text(value: Any) -> Any:
    """Value of an attribute; other tools write strings of fixed length, which are read as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _values(path: Path, column: Column, dataset: Any) -> Any:
    found = dataset.dtype
    if column.type == TEXT and h5py.check_string_dtype(found):
        return dataset.asstr("utf-8", errors="replace")[:]
    if column.type == BYTES and h5py.check_vlen_dtype(found) == np.uint8:
        return [value.tobytes() for value in dataset[:]]
    if column.type in NUMBERED or found.kind not in ("fiu" if column.real else "biu"):
        raise UnusableFile(path, f"{column.signal} has values of type {found}, not {column.type}")
    return dataset[:]
