"""Options for what acts on a system from outside: courses of its inputs, a scenario."""

from pathlib import Path
from typing import Annotated, Any

import typer

import ssptool

INPUTS = "Inputs and scenario"
"""Panel of the help."""

InputFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--inputs",
        metavar="FILE.csv",
        help="Courses of inputs that nothing drives: column time, then full names such as speed or Vehicle.speed, or "
        "with a unit speed [km/h]; repeated: several files.",
    ),
]
Interpolations = Annotated[
    list[str] | None,
    typer.Option(
        "--interpolation",
        metavar="[NAME=]HOW",
        rich_help_panel=INPUTS,
        help="Between the rows of --inputs: linear or hold; of one column or all. Without it real numbers are linear, "
        "and all else is held.",
    ),
]
ScenarioFile = Annotated[
    Path | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        rich_help_panel=INPUTS,
        help="At a time override, bias or reset a variable: YAML or JSON as libcosim reads them.",
    ),
]

HOW = ("hold", "linear")


def stimuli_from(
    inputs: InputFiles = None, interpolation: Interpolations = None, scenario: ScenarioFile = None
) -> dict[str, Any]:
    """What acts on the system, as keyword arguments of the public API."""
    if not inputs and interpolation:
        raise typer.BadParameter("there are no --inputs to interpolate", param_hint="--interpolation")
    whole, columns = _interpolations(interpolation or [])
    return {"inputs": ssptool.Inputs(tuple(inputs), whole, columns) if inputs else None, "scenario": scenario}


def _interpolations(texts: list[str]) -> tuple[str, dict[str, str]]:
    """`["hold", "speed=linear"]` → `("hold", {"speed": "linear"})`."""
    whole, columns = "linear", {}
    for text in texts:
        name, equals, how = (part.strip() for part in text.rpartition("="))
        if how not in HOW:
            raise typer.BadParameter(f"{how!r} is none of {', '.join(HOW)}", param_hint="--interpolation")
        if equals:
            columns[name] = how
        else:
            whole = how
    return whole, columns
