"""Commands that edit the structure of a system: new, add, remove, connect, disconnect, rename, replace, dictionary.

`edited` runs the edits of one command and prints their effects, or with `--diff` the changes they would make.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

import ssptool
from ssptool.cli.app import say
from ssptool.cli.completion import elements, full_names
from ssptool.cli.options import WHICH_VARIANT, AllowOutside, EditedSystem, bundled, split_pairs, time
from ssptool.option_words import Sharing, SspWord

if TYPE_CHECKING:
    from ssptool.editing.editor import Editor


EVERY_EDIT = "Every edit"
Diff = Annotated[
    bool,
    typer.Option("--diff", help="Show the changes as a unified diff, and write nothing.", rich_help_panel=EVERY_EDIT),
]
Force = Annotated[
    bool, typer.Option("--force", help="Write even if the system gets new errors.", rich_help_panel=EVERY_EDIT)
]
Into = Annotated[str, typer.Option("--into", metavar="SYSTEM", help="Nested system to add to (default: the root).")]
EditedVariant = Annotated[
    str | None, typer.Option("--variant", metavar="NAME", help=WHICH_VARIANT, rich_help_panel=EVERY_EDIT)
]
OneElement = Annotated[
    str, typer.Argument(metavar="ELEMENT", help="Full name of the element.", autocompletion=elements)
]
SomeElements = Annotated[
    list[str],
    typer.Argument(metavar="ELEMENT…", help="Full names of elements of one system.", autocompletion=elements),
]
ExperimentStart = Annotated[
    float | None,
    typer.Option("--start-time", parser=time, metavar="T", help="Start time of the default experiment: 0, 10ms."),
]
ExperimentStop = Annotated[
    float | None,
    typer.Option("--stop-time", parser=time, metavar="T", help="Stop time of the default experiment: 10, 2min."),
]
SharedDocument = Annotated[
    Sharing,
    typer.Option(
        "--shared",
        help="If several components share the document: refuse the edit, edit it for all, or copy it "
        "for the named component.",
        rich_help_panel=EVERY_EDIT,
    ),
]


@dataclass(frozen=True, slots=True)
class Editing:
    """Common options of edits: variant, sharing, the way to end, and folders outside that may be read."""

    variant: str | None
    shared: Sharing
    diff: bool
    force: bool
    allow_outside: list[Path]


def editing_from(
    variant: EditedVariant = None,
    shared: SharedDocument = Sharing.REFUSE,
    diff: Diff = False,
    force: Force = False,
    allow_outside: AllowOutside = None,
) -> Editing:
    """The options of every command that edits."""
    return Editing(variant, shared, diff, force, allow_outside or [])


@contextmanager
def edited(system: Path, how: Editing, *, save: bool = True) -> "Iterator[Editor]":
    """Edit a system, and print what was done."""
    save = save and not how.diff
    editing = ssptool.edit(
        system,
        variant=how.variant,
        shared=how.shared.value,
        force=how.force,
        save=save,
        wait=save,
        allow_outside=how.allow_outside,
    )
    with printing(editing, how.diff) as editor:
        yield editor


@contextmanager
def printing(editing: "AbstractContextManager[Editor]", diff: bool) -> "Iterator[Editor]":
    """Run all edits, then print their effects, or with `diff` the changes they would make."""
    text = ""
    try:
        with editing as editor:
            yield editor
            text = editor.diff().rstrip("\n") if diff else "\n".join(editor.notes)
    except Exception:
        if diff and text:
            say(text, verbatim=diff)  # What would not be saved is worth seeing even so.
        raise
    if text:
        say(text, verbatim=diff)


def new_command(
    system: Annotated[
        Path, typer.Argument(metavar="SYSTEM", help="System to create: NAME.ssp, NAME.ssd, or a folder.")
    ],
    fmus: Annotated[list[str] | None, typer.Argument(metavar="FMU", help="FMUs to add, as `add` does.")] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the system (default: name of the file).")
    ] = None,
    ssp: Annotated[
        str,
        typer.Option(
            "--ssp", metavar="1.0|2.0", help="Use this version of SSP; 1.0 becomes 2.0 when an edit needs it."
        ),
    ] = "1.0",
    start_time: ExperimentStart = None,
    stop_time: ExperimentStop = None,
    diff: Diff = False,
) -> None:
    """Create a system, empty or with FMUs.

    Examples:
      ssptool new plant --stop-time 10
      ssptool new plant.ssp Motor.fmu Gear.fmu
    """
    made = ssptool.new(
        system, name=name, ssp=cast("SspWord", ssp), start_time=start_time, stop_time=stop_time, save=not diff
    )
    with printing(made, diff) as editor:
        editor.note(f"created {system} (SSP {ssp})")
        editor.add(*fmus or ())


@bundled(how=editing_from)
def add_command(
    system: EditedSystem,
    how: Editing,
    fmus: Annotated[
        list[str] | None,
        typer.Argument(metavar="FMU", help="FMUs, packages (.ssp) or tables (.csv): files, or entries of the archive."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the component (default: name of the file).")
    ] = None,
    into: Into = "",
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Also create connectors for the parameters of the FMU.")
    ] = False,
    subsystem: Annotated[
        str | None, typer.Option("--system", metavar="NAME", help="Add an empty system instead of an FMU.")
    ] = None,
    connector: Annotated[
        str | None, typer.Option("--connector", metavar="NAME", help="Add a connector to the system of --into.")
    ] = None,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Kind of the connector: input, output, parameter, …")
    ] = "input",
    type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Type of the connector: Float64, Boolean, …")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="UNIT",
            help="Unit of the connector: declared in the system or an FMU, or an SI expression such as mm.",
        ),
    ] = None,
) -> None:
    """Add FMUs, packages, tables, a nested system, or a connector.

    Files are copied into the archive. Connectors, types, units and enumerations come from the model description. A
    system without a default experiment gets that of the FMU. A CSV file, time first, becomes a table: a component with
    an output for each other column. The inverse is `remove`.

    Examples:
      ssptool add plant Motor.fmu Gear.fmu
      ssptool add plant --connector speed --kind output --unit rad/s
    """
    if not fmus and subsystem is None and connector is None:
        raise typer.BadParameter("name FMUs to add, or use --system or --connector", param_hint="FMU")
    with edited(system, how) as editor:
        editor.add(*fmus or (), name=name, into=into, parameters=parameters)
        if subsystem is not None:
            editor.add_system(subsystem, into=into)
        if connector is not None:
            editor.add_connector(connector, kind, of=into, type=type, unit=unit)


@bundled(how=editing_from)
def remove_command(
    system: EditedSystem,
    how: Editing,
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="Full names of elements or connectors.", autocompletion=full_names),
    ],
    with_resource: Annotated[
        bool, typer.Option("--with-resource", help="Also delete the file of a component, if nothing else uses it.")
    ] = False,
) -> None:
    """Remove elements or connectors. The inverse of `add`.

    Their connections are removed with them.

    Examples:
      ssptool remove plant Gear --with-resource
      ssptool remove plant Motor.w
    """
    with edited(system, how) as editor:
        editor.remove(*names, with_resource=with_resource)


First = Annotated[
    str, typer.Argument(metavar="A", help="Connector (System1.x1), terminal or element.", autocompletion=full_names)
]
Second = Annotated[
    str,
    typer.Argument(metavar="B", help="Connector, terminal or element to connect it to.", autocompletion=full_names),
]


@bundled(how=editing_from)
def connect_command(
    system: EditedSystem,
    how: Editing,
    a: First,
    b: Second,
    factor: Annotated[
        float | None,
        typer.Option("--factor", metavar="X", help="Multiply the value by this factor, after unit conversion."),
    ] = None,
    offset: Annotated[
        float | None, typer.Option("--offset", metavar="X", help="Add this offset to the value, after --factor.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FROM=TO",
            help="Replace a value by another one: Booleans, integers, or items of enumerations. Other "
            "values pass unchanged.",
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--no-transformation", help="Remove factor, offset and table of the connection.")
    ] = False,
    convert: Annotated[
        bool | None,
        typer.Option(
            "--unit-conversion/--no-unit-conversion",
            help="Convert the value to the unit of the other end, or pass on the bare number (default: "
            "--unit-conversion).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Connect connectors, terminals, or elements by matching names.

    The kinds of the connectors decide which one is the source. A connection of two connectors can transform the value;
    if they are already connected, the options change the connection. Terminals are connected member by member; between
    two inflows the factor is -1. Signals of a dictionary are called REFERENCE.signal. The inverse is `disconnect`.

    Examples:
      ssptool connect plant Motor Gear
      ssptool connect plant Motor.w Gear.w --factor 0.1 --offset 2
      ssptool connect plant Switch.mode Pump.mode --map off=idle --map on=running
    """
    pairs = split_pairs(table, "FROM=TO", "--map")
    values = dict(pairs)
    if len(values) < len(pairs):
        raise typer.BadParameter("a value is mapped twice", param_hint="--map")
    suppress = None if convert is None else not convert
    with edited(system, how) as editor:
        editor.connect(
            a, b, factor=factor, offset=offset, table=values or None, plain=plain, suppress_unit_conversion=suppress
        )


