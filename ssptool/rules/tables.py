"""Tables: components of the type `text/csv`, as OMSimulator has them."""

from collections.abc import Iterator

from ssptool.documents import ssd
from ssptool.documents.document import Positions
from ssptool.network.network import Scope
from ssptool.network.tables import (
    NO_COLUMN,
    NO_OUTPUT,
    NO_VALUE,
    UNREADABLE,
    TableFile,
    TableProblem,
    outputs_of,
    read_table,
)
from ssptool.rules.catalogue import ERROR, POLICY, Chapter, Finding
from ssptool.rules.subjects import Reach, Structure, remembered

TABLES = Chapter(
    "Tables: components of the type `text/csv`, as OMSimulator has them", section="SSP 2.0 §5.4; OMSimulator"
)


@TABLES.rule(UNREADABLE, severity=ERROR, basis=POLICY, blocks_run=True)
def readable_table(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The source of a table is a CSV file: a header with `time` first, and rows whose times do not descend.

    A component of type `text/csv`, or `application/table` as older files have it, is a table; so is one without a type
    whose source ends in `.csv`. Every row has as many values as the header, and times are numbers of seconds.

    Fix: correct the file.
    """
    yield from _found(UNREADABLE, component, structure)


@TABLES.rule(NO_COLUMN, severity=ERROR, basis=POLICY)
def known_columns(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connector of a table has the name of one of its columns.

    A unit in brackets, `speed [km/h]`, is no part of the name.

    Fix: correct the name, or add the column.

    Accepted: the connector and its connections are left out.
    """
    yield from _found(NO_COLUMN, component, structure)


@TABLES.rule(NO_OUTPUT, severity=ERROR, basis=POLICY)
def outputs_of_tables(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The connector of a table is an output, and no array, Binary or Clock.

    Nothing leads into a table, and a cell of it holds one number or text.

    Fix: state `kind="output"`, or delete the connector.

    Accepted: the connector and its connections are left out.
    """
    yield from _found(NO_OUTPUT, component, structure)


@TABLES.rule(NO_VALUE, severity=ERROR, basis=POLICY)
def values_of_tables(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    """The values in a column are of the type of the connector.

    A connector without a type is Real. Items of enumerations are written as names or numbers.

    Fix: correct the value, or the type.

    Accepted: the connector and its connections are left out.
    """
    yield from _found(NO_VALUE, component, structure)


def _found(code: str, component: ssd.Component, structure: Structure) -> Iterator[Finding]:
    if component.is_table:
        for problem in _problems(component, structure):
            if problem.rule == code:
                yield Finding(problem.position, problem.message, problem.advice)


@remembered
def _problems(component: ssd.Component, structure: Structure) -> tuple[TableProblem, ...]:
    reference = structure.reference(component, component.source or "")
    document = structure.file.document
    if document is None or reference.reach is not Reach.INSIDE or not structure.archive.has(reference.entry):
        return ()  # URI-002
    scope = Scope(structure.archive, document, structure.units(structure.root), Positions(document))
    return outputs_of(component, _table(reference.entry, structure), scope).problems


@remembered
def _table(entry: str, structure: Structure) -> TableFile:
    return read_table(structure.archive, entry)
