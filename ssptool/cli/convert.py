"""`ssptool convert`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool


def convert_command(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="An FMU, or an OspSystemStructure.xml or the folder with it.")
    ],
    target: Annotated[Path, typer.Argument(metavar="FILE.ssp", help="The package to write, or a new folder.")],
) -> None:
    """Write an FMU, or a system of the Open Simulation Platform, as SSP.

    FMUs are packed where they are there; connectors state types and units. Step sizes, algorithm and power bonds of an
    OspSystemStructure.xml become annotations. What is not carried over is named; functions without a counterpart in SSP
    (Sum, VectorSum) are refused.

    For example `ssptool convert Motor.fmu motor.ssp`, or `ssptool convert crane/OspSystemStructure.xml crane.ssp`.
    """
    converted = ssptool.convert(source, target)
    for note in converted.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"{converted.path}: {len(converted.names)} files")
