"""`ssptool report`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import SystemPath, Variant

DEFINITION = "study.json"
"""What a folder of a study has; its module would load too much for a command line."""


def report_command(
    system: SystemPath,
    results: Annotated[
        Path | None,
        typer.Argument(
            metavar="RESULTS",
            help="What `run` wrote: .csv, .parquet or .mat; or the folder of a study, which may stand alone.",
        ),
    ] = None,
    variant: Variant = None,
    signals: Annotated[
        list[str] | None,
        typer.Option(
            "--signals",
            metavar="PATTERN",
            help="Plot only these, e.g. 'System1.*'; else all continuous ones. Of a study: results.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="The page; else named after the results.")
    ] = None,
) -> None:
    """Write one HTML page about a run or a study.

    It needs no other file and no network. Of a run: diagram, findings, loops, plots, statistics, manifest. Of a study:
    design, runs and failures, plots, what was calibrated, diagram, findings, origin.

    For example `ssptool report plant plant.csv`, or `ssptool report springs.study`.
    """
    given = system if results is None else results
    path = output or Path(Path(given.name).with_suffix(".html"))
    if (given / DEFINITION).is_file():
        shown = None if results is None else system
        ssptool.report_study(given, path, system=shown, variant=variant, signals=signals or [])
    elif results is None:
        raise ValueError(f"{system} is no folder of a study; a report of a run needs a system and its results")
    else:
        ssptool.report(system, results, path, variant=variant, signals=signals or [])
    typer.echo(f"report: {path}")
