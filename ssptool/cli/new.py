"""`ssptool new`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, showing


def new_command(
    system: Annotated[
        Path, typer.Argument(metavar="SYSTEM", help="What to make: NAME.ssp, NAME.ssd, or else a folder.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the system; else that of the file.")
    ] = None,
    ssp_version: Annotated[str, typer.Option("--ssp-version", metavar="1.0|2.0", help="Version of SSP.")] = "2.0",
    start_time: Annotated[
        float | None, typer.Option("--start-time", metavar="T", help="Of the default experiment, in seconds.")
    ] = None,
    stop_time: Annotated[
        float | None, typer.Option("--stop-time", metavar="T", help="Of the default experiment, in seconds.")
    ] = None,
    diff: Diff = False,
) -> None:
    """Make an empty system.

    For example `ssptool new plant --stop-time 10`, or `ssptool new plant.ssp --ssp-version 1.0`.
    """
    made = ssptool.new(
        system, name=name, version=ssp_version, start_time=start_time, stop_time=stop_time, save=not diff
    )
    with showing(made, diff) as editor:
        editor.note(f"made {system}, a system of SSP {ssp_version}")
