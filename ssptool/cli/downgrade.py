"""`ssptool downgrade`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force
from ssptool.cli.migration_text import DocumentPath, Output, migration_text


def downgrade_command(
    system: DocumentPath,
    drop: Annotated[
        bool,
        typer.Option("--drop", help="Drop what SSP 1.0 cannot hold, and what refers to it; each thing is printed."),
    ] = False,
    output: Output = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Make a system, or one document, one of SSP 1.0.

    What 1.0 can only hold in part is weakened and named; what it cannot hold is
    refused unless --drop is given. Either way the original is kept in
    annotations, from which upgrading restores it. The inverse is `upgrade`.

    For example `ssptool downgrade plant.ssp --drop --diff`.
    """
    migration = ssptool.downgrade(system, drop=drop, output=output, force=force, save=not diff)
    typer.echo(
        ssptool.unified_diff(migration.files) if diff else migration_text(migration, output or system), nl=not diff
    )
