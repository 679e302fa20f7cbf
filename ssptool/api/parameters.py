"""Parameters of a system as a table, in a file or in Python."""

from pathlib import Path

from ssptool.api.check import NO_START_VALUES, Files, StartValues, open_archive, parameter_files
from ssptool.arguments import path as file_path
from ssptool.arguments import start_value_texts
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.drawing.text import parameters_text as parameters_text
from ssptool.editing.parameter_files import write_parameters
from ssptool.network.conversion import document_units
from ssptool.network.flatten import build_network
from ssptool.network.parameter_table import ParameterTable, parameter_table
from ssptool.public_calls import public
from ssptool.rules.selection import SettingsFile


@public
def parameters(
    system: Path | str,
    output: Path | str | None = None,
    *,
    variant: str | None = None,
    parameters: Files = (),
    start_values: StartValues = NO_START_VALUES,
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> ParameterTable:
    """Table of all parameters with type, unit, value, origin, range and description.

    Other variables are listed if the documents of the system give them a value. `Editor.set` takes the table back with
    changed values, as a file or as a frame (`to_pandas`).

    Parameters
    ----------
    output
        File to write: .csv, .xlsx (extra `xlsx`), or a parameter set (.ssv), which has no origins and ranges.

    Raises
    ------
    WrongValue
        The file has another ending, or its format cannot store a value.
    MissingPackage
        openpyxl is not installed.
    """
    files, values = parameter_files(parameters), start_value_texts("start_values", start_values)
    with open_archive(system, allow_outside, settings_file) as archive:
        structure = archive.structure(variant)
        network = build_network(archive, structure, start_values=values, parameter_files=files)
        table = parameter_table(network, document_units(structure.root_as(SystemStructureDescription)))
    if output is not None:
        write_parameters(file_path("output", output), table)
    return table
