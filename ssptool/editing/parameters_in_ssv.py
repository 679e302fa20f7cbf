"""Tables of parameters as parameter sets (.ssv), which have neither origins nor ranges."""

from collections.abc import Iterator
from pathlib import Path

from ssptool.documents import ssc, ssv
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import read_bytes
from ssptool.documents.saving import save_file
from ssptool.editing.draft import empty_parameter_set
from ssptool.editing.parameter_rows import StatedRow
from ssptool.editing.set import types_of
from ssptool.editing.units import use_unit
from ssptool.network.conversion import document_units
from ssptool.network.parameter_table import ParameterRow, ParameterTable, value_text
from ssptool.working_directory import absolute


def write(path: Path, table: ParameterTable) -> None:
    """Write a set of SSP 1.0, or of SSP 2.0 for arrays and types that exist only in 2.0.

    Parameters without a value are left out.
    """
    rows = [row for row in table.values() if row.text or row.value == ""]
    old = types_of("1.0")
    version = "2.0" if any(row.shape or row.type not in old for row in rows) else "1.0"
    document = Document(path.name, empty_parameter_set(path.stem, version))
    values = document.root_as(ssv.ParameterSet)
    for row in rows:
        values.add(_parameter(values, row, version))
    save_file(path, document.to_bytes())


def _parameter(values: ssv.ParameterSet, row: ParameterRow, version: str) -> ssv.Parameter:
    parameter = ssv.Parameter.new(name=row.name)
    if row.description:
        parameter.description = row.description
    own = row.value if isinstance(row.value, tuple) else (row.value,)
    stored = types_of(version)[row.type].new()
    parameter.type = stored
    if isinstance(stored, ssv.Texts):
        stored.entries = own
    else:
        stored.set("value", " ".join(map(value_text, own)))
    if isinstance(stored, ssv.FloatingPoint) and (unit := use_unit(values, row.unit)) is not None:
        stored.unit = unit
    for extent in row.shape:
        parameter.add(ssc.Dimension.new(size=extent))
    return parameter


def read(path: Path) -> Iterator[StatedRow]:
    """Parameters that have a value, with the units defined in the set."""
    values = Document(str(path), read_bytes(absolute(path))).root_as(ssv.ParameterSet)
    units = document_units(values)
    for parameter in values.parameters:
        value, unit = parameter.value, parameter.unit
        if value is not None and value != ():
            yield StatedRow(
                name=parameter.name,
                value=value,
                unit=None if unit is None else units.get(unit, unit),
                type=parameter.type_name or "",
                source=str(path),
                line=parameter.position.line,
            )
