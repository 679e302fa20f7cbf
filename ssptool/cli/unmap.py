"""`ssptool unmap`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from, parted
from ssptool.cli.map import Of, To
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def unmap_command(
    system: SystemPath,
    how: Editing,
    entries: Annotated[
        list[str] | None, typer.Argument(metavar="SOURCE=TARGET", help="Entries of the mapping, as `map` takes them.")
    ] = None,
    to: To = "",
    of: Of = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Take the mapping away: the parameters have their own names again.")
    ] = False,
) -> None:
    """Take such other names away. The inverse of `map`.

    For example `ssptool unmap plant mass=Motor.m`, or `ssptool unmap plant --all --to Motor`.
    """
    if bool(entries) == everything:
        raise typer.BadParameter("give the entries to take out, or --all", param_hint="SOURCE=TARGET")
    with edited(system, how) as editor:
        for source, target in parted(entries, "SOURCE=TARGET"):
            editor.unmap(source, target, to=to, of=of)
        if everything:
            editor.unmap_all(to=to, of=of)
