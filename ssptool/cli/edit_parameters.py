"""Commands that edit parameter values: set, unset, bind, unbind, map, unmap."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssptool.cli.app import say
from ssptool.cli.completion import assignments, full_names
from ssptool.cli.edit import Editing, ExperimentStart, ExperimentStop, edited, editing_from
from ssptool.cli.options import EditedSystem, bundled, parse_start_values, split_pairs

if TYPE_CHECKING:
    from ssptool.editing.set_table import ParameterDifference

To = Annotated[str, typer.Option("--to", metavar="ELEMENT", help="Element with the binding (default: the system).")]


@bundled(how=editing_from)
def set_command(
    system: EditedSystem,
    how: Editing,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="Full names and values: System1.m1=2, System1.m1='2 g', System1.m1 2 g, or System1 m1 2.",
            autocompletion=assignments,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", help="Read the values in this unit: mm (default: unit of each variable)."
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="FILE.ssv", help="Write to this parameter set; create it if it does not exist."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Set the values that differ in this table (.xlsx, .csv or .ssv), as `ssptool parameters` writes it.",
        ),
    ] = None,
    start_time: ExperimentStart = None,
    stop_time: ExperimentStop = None,
) -> None:
    """Set parameters and start values, or the default experiment.

    A value is changed where it is defined. A new value goes into the last parameter set that is bound to the system, or
    into a new inline set. If a document that several components share defines the value, the system overrides it for
    the named component; see --shared. The inverse is `unset`.

    With --from, the differences between the table and the system are listed first. An empty unit is the unit of the
    variable, other units are converted, and parameters without a row keep their values.

    Examples:
      ssptool set plant Motor.m=2 Gear.ratio=7.5
      ssptool set plant Motor.length=20 --unit mm
      ssptool set plant "Motor.x0=1 2 3" "Motor.A[1,2]=5"
      ssptool set plant --from plant.xlsx
    """
    if not values and table is None and start_time is None and stop_time is None:
        raise typer.BadParameter("give values to set, --from, --start-time or --stop-time", param_hint="NAME=VALUE")
    if table is not None and unit is not None:
        raise typer.BadParameter("the table of --from has a column for units", param_hint="--unit")
    wanted = parse_start_values(_assignments(values or []), "NAME=VALUE")
    with edited(system, how) as editor:
        if table is not None:
            _say_differences(table, editor.differences(table))
            editor.set(table, into=into)
        for name, value in wanted.items():
            editor.set(name, value, unit=unit, into=into)
        if start_time is not None or stop_time is not None:
            editor.set_experiment(start_time, stop_time)


def _say_differences(table: Path, differences: "Sequence[ParameterDifference]") -> None:
    if not differences:
        say(f"{table} and the system have the same values")
    for one in differences:
        say(str(one))


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def _assignments(words: list[str]) -> list[str]:
    """Words as NAME=VALUE: `Motor R 2`, `Motor.R 2` and `Motor R=2 L=3` have blanks where names have dots and "=";
    `Motor.R 2 Ohm` has a unit. Blanks around "=" do not count.
    """
    if len(words) == 3 and words[1] == "=":
        return ["".join(words)]
    bare = [word for word in words if "=" not in word]
    if bare == words and len(words) == 3 and _NUMBER.fullmatch(words[1]) and not _NUMBER.fullmatch(words[2]):
        return [f"{words[0]}={words[1]} {words[2]}"]
    if bare == words and len(words) in (2, 3):
        return [f"{'.'.join(words[:-1])}={words[-1]}"]
    if len(words) > 1 and bare == words[:1]:
        return [f"{bare[0]}.{word}" for word in words[1:]]
    return words


@bundled(how=editing_from)
def unset_command(
    system: EditedSystem,
    how: Editing,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Full names of variables or connectors: System1.m1.", autocompletion=full_names
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into", metavar="FILE.ssv", help="Parameter set to edit (default: the one that defines the value)."
        ),
    ] = None,
    start_time: Annotated[
        bool, typer.Option("--start-time", help="Remove the start time of the default experiment.")
    ] = False,
    stop_time: Annotated[
        bool, typer.Option("--stop-time", help="Remove the stop time of the default experiment.")
    ] = False,
) -> None:
    """Remove parameters that were set. The inverse of `set`.

    The next parameter in the order of precedence then applies, or the start value in the FMU; the command prints it. A
    parameter without a matching variable can also be removed by its name.

    Examples:
      ssptool unset plant Motor.m
    """
    if not names and not start_time and not stop_time:
        raise typer.BadParameter("give names, --start-time or --stop-time", param_hint="NAME")
    with edited(system, how) as editor:
        for name in names or ():
            editor.unset(name, into=into)
        editor.unset_experiment(start=start_time, stop=stop_time)


@bundled(how=editing_from)
def bind_command(
    system: EditedSystem,
    how: Editing,
    file: Annotated[str, typer.Argument(metavar="FILE.ssv", help="Parameter set: a file, or an entry of the archive.")],
    to: Annotated[
        str, typer.Option("--to", metavar="ELEMENT", help="Element that gets the values (default: the system).")
    ] = "",
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="TEXT", help="Add this prefix to each name of the set: System1.")
    ] = "",
    mapping: Annotated[
        str | None,
        typer.Option("--mapping", metavar="FILE.ssm", help="Rename the parameters by this parameter mapping (.ssm)."),
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Copy the values into the system structure.")] = False,
) -> None:
    """Bind a parameter set to an element.

    Its values win over those of earlier bindings. The file is copied into the archive. A parameter set in an FMU is
    copied, too; its name is like `resources/motor.fmu!extra/heavy.ssv`, as `ssptool info` prints it. The inverse is
    `unbind`.

    Examples:
      ssptool bind plant heavy.ssv --to Motor
    """
    with edited(system, how) as editor:
        editor.bind(file, to=to, prefix=prefix, mapping=mapping, inline=inline)


@bundled(how=editing_from)
def unbind_command(
    system: EditedSystem,
    how: Editing,
    file: Annotated[str, typer.Argument(metavar="FILE.ssv", help="Bound parameter set, or inline for an inline set.")],
    to: To = "",
    number: Annotated[
        int | None,
        typer.Option(
            "--number", metavar="N", min=1, help="Number of the binding, from 1, if the set is bound several times."
        ),
    ] = None,
    with_resource: Annotated[
        bool, typer.Option("--with-resource", help="Also delete the set and its mapping, if nothing else uses them.")
    ] = False,
) -> None:
    """Remove a parameter binding. The inverse of `bind`.

    Examples:
      ssptool unbind plant heavy.ssv --to Motor
      ssptool unbind plant inline
    """
    with edited(system, how) as editor:
        editor.unbind(file, to=to, number=number, with_resource=with_resource)


Of = Annotated[
    str | None,
    typer.Option("--of", metavar="FILE.ssv", help="Parameter set of the binding, if the element has several."),
]


@bundled(how=editing_from)
def map_command(
    system: EditedSystem,
    how: Editing,
    entries: Annotated[
        list[str], typer.Argument(metavar="SOURCE=TARGET", help="Name in the set, and the parameter that it sets.")
    ],
    to: To = "",
    of: Of = None,
    factor: Annotated[float | None, typer.Option("--factor", metavar="X", help="Multiply the value.")] = None,
    offset: Annotated[
        float | None, typer.Option("--offset", metavar="X", help="Add this offset to the value, after --factor.")
    ] = None,
) -> None:
    """Map names of a bound parameter set to parameters.

    The command adds entries to the mapping of the binding. Other names of the set keep their meaning. The inverse is
    `unmap`.

    Examples:
      ssptool map plant mass=Motor.m    # the parameter `mass` sets `Motor.m`
    """
    with edited(system, how) as editor:
        for source, target in split_pairs(entries, "SOURCE=TARGET"):
            editor.map(source, target, to=to, of=of, factor=factor, offset=offset)


@bundled(how=editing_from)
def unmap_command(
    system: EditedSystem,
    how: Editing,
    entries: Annotated[
        list[str] | None, typer.Argument(metavar="SOURCE=TARGET", help="Entries of the mapping, as `map` takes them.")
    ] = None,
    to: To = "",
    of: Of = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Remove the mapping; parameters have their own names again.")
    ] = False,
) -> None:
    """Remove entries of a parameter mapping. The inverse of `map`.

    Examples:
      ssptool unmap plant mass=Motor.m
      ssptool unmap plant --all --to Motor
    """
    if bool(entries) == everything:
        raise typer.BadParameter("give the entries to take out, or --all", param_hint="SOURCE=TARGET")
    with edited(system, how) as editor:
        for source, target in split_pairs(entries, "SOURCE=TARGET"):
            editor.unmap(source, target, to=to, of=of)
        if everything:
            editor.unmap_all(to=to, of=of)
