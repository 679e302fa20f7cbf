"""`ssptool study FILE`, `ssptool study status|results|resume FOLDER`."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from typer.core import TyperGroup

import ssptool
from ssptool.cli.app import say
from ssptool.cli.completion import assignments
from ssptool.cli.options import (
    WHAT_A_SANDBOX_CLOSES,
    WHAT_IS_COMPILED,
    Env,
    SystemPath,
    TextOrJson,
    Variant,
    advise_sandbox,
    bundled,
    factor,
    judged_by,
    time,
)
from ssptool.cli.terminal import progress_bar
from ssptool.documents.outside import permission
from ssptool.errors import counted
from ssptool.option_words import AccuracyWord, Boxing, StudyWord

if TYPE_CHECKING:
    from ssptool.studies.forecast import Forecast
    from ssptool.studies.stored_results import StudyResults


class _RunByDefault(TyperGroup):
    """`study FILE` is short for `study run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            a_word = not args[0].startswith("-") and not Path(args[0]).exists()
            if a_word and (not Path(args[0]).suffix or get_close_matches(args[0], self.commands, 1)):
                ctx.fail(f"No such command {args[0]!r}, and no such file. {self._advice(args[0])}")
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def _advice(self, word: str) -> str:
        """Command that may be meant by a word that is neither a command nor a file."""
        if word.lower() in get_args(StudyWord):
            return f"`ssptool study new SYSTEM --design {word.lower()}` writes the file of such a study"
        near = get_close_matches(word, self.commands, 1)
        return f"Did you mean {near[0]}?" if near else f"Commands are {', '.join(self.commands)}"


StopTime = Annotated[
    float | None, typer.Option("--stop-time", parser=time, metavar="T", help="Stop each run at this time (10, 500ms).")
]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Result folder of a study.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, metavar="N", help="Run N processes on this machine (default: number of processors)."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Use the workers of this Dask scheduler: tls://host:8786."),
]
InsecureScheduler = Annotated[
    bool,
    typer.Option(
        "--insecure-scheduler",
        help="Accept a scheduler without TLS. Anyone who can reach it can run code on its workers.",
    ),
]
Compile = Annotated[bool, typer.Option("--compile", help=WHAT_IS_COMPILED)]
Sandbox = Annotated[bool | None, typer.Option("--sandbox/--no-sandbox", show_default=False, help=WHAT_A_SANDBOX_CLOSES)]
Format = Annotated[TextOrJson, typer.Option("--format", metavar="FORMAT", help="Print the answer as text or json.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Repeat failed runs.")]


def executed_by(
    workers: Workers = None,
    scheduler: Scheduler = None,
    insecure_scheduler: InsecureScheduler = False,
    compile: Compile = False,
    env: Env = None,
    sandbox: Sandbox = None,
) -> dict[str, Any]:
    """Options about the processes of a study, as keyword arguments of the public API."""
    return {
        "workers": workers,
        "scheduler": scheduler,
        "insecure_scheduler": insecure_scheduler,
        "compile": compile,
        "env": env or (),
        "sandbox": sandbox,
    }


study_app = typer.Typer(
    cls=_RunByDefault,
    help="Run one system many times: `ssptool study FILE.toml`.\n\n"
    "The word `run` is optional. Runs are saved as they finish, so an interrupted study can be continued.",
    no_args_is_help=True,
    add_completion=False,
)


@study_app.command("run")
@bundled(executed=executed_by, judged=judged_by)
def study_run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Study file (.toml) with factors, settings and results.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Write results to this folder (default: FILE.study)."),
    ] = None,
    *,
    executed: dict[str, Any],
    retry_failed: RetryFailed = False,
    format: Format = TextOrJson.TEXT,
    judged: dict[str, Any],
) -> None:
    """Check a study, print the number of its runs and their duration, and run it.

    Runs that are already in the result folder are skipped, so the same command continues an interrupted study.

    Examples:
      ssptool study springs.toml --workers 4
    """
    _advise_sandbox_of_study(file, executed["sandbox"], judged)
    with progress_bar("running") as progress:
        results = ssptool.study(
            file,
            output,
            retry_failed=retry_failed,
            **executed,
            **judged,
            announce=_announce if format is TextOrJson.TEXT else None,
            progress=progress,
        )
    _print_answer_and_exit(results, format)


@study_app.command("new")
@bundled(judged=judged_by)
def study_new(
    system: SystemPath,
    design: Annotated[
        str,
        typer.Option(
            "--design", metavar="KIND", help="Write a grid, lhs, sobol, morris, saltelli, optimize or calibrate study."
        ),
    ] = "",
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", help="Calibrate with these measured signals.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.toml", help="Write this file (default: SYSTEM.toml)."),
    ] = None,
    stop_time: StopTime = None,
    variant: Variant = None,
    *,
    judged: dict[str, Any],
) -> None:
    """Write a first study of a system: its parameters, units and values, with comments.

    Examples:
      ssptool study new plant.ssp --design lhs
      ssptool study new plant.ssp --data measured.csv
    """
    kind = cast("StudyWord", design or ("grid" if data is None else "calibrate"))
    file = ssptool.studies.new_study(
        system, output, design=kind, data=data, stop_time=stop_time, variant=variant, **judged
    )
    words = f"ssptool study {'calibrate ' if kind == 'calibrate' else ''}{file}"
    say(f"wrote {file}\nnext: edit it, then `{words}{permission(system, file.parent)}`")


@study_app.command("resume")
@bundled(executed=executed_by, judged=judged_by)
def study_resume(
    folder: Folder,
    *,
    executed: dict[str, Any],
    retry_failed: RetryFailed = False,
    format: Format = TextOrJson.TEXT,
    judged: dict[str, Any],
) -> None:
    """Continue an interrupted study: `ssptool study resume springs.study`."""
    advise_sandbox(folder, executed["sandbox"], judged)
    with progress_bar("running") as progress:
        results = ssptool.studies.resume_study(
            folder,
            retry_failed=retry_failed,
            **executed,
            **judged,
            announce=_announce if format is TextOrJson.TEXT else None,
            progress=progress,
        )
    _print_answer_and_exit(results, format)


@study_app.command("status")
def study_status(folder: Folder) -> None:
    """Show the progress of a study, also while it runs. Exit status: 1 if runs are missing or failed."""
    results = ssptool.studies.study_results(folder)
    say(_status(results))
    raise typer.Exit(0 if results.status.ok else 1)


@study_app.command("results")
def study_results(
    folder: Folder,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the table to a .csv or .parquet file."),
    ] = None,
    run: Annotated[
        int | None,
        typer.Option("--run", min=0, metavar="NUMBER", help="Write the signals of this run to --output."),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, metavar="N", help="Print at most N runs.")] = 20,
    format: Format = TextOrJson.TEXT,
) -> None:
    """Show the results of a study, or write them into one file; also while it runs."""
    results = ssptool.studies.study_results(folder)
    if run is not None and output is None:
        raise typer.BadParameter(
            "add --output run.csv, .parquet, .mat, .h5 or .mf4: the file for the signals", param_hint="--run"
        )
    if output is not None:
        results.write(output) if run is None else results.write_trace(run, output)
        say(f"results: {output}")
        return
    as_json = format is TextOrJson.JSON
    say(ssptool.renderers.STUDY_RENDERERS["json"](results) if as_json else results.text(rows), verbatim=as_json)


@study_app.command("calibrate")
@bundled(executed=executed_by, judged=judged_by)
def study_calibrate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Study file (.toml) with ranges and [calibration].")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Save the solution in this result folder, for `ssptool report`."
        ),
    ] = None,
    *,
    executed: dict[str, Any],
    format: Format = TextOrJson.TEXT,
    judged: dict[str, Any],
) -> None:
    """Fit parameters to measurements or targets.

    For measurements, the fit has 95 % confidence intervals.
    """
    _advise_sandbox_of_study(file, executed["sandbox"], judged)
    fit = ssptool.calibrate(file, output, **executed, **judged)
    say(ssptool.renderers.FIT_RENDERERS[format.value](fit), verbatim=format is TextOrJson.JSON)
    met = fit.verification is None or fit.verification.met
    raise typer.Exit(0 if fit.converged and met else 1)


@bundled(judged=judged_by)
def sweep_command(
    system: SystemPath,
    factors: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUES…",
            help="Parameters or settings of a run, with values: low:high:count, or a list 1,2,5.",
            autocompletion=assignments,
        ),
    ],
    result: Annotated[
        list[str] | None,
        typer.Option(
            "--result", metavar="EXPRESSION", help="List this result of each run (default: maximum of each output)."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Write results to this folder (default: SYSTEM.sweep)."),
    ] = None,
    stop_time: StopTime = None,
    accuracy: Annotated[
        str | None,
        typer.Option(
            "--accuracy",
            metavar="off|auto|check|ERROR",
            help="Check some runs by runs with smaller steps: auto (if a run takes less than 2 s), check or off; or "
            "require an error such as 1e-3 of the range of each signal (default: `accuracy` in ssptool.toml, then "
            "SSPTOOL_ACCURACY in the environment, then auto).",
        ),
    ] = None,
    variant: Variant = None,
    workers: Workers = None,
    compile: Compile = False,
    sandbox: Sandbox = None,
    format: Format = TextOrJson.TEXT,
    *,
    judged: dict[str, Any],
) -> None:
    """Run a system with each combination of values, and list results.

    Examples:
      ssptool sweep plant.ssp Motor.R=0.3:0.8:6 Motor.L=1,2 --result 'max("Motor.w")'
    """
    advise_sandbox(system, sandbox, judged)
    with progress_bar("running") as progress:
        results = ssptool.sweep(
            system,
            dict(map(factor, factors)),
            result or (),
            output,
            stop_time=stop_time,
            accuracy=cast("AccuracyWord | None", accuracy),
            variant=variant,
            workers=workers,
            compile=compile,
            sandbox=sandbox,
            **judged,
            announce=_announce if format is TextOrJson.TEXT else None,
            progress=progress,
        )
    _print_answer_and_exit(results, format, rows=20)


def _advise_sandbox_of_study(file: Path, sandbox: Boxing | None, judged: dict[str, Any]) -> None:
    """Print the note of `advise_sandbox` about a study and its system; the check of the study reports other errors."""
    from ssptool.studies.study_file import read_toml  # takes long to load

    advise_sandbox(file, sandbox, judged, file.parent / str(read_toml(file)[0].get("system")))


def _announce(forecast: "Forecast") -> None:
    say(str(forecast))


def _status(results: "StudyResults") -> str:
    status = results.status
    lines = [f"{status.name}: {status.completed} of {counted(status.runs, 'run')} completed"]
    if status.failed:
        lines.append(f"{status.failed} failed: `ssptool study results {status.folder}` gives the reasons")
    if status.left:
        lines.append(f"{status.left} left: continue with `ssptool study resume {status.folder}`")
    return "\n".join(lines)


def _print_answer_and_exit(results: "StudyResults", format: TextOrJson, rows: int = 0) -> None:
    """Print the answer, with a table of so many runs before it, and exit."""
    as_json = format is TextOrJson.JSON
    text = results.text(rows) if rows and not as_json else ssptool.renderers.STUDY_RENDERERS[format.value](results)
    say(text, verbatim=as_json)
    best = results.optimum()
    done = results.status.ok if best is None else results.status.left == 0 and bool(best.front)
    raise typer.Exit(0 if done and results.accuracy.met else 1)
