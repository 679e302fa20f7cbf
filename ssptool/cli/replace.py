"""`ssptool replace`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def replace_command(
    system: SystemPath,
    how: Editing,
    component: Annotated[str, typer.Argument(metavar="COMPONENT", help="By its full name.")],
    fmu: Annotated[str, typer.Argument(metavar="FMU", help="A file, or an entry of the archive.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would break and change, and write nothing.")
    ] = False,
) -> None:
    """Let a component be another FMU.

    Refused if connectors, connections or parameters use what that does not have; --dry-run lists these. Exit status of
    a dry run: 1 if something breaks.

    For example `ssptool replace plant Motor Motor_v2.fmu --dry-run`.
    """
    with edited(system, how, save=not dry_run) as editor:
        if not dry_run:
            editor.replace(component, fmu, force=how.force)
            return
        found = editor.consequences(component, fmu)
    for each in found:
        typer.echo(str(each))
    breaking = sum(each.weight == "breaks" for each in found)
    typer.echo(f"{breaking} of {len(found)} consequences break something" if found else "nothing breaks or changes")
    raise typer.Exit(1 if breaking else 0)
