"""What `ssptool run` says when it is done."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from ssptool.cli.run_options import StatisticsFormat
from ssptool.engine.few import few

if TYPE_CHECKING:
    from ssptool.engine.fmu_log import LoggedProblems
    from ssptool.engine.loop_report import LoopReport
    from ssptool.engine.result import Result, Statistics

SHOWN_KINDS, SHOWN_TEXT = 3, 200
"""Kinds of messages of an FMU that a summary shows, and how many characters of each."""

Entry = tuple[str, str]
"""Of the summary: a name, and what is said under it."""


def result_text(result: "Result", plot: Path | None = None) -> str:
    """How initialization went, how the run went, what was chosen, where the results and the plot are."""
    failure = [] if result.failure is None else [str(result.failure)]
    went = _lines(_initialization(result), _choices(result), _run(result))
    measured = _lines(_costs(result.statistics), _calls(result), _files(result, plot))
    return "\n".join([result.name, *went, *failure, *measured])


def _lines(*parts: Iterable[Entry]) -> Iterator[str]:
    return (f"{name:<16}{text}" for name, text in chain.from_iterable(parts))


def result_json(result: "Result", plot: Path | None = None) -> str:
    """All that is counted and measured of a run."""
    facts = {
        "system": result.name,
        "status": result.status,
        "failure": None if result.failure is None else asdict(result.failure),
        "start": result.first_time,
        "end": result.last_time,
        "rows": result.rows,
        "output": result.output,
        "plot": plot,
        "loops": [loop.facts() for loop in result.initialization.loops],
        "problems": [asdict(one) for one in result.problems],
        "statistics": asdict(result.statistics),
    }
    return json.dumps(facts, indent=1, ensure_ascii=False, default=str)


SUMMARIES: Mapping[StatisticsFormat | None, Callable[["Result", Path | None], str]] = {
    None: result_text,
    StatisticsFormat.TEXT: result_text,
    StatisticsFormat.JSON: result_json,
}
"""By what was asked for: the text has a table of calls if these were measured."""


def _initialization(result: "Result") -> Iterator[Entry]:
    report = result.initialization
    if not report.loops and report.ok:
        yield "initialization", "one pass, no algebraic loop"
    for loop in report.loops:
        yield "initialization" if loop.stage == "initialization" else "first point", _loop(loop)


def _loop(loop: "LoopReport") -> str:
    solution = loop.solution
    points = "1 iteration" if solution.iterations == 1 else f"{solution.iterations} iterations"
    return (
        f"algebraic loop of {len(loop.signals)} signals, solved for {few(loop.torn)}: {solution.status} "
        f"by {solution.solver}, {points}, residual {solution.residual_norm:.2g}"
    )


def _choices(result: "Result") -> Iterator[Entry]:
    chosen = {choice.setting: choice for choice in result.choices}
    for setting in ("master", "input", "step_size", "substeps", "adaptive"):
        if setting in chosen:
            yield setting.replace("_", " "), f"{chosen[setting].value}  ({chosen[setting].reason})"


def _run(result: "Result") -> Iterator[Entry]:
    if result.rows:
        steps = result.statistics.steps
        yield "run", f"{result.first_time:g} … {result.last_time:g} s in {steps} steps, {_speed(result)}"
    yield from _counts(result.statistics)
    for note in result.notes:
        yield "note", note
    for problems in result.problems:
        yield from _logged(problems)
    yield "status", result.status


def _logged(problems: "LoggedProblems") -> Iterator[Entry]:
    """What the FMU of a component logged: how many messages, and the first of some kinds."""
    counts = ", ".join(f"{count} × {status}" for status, count in problems.counts.items())
    yield "FMU messages", f"{problems.component} logged {counts}"
    for kind in problems.kinds[:SHOWN_KINDS]:
        when = "before the start" if kind.time is None else f"first at t = {kind.time:g} s"
        times = f", {kind.count} ×" if kind.count > 1 else ""
        yield "", f"{shorten(str(kind), SHOWN_TEXT, placeholder=' …')}  ({when}{times})"
    if len(problems.kinds) > SHOWN_KINDS:
        yield "", f"… {len(problems.kinds)} kinds of messages; all: --fmu-log FILE"


def _speed(result: "Result") -> str:
    statistics = result.statistics
    kernel = "" if statistics.kernel == "native" else ", without the native kernel"
    return f"{statistics.seconds:.2f} s of wall time, {statistics.real_time_factor:.3g} × real time{kernel}"


def _counts(statistics: "Statistics") -> Iterator[Entry]:
    """Of what not every run has."""
    if statistics.evaluations:
        events = f", {statistics.events} events" if statistics.events else ""
        yield "integrator", f"{statistics.evaluations} evaluations of all derivatives{events}"
    if statistics.rejected:
        yield "rejected", f"{statistics.rejected} steps were too inexact and taken back"
    if statistics.iterations_max > 1:
        yield "iterations", f"{statistics.iterations_mean:.2f} per step, most {statistics.iterations_max}"
    if statistics.loops_solved:
        each = statistics.loop_iterations / statistics.loops_solved
        yield "loops", f"solved {statistics.loops_solved} times during the run, {each:.2f} iterations each"
    if statistics.loops_rescued:
        yield "loops", f"{statistics.loops_rescued} needed the full solver during the run"
    if statistics.latest > 0:
        yield "pace", f"at most {statistics.latest:.3g} s behind the clock"


def _calls(result: "Result") -> Iterator[Entry]:
    calls = result.statistics.calls
    if not calls:
        return
    yield "calls", f"{'component':<24}{'function':<34}{'number':>10}{'time [s]':>12}{'each [µs]':>12}"
    for one in sorted(calls, key=lambda one: -one.seconds):
        each = 1e6 * one.seconds / one.calls
        yield "", f"{one.component:<24}{one.function:<34}{one.calls:>10}{one.seconds:>12.6f}{each:>12.3f}"


def _costs(statistics: "Statistics") -> Iterator[Entry]:
    """Where the time of stepping went."""
    name = "cost"
    for one in statistics.costs[:_MOST_COSTS]:
        yield name, f"{one.component or one.part:<24}{one.percent:>6.1f} %{one.seconds:>12.6f} s"
        name = ""
    if left := statistics.costs[_MOST_COSTS:]:
        percent, seconds = sum(one.percent for one in left), sum(one.seconds for one in left)
        yield "", f"{f'{len(left)} more':<24}{percent:>6.1f} %{seconds:>12.6f} s"
    if (slowest := statistics.slowest) is not None:
        yield "slowest step", f"{slowest.component} from t = {slowest.time:g} s took {_duration(slowest.seconds)}"


_MOST_COSTS = 20


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def _files(result: "Result", plot: Path | None) -> Iterator[Entry]:
    if result.output is not None:
        yield "results", f"{result.output}  ({result.rows} rows, {len(result.columns)} signals)"
    if plot is not None:
        yield "plot", str(plot)
