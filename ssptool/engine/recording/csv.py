"""Traces as CSV: `time` first, one column per signal. A JSON file next to it holds facts that CSV cannot represent."""

import csv
import io
import os
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ssptool.documents.csv_columns import (
    CsvForm,
    allow_fields_of,
    bracketed,
    labelled,
    left_out,
    sidecar,
)
from ssptool.documents.foreign_files import open_bytes, own_output, read_bytes, read_text, write_beside
from ssptool.engine.recording.foreign_tables import NO_TIMES, is_time, read_times
from ssptool.engine.recording.patterns import chosen
from ssptool.engine.recording.writer import News, Writer, put, refuse_repeats
from ssptool.engine.trace import (
    BYTES,
    NUMBERED,
    REAL_TYPES,
    TEXT,
    Column,
    Floats,
    StringTable,
    Trace,
    column_of,
    from_content,
    holds_integer,
    machine_type,
    time_name,
    values_of,
)
from ssptool.errors import UnusableFile, counted
from ssptool.foreign_text import json_content, json_text, one_line, reads_as_number

try:
    from ssptool.engine.recording._text import csv as _csv
except ImportError:
    NATIVE = False
else:
    NATIVE = True


class Lines:
    """Converter of rows (k, n) of cells of these types to lines of comma-separated values.

    Numbers have the fewest digits that read back to the same bits. A Boolean is 0 or 1. Strings are in quotes, which
    are doubled inside. Bytes are in quotes, as two hexadecimal digits each.

    Parameters
    ----------
    contents
        String table of the columns of strings and bytes.
    """

    def __init__(self, types: Sequence[str], contents: StringTable = (b"",), *, native: bool = NATIVE) -> None:
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
            lines: bytes = _csv(np.ascontiguousarray(rows), self._kinds, self._written[TEXT], self._written[BYTES])
            return lines
        return self._plain(rows)

    def _renumbered(self, rows: Floats) -> Floats:
        """Rows in which strings and bytes are numbered among those of these rows, whose contents are prepared."""
        rows = rows.copy()
        for kind, places in self._places.items():
            used, ranks = np.unique(rows[:, places].view(np.int64), return_inverse=True)
            self._written[kind] = [_WRITE[kind](self._contents[number]) for number in used.tolist()]
            rows[:, places] = ranks.reshape(len(rows), len(places)).view(np.float64)
        return rows

    def _plain(self, rows: Floats) -> bytes:
        """Lines without native code, which is slower."""
        columns = [self._column(rows[:, place], kind) for place, kind in enumerate(self._types)]
        return b"".join(b",".join(row) + b"\n" for row in zip(*columns, strict=True))

    def _column(self, cells: Floats, kind: str) -> list[bytes]:
        if kind in NUMBERED:
            return [self._written[kind][number] for number in cells.view(np.int64).tolist()]
        # A Float32 is written with the digits of the double in its cell.
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


_UNFINISHED = "running"
"""Status in the JSON file of a run that has not ended."""


class CsvWriter(Writer):
    """Writer of rows to a CSV file, as they arrive.

    The first column is `time` [s], then one column per signal, with its unit: `System1.x1 [m]`. Cells are formatted as
    in `Lines`. The encoding is UTF-8, lines end with a line feed. The JSON file next to it describes the columns from
    the beginning, so that an interrupted run can also be read.
    """

    def __init__(self, path: Path, columns: Sequence[Column], contents: StringTable, files: ExitStack) -> None:
        self._path = path
        self._lines = Lines(["Float64", *(column.type for column in columns)], contents)
        own_output(sidecar(path))
        self._file = files.enter_context(path.open("wb", buffering=0))
        put(self._file, _header(columns).encode())
        facts = {"status": _UNFINISHED, "columns": [asdict(column) for column in columns]}
        write_beside(sidecar(path), json_text(facts))

    def write(self, rows: Floats) -> None:
        put(self._file, self._lines.of(rows))

    def close(self, manifest: str) -> None:
        write_beside(sidecar(self._path), manifest)


