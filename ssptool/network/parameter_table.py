"""Parameters of a system as a table: names, types, units, values, origins, ranges and descriptions."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isinf
from typing import TYPE_CHECKING

from ssptool.documents.vocabulary import boolean, hex_binary, number_text
from ssptool.errors import counted, package_for
from ssptool.fmu.description import Shape, Value
from ssptool.fmu.units import PhysicalUnit, named
from ssptool.network.arrays import whole
from ssptool.network.connectors import unit_of
from ssptool.network.explanation import Explained, Explanation, Origin, explain_all, origin_text
from ssptool.network.network import Network, Signal
from ssptool.printed import Printed

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]

PARAMETERS = ("parameter", "structuralParameter")
"""Kinds of connectors and causalities of variables that are parameters."""

HEADER = ("name", "type", "unit", "value", "origin", "range", "description")
"""Columns of a table of parameters."""


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """One parameter, or another variable with a start value from the documents of the system.

    Attributes
    ----------
    name
        Full name, as in `--set NAME=VALUE`.
    values
        Values in `unit`, one for each element of an array, row by row; None: there is no value. Values of
        enumerations are numbers of `items`.
    origin
        Origin of the value, as in `explain`.
    bounds
        Smallest and largest value in `unit`, infinite without a bound.
    shape
        Extents of an array; empty for a scalar.
    """

    name: str
    type: str
    unit: PhysicalUnit | None
    values: tuple[Value | None, ...]
    origin: str
    description: str = ""
    bounds: tuple[float, float] = (-inf, inf)
    items: Mapping[str, int] | None = None
    shape: Shape = ()

    @property
    def value(self) -> Value | tuple[Value | None, ...] | None:
        """The value; for an enumeration the name of the item, for an array the tuple of its values, row by row."""
        values = tuple(self._named(value) for value in self.values)
        return values if self.shape else values[0]

    @property
    def text(self) -> str:
        """The value as typed in `--set`; empty without a value."""
        if None in self.values:
            return ""
        texts = [value_text(self._named(value)) for value in self.values]
        return shlex.join(texts) if self.shape else texts[0]

    @property
    def type_text(self) -> str:
        """The type with the extents of an array: `Float64[2, 3]`."""
        return f"{self.type}[{', '.join(map(str, self.shape))}]" if self.shape else self.type

    @property
    def unit_name(self) -> str:
        """Name of the unit; empty without a unit."""
        return "" if self.unit is None else self.unit.name

    @property
    def range(self) -> str:
        """Bounds such as `0 … 10`, or the names of the items of an enumeration; empty if any value is allowed."""
        return ", ".join(self.items) if self.items else range_text(self.bounds)

    def _named(self, value: Value | None) -> Value | None:
        numbers = {number: item for item, number in (self.items or {}).items()}
        return value if isinstance(value, bool) or not isinstance(value, int) else numbers.get(value, value)


class ParameterTable(Printed, Mapping[str, ParameterRow]):
    """Parameters of a system by their full names, in the order of `explain --all`."""

    def __init__(self, rows: Iterable[ParameterRow]) -> None:
        self._rows = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> ParameterRow:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<Parameters: {counted(len(self), 'row')}>"

    def to_pandas(self) -> "pandas.DataFrame":
        """A frame of pandas: one row per parameter, names as index, columns as in a file.

        `Editor.set` accepts the frame with changed values.

        Raises
        ------
        MissingPackage
            pandas is not installed.
        """
        library = package_for("to_pandas", "pandas")
        rows = self.values()
        columns = {
            "type": [row.type_text for row in rows],
            "unit": [row.unit_name for row in rows],
            "value": [row.value for row in rows],
            "origin": [row.origin for row in rows],
            "range": [row.range for row in rows],
            "description": [row.description for row in rows],
        }
        index = library.Index(list(self), name="name", dtype=object)
        series = {name: library.Series(cells, index, dtype=object) for name, cells in columns.items()}
        frame: pandas.DataFrame = library.DataFrame(series, index=index)
        return frame


def parameter_table(network: Network, units: Mapping[str, PhysicalUnit]) -> ParameterTable:
    """The parameters of all components and systems, and other variables with a value from the documents.

    `units` are those defined in the structure, for connectors of systems.
    """
    found: dict[Signal, list[Explanation]] = {}
    for one in parameters_of(explain_all(network)):
        found.setdefault(whole(one.signal, network.arrays), []).append(one)
    return ParameterTable(_row(network, units, signal, explained) for signal, explained in found.items())


def parameters_of(explained: Iterable[Explained]) -> Iterator[Explanation]:
    """Parameters that can be set, and other variables with a value from the documents."""
    for one in explained:
        if not isinstance(one, Explanation) or one.origin in (Origin.MISSING, Origin.CALCULATED):
            continue
        if one.kind in PARAMETERS or one.origin is Origin.ASSIGNMENT:
            yield one


def _row(
    network: Network, units: Mapping[str, PhysicalUnit], signal: Signal, explained: list[Explanation]
) -> ParameterRow:
    """Row of a scalar, or of all elements of an array."""
    first = explained[0]
    component = network.components.get(signal.component)
    variable = None if component is None else component.description.variables.get(first.signal.variable)
    unit = None if component is None or variable is None else unit_of(variable, component.description)
    return ParameterRow(
        name=str(signal),
        type=first.type,
        unit=unit or named(units, first.unit),
        values=tuple(one.value for one in explained),
        origin="; ".join(dict.fromkeys(map(origin_text, explained))),
        description=first.description,
        bounds=(-inf, inf) if variable is None or variable.items else (variable.minimum, variable.maximum),
        items=None if variable is None else variable.items,
        shape=network.arrays.get(signal, ()),
    )


def value_text(value: object) -> str:
    """A value as typed by a user: `true`, `0.5`, `INF`, hexadecimal digits of bytes."""
    if isinstance(value, bool):
        return boolean.write(value)
    if isinstance(value, bytes):
        return hex_binary.write(value)
    return number_text(value) if isinstance(value, float) else str(value)


def range_text(bounds: tuple[float | None, float | None]) -> str:
    """Bounds as `0 … 10`, `0 …` or `… 10`; empty without bounds."""
    lowest, highest = ("" if bound is None or isinf(bound) else f"{bound:.15g}" for bound in bounds)
    return f"{lowest} … {highest}".strip() if lowest or highest else ""
