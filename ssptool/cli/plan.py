"""`ssptool plan`."""

from typing import Any

import typer

import ssptool
from ssptool.cli.bundles import bundled
from ssptool.cli.options import Accept, SystemPath, changes_from, codes
from ssptool.cli.plan_text import plan_text
from ssptool.cli.settings_options import settings_from
from ssptool.cli.stimuli_options import stimuli_from
from ssptool.engine.settings import Settings


@bundled(settings=settings_from, changes=changes_from, stimuli=stimuli_from)
def plan_command(
    system: SystemPath,
    settings: Settings,
    changes: dict[str, Any],
    stimuli: dict[str, Any],
    accept: Accept = None,
) -> None:
    """Print what a run would do, and why, without loading a binary.

    Choices with their reasons, and the sequence of calls. The options are those of `run`.

    For example `ssptool plan plant --master jacobi`.
    """
    typer.echo(plan_text(ssptool.plan(system, settings=settings, accept=codes(accept), **changes, **stimuli)))