def _header(columns: Sequence[Column]) -> str:
    """The header line. Names with blanks at their ends are also in quotes, because readers skip blanks around values.

    Invisible characters are written as escapes; the JSON file has the original names.
    """
    signals = [column.signal for column in columns]
    names = [time_name(signals), *(one_line(labelled(column.signal, column.unit)) for column in columns)]
    blank = any(name != name.strip() for name in names)
    line = io.StringIO()
    csv.writer(line, lineterminator="\n", quoting=csv.QUOTE_ALL if blank else csv.QUOTE_MINIMAL).writerow(names)
    return line.getvalue()


def read_csv(path: Path) -> Trace:
    """Read a trace that `CsvWriter` or a similar tool wrote.

    Values are separated by commas, semicolons, tabs, or the separator in a first line `sep=`. Blanks around them, empty
    lines and a byte order mark are skipped. Numbers may have decimal commas.

    The last row counts with and without a line end. It is left out if values are missing or it ends inside a value;
    also if it has no line end in the file of an unfinished run, whose rows all have one. `Trace.assumptions` names this
    row, and decimal commas.

    Units are those in the header (`speed [km/h]`); types, descriptions and missing units come from the JSON file next
    to it, if it exists. Without that file numbers are of type Float64, unless digits would be lost, and a column
    without any number contains strings.

    Raises
    ------
    UnusableFile
        The file is not text in UTF-8, the first column is not `time` or `time [ms]`, or a line has a wrong number of
        values or a value of the wrong type.
    """
    decoder = getincrementaldecoder("utf-8-sig")()
    try:
        text = decoder.decode(read_bytes(path))
    except UnicodeDecodeError as error:
        raise _no_text(path, error) from None
    allow_fields_of(len(text))
    form = CsvForm.of(text)
    facts = _facts_beside(path)
    rows = io.StringIO(text[form.start :], newline="")
    lines = csv.reader(rows, delimiter=form.separator, skipinitialspace=True, strict=True)
    header = _header_of(_next(lines, path, form.first_line - 1) or [], path, form)
    body = _body(lines, path, len(header), form)
    open_end = not (text.endswith(_LINE_ENDS) or body.note) and bool(body.rows)
    # Inside a character, or in a row of an unfinished run.
    if open_end and (decoder.getstate()[0] or _is_unfinished(facts)):
        body = body.without_last(path)
    try:
        trace = _trace(path, header, body, form, facts)
    except UnusableFile as error:
        if not open_end or error.line != body.numbers[-1]:
            raise
        body = body.without_last(path)  # it ends inside a value, so its type is wrong
        trace = _trace(path, header, body, form, facts)
    assumed = [f"{path.name}: {form.assumption}"] if form.decimals else []
    return replace(trace, assumptions=(*assumed, *filter(None, [body.note])))


_LINE_ENDS = ("\n", "\r")


class _Body(NamedTuple):
    """Rows with their line numbers, and a note on a last row that was left out (empty if there is none)."""

    numbers: list[int]
    rows: list[list[str]]
    note: str = ""

    def without_last(self, path: Path) -> "_Body":
        note = f"{path}:{self.numbers[-1]}: the last row was cut off and is left out"
        return _Body(self.numbers[:-1], self.rows[:-1], note)


def _trace(path: Path, header: Sequence[str], body: _Body, form: CsvForm, facts: Any) -> Trace:
    columns = list(zip(*body.rows, strict=True)) or [()] * len(header)
    told = _columns(path, header, columns, form, facts)
    parsed = [
        _parsed(path, column, texts, body.numbers, form)
        for texts, column in zip(columns, [Column("time"), *told], strict=True)
    ]
    return Trace.of(read_times(path, header[0], parsed[0]), zip(told, parsed[1:], strict=True))


def _no_text(path: Path, error: UnicodeDecodeError, before: int = 0) -> UnusableFile:
    found = f"byte {before + error.start} is {error.object[error.start]:#04x}"
    return UnusableFile(path, f"it is not text in UTF-8: {found}")


def _header_of(row: list[str], path: Path, form: CsvForm) -> list[str]:
    """The first row. Raises UnusableFile if it is not that of a trace."""
    if not row or not is_time(row[0]):
        found = f"found {row[0]!r}" if row else "the file is empty"
        raise UnusableFile(path, f"the first column {NO_TIMES}; {found}", form.first_line)
    return row


