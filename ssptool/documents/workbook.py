"""Cells of spreadsheets in .xlsx files, read and written with openpyxl."""

import math
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile

from ssptool.documents.diagnostics import DataFinding
from ssptool.documents.foreign_files import open_bytes
from ssptool.documents.saving import save_file
from ssptool.errors import WrongValue, missing_extra
from ssptool.working_directory import absolute

Cell: TypeAlias = str | float | int | bool | None
"""Content of a cell; None for an empty cell."""

LONGEST_TEXT = 32_767
"""Largest length of the text of a cell [characters]."""
_LARGEST_INTEGER = 2**53
"""Spreadsheet programs store numbers as doubles, so larger integers are written as text."""


def _openpyxl(path: Path) -> Any:
    try:
        import openpyxl  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise missing_extra("xlsx", "openpyxl", path.name, "choose another format (.csv)") from None
    return openpyxl


def read_cells(path: Path) -> tuple[list[tuple[int, list[Cell]]], list[DataFinding]]:
    """Numbers (from 1) and cells of all rows of the first sheet that are not empty; formulas have their last results.

    Raises
    ------
    MissingPackage
        openpyxl is not installed.
    WrongValue
        The file is not a workbook.
    OSError
        It cannot be read.
    """
    library = _openpyxl(path)
    with open_bytes(absolute(path)) as file:
        try:
            formulas = library.load_workbook(file)
            file.seek(0)
            results = library.load_workbook(file, data_only=True)
        except (BadZipFile, KeyError, ValueError, OSError, TypeError) as error:
            raise WrongValue(f"{path} is not a workbook (.xlsx): {error}") from None
    if not formulas.worksheets:
        raise WrongValue(f"{path} has no sheet with cells")
    rows: list[tuple[int, list[Cell]]] = []
    findings: list[DataFinding] = []
    for row, values in zip(formulas.worksheets[0].iter_rows(), results.worksheets[0].iter_rows(), strict=True):
        cells: list[Cell] = []
        for formula, result in zip(row, values, strict=True):
            cells.append(result.value if isinstance(result.value, Cell) else str(result.value))
            if fault := _fault(formula, result):
                findings.append(DataFinding(str(path), formula.row, formula.column_letter, fault))
        if any(cell is not None for cell in cells):
            rows.append((row[0].row, cells))
    return rows, findings


def cell_text(cell: Cell) -> str:
    """Content of a cell as written in a CSV file."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def _fault(formula: Any, result: Any) -> str:
    """Error in a cell; empty if there is none."""
    if result.data_type == "e":
        return f"the cell has the error {result.value}; correct its formula"
    if formula.data_type == "f" and result.value is None:
        return f"the formula {formula.value!r} has no result; save the file in a spreadsheet program"
    return ""


def write_cells(path: Path, title: str, rows: Iterable[Sequence[Cell]]) -> None:
    """Write one sheet, whose first row is a heading.

    Raises
    ------
    MissingPackage
        openpyxl is not installed.
    WrongValue
        A string is too long for a cell, or has characters that a workbook cannot store.
    OSError
        The file cannot be written.
    """
    library = _openpyxl(path)
    book = library.Workbook()
    sheet = book.active
    sheet.title = title
    widths: dict[int, int] = {}
    for number, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            stored = _stored(path, number, value)
            widths[column] = max(widths.get(column, 0), len(str(stored)))
            if stored is not None:
                cell = sheet.cell(number, column, None)
                _write(library, path, cell, stored)
    for cell in sheet[1]:
        cell.font = library.styles.Font(bold=True)
        sheet.column_dimensions[cell.column_letter].width = min(widths.get(cell.column, 0) + 2, 60)
    sheet.freeze_panes = "A2"
    content = BytesIO()
    book.save(content)
    save_file(path, content.getvalue())


def _stored(path: Path, row: int, value: Cell) -> Cell:
    """Value of a cell; a number that spreadsheets cannot represent becomes text."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "INF", -math.inf: "-INF"}.get(value, "NaN")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_INTEGER:
        return str(value)
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise WrongValue(
            f"{path}: row {row} has a text of {len(value)} characters, and cells hold {LONGEST_TEXT}: "
            "choose another format (.csv)"
        )
    return value


def _write(library: Any, path: Path, cell: Any, value: Cell) -> None:
    try:
        cell.value = value
    except library.utils.exceptions.IllegalCharacterError:
        raise WrongValue(
            f"{path}: row {cell.row} has a text with control characters, which workbooks cannot store ({value!r}): "
            "choose another format (.csv)"
        ) from None
    if isinstance(value, str):
        cell.data_type = "s"  # text that starts with "=" is not a formula