@bundled(how=editing_from)
def disconnect_command(system: EditedSystem, how: Editing, a: First, b: Second) -> None:
    """Remove connections. The inverse of `connect`.

    Examples:
      ssptool disconnect plant Motor Gear        # all connections of the two
      ssptool disconnect plant Motor.w Gear.w    # one connection
    """
    with edited(system, how) as editor:
        editor.disconnect(a, b)


@bundled(how=editing_from)
def rename_command(
    system: EditedSystem,
    how: Editing,
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="Full name of an element or a connector.", autocompletion=full_names)
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="New name, without the names of the enclosing systems.")],
) -> None:
    """Rename an element or a connector, with all references to it.

    References are in connections, parameters and mappings.

    Examples:
      ssptool rename plant Drive.Motor Engine    # from now on Drive.Engine
    """
    with edited(system, how) as editor:
        editor.rename(old, new)


@bundled(how=editing_from)
def duplicate_command(
    system: EditedSystem,
    how: Editing,
    element: OneElement,
    new: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="NAME", help="Name of the copy (default: next free one, such as Fan2).", show_default=False
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="OTHER",
            help='System that gets the copy ("": the root system; default: that of the element).',
            show_default=False,
        ),
    ] = None,
) -> None:
    """Copy an element, with its values and without its connections.

    Parameters of outer sets that set the element also set the copy. Files are shared. In another system (--into), the
    copy gets a binding for values that do not reach it there.

    Examples:
      ssptool duplicate plant Motor
      ssptool duplicate plant Drive.Motor --as Spare
      ssptool duplicate plant Motor --into Drive
    """
    with edited(system, how) as editor:
        editor.duplicate(element, new, into)