def _columns(
    path: Path, header: Sequence[str], texts: Sequence[Sequence[str]], form: CsvForm, facts: Any
) -> list[Column]:
    """Columns after the time, from the header, the cells and the facts of the JSON file. Raises UnusableFile."""
    known = _known(facts, header[1:])
    told = [
        known.get(name) or _told(name, form.numbers(ones)) for name, ones in zip(header[1:], texts[1:], strict=True)
    ]
    refuse_repeats(path, [column.signal for column in told])
    return told


def _told(header: str, texts: Sequence[str]) -> Column:
    """Column without a description; its type is guessed from its cells."""
    name, unit = bracketed(header) or (header, None)
    return Column(name, unit or None, _guess(texts))


_IN_QUOTES = "unexpected end"
"""Part of the error of Python's reader at the end of a file inside a text in quotes."""


def _next(lines: Any, path: Path, before: int = 0) -> list[str] | None:
    """The next row; None at the end, or if the last string is cut off. `before` is the number of earlier lines."""
    try:
        row: list[str] | None = next(lines, None)
    except csv.Error as error:
        if _IN_QUOTES in str(error):
            return None
        raise UnusableFile(path, str(error), before + lines.line_num) from None
    return row


def _body(lines: Any, path: Path, width: int, form: CsvForm) -> _Body:
    """The rows of a file behind its header. Raises UnusableFile if a row other than the last has a wrong number of
    values.
    """
    numbers: list[int] = []
    rows: list[list[str]] = []
    before, note = form.first_line - 1, ""
    try:
        for row in filter(None, lines):
            rows.append(row)
            numbers.append(before + lines.line_num)
    except csv.Error as error:
        if _IN_QUOTES not in str(error):
            raise UnusableFile(path, str(error), before + lines.line_num) from None
        line = (numbers[-1] if numbers else form.first_line) + 1
        note = f"{path}:{line}: a text in quotes does not end; the file is left out from this line on"
    if not note and rows and len(rows[-1]) < width:
        note = left_out(path, numbers.pop(), len(rows.pop()), width)
    for line, row in zip(numbers, rows, strict=True):
        _check_width(row, width, path, line)
    return _Body(numbers, rows, note)


def _check_width(row: Sequence[str], width: int, path: Path, line: int) -> None:
    """Raise UnusableFile if the number of values in a row differs from the number of names in the header."""
    if len(row) != width:
        raise UnusableFile(path, f"{counted(width, 'value')} expected, found {len(row)}", line)


def _parsed(path: Path, column: Column, texts: Sequence[str], lines: Sequence[int], form: CsvForm) -> Sequence[Any]:
    if column.type == TEXT:
        return texts
    parse = _parser(column.type)
    values = []
    for line, text in zip(lines, form.numbers(texts), strict=True):
        try:
            values.append(parse(text))
        except ValueError as error:
            told = str(error) if holds_integer(column.type) else f"expected a number, found {text!r}"
            raise UnusableFile(path, f"{column.signal}: {told}", line) from None
    return values


def _parser(kind: str) -> Callable[[str], Any]:
    if not holds_integer(kind):
        return float
    if kind == BYTES:
        return bytes.fromhex
    if kind == "Boolean":
        return _boolean
    machine = machine_type(kind)
    low, high = (-(2 ** (8 * machine.itemsize - 1)), 2 ** (8 * machine.itemsize - 1) - 1)
    if machine.kind == "u":
        low, high = 0, 2 * high + 1

    def parse(text: str) -> int:
        # Earlier versions and other tools write 3.0.
        number = int(text[:-2] if text.endswith(".0") else text)
        if not low <= number <= high:
            raise ValueError(f"{text} is not a value of type {kind}: {low} … {high}")
        return number

    return parse


_BOOLEANS = {"0": False, "1": True, "false": False, "true": True, "0.0": False, "1.0": True}


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{text!r} is not a Boolean: 0, 1, false or true") from None


