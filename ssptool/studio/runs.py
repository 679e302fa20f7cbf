"""Runs of the present documents, saved or not, in a child process: progress, traces while they grow, failures."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ssptool.api.check import InvalidSystem
from ssptool.api.compare import compare
from ssptool.documents.vocabulary import rounded_text
from ssptool.drawing.plot import page_figure
from ssptool.drawing.plot_model import panels, thinned
from ssptool.engine.failure import Failure
from ssptool.engine.planning.plan import Plan, call_sequence
from ssptool.engine.recording.follow import follow
from ssptool.engine.recording.formats import read_trace
from ssptool.engine.run.make_plan import planned
from ssptool.engine.run.plots import curves_of
from ssptool.engine.run.recorder import Recording
from ssptool.engine.run.result import Result, Statistics
from ssptool.engine.settings import Limits, Settings
from ssptool.engine.simulate import run
from ssptool.engine.trace import Trace
from ssptool.errors import WrongUsage, counted, is_own
from ssptool.results.comparison import comparison_rows
from ssptool.rules.runner import check
from ssptool.rules.selection import judge
from ssptool.studio.iterations import COUPLING, LOOPS, LoggedIterations
from ssptool.studio.session import EditSession, SystemCopy
from ssptool.studio.stimuli import ChosenStimuli
from ssptool.tempfiles import TemporaryFolder

TOLD_SECONDS = 0.2
"""Between two messages on the progress of a run [s]."""
MOST_SIGNALS = 12
"""Signals that a plot shows if nobody chooses."""
RUNNING, CANCELLED, FAILED = "running", "cancelled", "failed"
Tell = Callable[[dict[str, Any]], None]


class OneRunOnly(WrongUsage):
    """Another run goes on."""

    def __init__(self) -> None:
        super().__init__("a run goes on; cancel it first, or wait for its end")


class NoSuchRun(WrongUsage):
    """No run has this number, or it has no results yet."""


class RunCancelled(WrongUsage):
    """The user has ended the run."""

    def __init__(self) -> None:
        super().__init__("cancelled")


@dataclass
class StudioRun:
    """One run: how far it has come, and its rows so far; or a result file."""

    number: int
    settings: Mapping[str, Any]
    file: str = ""
    status: str = RUNNING
    fraction: float = 0.0
    trace: Trace | None = None
    facts: tuple[str, ...] = ()
    failure: Failure | None = None
    message: str = ""
    logs: Mapping[str, Path] = field(default_factory=dict)
    iterations: LoggedIterations | None = None
    cancelled: Event = field(default_factory=Event)

    @property
    def name(self) -> str:
        return self.file or f"run {self.number}"

    def content(self) -> dict[str, Any]:
        trace, failure = self.trace, self.failure
        return {
            "number": self.number,
            "name": self.name,
            "settings": dict(self.settings),
            "status": self.status,
            "fraction": self.fraction,
            "rows": 0 if trace is None else len(trace),
            "times": None if trace is None or not len(trace) else [float(trace.t[0]), float(trace.t[-1])],
            "facts": list(self.facts),
            "message": self.message,
            "iterations": self.iterations is not None,
            "failure": None
            if failure is None
            else {"component": failure.component, "message": failure.message, "advice": failure.advice},
        }

    def go_on(self) -> None:
        """Raises RunCancelled."""
        if self.cancelled.is_set():
            raise RunCancelled


class StudioRuns:
    """The runs of one session; one goes on at a time. `tell` sends their progress to the pages."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._runs: list[StudioRun] = []
        self._folder = TemporaryFolder()
        self._thread: Thread | None = None

    def close(self) -> None:
        """End the run that goes on."""
        for one in self._runs:
            one.cancelled.set()
        if self._thread is not None:
            self._thread.join()
        self._folder.cleanup()

    def all(self) -> list[dict[str, Any]]:
        return [one.content() for one in self._runs]

    def start(
        self, session: EditSession, settings: Mapping[str, Any], stimuli: ChosenStimuli, *, iterations: bool
    ) -> dict[str, Any]:
        """Begin a run of the documents as they are now; `iterations` are kept if they are wanted.

        Raises OneRunOnly, InvalidSystem, and what a plan raises.
        """
        if any(one.status == RUNNING for one in self._runs):
            raise OneRunOnly
        number, copy = len(self._runs) + 1, session.copy()
        logs = {one: Path(self._folder.name, f"{one}{number}.jsonl") for one in (LOOPS, COUPLING)} if iterations else {}
        try:
            plan = plan_of(copy, {**settings, **{f"log_{name}": file for name, file in logs.items()}}, stimuli)
        except BaseException:
            copy.close()
            raise
        begun = StudioRun(number, settings, logs=logs)
        self._runs.append(begun)
        self._thread = Thread(target=self._carry_out, args=(begun, plan, copy), daemon=True)
        self._thread.start()
        return begun.content()

    def open(self, name: str, file: Path) -> dict[str, Any]:
        """A result file beside the runs, to be compared with them. Raises UnreadableTrace, MissingExtra."""
        found = next((one for one in self._runs if one.file == name), None)
        if found is None:
            found = StudioRun(len(self._runs) + 1, {}, name, "opened", 1.0, read_trace(file))
            found.cancelled.set()
            self._runs.append(found)
        return found.content()

    def iterations(self, number: int) -> dict[str, Any] | None:
        """Iterations and residuals of a run over time, as a figure of plotly."""
        found = self._run(number).iterations
        return None if found is None else found.figure()

    def iterates(self, number: int, time: float) -> list[dict[str, Any]]:
        """The iterates of what was solved last before a time [s]."""
        found = self._run(number).iterations
        return [] if found is None else found.table(time)

    def cancel(self) -> None:
        for one in self._runs:
            one.cancelled.set()

    def plot(self, numbers: Sequence[int], signals: Sequence[str]) -> Any:
        """Signals of runs as a figure of plotly, one panel per unit."""
        chosen = [one for one in map(self._run, numbers) if one.trace is not None and len(one.trace)]
        traces = {one.name if len(chosen) > 1 else "": one.trace for one in chosen if one.trace is not None}
        if not traces:
            return None
        shown = list(signals) or _first_signals(traces)
        curves = [thinned(curve) for curve in curves_of(traces, shown)]
        return json.loads(page_figure(panels(curves)).to_json()) if curves else None

    def signals(self, number: int) -> list[str]:
        trace = self._run(number).trace
        return [] if trace is None else list(trace.signals)

    def values(self, number: int, at: float) -> dict[str, str]:
        """The values of all signals at a time [s], with their units."""
        trace = self._run(number).trace
        if trace is None or not len(trace):
            return {}
        inside = min(max(at, float(trace.t[0])), float(trace.t[-1]))
        units = {column.signal: column.unit for column in trace.columns}
        return {name: _told(value, units[name]) for name, value in trace.at(inside).items()}

    def differences(self, number: int, reference: int) -> list[Sequence[str]]:
        """How far the signals of a run deviate from those of another: headings, then the worst agreement first."""
        found, expected = (self._run(one).trace for one in (number, reference))
        if found is None or expected is None:
            raise NoSuchRun("both runs need results to be compared")
        return list(comparison_rows(compare(found, expected)))

    def _run(self, number: int) -> StudioRun:
        if not 0 < number <= len(self._runs):
            raise NoSuchRun(f"there is no run {number}")
        return self._runs[number - 1]

    # -- in a thread -----------------------------------------------------------------------------------------------

    def _carry_out(self, one: StudioRun, plan: Plan, copy: SystemCopy) -> None:
        file = Path(self._folder.name, f"run{one.number}.csv")
        following = Thread(target=self._follow, args=(one, file), daemon=True)
        following.start()
        try:
            with copy:
                recording, limits = Recording(file), Limits(go_on=one.go_on)
                done = run(
                    plan, copy.archive, recording=recording, isolated=True, limits=limits, progress=_progress(one)
                )
            self._ended(one, done)
        except RunCancelled:
            one.status = CANCELLED
        except Exception as problem:
            one.message = str(problem) if is_own(problem) else f"{type(problem).__name__}: {problem}"
            one.status = FAILED
        one.cancelled.set()
        following.join()
        self._tell({"event": "run", **one.content()})

    def _ended(self, one: StudioRun, result: Result) -> None:
        one.trace, one.failure = result.trace, result.failure
        one.fraction = 1.0 if result.ok else one.fraction
        one.facts = tuple(facts_of(result))
        one.iterations = LoggedIterations(one.logs) if one.logs else None
        one.status = str(result.status.value)

    def _follow(self, one: StudioRun, file: Path) -> None:
        """Take the rows as they come, and tell of them."""
        with suppress(Exception):  # the run itself tells what is wrong
            for state in follow(file, interval=TOLD_SECONDS):
                if one.cancelled.is_set() or state.ended:
                    if one.status == RUNNING:
                        one.trace = state.trace
                    return
                one.trace = state.trace
                self._tell({"event": "run", **one.content()})


