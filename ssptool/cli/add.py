"""`ssptool add`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, Into, edited, editing_from
from ssptool.cli.options import SystemPath


@bundled(how=editing_from)
def add_command(
    system: SystemPath,
    how: Editing,
    fmus: Annotated[
        list[str] | None,
        typer.Argument(metavar="FMU", help="FMUs, packages (.ssp) or tables (.csv): files, or entries of the archive."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the component; else that of the file.")
    ] = None,
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
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Of that connector: input, output, parameter, …")
    ] = "input",
    type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Of that connector: Float64, Boolean, …")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="UNIT", help="Of that connector: one of the system or an FMU, or such as mm."),
    ] = None,
) -> None:
    """Add FMUs, packages or tables, or a system, or a connector.

    Files are copied into the archive; connectors, types, units and enumerations are those of the model description. A
    system without a default experiment takes that of the FMU. A CSV file, time first, becomes a table: a component with
    an output for each other column. The inverse is `remove`.

    For example `ssptool add plant Motor.fmu Gear.fmu`, or `ssptool add plant --connector speed --kind output --unit
    rad/s`.
    """
    if not fmus and subsystem is None and connector is None:
        raise typer.BadParameter("name FMUs to add, or use --system or --connector", param_hint="FMU")
    with edited(system, how) as editor:
        editor.add(*fmus or (), name=name, into=into, parameters=parameters)
        if subsystem is not None:
            editor.add_system(subsystem, into=into)
        if connector is not None:
            editor.add_connector(connector, kind, of=into, type=type, unit=unit)
