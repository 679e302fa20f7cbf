"""Inputs of a user: CSV files, tables, functions and constants."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssptool.arguments import ColumnFrame, Frame, WrongArgument, is_column_frame, is_frame, mapping, word
from ssptool.documents.csv_columns import WORKBOOK, CsvColumn, bracketed, read_columns
from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.engine.recording.foreign_tables import time_header, times_of
from ssptool.engine.recording.formats import FORMATS, read_trace
from ssptool.engine.stimuli.stimuli import InputSource, Target, known_units, targets, why_not
from ssptool.engine.stimuli.time_signals import Constant, Function, Interpolation, Table, TimeSignal
from ssptool.engine.trace import places_of
from ssptool.errors import counted, in_other_case
from ssptool.fmu.description import Value
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.conversion import IncompatibleUnits, InvalidValue
from ssptool.network.network import Conversion, Network
from ssptool.option_words import InterpolationWord
from ssptool.public_calls import public

TIME = "time"
LINEAR_TYPES = frozenset({"Float64", "Float32"})

One: TypeAlias = ArrayLike | Callable[[float], ArrayLike] | TimeSignal
"""A constant, a function of time [s], or a signal over time; for an array with values for all elements."""


Source: TypeAlias = Path | str | Sequence[Path | str] | Mapping[str, One] | Frame | ColumnFrame | NDArray[np.void]


@public
@dataclass(frozen=True, slots=True)
class Inputs:
    """Signals over time for inputs, and the interpolation between rows of tables.

    Attributes
    ----------
    source
        One or several CSV files or workbooks (.xlsx), with `time` [s] as first column and full names of inputs as other
        columns; results (.parquet, .mat, .h5, .mf4); a mapping from full names to constants, functions of time or
        signals over time; a frame of pandas or polars, or a numpy array with fields. The times are the index of a
        pandas frame, or the column `time` (`time [ms]` in another unit, or differences of time).
    interpolation
        Interpolation of real numbers; all other types are held.
    columns
        Full name → interpolation of this input, if it differs.
    """

    source: Source
    interpolation: Interpolation | InterpolationWord = Interpolation.LINEAR
    columns: Mapping[str, Interpolation | InterpolationWord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reject an invalid interpolation."""
        word("interpolation", self.interpolation, Interpolation)
        for name, how in mapping("columns", self.columns, "a mapping from full names to linear or hold").items():
            word(f"interpolation of {name}", how, Interpolation)

    def of(self, target: Target) -> Interpolation:
        if target.type not in LINEAR_TYPES:
            return Interpolation.HOLD
        return Interpolation(self.columns.get(target.name, self.interpolation))


InputData: TypeAlias = Inputs | Source | Sequence[Inputs | Path | str]


def interpolated(given: InputData, how: Any) -> InputData:
    """Sources with one interpolation for all columns, or with interpolations by full name; None keeps them
    unchanged.
    """
    if how is None:
        return given
    if isinstance(given, Inputs) or (isinstance(given, list | tuple) and any(isinstance(one, Inputs) for one in given)):
        raise WrongArgument("interpolation", how, "omitted with an Inputs object, which states it")
    source = cast("Source", given)
    if isinstance(how, Mapping):
        return Inputs(source, columns=how)
    return Inputs(source, word("interpolation", how, Interpolation))


def resolve_inputs(given: InputData, network: Network, units: Mapping[str, PhysicalUnit]) -> tuple[InputSource, ...]:
    """Input sources of a system, in the given order.

    Parameters
    ----------
    units
        Units that the system's documents define.

    Raises
    ------
    BadData
        The inputs are wrong; the error lists all findings.
    OSError
        A file cannot be read.
    """
    resolution = _Resolution(network, units)
    several = given if isinstance(given, list | tuple) else [given]
    for one in several:
        resolution.add(one if isinstance(one, Inputs) else Inputs(cast("Source", one)))
    if resolution.findings:
        # In the order of the sources, and of the lines in each.
        order = list(dict.fromkeys(finding.source for finding in resolution.findings))
        raise BadData("the inputs", sorted(resolution.findings, key=lambda one: (order.index(one.source), one.line)))
    return tuple(resolution.sources.values())


