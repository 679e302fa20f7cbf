"""Execution of a plan in this process: load, initialize, step; in real time on request."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly.assembly import Assembly, assemble
from ssptool.engine.assembly.fmu_log import LoggedProblems, logged_problems
from ssptool.engine.assembly.instances import Pool, Sources
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel.calls import Floats, Stretches
from ssptool.engine.kernel.solutions import StepBatch
from ssptool.engine.masters.master import CLOSE
from ssptool.engine.masters.protocols import NONE_INEXACT, Inexact
from ssptool.engine.planning.plan import FoundAtStart, Plan
from ssptool.engine.run.initialization import InitializationReport
from ssptool.engine.run.last_row import last_row
from ssptool.engine.run.make_plan import completed
from ssptool.engine.run.saved import SavedSimulation
from ssptool.engine.run.steps import steps_of
from ssptool.engine.run.system import LoadedSystem, SystemSteps, system_for
from ssptool.engine.trace import NO_ENTRIES, NUMBERED, NewEntries
from ssptool.engine.watch import CallCount, Cost, SlowestStep, Watch, costs
from ssptool.errors import WrongValue
from ssptool.fmu.binary import UNUSABLE
from ssptool.fmu.surroundings import Surroundings
from ssptool.working_directory import KeptWorkingDirectory

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel


Found = TypeVar("Found")

PACED_CHUNK_SECONDS = 0.01
"""Wall time between two checks of the clock [s], if macro steps are shorter."""


class Pace:
    """Speed limit: at most `factor` seconds of simulated time per second of wall time.

    Parameters
    ----------
    factor
        1: as fast as the clock; 2: twice as fast.
    start : [s]
        Simulated time at the start, which is the first call of `keep`.

    Attributes
    ----------
    latest : [s]
        Largest delay of a point behind the clock; 0 if the components were always fast enough.
    waited : [s]
        Total wall time of waiting.
    """

    def __init__(self, factor: float, start: float) -> None:
        if not 0 < factor < float("inf"):
            raise WrongValue(f"the factor of real time must be greater than 0, found {factor:g}")
        self.latest = 0.0
        self.waited = 0.0
        self._factor = factor
        self._start = start
        self._began = perf_counter()

    def chunk(self, step: float) -> int:
        """Number of macro steps [s] between two checks of the clock."""
        return max(1, int(PACED_CHUNK_SECONDS * self._factor / step))

    def keep(self, time: float) -> None:
        """Wait until simulated `time` [s] is due."""
        now = perf_counter()
        ahead = self._began + (time - self._start) / self._factor - now
        if ahead > 0:
            sleep(ahead)
            self.waited += perf_counter() - now
        else:
            self.latest = max(self.latest, -ahead)


FIRST_CHUNK = 64
"""Macro steps before the first check of the clock, unless an earlier run has shown how long they take."""

CHUNK_SECONDS = 0.02
"""Wall time of a chunk of macro steps [s]: short enough for files and progress, long enough to cost no time."""

CHUNK_GROWTH = 8

FORGET_BYTES = 1 << 20
"""Bytes of new contents after which unused contents are forgotten."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run to execute: a plan, its FMUs, and options.

    Attributes
    ----------
    measured
        True if calls of FMUs are counted and timed.
    realtime
        Simulated seconds per second of wall time; None: as fast as possible.
    met
        Times [s] at which macro steps end in addition, in ascending order.
    saved
        Saved simulation to continue from; None: initialize.
    save
        File for the state at the end, from which another run can continue; None: the state is not saved.
    repeats
        Repeat the run once in a child process, with all messages on, if an FMU fails without a message.
    """

    plan: Plan
    sources: Sources
    measured: bool = False
    realtime: float | None = None
    met: tuple[float, ...] = ()
    saved: SavedSimulation | None = None
    save: Path | None = None
    repeats: bool = False

    @property
    def start(self) -> float:
        """Time of the first row [s]."""
        return self.plan.interval.start if self.saved is None else self.saved.time


class Rows(Protocol):
    """Receiver of the rows of an execution."""

    def initialized(self, report: InitializationReport) -> None:
        """Receive the report on initialization, successful or not."""
        ...

    def space(self, count: int) -> Floats:
        """An array (k, 1 + recorded) for the next rows, 1 ≤ k ≤ `count`."""
        ...

    def commit(self, count: int, entries: NewEntries = NO_ENTRIES) -> None:
        """Commit the first `count` rows of the last `space`, with the new contents that they refer to."""
        ...


@dataclass(frozen=True, slots=True)
class Statistics:
    """Effort of a run.

    Attributes
    ----------
    steps
        Macro steps that were completed.
    iterations_mean, iterations_max
        Iterations per macro step of an iterated master; 1 for others.
    rejected
        Macro steps that were repeated because their error was too large.
    events, evaluations
        Number of state and time events (model exchange, and components in event mode; ticks of clocks count as events),
        and number of joint evaluations of the derivatives of all components (model exchange).
    loops_solved, loop_iterations
        Solves of single algebraic loops after the start, at communication points and within steps, and their
        iterations; without those of the full solver.
    loops_rescued, rescue_iterations
        Solves of an algebraic loop with the full solver during the run, and their iterations.
    seconds, initialization_seconds : [s]
        Wall time of stepping, and of initialization.
    real_time_factor
        Simulated time per wall time of stepping.
    latest : [s]
        Largest delay behind the clock of a real-time run.
    unconverged, residual, residual_signal
        Macro steps of a fixed number of iterations that had not converged, the largest change in the last iteration of
        one, relative to the size of the signal, and that signal.
    inexact, inexact_error
        Adaptive steps that could not be repeated although their estimated error is more than ten times the allowed one,
        and the estimated error of all such steps together, relative to the requested one.
    calls
        Number and duration of the calls of each function of each FMU, if measured.
    costs
        Share of each FMU and of the engine in the wall time of stepping [%], if measured.
    slowest
        The slowest step of a component, if measured: component, simulated time and duration.
    """

    steps: int = 0
    iterations_mean: float = 1.0
    iterations_max: int = 1
    rejected: int = 0
    events: int = 0
    evaluations: int = 0
    loops_solved: int = 0
    loop_iterations: int = 0
    loops_rescued: int = 0
    rescue_iterations: int = 0
    seconds: float = 0.0
    initialization_seconds: float = 0.0
    real_time_factor: float = 0.0
    latest: float = 0.0
    unconverged: int = 0
    residual: float = 0.0
    residual_signal: str = ""
    inexact: int = 0
    inexact_error: float = 0.0
    calls: tuple[CallCount, ...] = ()
    costs: tuple[Cost, ...] = ()
    slowest: SlowestStep | None = None


class Execution(NamedTuple):
    """Outcome of an execution, with `remarks` on the run, and `problems` that FMUs logged.

    The real time factor of the `statistics` is not known yet. `inexact` are adaptive steps that could not be repeated.
    `end` is `TERMINATED` if a component ended the simulation before the stop time, which is not a failure. `damped`:
    for each iterated group, the intervals in whose steps inputs were held at their value at the end. If facts were
    `found` at the start, no step was done: the run must be planned again with them. `state` is the content of a saved
    simulation at the end, if the job asks for it and the run has reached its stop time.
    """

    initialization: InitializationReport
    failure: Failure | None
    statistics: Statistics = Statistics()
    remarks: tuple[str, ...] = ()
    problems: tuple[LoggedProblems, ...] = ()
    inexact: Inexact = NONE_INEXACT
    end: Ending = Ending.COMPLETED
    found: FoundAtStart | None = None
    damped: tuple[Stretches, ...] = ()
    state: bytes | None = None


def execute(job: Job, rows: Rows, watch: Watch | None = None, pool: Pool | None = None) -> Execution:
    """Load, initialize and step; `rows` receives the rows. FMUs come from the `pool`, if given, and stay in it.

    Raises
    ------
    UnusableFmu, FmiError
        An FMU cannot be loaded or instantiated. Later failures are part of the result.
    """
    loaded = system_for(job.plan, pool)
    with (
        KeptWorkingDirectory(),
        assemble(loaded.native, loaded.adopted, job.plan, job.sources, watch, pool, Surroundings()) as assembly,
    ):
        report, found = loaded.initialize(assembly) if job.saved is None else (_AS_SAVED, None)
        if report.ok and found is not None:
            assembly.terminate(job.plan.interval.start)
            return Execution(report, None, found=found)
        rows.initialized(report)
        if report.failure is not None:
            assembly.abandon(report.failure)
            done = Statistics(initialization_seconds=report.seconds, calls=_calls(watch))
            return Execution(report, report.failure, done, *_said(assembly))
        steps = steps_of(loaded, assembly) if job.saved is None else job.saved.resumed(loaded, assembly)
        assembly = steps.assembly
        before = _scheduled_loops(assembly)
        spent = watch.seconds() if watch and watch.measured else {}
        contents = _Contents(steps.kernel, job.plan)
        pace = None if job.realtime is None else Pace(job.realtime, job.start)
        failure, last, done = _step(job, loaded, steps, rows, contents, pace)
        if failure is not None:
            row, remark = last_row(steps, failure, last)
            if row is not None:
                rows.space(1)[0] = row
                rows.commit(1, contents.new_entries())
            if remark:
                assembly.remark(remark)
        if watch and watch.measured:
            since = {name: seconds - spent[name] for name, seconds in watch.seconds().items()}
            shares = costs(since, done.seconds, 0.0 if pace is None else pace.waited)
            done = replace(done, costs=shares, slowest=watch.slowest_step())
        done = _with_loops(done, before, steps, report)
        for remark in (*assembly.retreats(), *steps.remarks()):
            assembly.remark(remark)
        damped, inexact = steps.damped_phases, steps.inexact
        state = _saved(job, steps, done.steps, last) if job.save is not None and failure is None else None
        terminated = failure is not None and failure.ending is Ending.TERMINATED
        failure = _end(assembly, failure)
        said = _said(assembly)
    end = Ending.TERMINATED if terminated else Ending.COMPLETED
    done = done if watch is None else replace(done, calls=_calls(watch))
    return Execution(report, failure, done, *said, inexact, end, damped=damped, state=state)


_AS_SAVED = InitializationReport((), None, 0.0)
"""Initialization of a run that continues from a saved simulation."""


def _with_loops(
    done: Statistics, before: tuple[int, int], steps: SystemSteps, report: InitializationReport
) -> Statistics:
    """Add solves of loops in schedules and by the full solver, each with their iterations, and steps that are not as
    exact as requested; and the time of initialization.
    """
    after, rescued = _scheduled_loops(steps.assembly), steps.rescues()
    open_steps, inexact = steps.unconverged, steps.inexact
    return replace(
        done,
        initialization_seconds=report.seconds,
        loops_solved=after[0] - before[0],
        loop_iterations=after[1] - before[1],
        loops_rescued=rescued[0],
        rescue_iterations=rescued[1],
        unconverged=open_steps.steps,
        residual=open_steps.residual,
        residual_signal=open_steps.signal,
        inexact=inexact.steps,
        inexact_error=inexact.error,
    )


def _saved(job: Job, steps: SystemSteps, count: int, last: Floats) -> bytes:
    """Content of a saved simulation at the end of a run, after `count` steps. Raises NotSavable."""
    rows = count + (0 if job.saved is None else job.saved.steps)
    t = float(last[0])
    whole = np.concatenate([[t], steps.kernel.values])
    return SavedSimulation.now(steps, job.plan, rows, t, whole).content(job.plan)


ENDED_OTHERWISE = (Ending.TERMINATED, Ending.TIMEOUT, Ending.MEMORY, Ending.INPUTS)
"""Endings that co-simulation would not avoid."""


def with_alternative(
    plan: Plan, carry_out: Callable[[Plan], Found], at_start: Callable[[Found], Failure | None]
) -> Found:
    """Carry out a plan; if model exchange is only its default, and an FMU is unusable or there is a failure `at_start`,
    carry out the alternative by co-simulation.
    """
    if plan.instead is None:
        return carry_out(plan)
    try:
        found = carry_out(plan)
        failure = at_start(found)
        if failure is None or failure.ending in ENDED_OTHERWISE:
            return found
        reason = failure.message
    except UNUSABLE as error:
        reason = str(error)
    return carry_out(plan.instead(f"model exchange failed before its first step: {reason}"))


def planned_and_executed(job: Job, carry_out: Callable[[Job], Execution]) -> tuple[Job, Execution]:
    """Execute a job; plan and execute it again as long as its start finds facts that the plan lacks."""
    execution = carry_out(job)
    while execution.found is not None:
        job = replace(job, plan=completed(job.plan, execution.found))
        execution = carry_out(job)
    return job, execution


def _scheduled_loops(assembly: Assembly) -> tuple[int, int]:
    """Number of loop solves in schedules so far, without rescued loops, and of their iterations."""
    kernels = [kernel for kernel in (assembly.kernel, assembly.ode_kernel) if kernel is not None]
    return (sum(one.loops_solved for one in kernels), sum(one.loop_iterations for one in kernels))


def _calls(watch: Watch | None) -> tuple[CallCount, ...]:
    return watch.calls() if watch and watch.measured else ()


def _said(assembly: Assembly) -> tuple[tuple[str, ...], tuple[LoggedProblems, ...]]:
    """Remarks, and problems that FMUs logged."""
    if lost := assembly.logging.lost():
        assembly.remark(lost)
    return tuple(assembly.remarks), logged_problems(assembly.instances)


def _end(assembly: Assembly, failure: Failure | None) -> Failure | None:
    if failure is None:
        return assembly.terminate(assembly.plan.interval.stop)
    if failure.ending is Ending.TERMINATED:
        assembly.remark(failure.message)
        return assembly.terminate(failure.time)
    assembly.abandon(failure)
    return failure


def _step(
    job: Job, loaded: LoadedSystem, system: SystemSteps, rows: Rows, contents: "_Contents", pace: Pace | None
) -> tuple[Failure | None, Floats, Statistics]:
    """Do all macro steps, or as many as possible. Returns the last row (1 + recorded,) and the numbers of steps."""
    plan, failure = job.plan, None
    done = rejected = events = evaluations = iterated = iterations = 0
    most = 1
    began = perf_counter()
    last = _first_row(system, rows, contents, job)
    chunk = loaded.chunk or FIRST_CHUNK if pace is None else pace.chunk(plan.interval.step)
    steps, reached = plan.interval.steps, float(last[0])
    free = plan.master.chooses_steps or bool(job.met) or job.saved is not None
    finished = steps == 0 if job.saved is None else system.run(np.empty((0, len(last)))).finished
    while failure is None and not finished:
        chunk_began = perf_counter()
        space = rows.space(chunk if free else min(chunk, steps - done))
        if job.met:
            system.limit = _next_met(job, reached)
        batch = _observed(system.run(space), space, system)
        system.assembly.restore_surroundings()
        failure = batch.failure
        done, rejected = done + batch.steps, rejected + batch.rejected
        events, evaluations = events + batch.events, evaluations + batch.evaluations
        iterated, iterations = iterated + len(batch.iterations), iterations + int(batch.iterations.sum())
        most = int(batch.iterations.max(initial=most))
        finished = batch.finished if free else done >= steps
        if batch.steps:
            last = space[batch.steps - 1].copy()
            reached = float(last[0])
        rows.commit(batch.steps, contents.new_entries(_between(batch)))
        if pace is None:
            loaded.chunk = chunk = _next_chunk(len(space), perf_counter() - chunk_began)
        else:
            pace.keep(reached)
    statistics = Statistics(
        steps=done,
        iterations_mean=iterations / iterated if iterated else 1.0,
        iterations_max=most,
        rejected=rejected,
        events=events,
        evaluations=evaluations,
        seconds=perf_counter() - began,
        latest=0.0 if pace is None else pace.latest,
    )
    return failure, last, statistics


def _next_met(job: Job, t: float) -> float:
    """The first additional time after t [s] at which a step must end."""
    after = bisect_right(job.met, t + CLOSE * job.plan.interval.step)
    return job.met[after] if after < len(job.met) else job.plan.interval.stop


def _observed(batch: StepBatch, rows: Floats, system: SystemSteps) -> StepBatch:
    """The part of the batch before the first row for which a variable could not be read."""
    if not system.unobserved:
        return batch
    failure = system.unobserved[0]
    steps = int(np.searchsorted(rows[: batch.steps, 0], failure.time))
    return batch.up_to(steps, failure)


def _between(batch: StepBatch) -> tuple[int, ...]:
    """Rows that are sides of events between communication points."""
    return () if batch.points is None else tuple(np.flatnonzero(~batch.points[: batch.steps]).tolist())


class _Contents:
    """String table of a kernel; from time to time, strings and bytes that no slot refers to are discarded."""

    def __init__(self, kernel: "NativeKernel", plan: Plan) -> None:
        self._kernel = kernel
        self._recorded = any(column.type in NUMBERED for column in plan.columns)
        self._slots = np.array(plan.numbered, dtype=np.intp)
        self._needed: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._told = 1  # the empty content
        for number in range(kernel.contents):
            kernel.number(kernel.content(number), keep=True)
        self._limit = kernel.content_bytes + FORGET_BYTES

    def new_entries(self, between: tuple[int, ...] = ()) -> NewEntries:
        """New entries since the last call; empty if no such columns are recorded. Rows `between` are those of
        events.
        """
        new = self._new() if self._recorded else ()
        forgotten = self._forget() if self._kernel.content_bytes > self._limit else ()
        return NewEntries(new, forgotten if self._recorded else (), between)

    def _new(self) -> tuple[bytes, ...]:
        told, self._told = self._told, self._kernel.contents
        return tuple(self._kernel.content(number) for number in range(told, self._told))

    def _forget(self) -> tuple[int, ...]:
        """Forget all contents except those that slots refer to, or did at the last call."""
        before, self._needed = self._needed, np.unique(self._kernel.integers[self._slots])
        forgotten = self._kernel.forget(np.union1d(before, self._needed).tolist())
        self._limit = self._kernel.content_bytes + FORGET_BYTES
        return tuple(forgotten)


def _first_row(system: SystemSteps, rows: Rows, contents: _Contents, job: Job) -> Floats:
    first = rows.space(1)
    if job.saved is None:
        system.record(system.start, first[0])
    else:
        first[0] = job.saved.last[[0, *(1 + slot for slot in job.plan.recorded)]]
    row: Floats = first[0].copy()
    rows.commit(1, contents.new_entries())
    return row


def _next_chunk(steps: int, seconds: float) -> int:
    """Number of macro steps that take `CHUNK_SECONDS` at the present speed; it grows gradually."""
    fitting = CHUNK_SECONDS * steps / max(seconds, 1e-9)
    return max(1, min(CHUNK_GROWTH * steps, int(fitting)))
