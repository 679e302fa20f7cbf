"""Result of a run: trace, initialization report, statistics, overrides; and the plot of results."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ssptool.arguments import ColumnFrame, Frame, WrongArgument, is_column_frame, is_frame, mapping
from ssptool.documents.csv_columns import bracketed
from ssptool.engine.assembly.fmu_log import LoggedProblems
from ssptool.engine.failure import Ending, Failure, RunError
from ssptool.engine.recording.foreign_tables import time_header, times_of
from ssptool.engine.recording.formats import read_manifest, read_trace, with_numbers
from ssptool.engine.recording.patterns import column_patterns, fits_column
from ssptool.engine.run.accuracy import UNCHECKED, Accuracy, stated_errors
from ssptool.engine.run.execution import Statistics
from ssptool.engine.run.indicators import RunWarning
from ssptool.engine.run.initialization import InitializationReport
from ssptool.engine.run.manifest import Override, labels
from ssptool.engine.settings import Choice, Settings
from ssptool.engine.stimuli.inputs import TIME, frame_columns
from ssptool.engine.trace import Column, Floats, Trace, UnitChanges, Values, places_by_name, places_of, trace_html
from ssptool.errors import WrongUsage, WrongValue, counted
from ssptool.foreign_text import html_text, json_content
from ssptool.printed import Printed
from ssptool.public_calls import public

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import polars
    import xarray  # type: ignore[import-not-found, unused-ignore]

    from ssptool.engine.run.plots import Plot


NO_UNITS: Mapping[str, str] = MappingProxyType({})
"""All signals in the units that they were recorded in."""

UNITS = 'a mapping from patterns to units, or "display"'
"""Description of the argument `units`, for messages."""


@public
@dataclass(frozen=True, slots=True, eq=False)
class Result(Printed, Mapping[str, Values]):
    """Result of a run: recorded signals, initialization and end. A mapping from names of signals to their values over
    time. `failure` is None if the run reached its end, including an end that a component requested.

    Attributes
    ----------
    kept
        The trace, if it was kept in memory.
    columns
        Recorded signals.
    rows, first_time, last_time
        Number of recorded rows, and times [s] of the first and the last.
    end
        End of a run without a failure: `TERMINATED` if a component ended it before the stop time.
    problems
        Warnings and errors that FMUs logged, by component.
    overrides
        Values overridden by the caller, each with the value of the documents and its location.
    settings
        Settings asked for; `choices` are the resulting choices.
    accuracy
        Estimated error, if it was checked: of the worst signal, and of each signal in `errors`.
    warnings
        Signs of too large steps, for runs with all rows in memory.
    described
        The manifest as JSON text.
    """

    name: str
    kept: Trace | None
    columns: tuple[Column, ...]
    rows: int
    first_time: float
    last_time: float
    failure: Failure | None
    initialization: InitializationReport
    statistics: Statistics
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]
    output: Path | None
    end: Ending = Ending.COMPLETED
    problems: tuple[LoggedProblems, ...] = ()
    overrides: tuple[Override, ...] = ()
    settings: Settings = field(default_factory=Settings)
    accuracy: Accuracy = UNCHECKED
    warnings: tuple[RunWarning, ...] = ()
    described: str = field(default="{}", repr=False)

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def trace(self) -> Trace:
        """The recorded trace, also of a run that failed.

        Raises
        ------
        WrongUsage
            The trace is in a file only.
        """
        if self.kept is None:
            where = f"read {self.output}, or" if self.output is not None else "to have it,"
            raise WrongUsage(f"the trace was not kept in memory; {where} simulate with keep=True")
        return self.kept

    @property
    def t(self) -> Floats:
        """The times (n + 1,) [s] of the rows, as `trace.t`."""
        return self.trace.t

    def __getitem__(self, signal: str) -> Values:
        """The values (n + 1,) of a signal, as `trace[signal]`, with its errors and those of `trace`."""
        return self.trace[signal]

    def __contains__(self, signal: object) -> bool:
        """True if a signal of this name was recorded."""
        return places_of(signal, places_by_name(self.columns)) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the recorded signals."""
        return (column.signal for column in self.columns)

    def __len__(self) -> int:
        """Number of recorded signals; see `rows` for the number of rows."""
        return len(self.columns)

    def __bool__(self) -> bool:
        """The same as `ok`."""
        return self.ok

    @property
    def units(self) -> dict[str, str | None]:
        """Unit of each recorded signal; None: not stated."""
        return {column.signal: column.unit for column in self.columns}

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Description of the run: system, settings, versions; as `read_manifest` reads it from a result file."""
        return with_numbers(json_content(self.described))

    def to_numpy(self) -> dict[str, Values]:
        """The signals and the time, as `trace.to_numpy()`."""
        return self.trace.to_numpy()

    def to_pandas(self) -> "pandas.DataFrame":
        """A frame of pandas, as `trace.to_pandas()`."""
        return self.trace.to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """A frame of polars, as `trace.to_polars()`."""
        return self.trace.to_polars()

    def to_xarray(self) -> "xarray.Dataset":
        """A dataset of xarray, as `trace.to_xarray()`."""
        return self.trace.to_xarray()

    def in_units(self, units: Mapping[str, str] | Literal["display"]) -> Trace:
        """The trace with some signals in other units, as `trace.in_units()`: `{"Motor.w": "rpm"}`."""
        return self.trace.in_units(units)

    def __repr__(self) -> str:
        span = f"{self.first_time:g} … {self.last_time:g} s, " if self.rows else ""
        size = f"{counted(self.rows, 'row')}, {counted(len(self.columns), 'signal')}"
        return f"<Result of {self.name}: {self.status}, {span}{size}>"

    def plot(
        self,
        output: Path | str | None = None,
        *,
        signals: str | Sequence[str] = (),
        title: str | None = None,
        size: str | None = None,
        units: Mapping[str, str] | Literal["display"] = NO_UNITS,
    ) -> "Plot":
        """Draw the recorded signals, as `ssptool.plot` does."""
        return plot(self, output, signals=signals, title=title, size=size, units=units)

    @property
    def status(self) -> Ending:
        return self.end if self.failure is None else self.failure.ending

    @property
    def ok(self) -> bool:
        return self.failure is None

    def _repr_html_(self) -> str:
        return result_html(self)

    def unwrap(self) -> Trace:
        """The trace of a run that reached its end.

        Raises
        ------
        RunError
            The run failed.
        WrongUsage
            The trace is in a file only.
        """
        if self.failure is not None:
            raise RunError(self.failure)
        return self.trace


Run: TypeAlias = Result | Trace | Frame | ColumnFrame | Path | str

RESULTS = "a Result, a Trace, a frame of pandas or polars, or a file of results (.csv, .parquet, .mat, .h5 or .mf4)"


def trace_of(name: str, given: object) -> Trace:
    """The trace of a result, which may be in its file only, or of a file; a trace as it is.

    Raises
    ------
    WrongArgument
        The argument called `name` is none of these.
    WrongValue, UnusableFile, OSError
        The file cannot be read.
    """
    if isinstance(given, Result):
        return read_trace(given.output) if given.kept is None and given.output is not None else given.trace
    if isinstance(given, Trace):
        return given
    if isinstance(given, str | Path):
        return read_trace(given)
    if is_frame(given) or is_column_frame(given):
        return _of_frame(name, given)
    raise WrongArgument(name, given, RESULTS)


def with_units(traces: Mapping[str, Trace], units: Mapping[str, str] | Literal["display"]) -> dict[str, Trace]:
    """Traces by name, with signals that match patterns in other units.

    Raises
    ------
    UnknownName
        A pattern matches no signal of any of them.
    WrongValue
        As `Trace.in_units`.
    """
    every = [column for trace in traces.values() for column in trace.columns]
    return {name: changed_units(units, trace.columns, every).converted(trace) for name, trace in traces.items()}


def changed_units(
    units: Mapping[str, str] | Literal["display"], columns: Sequence[Column], every: Sequence[Column] = ()
) -> UnitChanges:
    """Conversions of columns to the units given by patterns. Each pattern must match a column in `every` (default:
    `columns`).

    Raises
    ------
    UnknownName, WrongValue
        As `with_units`.
    """
    if units == "display":
        return UnitChanges.of(columns, units)
    wanted = mapping("units", units, UNITS)
    among = every or columns
    pairs = [(one, to) for name, to in wanted.items() for one in column_patterns([name], among, "recorded signal")]
    own = {column.signal: unit for column in columns for one, unit in pairs if fits_column([one], column)}
    return UnitChanges.of(columns, own)


def _of_frame(name: str, frame: Any) -> Trace:
    """The trace in a frame: times as for inputs, units in headers such as `T [degC]` or in `attrs["units"]`."""
    table, units = dict(frame_columns(frame)), getattr(frame, "attrs", {}).get("units", {})
    header = time_header(table) or TIME
    if header not in table:
        raise WrongArgument(name, frame, f"a frame with a column {TIME}")
    try:
        times = times_of(header, table.pop(header))
    except ValueError as error:
        raise WrongArgument(f"{header} of {name}", frame, str(error)) from None
    columns = []
    for label, values in table.items():
        kind = _FRAME_TYPES.get(np.asarray(values).dtype.kind)
        if kind is None:
            raise WrongArgument(f"{label} of {name}", values, "numbers or truth values")
        signal, unit = bracketed(label) or (label, units.get(label))
        columns.append((Column(signal, unit or None, kind), values))
    return Trace.of(times, columns)


_FRAME_TYPES = {"f": "Float64", "b": "Boolean", "i": "Int64", "u": "UInt64"}
"""Kind of numpy → type of a signal."""


@public
def plot(
    runs: "Run | Sequence[Run] | Mapping[str, Run]",
    output: Path | str | None = None,
    *,
    signals: str | Sequence[str] = (),
    title: str | None = None,
    size: str | None = None,
    units: Mapping[str, str] | Literal["display"] = NO_UNITS,
) -> "Plot":
    """Draw signals over time, one panel per unit, as a PNG, SVG or PDF file, or as an HTML page with zoom.

    Parameters
    ----------
    runs
        A `Result`, a `Trace` or a result file; a list of these, labelled in the legend by name and by differing
        overrides and settings; or a mapping from labels to these.
    output
        File to write. Without it, a notebook shows the returned plot, and its method `save` writes it.
    signals
        Draw signals that match one of these patterns of full names, in which * matches any text (default: all signals
        of real numbers). Strings are never drawn.
    title
        Title of the plot (default: name of the run).
    size
        Size of a picture for print, WIDTHxHEIGHT in mm, cm or in: `160x90mm`. The text has 8 points (10 points without
        a size).
    units
        Units of the drawn signals, by patterns of full names: `{"*.w": "rpm"}`; or "display": display units of the
        FMUs.

    Raises
    ------
    ValueError
        The ending of `output` is not supported, a pattern matches no signal, there is nothing to draw, or `size` is not
        valid.
    MissingPackage
        A library for drawing is not installed.

    Examples
    --------
    >>> ssptool.plot([first, second], "runs.png", signals="*.x1")
    """
    from ssptool.engine.run.plots import plot_traces  # drawing libraries are only loaded for drawing

    named = _named(runs)
    traces = with_units({name: trace_of("runs", run) for name, run in named.items()}, units)
    errors = {name: found for name, run in named.items() if (found := stated_errors(made_by(run))) is not None}
    return plot_traces(traces, output, signals, title, size, errors)


def _named(runs: Any) -> dict[str, Any]:
    """Each run by a unique name."""
    if isinstance(runs, Mapping) and not isinstance(runs, Result):
        return {str(name): run for name, run in runs.items()}
    several = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not several:
        raise WrongArgument("runs", runs, f"{RESULTS}, or a list or mapping of them that is not empty")
    names = labels(_distinct(several), [made_by(run) for run in several]) if len(several) > 1 else [_name(several[0])]
    return dict(zip(names, several, strict=True))


def _distinct(runs: Sequence[Any]) -> list[str]:
    """The shortest distinct names of runs: file names without extension, with extension, or with folders; otherwise
    numbered.

    Raises
    ------
    WrongValue
        A file is given twice.
    """
    names = [_name(run) for run in runs]
    if all(isinstance(run, str | Path) for run in runs):
        files = [Path(run) for run in runs]
        choices = (names, [file.name for file in files], [os.path.normpath(file) for file in files])
        if distinct := next((choice for choice in choices if len(set(choice)) == len(choice)), None):
            return distinct
        raise WrongValue("the same results are given twice")
    numbers = (names[: place + 1].count(name) for place, name in enumerate(names))
    return [name if names.count(name) == 1 else f"{name} {number}" for name, number in zip(names, numbers, strict=True)]


def _name(run: Any) -> str:
    if isinstance(run, Result):
        return run.name
    if isinstance(run, str | Path):
        return Path(run).stem
    return "run" if isinstance(run, Trace) else ""


def made_by(run: Any) -> Mapping[str, Any]:
    """Facts about the origin of a result, from its manifest or the result itself; empty for a trace."""
    if isinstance(run, Result):
        return run.manifest
    if isinstance(run, str | Path):
        return read_manifest(run)
    return {}


def result_html(result: "Result") -> str:
    """HTML of a result: end, initialization, choices, and the trace if it was kept.

    The name is not a heading, because the surrounding page has its own levels.
    """
    lines = "".join(f"<li>{line}</li>" for line in _facts(result))
    trace = "" if result.kept is None else trace_html(result.kept)
    return f"<p><strong>{html_text(result.name)}</strong></p><ul>{lines}</ul>{trace}"


def _facts(result: "Result") -> Iterator[str]:
    colour = "#1a6e2e" if result.ok else "#b3261e"
    told = "" if result.failure is None else f": {html_text(str(result.failure))}"
    yield f'<span style="color: {colour}; font-weight: bold">{html_text(str(result.status.value))}</span>{told}'
    for loop in result.initialization.loops:
        solution = loop.solution
        yield (
            f"{html_text(str(loop.stage))}: algebraic loop of {counted(len(loop.signals), 'signal')}, "
            f"{html_text(solution.status.value)} by {html_text(solution.solver)}, iterations {solution.iterations}, "
            f"{loop.relative_residual}"
        )
    chosen = {choice.setting: choice.value for choice in result.choices}
    yield ", ".join(
        f"{name.replace('_', ' ')} {html_text(chosen[name])}" for name in ("master", "step_size") if name in chosen
    )
    yield f"{counted(result.statistics.steps, 'step')} in {result.statistics.seconds:.3g} s"
    yield f"accuracy: {html_text(str(result.accuracy))}"
    yield from (html_text(f"warning {one}") for one in result.warnings)