class _Resolution:
    """Collector of input sources and findings."""

    def __init__(self, network: Network, units: Mapping[str, PhysicalUnit]) -> None:
        self.network = network
        self.units = known_units(network, units)
        self.targets = targets(network)
        self.findings: list[DataFinding] = []
        self.sources: dict[str, InputSource] = {}

    def add(self, inputs: Inputs) -> None:
        names: set[str] = set()
        for source in inputs.source if isinstance(inputs.source, list | tuple) else [inputs.source]:
            names |= self._source(inputs, source)
        for name in sorted(set(inputs.columns) - names):
            self._find("interpolation", 0, name, "no input of this name has values to interpolate")

    def _source(self, inputs: Inputs, source: Any) -> set[str]:
        """Add one source; returns the names of its inputs."""
        if isinstance(source, str | Path):
            path = Path(source)
            is_table = path.suffix.lower() in (".csv", WORKBOOK) or path.suffix.lower() not in FORMATS
            return self._file(inputs, path) if is_table else self._results(inputs, path)
        if isinstance(source, Mapping) and not _is_table(source):
            for name, one in source.items():
                self._single(inputs, str(name), one)
            return set(source)
        table = source if isinstance(source, Mapping) else _columns(source)
        return self._table(inputs, table)

    def _find(self, source: str, line: int, column: str, message: str) -> None:
        self.findings.append(DataFinding(source, line, column, message))

    def _target(self, source: str, line: int, name: str) -> Target | None:
        target = self.targets.get(name) or self.targets.get(self.network.in_the_only_component(name))
        if target is None and (own := in_other_case(name, self.targets)) is not None:
            target = self.targets[own]
        if target is None:
            self._find(source, line, name, why_not(self.network, name, self.targets))
        elif name in self.sources:
            self._find(source, line, name, f"it is given twice, before in {self.sources[name].origin}")
        else:
            return target
        return None

    def _accept(
        self, target: Target, time_signal: TimeSignal, origin: str, file: Path | None = None, note: str = ""
    ) -> None:
        self.sources[target.name] = InputSource(target.signal, time_signal, origin, file, note=note)

    # -- a file ----------------------------------------------------------------------------------------------

    def _file(self, inputs: Inputs, path: Path) -> set[str]:
        columns, findings = read_columns(path)
        self.findings += findings
        for column in columns:
            self._from_file(inputs, path, column)
        return {column.bracketed[0] if column.bracketed else column.name for column in columns}

    def _from_file(self, inputs: Inputs, path: Path, column: CsvColumn) -> None:
        name = column.name
        if name not in self.targets and column.bracketed is not None:
            name = column.bracketed[0]  # `speed [km/h]` is a name with a unit, if no input has this whole name
        target = self._target(str(path), 1, name)
        if target is None:
            return
        unit = column.unit if name == column.name or column.bracketed is None else column.bracketed[1] or None
        change = self._conversion(str(path), target, unit)
        texts = column.texts if target.type == "String" else column.numbers
        values: list[Value] = [*_doubles(target, texts, change)]
        for line, text in () if values else zip(column.lines, texts, strict=True):
            try:
                values.append(_converted(target, target.parsed(text), change))
            except InvalidValue as error:
                told = f"found {error.found!r}, expected {error.expected}" if text.strip() else "a value is missing"
                self._find(str(path), line, name, told)
        if len(values) == len(column.times) and values:
            how = inputs.of(target)
            course = "linear" if how is Interpolation.LINEAR else "held"
            commas = ", decimal commas" if column.form.decimals else ""
            origin = f"{path}, column {name} ({course}{commas}{_from_unit(unit, target, change)})"
            self._accept(target, Table(column.times, tuple(values), how), origin, path, column.note)

    def _results(self, inputs: Inputs, path: Path) -> set[str]:
        """Add a result file; returns the names of its inputs."""
        trace = read_trace(path)
        for column in trace.columns:
            target = self._target(str(path), 0, column.signal)
            if target is not None:
                change, how = self._conversion(str(path), target, column.unit), inputs.of(target)
                course = "linear" if how is Interpolation.LINEAR else "held"
                origin = f"{path}, column {column.signal} ({course}{_from_unit(column.unit, target, change)})"
                values = trace[column.signal].tolist()
                self._rows(target, trace.t.tolist(), values, how, change, origin, path)
        return set(trace.signals)

    def _conversion(self, source: str, target: Target, unit: str | None) -> Conversion:
        if unit is None or target.unit is None or unit == target.unit:
            return _SAME
        try:
            change = target.conversion(unit, self.units)
        except IncompatibleUnits as error:
            self._find(source, 1, target.name, str(error))
            return _SAME
        if target.type not in LINEAR_TYPES and change != _SAME:
            self._find(source, 1, target.name, f"values of type {target.type} cannot be converted to another unit")
        return change

    # -- mappings and tables ---------------------------------------------------------------------------------

    def _single(self, inputs: Inputs, name: str, one: Any) -> None:
        if elements := self._elements(name):
            for index, element in elements.items():
                self._single(inputs, element, _part_of(one, index, name, _shape(elements)))
            return
        target = self._target("inputs", 0, name)
        if target is None:
            return
        how = inputs.of(target)
        if isinstance(one, Table):
            self._rows(target, one.times, one.values, _less(one.interpolation, how))
        elif isinstance(one, Function):
            steps = tuple(sorted(one.steps))
            self._accept(
                target, Function(_typed(target, one.function), steps, _less(one.interpolation, how)), "a function"
            )
        elif callable(one):
            self._accept(target, Function(_typed(target, one), interpolation=how), "a function")
        else:
            try:
                self._accept(target, Constant(target.take(one)), f"the constant {one!r}")
            except InvalidValue as error:
                several = hasattr(one, "__len__") and not isinstance(one, str)
                table = f"; a table over time is {{'time': […], {name!r}: […]}}" if several else ""
                self._find("inputs", 0, name, f"found {error.found!r}, expected {error.expected}{table}")

    def _elements(self, name: str) -> dict[tuple[int, ...], str]:
        """Index → name of the elements of an array input; empty if the name is not that of an array input."""
        if name in self.targets:
            return {}
        whole = name if any(one.startswith(f"{name}[") for one in self.targets) else ""
        whole = whole or self.network.in_the_only_component(name)
        names = list(self.targets)
        found = None if whole in self.targets else places_of(whole, {one: place for place, one in enumerate(names)})
        if found is None:
            return {}
        return {index: names[found[index]] for index in np.ndindex(found.shape)}

    def _table(self, inputs: Inputs, table: Mapping[str, Sequence[Any]]) -> set[str]:
        """Add a table; returns the names of its inputs."""
        header = time_header(table)
        if header is None:
            self._find("inputs", 0, TIME, f"a table needs the times; its columns are {', '.join(table)}")
            return set()
        moments: list[float] | None = None
        try:
            moments = times_of(header, table[header]).tolist()
        except ValueError as error:
            self._find("inputs", 0, header, str(error))
        names = {header: ""}
        for column, values in table.items() if moments is not None else ():
            if column == header:
                continue
            own = bracketed(column)
            name, unit = (column, None) if own is None or column in self.targets else (own[0], own[1] or None)
            names[column] = name
            elements, array = self._elements(name), np.asarray(values)
            if elements and array.shape[1:] != _shape(elements):
                wanted, found = _shape(elements), array.shape[1:]
                self._find("inputs", 0, name, f"it has the shape {wanted}, the values of each row {found}")
                continue
            for index, element in elements.items() or [((), name)]:
                if (target := self._target("inputs", 0, element)) is not None:
                    change = self._conversion("inputs", target, unit)
                    part = np.moveaxis(array, 0, -1)[index] if index else values
                    self._rows(target, moments or (), list(part), inputs.of(target), change)
        return {name for name in names.values() if name}

    def _rows(
        self,
        target: Target,
        times: Sequence[Any],
        values: Sequence[Any],
        how: Interpolation,
        change: Conversion = Conversion(),  # noqa: B008
        origin: str = "a table",
        file: Path | None = None,
    ) -> None:
        found: list[Value] = []
        before = len(self.findings)
        try:
            moments = [float(time) for time in times]
        except (TypeError, ValueError):
            self._find("inputs", 0, target.name, f"the times must be numbers of seconds, found {list(times)[:3]!r}")
            return
        if not moments or len(moments) != len(values):
            self._find("inputs", 0, target.name, f"{counted(len(moments), 'time')} for {counted(len(values), 'value')}")
            return
        for row, value in enumerate(values):
            if not moments[row - 1 if row else 0] <= moments[row] < float("inf"):
                self._find("inputs", 0, target.name, f"row {row}: time {moments[row]!r} after {moments[row - 1]!r}")
            try:
                found.append(_converted(target, target.typed(value), change))
            except InvalidValue as error:
                self._find("inputs", 0, target.name, f"row {row}: found {error.found!r}, expected {error.expected}")
        if len(self.findings) == before:
            self._accept(target, Table(tuple(moments), tuple(found), how), origin, file)


