"""`ssptool run`."""

from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.console import progress_bar
from ssptool.cli.options import (
    Acceleration,
    Adaptive,
    ConvergenceLimits,
    Exchange,
    Implementation,
    Init,
    Input,
    InputOrder,
    Integrator,
    LogCoupling,
    LogLoops,
    Master,
    Overrides,
    ParameterFiles,
    StartTime,
    StepSize,
    StopTime,
    Substeps,
    SystemPath,
    Tolerance,
    Variant,
    parse_counts,
    parse_limits,
    parse_overrides,
)
from ssptool.cli.summary import result_text
from ssptool.engine.limits import Limits
from ssptool.engine.settings import (
    ExchangeName,
    ImplementationName,
    InitName,
    InputName,
    IntegratorName,
    MasterName,
    Settings,
)


def run_command(
    system: SystemPath,
    stop_time: StopTime = None,
    step_size: StepSize = None,
    start_time: StartTime = None,
    master: Master = MasterName.AUTO,
    acceleration: Acceleration = None,
    input: Input = InputName.AUTO,
    input_order: InputOrder = None,
    init: Init = InitName.AUTO,
    tolerance: Tolerance = None,
    convergence: ConvergenceLimits = None,
    adaptive: Adaptive = None,
    substeps: Substeps = None,
    exchange: Exchange = ExchangeName.CONSISTENT,
    implementation: Implementation = ImplementationName.AUTO,
    integrator: Integrator = IntegratorName.BDF,
    set: Overrides = None,
    parameters: ParameterFiles = None,
    variant: Variant = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the results, as CSV, Parquet or MAT by the ending .csv, .parquet or .mat; else the "
            "system's file name with .csv, here.",
        ),
    ] = None,
    record: Annotated[
        list[str] | None,
        typer.Option("--record", metavar="PATTERN", help="Record only such signals, e.g. 'System1.*' or '*.x1'."),
    ] = None,
    every: Annotated[int, typer.Option("--every", metavar="N", help="Record only each N-th row, and the last.")] = 1,
    output_step: Annotated[
        float | None, typer.Option("--output-step", metavar="DT", help="Record only rows at this distance in time [s].")
    ] = None,
    in_process: Annotated[
        bool,
        typer.Option("--in-process", help="Run the FMUs in this process, where a crash of theirs ends everything."),
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="End the run after this wall time.")
    ] = None,
    step_timeout: Annotated[
        float | None,
        typer.Option(
            "--step-timeout", metavar="SECONDS", help="End the run when one macro step takes longer than this."
        ),
    ] = None,
    memory_limit: Annotated[
        int | None,
        typer.Option("--memory-limit", metavar="MIB", help="End the run when it needs more memory than this."),
    ] = None,
    log_loops: LogLoops = None,
    log_coupling: LogCoupling = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw the results (PNG, SVG or PDF).")
    ] = None,
) -> None:
    """Initialize and co-simulate a system, write its results, and say how it went.

    Everything that is not asked for is chosen from what the FMUs can do; the summary names the choices.
    """
    settings = Settings(
        start_time=start_time,
        stop_time=stop_time,
        step_size=step_size,
        master=master,
        acceleration=acceleration,
        input=input,
        input_order=input_order,
        init=init,
        tolerance=tolerance,
        implementation=implementation,
        integrator=integrator,
        log_loops=log_loops,
        log_coupling=log_coupling,
        exchange=exchange,
        adaptive=adaptive,
        substeps=parse_counts(substeps),
        convergence=parse_limits(convergence),
    )
    if plot is not None:
        ssptool.check_plot_name(plot)
    limits = Limits(timeout, step_timeout, None if memory_limit is None else memory_limit << 20)
    if in_process and limits != Limits():
        raise typer.BadParameter("limits need a process of its own for the FMUs", param_hint="--in-process")
    output = output or Path(system.resolve().stem).with_suffix(".csv")
    with progress_bar("running") as progress:
        result = ssptool.simulate(
            system,
            variant=variant,
            parameters=parameters or [],
            overrides=parse_overrides(set),
            settings=settings,
            recording=ssptool.Recording(
                output or Path(system.resolve().stem).with_suffix(".csv"),
                plot is not None,
                record or (),
                every,
                output_step,
            ),
            isolated=not in_process,
            limits=None if in_process else limits,
            progress=progress,
        )
    typer.echo(result_text(result))
    if plot is not None:
        ssptool.plot(result.trace, plot, title=result.name)
        typer.echo(f"{'plot':<16}{plot}")
    raise typer.Exit(0 if result.ok else 1)
