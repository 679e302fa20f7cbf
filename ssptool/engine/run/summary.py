"""Texts about a run: five lines, the full summary, and the report as JSON."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from textwrap import shorten

from ssptool.engine.assembly.fmu_log import LoggedProblems
from ssptool.engine.run.accuracy import AccuracyMethod
from ssptool.engine.run.execution import Statistics
from ssptool.engine.run.loops import LoopReport
from ssptool.engine.run.result import Result
from ssptool.errors import abbreviated, counted
from ssptool.foreign_text import indented, joined_lines, json_text
from ssptool.printed import prints

SHOWN_OVERRIDES = 5
"""Number of overrides in a summary; the others are only counted."""

SHOWN_KINDS, SHOWN_TEXT = 3, 200
"""Number of kinds of messages of an FMU in a summary, and the length of each message [characters]."""

Entry = tuple[str, str]
"""Line of the summary: a name, and its text."""


@prints(Result)
def summary_text(result: Result, plot: Path | None = None, copies: Sequence[Path] = ()) -> str:
    """Five lines on a run: what ran, accuracy, warnings, files, and a command for viewing them; also the full text of a
    failure. `copies` are files with the same results in other formats.
    """
    failure = [] if result.failure is None else [indented(str(result.failure))]
    below = (f"{name:<{SHORT}}{text}" for name, text in _below(result, plot, copies))
    return "\n".join([joined_lines([f"{'run':<{SHORT}}{_ran(result)}"]), *failure, joined_lines(below)])


SHORT = 10
"""Width of the names in the five lines."""

NOTABLE_ERROR = 1e-3
"""Error, relative to the range of a signal, above which a smaller step is proposed."""


def _ran(result: Result) -> str:
    statistics = result.statistics
    chosen = {choice.setting: choice.value for choice in result.choices}
    parts = [result.name]
    if result.rows:
        size = f" of {chosen['step_size']}" if "step_size" in chosen and "adaptive" not in chosen else ""
        master = f" ({chosen['master']})" if "master" in chosen else ""
        steps = f"{counted(statistics.steps, 'step')}{size}{master}"
        parts.append(f"{result.first_time:g} … {result.last_time:.12g} s in {steps}")
    if count := sum(one.kind != "accepted finding" for one in result.overrides):
        parts.append(counted(count, "override"))
    if statistics.latest > 0:
        parts.append(f"at most {statistics.latest:.3g} s behind the clock")
    took = f" in {_duration(statistics.seconds)}" if statistics.seconds > 0 else ""
    return ", ".join([*parts, f"{result.status}{took}"])


def _below(result: Result, plot: Path | None, copies: Sequence[Path]) -> Iterator[Entry]:
    accuracy = result.accuracy
    yield "accuracy", accuracy.brief() if accuracy.asked else "not checked"
    shown = [
        note
        for note in result.notes
        if not result.columns or (result.output is not None and result.output.name in note)
    ]
    yield "warnings", _warned(result, len(result.notes) - len(shown))
    yield from _files(result, plot, copies)
    yield from (("note", note) for note in shown)
    if result.output is not None:
        command = "report" if plot is not None or result.failure is not None else "plot"
        step = accuracy.finer() if (accuracy.error or 0.0) >= NOTABLE_ERROR else None
        finer = "" if step is None else f"; --step-size {step} for a tenth of the error"
        yield "next", f"ssptool {command} {shlex.quote(str(result.output))}{finer}"


def _warned(result: Result, notes: int) -> str:
    """The first warning, and the number of other items that only `--verbose` prints."""
    first, count = [str(one) for one in result.warnings[:1]], len(result.warnings)
    none = "off" if result.settings.warnings == "off" else "none"
    parts = [none] if not first else [first[0] if count == 1 else f"{count}, the first: {first[0]}"]
    if result.statistics.unconverged:
        parts.append(f"{counted(result.statistics.unconverged, 'step')} not converged")
    logged = sum(sum(problems.counts.values()) for problems in result.problems)
    if logged:
        parts.append(counted(logged, "FMU message"))
    if notes:
        parts.append(counted(notes, "note"))
    hidden = count > 1 or logged or notes
    return "; ".join(parts) + ("  (--verbose)" if hidden else "")


def result_text(result: Result, plot: Path | None = None, copies: Sequence[Path] = ()) -> str:
    """The full summary of a run: initialization, choices, course, and files of results and plot."""
    failure = [] if result.failure is None else [indented(str(result.failure))]
    went = _lines(_overrides(result), _initialization(result), _choices(result), _run(result))
    measured = chain(_lines(_costs(result.statistics)), _calls(result), _lines(_files(result, plot, copies)))
    return "\n".join([joined_lines([result.name, *went]), *failure, joined_lines(measured)])


def _lines(*parts: Iterable[Entry]) -> Iterator[str]:
    return (f"{name:<16}{text}" for name, text in chain.from_iterable(parts))


def result_json(result: Result, plot: Path | None = None) -> str:
    """The full report of a run: choices, notes, warnings, and all counts and measurements."""
    facts = {
        "system": result.name,
        "status": result.status,
        "failure": None if result.failure is None else asdict(result.failure),
        "start": result.first_time,
        "end": result.last_time,
        "rows": result.rows,
        "signals": [column.signal for column in result.columns],
        "choices": [asdict(choice) for choice in result.choices],
        "notes": result.notes,
        "overrides": [asdict(one) for one in result.overrides],
        "output": result.output,
        "plot": plot,
        "loops": [loop.facts() for loop in result.initialization.loops],
        "problems": [asdict(one) for one in result.problems],
        "statistics": asdict(result.statistics),
        "accuracy": asdict(result.accuracy),
        "warnings": [asdict(one) for one in result.warnings],
    }
    return json_text(facts, indent=1, default=str)


def _overrides(result: Result) -> Iterator[Entry]:
    """The first overrides; accepted findings are notes already."""
    found = [one for one in result.overrides if one.kind != "accepted finding"]
    for one in found[:SHOWN_OVERRIDES]:
        yield "override", str(one)
    if left := len(found[SHOWN_OVERRIDES:]):
        yield "", f"… {counted(left, 'more override')}: all are in the manifest of the results"


def _initialization(result: Result) -> Iterator[Entry]:
    report = result.initialization
    if not report.loops and report.ok:
        yield "initialization", "one pass, no algebraic loop"
    for loop in report.loops:
        yield "initialization" if loop.stage == "initialization" else "first point", _loop(loop)


def _loop(loop: LoopReport) -> str:
    solution = loop.solution
    signals, points = counted(len(loop.signals), "signal"), counted(solution.iterations, "iteration")
    return (
        f"algebraic loop of {signals}, solved for {abbreviated(loop.torn)}: {solution.status} "
        f"by {solution.solver}, {points}, {loop.relative_residual}"
    )


def _choices(result: Result) -> Iterator[Entry]:
    chosen = {choice.setting: choice for choice in result.choices}
    settings = ["master", "approximation", "step_size", "substeps", "adaptive"]
    if result.accuracy.wanted is not None and result.accuracy.method is AccuracyMethod.TOLERANCE:
        settings.append("tolerance")
    for setting in settings:
        if setting in chosen:
            yield setting.replace("_", " "), f"{chosen[setting].value}  ({chosen[setting].reason})"


def _run(result: Result) -> Iterator[Entry]:
    if result.rows:
        steps = counted(result.statistics.steps, "step")
        yield "run", f"{result.first_time:g} … {result.last_time:.12g} s in {steps}, {_speed(result)}"
    yield from _counts(result.statistics)
    for note in result.notes:
        yield "note", note
    for problems in result.problems:
        yield from _logged(problems)
    for warning in result.warnings:
        yield "warning", str(warning)
    if result.accuracy.asked:
        yield "accuracy", str(result.accuracy)
    yield "status", result.status


def _logged(problems: LoggedProblems) -> Iterator[Entry]:
    """Messages that the FMU of a component logged: their number, and the first of some kinds."""
    counts = ", ".join(f"{count} × {status}" for status, count in problems.counts.items())
    yield "FMU messages", f"{problems.component} logged {counts}"
    for kind in problems.kinds[:SHOWN_KINDS]:
        when = "before the start" if kind.time is None else f"first at t = {kind.time:g} s"
        times = f", {kind.count} ×" if kind.count > 1 else ""
        yield "", f"{shorten(str(kind), SHOWN_TEXT, placeholder=' …')}  ({when}{times})"
    if len(problems.kinds) > SHOWN_KINDS:
        yield "", f"… {len(problems.kinds)} kinds of messages; all: --fmu-log FILE"


def _speed(result: Result) -> str:
    statistics = result.statistics
    return f"{statistics.seconds:.2f} s of wall time, {statistics.real_time_factor:.3g} × real time"


def _counts(statistics: Statistics) -> Iterator[Entry]:
    """Counts that only some runs have."""
    if statistics.evaluations:
        events = f", {counted(statistics.events, 'event')}" if statistics.events else ""
        yield "integrator", f"{counted(statistics.evaluations, 'evaluation')} of all derivatives{events}"
    if statistics.rejected:
        yield "rejected", f"{counted(statistics.rejected, 'step')} taken back, because the error was too large"
    if statistics.iterations_max > 1:
        apart = f", {counted(statistics.unconverged, 'step')} not converged" if statistics.unconverged else ""
        yield "iterations", f"{statistics.iterations_mean:.2f} per step, most {statistics.iterations_max}{apart}"
    if statistics.loops_solved:
        each = statistics.loop_iterations / statistics.loops_solved
        yield "loops", f"{counted(statistics.loops_solved, 'solve')} during the run, {each:.2f} iterations each"
    if statistics.loops_rescued:
        yield "loops", f"{counted(statistics.loops_rescued, 'solve')} needed the full solver during the run"
    if statistics.latest > 0:
        yield "pace", f"at most {statistics.latest:.3g} s behind the clock"


def _calls(result: Result) -> Iterator[str]:
    """Table of calls, the longest first. Names are at the end of rows, so that long names do not shift columns."""
    calls = result.statistics.calls
    if not calls:
        return
    yield f"calls{'time [s]':>12}{'number':>10}{'each [µs]':>12}  function"
    for one in sorted(calls, key=lambda one: -one.seconds):
        each = 1e6 * one.seconds / one.calls
        yield f"{one.seconds:>17.6f}{one.calls:>10}{each:>12.3f}  {one.function} {one.component}"


def _costs(statistics: Statistics) -> Iterator[Entry]:
    """Distribution of the time of steps; names are at the end of rows, as in the table of calls."""
    name = "cost"
    for one in statistics.costs[:_MOST_COSTS]:
        yield name, f"{one.seconds:>12.6f} s{one.percent:>6.1f} %  {one.component or one.part}"
        name = ""
    if left := statistics.costs[_MOST_COSTS:]:
        percent, seconds = sum(one.percent for one in left), sum(one.seconds for one in left)
        yield "", f"{seconds:>12.6f} s{percent:>6.1f} %  {len(left)} more"
    if (slowest := statistics.slowest) is not None:
        yield "slowest step", f"{slowest.component} from t = {slowest.time:g} s took {_duration(slowest.seconds)}"


_MOST_COSTS = 20


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def _files(result: Result, plot: Path | None, copies: Sequence[Path]) -> Iterator[Entry]:
    if result.output is not None:
        yield "results", f"{result.output}  ({counted(result.rows, 'row')}, {counted(len(result.columns), 'signal')})"
    if copies:
        yield "also", ", ".join(map(str, copies))
    if plot is not None:
        yield "plot", str(plot)
