"""A run and its trace as a notebook shows them."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from ssptool.drawing.curves import Curve, panels
from ssptool.drawing.plot_picture import picture_svg
from ssptool.drawing.plot_unavailable import PlotUnavailable
from ssptool.drawing.thinning import thinned

if TYPE_CHECKING:
    from ssptool.engine.result import Result
    from ssptool.engine.trace import Trace

MOST_CURVES = 24
"""In the picture of a trace: what has more is told, not drawn."""


def trace_html(trace: "Trace") -> str:
    """How large it is, and a picture of its continuous signals."""
    span = f"{trace.t[0]:g} … {trace.t[-1]:g} s, " if len(trace) else ""
    told = f"<p>{span}{len(trace)} rows, {len(trace.columns)} signals</p>"
    continuous = [column for column in trace.columns if column.real]
    if not len(trace) or not 0 < len(continuous) <= MOST_CURVES:
        return told + f"<p>{escape(', '.join(trace.signals))}</p>"
    curves = [thinned(Curve(one.signal, one.unit, trace.t, trace[one.signal], one.held)) for one in continuous]
    try:
        return told + picture_svg(panels(curves))
    except PlotUnavailable as problem:
        return told + f"<p>{escape(str(problem))}</p>"


def result_html(result: "Result") -> str:
    """How the run ended, how it began, what was chosen; and the trace, if it was kept."""
    lines = "".join(f"<li>{line}</li>" for line in _facts(result))
    trace = "" if result.kept is None else trace_html(result.kept)
    return f"<h4>{escape(result.name)}</h4><ul>{lines}</ul>{trace}"


def _facts(result: "Result") -> Iterator[str]:
    colour = "#1a6e2e" if result.ok else "#b3261e"
    told = "" if result.failure is None else f": {escape(str(result.failure))}"
    yield f'<span style="color: {colour}; font-weight: bold">{escape(str(result.status.value))}</span>{told}'
    for loop in result.initialization.loops:
        solution = loop.solution
        yield (
            f"{escape(str(loop.stage))}: algebraic loop of {len(loop.signals)} signals, "
            f"{escape(solution.status.value)} by {escape(solution.solver)}, iterations {solution.iterations}, "
            f"residual {solution.residual_norm:.2g}"
        )
    chosen = {choice.setting: choice.value for choice in result.choices}
    yield ", ".join(
        f"{name.replace('_', ' ')} {escape(chosen[name])}" for name in ("master", "step_size") if name in chosen
    )
    yield f"{result.statistics.steps} steps in {result.statistics.seconds:.3g} s"
