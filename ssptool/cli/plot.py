"""`ssptool plot`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import ssptool


def plot_command(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...", help="Of one or more runs: .csv, .parquet or .mat; or the folder of a study."
        ),
    ],
    signals: Annotated[
        list[str] | None,
        typer.Option("--signals", metavar="PATTERN", help="Only these, e.g. 'System1.*'; else all continuous ones."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A .png, .svg or .pdf, or an .html page that zooms; else a .png."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="Of a study: scatter, tornado or envelope; else what fits to it."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="WxH", help="Of a picture for print, e.g. 160x90mm or 6.3x3.5in."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Above the plot; else the name of the results.")] = None,
) -> None:
    """Draw results over time, or those of a study.

    One panel per unit; signals differ by colour, runs by dashes. Of a study: results over factors, the effects of
    factors one at a time, or the envelope of all traces.

    For example `ssptool plot a.csv b.parquet --signals 'Motor.*' --output runs.html`.
    """
    if missing := [str(path) for path in results if not path.exists()]:
        raise typer.BadParameter(f"there is no file and no folder of a study called {', '.join(missing)}")
    if any(map(Path.is_dir, results)):
        if size is not None:
            raise typer.BadParameter("plots of studies have a size of their own", param_hint="--size")
        _plot_study(results, output, signals or [], kind, title)
        return
    if kind is not None:
        raise typer.BadParameter("only plots of studies are of several kinds", param_hint="--kind")
    names = _names(results)
    path = output or Path(results[0].with_suffix(".png").name)
    runs = dict(zip(names, results, strict=True)) if len(results) > 1 else results[0]
    shown = title if title is not None else " and ".join(names)
    ssptool.plot(runs, path, signals=signals or [], title=shown, size=size)
    typer.echo(f"plot: {path}")


def _plot_study(
    results: Sequence[Path], output: Path | None, patterns: Sequence[str], kind: str | None, title: str | None
) -> None:
    if len(results) > 1:
        raise typer.BadParameter("of studies one is drawn at a time")
    path = output or Path(results[0].resolve().with_suffix(".png").name)
    ssptool.plot_study(results[0], path, kind=kind, signals=patterns, title=title)
    typer.echo(f"plot: {path}")


def _names(results: Sequence[Path]) -> list[str]:
    """The shortest that tell the files apart: without ending, with it, or with their folders."""
    for names in ([path.stem for path in results], [path.name for path in results]):
        if len(set(names)) == len(results):
            return names
    names = [os.path.normpath(path) for path in results]
    if len(set(names)) < len(names):
        raise typer.BadParameter("the same results are given twice")
    return names
