"""`ssptool connect`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, edited, editing_from, parted
from ssptool.cli.options import SystemPath

First = Annotated[str, typer.Argument(metavar="A", help="A connector (System1.x1), a terminal or an element.")]
Second = Annotated[str, typer.Argument(metavar="B", help="The same, on the other side.")]


@bundled(how=editing_from)
def connect_command(
    system: SystemPath,
    how: Editing,
    a: First,
    b: Second,
    factor: Annotated[
        float | None,
        typer.Option("--factor", metavar="X", help="Multiply the value on its way (after unit conversion)."),
    ] = None,
    offset: Annotated[float | None, typer.Option("--offset", metavar="X", help="Then add to it.")] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FROM=TO",
            help="Turn one value into another: of Booleans, integers, or items of enumerations. May be repeated; "
            "values without an entry pass unchanged.",
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--no-transformation", help="Take factor, offset and table off a connection that has them.")
    ] = False,
    convert: Annotated[
        bool | None,
        typer.Option(
            "--unit-conversion/--no-unit-conversion",
            help="Convert the value to the unit of the other end, which is the rule; or pass on the bare number.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Connect connectors, terminals, or elements by matching names.

    Which one is the source follows from the kinds of the connectors. Between two connectors the value can be treated on
    its way; if they are connected already, that changes the connection. The signals of a dictionary are reached as
    REFERENCE.signal. The inverse is `disconnect`.

    For example `ssptool connect plant Motor Gear`, or `ssptool connect plant Motor.w Gear.w --factor 0.1 --offset 2`,
    or `ssptool connect plant Switch.mode Pump.mode --map off=idle --map on=running`.
    """
    pairs = parted(table, "FROM=TO", "--map")
    values = dict(pairs)
    if len(values) < len(pairs):
        raise typer.BadParameter("a value is mapped twice", param_hint="--map")
    suppress = None if convert is None else not convert
    with edited(system, how) as editor:
        editor.connect(
            a, b, factor=factor, offset=offset, table=values or None, plain=plain, suppress_unit_conversion=suppress
        )
