"""Rows of a table of parameters, from a file or a frame."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.errors import similar_names
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.parameter_table import HEADER, ParameterTable

SHOWN = 10
"""Number of findings in a message."""


@dataclass(frozen=True, slots=True)
class StatedRow:
    """A row of a table: the value of one parameter, and its location.

    Attributes
    ----------
    value
        Value or text of a cell; None: the cell is empty.
    unit
        Unit of the value, by name or by the definition in the file; None: unit of the parameter.
    type
        Type that the table states; empty: none.
    source, line
        File or frame, and the line (0: unknown).
    """

    name: str
    value: Any
    unit: str | PhysicalUnit | None
    type: str
    source: str
    line: int
    decimal_commas: bool = False

    @property
    def place(self) -> str:
        """Location: file or frame, and line."""
        return f"{self.source}:{self.line}" if self.line else self.source

    def finding(self, column: str, message: object) -> DataFinding:
        """A finding in a column of this row."""
        return DataFinding(self.source, self.line, column, str(message))


def rows_of_cells(
    source: str, lines: Iterable[tuple[int, Sequence[Any]]], decimal_commas: bool = False
) -> Iterator[StatedRow]:
    """The rows below a heading with the columns name and value, and optionally unit and type; other columns are
    ignored.

    Raises
    ------
    BadData
        A column is missing, twice, or unknown.
    """
    listed = list(lines)
    first, heading = listed[0] if listed else (1, ())
    names = [_text(cell).strip().lower() for cell in heading]
    findings = list(_in_heading(source, first, names))
    if findings:
        raise BadData("the table of parameters", findings)
    for line, cells in listed[1:]:
        row = dict(zip(names, cells, strict=False))
        yield StatedRow(
            name=_text(row["name"]).strip(),
            value=None if is_missing(row.get("value")) else row["value"],
            unit=_text(row.get("unit")).strip() or None,
            type=_text(row.get("type")).strip(),
            source=source,
            line=line,
            decimal_commas=decimal_commas,
        )


def _in_heading(source: str, line: int, names: list[str]) -> Iterator[DataFinding]:
    for needed in ("name", "value"):
        if names.count(needed) != 1:
            found = ", ".join(filter(None, names)) or "no column"
            number = "no" if needed not in names else "more than one"
            yield DataFinding(source, line, "", f"{number} column {needed!r}; found {found}")
    for name in names:
        if name and name not in HEADER:
            near = similar_names(name, HEADER)
            hint = f"did you mean {near[0]}?" if near else f"columns are {', '.join(HEADER)}"
            yield DataFinding(source, line, name, f"no column of a table of parameters has this name; {hint}")


def rows_of_frame(frame: Any) -> Iterator[StatedRow]:
    """The rows of a frame of pandas, with names in a column or as index. Raises BadData."""
    names = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, place].tolist() for place in range(len(names))]
    if "name" not in names:
        names, columns = ["name", *names], [frame.index.tolist(), *columns]
    lines = enumerate(zip(*columns, strict=True))
    for row in rows_of_cells("frame", [(0, names), *lines]):
        yield StatedRow(row.name, row.value, row.unit, row.type, f"frame, row {row.line}", 0)


def rows_of_table(table: ParameterTable) -> Iterator[StatedRow]:
    """Rows from a table of parameters of a system."""
    for number, row in enumerate(table.values()):
        yield StatedRow(row.name, row.value, row.unit, row.type_text, f"parameters, row {number}", 0)


def is_missing(cell: Any) -> bool:
    """True if a cell is empty: None, an empty string, or a missing value of pandas."""
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)) or str(cell) in ("<NA>", "NaT")


def _text(cell: Any) -> str:
    return "" if is_missing(cell) else str(cell)
