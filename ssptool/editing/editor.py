"""The verbs of editing, on one system structure of an archive."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import NoReturn, ParamSpec, Self

from ssptool.arguments import Frame, WrongArgument, is_frame, seconds, word
from ssptool.arguments import path as file_path
from ssptool.documents import ssd
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.editing.add import (
    SUFFIXES,
    add_connector,
    add_fmu,
    add_structure,
    add_system,
    add_table,
    expose,
    free_names,
    names_in,
)
from ssptool.editing.annotate import annotate, remove_note
from ssptool.editing.bind import add_mapping, bind, unbind, unmap, unmap_all
from ssptool.editing.changes import EditError, unified_diff
from ssptool.editing.connect import connect, disconnect, route
from ssptool.editing.dictionaries import add_dictionary, add_entry, add_reference, remove_dictionary
from ssptool.editing.draft import Draft, empty_structure
from ssptool.editing.duplicate import duplicate
from ssptool.editing.geometry import align, place_at
from ssptool.editing.grouping import move, unwrap, wrap
from ssptool.editing.names import Name, reach
from ssptool.editing.paste import paste
from ssptool.editing.remove import remove
from ssptool.editing.rename import rename
from ssptool.editing.replace import Consequence, consequences, replace
from ssptool.editing.set import set_experiment, set_value, unset_experiment, unset_value
from ssptool.editing.set_table import ParameterDifference, differences, set_table
from ssptool.editing.targets import LegalTarget, Suggestion, legal_targets, suggestions
from ssptool.editing.transformations import Treatment
from ssptool.errors import similar_names
from ssptool.network.parameter_table import ParameterTable
from ssptool.option_words import Sharing
from ssptool.public_calls import public

P = ParamSpec("P")

VERBS = (
    *(
        "add",
        "add_system",
        "add_connector",
        "duplicate",
        "paste",
        "wrap",
        "unwrap",
        "move",
        "remove",
        "rename",
        "replace",
        "connect",
        "disconnect",
        "place",
    ),
    *("align", "route", "annotate", "remove_note"),
    *("set", "unset", "set_experiment", "unset_experiment", "bind", "unbind", "map", "unmap", "unmap_all"),
    *("add_dictionary", "add_signal", "add_reference", "remove_dictionary"),
)
"""Methods of `Editor` that change a system; programs refer to edits by these names."""


def no_such_verb(name: object) -> str:
    """Error text for an edit without a verb, or with an unknown one."""
    near = similar_names(str(name), VERBS)
    hint = f"did you mean {' or '.join(near)}?" if near else f"verbs are {', '.join(VERBS)}"
    return f"{name!r} is not a verb of edits; {hint}"


class EditBlock(AbstractContextManager["Editor"]):
    """An edit in a `with` block; using it without `with` gives a helpful error."""

    def __init__(self, call: str, block: AbstractContextManager["Editor"]) -> None:
        self._call = call
        self._block = block
        self._entered = False

    def __enter__(self) -> "Editor":
        self._entered = True
        return self._block.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return self._block.__exit__(kind, problem, traceback)

    def __getattr__(self, name: str) -> NoReturn:
        example = f"{name}(…)" if name in VERBS else name
        raise AttributeError(f"use `with`: `with ssptool.{self._call}(…) as system: system.{example}`")

    def __repr__(self) -> str:
        return f"<ssptool.{self._call}(…): to be used as `with ssptool.{self._call}(…) as system:`>"

    def __del__(self) -> None:
        if not self._entered:
            text = f"ssptool.{self._call}(…) did nothing: use `with ssptool.{self._call}(…) as system:`"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def edit_block(function: Callable[P, Iterator["Editor"]]) -> Callable[P, EditBlock]:
    """Decorator like `contextmanager`, for a function that yields an editor."""
    block = contextmanager(function)

    @wraps(function)
    def begin(*args: P.args, **kwargs: P.kwargs) -> EditBlock:
        return EditBlock(function.__name__, block(*args, **kwargs))

    return begin


@public
class Editor:
    """Edits a system structure in memory. Each verb returns the editor, so that verbs can be chained.

    Names are full names such as `Plant.System1.x1`, or their parts as a tuple. They can also point into components
    with nested structures (`.ssd`, `.ssp`); the verb then edits the nested document. If other components use the same
    document, `sharing` decides. `notes` lists the changes. Use `archive`, `document` and `system` for edits without a
    verb.

    Every verb raises EditError if the edit is not possible. The message names the object and a remedy.
    """

    def __init__(self, archive: Archive, document: Document, sharing: Sharing | str = Sharing.REFUSE) -> None:
        self._draft = Draft(archive, document)
        self._sharing = word("shared", sharing, Sharing)
        self._renamed: dict[str, str] = {}

    def close(self) -> None:
        """Close the nested packages."""
        self._draft.packages.close()

    def __repr__(self) -> str:
        return f"<Editor of {self.document.name} in {self.archive.path}>"

    @property
    def archive(self) -> Archive:
        return self._draft.archive

    @property
    def document(self) -> Document:
        return self._draft.document

    @property
    def system(self) -> ssd.System:
        return self._draft.system

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the changes, in words."""
        return tuple(self._draft.notes)

    @property
    def renamed(self) -> Mapping[str, str]:
        """Names of renamed elements and connectors: before the edit → now."""
        return self._renamed

    def note(self, text: str) -> None:
        """Add a note on a change that was made without a verb."""
        self._draft.note(text)

    def diff(self) -> str:
        """Unified diffs of all documents that `save` would change."""
        return unified_diff(self._draft.packages.edits(self.archive))

    @contextmanager
    def _at(self, *names: Name, inside: bool = False) -> Iterator[tuple[Draft, tuple[Name, ...]]]:
        """The structure that contains the named objects; changes in nested packages are put back into this one."""
        yield reach(self._draft, *names, sharing=self._sharing, inside=inside)
        self._draft.packages.put_back(self.archive)

    def add(self, *fmus: Path | str, name: str | None = None, into: Name = "", parameters: bool = False) -> Self:
        """Add FMUs as components: copy them into `resources`, and create the connectors of their model descriptions.

        A system without a default experiment gets the one of the first FMU that states a stop time.

        CSV files with `time` as first column become tables (`text/csv`), with an output for each other column.

        Packages (`.ssp`), and structures in `resources` (`.ssd`), become components with the connectors of their root
        systems.

        Parameters
        ----------
        name
            Name of the component, for a single FMU (default: file name without `.fmu`, with the next free number if
            the name is taken: `Fan2`).
        into
            System that gets the components (default: the root system).
        parameters
            Also create connectors for parameters, in addition to inputs and outputs.
        """
        if name is not None and len(fmus) > 1:
            raise EditError(f"{len(fmus)} FMUs cannot all be called {name!r}: add one at a time, or give no name")
        with self._at(into, inside=True) as (draft, (where,)):
            for fmu, own in zip(fmus, free_names(names_in(draft, where), fmus), strict=True):
                makers = {**dict.fromkeys(SUFFIXES, add_structure), ".csv": add_table}
                make = makers.get(Path(fmu).suffix.lower(), add_fmu)
                make(draft, fmu, own if name is None else name, where, parameters)
        return self

    def add_system(self, name: str, into: Name = "") -> Self:
        """Add an empty nested system."""
        with self._at(into, inside=True) as (draft, (where,)):
            add_system(draft, name, where)
        return self

    def add_connector(
        self, name: str, kind: str, of: Name = "", type: str | None = None, unit: str | None = None
    ) -> Self:
        """Add a connector to a system. `kind` is, for example, `input` or `output` (default type: that of its
        partners).
        """
        with self._at(of, inside=True) as (draft, (where,)):
            connector = add_connector(draft, name, kind, where, type, unit)
            if connector in draft.system.connectors:
                expose(draft, connector)
        return self

    def add_dictionary(self, name: str, into: Name = "", file: Path | str | None = None) -> Self:
        """Add a signal dictionary to a system: an empty one, or the one in an `.ssb` file."""
        with self._at(into, inside=True) as (draft, (where,)):
            add_dictionary(draft, name, where, file)
        return self

    def add_signal(
        self, dictionary: str, name: str, of: Name = "", type: str | None = None, unit: str | None = None
    ) -> Self:
        """Add a signal to a dictionary; `of` is the system with the dictionary, or a system nested in it."""
        with self._at(of, inside=True) as (draft, (where,)):
            add_entry(draft, dictionary, name, where, type, unit)
        return self

    def add_reference(self, name: str, dictionary: str, into: Name = "") -> Self:
        """Add a reference to a signal dictionary to a system; `connect` accepts its signals as `NAME.signal`."""
        with self._at(into, inside=True) as (draft, (where,)):
            add_reference(draft, name, dictionary, where)
        return self

    def remove_dictionary(self, name: str, of: Name = "", signal: str | None = None) -> Self:
        """Remove a signal dictionary from a system, or one signal from a dictionary. It must not be in use."""
        with self._at(of, inside=True) as (draft, (where,)):
            remove_dictionary(draft, name, where, signal)
        return self

    def connect(
        self,
        a: Name,
        b: Name,
        *,
        factor: float | None = None,
        offset: float | None = None,
        table: Mapping[str, str] | None = None,
        plain: bool = False,
        suppress_unit_conversion: bool | None = None,
    ) -> Self:
        """Connect two connectors; two terminals, member by member; or two elements, by names and types.

        A connection of two connectors can transform the value. If they are already connected, the transformation of the
        connection changes.

        Parameters
        ----------
        factor, offset
            The destination gets `factor · value + offset`, after the conversion of units.
        table
            Source value → destination value, for Booleans, integers, or items of enumerations.
        plain
            Remove the transformation.
        suppress_unit_conversion
            True: pass the number without converting its unit; False: convert units again.
        """
        treatment = Treatment(factor, offset, table, plain, suppress_unit_conversion)
        with self._at(a, b) as (draft, (first, second)):
            connect(draft, first, second, treatment)
        return self

    def disconnect(self, a: Name, b: Name) -> Self:
        """Remove the connections between two connectors, terminals or elements."""
        with self._at(a, b) as (draft, (first, second)):
            disconnect(draft, first, second)
        return self

    def remove(self, *names: Name, with_resource: bool = False) -> Self:
        """Remove elements or connectors, and their connections.

        `with_resource` also removes the file of a component from the archive, if nothing else refers to it.
        """
        for each in names:
            with self._at(each) as (draft, (name,)):
                remove(draft, name, with_resource)
        return self

    def duplicate(self, name: Name, new: str | None = None, into: Name | None = None) -> Self:
        """Copy an element, with its values and without its connections.

        Parameters
        ----------
        new
            Name of the copy (default: the next free one, such as `Fan2` for `Fan`; its own in another system).
        into
            System that gets the copy, at any level ("": the root system; default: that of the element). Values from
            bindings that do not reach the copy there become a binding of the copy.
        """
        with self._at(name, *([] if into is None else [into])) as (draft, (element, *target)):
            duplicate(draft, element, new, target[0] if target else None)
        return self

    def paste(self, source: Path | str, *elements: Name, into: Name = "") -> Self:
        """Copy elements of another system: their values, files and units, and the connections between them.

        Parameters
        ----------
        source
            System with the elements (`.ssp`, `.ssd` or a folder), as it is on disk; for example one that `copy` wrote.
        elements
            Full names of elements of one system (default: all elements of the root system). Copies get the next free
            name if their name is taken.
        into
            System that gets the copies (default: the root system).
        """
        with Archive.open(source) as archive, self._at(into, inside=True) as (draft, (where,)):
            paste(draft, Draft(archive, archive.structure()), elements, where)
        return self

    def copy(self, target: Path | str, *elements: Name) -> Self:
        """Write a new system that consists of elements of one system, for `paste`; this system is not changed.

        `target` is the new `.ssp`, `.ssd` or folder. Raises FileExistsError if it exists.
        """
        path = file_path("target", target)
        with Archive.create(path, empty_structure(path.stem, self.document.version, None, None)) as archive:
            made = Draft(archive, archive.structure())
            with self._at(*elements) as (draft, names):
                paste(made, draft, names, "")
            archive.save()
        return self

    def wrap(self, *elements: Name, name: str) -> Self:
        """Move elements of one system into a new nested system, which gets the necessary connectors."""
        with self._at(*elements) as (draft, names):
            wrap(draft, names, name)
        return self

    def unwrap(self, system: Name) -> Self:
        """Move the content of a nested system into the enclosing system, and remove the nested system."""
        with self._at(system) as (draft, (name,)):
            unwrap(draft, name)
        return self

    def move(self, *elements: Name, into: Name) -> Self:
        """Move elements into a nested system next to them, or into the enclosing system ("": the root system)."""
        with self._at(*elements, into) as (draft, names):
            move(draft, names[:-1], names[-1])
        return self

    def rename(self, old: Name, new: str) -> Self:
        """Rename an element or a connector, also in connections, parameters and mappings."""
        with self._at(old) as (draft, (name,)):
            old_name = rename(draft, name, new)
            original = next((first for first, now in self._renamed.items() if now == old_name), old_name)
            self._renamed[original] = new
        return self

    def place(self, name: Name, x: float, y: float, width: float | None = None, height: float | None = None) -> Self:
        """Place an element in the diagram [mm]: its lower left corner, and its size (default: its current size).

        Lines to the element lose their way points. If the document states a canvas, the canvas grows with the element.
        """
        with self._at(name) as (draft, (element,)):
            place_at(draft, element, x, y, width, height)
        return self

    def align(self, *elements: Name, to: str) -> Self:
        """Align elements of one system at an edge or axis of the box around them, or distribute them at equal
        distances.

        Parameters
        ----------
        to
            `left`, `right`, `top`, `bottom`; `centre` (vertical column) or `middle` (horizontal row); `across` or
            `down`: equal distances between the first and the last element, which stay in place.
        """
        with self._at(*elements) as (draft, names):
            align(draft, names, to)
        return self

    def annotate(
        self,
        text: str,
        of: Name = "",
        x: float | None = None,
        y: float | None = None,
        width: float | None = None,
        height: float | None = None,
    ) -> Self:
        """Write a note into the diagram of a system [mm]; a note with the same text is moved.

        Parameters
        ----------
        of
            System that gets the note (default: the root system).
        x, y
            Lower left corner, both or none (default: below the elements).
        width, height
            Size, both or none (default: 60 x 20, or the current size).
        """
        if (x is None) != (y is None) or (width is None) != (height is None):
            raise EditError("give both x and y of a note, and both its width and its height, or none of the two")
        corner = None if x is None or y is None else (x, y)
        size = None if width is None or height is None else (width, height)
        with self._at(of, inside=True) as (draft, (where,)):
            annotate(draft, text, where, corner, size)
        return self

    def remove_note(self, text: str, of: Name = "") -> Self:
        """Remove a note from the diagram of a system; the beginning of its text is enough."""
        with self._at(of, inside=True) as (draft, (where,)):
            remove_note(draft, text, where)
        return self

    def route(self, a: Name, b: Name, points: Sequence[tuple[float, float]] = ()) -> Self:
        """Route the line of a connection over points of the diagram [mm], in the direction from `a` to `b`.

        Without points, the line is routed automatically.
        """
        with self._at(a, b) as (draft, (first, second)):
            route(draft, first, second, points)
        return self

    def set(
        self,
        name: Name | Mapping[Name, object] | ParameterTable | Frame | Path,
        value: object = None,
        unit: str | None = None,
        into: str | None = None,
    ) -> Self:
        """Set a parameter or start value in the place that its present value comes from, or in a set that overrides it.

        Parameters
        ----------
        name
            Name of a variable; or a mapping from names to values (without `value`); or a table as in `differences`, of
            which only differing values are written.
        value
            Value in `unit` (default: unit of the variable); for an enumeration the name of an item.
        into
            Parameter set `NAME.ssv` to write to. If it does not exist, it is created in `resources` and bound to the
            root system.
        """
        if not (isinstance(name, str | tuple | Mapping | ParameterTable | Path) or is_frame(name)):
            raise WrongArgument("name", name, "a full name (a text or a tuple), a mapping, or a table of parameters")
        if isinstance(name, str | tuple) != (value is not None):
            raise WrongArgument("value", value, "omitted for a mapping or table, and given for a name")
        if isinstance(name, ParameterTable | Path) or is_frame(name):
            if unit is not None:
                raise WrongArgument("unit", unit, "omitted for a table, which has a column for units")
            set_table(self._draft, name, into, self._sharing)
            return self
        assert isinstance(name, str | tuple | Mapping)
        for one, own in name.items() if isinstance(name, Mapping) else ((name, value),):
            set_value(self._draft, one, own, unit, into, self._sharing)
        return self

    def differences(self, table: ParameterTable | Frame | Path) -> tuple[ParameterDifference, ...]:
        """List parameters whose values in a table differ from the system, without changing anything.

        Parameters
        ----------
        table
            File of `ssptool.parameters` (.csv, .xlsx, .ssv), or its result; or a frame of pandas with the columns
            `name` (or names as index) and `value`, optionally `unit` and `type`.

        Raises
        ------
        BadData
            Names are unknown, or values or units are wrong; the error lists all findings.
        """
        return differences(self._draft, table)

    def unset(self, name: Name, into: str | None = None) -> Self:
        """Remove the parameter that sets a variable; with `into`, as in `set`, the parameter in that set."""
        unset_value(self._draft, name, into, self._sharing)
        self._draft.packages.put_back(self.archive)
        return self

    def set_experiment(self, start: float | str | None = None, stop: float | str | None = None) -> Self:
        """Set the times of the default experiment, in seconds or as strings with a unit ("2min")."""
        times = {"start": start, "stop": stop}
        given = {name: None if time is None else seconds(name, time) for name, time in times.items()}
        set_experiment(self._draft, **given)
        return self

    def unset_experiment(self, *, start: bool = False, stop: bool = False) -> Self:
        """Remove times of the default experiment."""
        unset_experiment(self._draft, start=start, stop=stop)
        return self

    def bind(
        self,
        file: Path | str,
        to: Name = "",
        prefix: str = "",
        mapping: Path | str | None = None,
        inline: bool = False,
    ) -> Self:
        """Bind a parameter set (`.ssv`) to an element (default: the root system). Its values override earlier ones."""
        with self._at(to) as (draft, (element,)):
            bind(draft, file, element, prefix, mapping, inline)
        return self

    def map(
        self,
        source: str,
        target: str,
        to: Name = "",
        of: str | None = None,
        factor: float | None = None,
        offset: float | None = None,
    ) -> Self:
        """Map the parameter `source` of a binding of `to` to `target`, optionally as `factor · value + offset`.

        `of` selects the parameter set, if the element has several.
        """
        with self._at(to) as (draft, (element,)):
            add_mapping(draft, source, target, element, of, factor, offset)
        return self

    def unbind(self, file: str, to: Name = "", number: int | None = None, with_resource: bool = False) -> Self:
        """Remove a binding of an element: of a set (`.ssv`) or the "inline" one; `number` selects one of several."""
        with self._at(to) as (draft, (element,)):
            unbind(draft, file, element, number, with_resource)
        return self

    def unmap(self, source: str, target: str, to: Name = "", of: str | None = None) -> Self:
        """Remove an entry from the mapping of a binding; see `map`."""
        with self._at(to) as (draft, (element,)):
            unmap(draft, source, target, element, of)
        return self

    def unmap_all(self, to: Name = "", of: str | None = None) -> Self:
        """Remove the mapping of a binding, so that its parameters apply by their own names."""
        with self._at(to) as (draft, (element,)):
            unmap_all(draft, element, of)
        return self

    def replace(self, component: Name, fmu: Path | str, force: bool = False) -> Self:
        """Replace the FMU of a component. Raises RefusedEdit if the system uses variables that the new FMU
        lacks.
        """
        with self._at(component) as (draft, (name,)):
            replace(draft, name, fmu, force)
        return self

    def consequences(self, component: Name, fmu: Path | str) -> tuple[Consequence, ...]:
        """Consequences of `replace`; nothing is changed."""
        with self._at(component) as (draft, (name,)):
            return consequences(draft, name, fmu)

    def targets(self, connector: Name) -> tuple[LegalTarget, ...]:
        """Full names of the connectors to which `connect` can connect this one; nothing is changed."""
        with self._at(connector) as (draft, (name,)):
            return tuple(legal_targets(draft, name))

    def suggestions(self, system: Name = "") -> tuple[Suggestion, ...]:
        """Connectors of a system without a source, each with possible sources; nothing is changed."""
        with self._at(system, inside=True) as (draft, (name,)):
            return tuple(suggestions(draft, name))