_SAME = Conversion()


def _from_unit(unit: str | None, target: Target, change: Conversion) -> str:
    """Text for the conversion of units, as the end of the description of an origin."""
    return f", converted from {unit} to {target.unit}" if change != _SAME else ""


def _converted(target: Target, value: Value, change: Conversion) -> Value:
    return target.within(value if change == _SAME else change.carry(value))


def _doubles(target: Target, texts: Sequence[str], change: Conversion) -> list[float]:
    """Convert a whole column at once; empty if a value needs the slower check."""
    if not target.unbounded:
        return []
    try:
        values = [float(text) for text in texts]
    except ValueError:
        return []
    if change != _SAME:
        values = [change(value) for value in values]
    # Python accepts 1_000 as a number.
    good = all(map(math.isfinite, values)) and not any("_" in text for text in texts)
    return values if good else []


@dataclass(frozen=True, slots=True)
class _Typed:
    """A user's function, with its values converted to the type of the input."""

    target: Target
    function: Callable[[float], Any]

    def __call__(self, t: float) -> Value:
        try:
            value = self.function(t)
        except Exception as error:
            message = f"at t = {t!r} s the function raised {type(error).__name__}: {error}"
            raise BadData("the inputs", [DataFinding("inputs", 0, self.target.name, message)]) from error
        if type(value) is float and self.target.unbounded and math.isfinite(value):
            return value
        try:
            return self.target.take(value)
        except InvalidValue as error:
            message = f"at t = {t!r} s the function returned {error.found!r}, expected {error.expected}"
            raise BadData("the inputs", [DataFinding("inputs", 0, self.target.name, message)]) from None


