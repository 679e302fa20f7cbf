"""Arguments and options that several commands share."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
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
)

SystemPath = Annotated[
    Path, typer.Argument(metavar="SYSTEM", help="An .ssp file, an unpacked one (folder), or an .ssd file.")
]
Variant = Annotated[
    str | None,
    typer.Option("--variant", metavar="NAME", help="Which SSD of the package; without it SystemStructure.ssd."),
]
ParameterFiles = Annotated[
    list[Path] | None,
    typer.Option("--parameters", metavar="FILE.ssv", help="Apply this parameter set on top of the system's own."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set one parameter or start value, e.g. System1.m1=2."),
]


StartTime = Annotated[
    float | None, typer.Option("--start-time", metavar="T", help="[s]; else the default experiment's.")
]
StopTime = Annotated[float | None, typer.Option("--stop-time", metavar="T", help="[s]; else the default experiment's.")]
StepSize = Annotated[
    float | None,
    typer.Option("--step-size", metavar="H", help="Macro step [s]; else the smallest that the FMUs recommend."),
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
LogLoops = Annotated[
    Path | None,
    typer.Option("--log-loops", metavar="FILE", help="Every iterate of every algebraic loop, as .csv or .jsonl."),
]
LogCoupling = Annotated[
    Path | None,
    typer.Option("--log-coupling", metavar="FILE", help="Every iterate of every macro step, as .csv or .jsonl."),
]
Adaptive = Annotated[
    float | None,
    typer.Option("--adaptive", metavar="RTOL", help="Macro steps of varying size, with an error of at most RTOL each."),
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
Exchange = Annotated[
    ExchangeName,
    typer.Option("--exchange", help="late: outputs stay as of each FMU's own step, to compare with other tools."),
]
Tolerance = Annotated[
    float | None, typer.Option("--tolerance", metavar="RTOL", help="Relative tolerance of the iterated master.")
]


Implementation = Annotated[
    ImplementationName,
    typer.Option("--implementation", help="Run all components as model exchange (me) or co-simulation (cs)."),
]
Integrator = Annotated[IntegratorName, typer.Option("--integrator", help="Formulas that integrate model exchange.")]


Number = TypeVar("Number", int, float)


class TextOrJson(StrEnum):
    TEXT = "text"
    JSON = "json"


def parse_overrides(texts: list[str] | None) -> dict[str, str]:
    """`["System1.m1=2"]` → `{"System1.m1": "2"}`; a text without a name or "=" is wrong usage."""
    overrides = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint="--set")
        overrides[name.strip()] = value.strip()
    return overrides


def parse_counts(texts: list[str] | None) -> dict[str, int]:
    """`["System2=10"]` → `{"System2": 10}`."""
    return {name: _number(int, value, "--substeps") for name, value in _pairs(texts, "--substeps")}


def parse_limits(texts: list[str] | None) -> dict[str, float]:
    """`["absolute=1e-6"]` → `{"absolute": 1e-6}`."""
    return {name: _number(float, value, "--convergence") for name, value in _pairs(texts, "--convergence")}


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
