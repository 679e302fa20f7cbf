"""What `ssptool run` says when it is done."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ssptool.cli.run_options import StatisticsFormat
from ssptool.engine.few import few

if TYPE_CHECKING:
    from ssptool.engine.loop_run import LoopReport
    from ssptool.engine.simulate import Result


def result_text(result: "Result", plot: Path | None = None) -> str:
    """How initialization went, how the run went, what was chosen, where the results and the plot are."""
    lines = [result.name, *_initialization(result), *_run(result), *_calls(result), *_files(result, plot)]
    return "\n".join(lines)


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
        "statistics": asdict(result.statistics),
    }
    return json.dumps(facts, indent=1, ensure_ascii=False, default=str)


SUMMARIES: Mapping[StatisticsFormat | None, Callable[["Result", Path | None], str]] = {
    None: result_text,
    StatisticsFormat.TEXT: result_text,
    StatisticsFormat.JSON: result_json,
}
"""By what was asked for: the text has a table of calls if these were measured."""


def _initialization(result: "Result") -> Iterator[str]:
    report = result.initialization
    if not report.loops and report.ok:
        yield "initialization  one pass, no algebraic loop"
    for loop in report.loops:
        yield f"initialization  {_loop(loop)}" if loop.stage == "initialization" else f"first point     {_loop(loop)}"


def _loop(loop: "LoopReport") -> str:
    solution = loop.solution
    points = "1 iteration" if solution.iterations == 1 else f"{solution.iterations} iterations"
    return (
        f"algebraic loop of {len(loop.signals)} signals, solved for {few(loop.torn)}: {solution.status} "
        f"by {solution.solver}, {points}, residual {solution.residual_norm:.2g}"
    )


def _run(result: "Result") -> Iterator[str]:
    statistics = result.statistics
    chosen = {choice.setting: choice for choice in result.choices}
    for setting in ("master", "input", "step_size", "substeps", "adaptive"):
        if setting in chosen:
            yield f"{setting.replace('_', ' '):<16}{chosen[setting].value}  ({chosen[setting].reason})"
    if result.rows:
        yield f"{'run':<16}{result.first_time:g} … {result.last_time:g} s in {statistics.steps} steps, {_speed(result)}"
    if statistics.evaluations:
        events = f", {statistics.events} events" if statistics.events else ""
        yield f"{'integrator':<16}{statistics.evaluations} evaluations of all derivatives{events}"
    if statistics.rejected:
        yield f"{'rejected':<16}{statistics.rejected} steps were too inexact and taken back"
    if statistics.iterations_max > 1:
        yield f"{'iterations':<16}{statistics.iterations_mean:.2f} per step, most {statistics.iterations_max}"
    if statistics.loops_solved:
        each = statistics.loop_iterations / statistics.loops_solved
        yield f"{'loops':<16}solved {statistics.loops_solved} times during the run, {each:.2f} iterations each"
    if statistics.loops_rescued:
        yield f"{'loops':<16}{statistics.loops_rescued} needed the full solver during the run"
    if statistics.latest > 0:
        yield f"{'pace':<16}at most {statistics.latest:.3g} s behind the clock"
    for note in result.notes:
        yield f"{'note':<16}{note}"
    yield f"{'status':<16}{result.status}"
    if result.failure is not None:
        yield str(result.failure)


def _speed(result: "Result") -> str:
    statistics = result.statistics
    kernel = "" if statistics.kernel == "native" else ", without the native kernel"
    return f"{statistics.seconds:.2f} s of wall time, {statistics.real_time_factor:.3g} × real time{kernel}"


def _calls(result: "Result") -> Iterator[str]:
    calls = result.statistics.calls
    if not calls:
        return
    yield f"{'calls':<16}{'component':<24}{'function':<34}{'number':>10}{'time [s]':>12}{'each [µs]':>12}"
    for one in sorted(calls, key=lambda one: -one.seconds):
        each = 1e6 * one.seconds / one.calls
        yield f"{'':<16}{one.component:<24}{one.function:<34}{one.calls:>10}{one.seconds:>12.6f}{each:>12.3f}"


def _files(result: "Result", plot: Path | None) -> Iterator[str]:
    if result.output is not None:
        yield f"{'results':<16}{result.output}  ({result.rows} rows, {len(result.columns)} signals)"
    if plot is not None:
        yield f"{'plot':<16}{plot}"
