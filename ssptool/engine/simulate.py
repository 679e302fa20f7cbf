"""Carry out a plan and say how it went."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ssptool.dataclass import dataclass
from ssptool.engine.assembly import Sources
from ssptool.engine.blocks import blocks_at_once
from ssptool.engine.choices import Choice
from ssptool.engine.ending import Ending, Failure, RunError
from ssptool.engine.execution import Execution, Job, execute
from ssptool.engine.initialize import InitializationReport
from ssptool.engine.interrupts import held_back
from ssptool.engine.isolation import execute_isolated
from ssptool.engine.limits import Limits
from ssptool.engine.manifest import Input, manifest
from ssptool.engine.pacing import Pace
from ssptool.engine.plan import Plan
from ssptool.engine.recorder import Progress, Recorder
from ssptool.engine.recording.contents import Contents
from ssptool.engine.recording.files import check_output, open_writer
from ssptool.engine.recording.overwriting import check_written
from ssptool.engine.recording.room import check_room
from ssptool.engine.recording.selection import select
from ssptool.engine.recording.thinning import All, Every, Grid, Thinning
from ssptool.engine.recording.writer import Writer
from ssptool.engine.recording.writing_thread import WritingThread
from ssptool.engine.time_resolution import check_step
from ssptool.engine.trace import Column, Trace
from ssptool.engine.watch import CallCount, Watch
from ssptool.fmu.working_directory import kept_working_directory


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


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded of a run, and where.

    Attributes
    ----------
    output
        File that rows are written to as they come; CSV, Parquet or MAT by its ending.
    keep
        Keep the rows in memory, for `Result.trace`.
    signals
        Patterns of full names, such as "System1.*"; none: all signals.
    every
        Only each n-th row, and the last.
    output_step : [s]
        Only rows at this distance, and the last. Between communication points values are on straight lines, those of
        discrete signals held.
    """

    output: Path | None = None
    keep: bool = True
    signals: Sequence[str] = ()
    every: int = 1
    output_step: float | None = None

    def __post_init__(self) -> None:
        """A file may be given by its name."""
        if self.output is not None:
            object.__setattr__(self, "output", Path(self.output))

    def thinning(self, plan: Plan) -> Thinning:
        """Which rows are recorded.

        Raises
        ------
        ValueError
            A number is out of range.
        """
        if self.output_step is None:
            return All() if self.every == 1 else Every(self.every)
        if self.every != 1:
            raise ValueError("every n-th row and an output step exclude each other; found both")
        interval = plan.interval
        check_step("the output step", self.output_step, interval.start, interval.stop)
        return Grid(plan.interval.start, self.output_step, [column.held for column in plan.columns])

    def rows(self, plan: Plan) -> int:
        """How many rows are recorded, at most, of a run to the stop time, unless events or a master add some."""
        interval = plan.interval
        if self.output_step is None:
            return interval.steps // self.every + 2
        return int((interval.stop - interval.start) / self.output_step) + 2


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


