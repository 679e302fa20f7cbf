"""Traces as MAT files (version 4) in the layout of Dymola's trajectories, which many Modelica tools read.

A trajectory file has the text matrices `Aclass`, `name` and `description`, the table `dataInfo` that says where the
values of each name are, `data_1` with what is constant, and `data_2` with one column per row of the trace. That one is
last and grows: only the number of columns in its header has to follow.
"""

import io
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat, savemat
from scipy.io.matlab import MatReadError

from ssptool.engine.recording.writer import UnreadableTrace
from ssptool.engine.trace import Column, Floats, Trace

_TRAJECTORIES = "data_2"
_MANIFEST = "manifest"
_COLUMN_COUNT = 8  # byte offset in the header of a matrix


class MatWriter:
    """Writes rows as they come, and the number of rows after them."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self._file = path.open("wb")
        self._file.write(_matrices(columns))
        self._header = self._file.tell()
        self._rows = 0
        self._file.write(_matrix(_TRAJECTORIES, np.zeros((1 + len(columns), 0))))
        self._file.flush()

    def write(self, rows: Floats) -> None:
        self._file.write(np.ascontiguousarray(rows, dtype="<f8").tobytes())
        self._file.flush()
        self._rows += len(rows)
        end = self._file.tell()
        self._file.seek(self._header + _COLUMN_COUNT)
        self._file.write(struct.pack("<i", self._rows))
        self._file.flush()
        self._file.seek(end)

    def close(self, manifest: str) -> None:
        self._file.write(_matrix(_MANIFEST, np.array([_latin(manifest)])))
        self._file.close()


def _matrices(columns: Sequence[Column]) -> bytes:
    """All that stands before the trajectories."""
    names = ["Time", *(column.signal for column in columns)]
    descriptions = ["time [s]", *map(_described, columns)]
    count = len(names)
    places = np.zeros((4, count), dtype=np.int32)
    places[0] = 2  # in data_2 …
    places[0, 0] = 0  # … but time is in all of them
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
    unit = f"[{column.unit}]" if column.unit else ""
    return f"{column.description} {unit}".strip()


def _matrix(name: str, values: Any) -> bytes:
    buffer: Any = io.BytesIO()
    savemat(buffer, {name: values}, format="4")
    content: bytes = buffer.getvalue()
    return content


def _text_columns(texts: Sequence[str]) -> Any:
    """A text matrix with one column per text: as rows, each letter by letter of all texts."""
    latin = [_latin(text) for text in texts]
    length = max(1, *map(len, latin))
    padded = [text.ljust(length) for text in latin]
    rows = np.array(["".join(letters) for letters in zip(*padded, strict=True)])
    return rows.reshape(-1, 1) if len(texts) == 1 else rows  # else single letters would be taken for one text


def _latin(text: str) -> str:
    """A text whose characters are the bytes of UTF-8, since the format has one byte per character."""
    return text.encode().decode("latin-1")


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", errors="replace")


def read_mat(path: Path) -> Trace:
    """Read a trajectory file in which no values are shared or constant, such as those of `MatWriter`.

    Raises
    ------
    UnreadableTrace
        It is not a trajectory file with one column per point in time.
    """
    content = _loaded(path)
    names = _texts(content["name"])
    places = content["dataInfo"]
    rows = content[_TRAJECTORIES].T
    if len(names) != rows.shape[1] or (places[1] != np.arange(1, len(names) + 1)).any():
        raise UnreadableTrace(path, "names that share their values, or have constant ones, are not supported")
    facts = {column["signal"]: Column(**column) for column in read_manifest(path).get("columns", [])}
    columns = tuple(facts.get(name, Column(name)) for name in names[1:])
    return Trace(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1:]), columns)


def _loaded(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = loadmat(path, chars_as_strings=False)
        if "".join(content["Aclass"][3]).strip() != "binTrans":
            raise UnreadableTrace(path, "the last row of Aclass must be 'binTrans'")
    except (MatReadError, ValueError, TypeError, KeyError, IndexError, NotImplementedError) as error:
        raise UnreadableTrace(path, f"it is not a trajectory file: {error}") from None
    return content


def _texts(matrix: Any) -> list[str]:
    return [_utf8("".join(column)).rstrip(" \0") for column in matrix.T]


def read_manifest(path: Path) -> Mapping[str, Any]:
    """What is written of the run in the file; empty if it did not come to its end."""
    content = _loaded(path)
    if _MANIFEST not in content:
        return {}
    manifest: Mapping[str, Any] = json.loads(_utf8("".join(content[_MANIFEST][0])))
    return manifest
