"""The command `ssptool validate`, and its fixes."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ssptool
from ssptool.cli.app import complain, say
from ssptool.cli.options import AllowOutside, NoSettings, SettingsFile, bundled, codes, judged_by
from ssptool.cli.terminal import busy
from ssptool.documents.saving import save_file
from ssptool.foreign_text import direct, without_commands

if TYPE_CHECKING:
    from ssptool.api.check import ValidateOptions
    from ssptool.rules.report import Report


class ReportFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


CODES = "CODE,…"
WRONG_USAGE = 2


def validate_options(
    *,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="NAME", help="Check only this variant (default: all).")
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", metavar=CODES, help="Apply only these rules: codes, or beginnings of codes."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar=CODES,
            help="Hide findings of these rules; the summary still counts them. `ssptool rule --all` lists all rules.",
        ),
    ] = None,
    strict: Annotated[
        bool | None, typer.Option("--strict/--no-strict", help="Treat warnings as errors.", show_default=False)
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="TOOL,…",
            help="Also report constructs that these tools cannot read: omsimulator, fmpy, libcosim or ecos.",
        ),
    ] = None,
    allow_outside: AllowOutside = None,
    settings_file: SettingsFile = None,
    no_settings: NoSettings = False,
) -> "ValidateOptions":
    """Keywords that `ssptool.validate` and `ssptool.fix` share."""
    return {
        "variant": variant,
        "select": codes(select),
        "ignore": codes(ignore),
        "strict": strict,
        "tools": codes(tools),
        **judged_by(allow_outside, settings_file, no_settings),  # type: ignore[typeddict-item]
    }


@bundled(options=validate_options)
def validate_command(
    systems: Annotated[
        list[Path],
        typer.Argument(
            metavar="SYSTEM...",
            help="Systems (.ssp, .ssd, .fmu, folders), documents (.ssv, .ssm, .ssb), and folders to search for these.",
        ),
    ],
    options: "ValidateOptions",
    format: Annotated[
        ReportFormat, typer.Option("--format", metavar="FORMAT", help="Print as text, json, sarif, junit or github.")
    ] = ReportFormat.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the report to this file, without colours (default: print it)."
        ),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the safe fixes.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="Apply all fixes, including guesses such as the nearest name.")
    ] = False,
    all: Annotated[
        bool,
        typer.Option(
            "--all", help="List each finding; do not group findings with equal text, nor stop after 100 of a rule."
        ),
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show the fixes as a diff, and write nothing.")] = False,
) -> None:
    """Check a system: findings with location, reason and fix.

    No FMU is loaded. Each finding has a rule, a location and, if known, a fix. Folders that are not systems are
    searched for systems and documents. All variants of a package are checked. A parameter set, mapping or dictionary by
    itself is checked by its schema and by the rules that need no system.

    Rules are also switched on and off in ssptool.toml, or in [tool.ssptool] of pyproject.toml, in the working folder or
    above. The command line wins over these files.

    Exit status: 0 no errors; 1 errors, including errors of mandatory rules that --select excludes; 2 wrong usage, or an
    unknown rule or setting.

    Examples:
      ssptool validate plant.ssp
      ssptool validate plant --fix --diff
      ssptool validate plant --ignore FMU-102,SSD-GEO --format sarif --output plant.sarif
    """
    report: Report | None = None
    try:
        given = systems[0] if len(systems) == 1 else systems
        if fix or unsafe_fixes or diff:
            report = _fixed(given, options, unsafe_fixes, diff)
        else:
            with busy():
                report = ssptool.validate(given, **options)
    except (
        ssptool.exceptions.UnknownName,
        ssptool.exceptions.InvalidSettings,
    ) as problem:
        complain(str(problem))
        raise typer.Exit(WRONG_USAGE) from None
    if report is not None:
        _show(report, "full text" if all and format is ReportFormat.TEXT else format.value, output)
    raise typer.Exit(1 if report is not None and not report.ok else 0)


def _show(report: "Report", form: str, output: Path | None) -> None:
    if output is None:
        _print(ssptool.renderers.REPORT_RENDERERS[form](report), form)
    else:
        save_file(output, ssptool.renderers.PLAIN_REPORT_RENDERERS[form](report) + "\n")
        say(f"{ssptool.renderers.report_summary(report)}; report in {output}")


def _print(text: str, form: str) -> None:
    """Print a report, whose renderer has made names harmless, with its colours or as commands of a CI service."""
    if form == ReportFormat.GITHUB:
        direct(sys.stdout).write(text + "\n")
    else:
        typer.echo(without_commands(text))


def _fixed(system: Path | list[Path], options: "ValidateOptions", unsafe: bool, diff: bool) -> "Report | None":
    """Apply fixes and print them; return the report of remaining findings. With `diff`, only show the changes."""
    with busy():
        mended = ssptool.fix(system, **options, unsafe=unsafe, save=not diff)
    if diff:
        say(mended.diff, nl=False, verbatim=True)
        if not mended.diff:
            say(f"{mended.report.subject}: nothing to fix", err=True)
        return None
    for diagnostic in mended.fixed:
        say(f"fixed {diagnostic.code} {diagnostic.position}: {diagnostic.message}", err=True)
    return mended.report