def plan_of(copy: SystemCopy, settings: Mapping[str, Any], stimuli: ChosenStimuli) -> Plan:
    """The plan of a run. Raises InvalidSystem, WrongArgument, BadInputs, BadScenario."""
    given = {name: value for name, value in settings.items() if value not in ("", None)}
    report = check(copy.archive, copy.structure.name)
    refused, accepted = judge(report, (), copy.switches)
    if refused:
        raise InvalidSystem(report, refused)
    with stimuli.inputs() as inputs:
        return planned(
            copy.archive,
            copy.structure,
            parameters=(),
            start_values={},
            settings=Settings.of(None, given),
            inputs=inputs,
            scenario=stimuli.scenario(),
            accepted=accepted,
        )


def plan_content(plan: Plan) -> dict[str, Any]:
    """Choices with their reasons, and the calls."""
    return {
        "choices": [
            {"setting": one.setting.replace("_", " "), "value": one.value, "reason": " ".join([one.reason, one.place])}
            for one in plan.choices
        ],
        "calls": list(call_sequence(plan)),
        "notes": list(plan.notes),
    }


def facts_of(result: Result) -> list[str]:
    """Algebraic loops at the start, and the length of the run."""
    loops = [
        f"{loop.stage}: algebraic loop of {counted(len(loop.signals), 'signal')}, {loop.solution.status.value} by "
        f"{loop.solution.solver}, iterations {loop.solution.iterations}, {loop.relative_residual}"
        for loop in result.initialization.loops
    ]
    chosen = ", ".join(f"{one.setting.replace('_', ' ')} {one.value}" for one in result.choices if one.setting in SHOWN)
    return [chosen, *loops, *effort_of(result.statistics)]


