"""Carry out a plan: load, initialize, step, record."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from ssptool.documents.archive import Archive
from ssptool.engine.assembly import Assembly, assemble
from ssptool.engine.choices import Choice
from ssptool.engine.coupling import Evaluation, couple
from ssptool.engine.ending import Ending, Failure, RunError
from ssptool.engine.initialize import InitializationReport, initialize
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.master import Coupled
from ssptool.engine.plan import Plan
from ssptool.engine.trace import CsvWriter, Trace

Progress = Callable[[float], None]

MAX_CHUNK = 1000
"""Macro steps between two looks at the clock, the file and the progress bar; at least a hundredth of the
run.
"""


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


@dataclass(frozen=True, slots=True)
class Result:
    """A run: what was recorded, how it began, how it ended. `failure` is None where it reached its end."""

    name: str
    trace: Trace
    failure: Failure | None
    initialization: InitializationReport
    statistics: Statistics
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]
    output: Path | None

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
        """
        if self.failure is not None:
            raise RunError(self.failure)
        return self.trace


def run(
    plan: Plan,
    archive: Archive,
    *,
    output: Path | None = None,
    progress: Progress | None = None,
    native: bool | None = None,
) -> Result:
    """Carry out a plan with the FMUs of an archive.

    Parameters
    ----------
    output
        CSV file that rows are written to as they come.
    progress
        Called with the fraction 0 … 1 that is done.
    native
        True: the C++ kernel; False: its twin in Python; None: the first where it was built.

    Returns
    -------
    Result
        A failing FMU, a loop without solution or an iteration that does not converge end the trace early; see
        `failure`. The rows until then are kept.

    Raises
    ------
    UnsupportedFmu, MissingBinary, UnloadableBinary, UnreadableFmu, FmiError
        An FMU cannot be loaded or instantiated.
    OSError
        The output file cannot be written.
    """
    with ExitStack() as stack:
        assembly = stack.enter_context(assemble(plan, archive, native))
        initialized = initialize(assembly)
        recorder = _Recorder(plan, output, stack, progress or _ignore)
        if initialized.report.failure is not None:
            assembly.abandon(initialized.report.failure)
            return recorder.result(assembly, initialized.report, initialized.report.failure)
        evaluation = Evaluation(assembly, tuple(initialized.loops.values()))
        system = couple(assembly, evaluation, initialized.loops)
        failure = recorder.step(system)
        if failure is None:
            failure = assembly.terminate(plan.interval.stop)
        else:
            assembly.abandon(failure)
        return recorder.result(assembly, initialized.report, failure, evaluation)


def _ignore(_fraction: float) -> None:
    pass


class _Recorder:
    """Drives the master chunk by chunk, keeps the rows and the counts."""

    def __init__(self, plan: Plan, output: Path | None, stack: ExitStack, progress: Progress) -> None:
        self.plan = plan
        self.output = output
        self.progress = progress
        self.rows: Floats = np.empty((plan.interval.steps + 1, 1 + len(plan.recorded)))
        self.filled = 0
        self.iterations: list[int] = []
        self.rejected = 0
        self.seconds = 0.0
        names = [column.signal for column in plan.columns]
        self.writer = stack.enter_context(CsvWriter(output, names)) if output is not None else None

    def step(self, system: Coupled) -> Failure | None:
        """All macro steps, or as many as can be done."""
        steps = self.plan.interval.steps
        began = perf_counter()
        self.rows[0, 0] = system.start
        self.rows[0, 1:] = system.kernel.values[system.recorded]
        self._keep(1)
        stepper = self.plan.master.start(system)
        chunk = max(1, min(MAX_CHUNK, steps // 100))
        failure: Failure | None = None
        finished = steps == 0
        while failure is None and not finished:
            stretch = stepper.run(self.filled - 1, self._room(chunk))
            failure = stretch.failure
            self.iterations += stretch.iterations
            self.rejected += stretch.rejected
            self._keep(stretch.steps)
            finished = stretch.finished if self.plan.master.chooses_steps else self.filled > steps
        self.seconds = perf_counter() - began
        return failure

    def _room(self, chunk: int) -> Floats:
        """Rows for the next steps; how many there will be is known only if all steps are equal."""
        if self.plan.master.chooses_steps and self.filled + chunk > len(self.rows):
            self.rows = np.concatenate((self.rows, np.empty_like(self.rows), np.empty((chunk, self.rows.shape[1]))))
        return self.rows[self.filled : self.filled + chunk]

    def _keep(self, count: int) -> None:
        if self.writer is not None:
            self.writer.write(self.rows[self.filled : self.filled + count])
        self.filled += count
        interval = self.plan.interval
        elapsed = float(self.rows[self.filled - 1, 0]) - interval.start
        self.progress(min(elapsed / (interval.steps * interval.step or 1.0), 1.0))

    def result(
        self,
        assembly: Assembly,
        report: InitializationReport,
        failure: Failure | None,
        evaluation: Evaluation | None = None,
    ) -> Result:
        return Result(
            name=self.plan.name,
            trace=Trace(self.rows[: self.filled, 0], self.rows[: self.filled, 1:], self.plan.columns),
            failure=failure,
            initialization=report,
            statistics=self._statistics(assembly, report, evaluation),
            choices=self.plan.choices,
            notes=self.plan.notes,
            output=self.output,
        )

    def _statistics(
        self, assembly: Assembly, report: InitializationReport, evaluation: Evaluation | None
    ) -> Statistics:
        steps = max(self.filled - 1, 0)
        simulated = float(self.rows[steps, 0] - self.rows[0, 0]) if steps else 0.0
        return Statistics(
            kernel=assembly.kernel.name,
            steps=steps,
            iterations_mean=float(np.mean(self.iterations)) if self.iterations else 1.0,
            iterations_max=max(self.iterations, default=1),
            rejected=self.rejected,
            loops_rescued=evaluation.rescues.count if evaluation else 0,
            rescue_iterations=evaluation.rescues.iterations if evaluation else 0,
            seconds=self.seconds,
            initialization_seconds=report.seconds,
            real_time_factor=simulated / self.seconds if self.seconds > 0 else 0.0,
        )
