"""The trace of a run: recorded signals as arrays over time, and the cells they are stored in.

A cell has eight bytes: a double for Float64 and Float32, an integer for all other types (for UInt64 the same bits, for
a Boolean 0 or 1, for a String or a Binary its number in the string table of the run).
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssptool.arguments import WrongArgument, mapping, seconds, text
from ssptool.errors import UnknownName, WrongType, WrongValue, counted, package_for
from ssptool.fmu.units import DisplayUnit
from ssptool.foreign_text import html_text, json_content, json_text
from ssptool.network.display import change_of_unit, inverse_unit
from ssptool.network.network import Conversion
from ssptool.public_calls import public

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import polars
    import xarray  # type: ignore[import-not-found, unused-ignore]


class StringTable(Protocol):
    """Contents by number: a list, or the string table of a run."""

    def __getitem__(self, number: int, /) -> bytes: ...


class NewEntries(NamedTuple):
    """New contents that rows refer to, in the order of their numbers; numbers of contents that later rows do not refer
    to; and rows of the block that are sides of events between communication points.
    """

    new: tuple[bytes, ...] = ()
    forgotten: tuple[int, ...] = ()
    between: tuple[int, ...] = ()

    def points(self, count: int) -> NDArray[np.bool_]:
        """True (count,) for rows at communication points."""
        found = np.ones(count, dtype=bool)
        found[list(self.between)] = False
        return found


NO_ENTRIES = NewEntries()


class RunStringTable:
    """String table of a run: number 0 is the empty content, each new content gets the next number."""

    def __init__(self) -> None:
        self._all = {0: b""}
        self.told = 1

    def __getitem__(self, number: int, /) -> bytes:
        return self._all[number]

    def __len__(self) -> int:
        return len(self._all)

    def add(self, contents: Iterable[bytes]) -> None:
        for content in contents:
            self._all[self.told] = content
            self.told += 1

    def drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            del self._all[number]

    @property
    def every(self) -> tuple[bytes, ...]:
        """All contents, if none was dropped; the number of each is its index."""
        return tuple(self._all.values())


Floats = NDArray[np.float64]

REAL_TYPES = frozenset({"Float64", "Float32"})
"""Types whose cells hold doubles."""

TEXT, BYTES = "String", "Binary"
NUMBERED = frozenset({TEXT, BYTES})
"""Types whose cells are numbers of contents. The contents are bytes; for strings in UTF-8."""

_MACHINE: dict[str, np.dtype[Any]] = {
    "Float64": np.dtype(np.float64),
    "Float32": np.dtype(np.float32),
    "Boolean": np.dtype(np.bool_),
    "Enumeration": np.dtype(np.int64),
    **{f"Int{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
}

NUMERIC_TYPES = frozenset(_MACHINE)
"""All types except String and Binary."""


def holds_integer(kind: str) -> bool:
    """True if cells of signals of this type are 64-bit integers."""
    return kind not in REAL_TYPES


def machine_type(kind: str) -> np.dtype[Any]:
    """Data type of arrays of values of this type; strings and bytes are objects."""
    return np.dtype(object) if kind in NUMBERED else _MACHINE[kind]


class ContentNumbers:
    """Contents and their numbers, counted from 0, the empty content."""

    def __init__(self) -> None:
        self.all: list[bytes] = [b""]
        self._numbers = {b"": 0}

    def number(self, content: bytes) -> int:
        found = self._numbers.setdefault(content, len(self.all))
        if found == len(self.all):
            self.all.append(content)
        return found


def from_content(content: bytes, kind: str) -> str | bytes:
    """Value of type String or Binary from its bytes. Invalid UTF-8 in a string is marked."""
    return content.decode("utf-8", "replace") if kind == TEXT else content


def as_content(value: Any, kind: str) -> bytes:
    """The bytes of a value of type String or Binary.

    Raises
    ------
    TypeError, UnicodeEncodeError
        The value is not a string.
    """
    wanted = str if kind == TEXT else bytes
    if not isinstance(value, wanted):
        raise TypeError(f"{value!r} is not a value of type {kind}")
    return value.encode() if isinstance(value, str) else value


def met(numbers: NDArray[np.int64], kind: str, contents: StringTable) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Unique values of type String or Binary (k,) with these numbers (n,) of contents, and the index (n,) of each
    number among them.
    """
    used, places = np.unique(numbers, return_inverse=True)
    values = np.empty(len(used), dtype=object)
    values[:] = [from_content(contents[number], kind) for number in used.tolist()]
    return values, places


