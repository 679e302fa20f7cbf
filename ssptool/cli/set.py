"""`ssptool set`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from
from ssptool.cli.options import SystemPath, parse_start_values, time


@bundled(how=editing_from)
def set_command(
    system: SystemPath,
    how: Editing,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Full names, e.g. System1.m1=2.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="UNIT", help="Of the values, e.g. mm; else those of the variables."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="FILE.ssv", help="The parameter set to edit; made if it is not there."),
    ] = None,
    start_time: Annotated[
        float | None, typer.Option("--start-time", parser=time, metavar="T", help="Of the default experiment: 0, 10ms.")
    ] = None,
    stop_time: Annotated[
        float | None, typer.Option("--stop-time", parser=time, metavar="T", help="Of the default experiment: 10, 2min.")
    ] = None,
) -> None:
    """Set parameters and start values, or the default experiment.

    A parameter is changed in the set from which its value comes. One that has no value yet goes into the last set that
    is bound to the system, or into a new inline set. If the value comes from a document inside of which other
    components are made as well, the system gives this one another value (but see --shared). The inverse is `unset`.

    For example `ssptool set plant Motor.m=2 Gear.ratio=7.5`, or `ssptool set plant Motor.length=20 --unit mm`.
    """
    if not values and start_time is None and stop_time is None:
        raise typer.BadParameter("give values to set, --start-time or --stop-time", param_hint="NAME=VALUE")
    wanted = parse_start_values(values, "NAME=VALUE")
    with edited(system, how) as editor:
        for name, value in wanted.items():
            editor.set(name, value, unit=unit, into=into)
        if start_time is not None or stop_time is not None:
            editor.set_experiment(start_time, stop_time)
