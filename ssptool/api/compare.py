"""Comparison of results with a reference, within tolerances."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ssptool.arguments import WrongArgument, path, texts
from ssptool.drawing.plot_model import PICTURES, check_plot_name
from ssptool.engine.run.accuracy import StatedErrors, stated_errors
from ssptool.engine.run.manifest import differences
from ssptool.engine.run.result import Result, made_by, trace_of
from ssptool.engine.trace import Trace
from ssptool.public_calls import public
from ssptool.results.comparison import TRACE_COMPARISON_RENDERERS as TRACE_COMPARISON_RENDERERS
from ssptool.results.comparison import RunDifference, TraceComparison, compare_traces, with_full_names, without_prefix
from ssptool.results.comparison_picture import draw_comparison
from ssptool.results.tolerance import Tolerance as Tolerance
from ssptool.results.tolerance import ToleranceFor as ToleranceFor


@public
def compare(
    trace: Result | Trace | Path | str,
    reference: Result | Trace | Path | str,
    *,
    signals: str | Sequence[str] = (),
    tolerance: Tolerance | None = None,
    special: Sequence[ToleranceFor] = (),
    plot: Path | str | None = None,
    drop_prefix: str = "",
) -> TraceComparison:
    """Compare a trace with a reference: every signal must stay within a tube around its reference.

    The stated errors of the runs do not change the outcome; `beyond` lists the signals with larger differences.

    Parameters
    ----------
    trace, reference
        Results, traces, or files of results (.csv, .parquet, .mat, .h5, .mf4).
    signals
        Compare only signals that match one of these patterns, in which * matches any text (default: all signals of
        the reference).
    tolerance
        Half-widths of the tubes of continuous signals (default: a thousandth of the largest magnitude of the
        reference). All other signals must be equal.
    special
        Tolerances of single signals or patterns; the last match applies.
    drop_prefix
        Remove this beginning from the names of signals in both, such as the `model.root.` of other tools.
    plot
        Draw the signals with the largest deviations into this PNG, SVG or PDF file.

    Raises
    ------
    UnknownName
        A pattern matches no signal of the reference.
    WrongValue
        A trace has no rows, its times decrease, or the reference has no signals.
    UnusableFile
        A file is not a trace.
    """
    picture = None if plot is None else path("plot", plot)
    if picture is not None:
        check_plot_name(picture, PICTURES)
    given = {"trace": trace, "reference": reference}
    found, expected = (without_prefix(trace_of(name, one), drop_prefix) for name, one in given.items())
    patterns = texts("signals", signals, "a pattern such as '*.x1'")
    if not (tolerance is None or isinstance(tolerance, Tolerance)):
        raise WrongArgument("tolerance", tolerance, "a Tolerance, such as Tolerance(relative=1e-3)")
    if any(not isinstance(one, ToleranceFor) for one in special):
        raise WrongArgument("special", special, "a list of ToleranceFor, a pattern with its Tolerance")
    own, others = (_errors(one, drop_prefix) for one in given.values())
    found, own = _named_as_in(expected, found, own)
    expected, others = _named_as_in(found, expected, others)
    comparison = compare_traces(
        found, expected, patterns=patterns, tolerance=tolerance, special=special, errors=(own, others)
    )
    comparison = replace(comparison, runs=tuple(_fact_differences(trace, reference)))
    if picture is not None:
        draw_comparison(comparison, found, expected, picture)
    return comparison


def _named_as_in(other: Trace, trace: Trace, errors: StatedErrors | None) -> tuple[Trace, StatedErrors | None]:
    """A trace and its errors; those of a lone FMU with full names, if the other trace has these."""
    full = {column.signal: column.full_name for column in trace.columns if column.full_name}
    if not any(name in other.signals for name in full.values()):
        return trace, errors
    if errors is not None and errors.each is not None:
        errors = errors._replace(each={full.get(signal, signal): error for signal, error in errors.each.items()})
    return with_full_names(trace), errors


def _errors(run: Result | Trace | Path | str, prefix: str) -> StatedErrors | None:
    found = stated_errors(made_by(run))
    return None if found is None else found.without_prefix(prefix)


def _fact_differences(
    trace: Result | Trace | Path | str, reference: Result | Trace | Path | str
) -> Iterator[RunDifference]:
    """Differences between the facts of two runs, as far as both have them."""
    manifests = [made_by(trace), made_by(reference)]
    if not all(manifests):
        return
    of_trace, of_reference = differences(manifests)
    for name, value in of_trace.items():
        yield RunDifference(name, value, of_reference[name])
