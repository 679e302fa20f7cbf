"""`ssptool unpack`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool


def unpack_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.ssp", help="The package.")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where to; without it beside the package, of its name.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty; its other files stay.")
    ] = False,
) -> None:
    """Write the files of a package into a folder.

    All of them or none, and none outside it.

    For example `ssptool unpack plant.ssp`. The inverse is `pack`.
    """
    unpacked = ssptool.unpack(file, folder, force=force)
    for name in unpacked.kept:
        typer.echo(f"kept {name}, which the package does not have")
    typer.echo(f"{unpacked.folder}: {len(unpacked.names)} files")
