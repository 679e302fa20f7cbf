"""Columns of a CSV file: `time` first, then one column per signal."""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from ssptool.arguments import EXPONENTS, MULTIPLES, in_seconds
from ssptool.documents.diagnostics import DataFinding
from ssptool.documents.foreign_files import open_text, read_text
from ssptool.errors import counted
from ssptool.foreign_text import json_content
from ssptool.working_directory import absolute


class CsvForm(NamedTuple):
    """Format of a CSV file, which depends on the country settings of spreadsheets.

    `start` is the offset of the header, which may follow a line such as `sep=;` with the separator for spreadsheets.
    `decimals` is the first number with a decimal comma; empty if there is none.
    """

    separator: str = ","
    start: int = 0
    decimals: str = ""

    @property
    def first_line(self) -> int:
        """Line number of the header, from 1."""
        return 2 if self.start else 1

    @property
    def assumption(self) -> str:
        """Assumption about decimal commas; empty if there is none."""
        return self.decimals and f"a comma begins the decimals of numbers, as in {self.decimals!r}"

    def numbers(self, texts: Sequence[str]) -> Sequence[str]:
        """Cells of a column, with decimal points instead of commas."""
        return (
            [text.replace(",", ".") if _COMMA.fullmatch(text) else text for text in texts] if self.decimals else texts
        )

    @classmethod
    def of(cls, text: str) -> Self:
        """Format of a file, from a line `sep=` or the separator of the first names, and from its numbers.

        Commas are decimal commas only if no number of the file has a decimal point.
        """
        stated = _STATED.match(text)
        start = 0 if stated is None else stated.end()
        header = _QUOTED.sub("", text[start:].split("\n", 1)[0])
        separator = stated[1] if stated is not None else next((one for one in header if one in ",;\t"), ",")
        if separator == "," and '"' not in text:
            return cls(separator, start)
        commas = ""
        for cell in _number_cells(separator).finditer(text, start):
            if "." in cell[1]:
                return cls(separator, start)
            if separator != "," or '"' in cell[0]:
                commas = commas or cell[1]
        return cls(separator, start, commas)


def _number_cells(separator: str) -> re.Pattern[str]:
    """Pattern of a cell that is a number with decimals, quoted or not."""
    ends = re.escape(separator) + r"\r\n"
    return re.compile(rf'(?<=[{ends}])\s*"?([+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?)"?\s*(?=[{ends}]|\Z)')


_STATED = re.compile(r'"?sep=([^\w\s."]|\t)"?\r?\n')
_QUOTED = re.compile(r'"[^"]*"?')
_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")


def left_out(place: object, line: int, found: int, expected: int) -> str:
    """Note on the last row of a file that is incomplete because it was cut off."""
    return f"{place}:{line}: the last row has {found} of {counted(expected, 'value')} and is left out"


class CsvColumn(NamedTuple):
    """One column of cells as written, with times [s] and line numbers.

    `unit` is the unit in the JSON file that a run writes next to the CSV file; `bracketed` are name and unit of a
    header such as `name [unit]`. `note` is a note on an incomplete last row of the file; empty if there is none.
    """

    name: str
    unit: str | None
    bracketed: tuple[str, str] | None
    times: tuple[float, ...]
    lines: tuple[int, ...]
    texts: tuple[str, ...]
    form: CsvForm = CsvForm()
    note: str = ""

    @property
    def numbers(self) -> Sequence[str]:
        """Cells with decimal points instead of commas."""
        return self.form.numbers(self.texts)


def read_columns(
    path: Path, name: str | None = None, *, portable: bool = False
) -> tuple[list[CsvColumn], list[DataFinding]]:
    """Read the columns of a CSV file, or of the first sheet of a workbook (.xlsx), with findings on its format.

    An incomplete last row is left out, with a note in the columns.

    Parameters
    ----------
    name
        Name of the file in findings; by default its path.
    portable
        Accept only files that all tools read: commas between values, decimal points, and complete rows.

    Raises
    ------
    OSError
        It cannot be read.
    """
    findings: list[DataFinding] = []

    def find(line: int, column: str, message: str) -> None:
        findings.append(DataFinding(name or str(path), line, column, message))

    try:
        if path.suffix.lower() == WORKBOOK and not portable:
            form, rows = CsvForm(), _rows_of_workbook(path, findings)
        else:
            form, rows = _rows_of_text(path)
    except (UnicodeDecodeError, csv.Error) as error:
        find(1, "", f"not a CSV file in UTF-8: {error}")
        return [], findings
    if portable and form.separator != ",":
        find(form.first_line, "", f"values are separated by {form.separator!r}; other tools read commas only")
        return [], findings
    if portable and form.decimals:
        find(form.first_line, "", f"{form.assumption}; other tools read decimal points only")
        return [], findings
    header = [name.strip() for name in rows[0][1]] if rows else []
    if not _check_header(header, find, portable):
        return [], findings
    note = ""
    if not portable and len(rows) > 1 and len(rows[-1][1]) < len(header):
        line, row = rows.pop()
        note = left_out(name or path, line, len(row), len(header))
    body, times = _body(header, rows[1:], find, form)
    unit = str(time_unit(header[0]))
    times = tuple(in_seconds(time, unit) for time in times)
    units = _units_beside(path)
    lines = tuple(line for line, _ in body)
    columns = [
        CsvColumn(
            name,
            units.get(name),
            bracketed(name),
            times,
            lines,
            tuple(row[place] for _, row in body),
            form,
            note,
        )
        for place, name in enumerate(header)
        if place
    ]
    return columns, findings