def _typed(target: Target, function: Callable[[float], Any]) -> Callable[[float], Value]:
    return _Typed(target, function)


def _shape(elements: Mapping[tuple[int, ...], str]) -> tuple[int, ...]:
    """Shape of an array with these elements, by index."""
    return tuple(extent + 1 for extent in max(elements))


def _part_of(one: Any, index: tuple[int, ...], name: str, shape: tuple[int, ...]) -> Any:
    """The signal of one element, from the signal of an array.

    Raises
    ------
    BadData
        A value has another shape.
    """

    def element(value: Any, when: str = "") -> Any:
        array = np.asarray(value)
        if array.shape != shape:
            message = f"{when}the input has the shape {shape}, the value {array.shape}"
            raise BadData("the inputs", [DataFinding("inputs", 0, name, message)])
        return array[index].item()

    if isinstance(one, Table):
        return Table(one.times, [element(value) for value in one.values], one.interpolation)
    if isinstance(one, Function):
        return Function(lambda t: element(one.function(t), f"at t = {t!r} s "), one.steps, one.interpolation)
    if callable(one):
        return lambda t: element(one(t), f"at t = {t!r} s ")
    return element(one)


def _less(one: Interpolation | str, other: Interpolation) -> Interpolation:
    """Linear only if both are linear."""
    return other if Interpolation(one) is Interpolation.LINEAR else Interpolation.HOLD


def _is_table(source: Mapping[str, Any]) -> bool:
    """True for columns with times; false for one signal per name."""
    header = time_header(source)
    return header is not None and np.ndim(source[header]) == 1


def _columns(source: Any) -> dict[str, Sequence[Any]]:
    """Columns of a pandas frame, or of a numpy array with fields.

    Raises
    ------
    BadData
        The source is neither.
    """
    fields = getattr(getattr(source, "dtype", None), "names", None)
    if fields:
        return {name: source[name] for name in fields}
    if is_frame(source) or is_column_frame(source):
        return dict(frame_columns(source))
    message = (
        f"{type(source).__name__} is not understood; give the path of a CSV file, a mapping from names to constants, "
        "functions or tables, a frame of pandas or polars, or a numpy array with fields"
    )
    raise BadData("the inputs", [DataFinding("inputs", 0, "", message)])


def frame_columns(frame: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    """Columns of a pandas or polars frame by name, including times."""
    if not is_frame(frame):
        yield from ((name, frame.get_column(name).to_numpy()) for name in frame.columns)
        return
    names = [str(name) for name in frame.columns]
    if time_header(names) is None:
        yield time_header([str(frame.index.name)]) or TIME, frame.index.to_numpy()
    for place, name in enumerate(names):
        yield name, frame.iloc[:, place].to_numpy()
