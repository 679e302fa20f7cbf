"""`ssptool report`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import SystemPath, Variant


def report_command(
    system: SystemPath,
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="What `run` wrote: .csv, .parquet or .mat.")],
    variant: Variant = None,
    signals: Annotated[
        list[str] | None,
        typer.Option(
            "--signals", metavar="PATTERN", help="Plot only these, e.g. 'System1.*'; else all continuous ones."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE.html", help="The page; else named after the results.")
    ] = None,
) -> None:
    """Write one self-contained HTML page about a run: diagram, findings, loops, plots, statistics, manifest."""
    path = output or Path(results.with_suffix(".html").name)
    ssptool.report(system, results, path, variant=variant, patterns=signals or [])
    typer.echo(f"report: {path}")
