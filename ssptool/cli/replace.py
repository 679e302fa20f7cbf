"""`ssptool replace`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant


def replace_command(
    system: SystemPath,
    component: Annotated[str, typer.Argument(metavar="COMPONENT", help="By its full name.")],
    fmu: Annotated[str, typer.Argument(metavar="FMU", help="A file, or an entry of the archive.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would break and change, and write nothing.")
    ] = False,
    variant: Variant = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Let a component be another FMU. Refused if connectors, connections or parameters use what that does not have."""
    with showing(ssptool.edit(system, variant=variant, force=force, save=not (diff or dry_run)), diff) as editor:
        if not dry_run:
            editor.replace(component, fmu, force=force)
            return
        found = editor.consequences(component, fmu)
    for each in found:
        typer.echo(str(each))
    breaking = sum(each.weight == "breaks" for each in found)
    typer.echo(f"{breaking} of {len(found)} consequences break something" if found else "nothing breaks or changes")
    raise typer.Exit(1 if breaking else 0)
