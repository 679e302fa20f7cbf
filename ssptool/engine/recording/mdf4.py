"""Traces as MDF 4.1 (measured data, ASAM): one channel group with the time as its master, which grows row by row.

Files of other tools, with compression, conversions and many groups, are read by asammdf. Files of `Mdf4Writer` have one
layout, which this module reads itself: strings and bytes keep their lengths, and sizes in a damaged file are checked
against the file size.

A record has the time and the values of all columns. If there are columns of strings or bytes, all records start with a
number: 1 for rows, and 2, 3, … for the columns of strings or bytes, whose records follow the record of their row.

References
----------
ASAM MDF 4.1, "Measurement Data Format", blocks ID, HD, FH, DG, CG, CN, TX, MD and DT.
"""

import re
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from html import escape, unescape
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.documents.foreign_files import require_file
from ssptool.engine.recording.writer import Writer, append, change, put, refuse_repeats
from ssptool.engine.trace import (
    BYTES,
    NUMBERED,
    TEXT,
    Column,
    Floats,
    StringTable,
    Trace,
    column_with,
    facts_of,
    from_content,
    machine_type,
    time_name,
    values_of,
)
from ssptool.errors import UnusableFile, missing_extra
from ssptool.foreign_text import json_content, json_text

_PROGRAM = b"ssptool "
"""Name of the program that wrote the file, in the first block."""

_PROPERTY = "ssptool"
"""Property in comments: the comment of the file has the manifest, that of a channel the facts about its column."""

_ID = struct.Struct("<8s8s8s4xH34x")
_HEAD = struct.Struct("<4s4xQQ")
_LINK = struct.Struct("<Q")
_FILE = struct.Struct("<QhhBBBxdd")
_HISTORY = struct.Struct("<QhhB3x")
_DATA_GROUP = struct.Struct("<B7x")
_GROUP = struct.Struct("<QQHH4xII")
_CHANNEL = struct.Struct("<BBBBIIIIBxH6d")
_RECORD, _LENGTH = struct.Struct("<I"), struct.Struct("<I")
_UTC, _OF_VARIABLE_LENGTH = 2, 1
_FIXED, _VARIABLE, _MASTER = 0, 1, 2
_TIME = 1
_DATA_TYPES = {"u": 0, "b": 0, "i": 2, "f": 4, TEXT: 7, BYTES: 10}


