"""The verbs of editing, on one system structure of an archive."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import NoReturn, ParamSpec, Self

from ssptool.arguments import Frame, WrongArgument, is_frame, seconds, word
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
)
from ssptool.editing.bind import add_mapping, bind, unbind, unmap, unmap_all
from ssptool.editing.changes import EditError, unified_diff
from ssptool.editing.connect import connect, disconnect, route
from ssptool.editing.dictionaries import add_dictionary, add_entry, add_reference, remove_dictionary
from ssptool.editing.draft import Draft
from ssptool.editing.duplicate import duplicate
from ssptool.editing.geometry import align, place_at
from ssptool.editing.grouping import move, unwrap, wrap
from ssptool.editing.names import Name, Sharing, reach
from ssptool.editing.remove import remove
from ssptool.editing.rename import rename
from ssptool.editing.replace import Consequence, consequences, replace
from ssptool.editing.set import set_experiment, set_value, unset_experiment, unset_value
from ssptool.editing.set_table import ParameterDifference, differences, set_table
from ssptool.editing.targets import LegalTarget, Suggestion, legal_targets, suggestions
from ssptool.editing.transformations import Treatment
from ssptool.errors import similar_names
from ssptool.network.parameter_table import ParameterTable
from ssptool.public_calls import public

P = ParamSpec("P")

VERBS = (
    *(
        "add",
        "add_system",
        "add_connector",
        "duplicate",
        "remove",
        "rename",
        "replace",
        "connect",
        "disconnect",
        "place",
    ),
    *("align", "route"),
    *("set", "unset", "set_experiment", "unset_experiment", "bind", "unbind", "map", "unmap", "unmap_all"),
    *("add_dictionary", "add_signal", "add_reference", "remove_dictionary"),
)
"""Methods of `Editor` that change a system, by which programs name edits."""


def no_such_verb(name: object) -> str:
    """The text of an error about an edit without a verb, or with an unknown one."""
    near = similar_names(str(name), VERBS)
    hint = f"did you mean {' or '.join(near)}?" if near else f"verbs are {', '.join(VERBS)}"
    return f"{name!r} is not a verb of edits; {hint}"


class EditBlock(AbstractContextManager["Editor"]):
    """An edit that is made in a `with` block, and says so if it is used without one."""

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
    """Decorator: as `contextmanager`, for a function that gives an editor."""
    block = contextmanager(function)

    @wraps(function)
    def begin(*args: P.args, **kwargs: P.kwargs) -> EditBlock:
        return EditBlock(function.__name__, block(*args, **kwargs))

    return begin


@public
class Editor:
    """Edits a system structure in memory; each verb gives the editor back, so that verbs can be chained.

    Names are full names such as `Plant.System1.x1`, or their parts as a tuple. They lead into components that are
    made of other structures (`.ssd`, `.ssp`) as into systems: then that document is edited. If other components are
    made of it as well, `sharing` says what to do. `notes` says what was done; `archive`, `document` and `system` are
    there for edits that no verb makes.

    Every verb raises EditError if it cannot be done, which names the object and what to try.
    """

    def __init__(self, archive: Archive, document: Document, sharing: Sharing | str = Sharing.REFUSE) -> None:
        self._draft = Draft(archive, document)
        self._sharing = word("shared", sharing, Sharing)
        self._renamed: dict[str, str] = {}

    def close(self) -> None:
        """Forget the nested packages that were opened."""
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
        """The own names of renamed elements and connectors before the edit, with the present ones."""
        return self._renamed

    def note(self, text: str) -> None:
        """Say what was done by other means than the verbs."""
        self._draft.note(text)

    def diff(self) -> str:
        """The changes that `save` writes, as a unified diff of every document concerned."""
        return unified_diff(self._draft.packages.edits(self.archive))

    @contextmanager
    def _at(self, *names: Name, inside: bool = False) -> Iterator[tuple[Draft, tuple[Name, ...]]]:
        """The structure in which named things stand; what is edited in a nested package is put back into this one."""
        yield reach(self._draft, *names, sharing=self._sharing, inside=inside)
        self._draft.packages.put_back(self.archive)

    def add(self, *fmus: Path | str, name: str | None = None, into: Name = "", parameters: bool = False) -> Self:
        """Make components of FMUs: copied into `resources`, with connectors as their model descriptions say.

        A system without a default experiment takes that of the first FMU that states a stop time.

        CSV files with `time` as first column become tables (`text/csv`), with an output for each other column.

        Packages (`.ssp`), and structures in `resources` (`.ssd`), become components as well, with the connectors of
        their root systems.

        Parameters
        ----------
        name
            Of the component, if it is one; by default the file's name without `.fmu`, with the next free number if
            that is taken: `Fan2`.
        into
            The system that gets it; else the root system.
        parameters
            Make connectors for parameters as well as for inputs and outputs.
        """
        if name is not None and len(fmus) > 1:
            raise EditError(f"{len(fmus)} FMUs cannot all be called {name!r}: add one at a time, or give no name")
        with self._at(into, inside=True) as (draft, (where,)):
            for fmu, own in zip(fmus, free_names(draft, where, fmus), strict=True):
                makers = {**dict.fromkeys(SUFFIXES, add_structure), ".csv": add_table}
                make = makers.get(Path(fmu).suffix.lower(), add_fmu)
                make(draft, fmu, own if name is None else name, where, parameters)
        return self

    def add_system(self, name: str, into: Name = "") -> Self:
        """Make an empty system inside another."""
        with self._at(into, inside=True) as (draft, (where,)):
            add_system(draft, name, where)
        return self

    def add_connector(
        self, name: str, kind: str, of: Name = "", type: str | None = None, unit: str | None = None
    ) -> Self:
        """Give a system a connector of a kind such as `input` or `output`; without a type that of its partners."""
        with self._at(of, inside=True) as (draft, (where,)):
            connector = add_connector(draft, name, kind, where, type, unit)
            if connector in draft.system.connectors:
                expose(draft, connector)
        return self

    def add_dictionary(self, name: str, into: Name = "", file: Path | str | None = None) -> Self:
        """Give a system a signal dictionary: an empty one, or that of a file (`.ssb`)."""
        with self._at(into, inside=True) as (draft, (where,)):
            add_dictionary(draft, name, where, file)
        return self

    def add_signal(
        self, dictionary: str, name: str, of: Name = "", type: str | None = None, unit: str | None = None
    ) -> Self:
        """Give a dictionary a signal; `of` is the system that has the dictionary, or one inside that."""
        with self._at(of, inside=True) as (draft, (where,)):
            add_entry(draft, dictionary, name, where, type, unit)
        return self

    def add_reference(self, name: str, dictionary: str, into: Name = "") -> Self:
        """Put a reference to a signal dictionary into a system: `connect` reaches its signals as `NAME.signal`."""
        with self._at(into, inside=True) as (draft, (where,)):
            add_reference(draft, name, dictionary, where)
        return self

    def remove_dictionary(self, name: str, of: Name = "", signal: str | None = None) -> Self:
        """Take a signal dictionary away from a system, or one signal out of it; nothing may use it."""
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

        Between two connectors the value can be treated on its way; if they are connected already, that changes the
        connection.

        Parameters
        ----------
        factor, offset
            The destination gets `factor · value + offset`, after the conversion of units.
        table
            From values of the source to values of the destination: of Booleans, integers, or items of enumerations.
        plain
            Take the transformation away.
        suppress_unit_conversion
            Pass on the bare number (True), or convert units again (False).
        """
        treatment = Treatment(factor, offset, table, plain, suppress_unit_conversion)
        with self._at(a, b) as (draft, (first, second)):
            connect(draft, first, second, treatment)
        return self

    def disconnect(self, a: Name, b: Name) -> Self:
        """Remove what connects two connectors, terminals or elements."""
        with self._at(a, b) as (draft, (first, second)):
            disconnect(draft, first, second)
        return self

    def remove(self, *names: Name, with_resource: bool = False) -> Self:
        """Remove elements or connectors, and the connections that touch them.

        `with_resource` takes a component's file out of the archive as well, if nothing else refers to it.
        """
        for each in names:
            with self._at(each) as (draft, (name,)):
                remove(draft, name, with_resource)
        return self

    def duplicate(self, name: Name, new: str | None = None) -> Self:
        """Put a copy of an element beside it, with its values and without its connections.

        `new` is the own name of the copy, by default the next free one: `Fan2` for `Fan`.
        """
        with self._at(name) as (draft, (element,)):
            duplicate(draft, element, new)
        return self

    def wrap(self, *elements: Name, name: str) -> Self:
        """Put elements of one system into a new system, which gets the connectors that they need."""
        with self._at(*elements) as (draft, names):
            wrap(draft, names, name)
        return self

    def unwrap(self, system: Name) -> Self:
        """Put what is in a system into the system around it, and take the empty one away."""
        with self._at(system) as (draft, (name,)):
            unwrap(draft, name)
        return self

    def move(self, *elements: Name, into: Name) -> Self:
        """Move elements of one system into a system beside them, or into the one around them ("": the root system)."""
        with self._at(*elements, into) as (draft, names):
            move(draft, names[:-1], names[-1])
        return self

    def rename(self, old: Name, new: str) -> Self:
        """Give an element or a connector another name; connections, parameters and mappings follow."""
        with self._at(old) as (draft, (name,)):
            old_name = rename(draft, name, new)
            original = next((first for first, now in self._renamed.items() if now == old_name), old_name)
            self._renamed[original] = new
        return self

    def place(self, name: Name, x: float, y: float, width: float | None = None, height: float | None = None) -> Self:
        """Give an element a place in the diagram: its lower left corner, and its size, else the one it has [mm].

        Lines to it lose their way points, and a stated canvas grows to hold it.
        """
        with self._at(name) as (draft, (element,)):
            place_at(draft, element, x, y, width, height)
        return self

    def align(self, *elements: Name, to: str) -> Self:
        """Move elements of one system to an edge of the box around them, to its axis, or to equal distances.

        Parameters
        ----------
        to
            `left`, `right`, `top`, `bottom`; `centre` (one above the other) or `middle` (one beside the other);
            `across` or `down`: equal distances between the first and the last, which stay.
        """
        with self._at(*elements) as (draft, names):
            align(draft, names, to)
        return self

    def route(self, a: Name, b: Name, points: Sequence[tuple[float, float]] = ()) -> Self:
        """Lead the line of a connection over points of the diagram [mm], on its way from `a` to `b`.

        Without points, it is drawn as it comes.
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
        """Set a parameter or start value where its value in force comes from, or in a set where it will be in force.

        Parameters
        ----------
        name
            Of one variable; or a mapping from names to values, without `value`; or a table, as of `differences`: only
            values that differ are written.
        value
            In `unit`, or else in the unit of the variable; of an enumeration the name of an item.
        into
            A parameter set, `NAME.ssv`, made in `resources` and bound to the root system if it is not there.
        """
        if not (isinstance(name, str | tuple | Mapping | ParameterTable | Path) or is_frame(name)):
            raise WrongArgument("name", name, "a full name (a text or a tuple), a mapping, or a table of parameters")
        if isinstance(name, str | tuple) != (value is not None):
            raise WrongArgument("value", value, "left out beside a mapping or table, and stated beside a name")
        if isinstance(name, ParameterTable | Path) or is_frame(name):
            if unit is not None:
                raise WrongArgument("unit", unit, "left out beside a table, which has a column for units")
            set_table(self._draft, name, into, self._sharing)
            return self
        assert isinstance(name, str | tuple | Mapping)
        for one, own in name.items() if isinstance(name, Mapping) else ((name, value),):
            set_value(self._draft, one, own, unit, into, self._sharing)
        return self

    def differences(self, table: ParameterTable | Frame | Path) -> tuple[ParameterDifference, ...]:
        """Parameters whose values in a table differ from those in the system; nothing is changed.

        Parameters
        ----------
        table
            A file (.csv, .xlsx, .ssv) as `ssptool.parameters` writes it; its result; or a frame of pandas with the
            columns `name` (or names as index) and `value`, and perhaps `unit` and `type`.

        Raises
        ------
        BadData
            Names are unknown, or values or units are wrong; the error lists all findings.
        """
        return differences(self._draft, table)

    def unset(self, name: Name, into: str | None = None) -> Self:
        """Remove the parameter from which a variable has its value; with `into`, as in `set`, that of another set."""
        unset_value(self._draft, name, into, self._sharing)
        self._draft.packages.put_back(self.archive)
        return self

    def set_experiment(self, start: float | str | None = None, stop: float | str | None = None) -> Self:
        """Set the times of the default experiment: seconds, or texts with a unit such as "2min"."""
        times = {"start": start, "stop": stop}
        given = {name: None if time is None else seconds(name, time) for name, time in times.items()}
        set_experiment(self._draft, **given)
        return self

    def unset_experiment(self, *, start: bool = False, stop: bool = False) -> Self:
        """Take times of the default experiment away."""
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
        """Bind a parameter set (`.ssv`) to an element, else to the root system; its values win over earlier ones."""
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
        """Let the parameter `source` of a binding of `to` set `target`, as `factor · value + offset` if stated.

        `of` is the parameter set that is meant, if the element has several.
        """
        with self._at(to) as (draft, (element,)):
            add_mapping(draft, source, target, element, of, factor, offset)
        return self

    def unbind(self, file: str, to: Name = "", number: int | None = None, with_resource: bool = False) -> Self:
        """Take a binding away from an element: that of a set (`.ssv`), or the "inline" one; `number` if of several."""
        with self._at(to) as (draft, (element,)):
            unbind(draft, file, element, number, with_resource)
        return self

    def unmap(self, source: str, target: str, to: Name = "", of: str | None = None) -> Self:
        """Take an entry out of the mapping of a binding; see `map`."""
        with self._at(to) as (draft, (element,)):
            unmap(draft, source, target, element, of)
        return self

    def unmap_all(self, to: Name = "", of: str | None = None) -> Self:
        """Take the mapping of a binding away: its parameters have their own names again."""
        with self._at(to) as (draft, (element,)):
            unmap_all(draft, element, of)
        return self

    def replace(self, component: Name, fmu: Path | str, force: bool = False) -> Self:
        """Let a component be another FMU; raises RefusedEdit if something uses what that does not have."""
        with self._at(component) as (draft, (name,)):
            replace(draft, name, fmu, force)
        return self

    def consequences(self, component: Name, fmu: Path | str) -> tuple[Consequence, ...]:
        """Consequences of `replace`; nothing is changed."""
        with self._at(component) as (draft, (name,)):
            return consequences(draft, name, fmu)

    def targets(self, connector: Name) -> tuple[LegalTarget, ...]:
        """The connectors to which `connect` would connect one, by their full paths; nothing is changed."""
        with self._at(connector) as (draft, (name,)):
            return tuple(legal_targets(draft, name))

    def suggestions(self, system: Name = "") -> tuple[Suggestion, ...]:
        """The connectors in a system that have no source, with those that could be it; nothing is changed."""
        with self._at(system, inside=True) as (draft, (name,)):
            return tuple(suggestions(draft, name))
