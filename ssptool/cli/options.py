"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ssptool.engine.settings import (
    AccelerationName,
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
Tolerance = Annotated[
    float | None, typer.Option("--tolerance", metavar="RTOL", help="Relative tolerance of the iterated master.")
]


Implementation = Annotated[
    ImplementationName,
    typer.Option("--implementation", help="Run all components as model exchange (me) or co-simulation (cs)."),
]
Integrator = Annotated[IntegratorName, typer.Option("--integrator", help="Formulas that integrate model exchange.")]


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