def values_of(cells: Floats, kind: str, contents: StringTable = (b"",)) -> NDArray[Any]:
    """Cells (n,) as values (n,) of a type: the same memory, except for Float32, String and Binary."""
    if kind in NUMBERED:
        every, places = met(cells.view(np.int64), kind, contents)
        return every[places]
    machine = machine_type(kind)
    values: NDArray[Any]
    if kind == "Float32":
        with np.errstate(over="ignore"):
            values = cells.astype(machine)
        return values
    if machine.itemsize == 8:
        values = cells.view(machine)
        return values
    # The part of the eight bytes with the least significant digits.
    place = 0 if sys.byteorder == "little" else 8 - machine.itemsize
    part = np.dtype({"names": ["value"], "formats": [machine], "offsets": [place], "itemsize": 8})
    values = cells.view(part)["value"]
    return values


def cells_of(values: ArrayLike, kind: str, number: Callable[[bytes], int]) -> Floats:
    """Values (n,) of a type as cells (n,); `number` gives contents their numbers.

    Raises
    ------
    OverflowError, TypeError, ValueError
        A value is not of this type.
    """
    if kind in NUMBERED:
        every: Iterable[Any] = np.asarray(values, dtype=object)
        integers: NDArray[Any] = np.array([number(as_content(value, kind)) for value in every], dtype=np.int64)
    elif holds_integer(kind):
        integers = _integers(values, np.uint64 if kind == "UInt64" else np.int64)
    else:
        return np.array(values, dtype=np.float64)
    cells: Floats = integers.view(np.float64)
    return cells


def _integers(values: Any, machine: type[np.signedinteger[Any] | np.unsignedinteger[Any]]) -> NDArray[Any]:
    if not isinstance(values, np.ndarray):
        return np.array([index(value) for value in values], dtype=machine)
    if values.dtype.kind not in "biu":
        raise TypeError(f"integers are expected, found numbers of type {values.dtype}")
    return values.astype(machine)


def integers_of(doubles: Floats, machine: np.dtype[Any]) -> NDArray[Any]:
    """Doubles as integers or Booleans of a machine type; values that rounding moved out of its range are limited to
    it.
    """
    if machine.kind == "b":
        booleans: NDArray[Any] = doubles != 0.0
        return booleans
    limits = np.iinfo(machine)
    inside = (doubles >= float(limits.min)) & (doubles < float(limits.max))
    integers = np.full(doubles.shape, limits.max, dtype=machine)
    integers[inside] = doubles[inside].astype(machine)
    integers[doubles < float(limits.min)] = limits.min
    return integers


def as_doubles(cells: Floats, kinds: Sequence[str]) -> Floats:
    """Rows of cells (k, p) as rows of doubles; the same memory if all cells are doubles.

    Integers beyond 2⁵³ are rounded to the nearest double, strings and bytes become their numbers.
    """
    places = [place for place, kind in enumerate(kinds) if holds_integer(kind)]
    if not places:
        return cells
    doubles = cells.copy()
    for place in places:
        kind = kinds[place]
        doubles[:, place] = values_of(cells[:, place], "Int64" if kind in NUMBERED else kind)
    return doubles


_SHOWN = 4
"""Number of names of signals in the representation of a trace."""


_INDEX = re.compile(r"\[(\d+(?:,\d+)*)\]")
"""Index of an element, counted from 1, at the end of its name."""


def places_of(signal: object, places: Mapping[str, int]) -> NDArray[np.intp] | None:
    """Column index of a signal (), or of the elements of an array with its shape; None if it was not recorded.

    The name of the component can be omitted if all signals belong to one component. A name without an exact match is
    compared regardless of case, if only one signal matches.
    """
    if not isinstance(signal, str) or not places:
        return None
    component = next(iter(places)).partition(".")[0]
    of_one = signal not in places and all(one.startswith(f"{component}.") for one in places)
    names = (signal, f"{component}.{signal}") if of_one else (signal,)
    for name in names:
        if name in places:
            return np.array(places[name])
        if (found := _elements(name, places)) is not None:
            return found
    folded = [name.casefold() for name in names]
    arrays = (name.rpartition("[")[0] for name in places if name.endswith("]"))
    alike = {own for own in (*places, *arrays) if own.casefold() in folded and own not in names}
    return places_of(alike.pop(), places) if len(alike) == 1 else None


