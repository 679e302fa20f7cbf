"""`ssptool add`."""

from typing import Annotated

import typer

import ssptool
from ssptool.cli.edited import Diff, Force, Into, showing
from ssptool.cli.options import SystemPath, Variant


def add_command(
    system: SystemPath,
    fmus: Annotated[list[str] | None, typer.Argument(metavar="FMU", help="Files, or entries of the archive.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Of the component; else that of the file.")] = None,
    into: Into = "",
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Make connectors for the parameters of the FMU as well.")
    ] = False,
    subsystem: Annotated[
        str | None, typer.Option("--system", metavar="NAME", help="Add an empty system instead of an FMU.")
    ] = None,
    connector: Annotated[
        str | None, typer.Option("--connector", metavar="NAME", help="Add a connector to the system of --into.")
    ] = None,
    kind: Annotated[str, typer.Option("--kind", help="Of that connector: input, output, parameter, …")] = "input",
    type: Annotated[str | None, typer.Option("--type", help="Of that connector: Float64, Boolean, …")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Of that connector.")] = None,
    variant: Variant = None,
    diff: Diff = False,
    force: Force = False,
) -> None:
    """Make components of FMUs, copied into the archive; or add a system or a connector.

    Connectors, types, units and enumerations are those of the model description.
    """
    if not fmus and subsystem is None and connector is None:
        raise typer.BadParameter("name FMUs to add, or use --system or --connector")
    with showing(ssptool.edit(system, variant=variant, force=force, save=not diff), diff) as editor:
        editor.add(*fmus or (), name=name, into=into, parameters=parameters)
        if subsystem is not None:
            editor.add_system(subsystem, into=into)
        if connector is not None:
            editor.add_connector(connector, kind, of=into, type=type, unit=unit)
