"""What `ssptool run` says when it is done."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssptool.engine.loop_run import LoopReport
    from ssptool.engine.simulate import Result


def result_text(result: "Result") -> str:
    """How initialization went, how the run went, what was chosen, where the results are."""
    lines = [result.name, *_initialization(result), *_run(result), *_files(result)]
    return "\n".join(lines)


def _initialization(result: "Result") -> Iterator[str]:
    report = result.initialization
    if not report.loops and report.ok:
        yield "initialization  one pass, no algebraic loop"
    for loop in report.loops:
        yield f"initialization  {_loop(loop)}" if loop.stage == "initialization" else f"first point     {_loop(loop)}"


def _loop(loop: "LoopReport") -> str:
    solution = loop.solution
    names = ", ".join(map(str, loop.torn))
    points = "1 iteration" if solution.iterations == 1 else f"{solution.iterations} iterations"
    return (
        f"algebraic loop of {len(loop.signals)} signals, solved for {names}: {solution.status} "
        f"by {solution.solver}, {points}, residual {solution.residual_norm:.2g}"
    )


def _run(result: "Result") -> Iterator[str]:
    statistics = result.statistics
    chosen = {choice.setting: choice for choice in result.choices}
    for setting in ("master", "input", "step_size"):
        if setting in chosen:
            yield f"{setting.replace('_', ' '):<16}{chosen[setting].value}  ({chosen[setting].reason})"
    if result.rows:
        yield f"{'run':<16}{result.first_time:g} … {result.last_time:g} s in {statistics.steps} steps, {_speed(result)}"
    if statistics.iterations_max > 1:
        yield f"{'iterations':<16}{statistics.iterations_mean:.2f} per step, most {statistics.iterations_max}"
    if statistics.loops_rescued:
        yield f"{'loops':<16}{statistics.loops_rescued} needed the full solver during the run"
    for note in result.notes:
        yield f"{'note':<16}{note}"
    yield f"{'status':<16}{result.status}"
    if result.failure is not None:
        yield str(result.failure)


def _speed(result: "Result") -> str:
    statistics = result.statistics
    kernel = "" if statistics.kernel == "native" else ", without the native kernel"
    return f"{statistics.seconds:.2f} s of wall time, {statistics.real_time_factor:.3g} × real time{kernel}"


def _files(result: "Result") -> Iterator[str]:
    if result.output is not None:
        yield f"{'results':<16}{result.output}  ({result.rows} rows, {len(result.columns)} signals)"
