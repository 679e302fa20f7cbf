"""Options for what a run or a plan should do: together they are `Settings`."""

from collections.abc import Iterator
from typing import Annotated, TypeVar

import typer

from ssptool.arguments import WrongArgument, one_of
from ssptool.cli.options import time
from ssptool.engine.master_names import AUTO, help_on_masters, words
from ssptool.engine.settings import (
    AccelerationName,
    ExchangeName,
    ImplementationName,
    InitName,
    InputName,
    IntegratorName,
    Settings,
)

TIME, COUPLING, MODEL_EXCHANGE = "Time and start", "Coupling", "Model exchange"
"""Panels of the help."""


def _master(text: str) -> str:
    try:
        return one_of("the master", text, words())
    except WrongArgument as error:
        raise typer.BadParameter(f"must be {error.expected}; found {text!r}") from None


StartTime = Annotated[
    float | None,
    typer.Option(
        "--start-time",
        parser=time,
        metavar="T",
        rich_help_panel=TIME,
        help="In seconds; else that of the default experiment (of the system, else of its FMUs), or 0.",
    ),
]
StopTime = Annotated[
    float | None,
    typer.Option(
        "--stop-time",
        parser=time,
        metavar="T",
        help="In seconds; else that of the default experiment (of the system, else of its FMUs).",
    ),
]
StepSize = Annotated[
    float | None,
    typer.Option(
        "--step-size",
        parser=time,
        metavar="H",
        help="Macro step in seconds, or with a unit: 1ms, 500us; else the one that the system states for other tools "
        "(osp:, oms:), the smallest that the FMUs recommend, or a thousandth of the interval.",
    ),
]
Init = Annotated[
    InitName,
    typer.Option(
        "--init",
        metavar="METHOD",
        rich_help_panel=TIME,
        help="How algebraic loops are solved at the start: auto (Newton, then all others), newton, aitken, anderson, "
        "fixed-point or homotopy.",
    ),
]
Master = Annotated[
    str,
    typer.Option("--master", parser=_master, metavar="NAME", autocompletion=words, help=help_on_masters()),
]
Acceleration = Annotated[
    AccelerationName | None,
    typer.Option(
        "--acceleration",
        metavar="METHOD",
        rich_help_panel=COUPLING,
        help="How the iterated master gets to the next iterate: none, constant (relaxation), aitken, anderson, iqn-ils "
        "or newton; else iqn-ils.",
    ),
]
Input = Annotated[
    InputName,
    typer.Option(
        "--input",
        metavar="COURSE",
        rich_help_panel=COUPLING,
        help="Of inputs over a macro step: auto, hold, extrapolate or interpolate.",
    ),
]
InputOrder = Annotated[
    int | None,
    typer.Option(
        "--input-order",
        metavar="N",
        min=1,
        max=2,
        rich_help_panel=COUPLING,
        help="Order of extrapolated and interpolated inputs: 1 or 2; else 1.",
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="RTOL",
        help="Relative tolerance of the iterated master (else 1e-8), or of the integrator of model exchange (else "
        "1e-6, or 1e-8 beside co-simulation).",
    ),
]
ConvergenceLimits = Annotated[
    list[str] | None,
    typer.Option(
        "--convergence",
        metavar="MEASURE=LIMIT",
        rich_help_panel=COUPLING,
        help="When an iterated step has converged: absolute, relative or residual-relative; repeated: all of them.",
    ),
]
MaxIterations = Annotated[
    int | None,
    typer.Option(
        "--max-iterations",
        metavar="N",
        min=1,
        rich_help_panel=COUPLING,
        help="At most N iterations of each step of the iterated master; else 30.",
    ),
]
Iterations = Annotated[
    int | None,
    typer.Option(
        "--iterations",
        metavar="N",
        min=1,
        rich_help_panel=COUPLING,
        help="Exactly N iterations of each step, converged or not.",
    ),
]
PredictionOrder = Annotated[
    int | None,
    typer.Option(
        "--prediction-order",
        metavar="N",
        min=0,
        max=2,
        rich_help_panel=COUPLING,
        help="Order of the first guess of iterated steps: 0, 1 or 2; else 2.",
    ),
]
Relaxation = Annotated[
    float | None,
    typer.Option(
        "--relaxation",
        metavar="W",
        rich_help_panel=COUPLING,
        help="Factor of constant relaxation of iterated steps, 0 < W <= 1; 0.5 if none is given.",
    ),
]
Adaptive = Annotated[
    float | None,
    typer.Option(
        "--adaptive",
        metavar="RTOL",
        rich_help_panel=COUPLING,
        help="Macro steps of varying size with an error of at most RTOL each: by step doubling where FMUs save states, "
        "else by the energy residuals of power bonds.",
    ),
]
PowerBonds = Annotated[
    list[str] | None,
    typer.Option(
        "--power-bonds",
        metavar="A.v,B.F",
        rich_help_panel=COUPLING,
        help="Outputs of two components whose product is the power that goes into the first; repeated: several.",
    ),
]
Substeps = Annotated[
    list[str] | None,
    typer.Option(
        "--substeps",
        metavar="NAME=N",
        rich_help_panel=COUPLING,
        help="Component NAME does N steps in each macro step; repeated: several.",
    ),
]
Exchange = Annotated[
    ExchangeName,
    typer.Option(
        "--exchange",
        metavar="HOW",
        rich_help_panel=COUPLING,
        help="consistent, or late: outputs stay as of each FMU's own step, to compare with other tools.",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        rich_help_panel=COUPLING,
        help="Step components with long steps at the same time, on N threads.",
    ),
]
Processes = Annotated[
    str | None,
    typer.Option(
        "--processes",
        metavar="each|N",
        rich_help_panel=COUPLING,
        help="Run each FMU in a process of its own, or distribute FMUs over N processes.",
    ),
]
Implementation = Annotated[
    ImplementationName,
    typer.Option(
        "--implementation",
        metavar="KIND",
        rich_help_panel=MODEL_EXCHANGE,
        help="auto, me (all components as model exchange) or cs (all as co-simulation).",
    ),
]
Integrator = Annotated[
    IntegratorName,
    typer.Option(
        "--integrator",
        metavar="NAME",
        rich_help_panel=MODEL_EXCHANGE,
        help="bdf (stiff systems) or adams, the formulas of CVODE.",
    ),
]

