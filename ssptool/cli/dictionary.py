"""`ssptool dictionary add|signal|refer|remove`."""

from typing import Annotated

import typer

from ssptool.cli.bundles import bundled
from ssptool.cli.edited import Editing, Into, edited, editing_from
from ssptool.cli.options import SystemPath

Dictionary = Annotated[str, typer.Argument(metavar="DICTIONARY", help="The name of the signal dictionary.")]
Of = Annotated[
    str, typer.Option("--of", metavar="SYSTEM", help="The system inside that has the dictionary; else the root.")
]

dictionary_app = typer.Typer(
    help="Make and fill dictionaries: signals that elements share by name.\n\n"
    "A system has the dictionary; references to it stand in that system or in systems inside. `connect` reaches the "
    "signals as REFERENCE.signal, and makes the connector of the reference if there is none.",
    no_args_is_help=True,
    add_completion=False,
)


@dictionary_app.command("add")
@bundled(how=editing_from)
def add_command(
    system: SystemPath,
    how: Editing,
    name: Dictionary,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE.ssb", help="Its signals: a file, copied into the archive, or an entry."),
    ] = None,
    into: Into = "",
) -> None:
    """Give a system a signal dictionary: an empty one, or that of a file.

    For example `ssptool dictionary add plant bus`.
    """
    with edited(system, how) as editor:
        editor.add_dictionary(name, into=into, file=file)


@dictionary_app.command("signal")
@bundled(how=editing_from)
def signal_command(
    system: SystemPath,
    how: Editing,
    dictionary: Dictionary,
    name: Annotated[str, typer.Argument(metavar="SIGNAL", help="The name of the new signal.")],
    type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Float64, Int32, Boolean, …; else Float64 (1.0: Real).")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="UNIT", help="One of the system or an FMU, or a common one such as mm."),
    ] = None,
    of: Of = "",
) -> None:
    """Give a dictionary a signal.

    For example `ssptool dictionary signal plant bus speed --unit rad/s`.
    """
    with edited(system, how) as editor:
        editor.add_signal(dictionary, name, of=of, type=type, unit=unit)


@dictionary_app.command("refer")
@bundled(how=editing_from)
def refer_command(
    system: SystemPath,
    how: Editing,
    dictionary: Dictionary,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the reference, as an element of its system.")],
    into: Into = "",
) -> None:
    """Put a reference to a dictionary into a system.

    For example `ssptool dictionary refer plant bus Bus`, then `ssptool connect
    plant Motor.w Bus.speed` and `ssptool connect plant Bus.speed Gear.w`. The
    inverse is `ssptool remove plant Bus`.
    """
    with edited(system, how) as editor:
        editor.add_reference(name, dictionary, into=into)


@dictionary_app.command("remove")
@bundled(how=editing_from)
def remove_command(
    system: SystemPath,
    how: Editing,
    dictionary: Dictionary,
    signal: Annotated[
        str | None, typer.Argument(metavar="SIGNAL", help="Only this signal; else the whole dictionary.")
    ] = None,
    of: Of = "",
) -> None:
    """Take a dictionary away from a system, or one signal out of it; refused while references use it.

    For example `ssptool dictionary remove plant bus speed`.
    """
    with edited(system, how) as editor:
        editor.remove_dictionary(dictionary, of=of, signal=signal)