def _rows_of_text(path: Path) -> tuple[CsvForm, list[tuple[int, list[str]]]]:
    """Format, and line numbers with cells of the lines that are not empty. Raises UnicodeDecodeError, csv.Error,
    OSError.
    """
    with open_text(absolute(path), newline="") as file:
        text = file.read()
    allow_fields_of(len(text))
    form = CsvForm.of(text)
    reader = csv.reader(io.StringIO(text[form.start :], newline=""), delimiter=form.separator, skipinitialspace=True)
    return form, [(reader.line_num + form.first_line - 1, row) for row in reader if row]


def _rows_of_workbook(path: Path, findings: list[DataFinding]) -> list[tuple[int, list[str]]]:
    """Row numbers with cells of the rows that are not empty, without columns that are empty including their heading."""
    from ssptool.documents.workbook import cell_text, read_cells  # rarely needed

    rows, faults = read_cells(path)
    findings += faults
    used = [
        place for place, cells in enumerate(zip(*(row for _, row in rows), strict=True)) if any(map(_is_used, cells))
    ]
    return [(line, [cell_text(row[place]) for place in used]) for line, row in rows]


def _is_used(cell: object) -> bool:
    return cell is not None and cell != ""


WORKBOOK = ".xlsx"
KNOWN_TIME_UNITS = frozenset(EXPONENTS.keys() | MULTIPLES.keys())


def time_unit(header: str) -> str | None:
    """Unit of the times below a header `time` or `time [ms]`; None if the column does not contain times."""
    match = re.fullmatch(r"time(?:\s*\[([^\]]*)\])?", header, re.IGNORECASE)
    return None if match is None else match[1] or "s"


def _check_header(header: list[str], find: Any, portable: bool) -> bool:
    if not header or time_unit(header[0]) not in (("s",) if portable else KNOWN_TIME_UNITS):
        find(1, "", f"the first column must be time [s], found {header[0]!r}" if header else "the file is empty")
        return False
    if len(header) == 1:
        find(1, "", "the file has no column besides time")
    for name in sorted(name for name, times in Counter(header).items() if times > 1):
        find(1, name, "several columns have this name")
    return len(header) == len(set(header))


def _body(header: list[str], rows: list[tuple[int, list[str]]], find: Any, form: CsvForm) -> Any:
    """Valid rows and their times; other rows become findings."""
    body: list[tuple[int, list[str]]] = []
    times: list[float] = []
    if not rows:
        find(1, "", "the file has no rows below the header")
    for line, row in rows:
        if len(row) != len(header):
            find(line, "", f"{counted(len(header), 'value')} expected, found {len(row)}")
            continue
        try:
            time = float(*form.numbers(row[:1]))
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
    """Column → unit, from the JSON file of a run."""
    try:
        manifest: Any = json_content(read_text(sidecar(absolute(path)), "utf-8"))
        return {column["signal"]: column["unit"] for column in manifest["columns"] if column["unit"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def allow_fields_of(length: int) -> None:
    """Raise the limit of Python's CSV reader (131072 characters) to this field length."""
    csv.field_size_limit(max(length, csv.field_size_limit()))


def bracketed(header: str) -> tuple[str, str] | None:
    """Name and unit of a header `name [unit]`; None for other headers."""
    match = _BRACKETED.fullmatch(header)
    return None if match is None else (match["name"], match["unit"])


def labelled(name: str, unit: str | None) -> str:
    """Header for `bracketed`: `speed [km/h]`, or the name alone without a unit.

    A name that looks like a name with a unit gets empty brackets.
    """
    label = f"{name} [{unit or ''}]"
    stated = bracketed(label) == (name, unit or "") and (unit or bracketed(name))
    return label if stated else name


_BRACKETED = re.compile(r"(?P<name>.*\S)\s+\[(?P<unit>[^\]]*)\]")
"""Pattern of `speed [km/h]`: with a space, because `x[1]` is the name of an array element."""


def sidecar(path: Path) -> Path:
    """The path of the JSON file with units, types, descriptions and manifest of a CSV file: `run.csv.json`."""
    return path.with_name(path.name + ".json")
