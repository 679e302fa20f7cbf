"""`ssptool new`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, showing
from ssptool.cli.options import time


def new_command(
    system: Annotated[
        Path, typer.Argument(metavar="SYSTEM", help="What to make: NAME.ssp, NAME.ssd, or else a folder.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the system; else that of the file.")
    ] = None,
    ssp: Annotated[
        str,
        typer.Option("--ssp", metavar="1.0|2.0", help="Version of SSP; 1.0 becomes 2.0 once an edit needs it."),
    ] = "1.0",
    start_time: Annotated[
        float | None, typer.Option("--start-time", parser=time, metavar="T", help="Of the default experiment: 0, 10ms.")
    ] = None,
    stop_time: Annotated[
        float | None, typer.Option("--stop-time", parser=time, metavar="T", help="Of the default experiment: 10, 2min.")
    ] = None,
    diff: Diff = False,
) -> None:
    """Make an empty system.

    For example `ssptool new plant --stop-time 10`, or `ssptool new plant.ssp --ssp 2.0`.
    """
    made = ssptool.new(system, name=name, ssp=ssp, start_time=start_time, stop_time=stop_time, save=not diff)
    with showing(made, diff) as editor:
        editor.note(f"made {system}, a system of SSP {ssp}")