Number = TypeVar("Number", int, float)


def settings_from(
    stop_time: StopTime = None,
    step_size: StepSize = None,
    start_time: StartTime = None,
    master: Master = AUTO,
    acceleration: Acceleration = None,
    input: Input = InputName.AUTO,
    input_order: InputOrder = None,
    init: Init = InitName.AUTO,
    tolerance: Tolerance = None,
    convergence: ConvergenceLimits = None,
    max_iterations: MaxIterations = None,
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
    processes: Processes = None,
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
        power_bonds=_bonds(power_bonds),
        substeps=_counts(substeps),
        convergence=_limits(convergence),
        max_iterations=max_iterations,
        iterations=iterations,
        prediction_order=prediction_order,
        relaxation=relaxation,
        threads=threads,
        processes=processes,
    )


def _counts(texts: list[str] | None) -> dict[str, int]:
    """`["System2=10"]` → `{"System2": 10}`."""
    return {name: _number(int, value, "--substeps") for name, value in _pairs(texts, "--substeps")}


def _limits(texts: list[str] | None) -> dict[str, float]:
    """`["absolute=1e-6"]` → `{"absolute": 1e-6}`."""
    return {name: _number(float, value, "--convergence") for name, value in _pairs(texts, "--convergence")}


def _bonds(texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    """`["System1.v1,System2.F"]` → `(("System1.v1", "System2.F"),)`."""
    found = []
    for text in texts or []:
        first, comma, second = (part.strip() for part in text.partition(","))
        if not (comma and first and second) or "," in second:
            raise typer.BadParameter(f"{text!r} is not of the form A.v,B.F", param_hint="--power-bonds")
        found.append((first, second))
    return tuple(found)


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
