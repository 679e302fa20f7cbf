"""Traces as MAT files (version 4) in the layout of Dymola's trajectories, which many Modelica tools read.

A trajectory file has the text matrices `Aclass`, `name` and `description`, the table `dataInfo` with the location of
the values of each name, `data_1` with constants, and `data_2` with one column per row of the trace. `data_2` is the
last matrix and grows; only the number of columns in its header has to be updated.

All values are doubles. So strings and bytes cannot be stored, and integers beyond 2⁵³ lose digits; the notes of a
`MatWriter` list both. All other types are preserved.
"""

import io
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, savemat, whosmat
from scipy.io.matlab import MatReadError, matfile_version

from ssptool.documents.foreign_files import require_file
from ssptool.engine.recording.foreign_tables import read_times
from ssptool.engine.recording.writer import Writer, append, change, put, refuse_repeats
from ssptool.engine.trace import (
    NUMBERED,
    NUMERIC_TYPES,
    Column,
    Floats,
    StringTable,
    Trace,
    as_doubles,
    column_of,
    holds_integer,
    integers_of,
    machine_type,
    values_of,
)
from ssptool.errors import UnusableFile
from ssptool.foreign_text import json_content

_TRAJECTORIES = "data_2"
_LAID_OUT = ("name", "description", "dataInfo")
_MANIFEST = "manifest"
_COLUMN_COUNT = 8  # byte offset in the header of a matrix


class MatWriter(Writer):
    """Writer of rows as they arrive; the number of rows is updated after them."""

    def __init__(self, path: Path, columns: Sequence[Column], contents: StringTable, files: ExitStack) -> None:
        kept = [place for place, column in enumerate(columns) if column.type not in NUMBERED]
        self._left_out = tuple(column.signal for column in columns if column.type in NUMBERED)
        self._chosen = [0, *(1 + place for place in kept)] if self._left_out else slice(None)
        self._columns = tuple(columns[place] for place in kept)
        self._types = ("Float64", *(column.type for column in self._columns))
        self._rounded: set[int] = set()
        self._name = path.name
        self._file = files.enter_context(path.open("wb", buffering=0))
        put(self._file, _matrices(self._columns))
        self._header = self._file.tell()
        self._rows = 0
        put(self._file, _matrix(_TRAJECTORIES, np.zeros((1 + len(kept), 0))))

    def write(self, rows: Floats) -> None:
        cells = rows[:, self._chosen]
        doubles = as_doubles(cells, self._types)
        self._look_for_rounding(cells, doubles)
        append(self._file, np.ascontiguousarray(doubles, dtype="<f8").tobytes())
        self._rows += len(rows)
        change(self._file, self._header + _COLUMN_COUNT, struct.pack("<i", self._rows))

    def notes(self) -> tuple[str, ...]:
        return tuple(self._told())

    def _told(self) -> Iterator[str]:
        if self._left_out:
            names = ", ".join(self._left_out)
            yield f"{self._name} is without {names}: MAT files hold neither texts nor bytes; CSV and Parquet do"
        if self._rounded:
            names = ", ".join(self._columns[place].signal for place in sorted(self._rounded))
            yield (
                f"{self._name} has lost digits of {names}: MAT files hold doubles, which are exact for integers up to "
                "2^53; CSV and Parquet keep all"
            )

    def _look_for_rounding(self, cells: Floats, doubles: Floats) -> None:
        for place, column in enumerate(self._columns):
            if column.type not in ("Int64", "UInt64", "Enumeration") or place in self._rounded:
                continue
            values, found = values_of(cells[:, 1 + place], column.type), doubles[:, 1 + place]
            lost = (integers_of(found, values.dtype) != values) | (found >= float(np.iinfo(values.dtype).max))
            if lost.any():
                self._rounded.add(place)

    def close(self, manifest: str) -> None:
        append(self._file, _matrix(_MANIFEST, np.array([_latin(manifest)])))


def _matrices(columns: Sequence[Column]) -> bytes:
    """The matrices before the trajectories."""
    names = ["Time", *(column.signal for column in columns)]
    descriptions = ["time [s]", *map(_described, columns)]
    count = len(names)
    places = np.zeros((4, count), dtype=np.int32)
    places[0] = 2  # in data_2 …
    places[0, 0] = 0  # … but time is in all tables
    places[1] = np.arange(1, count + 1)
    places[3] = -1  # not defined beyond the last row
    return b"".join(
        [
            _matrix("Aclass", np.array(["Atrajectory", "1.1", "", "binTrans"])),
            _matrix("name", _text_columns(names)),
            _matrix("description", _text_columns(descriptions)),
            _matrix("dataInfo", places),
            _matrix("data_1", np.zeros((1, 2))),
        ]
    )


def _described(column: Column) -> str:
    """Description with unit and type, in Dymola's format."""
    kind = "" if column.type == "Float64" else f":#(type={column.type})"
    bracket = f"[{column.unit or ''}{kind}]" if column.unit or kind else ""
    return f"{column.description} {bracket}".strip()


_DESCRIBED = re.compile(r"(?P<words>.*?)\s*(\[(?P<unit>[^\[\]|:]*)(\|[^\[\]:]*)?(:#\(type=(?P<type>\w+)\))?\])?", re.S)
_MODELICA = {"Real": "Float64", "Integer": "Int32"}


