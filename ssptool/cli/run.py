"""Commands that simulate: `run`, and `plan`, which prints the decisions about a run.

This module declares options for the results, the process and the pace of a run; `settings_options` the numerical ones.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

import ssptool
from ssptool.cli.app import complain, say, sentence
from ssptool.cli.completion import full_names
from ssptool.cli.options import (
    PROCESS,
    Accept,
    Compile,
    Env,
    Isolated,
    MemoryLimit,
    Sandbox,
    StepTimeout,
    SystemPath,
    TextOrJson,
    Timeout,
    advise_sandbox,
    bundled,
    changes_from,
    chosen_units,
    codes,
    fmi_version,
    sandbox_setting,
    stimuli_from,
    time,
)
from ssptool.cli.settings_options import LOGS, PLANNED, settings_options
from ssptool.cli.terminal import busy, progress_bar
from ssptool.documents.foreign_files import own_output
from ssptool.engine.settings import INSIGHT
from ssptool.errors import MissingPackage
from ssptool.foreign_text import joined_lines
from ssptool.option_words import AccuracyWord
from ssptool.sandbox import check_sandbox, closed, gaps, gaps_told, wanted

if TYPE_CHECKING:
    from ssptool.engine.planning.plan import Plan
    from ssptool.engine.run.result import Result

RESULTS = "Results"
"""Panel of the help."""

Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write results to this .csv, .parquet, .mat, .h5 or .mf4 file "
        "(default: SYSTEM.csv in the working folder).",
    ),
]
Record = Annotated[
    list[str] | None,
    typer.Option(
        "--record",
        metavar="PATTERN",
        help="Record only matching signals, variables of FMUs and connectors: '*.x1' or 'System1.*' "
        "(default: inputs and outputs).",
        autocompletion=full_names,
    ),
]
Every = Annotated[
    int,
    typer.Option(
        "--every",
        metavar="N",
        rich_help_panel=RESULTS,
        help="Record every Nth row, the last one, and both sides of events.",
    ),
]
OutputStep = Annotated[
    float | None,
    typer.Option(
        "--output-step",
        parser=time,
        metavar="T",
        rich_help_panel=RESULTS,
        help="Record rows at this interval (10ms), the last one, and both sides of events; between points of exchange "
        "on straight lines. Cannot be combined with --every.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Plot the results to a .png, .svg, .pdf or .html file."),
]
Realtime = Annotated[
    float | None,
    typer.Option(
        "--realtime",
        metavar="FACTOR",
        rich_help_panel=PROCESS,
        help="Run at FACTOR times real time.",
    ),
]


Units = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        metavar="PATTERN=UNIT",
        rich_help_panel=RESULTS,
        help="Write matching signals in this unit: Motor.w=rpm, '*.T=degC' (default: unit of the variable).",
    ),
]
DisplayUnits = Annotated[
    bool,
    typer.Option(
        "--display-units",
        rich_help_panel=RESULTS,
        help="Write signals in the display units that their FMUs define.",
    ),
]


Save = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="STATE",
        rich_help_panel=RESULTS,
        help="Write the state at the stop time to this file, for --from.",
    ),
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="STATE",
        rich_help_panel=RESULTS,
        help="Continue from this file of --save, until a later stop time.",
    ),
]


def recording_from(
    record: Record = None,
    every: Every = 1,
    output_step: OutputStep = None,
    unit: Units = None,
    display_units: DisplayUnits = False,
    save: Save = None,
    saved: From = None,
) -> dict[str, Any]:
    """Options about the recorded rows and signals, and saved states, as keyword arguments of the public API."""
    units = chosen_units(unit, display_units)
    rows = {"record": record or (), "every": every, "output_step": output_step, "units": units}
    return {**rows, "save": save, "saved": saved}


AccuracyOption = Annotated[
    str | None,
    typer.Option(
        "--accuracy",
        metavar="off|auto|check|ERROR",
        rich_help_panel=RESULTS,
        help="Estimate the error of the results by finer runs: auto (if the run takes less than 2 s), "
        "check or off; or choose the step for an error such as 1e-3 of the range of each signal "
        "(default: `accuracy` in ssptool.toml, then SSPTOOL_ACCURACY in the environment, then "
        "auto).",
        show_default=False,
    ),
]


@bundled(settings=settings_options(PLANNED), changes=changes_from, stimuli=stimuli_from)
def plan_command(
    system: SystemPath,
    settings: dict[str, Any],
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    accept: Accept = None,
    sandbox: Sandbox = None,
    export: Annotated[bool, typer.Option("--export", help="Also print the capabilities of the exported FMU.")] = False,
    fmi: Annotated[
        int,
        typer.Option("--fmi", metavar="2|3", parser=fmi_version, help="Version of FMI for --export."),
    ] = 2,
    stability: Annotated[
        bool, typer.Option("--stability", help="Also print which macro steps of co-simulation are stable.")
    ] = False,
    advise: Annotated[
        float | None,
        typer.Option(
            "--advise",
            metavar="ERROR",
            help="Also print which masters and step sizes reach this error, relative to the range of each signal.",
        ),
    ] = None,
) -> None:
    """Print the choices of a run, their reasons, and the calls.

    The options are those of `run`. With --export, the choices are those of the exported FMU. With --stability and
    --advise, FMUs are loaded, and their derivatives tell how errors of macro steps grow, and how large they become.

    Examples:
      ssptool plan plant --master jacobi
    """
    boxed = wanted(sandbox, sandbox_setting(system, changes))
    check_sandbox(boxed)
    with busy():
        plan = ssptool.plan(system, settings=settings, accept=codes(accept), **changes, **stimuli)
    say(str(plan))
    if export:
        say(f"\nExported FMU (FMI {fmi}.0)\n{_export_text(plan, fmi)}")
    asked: Any = {"settings": settings, "accept": codes(accept), "sandbox": sandbox, **changes, **stimuli}
    if stability or advise is not None:
        advise_sandbox(system, sandbox, changes)
    if stability:
        with busy():
            stable = ssptool.analysis.stability(system, **asked)
        say(f"\n{stable}")
    if advise is not None:
        with busy():
            advice = ssptool.analysis.advise(system, error=advise, **asked)
        say(f"\n{advice}")
    if boxed:
        rows = (f"  {name:<11}{what}" for name, what in closed(gaps(boxed)).items())
        say("\n".join(["\nSandbox", *rows, *filter(None, [gaps_told(boxed)])]))


def _export_text(plan: "Plan", fmi: int) -> str:
    found = ssptool.exportable(plan, fmi=fmi)
    flags = (f"  {one.flag:<39} {'true' if one.able else 'false'}  ({one.reason})" for one in found.capabilities)
    return joined_lines([*(f"  refused: {problem}" for problem in found.problems), *flags])


StatisticsOption = Annotated[
    TextOrJson | None,
    typer.Option(
        "--statistics",
        metavar="[FORMAT]",
        rich_help_panel=INSIGHT,
        help="Count and time all calls of FMUs: text (a table below the summary) or json (the whole "
        "report) (default: text).",
    ),
]


Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print the whole summary: choices, loops, counts, notes and messages.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", rich_help_panel=RESULTS, help="Print errors only.")]
Format = Annotated[
    TextOrJson,
    typer.Option(
        "--format",
        metavar="FORMAT",
        rich_help_panel=RESULTS,
        help="Print the summary as text, or the whole report as json.",
    ),
]


class ReportChoice(NamedTuple):
    """The report of a run that was asked for: `summary`, `whole` or `json`; None: errors only."""

    kind: str | None
    measured: bool

    def progress(self) -> AbstractContextManager[Callable[[float], None] | None]:
        return nullcontext(None) if self.kind is None else progress_bar("running")

    def show(self, result: "Result", plot: Path | None, copies: Sequence[Path] = ()) -> None:
        if self.kind is None:
            _print_trouble(result)
            return
        from ssptool.engine.run.summary import result_json, result_text, summary_text

        if self.kind == "json":
            say(result_json(result, plot), verbatim=True)
        else:
            say((summary_text if self.kind == "summary" else result_text)(result, plot, copies))


def report_from(
    verbose: Verbose = False,
    quiet: Quiet = False,
    format: Format = TextOrJson.TEXT,
    statistics: StatisticsOption = None,
) -> ReportChoice:
    """Options about the report of a run."""
    measured = statistics is not None
    json = format is TextOrJson.JSON or statistics is TextOrJson.JSON
    if quiet and (verbose or json):
        raise typer.BadParameter("leave out --verbose, --format and --statistics json", param_hint="--quiet")
    if quiet:
        return ReportChoice(None, measured)
    return ReportChoice("json" if json else "whole" if verbose or measured else "summary", measured)


@bundled(
    settings=settings_options(PLANNED),
    logs=settings_options(LOGS),
    changes=changes_from,
    stimuli=stimuli_from,
    report=report_from,
    recording=recording_from,
)
def run_command(
    system: SystemPath,
    settings: dict[str, Any],
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    *,
    accept: Accept = None,
    output: Output = None,
    recording: dict[str, Any],
    isolated: Isolated = True,
    compile: Compile = False,
    env: Env = None,
    timeout: Timeout = None,
    step_timeout: StepTimeout = None,
    memory_limit: MemoryLimit = None,
    sandbox: Sandbox = None,
    realtime: Realtime = None,
    accuracy: AccuracyOption = None,
    logs: dict[str, Any],
    plot: Plot = None,
    report: ReportChoice,
) -> None:
    """Initialize and simulate a system, and write its results.

    Options that you omit are chosen from the system and the capabilities of its FMUs. --verbose prints the choices,
    `ssptool plan` also their reasons.

    Exit status: 0 the run completed; 1 it failed, or is less accurate than required; 2 wrong usage.

    Examples:
      ssptool run plant --stop-time 5 --set Motor.m=2 --output light.parquet
      ssptool run plant --implementation me --tolerance 1e-8 --plot plant.png
    """
    if plot is not None:
        ssptool.renderers.check_plot_name(plot)
    limits: dict[str, Any] = {"timeout": timeout, "step_timeout": step_timeout, "memory_limit": memory_limit}
    if not isolated:
        _refuse_options_of_child_process(**limits, sandbox=sandbox or None)
    advise_sandbox(system, sandbox if isolated else False, changes)
    read = [system, *changes["parameters"], *_files_of(stimuli)]
    first, *copies = _outputs(output, system, read, [one for one in logs.values() if isinstance(one, Path)])
    with report.progress() as progress:
        result = ssptool.simulate(
            system,
            settings={**settings, **logs},
            output=first,
            **recording,
            keep=plot is not None,
            isolated=isolated,
            **limits,
            sandbox=sandbox,
            statistics=report.measured,
            accuracy=cast("AccuracyWord | None", accuracy),
            realtime=realtime,
            progress=progress,
            accept=codes(accept),
            compile=compile,
            env=env or (),
            **changes,
            **stimuli,
        )
    drawn = plot if plot is not None and _draw(result, plot) else None
    report.show(result, drawn, [path for path in copies if _copied(first, path)])
    raise typer.Exit(0 if result.ok and result.accuracy.met and drawn == plot else 1)


def _outputs(given: list[Path] | None, system: Path, read: Sequence[Path], logs: Sequence[Path | None]) -> list[Path]:
    """Files for the results: first the one that the run writes, then those for copies in other formats.

    A MAT file does not keep all types, so that it is the last to be copied from.
    """
    if not given:
        return [own_output(Path(system.resolve().stem).with_suffix(".csv"))]
    first, *copies = sorted(given, key=lambda path: path.suffix.lower() == ".mat")
    if copies:
        from ssptool.engine.recording.formats import check_output, check_written

        for number, path in enumerate(copies):
            check_output(path)
            check_written(path, [first, *copies[:number], *logs], [one for one in read if one.exists()])
    return [first, *copies]


def _files_of(stimuli: dict[str, Any]) -> Iterator[Path]:
    yield from () if stimuli["inputs"] is None else stimuli["inputs"].source
    yield from () if stimuli["scenario"] is None else (stimuli["scenario"],)


def _copied(results: Path, target: Path) -> bool:
    """Whether there is a copy; where there is none, the summary of the run counts all the more."""
    from ssptool.engine.recording.formats import copy_results

    try:
        notes = copy_results(results, target)
    except (ValueError, OSError, MissingPackage) as problem:
        complain(f"{target} was not written: {sentence(problem) if isinstance(problem, OSError) else problem}")
        return False
    for note in notes:
        say(f"note: {note}", err=True)
    return True


def _refuse_options_of_child_process(**limits: object) -> None:
    """Refuse options that need a child process."""
    if given := [f"--{name.replace('_', '-')}" for name, value in limits.items() if value is not None]:
        message = "cannot be combined with --in-process, because limits and the sandbox need a child process"
        raise typer.BadParameter(message, param_hint=given[0])


def _print_trouble(result: "Result") -> None:
    """All that makes the exit status of a quiet run."""
    if result.failure is not None:
        complain(f"{result.name}: {result.status}\n{result.failure}")
    elif not result.accuracy.met:
        complain(f"{result.name} is not as accurate as asked for: {result.accuracy}")


def _draw(result: "Result", path: Path) -> bool:
    """Whether there is a plot; where there is none, the summary of the run counts all the more."""
    try:
        ssptool.plot(result.trace, path, title=result.name)
    except (ValueError, OSError, MissingPackage) as problem:
        reason = sentence(problem) if isinstance(problem, OSError) else problem
        complain(f"{path} was not drawn: {reason}")
        return False
    return True