class Mdf4Writer(Writer):
    """Writer of rows as they arrive; the number of rows is updated after them."""

    def __init__(self, path: Path, columns: Sequence[Column], contents: StringTable, files: ExitStack) -> None:
        every = (Column(time_name([column.signal for column in columns]), "s"), *columns)
        self._columns, self._contents = every, contents
        self._record = _record_type(every)
        self._numbered = [place for place, column in enumerate(every) if column.type in NUMBERED]
        self._plain = all(column.type == "Float64" for column in every)
        self._rows = 0
        self._lengths = np.zeros(len(self._numbered), np.uint64)
        self._file = files.enter_context(path.open("wb", buffering=0))
        layout = _Layout(every, len(self._numbered))
        put(self._file, layout.content)
        self._data, self._counts, self._comment = layout.data, layout.counts, layout.comment

    def write(self, rows: Floats) -> None:
        lengths = self._lengths.copy()
        content = np.ascontiguousarray(rows, "<f8").tobytes() if self._plain else self._records(rows, lengths)
        append(self._file, content)
        self._lengths = lengths
        self._rows += len(rows)
        end = self._file.tell()
        change(self._file, self._data + 8, _LINK.pack(end - self._data))
        for place, at in enumerate(self._counts):
            change(self._file, at, _LINK.pack(self._rows))
            if place:  # column of strings or bytes: the total of bytes is stored instead of a record size
                change(self._file, at + 16, _LINK.pack(int(lengths[place - 1])))

    def close(self, manifest: str) -> None:
        place = -(-self._file.tell() // 8) * 8
        append(self._file, bytes(place - self._file.tell()) + _comment("HDcomment", "", manifest))
        change(self._file, self._comment, _LINK.pack(place))

    def _records(self, rows: Floats, lengths: NDArray[np.uint64]) -> bytes:
        """Records of rows; `lengths`, the total of the strings and bytes of each column so far [byte], are updated."""
        records = np.zeros(len(rows), self._record)
        if self._numbered:
            records["record"] = 1
        followers: list[list[bytes]] = []
        for place, column in enumerate(self._columns):
            cells = rows[:, place]
            if column.type not in NUMBERED:
                records[f"{place}"] = values_of(cells, column.type)
                continue
            number = len(followers)
            texts = [self._contents[one] for one in cells.view(np.int64).tolist()]
            sizes = np.array([_LENGTH.size + len(text) for text in texts], np.uint64)
            ends = lengths[number] + np.cumsum(sizes, dtype=np.uint64)
            records[f"{place}"] = ends - sizes
            if len(rows):
                lengths[number] = ends[-1]
            followers.append([_RECORD.pack(2 + number) + _LENGTH.pack(len(text)) + text for text in texts])
        if not followers:
            return records.tobytes()
        own = (records[row : row + 1].tobytes() for row in range(len(rows)))
        return b"".join(part for row in zip(own, *followers, strict=True) for part in row)


def _record_type(columns: Sequence[Column]) -> np.dtype[Any]:
    """Fields of a record, named by column index; a string is the offset of its content among all contents."""
    kinds = [np.dtype(np.uint64) if one.type in NUMBERED else machine_type(one.type) for one in columns]
    fields: list[tuple[str, Any]] = [(f"{place}", kind.newbyteorder("<")) for place, kind in enumerate(kinds)]
    numbered = any(column.type in NUMBERED for column in columns)
    return np.dtype([("record", "<u4"), *fields] if numbered else fields)


class _Layout:
    """The blocks of a file before its data.

    Attributes
    ----------
    content
        Content of the file up to the data.
    data, comment
        Offsets of the data block, which is the last, and of the link to the comment of the file.
    counts
        Offsets of the numbers of records: of rows, then of each column of strings or bytes.
    """

    def __init__(self, columns: Sequence[Column], numbered: int) -> None:
        self._content = bytearray(_ID.pack(b"MDF     ", b"4.10    ", _PROGRAM, 410))
        now = time.time_ns()
        head = self._block(b"HD", 6, _FILE.pack(now, 0, 0, _UTC, 0, 0, 0.0, 0.0))
        history = self._block(b"FH", 2, _HISTORY.pack(now, 0, 0, _UTC))
        self._link(head, 1, history)
        self._link(history, 1, self._text(_comment("FHcomment", "Results of a run")))
        group = self._block(b"DG", 4, _DATA_GROUP.pack(_RECORD.size if numbered else 0))
        self._link(head, 0, group)
        record = _record_type(columns)
        size = record.itemsize - (_RECORD.size if numbered else 0)
        groups = [self._block(b"CG", 6, _GROUP.pack(1 if numbered else 0, 0, 0, 0, size, 0))]
        groups += [
            self._block(b"CG", 6, _GROUP.pack(2 + place, 0, _OF_VARIABLE_LENGTH, 0, 0, 0)) for place in range(numbered)
        ]
        self._link(group, 1, groups[0])
        for one, following in pairwise(groups):
            self._link(one, 0, following)
        self._channels(columns, record, groups)
        self.data = self._block(b"DT", 0, b"")
        self._link(group, 2, self.data)
        self.comment = _link_place(head, 5)
        self.counts = [_link_place(one, 6) + 8 for one in groups]
        self.content = bytes(self._content)

    def _channels(self, columns: Sequence[Column], record: np.dtype[Any], groups: list[int]) -> None:
        fields: Any = record.fields
        variable, last = iter(groups[1:]), 0
        shift = fields["0"][1]
        for place, column in enumerate(columns):
            kind, offset = fields[f"{place}"][:2]
            numbered = column.type in NUMBERED
            channel = self._block(b"CN", 8, _channel(place, column, kind, offset - shift))
            self._link(channel, 2, self._text(_block(b"TX", 0, _terminated(column.signal))))
            if numbered:
                self._link(channel, 5, next(variable))
            if column.unit is not None:
                self._link(channel, 6, self._text(_block(b"TX", 0, _terminated(column.unit))))
            facts = json_text({"signal": column.signal, **facts_of(column)})
            self._link(channel, 7, self._text(_comment("CNcomment", column.description, facts)))
            self._link(last or groups[0], 0 if last else 1, channel)
            last = channel

    def _block(self, name: bytes, links: int, content: bytes) -> int:
        return self._text(_block(name, links, content))

    def _text(self, block: bytes) -> int:
        place = len(self._content)
        self._content += block
        return place

    def _link(self, block: int, number: int, target: int) -> None:
        _LINK.pack_into(self._content, _link_place(block, number), target)


def _channel(place: int, column: Column, kind: np.dtype[Any], offset: int) -> bytes:
    """The fixed part of the block of a channel."""
    variable = column.type in NUMBERED
    sort = _VARIABLE if variable else _FIXED if place else _MASTER
    data = _DATA_TYPES[column.type if variable else kind.kind]
    return _CHANNEL.pack(sort, 0 if place else _TIME, data, 0, offset, 8 * kind.itemsize, 0, 0, 0, 0, *([0.0] * 6))


def _block(name: bytes, links: int, content: bytes) -> bytes:
    """A block without links; the next one starts at a multiple of eight bytes."""
    size = _HEAD.size + 8 * links + len(content)
    return _HEAD.pack(b"##" + name, size, links) + bytes(8 * links) + content + bytes(-size % 8)


def _link_place(block: int, number: int) -> int:
    return block + _HEAD.size + 8 * number


_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _terminated(text: str) -> bytes:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace") + b"\0"


def _comment(element: str, text: str, content: str = "") -> bytes:
    """An XML comment, with JSON of ssptool if there is any."""
    shown = escape(_NOT_IN_XML.sub("\ufffd", text))
    json = escape(_NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", content), quote=False)
    own = f'<common_properties><e name="{_PROPERTY}">{json}</e></common_properties>' if content else ""
    return _block(b"MD", 0, _terminated(f"<{element}><TX>{shown}</TX>{own}</{element}>"))


# -- reading ------------------------------------------------------------------------------------------------------


def read_mdf4(path: Path) -> Trace:
    """Read a trace from a file of `Mdf4Writer`, which may still grow, or with asammdf from a file of another tool.

    Raises
    ------
    UnusableFile
        The file is not MDF 4, or its channels have no common time, or values that a signal of a system cannot have.
    MissingPackage
        Another tool wrote the file, and asammdf is not installed.
    """
    require_file(path)
    content = path.read_bytes()
    if not _is_own(content):
        return _foreign_trace(path)
    with _readable(path):
        return _OwnFile(content).trace(path)


def read_manifest(path: Path) -> Mapping[str, Any]:
    """Manifest of the run in the file; empty if the run was interrupted or another tool wrote the file."""
    require_file(path)
    content = path.read_bytes()
    if not _is_own(content):
        return {}
    with _readable(path):
        text = _OwnFile(content).manifest
        manifest: Mapping[str, Any] = json_content(text) if text else {}
    return manifest


def _is_own(content: bytes) -> bool:
    return content.startswith(b"MDF     4.10    " + _PROGRAM)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (struct.error, ValueError, LookupError, TypeError) as error:
        raise UnusableFile(path, f"it is not an MDF 4 file of results: {error}") from None


class _Channel(NamedTuple):
    column: Column
    sort: int
    offset: int
    bits: int
    """Offset in the record [byte], and size."""


class _OwnFile:
    """Reader of a file of `Mdf4Writer`; raises ValueError and similar errors if it is damaged."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._head = _ID.size
        self._group = self._follow(self._head, 0, b"DG")
        (self._numbered,) = _DATA_GROUP.unpack(self._fixed(self._group, 4, _DATA_GROUP))
        self._first = self._follow(self._group, 1, b"CG")

    @property
    def manifest(self) -> str:
        place = self._link(self._head, 5)
        return self._property(place) if place else ""

    def trace(self, path: Path) -> Trace:
        channels = list(self._channels())
        columns = [channel.column for channel in channels]
        record = _record_type(columns)
        self._check(channels, record)
        data = self._follow(self._group, 2, b"DT")
        found = self._rows(memoryview(self._content)[data + _HEAD.size : self._end(data)], columns, record)
        refuse_repeats(path, [column.signal for column in columns[1:]])
        return Trace.of(found[0], zip(columns[1:], found[1:], strict=True))

    def _channels(self) -> Iterator[_Channel]:
        place = self._link(self._first, 1)
        while place:
            self._require(place, b"CN")
            sort, _, _, _, offset, bits, *_ = _CHANNEL.unpack(self._fixed(place, 8, _CHANNEL))
            facts = json_content(self._property(self._link(place, 7)))
            if not isinstance(facts, Mapping):
                raise ValueError("a channel is not described by an object")
            yield _Channel(column_with(facts["signal"], facts), sort, offset, bits)
            if (following := self._link(place, 0)) and following <= place:
                raise ValueError("channels do not follow one another")
            place = following

    def _check(self, channels: list[_Channel], record: np.dtype[Any]) -> None:
        """Check that the record layout fits the columns."""
        fields: Any = record.fields
        if not channels or channels[0].sort != _MASTER:
            raise ValueError("it has no time")
        shift = fields["0"][1]
        if self._numbered != shift:
            raise ValueError(f"numbers of records have {self._numbered} bytes, not {shift}")
        for place, channel in enumerate(channels):
            kind, offset = fields[f"{place}"][:2]
            if (channel.offset, channel.bits) != (offset - shift, 8 * kind.itemsize):
                raise ValueError(f"{channel.column.signal} is not where its type has it")

    def _rows(self, data: memoryview, columns: list[Column], record: np.dtype[Any]) -> list[Any]:
        numbered = [place for place, column in enumerate(columns) if column.type in NUMBERED]
        if not numbered:
            rows = np.frombuffer(data[: len(data) // record.itemsize * record.itemsize], record)
            return [rows[f"{place}"] for place in range(len(columns))]
        own: list[bytes] = []
        texts: list[list[Any]] = [[] for _ in numbered]
        for row, followers in _records(data, record.itemsize, len(numbered)):
            own.append(row)
            for place, text in enumerate(followers):
                texts[place].append(from_content(text, columns[numbered[place]].type))
        rows = np.frombuffer(b"".join(own), record)
        found: list[Any] = [rows[f"{place}"] for place in range(len(columns))]
        for place, values in zip(numbered, texts, strict=True):
            found[place] = values
        return found

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _require(self, place: int, name: bytes) -> tuple[int, int]:
        found, size, links = _HEAD.unpack_from(self._content, place)
        if found != b"##" + name:
            raise ValueError(f"at byte {place} is not a {name.decode()} block")
        return size, links

    def _end(self, place: int) -> int:
        """End of the block, which may lie beyond the end of a file that still grows."""
        size, _ = self._require(place, self._content[place + 2 : place + 4])
        return min(place + size, len(self._content))

    def _link(self, place: int, number: int) -> int:
        found: int = _LINK.unpack_from(self._content, _link_place(place, number))[0]
        return found

    def _follow(self, place: int, number: int, name: bytes) -> int:
        target = self._link(place, number)
        self._require(target, name)
        return target

    def _fixed(self, place: int, links: int, content: struct.Struct) -> bytes:
        start = _link_place(place, links)
        return self._content[start : start + content.size]

    def _property(self, place: int) -> str:
        """The JSON in a comment."""
        self._require(place, b"MD")
        text = self._content[place + _HEAD.size : self._end(place)].partition(b"\0")[0].decode()
        found = re.search(f'<e name="{_PROPERTY}">(.*)</e>', text, re.S)
        if found is None:
            raise ValueError(f"the comment at byte {place} lacks the property {_PROPERTY}")
        return unescape(found[1])


def _records(data: memoryview, size: int, numbered: int) -> Iterator[tuple[bytes, list[bytes]]]:
    """The record of each complete row, and the contents that follow it. Raises ValueError if records are out of
    order.
    """
    at = 0
    while at + size <= len(data):
        row, followers = bytes(data[at : at + size]), []
        if _RECORD.unpack_from(row)[0] != 1:
            raise ValueError(f"the record at byte {at} of the data is of no row")
        at += size
        for place in range(numbered):
            if at + _RECORD.size + _LENGTH.size > len(data):
                return
            number, length = *_RECORD.unpack_from(data, at), *_LENGTH.unpack_from(data, at + _RECORD.size)
            if number != 2 + place:
                raise ValueError(f"the record at byte {at} of the data has the number {number}, not {2 + place}")
            at += _RECORD.size + _LENGTH.size
            if at + length > len(data):
                return
            followers.append(bytes(data[at : at + length]))
            at += length
        yield row, followers


# -- files of other tools -----------------------------------------------------------------------------------------


def _foreign_trace(path: Path) -> Trace:
    try:
        from asammdf import MDF
    except ImportError:
        raise missing_extra("mdf4", "asammdf", path.name, "choose another format (.csv)") from None
    try:
        with MDF(path) as file:
            return _measured(path, file)
    except UnusableFile:
        raise
    except Exception as error:  # any error is possible, because asammdf does not check damaged files
        raise UnusableFile(path, f"asammdf cannot read it: {error}") from None


def _measured(path: Path, file: Any) -> Trace:
    """Trace of a file whose channels have common times."""
    if file.version < "4":
        raise UnusableFile(path, f"it is a file of MDF {file.version}; results are in version 4 (asammdf: convert)")
    places = [
        (number, place)
        for number, group in enumerate(file.groups)
        for place, channel in enumerate(group.channels)
        if place != file.masters_db.get(number) and channel.channel_type in (_FIXED, _VARIABLE)
    ]
    times: NDArray[Any] | None = None
    for number in dict.fromkeys(number for number, _ in places):
        found = _times(path, file, number)
        if times is not None and not np.array_equal(times, found):
            raise UnusableFile(path, f"its channels have different times; give them one: {_ONE_TIME}")
        times = found
    if times is None:
        raise UnusableFile(path, "it has no channels")
    signals = [file.get(group=number, index=place) for number, place in places]
    refuse_repeats(path, [signal.name for signal in signals])
    return Trace.of(times, [_column(path, signal) for signal in signals])


_ONE_TIME = "in Python, asammdf.MDF(file).resample(0.01).save(…)"


def _times(path: Path, file: Any, group: int) -> NDArray[Any]:
    master = file.masters_db.get(group)
    if master is None or file.groups[group].channels[master].sync_type != _TIME:
        raise UnusableFile(path, f"its channel group {group + 1} is not over time")
    found: NDArray[Any] = np.asarray(file.get_master(group), dtype=np.float64)
    return found


_KINDS = {
    np.dtype(kind): name for name, kind in (*((f"Int{8 * n}", f"i{n}") for n in (1, 2, 4, 8)), ("Boolean", "?"))
} | {np.dtype(f"u{n}"): f"UInt{8 * n}" for n in (1, 2, 4, 8)}


def _column(path: Path, signal: Any) -> tuple[Column, Any]:
    """A column and its values after the conversions of the file."""
    values = signal.samples
    bits = signal.invalidation_bits
    if bits is not None and np.any(np.asarray(bits)):
        raise UnusableFile(path, f"{signal.name} has values that are marked as invalid")
    if values.ndim != 1 or values.dtype.kind not in "fiubSU":
        raise UnusableFile(path, f"{signal.name} has values of type {values.dtype}, not numbers or texts")
    native = values.dtype.newbyteorder("=")
    kind = "Float32" if native == np.float32 else _KINDS.get(native, "Float64")
    found: Any = values
    if values.dtype.kind in "SU":
        kind = TEXT
        found = [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in values.tolist()]
    return Column(signal.name, signal.unit or None, kind, _shown(signal.comment or "")), found


def _shown(comment: str) -> str:
    """Text of a comment, which may be XML."""
    found = re.search("<TX[^>]*>(.*?)</TX>", comment, re.S)
    return unescape(found[1]) if found else comment if not comment.startswith("<") else ""