def _elements(array: str, places: Mapping[str, int]) -> NDArray[np.intp] | None:
    """Column indices of all elements of an array with its shape; None if one is missing."""
    found = {}
    for name, place in places.items():
        if name.startswith(f"{array}[") and (index := _INDEX.fullmatch(name, len(array))):
            found[tuple(int(one) - 1 for one in index[1].split(","))] = place
    if not found or len({len(index) for index in found}) > 1:
        return None
    shape = tuple(max(extent) + 1 for extent in zip(*found, strict=True))
    if len(found) != np.prod(shape) or min(map(min, found)) < 0:
        return None
    return np.array([found[index] for index in np.ndindex(shape)]).reshape(shape)


def _few(names: Collection[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(list(names)[:_MOST_NAMED]) + more or "none"


_MOST_NAMED = 20

Values = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """Description of a recorded signal. `type` has FMI 3.0's spelling; `unit` None: not stated; `discrete`: it changes
    only at events, although it has a real type; `carried_from`: the signal whose value a connection passes on
    unchanged, "" for none; `full_name`: `Component.y` for the variable y of a lone FMU, otherwise ""; `relative`: it is
    a difference (relativeQuantity), so that offsets of units do not apply; `display`: its display unit.
    """

    signal: str
    unit: str | None = None
    type: str = "Float64"
    description: str = ""
    discrete: bool = False
    carried_from: str = ""
    full_name: str = ""
    relative: bool = False
    display: DisplayUnit | None = None

    @property
    def real(self) -> bool:
        """True if its values are real numbers."""
        return self.type in REAL_TYPES

    @property
    def held(self) -> bool:
        """True if the signal keeps its value between two samples; false if it is interpolated linearly."""
        return self.discrete or not self.real


def places_by_name(columns: Iterable[Column]) -> dict[str, int]:
    """Column indices by name; for a lone FMU also by the name with the component, unless another column has it."""
    every = list(enumerate(columns))
    full = {column.full_name: place for place, column in every if column.full_name}
    return full | {column.signal: place for place, column in every}


def column_of(facts: Any) -> Column:
    """Column from a description of results. Raises ValueError if it is not a column."""
    if not isinstance(facts, Mapping):
        raise ValueError("a column is not an object")
    unit, kind, known = facts.get("unit"), facts.get("type", "Float64"), [*_MACHINE, *NUMBERED]
    if kind not in known:
        raise ValueError(f"a column has the type {kind!r}; expected {', '.join(known)}")
    signal, description, source = facts.get("signal"), facts.get("description", ""), facts.get("carried_from", "")
    full = facts.get("full_name", "")
    texts = (signal, description, source, full, *(() if unit is None else (unit,)))
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"a column is called {signal!r}, in {unit!r}: texts are expected")
    discrete, relative = facts.get("discrete") is True, facts.get("relative") is True
    return Column(
        str(signal), unit, kind, description, discrete, source, full, relative, _display(facts.get("display"))
    )


_TRUE = "true"


_TEXT_FACTS = ("unit", "type", "description", "carried_from", "full_name")
_FLAG_FACTS = ("discrete", "relative")
FACTS = (*_TEXT_FACTS, *_FLAG_FACTS, "display")
"""Names of the facts in `facts_of`."""


def facts_of(column: Column) -> dict[str, str]:
    """Descriptive texts of a column, except its name, that are not empty."""
    told = {name: getattr(column, name) for name in _TEXT_FACTS}
    facts = {name: fact for name, fact in told.items() if fact}
    facts |= {name: _TRUE for name in _FLAG_FACTS if getattr(column, name)}
    if column.display is not None:
        facts["display"] = json_text(column.display)
    return facts


def column_with(signal: str, facts: Mapping[str, str]) -> Column:
    """Column of this name with the texts of `facts_of`. Raises ValueError if the texts are not valid."""
    told: dict[str, Any] = {"signal": signal}
    told |= {name: facts.get(name) == _TRUE for name in _FLAG_FACTS}
    told["display"] = json_content(facts["display"]) if "display" in facts else None
    return column_of({**facts, **told})


def _display(facts: Any) -> DisplayUnit | None:
    """Display unit from a description of results. Raises ValueError if it is not valid."""
    if facts is None:
        return None
    match facts:
        case [str(name), int() | float() as factor, int() | float() as offset] if factor:
            return DisplayUnit(name, float(factor), float(offset))
        case [str(name), int() | float() as factor, int() | float() as offset, bool(inverse)] if factor:
            return DisplayUnit(name, float(factor), float(offset), inverse)
    raise ValueError(f"a display unit is {facts!r}: name, factor and offset are expected")


class UnitChanges(NamedTuple):
    """Columns with changed units.

    Attributes
    ----------
    columns
        All columns, some of them in other units.
    changes
        Column index → conversion of its values.
    notes
        Columns that keep their units although others change, with the reason.
    """

    columns: tuple[Column, ...]
    changes: Mapping[int, Conversion]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Sequence[Column], units: Mapping[str, str] | Literal["display"]) -> "UnitChanges":
        """Changes to units by names of signals or arrays, or to the display units of FMUs.

        Raises
        ------
        UnknownName, WrongValue
            As `Trace.in_units`.
        """
        notes: list[str] = []
        if units == "display":
            shown = [(one.signal, one.display) for one in columns if one.display is not None]
            units = {signal: display.name for signal, display in shown if not display.inverse}
            notes = [f"{signal} stays in its unit: {inverse_unit(one.name)}" for signal, one in shown if one.inverse]
            notes += [] if shown else ["no FMU defines a display unit for a recorded signal"]
        every, changes, places_by = list(columns), {}, places_by_name(columns)
        for signal, unit in mapping("units", units, 'a mapping from signals to units, or "display"').items():
            places = places_of(signal, places_by)
            if places is None:
                raise UnknownName(f"signal {signal!r} is not recorded", signal, [one.signal for one in columns])
            for place in places.ravel().tolist():
                every[place], changes[place] = _in_unit(columns[place], text("unit", unit))
        converted = {columns[place].signal for place in changes}
        every = [replace(one, carried_from="") if one.carried_from in converted else one for one in every]
        return cls(tuple(every), changes, tuple(notes))

    def convert(self, cells: Floats) -> None:
        """Convert rows of cells (k, p) in place."""
        for place, change in self.changes.items():
            cells[:, place] = change.factor * cells[:, place] + change.offset

    def converted(self, trace: "Trace") -> "Trace":
        """Convert a trace of these columns to the other units."""
        cells = trace.cells.copy()
        self.convert(cells)
        return replace(trace, cells=cells, columns=self.columns, assumptions=(*trace.assumptions, *self.notes))