def _column(name: str, description: str) -> Column:
    """Column from a description in the format of `_described` or of Dymola."""
    match = _DESCRIBED.fullmatch(description)
    assert match is not None  # the pattern matches any text
    stated = match["type"] or "Float64"
    kind = _MODELICA.get(stated, stated)
    return Column(name, match["unit"] or None, kind if kind in NUMERIC_TYPES else "Float64", match["words"])


def _matrix(name: str, values: Any) -> bytes:
    buffer: Any = io.BytesIO()
    savemat(buffer, {name: values}, format="4")
    content: bytes = buffer.getvalue()
    return content


def _text_columns(texts: Sequence[str]) -> Any:
    """Text matrix with one column per text, given by its rows: the n-th letters of all texts."""
    latin = [_latin(text) for text in texts]
    length = max(1, *map(len, latin))
    padded = [text.ljust(length) for text in latin]
    rows = np.array(["".join(letters) for letters in zip(*padded, strict=True)])
    return rows.reshape(-1, 1) if len(texts) == 1 else rows  # otherwise SciPy would read single letters as one text


def _latin(text: str) -> str:
    """Text with one character per byte of UTF-8, because the format has one byte per character."""
    return text.encode().decode("latin-1")


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", errors="replace")


def read_mat(path: Path) -> Trace:
    """Read a trajectory file, such as those of `MatWriter`, Dymola and OpenModelica.

    Several names may share values, possibly with opposite sign; values may be constant.

    Raises
    ------
    UnusableFile
        The file is not a trajectory file, or contains no points in time.
    """
    with _readable(path):
        return _trace(path, _loaded(path))


def _trace(path: Path, content: Mapping[str, Any]) -> Trace:
    # With the names of the matrix, which loses blanks at their ends.
    columns = map(column_of, read_manifest(path).get("columns", []))
    known = {_unpadded(column.signal): column for column in columns}
    tables, rows = content["dataInfo"][:2].astype(int)
    every = zip(_texts(content["name"]), _texts(content["description"]), tables.tolist(), rows.tolist(), strict=True)
    found, time = [], Column("time")
    for name, description, table, row in every:
        if not table:
            time = _column(name, description)
        else:
            column = known.get(name) or _column(name, description)
            try:
                values = _series(content, f"data_{table}", row)
            except (KeyError, IndexError):
                raise UnusableFile(
                    path, f"the values of {name} are in row {row} of data_{table}, which does not exist"
                ) from None
            found.append((column, _values(values, column.type)))
    refuse_repeats(path, [column.signal for column, _ in found])
    return Trace.of(read_times(path, "time", content[_TRAJECTORIES][0], time.unit or ""), found)


def _series(content: Mapping[str, Any], table: str, row: int) -> Floats:
    """Values at the times of the trajectories; a negative row number changes the sign."""
    values: Floats = content[table][abs(row) - 1]
    if table != _TRAJECTORIES:  # a table of constants has its own times: both ends of the run
        values = np.interp(content[_TRAJECTORIES][0], content[table][0], values)
    return -values if row < 0 else values


def _values(doubles: Floats, kind: str) -> NDArray[Any]:
    return integers_of(doubles, machine_type(kind)) if holds_integer(kind) else doubles


_VERSIONS = {1: "5 to 7", 2: "7.3"}
"""Versions of MATLAB's format, by SciPy's number."""


def _loaded(path: Path) -> dict[str, Any]:
    require_file(path)
    # A damaged header may declare huge names and arrays, and offsets before the start. A stream in memory contains only
    # what exists, and rejects such offsets with an error that is not one of the disk.
    stored = path.read_bytes()

    def stream() -> Any:  # SciPy's stubs only accept paths
        return io.BytesIO(stored)

    # The reader of version 7.3 may end the process if a file is damaged.
    if (version := matfile_version(stream())[0]) != 0:
        raise UnusableFile(
            path,
            f"it is a MAT file of version {_VERSIONS[version]}; trajectories are in version 4 (in MATLAB: save -v4)",
        )
    declared = sum(math.prod(shape) for _, shape, _ in whosmat(stream()))
    if declared > len(stored):
        raise UnusableFile(path, f"it declares {declared} values, more than a file of this size can have")
    content: dict[str, Any] = loadmat(stream(), chars_as_strings=False)
    layout = "".join(content["Aclass"][3]).strip()
    if layout not in ("binTrans", "binNormal"):
        raise UnusableFile(path, f"the last row of Aclass must be 'binTrans' or 'binNormal', found {layout!r}")
    if layout == "binNormal":
        content |= {name: content[name].T for name in content if name in _LAID_OUT or name.startswith("data_")}
    if _TRAJECTORIES not in content:
        raise UnusableFile(path, f"it has no {_TRAJECTORIES}")
    return content


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Other tools write these files: if an item is missing or has another shape, the file is not a trajectory file."""
    try:
        yield
    except (MatReadError, ValueError, TypeError, LookupError, NotImplementedError) as error:
        raise UnusableFile(path, f"it is not a trajectory file: {error}") from None


def _texts(matrix: Any) -> list[str]:
    return [_unpadded(_utf8("".join(column))) for column in matrix.T]


def _unpadded(text: str) -> str:
    return text.rstrip(" \0")


def read_manifest(path: Path) -> Mapping[str, Any]:
    """Manifest of the run in the file; empty if the run was interrupted."""
    with _readable(path):
        content = _loaded(path)
        manifest: Mapping[str, Any] = (
            json_content(_utf8("".join(content[_MANIFEST][0]))) if _MANIFEST in content else {}
        )
    return manifest
