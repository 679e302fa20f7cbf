"""`ssptool validate`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import SystemPath, TextOrJson, Variant


def validate_command(
    system: SystemPath,
    variant: Variant = None,
    format: Annotated[TextOrJson, typer.Option("--format", help="How to print the report.")] = TextOrJson.TEXT,
) -> None:
    """Say what is wrong with a system, where and why, without running it.

    Without --variant every SSD of the package is checked, and everything that it refers to.
    """
    report = ssptool.validate(system, variant=variant)
    typer.echo(ssptool.REPORT_RENDERERS[format.value](report))
    raise typer.Exit(1 if report.errors else 0)
