"""`ssptool explain`."""

from typing import Annotated, Any

import typer

import ssptool
from ssptool.cli.bundles import bundled
from ssptool.cli.options import SystemPath, TextOrJson, changes_from
from ssptool.cli.stimuli_options import stimuli_from


@bundled(changes=changes_from, stimuli=stimuli_from)
def explain_command(
    system: SystemPath,
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="Full names of variables or connectors: System1.m1.")
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="A table of all parameters and connectors.")] = False,
    format: Annotated[TextOrJson, typer.Option("--format", help="How to print it.")] = TextOrJson.TEXT,
) -> None:
    """Say why a parameter or connector has its value, step by step.

    For a value that was given: the binding, prefix, mapping, unit and transformation that it went through, and what it
    overrode, with file and line. For a connector: where the signal comes from through all boundaries and conversions,
    and where it goes. With --inputs and --scenario also what these do to it during a run.

    For example `ssptool explain plant Motor.m`, or `ssptool explain plant --all`.
    """
    if bool(names) == all:
        raise typer.BadParameter("give the names of variables or connectors, or --all", param_hint="NAME…")
    explained = ssptool.explain(system, *(names or ()), **changes, **stimuli)
    form = "table" if all and format is TextOrJson.TEXT else format.value
    typer.echo(ssptool.EXPLANATION_RENDERERS[form](explained))
