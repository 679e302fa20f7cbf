"""`ssptool rule`."""

from typing import Annotated

import typer

import ssptool


def rule_command(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="Such as SSD-CONN-003.")] = None,
    all: Annotated[bool, typer.Option("--all", help="List all rules, a line each.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="With --all: the pages of all rules.")] = False,
) -> None:
    """Say what a rule demands, why, and how to fix a violation.

    For example `ssptool rule SSD-CONN-003`.
    """
    if (code is None) is not all:
        raise typer.BadParameter("give the code of a rule, or --all", param_hint="CODE")
    if code is not None:
        try:
            typer.echo(ssptool.rule_page(code))
        except ssptool.UnknownRule as problem:
            raise typer.BadParameter(str(problem), param_hint="CODE") from None
    else:
        typer.echo(ssptool.catalogue_page() if markdown else ssptool.rule_list(), nl=not markdown)
