"""Traces as CSV: `time` first, one column per signal; what CSV cannot hold is in a JSON file beside it."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ssptool.engine.recording.text import lines
from ssptool.engine.recording.writer import UnreadableTrace
from ssptool.engine.trace import Column, Floats, Trace


def sidecar(path: Path) -> Path:
    """Where units, types, descriptions and the manifest of a CSV file are: `run.csv.json`."""
    return path.with_name(path.name + ".json")


class CsvWriter:
    """Writes rows to a CSV file as they come.

    The first column is `time` [s], then one column per signal. Numbers are the shortest that read back to the
    same bits. Text is UTF-8, lines end with a line feed.
    """

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self._path = path
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(["time", *(column.signal for column in columns)])
        self._file = path.open("wb", buffering=0)
        self._file.write(header.getvalue().encode())
        # One of an earlier run would tell of other columns.
        sidecar(path).unlink(missing_ok=True)

    def write(self, rows: Floats) -> None:
        self._file.write(lines(rows))

    def close(self, manifest: str) -> None:
        self._file.close()
        sidecar(self._path).write_text(manifest, encoding="utf-8")


def read_csv(path: Path) -> Trace:
    """Read a trace that `CsvWriter` or a similar tool wrote. A last line that was cut off is left out.

    Units, types and descriptions are those of the file beside it, if there is one.

    Raises
    ------
    UnreadableTrace
        The first column is not `time`, or a line has a wrong number of values or something that is not a
        number.
    """
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    complete = text[: text.rfind("\n") + 1].splitlines()
    lines = csv.reader(complete)
    header = next(lines, [])
    if not header or header[0] != "time":
        raise UnreadableTrace(path, f"the first column must be 'time', found {header[:1]}", 1)
    rows: list[list[float]] = []
    for row in lines:
        if len(row) != len(header):
            raise UnreadableTrace(path, f"{len(header)} values expected, found {len(row)}", lines.line_num)
        try:
            rows.append([float(value) for value in row])
        except ValueError as error:
            raise UnreadableTrace(path, str(error), lines.line_num) from None
    table = np.array(rows, dtype=float).reshape(len(rows), len(header))
    known = _known(path)
    return Trace(table[:, 0], table[:, 1:], tuple(known.get(name, Column(name)) for name in header[1:]))


def _known(path: Path) -> dict[str, Column]:
    try:
        manifest: Any = json.loads(sidecar(path).read_text(encoding="utf-8"))
        columns = [Column(**column) for column in manifest["columns"]]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {column.signal: column for column in columns}


def read_manifest(path: Path) -> Mapping[str, Any]:
    """What is written of the run beside the file; empty if it did not come to its end."""
    try:
        manifest: Mapping[str, Any] = json.loads(sidecar(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return manifest
