"""Tables: components whose outputs are the columns of a CSV file.

They exist in OMSimulator (`text/csv`, formerly `application/table`); SSP leaves the types of components open.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from ssptool.documents import ssd
from ssptool.documents.archive import Archive
from ssptool.documents.csv_columns import CsvColumn, read_columns
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.storage import MissingEntry
from ssptool.errors import similar_names
from ssptool.fmu.description import Causality, FmuDescription, Value, Variability, Variable
from ssptool.network.conversion import InvalidValue, canonical, from_cell, is_float, items_of
from ssptool.network.network import Scope, TableOutput

UNREADABLE, NO_COLUMN, NO_OUTPUT, NO_VALUE = "TABLE-101", "TABLE-102", "TABLE-103", "TABLE-104"
"""Codes of rules on tables: readable file, column of a connector, scalar output, values of the type."""
REFUSED = ("Binary", "Clock")
"""Types that a table cannot provide."""


class TableProblem(NamedTuple):
    """A problem with an output of a table, and the code of the rule that reports it."""

    rule: str
    position: Position
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The columns of a file by the names of connectors, and problems of the file."""

    entry: str
    columns: Mapping[str, CsvColumn] = field(default_factory=dict)
    problems: tuple[TableProblem, ...] = ()


def read_table(archive: Archive, entry: str) -> TableFile:
    """Read the table in an entry of the archive, with its problems."""
    ending = PurePosixPath(entry).suffix.lower()
    if ending not in (".csv", ".txt", ""):
        return TableFile(
            entry, problems=(_unreadable(entry, 0, f"a table is read from a CSV file, not from {ending}"),)
        )
    try:
        columns, findings = read_columns(archive.local_path(entry), entry, portable=True)
    except (OSError, MissingEntry, InvalidDocument) as error:
        return TableFile(entry, problems=(_unreadable(entry, 0, f"the file cannot be read: {error}"),))
    named = {one.bracketed[0]: one for one in columns if one.bracketed is not None}
    told = ((one.line, f"{one.column}: {one.message}" if one.column else one.message) for one in findings)
    return TableFile(
        entry, {**named, **{one.name: one for one in columns}}, tuple(_unreadable(entry, *each) for each in told)
    )


def _unreadable(entry: str, line: int, message: str) -> TableProblem:
    return TableProblem(UNREADABLE, Position(entry, line), message)


def outputs_of(
    component: ssd.Component, table: TableFile, scope: Scope
) -> tuple[Mapping[str, TableOutput], FmuDescription, tuple[TableProblem, ...]]:
    """The outputs of a table for the connectors of a component, variables like those of an FMU, and problems; invalid
    outputs are left out.
    """
    outputs: dict[str, TableOutput] = {}
    variables: dict[str, Variable] = {}
    problems = list(table.problems)
    for connector in () if problems else component.connectors:
        column, position = table.columns.get(connector.name), scope.survey.position(connector)
        if problem := _misfit(connector, column, table, position):
            problems.append(problem)
        elif column is not None and connector.name not in outputs:
            type_name, items = _type(connector), items_of(connector, scope.document.structure.enumerations)
            reading = _Reading(table.entry, connector.name, type_name, items)
            values = reading.values(column)
            problems += reading.problems
            if not reading.problems:
                outputs[connector.name] = TableOutput(column.name, column.times, values, is_float(type_name))
                variables[connector.name] = _variable(connector, column, items, len(variables))
    return outputs, _description(table.entry, variables, scope), tuple(problems)


def _misfit(
    connector: ssd.Connector, column: CsvColumn | None, table: TableFile, position: Position
) -> TableProblem | None:
    name, type_name = connector.name, _type(connector)
    if connector.kind not in (ssd.ConnectorKind.OUTPUT, ssd.ConnectorKind.UNSPECIFIED):
        message = f"'{name}' is of kind {connector.kind}; a table has outputs only"
        return TableProblem(NO_OUTPUT, position, message, 'state kind="output"')
    if type_name in REFUSED or connector.dimensions:
        what = "an array" if connector.dimensions else type_name
        return TableProblem(NO_OUTPUT, position, f"'{name}' is {what}; a column has single numbers or texts")
    if column is None:
        near = similar_names(name, tuple(table.columns))
        advice = f"did you mean {' or '.join(near)}?" if near else f"its columns are {', '.join(table.columns)}"
        return TableProblem(NO_COLUMN, position, f"{table.entry} has no column '{name}'", advice)
    return None


def _type(connector: ssd.Connector) -> str:
    return canonical(connector.type_name or "Real")


class _Reading:
    """Reader of the cells of a column as values of a type."""

    def __init__(self, entry: str, name: str, type_name: str, items: Mapping[str, int]) -> None:
        self._entry, self._name, self._type, self._items = entry, name, type_name, items
        self.problems: list[TableProblem] = []

    def values(self, column: CsvColumn) -> tuple[Value, ...]:
        if self._type == "Float64":
            try:
                fast = tuple(map(float, column.texts))
            except ValueError:
                fast = ()
            # Python accepts 1_000 as a number.
            if fast and all(map(math.isfinite, fast)) and not any("_" in text for text in column.texts):
                return fast
        return tuple(self._each(column))

    def _each(self, column: CsvColumn) -> Iterator[Value]:
        for line, text in zip(column.lines, column.texts, strict=True):
            try:
                value = from_cell(self._name, text, self._type, self._items)
                if isinstance(value, float) and not math.isfinite(value):
                    raise InvalidValue(self._name, text, "a finite number")
                yield value
            except InvalidValue as error:
                told = f"found {error.found!r}, expected {error.expected}" if text.strip() else "a value is missing"
                self.problems.append(TableProblem(NO_VALUE, Position(self._entry, line), f"{self._name}: {told}"))


def _variable(connector: ssd.Connector, column: CsvColumn, items: Mapping[str, int], number: int) -> Variable:
    """An output with the unit of the column, or of the connector."""
    type_name = _type(connector)
    bracketed = column.bracketed if column.bracketed and column.name != connector.name else None
    stated = None if connector.type is None else connector.type.get("unit") or None
    unit = bracketed[1] if bracketed is not None else column.unit or stated
    return Variable(
        name=connector.name,
        reference=number,
        type=type_name,
        causality=Causality.OUTPUT,
        variability=Variability.CONTINUOUS if is_float(type_name) else Variability.DISCRETE,
        initial=None,
        start=None,
        unit=unit if is_float(type_name) else None,
        nominal=1.0,
        minimum=-math.inf,
        maximum=math.inf,
        relative_quantity=False,
        shape=(),
        items=items,
        description=connector.description or "",
        derivative_of=None,
        intermediate_update=False,
        line=0,
    )


def _description(entry: str, variables: Mapping[str, Variable], scope: Scope) -> FmuDescription:
    return FmuDescription(
        fmi_version="3.0",
        model_name=PurePosixPath(entry).name,
        token="",
        co_simulation=None,
        model_exchange=None,
        scheduled_execution=False,
        variables=variables,
        units=scope.units,
        outputs={name: frozenset() for name in variables},
        derivatives={},
        initial_unknowns={},
    )
