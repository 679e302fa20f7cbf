"""`ssptool pack`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool


def pack_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder with SystemStructure.ssd in it.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.ssp", help="The package; without it beside the folder, of its name.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write even if what is left out, or lies outside, is needed.")
    ] = False,
) -> None:
    """Make a package of a folder. Equal folders give equal files.

    README.md beside the structures and hidden files such as .git are left out. An existing package is replaced.

    For example `ssptool pack plant`, or `ssptool pack plant delivery/plant.ssp`. The inverse is `unpack`.
    """
    packed = ssptool.pack(folder, file, force=force)
    for each in packed.left_out:
        typer.echo(f"left out {each.name} ({each.reason})")
    typer.echo(f"{packed.path}: {len(packed.names)} files")
