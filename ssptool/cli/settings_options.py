"""Options for what a run or a plan should do: together they are `Settings`."""

from collections.abc import Iterator
from typing import Annotated, TypeVar

import typer

from ssptool.engine.settings import (
    AccelerationName,
    ExchangeName,
    ImplementationName,
    InitName,
    InputName,
    IntegratorName,
    MasterName,
    Settings,
)

StartTime = Annotated[
    float | None, typer.Option("--start-time", metavar="T", help="In seconds; else the default experiment's.")
]
StopTime = Annotated[
    float | None, typer.Option("--stop-time", metavar="T", help="In seconds; else the default experiment's.")
]
StepSize = Annotated[
    float | None,
    typer.Option("--step-size", metavar="H", help="Macro step in seconds; else the smallest that the FMUs recommend."),
]
Master = Annotated[MasterName, typer.Option("--master", help="Order of exchanging and stepping.")]
Acceleration = Annotated[
    AccelerationName | None, typer.Option("--acceleration", help="How the iterated master gets to the next iterate.")
]
Input = Annotated[InputName, typer.Option("--input", help="How inputs run over a macro step.")]
InputOrder = Annotated[
    int | None,
    typer.Option("--input-order", min=1, max=2, help="Order of extrapolated and interpolated inputs: 1 or 2."),
]
Init = Annotated[InitName, typer.Option("--init", help="How algebraic loops are solved at the start.")]
Adaptive = Annotated[
    float | None,
    typer.Option(
        "--adaptive",
        metavar="RTOL",
        help="Macro steps of varying size with an error of at most RTOL each: by step doubling where FMUs save states, "
        "else by the energy residuals of power bonds.",
    ),
]
PowerBonds = Annotated[
    list[str] | None,
    typer.Option(
        "--power-bond",
        metavar="A.v,B.F",
        help="Outputs of two components whose product is the power that goes into the first; repeated: several.",
    ),
]
Substeps = Annotated[
    list[str] | None,
    typer.Option("--substeps", metavar="NAME=N", help="Component NAME does N steps in each macro step."),
]
ConvergenceLimits = Annotated[
    list[str] | None,
    typer.Option(
        "--convergence",
        metavar="MEASURE=LIMIT",
        help="When an iterated step has converged: absolute, relative or residual-relative; repeated: all of them.",
    ),
]
Iterations = Annotated[
    int | None,
    typer.Option("--iterations", metavar="N", min=1, help="Exactly N iterations of each step, converged or not."),
]
PredictionOrder = Annotated[
    int | None,
    typer.Option("--prediction-order", min=0, max=2, help="Order of the first guess of iterated steps: 0, 1 or 2."),
]
Relaxation = Annotated[
    float | None,
    typer.Option(
        "--relaxation",
        metavar="W",
        help="Factor of constant relaxation of iterated steps, 0 < W <= 1; 0.5 if none is given.",
    ),
]
Exchange = Annotated[
    ExchangeName,
    typer.Option("--exchange", help="late: outputs stay as of each FMU's own step, to compare with other tools."),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance", metavar="RTOL", help="Relative tolerance of the iterated master, or of the integrator."
    ),
]


Implementation = Annotated[
    ImplementationName,
    typer.Option("--implementation", help="Run all components as model exchange (me) or co-simulation (cs)."),
]
Integrator = Annotated[IntegratorName, typer.Option("--integrator", help="Formulas that integrate model exchange.")]

Number = TypeVar("Number", int, float)


Threads = Annotated[
    int, typer.Option("--threads", metavar="N", min=1, help="Step components with long steps on N threads.")
]


def settings_from(
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
    iterations: Iterations = None,
    prediction_order: PredictionOrder = None,
    relaxation: Relaxation = None,
    adaptive: Adaptive = None,
    power_bonds: PowerBonds = None,
    substeps: Substeps = None,
    exchange: Exchange = ExchangeName.CONSISTENT,
    implementation: Implementation = ImplementationName.AUTO,
    integrator: Integrator = IntegratorName.BDF,
    threads: Threads = 1,
) -> Settings:
    """What the user asked for."""
    return Settings(
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
        power_bonds=tuple(map(_bond, power_bonds or ())),
        substeps=_counts(substeps),
        convergence=_limits(convergence),
        iterations=iterations,
        prediction_order=prediction_order,
        relaxation=relaxation,
        threads=threads,
    )


def _counts(texts: list[str] | None) -> dict[str, int]:
    """`["System2=10"]` → `{"System2": 10}`."""
    return {name: _number(int, value, "--substeps") for name, value in _pairs(texts, "--substeps")}


def _limits(texts: list[str] | None) -> dict[str, float]:
    """`["absolute=1e-6"]` → `{"absolute": 1e-6}`."""
    return {name: _number(float, value, "--convergence") for name, value in _pairs(texts, "--convergence")}


def _bond(text: str) -> tuple[str, str]:
    """`"System1.v1,System2.F"` → its two names."""
    first, comma, second = (part.strip() for part in text.partition(","))
    if not (comma and first and second) or "," in second:
        raise typer.BadParameter(f"{text!r} is not of the form A.v,B.F", param_hint="--power-bond")
    return first, second


def _pairs(texts: list[str] | None, hint: str) -> Iterator[tuple[str, str]]:
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise typer.BadParameter(f"{text!r} is not of the form NAME=NUMBER", param_hint=hint)
        yield name, value


def _number(kind: type[Number], text: str, hint: str) -> Number:
    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number of type {kind.__name__}", param_hint=hint) from None
