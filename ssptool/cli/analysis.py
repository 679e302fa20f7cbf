"""Commands that analyze a system at one instant: linearize and modes."""

from pathlib import Path
from typing import Annotated, Any

import typer

import ssptool
from ssptool.cli.app import say
from ssptool.cli.completion import full_names
from ssptool.cli.options import (
    Accept,
    SystemPath,
    TextOrJson,
    bundled,
    changes_from,
    codes,
    stimuli_from,
    time,
)
from ssptool.cli.terminal import busy

At = Annotated[
    float | None,
    typer.Option("--at", parser=time, metavar="T", help="Simulate until this time: 2s (default: the start time)."),
]
InputNames = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="CONNECTOR",
        help="Input of the linear model; to a connected one the input is added (default: inputs of the system, or "
        "unconnected ones of components).",
        autocompletion=full_names,
    ),
]
OutputNames = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="CONNECTOR",
        help="Output of the linear model (default: outputs of the system, or of components).",
        autocompletion=full_names,
    ),
]
OpenedNames = Annotated[
    list[str] | None,
    typer.Option(
        "--open",
        metavar="CONNECTOR",
        help="Disconnect this input, and make it an input of the linear model.",
        autocompletion=full_names,
    ),
]
Format = Annotated[TextOrJson, typer.Option("--format", help="Print as text or json.")]


@bundled(changes=changes_from, stimuli=stimuli_from)
def linearize_command(
    system: SystemPath,
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    at: At = None,
    input: InputNames = None,
    measure: OutputNames = None,
    open: OpenedNames = None,
    accept: Accept = None,
    format: Format = TextOrJson.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write a .json, .mat or .txt file (default: print it)."),
    ] = None,
) -> None:
    """Linearize a system at one instant: matrices A, B, C, D.

    All components run by model exchange, in the process of the command. Derivatives go through algebraic loops; they
    are directional derivatives of the FMUs, or differences. The output states the error, and the modes.

    Examples:
      ssptool linearize plant
      ssptool linearize plant --at 2s --input Motor.u --measure Load.w -o plant.mat
    """
    with busy():
        model = ssptool.linearize(
            system,
            at=at,
            input=input or (),
            measure=measure or (),
            open=open or (),
            accept=codes(accept),
            **changes,
            **stimuli,
        )
    if output is not None:
        model.save(output)
        say(f"linear model: {output}")
        return
    say(ssptool.renderers.LINEAR_RENDERERS[format.value](model), verbatim=format is TextOrJson.JSON)
