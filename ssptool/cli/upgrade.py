"""`ssptool upgrade`."""

from enum import StrEnum
from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force
from ssptool.cli.migration_text import DocumentPath, Output, migration_text


class TypeNames(StrEnum):
    KEEP = "keep"
    FMI3 = "fmi3"


def upgrade_command(
    system: DocumentPath,
    types: Annotated[
        TypeNames,
        typer.Option("--types", help="fmi3: Real becomes Float64 and Integer becomes Int32, also in files of 2.0."),
    ] = TypeNames.KEEP,
    output: Output = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Make a system, or one document, one of SSP 2.0.

    Nothing is lost, and what an earlier downgrade kept aside comes back. Only
    what must change does, and --types if asked for. The inverse is
    `downgrade`.

    For example `ssptool upgrade plant.ssp --types fmi3 --diff`.
    """
    migration = ssptool.upgrade(system, types=types.value, output=output, force=force, save=not diff)
    typer.echo(
        ssptool.unified_diff(migration.files) if diff else migration_text(migration, output or system), nl=not diff
    )
