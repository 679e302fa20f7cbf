"""Tables of parameters as CSV files."""

import csv
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from ssptool.documents.csv_columns import CsvForm, allow_fields_of
from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.documents.foreign_files import open_text
from ssptool.documents.saving import save_file
from ssptool.editing.parameter_rows import StatedRow, rows_of_cells
from ssptool.network.parameter_table import HEADER, ParameterTable
from ssptool.working_directory import absolute


def write(path: Path, table: ParameterTable) -> None:
    """Write values as typed in `--set`."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for row in table.values():
        cells = (row.name, row.type_text, row.unit_name, row.text, row.origin, row.range, row.description)
        writer.writerow(cells)
    save_file(path, text.getvalue().encode())


def read(path: Path) -> Iterable[StatedRow]:
    """The rows below the heading, also with the separators and decimal commas of spreadsheets."""
    with open_text(absolute(path), newline="") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise BadData(
                "the table of parameters", [DataFinding(str(path), 1, "", f"not a CSV file in UTF-8: {error}")]
            ) from None
    allow_fields_of(len(text))
    form = CsvForm.of(text)
    reader = csv.reader(StringIO(text[form.start :], newline=""), delimiter=form.separator)
    try:
        lines = [(reader.line_num + form.first_line - 1, row) for row in reader if any(row)]
    except csv.Error as error:
        raise BadData(
            "the table of parameters", [DataFinding(str(path), reader.line_num, "", f"not a CSV file: {error}")]
        ) from None
    if short := [(line, row) for line, row in lines if len(row) != len(lines[0][1])]:
        wanted = len(lines[0][1])
        raise BadData(
            "the table of parameters",
            [DataFinding(str(path), line, "", f"{wanted} values expected, found {len(row)}") for line, row in short],
        )
    return rows_of_cells(str(path), lines, bool(form.decimals))
