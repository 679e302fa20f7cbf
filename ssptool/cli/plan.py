"""`ssptool plan`."""

import typer

import ssptool
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
from ssptool.cli.plan_text import plan_text
from ssptool.engine.settings import (
    ExchangeName,
    ImplementationName,
    InitName,
    InputName,
    IntegratorName,
    MasterName,
    Settings,
)


def plan_command(
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
) -> None:
    """Print what a run would do, without loading a binary: choices with reasons, and the sequence of calls."""
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
        exchange=exchange,
        adaptive=adaptive,
        substeps=parse_counts(substeps),
        convergence=parse_limits(convergence),
    )
    plan = ssptool.plan(
        system,
        variant=variant,
        parameters=parameters or [],
        overrides=parse_overrides(set),
        settings=settings,
    )
    typer.echo(plan_text(plan))
