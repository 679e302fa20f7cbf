"""Whether a trace agrees with another."""

from collections.abc import Sequence
from pathlib import Path

from ssptool.drawing.plot import PICTURES, check_plot_name
from ssptool.engine.recording.files import read_trace
from ssptool.engine.trace import Trace
from ssptool.results.alignment import without_prefix
from ssptool.results.comparison import NothingToCompare as NothingToCompare
from ssptool.results.comparison import TraceComparison, compare_traces
from ssptool.results.comparison_picture import draw_comparison
from ssptool.results.comparison_text import TRACE_COMPARISON_RENDERERS as TRACE_COMPARISON_RENDERERS
from ssptool.results.tolerance import Tolerance as Tolerance
from ssptool.results.tolerance import ToleranceFor as ToleranceFor


def compare(
    trace: Trace | Path | str,
    reference: Trace | Path | str,
    *,
    patterns: Sequence[str] = (),
    tolerance: Tolerance | None = None,
    special: Sequence[ToleranceFor] = (),
    plot: Path | None = None,
    drop_prefix: str = "",
) -> TraceComparison:
    """Compare a trace with a reference: does every signal stay inside the tube around its reference?

    Parameters
    ----------
    trace, reference
        Traces, or files of results (.csv, .parquet, .mat).
    patterns
        Compare only signals that one of them fits (* stands for any text); without, all of the reference.
    tolerance
        Half-widths of the tubes of continuous signals; all other signals must be equal. Default: a thousandth of the
        largest magnitude of the reference.
    special
        Tolerances for single signals or patterns; the last that fits counts.
    drop_prefix
        Beginning that is dropped from names of signals, in both: other tools put `model.root.` before them.
    plot
        Draw the signals that agree the least into this PNG, SVG or PDF file.

    Raises
    ------
    NothingMatches
        A pattern fits no signal of the reference.
    NothingToCompare
        A trace has no rows, its times go back, or the reference has no signals.
    UnreadableTrace
        A file is not a trace.
    """
    if plot is not None:
        check_plot_name(plot, PICTURES)
    found, expected = (without_prefix(_trace(one), drop_prefix) for one in (trace, reference))
    comparison = compare_traces(found, expected, patterns=patterns, tolerance=tolerance, special=special)
    if plot is not None:
        draw_comparison(comparison, found, expected, plot)
    return comparison


def _trace(given: Trace | Path | str) -> Trace:
    return given if isinstance(given, Trace) else read_trace(given)
