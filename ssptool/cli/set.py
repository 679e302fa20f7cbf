"""`ssptool set`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, showing
from ssptool.cli.options import SystemPath, Variant, parse_overrides


def set_command(
    system: SystemPath,
    values: Annotated[list[str], typer.Argument(metavar="NAME=VALUE", help="Full names, e.g. System1.m1=2.")],
    unit: Annotated[
        str | None, typer.Option("--unit", help="The unit of the values; else those of the variables.")
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="FILE.ssv", help="The parameter set to edit; made if it is not there."),
    ] = None,
    variant: Variant = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Set parameters and start values, in the parameter set from which they come.

    A parameter that has no value yet goes into the last set that is bound to the system, or into a new inline set.
    """
    wanted = parse_overrides(values)
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        for name, value in wanted.items():
            editor.set(name, value, unit=unit, into=into)