def run(
    plan: Plan,
    archive: Sources,
    *,
    output: Path | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
    native: bool | None = None,
    isolated: bool = False,
    limits: Limits | None = None,
    measured: bool = False,
    realtime: float | None = None,
    inputs: Sequence[Input] = (),
) -> Result:
    """Carry out a plan with the FMUs of an archive.

    Parameters
    ----------
    output
        Short for `Recording(output)`.
    recording
        What is recorded, and where; without it, all rows in memory.
    progress
        Called with the fraction 0 … 1 that is done.
    native
        True: the C++ kernel; False: its twin in Python; None: the first where it was built.
    isolated
        Run the FMUs in a child process, which may crash.
    limits
        Of time and memory; only for a child process.
    measured
        Count and time all calls of FMUs, for `Statistics.calls`.
    realtime
        So many seconds of simulation are to pass in one of wall time; None: as fast as can be.
    inputs
        Files to name in the manifest.

    Returns
    -------
    Result
        A failing FMU, a loop without solution or an iteration that does not converge end the trace early; see
        `failure`. So do, if isolated, a crash and a limit that is reached. The rows until then are kept.

    Raises
    ------
    UnsupportedFmu, MissingBinary, UnloadableBinary, UnreadableFmu, FmiError
        An FMU cannot be loaded or instantiated.
    UnknownFormat, MissingExtra, OSError
        The output file cannot be written.
    WouldOverwrite
        It, or a log, is a file that the run reads.
    ResultsNotWritten
        Not any more: it has the rows until then.
    NothingMatches
        A pattern fits no signal.
    TraceTooLarge
        The trace that was to be kept would not fit into the memory of this machine.
    ValueError
        Limits without isolation; numbers of the recording that do not fit.
    """
    if realtime is not None:
        Pace(realtime, 0.0)  # refuses a factor that cannot be
    if limits is not None and not isolated:
        raise ValueError("limits of time and memory need a child process; found isolated=False")
    recording = recording or Recording(output)
    logs = plan.settings.log_loops, plan.settings.log_coupling
    check_written(recording.output, logs, (one.path for one in inputs))
    plan = select(plan, recording.signals)
    job = Job(plan, archive, native, measured, realtime)
    # What comes from another process is written here while that one steps, so that one more thread would help nobody.
    with nullcontext() if isolated else WritingThread(blocks_at_once(1 + len(plan.recorded))) as thread:
        recorder = _recorder(plan, recording, progress, thread)
        return _recorded(job, recorder, (limits or Limits()) if isolated else None, recording.output, inputs)


def _recorded(
    job: Job, recorder: Recorder, limits: Limits | None, output: Path | None, inputs: Sequence[Input]
) -> Result:
    """The result of a job, with its file complete; without limits, the job is done in this process."""
    plan = job.plan
    try:
        execution = _here(job, recorder) if limits is None else execute_isolated(job, recorder, limits)
    except BaseException as error:
        # Such as an interrupt from the keyboard: what has been recorded is worth keeping.
        if recorder.seen:
            with held_back():
                recorder.finish()
                notes = (*plan.notes, *recorder.notes)
                recorder.close(lambda: manifest(plan, inputs, None, "interrupted", {}, notes=notes))
        if not isinstance(error, Exception):
            error.add_note(_until(recorder, output))
        raise
    with held_back():
        recorder.finish()
        result = _result(plan, execution, recorder, output)
        statistics, loops = asdict(result.statistics), result.initialization.loops
        recorder.close(lambda: manifest(plan, inputs, result.failure, result.status, statistics, loops, result.notes))
    return result


def _until(recorder: Recorder, output: Path | None) -> str:
    """How far a run came that somebody ended."""
    if not recorder.seen:
        return "the run had not begun"
    kept = f"; {recorder.recorded} rows until then are in {output}" if output is not None else ""
    return f"the run had come to t = {recorder.last_time:g} s{kept}"


def _here(job: Job, recorder: Recorder) -> Execution:
    names = [instance.name for instance in job.plan.instances]
    with kept_working_directory():
        return execute(job, recorder, Watch.private(names, measured=True) if job.measured else None)


def _recorder(plan: Plan, recording: Recording, progress: Progress | None, thread: WritingThread | None) -> Recorder:
    """`thread`: which writes the file; None: whoever adds rows."""
    writer: Callable[[Contents], Writer] | None = None
    if recording.output is not None:
        check_output(recording.output)
        writer = partial(open_writer, recording.output, plan.columns)
    lend = None
    if writer is not None and thread is not None:
        writer, lend = thread.around(writer), thread.lend
    thinning, rows = recording.thinning(plan), recording.rows(plan)
    if recording.keep and (recording.output_step is not None or not plan.master.chooses_steps):
        check_room(rows, 1 + len(plan.recorded))
    return Recorder(plan, writer, keep=recording.keep, thinning=thinning, rows=rows, progress=progress, lend=lend)


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
        notes=(*plan.notes, *recorder.notes, *execution.remarks),
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
    )
