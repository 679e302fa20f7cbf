"""Files with tables of parameters: one module per format, chosen by the extension of the file."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ssptool.editing.parameter_rows import StatedRow
from ssptool.errors import WrongValue
from ssptool.network.parameter_table import ParameterTable

FORMATS: Mapping[str, str] = {
    ".csv": "parameters_in_csv",
    ".xlsx": "parameters_in_xlsx",
    ".ssv": "parameters_in_ssv",
}
"""Extension → module with the functions `write` and `read`; imported at first use."""


def write_parameters(path: Path, table: ParameterTable) -> None:
    """Write a table of parameters in the format of the extension.

    Raises
    ------
    WrongValue
        No format has this extension, or the format cannot represent a value.
    MissingPackage
        The package of the format is not installed.
    OSError
        The file cannot be written.
    """
    _function(path, "write")(path, table)


def read_parameters(path: Path) -> list[StatedRow]:
    """The rows of a table of parameters.

    Raises
    ------
    BadData
        The file is not such a table.
    InvalidDocument
        A parameter set (.ssv) is not valid.
    WrongValue, MissingPackage, OSError
        As `write_parameters`.
    """
    rows: list[StatedRow] = list(_function(path, "read")(path))
    return rows


def _function(path: Path, name: str) -> Callable[..., Any]:
    module = FORMATS.get(path.suffix.lower())
    if module is None:
        raise WrongValue(f"tables of parameters are files of type {', '.join(FORMATS)}; found {path.name!r}")
    function: Callable[..., Any] = getattr(import_module(f"ssptool.editing.{module}"), name)
    return function
