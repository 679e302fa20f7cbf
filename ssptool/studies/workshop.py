"""Where runs are done: systems stay open, libraries loaded and instances alive from one run to the next."""

import math
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self

import numpy as np

from ssptool.engine.ending import Failure
from ssptool.engine.execution import Job, execute
from ssptool.engine.isolation.limits import Limits
from ssptool.engine.manifest import manifest
from ssptool.engine.plan import Plan
from ssptool.engine.pool import Pool
from ssptool.engine.recorder import Recorder
from ssptool.engine.recording.files import open_writer
from ssptool.engine.recording.patterns import fits_any
from ssptool.engine.recording.recording import Recording
from ssptool.engine.recording.selection import select
from ssptool.engine.recording.thinning import thinned
from ssptool.engine.simulate import run
from ssptool.engine.trace import Floats, Trace
from ssptool.studies.definition import Study
from ssptool.studies.expressions import BadExpression, NoValue
from ssptool.studies.measures import functions_of
from ssptool.studies.outcome import Outcome, RunStatus, Samples, Task, failed
from ssptool.studies.prepared import Configuration, Prepared, configuration
from ssptool.studies.run_settings import fmu_log_of_run
from ssptool.studies.sources import Setting

OPEN = 8
"""Configurations that are kept open; of more the one that was not used for longest is closed."""


class Workshop:
    """Does runs in this process, one after the other; a context manager.

    Parameters
    ----------
    signals
        What is recorded; results and traces need nothing else.
    reuse
        Reset instances and use them again; else each run has fresh ones.
    """

    def __init__(self, study: Study, signals: tuple[str, ...], *, reuse: bool = True) -> None:
        self.study = study
        self.signals = signals
        self.reuse = reuse
        self._open: OrderedDict[Configuration, tuple[Prepared, Pool]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free and close everything."""
        while self._open:
            self._close_oldest()

    def run(self, task: Task) -> Outcome:
        """One run. Whatever goes wrong is in the outcome, unless it takes the process along."""
        began = perf_counter()
        try:
            outcome = self._run(task)
        except Exception as error:
            outcome = failed(task, f"{type(error).__name__}: {error}")
        return replace(outcome, seconds=perf_counter() - began)

    def run_apart(self, task: Task, limits: Limits) -> Outcome:
        """One run in a process of its own, which may crash or hang: the message says in which call of which FMU."""
        began = perf_counter()
        try:
            prepared, _ = self._prepared(task)
            plan = self._plan(prepared, task)
            result = run(plan, prepared.archive, isolated=True, limits=limits)
            outcome = self._outcome(task, plan, result.failure, result.trace)
        except Exception as error:
            outcome = failed(task, f"{type(error).__name__}: {error}")
        return replace(outcome, seconds=perf_counter() - began)

    def _run(self, task: Task) -> Outcome:
        prepared, pool = self._prepared(task)
        plan = self._plan(prepared, task)
        recorder = Recorder(plan, keep=True)
        execution = execute(Job(plan, prepared.archive), recorder, pool=pool)
        recorder.finish()
        assert recorder.trace is not None
        outcome = self._outcome(task, plan, execution.failure, recorder.trace)
        return replace(
            outcome,
            own_seconds=execution.counts.seconds + execution.initialization.seconds,
            witness=blake2b(recorder.trace.cells.tobytes()).hexdigest() if task.witness else "",
        )

    def _plan(self, prepared: Prepared, task: Task) -> Plan:
        plan = prepared.plan(task.point)
        plan = replace(plan, settings=fmu_log_of_run(plan.settings, task.number))
        # No pattern at all would mean every signal.
        return select(plan, self.signals) if self.signals else replace(plan, columns=(), recorded=())

    def _outcome(self, task: Task, plan: Plan, failure: Failure | None, trace: Trace) -> Outcome:
        content = self._trace(plan, failure, trace)
        if failure is not None:
            return replace(failed(task, str(failure)), trace=content)
        results, message = self.results(trace, task.point)
        samples = None if task.samples is None else _sampled(trace, task.samples)
        return Outcome(task, RunStatus.COMPLETED, results, message, trace=content, samples=samples)

    def results(self, trace: Trace, point: Mapping[str, Setting]) -> tuple[dict[str, float | None], str]:
        """Every result; and why there are some that have no value."""
        names: dict[str, Any] = dict(point)
        found: dict[str, float | None] = {}
        problems: list[str] = []
        functions = functions_of(trace, names)
        for name, expression in self.study.results.items():
            try:
                value = expression.evaluate(names, functions)
                if isinstance(value, str) or not math.isfinite(value):
                    problems.append(f"{name} is {value!r}")
                    value = None
            except (BadExpression, NoValue) as problem:
                problems.append(f"{name}: {problem}")
                value = None
            found[name] = None if value is None else float(value)
            names[name] = math.nan if value is None else value
        return found, "; ".join(problems)

    def _trace(self, plan: Plan, failure: Failure | None, trace: Trace) -> bytes | None:
        wanted = self.study.traces
        if wanted is None:
            return None
        columns = [
            number
            for number, signal in enumerate(trace.signals)
            if not wanted.signals or fits_any(wanted.signals, signal)
        ]
        plan = replace(
            plan, columns=tuple(trace.columns[k] for k in columns), recorded=tuple(plan.recorded[k] for k in columns)
        )
        thinning = Recording(every=wanted.every, output_step=wanted.output_step).thinning(plan)
        rows = np.column_stack([trace.t, trace.cells[:, columns]])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.parquet"
            writer = open_writer(path, plan.columns, trace.contents)
            for block in thinned(thinning, rows):
                writer.write(block)
            status = "completed" if failure is None else "failed"
            writer.close(manifest(plan, (), failure, status, {}, notes=plan.notes))
            return path.read_bytes()

    def _prepared(self, task: Task) -> tuple[Prepared, Pool]:
        wanted = configuration(self.study, task.point)
        if wanted not in self._open:
            if len(self._open) >= OPEN:
                self._close_oldest()
            self._open[wanted] = Prepared(self.study, wanted), Pool(reuse=self.reuse)
        self._open.move_to_end(wanted)
        return self._open[wanted]

    def _close_oldest(self) -> None:
        _, (prepared, pool) = self._open.popitem(last=False)
        pool.close()
        prepared.close()


def _sampled(trace: Trace, wanted: Samples) -> Floats:
    """Between two rows a signal is a straight line."""
    columns = [
        np.interp(wanted.times, trace.t, trace[signal].astype(np.float64, copy=False), left=np.nan, right=np.nan)
        for signal in wanted.signals
    ]
    return np.column_stack(columns)
