"""Commands that simulate: run, and plan, which prints what a run would do.

Options about the results, the process and the pace of a run stand here, those of its numerics in `settings_options`.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from enum import StrEnum
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

import ssptool
from ssptool.cli.app import complain, say, sentence
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
    bundled,
    changes_from,
    codes,
    stimuli_from,
    time,
)
from ssptool.cli.settings_options import LOGS, PLANNED, settings_options
from ssptool.cli.terminal import busy, progress_bar
from ssptool.documents.foreign_files import own_output
from ssptool.engine.settings import INSIGHT
from ssptool.errors import MissingExtra, abbreviated, counted
from ssptool.foreign_text import indented, joined_lines, json_text
from ssptool.option_words import AccuracyWord
from ssptool.sandbox import check_sandbox

if TYPE_CHECKING:
    from ssptool.engine.assembly.fmu_log import LoggedProblems
    from ssptool.engine.planning.plan import Plan
    from ssptool.engine.run.loops import LoopReport
    from ssptool.engine.run.result import Result, Statistics

RESULTS = "Results"
"""Panel of the help."""

Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write results to this .csv, .parquet or .mat file (default: SYSTEM.csv in the working folder).",
    ),
]
Record = Annotated[
    list[str] | None,
    typer.Option(
        "--record",
        metavar="PATTERN",
        help="Record only matching signals, variables of FMUs and connectors: '*.x1' or 'System1.*' "
        "(default: inputs and outputs).",
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
    sandbox: Sandbox = False,
    export: Annotated[bool, typer.Option("--export", help="Also print the capabilities of the exported FMU.")] = False,
    fmi: Annotated[
        int,
        typer.Option("--fmi", metavar="2|3", min=2, max=3, help="Version of FMI of the exported FMU, with --export."),
    ] = 2,
) -> None:
    """Print the choices of a run, their reasons, and the calls.

    Choices with their reasons, and the sequence of calls. The options are those of `run`.

    For example `ssptool plan plant --master jacobi`.
    """
    if sandbox:
        check_sandbox()
    with busy():
        plan = ssptool.plan(system, settings=settings, accept=codes(accept), **changes, **stimuli)
    say(str(plan))
    if export:
        say(f"\nExported FMU (FMI {fmi}.0)\n{_export_text(plan, fmi)}")
    if sandbox:
        say("\nSandbox\n  available: no network, files by Landlock")


def _export_text(plan: "Plan", fmi: int) -> str:
    found = ssptool.exportable(plan, fmi=fmi)
    flags = (f"  {one.flag:<39} {'true' if one.able else 'false'}  ({one.reason})" for one in found.capabilities)
    return joined_lines([*(f"  refused: {problem}" for problem in found.problems), *flags])


SHOWN_OVERRIDES = 5
"""As many are in a summary."""

SHOWN_KINDS, SHOWN_TEXT = 3, 200
"""Kinds of messages of an FMU that a summary shows, and how many characters of each."""

Entry = tuple[str, str]
"""Of the summary: a name, and what is said under it."""


def summary_text(result: "Result", plot: Path | None = None) -> str:
    """Five lines on a run: what ran, accuracy, warnings, files, and a command to look at them; and a failure, whole."""
    failure = [] if result.failure is None else [indented(str(result.failure))]
    below = (f"{name:<{SHORT}}{text}" for name, text in _below(result, plot))
    return "\n".join([joined_lines([f"{'run':<{SHORT}}{_ran(result)}"]), *failure, joined_lines(below)])


SHORT = 10
"""Width of the names in the five lines."""

NOTABLE_ERROR = 1e-3
"""Error, relative to the range of a signal, above which a smaller step is proposed."""


def _ran(result: "Result") -> str:
    statistics = result.statistics
    chosen = {choice.setting: choice.value for choice in result.choices}
    parts = [result.name]
    if result.rows:
        size = f" of {chosen['step_size']}" if "step_size" in chosen and "adaptive" not in chosen else ""
        master = f" ({chosen['master']})" if "master" in chosen else ""
        steps = f"{counted(statistics.steps, 'step')}{size}{master}"
        parts.append(f"{result.first_time:g} … {result.last_time:.12g} s in {steps}")
    if count := sum(one.kind != "accepted finding" for one in result.overrides):
        parts.append(counted(count, "override"))
    if statistics.latest > 0:
        parts.append(f"at most {statistics.latest:.3g} s behind the clock")
    took = f" in {_duration(statistics.seconds)}" if statistics.seconds > 0 else ""
    return ", ".join([*parts, f"{result.status}{took}"])


def _below(result: "Result", plot: Path | None) -> Iterator[Entry]:
    accuracy = result.accuracy
    yield "accuracy", accuracy.brief() if accuracy.asked else "not checked"
    shown = [
        note
        for note in result.notes
        if not result.columns or (result.output is not None and result.output.name in note)
    ]
    yield "warnings", _warned(result, len(result.notes) - len(shown))
    yield from _files(result, plot)
    yield from (("note", note) for note in shown)
    if result.output is not None:
        command = "report" if plot is not None or result.failure is not None else "plot"
        step = accuracy.finer() if (accuracy.error or 0.0) >= NOTABLE_ERROR else None
        finer = "" if step is None else f"; --step-size {step} for a tenth of the error"
        yield "next", f"ssptool {command} {shlex.quote(str(result.output))}{finer}"


def _warned(result: "Result", notes: int) -> str:
    """The first warning, and the number of everything else that only `--verbose` prints."""
    first, count = [str(one) for one in result.warnings[:1]], len(result.warnings)
    none = "off" if result.settings.warnings == "off" else "none"
    parts = [none] if not first else [first[0] if count == 1 else f"{count}, the first: {first[0]}"]
    if result.statistics.unconverged:
        parts.append(f"{counted(result.statistics.unconverged, 'step')} not converged")
    logged = sum(sum(problems.counts.values()) for problems in result.problems)
    if logged:
        parts.append(counted(logged, "FMU message"))
    if notes:
        parts.append(counted(notes, "note"))
    hidden = count > 1 or logged or notes
    return "; ".join(parts) + ("  (--verbose)" if hidden else "")


def result_text(result: "Result", plot: Path | None = None) -> str:
    """The whole summary of a run: initialization, choices, course, and files of results and plot."""
    failure = [] if result.failure is None else [indented(str(result.failure))]
    went = _lines(_overrides(result), _initialization(result), _choices(result), _run(result))
    measured = chain(_lines(_costs(result.statistics)), _calls(result), _lines(_files(result, plot)))
    return "\n".join([joined_lines([result.name, *went]), *failure, joined_lines(measured)])


def _lines(*parts: Iterable[Entry]) -> Iterator[str]:
    return (f"{name:<16}{text}" for name, text in chain.from_iterable(parts))


def result_json(result: "Result", plot: Path | None = None) -> str:
    """The whole report of a run: choices, notes, warnings, and all that is counted and measured."""
    facts = {
        "system": result.name,
        "status": result.status,
        "failure": None if result.failure is None else asdict(result.failure),
        "start": result.first_time,
        "end": result.last_time,
        "rows": result.rows,
        "signals": [column.signal for column in result.columns],
        "choices": [asdict(choice) for choice in result.choices],
        "notes": result.notes,
        "overrides": [asdict(one) for one in result.overrides],
        "output": result.output,
        "plot": plot,
        "loops": [loop.facts() for loop in result.initialization.loops],
        "problems": [asdict(one) for one in result.problems],
        "statistics": asdict(result.statistics),
        "accuracy": asdict(result.accuracy),
        "warnings": [asdict(one) for one in result.warnings],
    }
    return json_text(facts, indent=1, default=str)


def _overrides(result: "Result") -> Iterator[Entry]:
    """The first of them; accepted findings are notes already."""
    found = [one for one in result.overrides if one.kind != "accepted finding"]
    for one in found[:SHOWN_OVERRIDES]:
        yield "override", str(one)
    if left := len(found[SHOWN_OVERRIDES:]):
        yield "", f"… {counted(left, 'more override')}: all are in the manifest of the results"


def _initialization(result: "Result") -> Iterator[Entry]:
    report = result.initialization
    if not report.loops and report.ok:
        yield "initialization", "one pass, no algebraic loop"
    for loop in report.loops:
        yield "initialization" if loop.stage == "initialization" else "first point", _loop(loop)


def _loop(loop: "LoopReport") -> str:
    solution = loop.solution
    signals, points = counted(len(loop.signals), "signal"), counted(solution.iterations, "iteration")
    return (
        f"algebraic loop of {signals}, solved for {abbreviated(loop.torn)}: {solution.status} "
        f"by {solution.solver}, {points}, {loop.relative_residual}"
    )


def _choices(result: "Result") -> Iterator[Entry]:
    chosen = {choice.setting: choice for choice in result.choices}
    settings = ["master", "input", "step_size", "substeps", "adaptive"]
    if result.accuracy.wanted is not None and result.accuracy.method == "tolerance":
        settings.append("tolerance")
    for setting in settings:
        if setting in chosen:
            yield setting.replace("_", " "), f"{chosen[setting].value}  ({chosen[setting].reason})"


def _run(result: "Result") -> Iterator[Entry]:
    if result.rows:
        steps = counted(result.statistics.steps, "step")
        yield "run", f"{result.first_time:g} … {result.last_time:.12g} s in {steps}, {_speed(result)}"
    yield from _counts(result.statistics)
    for note in result.notes:
        yield "note", note
    for problems in result.problems:
        yield from _logged(problems)
    for warning in result.warnings:
        yield "warning", str(warning)
    if result.accuracy.asked:
        yield "accuracy", str(result.accuracy)
    yield "status", result.status


def _logged(problems: "LoggedProblems") -> Iterator[Entry]:
    """Messages that the FMU of a component logged: their number, and the first of some kinds."""
    counts = ", ".join(f"{count} × {status}" for status, count in problems.counts.items())
    yield "FMU messages", f"{problems.component} logged {counts}"
    for kind in problems.kinds[:SHOWN_KINDS]:
        when = "before the start" if kind.time is None else f"first at t = {kind.time:g} s"
        times = f", {kind.count} ×" if kind.count > 1 else ""
        yield "", f"{shorten(str(kind), SHOWN_TEXT, placeholder=' …')}  ({when}{times})"
    if len(problems.kinds) > SHOWN_KINDS:
        yield "", f"… {len(problems.kinds)} kinds of messages; all: --fmu-log FILE"


def _speed(result: "Result") -> str:
    statistics = result.statistics
    kernel = "" if statistics.kernel == "native" else ", without the native kernel"
    return f"{statistics.seconds:.2f} s of wall time, {statistics.real_time_factor:.3g} × real time{kernel}"


def _counts(statistics: "Statistics") -> Iterator[Entry]:
    """Counts that not every run has."""
    if statistics.evaluations:
        events = f", {counted(statistics.events, 'event')}" if statistics.events else ""
        yield "integrator", f"{counted(statistics.evaluations, 'evaluation')} of all derivatives{events}"
    if statistics.rejected:
        yield "rejected", f"{counted(statistics.rejected, 'step')} taken back, because the error was too large"
    if statistics.iterations_max > 1:
        apart = f", {counted(statistics.unconverged, 'step')} not converged" if statistics.unconverged else ""
        yield "iterations", f"{statistics.iterations_mean:.2f} per step, most {statistics.iterations_max}{apart}"
    if statistics.loops_solved:
        each = statistics.loop_iterations / statistics.loops_solved
        yield "loops", f"{counted(statistics.loops_solved, 'solve')} during the run, {each:.2f} iterations each"
    if statistics.loops_rescued:
        yield "loops", f"{counted(statistics.loops_rescued, 'solve')} needed the full solver during the run"
    if statistics.latest > 0:
        yield "pace", f"at most {statistics.latest:.3g} s behind the clock"


def _calls(result: "Result") -> Iterator[str]:
    """Table of calls, the longest first; names are at the end of rows, where the longest of them displace nothing."""
    calls = result.statistics.calls
    if not calls:
        return
    yield f"calls{'time [s]':>12}{'number':>10}{'each [µs]':>12}  function"
    for one in sorted(calls, key=lambda one: -one.seconds):
        each = 1e6 * one.seconds / one.calls
        yield f"{one.seconds:>17.6f}{one.calls:>10}{each:>12.3f}  {one.function} {one.component}"


def _costs(statistics: "Statistics") -> Iterator[Entry]:
    """Distribution of the time of stepping; names are at the end of rows, as in the table of calls."""
    name = "cost"
    for one in statistics.costs[:_MOST_COSTS]:
        yield name, f"{one.seconds:>12.6f} s{one.percent:>6.1f} %  {one.component or one.part}"
        name = ""
    if left := statistics.costs[_MOST_COSTS:]:
        percent, seconds = sum(one.percent for one in left), sum(one.seconds for one in left)
        yield "", f"{seconds:>12.6f} s{percent:>6.1f} %  {len(left)} more"
    if (slowest := statistics.slowest) is not None:
        yield "slowest step", f"{slowest.component} from t = {slowest.time:g} s took {_duration(slowest.seconds)}"


_MOST_COSTS = 20


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def _files(result: "Result", plot: Path | None) -> Iterator[Entry]:
    if result.output is not None:
        yield "results", f"{result.output}  ({counted(result.rows, 'row')}, {counted(len(result.columns), 'signal')})"
    if plot is not None:
        yield "plot", str(plot)


class StatisticsFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


StatisticsOption = Annotated[
    StatisticsFormat | None,
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
    """The report of a run that was asked for; None: errors only."""

    text: Callable[["Result", Path | None], str] | None
    measured: bool

    def progress(self) -> AbstractContextManager[Callable[[float], None] | None]:
        return nullcontext(None) if self.text is None else progress_bar("running")

    def show(self, result: "Result", plot: Path | None, copies: Sequence[Path] = ()) -> None:
        if self.text is None:
            _complain_of(result)
            return
        say(self.text(result, plot), verbatim=self.text is result_json)
        if copies and self.text is not result_json:
            say(f"also      {', '.join(map(str, copies))}")


def report_from(
    verbose: Verbose = False,
    quiet: Quiet = False,
    format: Format = TextOrJson.TEXT,
    statistics: StatisticsOption = None,
) -> ReportChoice:
    """Options about the report of a run."""
    measured = statistics is not None
    json = format is TextOrJson.JSON or statistics is StatisticsFormat.JSON
    if quiet and (verbose or json):
        raise typer.BadParameter("leave out --verbose, --format and --statistics json", param_hint="--quiet")
    if quiet:
        return ReportChoice(None, measured)
    return ReportChoice(result_json if json else result_text if verbose or measured else summary_text, measured)


@bundled(
    settings=settings_options(PLANNED),
    logs=settings_options(LOGS),
    changes=changes_from,
    stimuli=stimuli_from,
    report=report_from,
)
def run_command(
    system: SystemPath,
    settings: dict[str, Any],
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    *,
    accept: Accept = None,
    output: Output = None,
    record: Record = None,
    every: Every = 1,
    output_step: OutputStep = None,
    isolated: Isolated = True,
    compile: Compile = False,
    env: Env = None,
    timeout: Timeout = None,
    step_timeout: StepTimeout = None,
    memory_limit: MemoryLimit = None,
    sandbox: Sandbox = False,
    realtime: Realtime = None,
    accuracy: AccuracyOption = None,
    logs: dict[str, Any],
    plot: Plot = None,
    report: ReportChoice,
) -> None:
    """Initialize and simulate a system, and write its results.

    Everything that is not asked for is chosen from what the FMUs can do; --verbose prints the choices, and `ssptool
    plan` their reasons. Exit status: 1 if the run did not complete, or is not as accurate as asked for.

    For example `ssptool run plant`, or `ssptool run plant --stop-time 5 --set Motor.m=2 --output light.parquet`, or
    `ssptool run plant --implementation me --tolerance 1e-8 --plot plant.png`.
    """
    if plot is not None:
        ssptool.renderers.check_plot_name(plot)
    if not isolated:
        _without_process(timeout=timeout, step_timeout=step_timeout, memory_limit=memory_limit, sandbox=sandbox or None)
    read = [system, *changes["parameters"], *_files_of(stimuli)]
    first, *copies = _outputs(output, system, read, [one for one in logs.values() if isinstance(one, Path)])
    with report.progress() as progress:
        result = ssptool.simulate(
            system,
            settings={**settings, **logs},
            output=first,
            record=record or (),
            every=every,
            output_step=output_step,
            keep=plot is not None,
            isolated=isolated,
            timeout=timeout,
            step_timeout=step_timeout,
            memory_limit=memory_limit,
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
    except (ValueError, OSError, MissingExtra) as problem:
        complain(f"{target} was not written: {sentence(problem) if isinstance(problem, OSError) else problem}")
        return False
    for note in notes:
        say(f"note: {note}", err=True)
    return True


def _without_process(**limits: object) -> None:
    """Refuse options that need a child process."""
    if given := [f"--{name.replace('_', '-')}" for name, value in limits.items() if value is not None]:
        message = f"cannot be combined with --in-process, because {' and '.join(given)} need a child process"
        raise typer.BadParameter(message, param_hint=given[0])


def _complain_of(result: "Result") -> None:
    """All that makes the exit status of a quiet run."""
    if result.failure is not None:
        complain(f"{result.name}: {result.status}\n{result.failure}")
    elif not result.accuracy.met:
        complain(f"{result.name} is not as accurate as asked for: {result.accuracy}")


def _draw(result: "Result", path: Path) -> bool:
    """Whether there is a plot; where there is none, the summary of the run counts all the more."""
    try:
        ssptool.plot(result.trace, path, title=result.name)
    except (ValueError, OSError, MissingExtra) as problem:
        reason = sentence(problem) if isinstance(problem, OSError) else problem
        complain(f"{path} was not drawn: {reason}")
        return False
    return True
