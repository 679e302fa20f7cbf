"""`ssptool upgrade`."""

import typer

import ssptool
from ssptool.cli.edited import Diff, Force
from ssptool.cli.migration_text import DocumentPath, Output, migration_text


def upgrade_command(system: DocumentPath, output: Output = None, diff: Diff = False, force: Force = False) -> None:
    """Make a system, or one document, one of SSP 2.0.

    Nothing is lost, and what an earlier downgrade kept aside comes back. Only
    what must change does.
    """
    migration = ssptool.upgrade(system, output=output, force=force, write=not diff)
    typer.echo(
        ssptool.unified_diff(migration.files) if diff else migration_text(migration, output or system), nl=not diff
    )
