"""Tables of parameters as workbooks (.xlsx)."""

from collections.abc import Iterable
from pathlib import Path

from ssptool.documents.diagnostics import BadData
from ssptool.documents.workbook import Cell, read_cells, write_cells
from ssptool.editing.parameter_rows import StatedRow, rows_of_cells
from ssptool.network.parameter_table import HEADER, ParameterRow, ParameterTable


def write(path: Path, table: ParameterTable) -> None:
    """Write a sheet with numbers and truth values as cells of these types."""
    write_cells(path, "parameters", [HEADER, *map(_cells, table.values())])


def _cells(row: ParameterRow) -> tuple[Cell, ...]:
    value = row.value
    shown = row.text if isinstance(value, tuple | bytes) else value
    return row.name, row.type_text, row.unit_name or None, shown, row.origin, row.range or None, row.description or None


def read(path: Path) -> Iterable[StatedRow]:
    """The rows of the first sheet."""
    rows, findings = read_cells(path)
    if findings:
        raise BadData("the table of parameters", findings)
    return rows_of_cells(str(path), rows)
