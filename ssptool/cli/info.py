"""`ssptool info`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import SystemPath, TextOrJson, Variant


def info_command(
    system: SystemPath,
    variant: Variant = None,
    format: Annotated[TextOrJson, typer.Option("--format", help="How to print it.")] = TextOrJson.TEXT,
) -> None:
    """Say what is in a system: components, their FMUs, variants.

    Of an FMU: its version, interface types, and what it can do.

    For example `ssptool info plant.ssp`.
    """
    typer.echo(ssptool.INVENTORY_RENDERERS[format.value](ssptool.info(system, variant=variant)))