def _guess(texts: Sequence[str]) -> str:
    """Type of a column, guessed from its cells."""
    if texts and not any(map(reads_as_number, texts)):
        return TEXT
    integers = list(_integers(texts))
    if len(integers) < len(texts) or all(int(float(number)) == number for number in integers):
        return "Float64"
    low, high = min(integers), max(integers)
    if low >= -(2**63) and high < 2**63:
        return "Int64"
    return "UInt64" if low >= 0 and high < 2**64 else "Float64"


def _integers(texts: Sequence[str]) -> Iterator[int]:
    """Numbers before the first cell that is not an integer."""
    for text in texts:
        try:
            yield int(text)
        except ValueError:
            return


def _facts_beside(path: Path) -> Any:
    try:
        return _beside(path)
    except (OSError, ValueError):
        return {}


def _known(facts: Any, headers: Sequence[str]) -> dict[str, Column]:
    """Columns of the JSON file, by their header: with units, or without them in older files."""
    try:
        columns = [column_of(column) for column in facts["columns"]]
    except (ValueError, KeyError, TypeError):
        return {}
    plain = {one_line(column.signal): column for column in columns}
    with_units = {one_line(labelled(column.signal, column.unit)): column for column in columns}
    return plain if all(name in plain for name in headers) else {**plain, **with_units}


def read_manifest(path: Path) -> Mapping[str, Any]:
    """Manifest of the run, from the JSON file next to the results; empty if the run was interrupted."""
    try:
        manifest = _beside(path)
    except FileNotFoundError:
        return {}
    return {} if _is_unfinished(manifest) else manifest


def _is_unfinished(facts: Any) -> bool:
    """True for the JSON file of a run that has not ended."""
    return isinstance(facts, Mapping) and facts.get("status") == _UNFINISHED


def _beside(path: Path) -> Mapping[str, Any]:
    manifest: Mapping[str, Any] = json_content(read_text(sidecar(path), "utf-8"))
    return manifest