CopiedElements = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ELEMENT…]",
        help="Full names of elements of one system (default: all elements of the root system).",
        show_default=False,
    ),
]


def copy_command(
    system: EditedSystem,
    target: Annotated[Path, typer.Argument(metavar="NEW", help="System to create: an .ssp, .ssd or folder.")],
    elements: SomeElements,
    variant: EditedVariant = None,
    allow_outside: AllowOutside = None,
) -> None:
    """Write elements as a new system, for `paste` into other systems.

    The new system has their values, files and units, and the connections between them. SYSTEM is not changed.

    Examples:
      ssptool copy plant drive.ssp Motor Gear      # then: ssptool paste other drive.ssp
    """
    with ssptool.edit(system, variant=variant, save=False, allow_outside=allow_outside or []) as editor:
        editor.copy(target, *elements)
    say(f"wrote {target}: {', '.join(elements)}")


@bundled(how=editing_from)
def paste_command(
    system: EditedSystem,
    how: Editing,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="System that has the elements.")],
    names: CopiedElements = None,
    into: Into = "",
) -> None:
    """Copy elements of another system into a system.

    Their values, files and units come along, and the connections between them. Copies get the next free name if their
    name is taken. Inverse: `remove`.

    Examples:
      ssptool paste other drive.ssp                # all elements of drive.ssp
      ssptool paste other plant Drive.Motor --into Left
    """
    with edited(system, how) as editor:
        editor.paste(source, *(names or ()), into=into)


@bundled(how=editing_from)
def wrap_command(
    system: EditedSystem,
    how: Editing,
    names: SomeElements,
    new: Annotated[str, typer.Option("--as", metavar="NAME", help="Name of the new system.")],
) -> None:
    """Move elements into a new nested system.

    It gets the necessary connectors. Connections, parameters and mappings are adapted. The inverse is `unwrap`.

    Examples:
      ssptool wrap plant Motor Gear --as Drive
    """
    with edited(system, how) as editor:
        editor.wrap(*names, name=new)