def _in_unit(column: Column, unit: str) -> tuple[Column, Conversion]:
    """The column in another unit, and the conversion of its values with all digits. Raises WrongValue."""
    if not column.real:
        raise WrongValue(f"{column.signal} is of type {column.type}; only real numbers are converted to other units")
    change = change_of_unit(column.signal, column.unit, unit, relative=column.relative, display=column.display)
    return replace(column, unit=unit, type="Float64", carried_from="", display=None), change


def time_name(signals: Collection[str]) -> str:
    """Name of the time column: `time`, or another name if a connector of the system has this one."""
    return next((name for name in TIME_NAMES if name not in signals), TIME_NAMES[0])


TIME_NAMES = ("time", "time [s]")


@public
@dataclass(frozen=True, slots=True)
class Trace:
    """Signals over time.

    Attributes
    ----------
    t : (n + 1,) [s]
        Communication points; the first is the initialized state.
    cells : (n + 1, p)
        Stored values, eight bytes each; one column per entry of `columns`. Only cells of type Float64 and Float32 are
        doubles. Use `trace[signal]`, which returns values in their own type.
    contents
        String table of columns of type String (UTF-8) and Binary.
    assumptions
        Assumptions about an ambiguous file, such as decimal commas in a CSV file, and an incomplete last row that was
        skipped.
        points : (n + 1,)
            False for sides of events between communication points, where outputs of components without integration keep
            their last values; None: there are none, or they are not known, as in a file.
    """

    t: Floats
    cells: Floats
    columns: tuple[Column, ...]
    contents: tuple[bytes, ...] = (b"",)
    assumptions: tuple[str, ...] = ()
    points: NDArray[np.bool_] | None = field(default=None, repr=False)
    _places: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Map names to columns once, because programs look up thousands of signals by name."""
        object.__setattr__(self, "_places", places_by_name(self.columns))

    @classmethod
    def of(cls, t: ArrayLike, columns: Iterable[tuple[Column, ArrayLike]]) -> "Trace":
        """A trace of columns with their values (n + 1,) at the times `t` (n + 1,) [s]."""
        times, contents, pairs = np.array(t, dtype=np.float64), ContentNumbers(), list(columns)
        cells = np.empty((len(times), len(pairs)))
        for place, (column, values) in enumerate(pairs):
            cells[:, place] = cells_of(values, column.type, contents.number)
        return cls(times, cells, tuple(column for column, _ in pairs), tuple(contents.all))

    def rows(self, chosen: NDArray[np.bool_]) -> "Trace":
        """The rows that are True in `chosen` (n + 1,)."""
        points = None if self.points is None else self.points[chosen]
        return replace(self, t=self.t[chosen], cells=self.cells[chosen], points=points)

    def in_units(self, units: Mapping[str, str] | Literal["display"]) -> "Trace":
        """The trace with some signals in other units.

        Parameters
        ----------
        units
            Mapping from names of signals or arrays to units, such as `{"Motor.w": "rpm"}`: display units of the FMU, or
            SI expressions; or "display": all signals in the display units of their FMUs.

        Raises
        ------
        UnknownName
            No such signal was recorded.
        WrongValue
            A signal has no unit or no real numbers, or the unit is unknown or of another quantity.
        """
        return UnitChanges.of(self.columns, units).converted(self)

    @property
    def signals(self) -> tuple[str, ...]:
        """Full names, such as "System1.x1"; names of variables, such as "x1", if a single FMU was run."""
        return tuple(column.signal for column in self.columns)

    @property
    def units(self) -> tuple[str | None, ...]:
        return tuple(column.unit for column in self.columns)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(column.type for column in self.columns)

    @property
    def descriptions(self) -> tuple[str, ...]:
        return tuple(column.description for column in self.columns)

    @property
    def y(self) -> Floats:
        """All values as doubles (n + 1, p): the same memory if all are doubles; integers beyond 2⁵³ are rounded.

        Raises
        ------
        TypeError
            Some signals are strings or bytes.
        """
        if texts := [column.signal for column in self.columns if column.type in NUMBERED]:
            raise WrongType(
                f"texts and bytes are not numbers; take signal by signal, or record without {', '.join(texts)}"
            )
        return as_doubles(self.cells, self.types)

    def __getitem__(self, signal: str) -> Values:
        """The values (n + 1,) of a signal in its own type; strings (str) and bytes as objects.

        The values share memory with the trace, except Float32, String and Binary. The component name may be omitted if
        all signals belong to one component. Signals of a single FMU are found with and without it. The name of an array
        gives its values (n + 1, …) with its shape, if all elements were recorded.

        Raises
        ------
        UnknownName
            A KeyError: no such signal was recorded.
        """
        found = places_of(signal, self._places)
        if found is None:
            raise UnknownName(f"signal {signal!r} is not recorded", str(signal), self.signals)
        if not found.shape:
            return self._values(int(found))
        values = np.stack([self._values(place) for place in found.ravel().tolist()], axis=-1)
        return values.reshape(len(self), *found.shape)

    def at(self, time: float | str) -> dict[str, Any]:
        """The value of each signal at a time [s]: real numbers are interpolated linearly, others are held.

        If several rows have this time, as at an event, the last one counts.

        Raises
        ------
        WrongArgument
            The time is not between the first and the last time of the trace.
        """
        t = seconds("time", time)
        if not len(self) or not self.t[0] <= t <= self.t[-1]:
            span = f"between {self.t[0]:g} s and {self.t[-1]:g} s" if len(self) else "left out: the trace has no rows"
            raise WrongArgument("time", time, span)
        row = int(np.searchsorted(self.t, t, side="right")) - 1
        part = (t - self.t[row]) / (self.t[row + 1] - self.t[row]) if self.t[row] < t else 0.0
        return {column.signal: self._between(place, row, part) for place, column in enumerate(self.columns)}

    def _between(self, place: int, row: int, part: float) -> Any:
        """Value of a column at the fraction `part` (0 … 1) between a row and the next one."""
        column = self.columns[place]
        first, *others = values_of(self.cells[row : row + 2, place], column.type, self.contents)
        if part == 0.0 or column.held:
            return first.item() if hasattr(first, "item") else first
        return float(first + part * (others[0] - first))

    def __contains__(self, signal: object) -> bool:
        """True if a signal of this name was recorded."""
        return places_of(signal, self._places) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the signals."""
        return iter(self.signals)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} … {self.t[-1]:g} s, " if len(self) else ""
        more = f", {len(self.columns) - _SHOWN} more" if len(self.columns) > _SHOWN else ""
        return f"<Trace {span}{counted(len(self), 'row')} of {', '.join(self.signals[:_SHOWN]) or 'no signals'}{more}>"

    def _repr_html_(self) -> str:
        return trace_html(self)

    def __len__(self) -> int:
        """Number of rows, as for a frame of pandas. Iteration is over the names of signals."""
        return len(self.t)

    def _values(self, place: int) -> Values:
        return values_of(self.cells[:, place], self.columns[place].type, self.contents)

    # -- to other libraries ----------------------------------------------------------------------------------

    def to_numpy(self) -> dict[str, Values]:
        """Arrays by signal, as `trace[signal]` returns them, and the times [s] under `time_name`."""
        return {
            time_name(self.signals): self.t,
            **{signal: self._values(place) for place, signal in enumerate(self.signals)},
        }

    def to_pandas(self) -> "pandas.DataFrame":
        """A frame of pandas with one column per signal and the time [s] as index; units in `attrs["units"]`.

        It shares memory with the trace, except for columns of Float32, String and Binary.

        Raises
        ------
        MissingPackage
            pandas is not installed.
        """
        pandas = package_for("to_pandas", "pandas")
        index = pandas.Index(self.t, name="time", copy=False)
        if all(kind == "Float64" for kind in self.types):
            frame = pandas.DataFrame(self.cells, index=index, columns=list(self.signals), copy=False)
        else:
            series = {s: pandas.Series(self._values(place), index, copy=False) for place, s in enumerate(self.signals)}
            frame = pandas.DataFrame(series, index=index, copy=False)
        frame.attrs["units"] = dict(zip(self.signals, self.units, strict=True))
        return frame

    def to_polars(self) -> "polars.DataFrame":
        """A frame of polars with the time [s] (`time_name`) and one column per signal; polars has no units.

        Raises
        ------
        MissingPackage
            polars is not installed.
        """
        library = package_for("to_polars", "polars")
        columns = {
            name: values.tolist() if values.dtype == object else np.ascontiguousarray(values)
            for name, values in self.to_numpy().items()
        }
        types = dict(zip(self.signals, self.types, strict=True))
        objects = {TEXT: library.String, BYTES: library.Binary}
        schema = {name: objects.get(types.get(name, "")) for name in columns}
        frame: polars.DataFrame = library.DataFrame(columns, schema=schema)
        return frame

    def to_xarray(self) -> "xarray.Dataset":
        """A dataset of xarray with one variable per signal along the time [s] (`time_name`), with unit and description.

        It shares memory with the trace, except for variables of Float32, String and Binary.

        Raises
        ------
        MissingPackage
            xarray is not installed.
        """
        library = package_for("to_xarray", "xarray")
        name = time_name(self.signals)
        time = library.Variable(name, self.t, {"units": "s"})
        variables = {
            column.signal: library.Variable(name, self._values(place), _attributes(column))
            for place, column in enumerate(self.columns)
        }
        dataset: xarray.Dataset = library.Dataset(variables, coords={name: time})
        return dataset


