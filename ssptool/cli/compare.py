"""`ssptool compare`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.arguments import parse_time
from ssptool.cli.options import TextOrJson
from ssptool.results.tolerance import Tolerance, ToleranceFor

_Widths = list[str] | None


def compare_command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Results to judge: .csv, .parquet or .mat.")],
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="Results to judge them by.")],
    signals: Annotated[
        list[str] | None,
        typer.Option("--signals", metavar="PATTERN", help="Only these signals of the reference, e.g. 'System1.*'."),
    ] = None,
    absolute: Annotated[
        _Widths, typer.Option(metavar="[PATTERN=]VALUE", help="How far values may be off, in the signal's unit.")
    ] = None,
    relative: Annotated[
        _Widths,
        typer.Option(
            metavar="[PATTERN=]VALUE",
            help="Times the largest magnitude of the reference; 0.001 if neither is given.",
        ),
    ] = None,
    time: Annotated[
        _Widths, typer.Option(metavar="[PATTERN=]T", help="How much earlier or later values may come: 0.01, 10ms.")
    ] = None,
    drop_prefix: Annotated[
        str,
        typer.Option("--drop-prefix", metavar="TEXT", help="Dropped from names of signals, e.g. model.root."),
    ] = "",
    format: Annotated[TextOrJson, typer.Option("--format", help="How to print the comparison.")] = TextOrJson.TEXT,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the worst signals and their tubes: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Say whether results stay inside tolerances around a reference.

    Continuous signals are lines between their samples, and each has a tube around its reference; Booleans, integers and
    enumerations must be equal unless a tolerance names them. Exit status: 0 if all signals of the reference agree, 1 if
    not.

    For example `ssptool compare plant.csv reference.csv --relative 1e-3 --absolute 'Motor.tau=0.05'`.
    """
    tolerance, special = _tolerances({"absolute": absolute, "relative": relative, "time": time})
    comparison = ssptool.compare(
        trace,
        reference,
        signals=signals or [],
        tolerance=tolerance,
        special=special,
        plot=plot,
        drop_prefix=drop_prefix,
    )
    typer.echo(ssptool.TRACE_COMPARISON_RENDERERS[format.value](comparison))
    raise typer.Exit(0 if comparison.agrees else 1)


def _tolerances(options: Mapping[str, _Widths]) -> tuple[Tolerance, list[ToleranceFor]]:
    """The tolerance of all signals, and those of patterns, which take from it what is not said of them."""
    stated: dict[str, dict[str, float]] = {"": {}}
    for name, texts in options.items():
        for text in texts or []:
            pattern, _, value = text.rpartition("=")
            stated.setdefault(pattern, {})[name] = _number(value, name)
    try:
        common = _widened(Tolerance(), stated.pop(""))
        return common, [ToleranceFor(pattern, _widened(common, widths)) for pattern, widths in stated.items()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _widened(tolerance: Tolerance, widths: Mapping[str, float]) -> Tolerance:
    # Who states an absolute width does not want a relative one added to it.
    alone = {"relative": 0.0} if "absolute" in widths else {}
    return replace(tolerance, **{**alone, **widths})


def _number(text: str, name: str) -> float:
    try:
        return parse_time(text) if name == "time" else float(text)
    except ValueError as error:
        allowed = str(error) if name == "time" else "a number"
        raise typer.BadParameter(f"must be {allowed}; found {text!r}", param_hint=f"--{name}") from None