@bundled(how=editing_from)
def unwrap_command(
    system: EditedSystem,
    how: Editing,
    inner: Annotated[
        str, typer.Argument(metavar="INNER", help="Full name of a nested system.", autocompletion=elements)
    ],
) -> None:
    """Dissolve a nested system. The inverse of `wrap`.

    Its content and its bindings move into the enclosing system. Connections through its connectors become direct
    connections.

    Examples:
      ssptool unwrap plant Drive
    """
    with edited(system, how) as editor:
        editor.unwrap(inner)


@bundled(how=editing_from)
def move_command(
    system: EditedSystem,
    how: Editing,
    names: SomeElements,
    into: Annotated[
        str,
        typer.Option(
            "--into",
            metavar="INNER",
            help='Move into this nested system next to them, or into this enclosing system ("": the root system).',
        ),
    ],
) -> None:
    """Move elements into a nested system, or out of it.

    Connections, parameters and mappings are adapted. If a connection crosses the boundary of the nested system, a
    connector is added there.

    Examples:
      ssptool move plant Sensor --into Drive
      ssptool move plant Drive.Motor --into ""
    """
    with edited(system, how) as editor:
        editor.move(*names, into=into)


@bundled(how=editing_from)
def place_command(
    system: EditedSystem,
    how: Editing,
    element: OneElement,
    at: Annotated[
        tuple[float, float],
        typer.Option("--at", metavar="X Y", help="Position of the lower left corner, to the right and upwards [mm]."),
    ],
    size: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--size",
            metavar="WIDTH HEIGHT",
            show_default=False,
            help="Size [mm] (default: current size; 40 x 40 for an element without one).",
        ),
    ] = None,
) -> None:
    """Set the position of an element in the diagram of its system.

    Its lines lose their way points. A canvas with a stated size grows to contain the element.

    Examples:
      ssptool place plant Drive.Motor --at 10 40 --size 40 60
    """
    width, height = size or (None, None)
    with edited(system, how) as editor:
        editor.place(element, *at, width, height)


@bundled(how=editing_from)
def align_command(
    system: EditedSystem,
    how: Editing,
    elements: SomeElements,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="left|right|top|bottom|centre|middle|across|down",
            help="Align to an edge of the box around the elements (left, right, top, bottom), to its "
            "centre (in a column) or middle (in a row); or distribute them across or down.",
        ),
    ],
) -> None:
    """Align elements in the diagram, or distribute them evenly.

    Examples:
      ssptool align plant Motor Gear Load --to bottom
    """
    with edited(system, how) as editor:
        editor.align(*elements, to=to)


@bundled(how=editing_from)
def route_command(
    system: EditedSystem,
    how: Editing,
    a: First,
    b: Second,
    via: Annotated[
        list[str] | None,
        typer.Option("--via", metavar="X,Y", help="Point on the way from A to B [mm]."),
    ] = None,
) -> None:
    """Route the line of a connection through points of the diagram.

    Without points, the line gets its default route.

    Examples:
      ssptool route plant Motor.w Gear.w --via 60,30 --via 60,80
    """
    points = [_point(text) for text in via or ()]
    with edited(system, how) as editor:
        editor.route(a, b, points)


@bundled(how=editing_from)
def annotate_command(
    system: EditedSystem,
    how: Editing,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text of the note.")],
    of: Annotated[
        str, typer.Option("--of", metavar="INNER", help="Nested system that gets the note (default: the root system).")
    ] = "",
    at: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--at",
            metavar="X Y",
            help="Lower left corner, to the right and upwards [mm] (default: below the elements).",
            show_default=False,
        ),
    ] = None,
    size: Annotated[
        tuple[float, float] | None,
        typer.Option("--size", metavar="WIDTH HEIGHT", help="Size [mm] (default: 60 x 20).", show_default=False),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the note with this text; its beginning is enough.")
    ] = False,
) -> None:
    """Write a note into the diagram, move it, or remove it.

    A note with the same text is moved to the new position.

    Examples:
      ssptool annotate plant "Valid up to 80 °C" --at 10 -30
      ssptool annotate plant "Valid up" --remove
    """
    if remove and (at is not None or size is not None):
        raise typer.BadParameter("a note that is removed has no position and no size", param_hint="--remove")
    with edited(system, how) as editor:
        if remove:
            editor.remove_note(text, of)
        else:
            editor.annotate(text, of, *(at or (None, None)), *(size or (None, None)))


def _point(text: str) -> tuple[float, float]:
    try:
        x, y = map(float, text.split(","))
    except ValueError:
        raise typer.BadParameter(f"found {text!r}, expected two numbers such as 60,30") from None
    return x, y


