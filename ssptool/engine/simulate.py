"""Carry out a plan, and report the result."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from ssptool.documents.saving import save_file
from ssptool.engine.assembly.instances import EarlierRuns, Pool
from ssptool.engine.failure import Failure
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
from ssptool.engine.run.manifest import SHOWN, UNKNOWN, Provenance, differences, made, manifest, overrides
from ssptool.engine.run.recorder import Progress, Recorder, Recording, interrupts_deferred
from ssptool.engine.run.refinement import FinerRun, TookTooLong
from ssptool.engine.run.result import Result, changed_units
from ssptool.engine.run.saved import check_savable
from ssptool.engine.run.selection import select, select_first
from ssptool.engine.run.unresolved_growth import blown_up
from ssptool.engine.settings import Limits
from ssptool.engine.trace import NUMBERED, StringTable, Trace, UnitChanges
from ssptool.engine.watch import Watch
from ssptool.errors import UnusableFile
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


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a system: its job, and all that affects the rows, their file and the result.

    Attributes
    ----------
    job
        Plan and FMUs, and options of the execution.
    recording
        Recorded signals and files (default: keep all rows in memory).
    limits
        Limits of a child process for the FMUs, which may crash; None: the FMUs run in this process.
    progress
        Called with the completed fraction 0 … 1.
    provenance
        Files and arguments of the caller, for the manifest.
    check
        Check of the accuracy by finer runs; if an accuracy is requested, also the search for its step.
    kept
        Resources of earlier runs in this process; if None, the run unpacks its FMUs and loads its plan.
    """

    job: Job
    recording: Recording = field(default_factory=Recording)
    limits: Limits | None = None
    progress: Progress | None = None
    provenance: Provenance = UNKNOWN
    check: AccuracyCheck | None = None
    kept: EarlierRuns | None = None

    def result(self) -> Result:
        """Carry out the run.

        Returns
        -------
        Result
            A failing FMU, a loop without solution or an iteration that does not converge end the trace early; see
            `failure`. In a child process, so do a crash and an exceeded limit. Earlier rows are kept.

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
            The trace would not fit into the memory of this machine, or a number of the recording is out of range.
        NotSavable
            An FMU cannot save its state, although the job saves it.
        """
        if self.job.save is not None:
            check_savable(self.job.plan)
        if self.job.realtime is not None:
            Pace(self.job.realtime, 0.0)  # rejects an invalid factor
        carry_out = partial(self._of, began=perf_counter())
        return with_alternative(
            self.job.plan, carry_out, lambda result: None if result.statistics.steps else result.failure
        )

    def _of(self, plan: Plan, began: float) -> Result:
        """The result of the plan of the job or of its alternative; or of one with smaller steps, if its default step is
        too inaccurate. The time limit counts from `began` [s].
        """
        tell(NOTHING)
        recording, save = self.recording, self.job.save
        logs = plan.settings.log_loops, plan.settings.log_coupling, plan.settings.fmu_log, save
        check_written(recording.output, logs, (one.path for one in self.provenance.inputs))
        chosen = select(plan if save is None else replace(plan, open_end=True), recording.signals)
        changes = changed_units(recording.units, chosen.columns)
        finer = FinerRuns(replace(self.job, plan=chosen), recording, self.limits, began, self.kept)
        job, limits, estimate = _checked(self.check, finer)
        once = partial(self._once, changes, _manifest_there(recording.output))
        result = once(job, limits if plan is self.job.plan else finer.limits(), estimate)
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
        """The result of a job, after the file is complete; `before` is the manifest of the previous results in it."""
        execution, accuracy = None, Accuracy(remark="the check was interrupted")
        with self._recorder(job.plan, changes, before) as recorder:
            try:
                carry_out = partial(_executed, recorder=recorder, limits=limits, supply=self.kept)
                job, execution = planned_and_executed(job, carry_out)
                recorder.finish()
                failed = execution.failure is not None
                accuracy = UNCHECKED if estimate is None else estimate(job.plan, recorder.trace, failed)
                if not failed:
                    execution = execution._replace(failure=blown_up(accuracy))
            except BaseException as error:
                if execution is None and recorder.begun:
                    recorder.finish()  # for example after a keyboard interrupt: keep the recorded rows
                if execution is None and not isinstance(error, Exception):
                    error.add_note(_until(recorder, self.recording.output))
                raise
            finally:
                with interrupts_deferred():
                    if execution is not None:
                        recorder.finish()
                        result = self._result(job, execution, accuracy, recorder, changes, before)
                        recorder.close(lambda: result.described)
                    elif recorder.begun:
                        notes = (*job.plan.notes, *recorder.notes)
                        recorder.close(lambda: self._manifest(job.plan, None, "interrupted", {}, changes, notes=notes))
        return result

    @contextmanager
    def _recorder(self, plan: Plan, changes: UnitChanges, before: Mapping[str, Any]) -> Iterator[Recorder]:
        """The recorder of a plan, with its file. Rows of another process are written while that process steps; rows of
        this one by a thread.
        """
        recording, check = self.recording, self.check
        open_file: Callable[[StringTable], Writer] | None = None
        lend, thread = None, None
        if recording.output is not None:
            check_output(recording.output)
            open_file = partial(open_writer, recording.output, changes.columns, changes=changes)
            if self.limits is None:
                thread = WritingThread(blocks_at_once(1 + len(plan.recorded)))
                open_file, lend = thread.around(open_file), thread.lend
        decimation = recording.decimation(plan)
        keep = recording.keep or (check is not None and check.asked)
        checked = check is not None and not check.only_growth
        # Strings and bytes stay in memory together with the kept rows.
        looks = plan.settings.warnings is WarningsName.ON and not any(one.type in NUMBERED for one in plan.columns)
        if keep:
            _check_memory(plan, recording)
        recorder = Recorder(
            plan,
            open_file,
            keep=keep or checked or looks,
            most=inf if keep else MOST_CHECKED if checked else MOST_LOOKED_AT,
            decimation=decimation,
            rows=recording.rows(plan),
            progress=self.progress,
            lend=lend,
            earlier=_worth_keeping(recording.output, before),
        )
        with thread or nullcontext(), recorder:
            yield recorder

    def _result(
        self,
        job: Job,
        execution: Execution,
        accuracy: Accuracy,
        recorder: Recorder,
        changes: UnitChanges,
        before: Mapping[str, Any],
    ) -> Result:
        plan, recording = job.plan, self.recording
        simulated, seconds = recorder.last_time - job.start, execution.statistics.seconds
        statistics = replace(execution.statistics, real_time_factor=simulated / seconds if seconds > 0 else 0.0)
        result = Result(
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
            notes=(
                *(*plan.notes, *recorder.notes, *changes.notes, *execution.remarks),
                *self._replaced(plan, recorder, before),
                *_other(plan, execution),
            ),
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
        told = {name: getattr(result, name) for name in ("notes", "problems", "accuracy", "warnings")}
        loops = result.initialization.loops
        described = self._manifest(plan, result.failure, result.status, statistics, changes, loops=loops, **told)
        return replace(result, described=described)

    def _manifest(
        self,
        plan: Plan,
        failure: Failure | None,
        status: str,
        statistics: object,
        changes: UnitChanges,
        **facts: Any,
    ) -> str:
        """The manifest of the run, readable for people in a file."""
        facts |= {"provenance": self.provenance, "columns": changes.columns}
        indent = None if self.recording.output is None else 1
        return manifest(plan, failure, status, statistics, indent=indent, **facts)

    def _replaced(self, plan: Plan, recorder: Recorder, before: Mapping[str, Any]) -> Iterator[str]:
        """Note on the previous results of the file: kept, or replaced although they are from other settings."""
        output = self.recording.output
        if recorder.kept_earlier:
            yield f"{output} keeps the results of an earlier run, as this one ended before its first row"
            return
        if not before:
            return
        name, file = before.get("system", plan.name), (before.get("arguments") or {}).get("system")
        # An exported FMU has the name of its system, so the path counts as well, if both are known.
        if file not in (None, self.provenance.system) and self.provenance.system is not None:
            yield f"overwrote {output}: results of another system, {name} ({file})"
        elif name != plan.name:
            yield f"overwrote {output}: results of another system, {name}"
        else:
            there, here = differences([before, made(plan)])
            if there:
                values = ", ".join(f"{one} = {value} (now {here[one]})" for one, value in list(there.items())[:SHOWN])
                yield f"overwrote {output}: results of a run with {values}"


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
        _check_memory(plan, self.recording)
        recorder = Recorder(plan, keep=True, rows=self.recording.rows(plan), progress=in_time)
        limits = self.limits(most, apart=plan.is_one_ode and not self.job.plan.is_one_ode)
        with unheard():
            carry_out = partial(_executed, recorder=recorder, limits=limits, supply=self._supply)
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
    plan, accuracy = finer.job.plan, Accuracy(remark=PACED, wanted=check.wanted)
    if finer.job.realtime is None:
        plan, accuracy = check.search(plan, finer, lambda: finer.left)
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


def _kept(accuracy: Accuracy, _: Plan, __: Trace | None, failed: bool) -> Accuracy:
    """Accuracy from the search; unknown if the run failed nevertheless."""
    return replace(accuracy, error=None, errors={}) if failed else accuracy


def _manifest_there(output: Path | None) -> Mapping[str, Any]:
    """Manifest of the results in a file; empty if there are none, or they cannot be read."""
    if output is None or not absolute(output).exists():
        return {}
    try:
        return read_manifest(absolute(output))
    except (OSError, ValueError, UnusableFile):
        return {}


def _worth_keeping(output: Path | None, manifest: Mapping[str, Any]) -> bool:
    """True if a file with this manifest has results that a run without a row must not replace."""
    without_rows = bool(manifest.get("failure")) and not manifest.get("statistics", {}).get("steps")
    return output is not None and absolute(output).exists() and not without_rows


def _other(plan: Plan, execution: Execution) -> Iterator[str]:
    """Note on the alternative, if a system failed with model exchange as the default."""
    failure = execution.failure
    if plan.instead is None or failure is None or failure.ending in ENDED_OTHERWISE:
        return
    if execution.statistics.steps:
        yield "model exchange is the default for this system; --implementation cs runs it as co-simulation"


def _until(recorder: Recorder, output: Path | None) -> str:
    """Time that an interrupted run reached."""
    if not recorder.seen:
        return "the run had not begun"
    kept = f"; {recorder.recorded} rows until then are in {output}" if output is not None else ""
    return f"the run had reached t = {recorder.last_time:g} s{kept}"


def _executed(job: Job, recorder: Recorder, limits: Limits | None, supply: Supply) -> Execution:
    """Execution of a job; without limits it runs in this process. The state at the end is in its file."""
    try:
        execution = _here(job, recorder, supply) if limits is None else execute_isolated(job, recorder, limits)
    except FmiError as error:
        if not job.repeats:
            raise
        raise error_with_words(job, error, limits or Limits()) from None
    if job.repeats:
        execution = with_words(job, execution, limits or Limits())
    if job.save is None or execution.found is not None:
        return execution
    if execution.state is None:
        return execution._replace(remarks=(*execution.remarks, f"{job.save} was not written: the run ended early"))
    save_file(absolute(job.save), execution.state)
    return execution._replace(remarks=(*execution.remarks, f"the state at the end is in {job.save}"))


def _here(job: Job, recorder: Recorder, supply: Supply) -> Execution:
    names = [instance.name for instance in job.plan.instances]
    recorder.begin()
    watch = Watch.private(names, measured=True) if job.measured else None
    own = nullcontext(supply) if isinstance(supply, Pool) else Pool(reuse=False, earlier=supply)
    with KeptWorkingDirectory(), own as pool:
        return execute(job, recorder, watch, pool)


def _check_memory(plan: Plan, recording: Recording) -> None:
    """Raise WrongValue if a trace whose length is known would not fit into the memory of this machine."""
    rows = recording.rows(plan)
    if recording.output_step is not None or not plan.master.chooses_steps:
        check_memory(rows, 1 + len(plan.recorded))
