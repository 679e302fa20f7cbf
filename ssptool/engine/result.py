"""What a run gives: what was recorded, how it began and how it ended."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ssptool.arguments import WrongArgument
from ssptool.dataclass import dataclass
from ssptool.engine.choices import Choice
from ssptool.engine.ending import Ending, Failure, RunError
from ssptool.engine.execution import Execution
from ssptool.engine.fmu_log import LoggedProblems
from ssptool.engine.initialize import InitializationReport
from ssptool.engine.recording.files import read_trace
from ssptool.engine.trace import Column, Floats, Trace, Values
from ssptool.engine.watch import CallCount, Cost, SlowestStep

if TYPE_CHECKING:
    from ssptool.engine.plotting import Plot


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a run took.

    Attributes
    ----------
    kernel
        `native` or `twin`.
    steps
        Macro steps that were completed.
    iterations_mean, iterations_max
        Of the macro steps of an iterated master; 1 for others.
    rejected
        Macro steps that were taken back because their error was too large.
    events, evaluations
        State and time events, of model exchange and of components in event mode, where ticks of clocks count too; and
        of model exchange evaluations of the derivatives of all components together.
    loops_solved, loop_iterations
        How often algebraic loops were solved after the start, each loop for itself, at communication points and within
        steps, and the evaluations of what is in them; without those of the full solver.
    loops_rescued, rescue_iterations
        How often an algebraic loop needed the full solver during the run, and its iterations.
    seconds, initialization_seconds : [s]
        Wall time of stepping, and of initialization.
    real_time_factor
        Simulated time per wall time of stepping.
    latest : [s]
        How far a run that had to keep pace with the clock was behind it at most.
    calls
        How often each function of each FMU was called, and how long that took, if it was to be measured.
    costs
        What each FMU and the engine cost of the wall time of stepping, in percent, if it was to be measured.
    slowest
        The step of a component that took longest, if it was to be measured: component, time, and how long it took.
    """

    kernel: str
    steps: int
    iterations_mean: float
    iterations_max: int
    rejected: int
    events: int
    evaluations: int
    loops_solved: int
    loop_iterations: int
    loops_rescued: int
    rescue_iterations: int
    seconds: float
    initialization_seconds: float
    real_time_factor: float
    latest: float = 0.0
    calls: tuple[CallCount, ...] = ()
    costs: tuple[Cost, ...] = ()
    slowest: SlowestStep | None = None


class TraceNotKept(Exception):
    """The rows of the run went to a file only."""

    def __init__(self, output: Path | None) -> None:
        where = f"read {output}, or" if output is not None else "to have it,"
        super().__init__(f"the trace was not kept in memory; {where} simulate with keep=True")
        self.output = output


@dataclass(frozen=True, slots=True)
class Result:
    """A run: what was recorded, how it began, how it ended. `failure` is None where it reached its end, be it
    one that a component set.

    Attributes
    ----------
    kept
        The trace, if it was kept in memory.
    columns
        What was recorded.
    rows, first_time, last_time
        How many rows were recorded, and the times [s] of the first and the last.
    end
        Of a run without a failure: `TERMINATED` where a component ended it before the stop time.
    problems
        Warnings and errors that FMUs logged, by component.
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

    @property
    def trace(self) -> Trace:
        """What was recorded, also by a run that failed.

        Raises
        ------
        TraceNotKept
            It is in a file only.
        """
        if self.kept is None:
            raise TraceNotKept(self.output)
        return self.kept

    @property
    def t(self) -> Floats:
        """The times (n + 1,) [s] of the rows, as `trace.t`."""
        return self.trace.t

    def __getitem__(self, signal: str) -> Values:
        """The values (n + 1,) of a signal, as `trace[signal]`, with its errors and those of `trace`."""
        return self.trace[signal]

    def __contains__(self, signal: object) -> bool:
        """Whether a signal of this name was recorded."""
        return any(column.signal == signal for column in self.columns)

    def __iter__(self) -> Iterator[str]:
        """Over the names of the recorded signals."""
        return (column.signal for column in self.columns)

    def __repr__(self) -> str:
        span = f"{self.first_time:g} … {self.last_time:g} s, " if self.rows else ""
        return f"<Result of {self.name}: {self.status}, {span}{self.rows} rows, {len(self.columns)} signals>"

    def plot(
        self,
        output: Path | str | None = None,
        *,
        signals: str | Sequence[str] = (),
        title: str | None = None,
        size: str | None = None,
    ) -> "Plot":
        """Draw the recorded signals, as `ssptool.plot` does."""
        from ssptool.engine.plotting import plot  # a run that nobody draws loads nothing that draws

        return plot(self, output, signals=signals, title=title, size=size)

    @property
    def status(self) -> Ending:
        return self.end if self.failure is None else self.failure.ending

    @property
    def ok(self) -> bool:
        return self.failure is None

    def _repr_html_(self) -> str:
        from ssptool.engine.result_html import result_html  # only notebooks draw a run at once

        return result_html(self)

    def unwrap(self) -> Trace:
        """The trace of a run that reached its end.

        Raises
        ------
        RunError
            It did not.
        TraceNotKept
            It is in a file only.
        """
        if self.failure is not None:
            raise RunError(self.failure)
        return self.trace


RESULTS = "a Result, a Trace or a file of results (.csv, .parquet or .mat)"


def trace_of(name: str, given: object) -> Trace:
    """The trace of a result, which may be in its file only, or of a file; a trace as it is.

    Raises
    ------
    WrongArgument
        It is none of these; `name` is that of the argument.
    UnknownFormat, UnreadableTrace, OSError
        The file cannot be read.
    """
    if isinstance(given, Result):
        return read_trace(given.output) if given.kept is None and given.output is not None else given.trace
    if isinstance(given, Trace):
        return given
    if isinstance(given, str | Path):
        return read_trace(given)
    raise WrongArgument(name, given, RESULTS)


def statistics_of(execution: Execution, simulated: float) -> Statistics:
    """Of so much simulated time [s]."""
    counts = execution.counts
    return Statistics(
        kernel=execution.kernel,
        steps=counts.steps,
        iterations_mean=counts.iterations_mean,
        iterations_max=counts.iterations_max,
        rejected=counts.rejected,
        events=counts.events,
        evaluations=counts.evaluations,
        loops_solved=counts.loops_solved,
        loop_iterations=counts.loop_iterations,
        loops_rescued=counts.loops_rescued,
        rescue_iterations=counts.rescue_iterations,
        seconds=counts.seconds,
        initialization_seconds=execution.initialization.seconds,
        real_time_factor=simulated / counts.seconds if counts.seconds > 0 else 0.0,
        latest=counts.latest,
        calls=execution.calls,
        costs=execution.costs,
        slowest=execution.slowest,
    )