def _attributes(column: Column) -> dict[str, str]:
    """Attributes with the names of the CF conventions."""
    facts = {"units": column.unit, "long_name": column.description}
    return {name: fact for name, fact in facts.items() if fact}


MOST_CURVES = 24
"""Largest number of curves in the picture of a trace; further ones are only counted."""


def trace_html(trace: "Trace") -> str:
    """HTML with the size of a trace, and a picture of its continuous signals."""
    # Only notebooks draw traces automatically.
    from ssptool.drawing.plot import picture_svg
    from ssptool.drawing.plot_model import Curve, panels, thinned
    from ssptool.errors import MissingPackage

    span = f"{trace.t[0]:g} … {trace.t[-1]:g} s, " if len(trace) else ""
    told = f"<p>{span}{counted(len(trace), 'row')}, {counted(len(trace.columns), 'signal')}</p>"
    continuous = [column for column in trace.columns if column.real]
    if not len(trace) or not 0 < len(continuous) <= MOST_CURVES:
        return told + f"<p>{html_text(', '.join(trace.signals))}</p>"
    curves = [
        thinned(Curve(one.signal, one.unit, trace.t, trace[one.signal], one.held, net=one.carried_from or one.signal))
        for one in continuous
    ]
    try:
        return told + picture_svg(panels(curves))
    except MissingPackage as problem:
        return told + f"<p>{html_text(str(problem))}</p>"
