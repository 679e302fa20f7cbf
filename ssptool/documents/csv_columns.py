"""Columns of a CSV file: `time` first, one signal in each of the others."""

import csv
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ssptool.documents.diagnostics import DataFinding
from ssptool.errors import counted
from ssptool.working_directory import absolute


class CsvColumn(NamedTuple):
    """One column of texts as written, with times [s] and line numbers.

    `unit` is that of the JSON file that a run writes beside the CSV file; `bracketed` are name and unit of a header
    such as `name [unit]`.
    """

    name: str
    unit: str | None
    bracketed: tuple[str, str] | None
    times: tuple[float, ...]
    lines: tuple[int, ...]
    texts: tuple[str, ...]


def read_columns(path: Path, name: str | None = None) -> tuple[list[CsvColumn], list[DataFinding]]:
    """Read the columns of a CSV file, with findings on its format.

    Parameters
    ----------
    name
        Name of the file in findings; by default its path.

    Raises
    ------
    OSError
        It cannot be read.
    """
    findings: list[DataFinding] = []

    def find(line: int, column: str, message: str) -> None:
        findings.append(DataFinding(name or str(path), line, column, message))

    try:
        with absolute(path).open(encoding="utf-8-sig", newline="") as file:
            allow_fields_of(absolute(path).stat().st_size)
            reader = csv.reader(file, skipinitialspace=True)
            rows = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        find(1, "", f"not a CSV file in UTF-8: {error}")
        return [], findings
    if rows and rows[0][1][0].startswith("sep="):
        del rows[0]  # which tells spreadsheets the separator
    header = [name.strip() for name in rows[0][1]] if rows else []
    if not _check_header(header, find):
        return [], findings
    body, times = _body(header, rows[1:], find)
    units = _units_beside(path)
    lines = tuple(line for line, _ in body)
    columns = [
        CsvColumn(name, units.get(name), bracketed(name), times, lines, tuple(row[place] for _, row in body))
        for place, name in enumerate(header)
        if place
    ]
    return columns, findings


def _check_header(header: list[str], find: Any) -> bool:
    if not header or re.fullmatch(r"time(\s*\[s\])?", header[0], re.IGNORECASE) is None:
        hint = "; columns are separated by commas" if header and re.search(r"[;\t]", header[0]) else ""
        find(1, "", f"the first column must be time [s], found {header[0]!r}{hint}" if header else "the file is empty")
        return False
    if len(header) == 1:
        find(1, "", "the file has no column besides time")
    for name in sorted({name for name in header if header.count(name) > 1}):
        find(1, name, "several columns have this name")
    return len(header) == len(set(header))


def _body(header: list[str], rows: list[tuple[int, list[str]]], find: Any) -> Any:
    """Valid rows and their times; all other rows become findings."""
    body: list[tuple[int, list[str]]] = []
    times: list[float] = []
    if not rows:
        find(1, "", "the file has no rows below the header")
    for line, row in rows:
        if len(row) != len(header):
            find(line, "", f"{counted(len(header), 'value')} expected, found {len(row)}")
            continue
        try:
            time = float(row[0])
        except ValueError:
            time = math.nan
        if not math.isfinite(time):
            find(line, "time", f"found {row[0]!r}, expected a number of seconds")
        elif times and time < times[-1]:
            find(line, "time", f"found time {row[0]}, less than {times[-1]!r} in the row before")
        else:
            body.append((line, row))
            times.append(time)
    return body, tuple(times)


def _units_beside(path: Path) -> Mapping[str, str]:
    """Column → unit, if a run has written the file."""
    try:
        manifest: Any = json.loads(sidecar(absolute(path)).read_text(encoding="utf-8"))
        return {column["signal"]: column["unit"] for column in manifest["columns"] if column["unit"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def allow_fields_of(length: int) -> None:
    """Raise the limit of Python's CSV reader (131072 characters) to fields of this length."""
    csv.field_size_limit(max(length, csv.field_size_limit()))


def bracketed(header: str) -> tuple[str, str] | None:
    """The name and the unit of a header `name [unit]`; else None."""
    match = _BRACKETED.fullmatch(header)
    return None if match is None else (match["name"], match["unit"])


def labelled(name: str, unit: str | None) -> str:
    """A header that `bracketed` takes apart again: `speed [km/h]`; the name alone where there is no unit.

    A name that looks like one with a unit gets empty brackets.
    """
    label = f"{name} [{unit or ''}]"
    stated = bracketed(label) == (name, unit or "") and (unit or bracketed(name))
    return label if stated else name


_BRACKETED = re.compile(r"(?P<name>.*\S)\s+\[(?P<unit>[^\]]*)\]")
"""`speed [km/h]`: with a space, since `x[1]` is the name of an array's element."""


def sidecar(path: Path) -> Path:
    """The path of the JSON file with units, types, descriptions and manifest of a CSV file: `run.csv.json`."""
    return path.with_name(path.name + ".json")
