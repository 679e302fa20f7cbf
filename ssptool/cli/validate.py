"""`ssptool validate`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import ssptool
from ssptool.cli.options import SystemPath, Variant


class ReportFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


CODES = "CODE,…"


def validate_command(
    system: SystemPath,
    variant: Variant = None,
    format: Annotated[ReportFormat, typer.Option("--format", help="How to show the report.")] = ReportFormat.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write the report there, without colours.")
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", metavar=CODES, help="Only these rules: codes, or beginnings of codes."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar=CODES, help="All rules but these; see `ssptool rule`.")
    ] = None,
    strict: Annotated[
        bool | None, typer.Option("--strict/--no-strict", help="Raise warnings to errors.", show_default=False)
    ] = None,
) -> None:
    """Say what is wrong with a system, where and why, without running it.

    Without --variant every SSD of the package is checked, and everything that it refers to. Rules are also switched
    in ssptool.toml, or in [tool.ssptool] of pyproject.toml; the command line wins.
    """
    report = ssptool.validate(system, variant=variant, select=_codes(select), ignore=_codes(ignore), strict=strict)
    if output is None:
        typer.echo(ssptool.REPORT_RENDERERS[format.value](report))
    else:
        output.write_text(ssptool.PLAIN_REPORT_RENDERERS[format.value](report) + "\n", encoding="utf-8")
        typer.echo(f"{ssptool.report_summary(report)}; report in {output}")
    raise typer.Exit(1 if report.errors else 0)


def _codes(texts: list[str] | None) -> list[str]:
    """`["URI,PKG-016", "VER"]` → `["URI", "PKG-016", "VER"]`."""
    return [code.strip() for text in texts or [] for code in text.split(",") if code.strip()]