def effort_of(statistics: Statistics) -> Iterator[str]:
    """Steps, and the iterations that they took."""
    yield f"{counted(statistics.steps, 'step')} in {statistics.seconds:.3g} s"
    if statistics.iterations_max > 1:
        mean, most = statistics.iterations_mean, statistics.iterations_max
        yield f"iterations of a macro step: {mean:.3g} on average, {most} at most"
    if statistics.loops_solved:
        yield f"loop solves: {statistics.loops_solved}, with {counted(statistics.loop_iterations, 'iteration')}"
    if statistics.loops_rescued:
        rescues = counted(statistics.rescue_iterations, "iteration")
        yield f"loop solves with the full solver: {statistics.loops_rescued}, with {rescues}"
    if statistics.rejected:
        yield f"{counted(statistics.rejected, 'macro step')} taken back because the error was too large"
    if statistics.unconverged:
        yield (
            f"{counted(statistics.unconverged, 'macro step')} not converged, relative residual "
            f"{statistics.residual:.3g} of {statistics.residual_signal}"
        )


SHOWN = ("master", "step_size")


def _first_signals(traces: Mapping[str, Trace]) -> list[str]:
    """The first continuous signals, or else the first of all."""
    columns = next(iter(traces.values())).columns
    real = [column.signal for column in columns if column.real]
    return (real or [column.signal for column in columns])[:MOST_SIGNALS]


def _progress(one: StudioRun) -> Callable[[float], None]:
    def told(fraction: float) -> None:
        one.fraction = fraction
        one.go_on()

    return told


def _told(value: Any, unit: str | None) -> str:
    text = rounded_text(value, 4) if isinstance(value, float) or hasattr(value, "dtype") else str(value)
    return f"{text} {unit}" if unit else text
