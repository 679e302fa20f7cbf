"""`ssptool unset`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def unset_command(
    system: SystemPath,
    how: Editing,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Full names of variables or connectors: System1.m1.")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE.ssv", help="The parameter set; else that from which the value comes."),
    ] = None,
    start_time: Annotated[
        bool, typer.Option("--start-time", help="Take the start time of the default experiment away.")
    ] = False,
    stop_time: Annotated[
        bool, typer.Option("--stop-time", help="Take the stop time of the default experiment away.")
    ] = False,
) -> None:
    """Remove parameters that were set. The inverse of `set`.

    What holds then is the next parameter in the order of precedence, or the start value in the FMU; it is printed. A
    parameter that matches nothing can be removed by its name as well.

    For example `ssptool unset plant Motor.m`.
    """
    if not names and not start_time and not stop_time:
        raise typer.BadParameter("give names, --start-time or --stop-time", param_hint="NAME")
    with edited(system, how) as editor:
        for name in names or ():
            editor.unset(name, of=of)
        editor.unset_experiment(start=start_time, stop=stop_time)
