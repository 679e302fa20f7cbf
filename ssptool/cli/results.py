"""Commands about results: plot, compare, report, reproduce."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import ssptool
from ssptool.arguments import SYSTEM_ENDINGS, parse_time
from ssptool.cli.app import say
from ssptool.cli.options import (
    AllowOutside,
    TextOrJson,
    Variant,
    advise_sandbox,
    bundled,
    chosen_units,
    process_options,
)
from ssptool.cli.options import time as time_option
from ssptool.documents.foreign_files import own_output
from ssptool.errors import WrongValue
from ssptool.results.tolerance import Tolerance, ToleranceFor

PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write a .png, .svg, .pdf, or an .html page that zooms (default: RESULTS.png).",
    ),
]
PrintSize = Annotated[
    str | None,
    typer.Option("--size", metavar="WxH", help="Size of a picture for print: 160x90mm or 6.3x3.5in."),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Kind of plot of a study: scatter, tornado, envelope, sensitivity, parallel, surface, "
        "front, convergence or fit (default: depends on the study).",
    ),
]
Factors = Annotated[
    list[str] | None,
    typer.Option("--factors", metavar="PATTERN", help="Plot only these factors of a study (default: those that vary)."),
]
Colour = Annotated[
    str | None, typer.Option("--colour", metavar="NAME", help="Colour the runs of a study by this factor.")
]
Units = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        metavar="PATTERN=UNIT",
        help="Draw matching signals in this unit: Motor.w=rpm, '*.T=degC' (default: unit of the results).",
    ),
]
DisplayUnits = Annotated[
    bool, typer.Option("--display-units", help="Draw signals in the display units that their FMUs define.")
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Redraw in the terminal while a run writes the results (.csv or .parquet), until it ends.",
    ),
]
LiveStopTime = Annotated[
    float | None,
    typer.Option(
        "--stop-time",
        parser=time_option,
        metavar="T",
        help="End --live at this time, for results of other tools.",
    ),
]


def units_from(unit: Units = None, display_units: DisplayUnits = False) -> Any:
    """Units of plots, as an argument of the public API."""
    return chosen_units(unit, display_units)


def of_study(kind: Kind = None, factors: Factors = None, colour: Colour = None) -> dict[str, Any]:
    """Options that only plots of studies take, as keyword arguments of the public API."""
    return {"kind": kind, "factors": factors, "colour": colour}


@bundled(study=of_study, units=units_from)
def plot_command(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...",
            help="Results of one or more runs: .csv, .parquet, .mat, .h5 or .mf4; or the folder of a study.",
        ),
    ],
    signals: Annotated[
        list[str] | None,
        typer.Option(
            "--signals",
            metavar="PATTERN",
            help="Plot only matching signals: 'System1.*' (default: all continuous ones).",
        ),
    ] = None,
    output: PlotFile = None,
    *,
    study: dict[str, Any],
    size: PrintSize = None,
    units: Any,
    title: Annotated[
        str | None, typer.Option("--title", help="Title of the plot (default: name of the results).")
    ] = None,
    live: Live = False,
    stop_time: LiveStopTime = None,
) -> None:
    """Plot results over time, or the results of a study.

    There is one panel per unit, and more if curves differ much in size. Signals differ by colour, runs by dashes. Plots
    of a study show results over factors, the effects of factors one at a time, or the envelope of all traces.

    Examples:
      ssptool plot a.csv b.parquet --signals 'Motor.*' --output runs.html
      ssptool plot a.csv --live    # while `ssptool run` writes the file
    """
    if live:
        _plot_live(
            results, signals or [], stop_time, title, {"output": output, **study, "size": size, "unit": units or None}
        )
        return
    if stop_time is not None:
        raise typer.BadParameter("only a plot in the terminal (--live) ends at a time", param_hint="--stop-time")
    if missing := [str(path) for path in results if not path.exists()]:
        pictures = [name for name in missing if Path(name).suffix.lower() in (".png", ".svg", ".pdf", ".html")]
        chosen = " ".join(f"--output {name}" if name in pictures else f"--signals {name}" for name in missing)
        does = "writes the picture" if pictures else "plots signals by name"
        hint = f"; `{chosen}` {does}" if len(missing) < len(results) else ""
        raise typer.BadParameter(f"{', '.join(missing)}: no such result file or study folder{hint}")
    _refuse_systems(results)
    if any(map(Path.is_dir, results)):
        if size is not None:
            raise typer.BadParameter("plots of studies have a size of their own", param_hint="--size")
        if units:
            raise typer.BadParameter("results of studies are drawn in their own units", param_hint="--unit")
        drawn = {**study, "signals": signals or (), "factors": study["factors"] or (), "title": title}
        _plot_study(results, output, drawn)
        return
    if given := [name for name, value in study.items() if value is not None]:
        raise typer.BadParameter("only plots of studies are of several kinds", param_hint=f"--{given[0]}")
    _plot_runs(results, output, title, {"signals": signals or [], "size": size, "units": units})


def _refuse_systems(results: Sequence[Path]) -> None:
    """Raise WrongValue for a system, or for a folder that is not that of a study."""
    from ssptool.documents.archive import DEFAULT_STRUCTURE

    for path in results:
        is_system = (path / DEFAULT_STRUCTURE).is_file() or path.suffix.lower() in SYSTEM_ENDINGS
        if is_system or (path.is_dir() and not (path / DEFINITION).is_file()):
            what = "a system" if is_system else "not a result folder of a study"
            name = f" {shlex.quote(str(path))}" if is_system else ""
            draws = f"`ssptool draw{name}` draws it; " if is_system else ""
            raise WrongValue(
                f"{path} is {what}; {draws}plot needs a file that `ssptool run{name}` wrote (.csv, .parquet, .mat, "
                ".h5 or .mf4), or the result folder of a study"
            )


def _plot_live(
    results: Sequence[Path],
    signals: Sequence[str],
    stop_time: float | None,
    title: str | None,
    others: Mapping[str, object],
) -> None:
    if given := [f"--{name}" for name, value in others.items() if value is not None]:
        raise typer.BadParameter(f"a plot in the terminal has no {', '.join(given)}", param_hint="--live")
    if len(results) > 1:
        raise typer.BadParameter(f"one run is followed at a time, found {len(results)} results", param_hint="--live")
    if results[0].is_dir():
        raise typer.BadParameter(
            f"{results[0]} is a folder; a plot in the terminal follows one run", param_hint="--live"
        )
    if not results[0].parent.is_dir():
        raise typer.BadParameter(f"{results[0].parent}: no such folder", param_hint="--live")
    from ssptool.cli.live_plot import live_plot  # numerics, which other commands do not load

    live_plot(results[0], signals, stop_time, title)


def _file_named_after(results: Path, ending: str) -> Path:
    """File in the working directory; the name of a folder stays whole, because a run may have results of its stem."""
    given = results.resolve()
    return own_output(Path(f"{given.name if given.is_dir() else given.stem}{ending}"))


def _plot_runs(results: Sequence[Path], output: Path | None, title: str | None, drawing: Mapping[str, Any]) -> None:
    path = output or _file_named_after(results[0], ".png")
    shown = title if title is not None else " and ".join(dict.fromkeys(result.stem for result in results))
    drawn = ssptool.plot(list(results), path, title=shown, **drawing)
    for note in drawn.notes:
        say(f"note: {note}")
    say(f"plot: {path}")


def _plot_study(results: Sequence[Path], output: Path | None, drawn: Mapping[str, Any]) -> None:
    if len(results) > 1:
        raise typer.BadParameter("of studies one is drawn at a time")
    path = output or _file_named_after(results[0], ".png")
    ssptool.studies.plot_study(results[0], path, **drawn)
    say(f"plot: {path}")


_Widths = list[str] | None


def compare_command(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="Results to check: .csv, .parquet, .mat, .h5 or .mf4.")
    ],
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="Reference results.")],
    signals: Annotated[
        list[str] | None,
        typer.Option("--signals", metavar="PATTERN", help="Compare only these signals of the reference: 'System1.*'."),
    ] = None,
    absolute: Annotated[
        _Widths, typer.Option(metavar="[PATTERN=]VALUE", help="Allowed deviation, in the signal's unit.")
    ] = None,
    relative: Annotated[
        _Widths,
        typer.Option(
            metavar="[PATTERN=]VALUE",
            help="Allowed deviation, relative to the largest magnitude of the reference (default: 0.001 if"
            " --absolute is not given).",
        ),
    ] = None,
    time: Annotated[
        _Widths, typer.Option(metavar="[PATTERN=]T", help="Allowed shift in time, earlier or later: 0.01, 10ms.")
    ] = None,
    drop_prefix: Annotated[
        str,
        typer.Option("--drop-prefix", metavar="TEXT", help="Drop this prefix from names of signals: model.root."),
    ] = "",
    format: Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")] = TextOrJson.TEXT,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the worst signals and their tubes: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Compare results with a reference, within tolerances.

    Continuous signals are lines between their samples, and each has a tube around its reference. Booleans, integers and
    enumerations must be equal unless a tolerance names them.

    Exit status: 0 all signals of the reference agree; 1 signals differ; 2 wrong usage.

    Examples:
      ssptool compare plant.csv reference.csv --relative 1e-3 --absolute 'Motor.tau=0.05'
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
    say(ssptool.renderers.TRACE_COMPARISON_RENDERERS[format.value](comparison), verbatim=format is TextOrJson.JSON)
    raise typer.Exit(0 if comparison.agrees else 1)


def _tolerances(options: Mapping[str, _Widths]) -> tuple[Tolerance, list[ToleranceFor]]:
    """The tolerance of all signals, and tolerances of patterns, which inherit values that they do not state."""
    stated: dict[str, dict[str, float]] = {"": {}}
    for name, texts in options.items():
        for text in texts or []:
            pattern, _, value = text.rpartition("=")
            stated.setdefault(pattern, {})[name] = _number(value, name)
    try:
        common = _with_widths(Tolerance(), stated.pop(""))
        return common, [ToleranceFor(pattern, _with_widths(common, widths)) for pattern, widths in stated.items()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _with_widths(tolerance: Tolerance, widths: Mapping[str, float]) -> Tolerance:
    # Who states an absolute width does not want a relative one added to it.
    alone = {"relative": 0.0} if "absolute" in widths else {}
    return replace(tolerance, **{**alone, **widths})


def _number(text: str, name: str) -> float:
    try:
        return parse_time(text) if name == "time" else float(text)
    except ValueError as error:
        allowed = str(error) if name == "time" else "a number"
        raise typer.BadParameter(f"must be {allowed}; found {text!r}", param_hint=f"--{name}") from None


DEFINITION = "study.json"
"""File that each folder of a study has; its module would load too much for a command line."""


@bundled(units=units_from)
def report_command(
    system: Annotated[
        Path,
        typer.Argument(
            metavar="SYSTEM",
            help="System of the run: .ssp, unpacked folder, .ssd or .fmu (default: the one that the results name).",
        ),
    ],
    results: Annotated[
        Path | None,
        typer.Argument(
            metavar="RESULTS",
            help="Results of `run`: .csv, .parquet, .mat, .h5 or .mf4; or the folder of a study.",
        ),
    ] = None,
    variant: Variant = None,
    signals: Annotated[
        list[str] | None,
        typer.Option(
            "--signals",
            metavar="PATTERN",
            help="Plot only matching signals, or results of a study: 'System1.*' (default: all continuous ones).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE.html", help="Write the report to this file (default: RESULTS.report.html)."
        ),
    ] = None,
    units: Any = None,
    allow_outside: AllowOutside = None,
) -> None:
    """Write one HTML report about a run or a study.

    The report is one file and needs no network. For a run it has diagram, findings, loops, plots, statistics and
    manifest; for a study, design, runs and failures, plots, calibration, diagram, findings and origin.

    Examples:
      ssptool report plant.csv
      ssptool report springs.study
    """
    path = output or _file_named_after(system if results is None else results, ".report.html")
    ssptool.report(
        system,
        results,
        path,
        variant=variant,
        signals=signals or [],
        allow_outside=allow_outside or [],
        **({"units": units} if units else {}),
    )
    say(f"report: {path}")


def allowed(
    absolute: Annotated[
        float | None, typer.Option(metavar="VALUE", help="Allowed deviation, in the unit of each signal.")
    ] = None,
    relative: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE", help="Allowed deviation, relative to the largest magnitude of the signal (default: 1e-6)."
        ),
    ] = None,
) -> Tolerance | None:
    """Options for the tolerance of all signals; None where none is given."""
    stated = {"absolute": absolute, "relative": relative}
    widths = {name: value for name, value in stated.items() if value is not None}
    return Tolerance(**{"relative": 0.0, **widths}) if widths else None


@bundled(tolerance=allowed, process=process_options)
def reproduce_command(
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            help="Results of `run`: .csv, .parquet, .mat, .h5 or .mf4; or a run of a study: FOLDER.study#NUMBER.",
        ),
    ],
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="RESULT", help="Compare with these results (default: the recorded ones)."),
    ] = None,
    system: Annotated[
        Path | None,
        typer.Option("--system", metavar="SYSTEM", help="Present location of the system (default: the recorded one)."),
    ] = None,
    *,
    tolerance: Tolerance | None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Keep the results of the new run in this file."),
    ] = None,
    allow_outside: Annotated[
        list[Path] | None,
        typer.Option(
            "--allow-outside",
            metavar="FOLDER",
            help="Also read files in this folder: around an .ssp, or named by the manifest.",
        ),
    ] = None,
    process: dict[str, Any],
    format: Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")] = TextOrJson.TEXT,
) -> None:
    """Repeat the run of a result, and compare the values.

    The manifest of the result gives the system, its settings, stimuli and parameters; options give everything that a
    manifest does not contain. The command lists changed files and other versions of libraries.

    Exit status: 0 all bits are the same, or all values are inside the tolerance; 1 values differ; 2 the run cannot be
    repeated.

    Examples:
      ssptool reproduce plant.csv
      ssptool reproduce springs.study#17
    """
    advise_sandbox(Path(result.partition("#")[0]), process["sandbox"], {}, *filter(None, [system]))
    reproduction = ssptool.reproduce(
        result,
        against=against,
        system=system,
        output=output,
        tolerance=tolerance,
        allow_outside=allow_outside or [],
        **process,
    )
    say(ssptool.renderers.REPRODUCTION_RENDERERS[format.value](reproduction), verbatim=format is TextOrJson.JSON)
    raise typer.Exit(0 if reproduction.same else 1)
