"""Carry out a plan, and report the result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from ssptool.documents.saving import save_file
from ssptool.engine.assembly.instances import EarlierRuns, Pool, Sources
from ssptool.engine.isolation.parent import execute_isolated
from ssptool.engine.isolation.repeated_words import error_with_words, with_words
from ssptool.engine.method_names import WarningsName
from ssptool.engine.planning.plan import Plan
from ssptool.engine.recording.decimation import check_memory
from ssptool.engine.recording.formats import check_output, check_written, open_writer, read_manifest
from ssptool.engine.recording.writer import Writer, WritingThread, blocks_at_once
from ssptool.engine.run.accuracy import UNCHECKED, Accuracy
from ssptool.engine.run.accuracy_check import AccuracyCheck, step_is_default, step_is_guessed
from ssptool.engine.run.execution import (
    ENDED_OTHERWISE,
    Execution,
    Job,
    Pace,
    execute,
    planned_and_executed,
    with_alternative,
)
from ssptool.engine.run.indicators import warnings_of
from ssptool.engine.run.manifest import NO_ARGUMENTS, SHOWN, Arguments, Input, differences, made, manifest, overrides
from ssptool.engine.run.recorder import Progress, Recorder, Recording, interrupts_deferred
from ssptool.engine.run.refinement import FinerRun, TookTooLong
from ssptool.engine.run.result import Result, changed_units
from ssptool.engine.run.saved import SavedSimulation, check_savable
from ssptool.engine.run.selection import select, select_first
from ssptool.engine.run.unresolved_growth import blown_up
from ssptool.engine.settings import Limits
from ssptool.engine.trace import NUMBERED, StringTable, Trace, UnitChanges
from ssptool.engine.watch import Watch
from ssptool.errors import ContradictingSettings, UnusableFile
from ssptool.fmu.instance import FmiError
from ssptool.foreign_output import unheard
from ssptool.work_in_progress import NOTHING, tell
from ssptool.working_directory import KeptWorkingDirectory, absolute

MOST_CHECKED = 2e7
"""Largest number of trace cells that are kept in memory for an accuracy check without a request."""

MOST_LOOKED_AT = 2e6
"""Largest number of cells that are kept only to find signs of incorrect results: 16 MB."""


Supply = Pool | EarlierRuns | None
"""Source of loaded FMUs: those of a pool, or new ones that share unpacked files and loaded plans with earlier runs."""

_Estimate = Callable[[Plan, Trace | None, bool], Accuracy]
"""Function that estimates the accuracy of a run, from its trace and whether it failed."""


def run(
    plan: Plan,
    archive: Sources,
    *,
    output: Path | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
    isolated: bool = False,
    limits: Limits | None = None,
    measured: bool = False,
    realtime: float | None = None,
    repeats: bool = False,
    inputs: Sequence[Input] = (),
    arguments: Arguments = NO_ARGUMENTS,
    check: AccuracyCheck | None = None,
    kept: EarlierRuns | None = None,
    saved: SavedSimulation | None = None,
    save: Path | None = None,
) -> Result:
    """Carry out a plan with the FMUs of an archive.

    Parameters
    ----------
    output
        Short form of `Recording(output)`.
    recording
        Recorded signals and files (default: keep all rows in memory).
    progress
        Called with the completed fraction 0 … 1.
    isolated
        Run the FMUs in a child process, which may crash.
    limits
        Limits of time and memory; only for a child process.
    measured
        Count and time all calls of FMUs, for `Statistics.calls`.
    realtime
        Simulated seconds per second of wall time; None: as fast as possible.
    repeats
        Repeat a run once in a child process, with all messages on, if an FMU fails without a message.
    inputs
        Files to name in the manifest.
    arguments
        Arguments with which the caller made the plan, for the manifest.
    check
        Check of the accuracy by finer runs; if an accuracy is requested, also the search for its step.
    kept
        Resources of earlier runs in this process; if None, each run unpacks its FMUs and loads its plan.
    saved
        Continue from here, instead of initializing.
    save
        Write the state at the end to this file, from which a run or a simulation can continue.

    Returns
    -------
    Result
        A failing FMU, a loop without solution or an iteration that does not converge end the trace early; see
        `failure`. In an isolated run, so do a crash and an exceeded limit. Earlier rows are kept.

    Raises
    ------
    UnusableFmu, FmiError
        An FMU cannot be loaded or instantiated.
    WrongValue, MissingPackage, OSError
        The output file cannot be written.
    WrongValue
        It, or a log, is a file that the run reads.
    ResultsNotWritten
        Writing failed during the run; the file contains the earlier rows.
    UnknownName
        A pattern matches no signal.
    WrongValue
        The trace would not fit into the memory of this machine.
    ContradictingSettings
        Limits without isolation.
    WrongValue
        A number of the recording is out of range.
    NotSavable
        An FMU cannot save its state, for `save`.
    """
    if save is not None:
        check_savable(plan)
    if realtime is not None:
        Pace(realtime, 0.0)  # rejects an invalid factor
    if limits is not None:
        require_isolation(isolated)
    recording = recording or Recording(output)
    indent = None if recording.output is None else 1  # readable for people
    carried = _CarryingOut(
        plan,
        archive,
        recording,
        partial(manifest, inputs=inputs, arguments=arguments, indent=indent),
        limits=(limits or Limits()) if isolated else None,
        began=perf_counter(),
        file=arguments.values.get("system"),
        inputs=inputs,
        progress=progress,
        measured=measured,
        realtime=realtime,
        repeats=repeats,
        check=check,
        kept=kept,
        saved=saved,
        save=save,
    )
    return with_alternative(plan, carried.out, lambda result: None if result.statistics.steps else result.failure)


@dataclass(frozen=True, slots=True)
class _CarryingOut:
    """Execution of a plan or of its alternative, with the arguments of `run`. Without `limits`, the FMUs run in this
    process; `began` is the time from which on the limits count [s]; `file` is the path of the system; `describe` makes
    the manifest.
    """

    plan: Plan
    archive: Sources
    recording: Recording
    describe: Callable[..., str]
    limits: Limits | None
    began: float
    file: str | None
    inputs: Sequence[Input]
    progress: Progress | None
    measured: bool
    realtime: float | None
    repeats: bool
    check: AccuracyCheck | None
    kept: EarlierRuns | None
    saved: SavedSimulation | None
    save: Path | None

    def out(self, made: Plan) -> Result:
        """The result of this plan; or of one with smaller steps, if its default step is too inaccurate."""
        tell(NOTHING)
        recording, save = self.recording, self.save
        logs = made.settings.log_loops, made.settings.log_coupling, made.settings.fmu_log, save
        check_written(recording.output, logs, (one.path for one in self.inputs))
        chosen = select(made if save is None else replace(made, open_end=True), recording.signals)
        job = Job(chosen, self.archive, self.measured, self.realtime, saved=self.saved, save=save is not None)
        changes = changed_units(recording.units, chosen.columns)
        finer = FinerRuns(job, recording, self.limits, self.began, self.kept)
        job, limits, estimate = _checked(self.check, finer)
        once = partial(self._once, changes, _earlier(recording.output, self.file))
        result = once(job, limits if made is self.plan else finer.limits(), estimate)
        if finer.instead is None:
            return result
        better, accuracy = finer.instead
        tell("running with smaller steps")
        return once(replace(job, plan=select(better, recording.signals)), finer.limits(), partial(_kept, accuracy))

    def _once(
        self,
        changes: UnitChanges,
        before: Mapping[str, Any],
        job: Job,
        limits: Limits | None,
        estimate: _Estimate | None,
    ) -> Result:
        """The result of a job; `before` is the manifest of the previous results in the file."""
        recording = self.recording
        executed = partial(_executed_and_saved, save=self.save, limits=limits, repeats=self.repeats, supply=self.kept)
        earlier = _worth_keeping(recording.output, before)
        # Rows from another process are written while that process steps, so a thread would gain nothing.
        isolated = self.limits is not None
        writing = nullcontext() if isolated else WritingThread(blocks_at_once(1 + len(job.plan.recorded)))
        with (
            writing as thread,
            _recorder(job.plan, recording, self.progress, thread, earlier, self.check, changes) as recorder,
        ):
            described = partial(self.describe, columns=changes.columns)
            return _recorded(job, recorder, recording, changes, executed, described, before, estimate)


def require_isolation(isolated: bool) -> None:
    """Raise ContradictingSettings if there are limits or a sandbox, but no child process."""
    if not isolated:
        raise ContradictingSettings(
            "limits or a sandbox without isolation",
            "they need a child process for the FMUs",
            "leave out isolated=False, or the limits",
        )


def _recorded(
    job: Job,
    recorder: Recorder,
    recording: Recording,
    changes: UnitChanges,
    carry_out: Callable[[Job, Recorder], Execution],
    describe: Callable[..., str],
    before: Mapping[str, Any],
    check: _Estimate | None,
) -> Result:
    """Carry out a job; its result, after the file is complete.

    `describe` makes the manifest from the plan and the execution; `before` is the manifest of the previous results in
    the file; `check` estimates the accuracy from the trace, and whether the run failed.
    """
    plan, output, execution = job.plan, recording.output, None
    accuracy = Accuracy(remark="the check was interrupted")
    try:
        job, execution = planned_and_executed(job, lambda again: carry_out(again, recorder))
        plan = job.plan
        recorder.finish()
        accuracy = UNCHECKED if check is None else check(plan, recorder.trace, execution.failure is not None)
        if execution.failure is None:
            execution = execution._replace(failure=blown_up(accuracy))
    except BaseException as error:
        if execution is None and recorder.begun:
            recorder.finish()  # for example after a keyboard interrupt: keep the recorded rows
        if execution is None and not isinstance(error, Exception):
            error.add_note(_until(recorder, output))
        raise
    finally:
        with interrupts_deferred():
            if execution is not None:
                recorder.finish()
                result = _result(job, execution, recorder, recording, changes, accuracy)
                more = (*_replaced(plan, recorder, output, before), *_other(plan, result))
                result = replace(result, notes=(*result.notes, *more))
                told = result.initialization.loops, result.notes, result.problems
                signs = {"accuracy": accuracy, "warnings": result.warnings}
                text = describe(plan, result.failure, result.status, result.statistics, *told, **signs)
                result = replace(result, described=text)
                recorder.close(lambda: text)
            elif recorder.begun:
                notes = (*plan.notes, *recorder.notes)
                recorder.close(lambda: describe(plan, None, "interrupted", {}, notes=notes))
    return result


class FinerRuns:
    """Runs of variations of a job's plan, with its options and limits. Their traces stay in memory: first the signals
    that the job records, then all other exchanged signals.

    FMUs whose other interface the job uses run in a child process, so that a crash does not affect the job. Other FMUs
    come from the `supply`.

    Attributes
    ----------
    instead
        Plan to carry out instead of that of the job, with its accuracy; None: the job suffices.
    """

    def __init__(
        self,
        job: Job,
        recording: Recording,
        limits: Limits | None,
        began: float,
        supply: Supply = None,
    ) -> None:
        self.job, self.whole, self._began, self._supply = job, limits, began, supply
        self.recording = Recording(signals=recording.signals)
        self.instead: tuple[Plan, Accuracy] | None = None

    @property
    def left(self) -> float:
        """Remaining seconds of the time limit."""
        if self.whole is None or self.whole.seconds is None:
            return inf
        return self._began + self.whole.seconds - perf_counter()

    def limits(self, most: float = inf, *, apart: bool = False) -> Limits | None:
        """Limits of a run within the remaining time, and of at most `most` seconds."""
        seconds, whole = min(self.left, most), self.whole or (Limits() if apart else None)
        if whole is None or seconds == inf:
            return whole
        return replace(whole, seconds=max(seconds, 1e-3))

    def __call__(self, plan: Plan, met: tuple[float, ...], most: float) -> FinerRun:
        end = perf_counter() + most

        def in_time(_: float) -> None:
            if perf_counter() > end:
                raise TookTooLong

        plan = select_first(plan, self.recording.signals)
        job = Job(plan, self.job.sources, met=met)
        recorder = _recorder(plan, self.recording, in_time, None, False, None, None)
        limits = self.limits(most, apart=plan.is_one_ode and not self.job.plan.is_one_ode)
        with unheard():
            carry_out = partial(_executed, recorder=recorder, limits=limits, repeats=False, supply=self._supply)
            job, execution = planned_and_executed(job, carry_out)
        recorder.finish()
        return FinerRun(recorder.trace, execution.failure, job.plan)


PACED = "the run kept pace with the clock"


def _checked(check: AccuracyCheck | None, finer: FinerRuns) -> tuple[Job, Limits | None, _Estimate | None]:
    """The job, with the step for a requested accuracy; its limits; and the function that estimates its accuracy."""
    if check is None or (check.only_growth and finer.job.saved is not None):
        return finer.job, finer.whole, None
    if check.only_growth:
        return finer.job, finer.whole, partial(_accuracy, check, finer, perf_counter())
    if check.wanted is None:
        _take_default_step(check, finer)
        return finer.job, finer.limits(), partial(_accuracy, check, finer, perf_counter())
    plan, accuracy = _searched(check, finer)
    return replace(finer.job, plan=select(plan, finer.recording.signals)), finer.limits(), partial(_kept, accuracy)


def _take_default_step(check: AccuracyCheck, finer: FinerRuns) -> None:
    """Give the job the macro step of an earlier run, if that is not the default; or one that resolves the start of the
    run, if its step is only a guess.
    """
    plan = finer.job.plan
    if finer.job.realtime is not None:
        return
    if check.refined is not None and step_is_default(plan):
        plan = check.refined.in_plan(plan, check.replan)
    elif step_is_guessed(plan, check.asked):
        from ssptool.engine.run.first_instants import with_resolved_step

        plan = with_resolved_step(plan, check.replan, finer)
    if plan is not finer.job.plan:
        finer.job = replace(finer.job, plan=select(plan, finer.recording.signals))


def _accuracy(
    check: AccuracyCheck, finer: FinerRuns, began: float, plan: Plan, trace: Trace | None, failed: bool
) -> Accuracy:
    """Accuracy of a run of a plan that started at `began`."""
    if failed:
        return UNCHECKED
    if finer.job.realtime is not None:
        return UNCHECKED if check.only_growth else Accuracy(remark=PACED)
    examined = check.examined(plan, trace, perf_counter() - began, finer, lambda: finer.left)
    if not (check.only_growth or finer.job.save):
        finer.instead = check.instead(plan, examined, lambda: finer.left)
    return examined.accuracy


def _searched(check: AccuracyCheck, finer: FinerRuns) -> tuple[Plan, Accuracy]:
    """The plan of the coarsest run with the requested accuracy, and its accuracy."""
    if finer.job.realtime is not None:
        return finer.job.plan, Accuracy(remark=PACED, wanted=check.wanted)
    return check.search(finer.job.plan, finer, lambda: finer.left)


def _kept(accuracy: Accuracy, _: Plan, __: Trace | None, failed: bool) -> Accuracy:
    """Accuracy from the search; unknown if the run failed nevertheless."""
    return replace(accuracy, error=None, errors={}) if failed else accuracy


def _earlier(output: Path | None, file: str | None) -> Mapping[str, Any]:
    """Manifest of the results in a file; empty if there are none, or they cannot be read. The name of its system has a
    path if that is not `file`, because an exported FMU has the name of its system.
    """
    if output is None or not absolute(output).exists():
        return {}
    try:
        found = read_manifest(absolute(output))
    except (OSError, ValueError, UnusableFile):
        return {}
    before = (found.get("arguments") or {}).get("system")
    return found if before in (None, file) or file is None else {**found, "system": f"{found['system']} ({before})"}


def _worth_keeping(output: Path | None, manifest: Mapping[str, Any]) -> bool:
    """True if a file with this manifest has results that a run without a row must not replace."""
    without_rows = bool(manifest.get("failure")) and not manifest.get("statistics", {}).get("steps")
    return output is not None and absolute(output).exists() and not without_rows


def _replaced(plan: Plan, recorder: Recorder, output: Path | None, before: Mapping[str, Any]) -> Iterator[str]:
    """Note on the previous results of the file: kept, or replaced although they are from other settings."""
    if recorder.kept_earlier:
        yield f"{output} keeps the results of an earlier run, as this one ended before its first row"
        return
    if not before:
        return
    if before.get("system", plan.name) != plan.name:
        yield f"overwrote {output}: results of another system, {before['system']}"
        return
    there, here = differences([before, made(plan)])
    if there:
        values = ", ".join(f"{name} = {value} (now {here[name]})" for name, value in list(there.items())[:SHOWN])
        yield f"overwrote {output}: results of a run with {values}"


def _other(plan: Plan, result: Result) -> Iterator[str]:
    """Note on the alternative, if a system failed with model exchange as the default."""
    failure = result.failure
    if plan.instead is None or failure is None or failure.ending in ENDED_OTHERWISE:
        return
    if result.statistics.steps:
        yield "model exchange is the default for this system; --implementation cs runs it as co-simulation"


def _until(recorder: Recorder, output: Path | None) -> str:
    """Time that an interrupted run reached."""
    if not recorder.seen:
        return "the run had not begun"
    kept = f"; {recorder.recorded} rows until then are in {output}" if output is not None else ""
    return f"the run had reached t = {recorder.last_time:g} s{kept}"


def _executed(job: Job, recorder: Recorder, limits: Limits | None, repeats: bool, supply: Supply) -> Execution:
    """Execution of a job; without limits it may run in this process. With `repeats`, a failure gets the messages of the
    FMU.
    """
    try:
        execution = _here(job, recorder, supply) if limits is None else execute_isolated(job, recorder, limits)
    except FmiError as error:
        if not repeats:
            raise
        raise error_with_words(job, error, limits or Limits()) from None
    return with_words(job, execution, limits or Limits()) if repeats else execution


def _executed_and_saved(job: Job, recorder: Recorder, save: Path | None, **options: Any) -> Execution:
    execution = _executed(job, recorder, **options)
    if save is None or execution.found is not None:
        return execution
    if execution.state is None:
        return execution._replace(remarks=(*execution.remarks, f"{save} was not written: the run ended early"))
    save_file(absolute(save), execution.state)
    return execution._replace(remarks=(*execution.remarks, f"the state at the end is in {save}"))


def _here(job: Job, recorder: Recorder, supply: Supply) -> Execution:
    names = [instance.name for instance in job.plan.instances]
    recorder.begin()
    watch = Watch.private(names, measured=True) if job.measured else None
    own = nullcontext(supply) if isinstance(supply, Pool) else Pool(reuse=False, earlier=supply)
    with KeptWorkingDirectory(), own as pool:
        return execute(job, recorder, watch, pool)


def _recorder(
    plan: Plan,
    recording: Recording,
    progress: Progress | None,
    thread: WritingThread | None,
    earlier: bool,
    check: AccuracyCheck | None,
    changes: UnitChanges | None,
) -> Recorder:
    """Make the recorder. `thread`: the thread that writes the file; None: the caller writes. `earlier`: the file has
    results worth keeping.
    """
    writer: Callable[[StringTable], Writer] | None = None
    if recording.output is not None and changes is not None:
        check_output(recording.output)
        writer = partial(open_writer, recording.output, changes.columns, changes=changes)
    lend = None
    if writer is not None and thread is not None:
        writer, lend = thread.around(writer), thread.lend
    decimation, rows = recording.decimation(plan), recording.rows(plan)
    keep = recording.keep or (check is not None and check.asked)
    checked = check is not None and not check.only_growth
    # Strings and bytes stay in memory together with the kept rows.
    looks = plan.settings.warnings is WarningsName.ON and not any(one.type in NUMBERED for one in plan.columns)
    if keep and (recording.output_step is not None or not plan.master.chooses_steps):
        check_memory(rows, 1 + len(plan.recorded))
    return Recorder(
        plan,
        writer,
        keep=keep or checked or looks,
        most=inf if keep else MOST_CHECKED if checked else MOST_LOOKED_AT,
        decimation=decimation,
        rows=rows,
        progress=progress,
        lend=lend,
        earlier=earlier,
    )


def _result(
    job: Job,
    execution: Execution,
    recorder: Recorder,
    recording: Recording,
    changes: UnitChanges,
    accuracy: Accuracy,
) -> Result:
    plan = job.plan
    simulated, seconds = recorder.last_time - job.start, execution.statistics.seconds
    statistics = replace(execution.statistics, real_time_factor=simulated / seconds if seconds > 0 else 0.0)
    return Result(
        name=plan.name,
        kept=changes.converted(recorder.trace) if recording.keep and recorder.trace is not None else None,
        columns=changes.columns,
        rows=recorder.recorded,
        first_time=job.start,
        last_time=recorder.last_time,
        failure=execution.failure,
        initialization=execution.initialization,
        statistics=statistics,
        choices=plan.choices,
        notes=(*plan.notes, *recorder.notes, *changes.notes, *execution.remarks),
        output=None if recorder.kept_earlier else recording.output,
        end=execution.end,
        problems=execution.problems,
        overrides=overrides(plan),
        settings=plan.settings,
        accuracy=accuracy,
        warnings=warnings_of(
            plan,
            recorder.trace,
            statistics.steps,
            execution.initialization.unheld,
            execution.damped,
            execution.inexact,
            error_is_known=accuracy.error is not None,
        ),
    )
