"""`ssptool run`."""

from pathlib import Path

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
from ssptool.cli.run_options import (
    Every,
    InProcess,
    MemoryLimit,
    Output,
    OutputStep,
    Plot,
    Realtime,
    Record,
    Statistics,
    StepTimeout,
    Timeout,
)
from ssptool.cli.summary import SUMMARIES
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
    output: Output = None,
    record: Record = None,
    every: Every = 1,
    output_step: OutputStep = None,
    in_process: InProcess = False,
    timeout: Timeout = None,
    step_timeout: StepTimeout = None,
    memory_limit: MemoryLimit = None,
    realtime: Realtime = None,
    statistics: Statistics = None,
    log_loops: LogLoops = None,
    log_coupling: LogCoupling = None,
    plot: Plot = None,
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
            recording=ssptool.Recording(output, plot is not None, record or (), every, output_step),
            isolated=not in_process,
            limits=None if in_process else limits,
            measured=statistics is not None,
            realtime=realtime,
            progress=progress,
        )
    if plot is not None:
        ssptool.plot(result.trace, plot, title=result.name)
    typer.echo(SUMMARIES[statistics](result, plot))
    raise typer.Exit(0 if result.ok else 1)
