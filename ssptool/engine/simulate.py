"""Carry out a plan and say how it went."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ssptool.engine.assembly import Sources
from ssptool.engine.choices import Choice
from ssptool.engine.ending import Ending, Failure, RunError
from ssptool.engine.execution import Execution, Job, execute
from ssptool.engine.initialize import InitializationReport
from ssptool.engine.isolation import execute_isolated
from ssptool.engine.limits import Limits
from ssptool.engine.plan import Plan
from ssptool.engine.recorder import Progress, Recorder
from ssptool.engine.trace import Column, CsvWriter, Trace


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
    loops_rescued, rescue_iterations
        How often an algebraic loop needed the full solver during the run, and its iterations.
    seconds, initialization_seconds : [s]
        Wall time of stepping, and of initialization.
    real_time_factor
        Simulated time per wall time of stepping.
    """

    kernel: str
    steps: int
    iterations_mean: float
    iterations_max: int
    rejected: int
    loops_rescued: int
    rescue_iterations: int
    seconds: float
    initialization_seconds: float
    real_time_factor: float


class TraceNotKept(Exception):
    """The rows of the run went to a file only."""

    def __init__(self, output: Path | None) -> None:
        where = f"read {output}, or" if output is not None else "to have it,"
        super().__init__(f"the trace was not kept in memory; {where} simulate with keep=True")
        self.output = output


@dataclass(frozen=True, slots=True)
class Result:
    """A run: what was recorded, how it began, how it ended. `failure` is None where it reached its end.

    Attributes
    ----------
    kept
        The trace, if it was kept in memory.
    columns
        What was recorded.
    rows, first_time, last_time
        How many rows were recorded, and the times [s] of the first and the last.
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
    def status(self) -> Ending:
        return Ending.COMPLETED if self.failure is None else self.failure.ending

    @property
    def ok(self) -> bool:
        return self.failure is None

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


def run(
    plan: Plan,
    archive: Sources,
    *,
    output: Path | None = None,
    keep: bool = True,
    progress: Progress | None = None,
    native: bool | None = None,
    isolated: bool = False,
    limits: Limits | None = None,
) -> Result:
    """Carry out a plan with the FMUs of an archive.

    Parameters
    ----------
    output
        CSV file that rows are written to as they come.
    keep
        Keep the rows in memory, for `Result.trace`.
    progress
        Called with the fraction 0 … 1 that is done.
    native
        True: the C++ kernel; False: its twin in Python; None: the first where it was built.
    isolated
        Run the FMUs in a child process, which may crash.
    limits
        Of time and memory; only for a child process.

    Returns
    -------
    Result
        A failing FMU, a loop without solution or an iteration that does not converge end the trace early; see
        `failure`. So do, if isolated, a crash and a limit that is reached. The rows until then are kept.

    Raises
    ------
    UnsupportedFmu, MissingBinary, UnloadableBinary, UnreadableFmu, FmiError
        An FMU cannot be loaded or instantiated.
    OSError
        The output file cannot be written.
    ValueError
        Limits without isolation.
    """
    if limits is not None and not isolated:
        raise ValueError("limits of time and memory need a child process; found isolated=False")
    job = Job(plan, archive, native)
    with ExitStack() as stack:
        writer = None
        if output is not None:
            writer = stack.enter_context(CsvWriter(output, [column.signal for column in plan.columns]))
        recorder = Recorder(plan, writer, keep=keep, progress=progress)
        execution = execute_isolated(job, recorder, limits or Limits()) if isolated else execute(job, recorder)
    return _result(plan, execution, recorder, output)


def _result(plan: Plan, execution: Execution, recorder: Recorder, output: Path | None) -> Result:
    return Result(
        name=plan.name,
        kept=recorder.trace,
        columns=plan.columns,
        rows=recorder.recorded,
        first_time=plan.interval.start,
        last_time=recorder.last_time,
        failure=execution.failure,
        initialization=execution.initialization,
        statistics=_statistics(execution, recorder.last_time - plan.interval.start),
        choices=plan.choices,
        notes=plan.notes,
        output=output,
    )


def _statistics(execution: Execution, simulated: float) -> Statistics:
    counts = execution.counts
    return Statistics(
        kernel=execution.kernel,
        steps=counts.steps,
        iterations_mean=counts.iterations_mean,
        iterations_max=counts.iterations_max,
        rejected=counts.rejected,
        loops_rescued=counts.loops_rescued,
        rescue_iterations=counts.rescue_iterations,
        seconds=counts.seconds,
        initialization_seconds=execution.initialization.seconds,
        real_time_factor=simulated / counts.seconds if counts.seconds > 0 else 0.0,
    )