@bundled(how=editing_from)
def replace_command(
    system: EditedSystem,
    how: Editing,
    component: Annotated[
        str, typer.Argument(metavar="COMPONENT", help="Full name of the element.", autocompletion=elements)
    ],
    fmu: Annotated[str, typer.Argument(metavar="FMU", help="FMU: a file, or an entry of the archive.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would break and change, and write nothing.")
    ] = False,
) -> None:
    """Replace the FMU of a component.

    The command fails if connectors, connections or parameters use variables that the new FMU lacks. --dry-run lists
    them, and exits with 1 if there are any.

    Examples:
      ssptool replace plant Motor Motor_v2.fmu --dry-run
    """
    with edited(system, how, save=not dry_run) as editor:
        if not dry_run:
            editor.replace(component, fmu, force=how.force)
            return
        found = editor.consequences(component, fmu)
    for each in found:
        say(str(each))
    breaking = sum(each.weight == "breaks" for each in found)
    say(f"{breaking} of {len(found)} consequences break something" if found else "nothing breaks or changes")
    raise typer.Exit(1 if breaking else 0)


Dictionary = Annotated[str, typer.Argument(metavar="DICTIONARY", help="Name of the signal dictionary.")]
DictionaryOf = Annotated[
    str, typer.Option("--of", metavar="SYSTEM", help="Nested system that has the dictionary (default: the root).")
]

dictionary_app = typer.Typer(
    help="Edit signal dictionaries: signals that elements share by name.\n\n"
    "A system has the dictionary. References to it are elements of the same system or of nested systems. `connect` "
    "uses the name REFERENCE.signal, and creates the connector of the reference if it does not exist.",
    no_args_is_help=True,
    add_completion=False,
)


@dictionary_app.command("add")
@bundled(how=editing_from)
def dictionary_add(
    system: EditedSystem,
    how: Editing,
    name: Dictionary,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="FILE.ssb",
            help="Take the signals from this file, which is copied into the archive, or from this entry.",
        ),
    ] = None,
    into: Into = "",
) -> None:
    """Add a signal dictionary to a system, empty or from a file.

    Examples:
      ssptool dictionary add plant bus
    """
    with edited(system, how) as editor:
        editor.add_dictionary(name, into=into, file=file)


@dictionary_app.command("signal")
@bundled(how=editing_from)
def dictionary_signal(
    system: EditedSystem,
    how: Editing,
    dictionary: Dictionary,
    name: Annotated[str, typer.Argument(metavar="SIGNAL", help="Name of the new signal.")],
    type: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="TYPE", help="Type: Float64, Int32, Boolean, … (default: Float64; Real in SSP 1.0)."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", help="Unit declared in the system or an FMU, or an SI expression such as mm."
        ),
    ] = None,
    of: DictionaryOf = "",
) -> None:
    """Add a signal to a dictionary.

    Examples:
      ssptool dictionary signal plant bus speed --unit rad/s
    """
    with edited(system, how) as editor:
        editor.add_signal(dictionary, name, of=of, type=type, unit=unit)


@dictionary_app.command("refer")
@bundled(how=editing_from)
def dictionary_refer(
    system: EditedSystem,
    how: Editing,
    dictionary: Dictionary,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the reference, as an element of its system.")],
    into: Into = "",
) -> None:
    """Add a reference to a dictionary to a system.

    The inverse is `ssptool remove plant Bus`.

    Examples:
      ssptool dictionary refer plant bus Bus
      ssptool connect plant Motor.w Bus.speed
      ssptool connect plant Bus.speed Gear.w
    """
    with edited(system, how) as editor:
        editor.add_reference(name, dictionary, into=into)


@dictionary_app.command("remove")
@bundled(how=editing_from)
def dictionary_remove(
    system: EditedSystem,
    how: Editing,
    dictionary: Dictionary,
    signal: Annotated[
        str | None, typer.Argument(metavar="SIGNAL", help="Remove only this signal (default: the whole dictionary).")
    ] = None,
    of: DictionaryOf = "",
) -> None:
    """Remove an unused dictionary, or an unused signal of a dictionary.

    Examples:
      ssptool dictionary remove plant bus speed
    """
    with edited(system, how) as editor:
        editor.remove_dictionary(dictionary, of=of, signal=signal)