class _Beside(NamedTuple):
    """One look at the JSON file next to a CSV file: its identity and content. None if it is missing or incomplete."""

    identity: tuple[int, int, int] | None
    facts: Mapping[str, Any] | None

    @property
    def modified(self) -> int:
        return 0 if self.identity is None else self.identity[2]

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Manifest of a run that has ended; otherwise empty."""
        facts = self.facts or {}
        return facts if isinstance(facts.get("status"), str) and facts["status"] != _UNFINISHED else {}


class CsvTail:
    """Reader of a CSV file that a run, or another tool, is writing: each row is read once, when its line is complete.

    Parameters
    ----------
    patterns
        Patterns of the signals to read; none: all. The first rows raise UnknownName if a pattern matches nothing.

    Notes
    -----
    A run writes the header, then the JSON file, then rows, and finally its manifest into the JSON file. So columns are
    known when there is a row, and rows are complete if the manifest existed before they were read and still exists
    afterwards. Without the JSON file, types are guessed from the first rows.
    """

    def __init__(self, path: Path, patterns: Sequence[str] = ()) -> None:
        self._path = path
        self._patterns = patterns
        self._damaged: _Beside | None = None
        self._replaced = False
        self._size = MOST_BYTES
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._place = self._lines = 0
        self._last = b""
        self._head = ""
        self._form = CsvForm()
        self._header: list[str] = []
        self._columns: list[Column] | None = None
        self._chosen: list[int] = []

    def read(self) -> News:
        beside = self._look_beside()
        try:
            content, modified = self._content()
        except FileNotFoundError:
            content, modified = b"", 0
            self._forget()
        if not self._is_settled(beside):
            return self._news()
        more = len(content) == self._size
        numbers, rows = self._taken(content)
        if more and not rows:
            self._size *= 2  # rows may be longer than the present size
        manifest = {} if more or not self._header else beside.manifest
        if self._columns is None:
            # A manifest older than a file without rows belongs to the previous run, which this run replaces.
            if not rows and (not manifest or modified > beside.modified):
                return self._news(more=more)
            self._settle(rows, beside.facts)
        return self._news(numbers, rows, manifest, more=more)

    def _content(self) -> tuple[bytes, int]:
        """The next bytes, and the modification time of the file [ns]."""
        with open_bytes(self._path) as file:
            file.seek(self._place - len(self._last))
            if file.read(len(self._last)) != self._last:
                self._forget()
                file.seek(0)
            return file.read(self._size), os.fstat(file.fileno()).st_mtime_ns

    def _forget(self) -> None:
        """Drop all rows, because they belong to another file."""
        self._replaced = self._replaced or self._columns is not None
        self._begin_anew()

    def _look_beside(self) -> _Beside:
        identity = None
        try:
            status = sidecar(self._path).stat()
            identity = status.st_ino, status.st_size, status.st_mtime_ns
            facts = _beside(self._path)
        except FileNotFoundError:
            return _Beside(None, {})
        except ValueError:
            return _Beside(identity, None)
        return _Beside(identity, facts if isinstance(facts, Mapping) else {})

    def _is_settled(self, beside: _Beside) -> bool:
        """True if the JSON file is not being written at present. A file that stays damaged counts as settled."""
        known, self._damaged = self._damaged, beside if beside.facts is None else None
        return self._look_beside() == beside and (beside.facts is not None or known == beside)

    def _taken(self, content: bytes) -> tuple[list[int], list[list[str]]]:
        """Complete rows at the start of these bytes, and their line numbers. They are not read again."""
        complete = content[: content.rfind(b"\n") + 1]
        try:
            text = complete.decode()
        except UnicodeDecodeError as error:
            raise _no_text(self._path, error, self._place) from None
        allow_fields_of(len(text))
        lines = io.StringIO(text, newline="").readlines()
        if lines and not self._place:
            lines[0] = lines[0].removeprefix(_MARK)
        passed = self._note_form("".join(lines))
        reader = csv.reader(lines[passed:], delimiter=self._form.separator, skipinitialspace=True, strict=True)
        numbers, rows, used = [], [], 0
        while (row := _next(reader, self._path, self._lines + passed)) is not None:
            used = passed + reader.line_num
            if self._header and row:
                _check_width(row, len(self._header), self._path, self._lines + used)
                numbers.append(self._lines + used)
                rows.append(row)
            elif not self._header:
                self._header = _header_of(row, self._path, self._form)
                self._head = "".join(lines[:used])
        if used:
            rest = sum(len(line.encode()) for line in lines[used:])
            self._place += len(complete) - rest
            self._lines += used
            self._last = lines[used - 1].encode()[-_COMPARED:]
        return numbers, rows

    def _note_form(self, text: str) -> int:
        """Determine the format from the header and the numbers; returns the number of lines before the header."""
        form = CsvForm.of(self._head + text)
        if self._head:
            self._form = self._form._replace(decimals=form.decimals or self._form.decimals)
            return 0
        self._form = form
        return form.first_line - 1

    def _settle(self, rows: Sequence[Sequence[str]], facts: Any) -> None:
        texts = list(zip(*rows, strict=True)) or [()] * len(self._header)
        self._columns = _columns(self._path, self._header, texts, self._form, facts)
        self._chosen = chosen(self._patterns, self._columns)

    def _news(
        self,
        numbers: Sequence[int] = (),
        rows: Sequence[Sequence[str]] = (),
        manifest: Mapping[str, Any] | None = None,
        *,
        more: bool = False,
    ) -> News:
        replaced, self._replaced = self._replaced, False
        if self._columns is None:
            return News(replaced=replaced, more=more)
        columns = [self._columns[place] for place in self._chosen]
        values = [
            _parsed(self._path, column, [row[place] for row in rows], numbers, self._form)
            for place, column in [(0, Column("time")), *((1 + place, self._columns[place]) for place in self._chosen)]
        ]
        times = read_times(self._path, self._header[0], values[0])
        return News(True, tuple(columns), times, values[1:], replaced, manifest or {}, more)


MOST_BYTES = 1 << 24
"""Number of bytes of a file that are read at once, unless a row is longer."""

_COMPARED = 4096
"""Number of bytes at the end of the last row by which a file is recognized."""

_MARK = "\ufeff"
"""Byte order mark."""
