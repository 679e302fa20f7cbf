"""Runs of the present documents, saved or not, in a child process: progress, growing traces, failures, accuracy."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from ssptool.api.check import InvalidSystem
from ssptool.api.compare import compare
from ssptool.api.report import report
from ssptool.arguments import AccuracyName, WantedAccuracy, accuracy_by_default
from ssptool.documents.vocabulary import rounded_text
from ssptool.drawing.plot import page_figure
from ssptool.drawing.plot_model import panels, thinned
from ssptool.engine.failure import Failure
from ssptool.engine.planning.plan import Plan, call_sequence
from ssptool.engine.recording.follow import follow
from ssptool.engine.recording.formats import check_output, open_writer, read_manifest, read_trace
from ssptool.engine.run.accuracy_check import AccuracyCheck
from ssptool.engine.run.execution import Job, Statistics
from ssptool.engine.run.make_plan import planned
from ssptool.engine.run.plots import curves_of
from ssptool.engine.run.recorder import Recording
from ssptool.engine.run.result import Result
from ssptool.engine.settings import Limits, Settings
from ssptool.engine.simulate import Run
from ssptool.engine.trace import Trace
from ssptool.errors import WrongUsage, abbreviated, counted, is_own
from ssptool.foreign_text import json_text
from ssptool.option_words import Boxing
from ssptool.results.comparison import comparison_rows
from ssptool.rules.runner import check
from ssptool.rules.selection import judge
from ssptool.studio.checks import CANCELLED as CHECK_CANCELLED
from ssptool.studio.checks import LaterCheck, RunAccuracy, check_of
from ssptool.studio.iterations import COUPLING, LOOPS, LoggedIterations
from ssptool.studio.run_settings import setting_text, settings_of
from ssptool.studio.session import EditSession, SystemCopy
from ssptool.studio.stimuli import ChosenStimuli
from ssptool.tempfiles import TemporaryFolder
from ssptool.work_in_progress import listening

TOLD_SECONDS = 0.2
"""Interval of messages on the progress of a run [s]."""
MOST_SIGNALS = 12
"""Default number of signals in a plot."""
RUNNING, CANCELLED, FAILED = "running", "cancelled", "failed"
Tell = Callable[[dict[str, Any]], None]


def _one_run_only() -> WrongUsage:
    """Error: another run is in progress."""
    return WrongUsage("a run is in progress; cancel it first, or wait for its end")


class RunCancelled(WrongUsage):
    """The user has ended the run."""

    def __init__(self) -> None:
        super().__init__("cancelled")


@dataclass
class StudioRun:
    """One run with its progress and its rows so far; or a result file.

    Its `copy` of the system stays open while its accuracy can be checked. `given` are the things by which runs differ:
    settings, stimuli and edits. `results` is the file with its rows.
    """

    number: int
    settings: Mapping[str, Any]
    file: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    differs: str = ""
    title: str = ""
    results: Path | None = None
    status: str = RUNNING
    fraction: float = 0.0
    trace: Trace | None = None
    facts: tuple[str, ...] = ()
    failure: Failure | None = None
    message: str = ""
    logs: Mapping[str, Path] = field(default_factory=dict)
    iterations: LoggedIterations | None = None
    accuracy: RunAccuracy = field(default_factory=RunAccuracy)
    copy: SystemCopy | None = None
    ended: Event = field(default_factory=Event)
    cancelled: Event = field(default_factory=Event)

    @property
    def name(self) -> str:
        return self.title or self.file or f"run {self.number}"

    @property
    def label(self) -> str:
        """Name with the differences from the run before unless the user has named it."""
        return self.name if self.title or not self.differs else f"{self.name}: {self.differs}"

    def content(self) -> dict[str, Any]:
        trace, failure = self.trace, self.failure
        return {
            "number": self.number,
            "name": self.name,
            "label": self.label,
            "file": self.file,
            "settings": {name: setting_text(value) for name, value in self.settings.items()},
            "status": self.status,
            "fraction": self.fraction,
            "rows": 0 if trace is None else len(trace),
            "times": None if trace is None or not len(trace) else [float(trace.t[0]), float(trace.t[-1])],
            "facts": list(self.facts),
            "message": self.message,
            "iterations": self.iterations is not None,
            "accuracy": self.accuracy.content(),
            "failure": None
            if failure is None
            else {"component": failure.component, "message": failure.message, "advice": failure.advice},
        }

    def close(self) -> None:
        """Close its copy of the system, after which its accuracy cannot be checked."""
        self.accuracy.find = None
        copy, self.copy = self.copy, None
        if copy is not None:
            copy.close()

    def go_on(self) -> None:
        """Check whether the run may continue. Raises RunCancelled."""
        if self.cancelled.is_set():
            raise RunCancelled


class StudioRuns:
    """The runs of one session, one at a time. `tell` sends their progress to the pages."""

    def __init__(self, tell: Tell, *, sandbox: Boxing = False) -> None:
        self._tell = tell
        self._sandbox = sandbox
        self._runs: list[StudioRun] = []
        self._numbers = count(1)
        self._folder = TemporaryFolder()
        self._threads: list[Thread] = []

    def close(self) -> None:
        """End the present run and checks."""
        self.cancel()
        for thread in self._threads:
            thread.join()
        for one in self._runs:
            if one.copy is not None:
                one.copy.close()
        self._folder.cleanup()

    def all(self) -> list[dict[str, Any]]:
        return [one.content() for one in self._runs]

    def start(
        self, session: EditSession, settings: Mapping[str, Any], stimuli: ChosenStimuli, *, iterations: bool
    ) -> dict[str, Any]:
        """Start a run of the present documents; with `iterations`, iterates are logged.

        After that, earlier runs can no longer be checked.

        Raises WrongUsage, InvalidSystem, and the errors of planning.
        """
        if any(one.status == RUNNING for one in self._runs):
            raise _one_run_only()
        number, copy = next(self._numbers), session.copy()
        logs = {one: Path(self._folder.name, f"{one}{number}.jsonl") for one in (LOOPS, COUPLING)} if iterations else {}
        try:
            wanted, planning = accuracy_by_default(copy.switches.accuracy), planning_of(copy, stimuli)
            plan = planning(settings_of({**settings, **{f"log_{name}": file for name, file in logs.items()}}))
        except BaseException:
            copy.close()
            raise
        for one in self._runs:
            if one.accuracy.find is not None and not one.accuracy.checking:
                one.close()
                self._tell({"event": "run", **one.content()})
        given = _given(session, settings, stimuli)
        before = next((one for one in reversed(self._runs) if not one.file), None)
        differs = "" if before is None else difference(before.given, given)
        results = Path(self._folder.name, f"run{number}.csv")
        begun = StudioRun(number, settings, logs=logs, copy=copy, given=given, differs=differs, results=results)
        self._runs.append(begun)
        self._begin(self._carry_out, begun, plan, copy, check_of(wanted, planning), wanted)
        return begun.content()

    def check(self, number: int) -> dict[str, Any]:
        """Start the accuracy check of a completed run. Raises WrongUsage."""
        one = self._run(number)
        if one.accuracy.find is None or one.accuracy.checking:
            raise WrongUsage(f"the accuracy of {one.name} cannot be checked: run the system again")
        one.cancelled.clear()
        one.accuracy.checking = True
        self._begin(self._look, one, True)
        return one.content()

    def _begin(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads = [each for each in self._threads if each.is_alive()]
        self._threads.append(Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def open(self, name: str, file: Path) -> dict[str, Any]:
        """Add a result file to the runs, for comparison. Raises UnusableFile, MissingPackage."""
        found = next((one for one in self._runs if one.file == name), None)
        if found is None:
            found = StudioRun(next(self._numbers), {}, name, status="opened", fraction=1.0, results=file)
            found.trace = read_trace(file)
            self._runs.append(found)
        return found.content()

    def rename(self, number: int, name: str) -> dict[str, Any]:
        """Name a run; an empty name restores its own."""
        one = self._run(number)
        one.title = name.strip()
        self._tell({"event": "run", **one.content()})
        return one.content()

    def delete(self, number: int) -> None:
        """Forget a run and its rows; a result file that was opened stays on disk. Raises WrongUsage."""
        one = self._run(number)
        if one.status == RUNNING or one.accuracy.checking:
            raise WrongUsage(f"{one.name} is in progress; cancel it first")
        self._runs.remove(one)
        one.close()
        if not one.file and one.results is not None:
            one.results.unlink(missing_ok=True)
        self._tell({"event": "run_deleted", "number": number})

    def save(self, number: int, target: Path, system: Path) -> None:
        """Write the rows and the manifest of a run to a result file, or a report about it to an .html file.

        Raises WrongUsage, FileExistsError, and the errors of the format or the report.
        """
        one = self._run(number)
        if one.trace is None or one.results is None or one.status == RUNNING:
            raise WrongUsage(f"{one.name} has no results yet")
        if target.exists():
            raise FileExistsError(f"{target.name} exists: choose another name")
        if target.suffix.lower() == ".html":
            report(system, one.results, target)
            return
        check_output(target)
        writer = open_writer(target, one.trace.columns, one.trace.contents)
        writer.write(np.column_stack([one.trace.t, one.trace.cells]))
        writer.close(json_text(read_manifest(one.results)))

    def iterations(self, number: int) -> dict[str, Any] | None:
        """Iterations and residuals of a run over time, as a figure of plotly."""
        found = self._run(number).iterations
        return None if found is None else found.figure()

    def iterates(self, number: int, time: float) -> list[dict[str, Any]]:
        """The iterates of the last solves before a time [s]."""
        found = self._run(number).iterations
        return [] if found is None else found.table(time)

    def cancel(self, number: int | None = None) -> None:
        """End a run or its check; without a number, all of them."""
        for one in self._runs if number is None else [self._run(number)]:
            one.cancelled.set()

    def plot(self, numbers: Sequence[int], signals: Sequence[str]) -> Any:
        """Signals of runs as a figure of plotly, one panel per unit."""
        chosen = [one for one in map(self._run, numbers) if one.trace is not None and len(one.trace)]
        labels = {one.label if len(chosen) > 1 else "": one for one in chosen}
        traces = {label: one.trace for label, one in labels.items() if one.trace is not None}
        if not traces:
            return None
        errors = {label: one.accuracy.errors for label, one in labels.items() if one.accuracy.errors is not None}
        shown = list(signals) or _first_signals(traces)
        curves = [thinned(curve) for curve in curves_of(traces, shown, errors)]
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
        """Deviations of the signals of a run from those of another: headings, then signals from worst to best
        agreement.
        """
        found, expected = (self._run(one).trace for one in (number, reference))
        if found is None or expected is None:
            raise WrongUsage("both runs need results to be compared")
        return list(comparison_rows(compare(found, expected)))

    def _run(self, number: int) -> StudioRun:
        found = next((one for one in self._runs if one.number == number), None)
        if found is None:
            raise WrongUsage(f"there is no run {number}")
        return found

    # -- in a thread -----------------------------------------------------------------------------------------------

    def _carry_out(
        self, one: StudioRun, plan: Plan, copy: SystemCopy, check: AccuracyCheck, wanted: WantedAccuracy
    ) -> None:
        file = one.results
        assert file is not None
        following = Thread(target=self._follow, args=(one, file), daemon=True)
        following.start()
        try:
            job, limits = Job(plan, copy.archive), Limits(go_on=one.go_on, sandbox=self._sandbox)
            begun = Run(job, Recording(file), limits, progress=_progress(one), check=check)
            self._ended(one, begun.result(), check, wanted)
        except RunCancelled:
            one.status = CANCELLED
        except Exception as problem:
            one.message = _words_of(problem)
            one.status = FAILED
        one.ended.set()
        following.join()
        if one.accuracy.find is None:
            one.close()
        if one.accuracy.checking:
            self._look(one, wanted == AccuracyName.CHECK)
        else:
            self._tell({"event": "run", **one.content()})

    def _look(self, one: StudioRun, asked: bool) -> None:
        """Check the accuracy of a completed run."""

        def told(work: str) -> None:
            if work.startswith("checking"):
                one.accuracy.words = work
                self._tell({"event": "run", **one.content()})

        self._tell({"event": "run", **one.content()})
        try:
            one.go_on()
            with listening(told):
                one.accuracy.look(asked)
        except RunCancelled:
            one.accuracy.words = CHECK_CANCELLED
        except Exception as problem:
            one.accuracy.words = f"not checked; {_words_of(problem)}"
        one.accuracy.checking = False
        if one.accuracy.find is None:
            one.close()
        self._tell({"event": "run", **one.content()})

    def _ended(self, one: StudioRun, result: Result, check: AccuracyCheck, wanted: WantedAccuracy) -> None:
        """Store the result. The accuracy comes first, because the next run may start when the status says that this one
        has ended.
        """
        one.accuracy.find = check.ready[0] if isinstance(check, LaterCheck) and check.ready else None
        one.accuracy.seconds = result.statistics.seconds + result.statistics.initialization_seconds
        one.accuracy.checking = one.accuracy.find is not None and wanted != AccuracyName.OFF
        if result.accuracy.asked or one.accuracy.find is not None:
            one.accuracy.take(result.accuracy)
        one.trace, one.failure = result.trace, result.failure
        one.fraction = 1.0 if result.ok else one.fraction
        one.facts = tuple(facts_of(result))
        one.iterations = LoggedIterations(one.logs) if one.logs else None
        one.status = str(result.status.value)

    def _follow(self, one: StudioRun, file: Path) -> None:
        """Receive rows during the run, and report them."""
        with suppress(Exception):  # the run itself reports errors
            for state in follow(file, interval=TOLD_SECONDS):
                if one.ended.is_set() or one.cancelled.is_set() or state.ended:
                    if one.status == RUNNING:
                        one.trace = state.trace
                    return
                one.trace = state.trace
                self._tell({"event": "run", **one.content()})


def planning_of(copy: SystemCopy, stimuli: ChosenStimuli) -> Callable[[Settings], Plan]:
    """Function that makes the plan of a run with given settings. Both raise InvalidSystem, WrongArgument, BadData."""
    report = check(copy.archive, copy.structure.name)
    refused, accepted = judge(report, (), copy.switches)
    if refused:
        raise InvalidSystem(report, refused)

    def planning(settings: Settings) -> Plan:
        with stimuli.inputs() as inputs:
            return planned(
                copy.archive,
                copy.structure,
                parameters=(),
                start_values={},
                settings=settings,
                inputs=inputs,
                scenario=stimuli.scenario(),
                accepted=accepted,
            )

    return planning


def _given(session: EditSession, settings: Mapping[str, Any], stimuli: ChosenStimuli) -> dict[str, str]:
    """Inputs of a run as texts by name: its settings, its stimuli, and the edits of the documents."""
    edits = [state.label for state in session.states[1 : session.at + 1]]
    stated = ((name, setting_text(value)) for name, value in settings.items() if not name.startswith("log_"))
    found = {name.replace("_", " "): text for name, text in stated}
    found |= {"scenario": stimuli.scenario_name, "inputs": stimuli.inputs_name}
    return {**{name: value for name, value in found.items() if value}, **dict.fromkeys(edits, "")}


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Differences between two runs in a few words: new or changed settings and edits, then those that are gone."""
    new = [f"{name} {value}".rstrip() for name, value in now.items() if before.get(name) != value]
    gone = [f"without {name}" for name in before if name not in now]
    return abbreviated([*new, *gone], MOST_DIFFERENCES) if new or gone else ""


MOST_DIFFERENCES = 3
"""Differences in the name of a run."""


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
    """Number of steps, and of their iterations."""
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
    """The first continuous signals; if there are none, the first signals of any kind."""
    columns = next(iter(traces.values())).columns
    real = [column.signal for column in columns if column.real]
    return (real or [column.signal for column in columns])[:MOST_SIGNALS]


def _progress(one: StudioRun) -> Callable[[float], None]:
    def told(fraction: float) -> None:
        one.fraction = fraction
        one.go_on()

    return told


def _words_of(problem: Exception) -> str:
    return str(problem) if is_own(problem) else f"{type(problem).__name__}: {problem}"


def _told(value: Any, unit: str | None) -> str:
    text = rounded_text(value, 4) if isinstance(value, float) or hasattr(value, "dtype") else str(value)
    return f"{text} {unit}" if unit else text
