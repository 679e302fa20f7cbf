"""`ssptool info`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import AllowOutside, SystemPath, TextOrJson, Variant


def info_command(
    system: SystemPath,
    component: Annotated[
        str | None,
        typer.Argument(metavar="COMPONENT", help="List the variables of this component, or of a nested system."),
    ] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option(
            "--variables", metavar="PATTERN", help="List such variables, e.g. 'x*' or '*.x1'; repeated: more."
        ),
    ] = None,
    variant: Variant = None,
    allow_outside: AllowOutside = None,
    format: Annotated[TextOrJson, typer.Option("--format", help="How to print it.")] = TextOrJson.TEXT,
) -> None:
    """Say what is in a system, and what variables an FMU has.

    Of a system its components and variants; of an FMU version, interface types, what it can do, and the parameter sets
    and other documents of SSP inside. Of a variable:
    causality, variability, type, unit, start value, range and description. All of them can be recorded: run --record.

    Of a component that has many, the text has the first 40; with --variables '*', and as JSON, all.

    For example `ssptool info plant.ssp`, `ssptool info plant.ssp Motor`, `ssptool info motor.fmu --variables 'x*'`.
    """
    inventory = ssptool.info(
        system,
        variant=variant,
        component=component,
        variables=variables or (),
        allow_outside=allow_outside or (),
    )
    whole = variables or format is TextOrJson.JSON
    typer.echo(ssptool.INVENTORY_RENDERERS[format.value if whole else "screenful"](inventory))
