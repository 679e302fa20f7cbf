"""`ssptool run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import ssptool
from ssptool.cli.bundles import bundled
from ssptool.cli.console import complain, progress_bar
from ssptool.cli.options import Accept, SystemPath, changes_from, codes
from ssptool.cli.run_options import (
    Compile,
    Every,
    FmuLog,
    FmuLogCategories,
    FmuLogLevels,
    Isolated,
    LogCoupling,
    LogLoops,
    MemoryLimit,
    Output,
    OutputStep,
    Plot,
    Realtime,
    Record,
    Statistics,
    StepTimeout,
    Timeout,
    categories_from,
    levels_from,
)
from ssptool.cli.settings_options import settings_from
from ssptool.cli.stimuli_options import stimuli_from
from ssptool.cli.summary import SUMMARIES
from ssptool.drawing.plot_unavailable import PlotUnavailable
from ssptool.engine.settings import Settings

if TYPE_CHECKING:
    from ssptool.engine.result import Result


@bundled(settings=settings_from, changes=changes_from, stimuli=stimuli_from)
def run_command(
    system: SystemPath,
    settings: Settings,
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    accept: Accept = None,
    output: Output = None,
    record: Record = None,
    every: Every = 1,
    output_step: OutputStep = None,
    isolated: Isolated = True,
    compile: Compile = False,
    timeout: Timeout = None,
    step_timeout: StepTimeout = None,
    memory_limit: MemoryLimit = None,
    realtime: Realtime = None,
    statistics: Statistics = None,
    log_loops: LogLoops = None,
    log_coupling: LogCoupling = None,
    fmu_log: FmuLog = None,
    fmu_log_level: FmuLogLevels = None,
    fmu_log_categories: FmuLogCategories = None,
    plot: Plot = None,
) -> None:
    """Initialize and simulate a system, and write its results.

    Everything that is not asked for is chosen from what the FMUs can do; the summary names the choices, and `ssptool
    plan` their reasons. Exit status: 1 if the run did not complete.

    For example `ssptool run plant`, or `ssptool run plant --stop-time 5 --set Motor.m=2 --output light.parquet`, or
    `ssptool run plant --implementation me --tolerance 1e-8 --plot plant.png`.
    """
    if plot is not None:
        ssptool.check_plot_name(plot)
    if not isolated and not timeout is step_timeout is memory_limit is None:
        raise typer.BadParameter("limits need a process of its own for the FMUs", param_hint="--in-process")
    output = output or Path(system.resolve().stem).with_suffix(".csv")
    with progress_bar("running") as progress:
        result = ssptool.simulate(
            system,
            settings=settings,
            log_loops=log_loops,
            log_coupling=log_coupling,
            fmu_log=fmu_log,
            fmu_log_level=levels_from(fmu_log_level),
            fmu_log_categories=categories_from(fmu_log_categories),
            output=output,
            record=record or (),
            every=every,
            output_step=output_step,
            keep=plot is not None,
            isolated=isolated,
            timeout=timeout,
            step_timeout=step_timeout,
            memory_limit=memory_limit,
            statistics=statistics is not None,
            realtime=realtime,
            progress=progress,
            accept=codes(accept),
            compile=compile,
            **changes,
            **stimuli,
        )
    drawn = plot if plot is not None and _draw(result, plot) else None
    typer.echo(SUMMARIES[statistics](result, drawn))
    raise typer.Exit(0 if result.ok and drawn == plot else 1)


def _draw(result: "Result", path: Path) -> bool:
    """Whether there is a plot; where there is none, the summary of the run counts all the more."""
    try:
        ssptool.plot(result.trace, path, title=result.name)
    except (ValueError, OSError, PlotUnavailable) as problem:
        complain(f"{path} was not drawn: {problem}")
        return False
    return True
