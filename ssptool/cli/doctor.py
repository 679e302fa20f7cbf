"""The command `ssptool doctor`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.app import say
from ssptool.cli.options import TextOrJson


def doctor_command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH...]", help="FMUs, systems, and folders to search for these (default: none)."),
    ] = None,
    format: Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")] = TextOrJson.TEXT,
) -> None:
    """List installed and missing parts of ssptool.

    The list has versions, the packages of each extra with the command that installs them, compilers, and the platforms
    for which systems can be exported. For FMUs: those that have no library for this platform. FMUs are not loaded.

    Exit status: 1 if a required package is missing. Missing extras do not count.

    Examples:
      ssptool doctor
      ssptool doctor plant.ssp models/
    """
    diagnosis = ssptool.doctor(*(paths or ()))
    say(ssptool.renderers.DIAGNOSIS_RENDERERS[format.value](diagnosis), verbatim=format is TextOrJson.JSON)
    raise typer.Exit(bool(diagnosis.troubles))
