"""Whether traces agree: on curves whose difference is known in closed form."""

import json

import numpy as np
import pytest

import ssptool
from ssptool import read_trace
from ssptool.engine.recording.formats import open_writer
from ssptool.engine.trace import Column
from ssptool.errors import UnknownName
from ssptool.exceptions import WrongValue
from ssptool.results.comparison import SignalVerdict, compare_traces, comparison_json, comparison_text
from ssptool.types import Tolerance, ToleranceFor, Trace


def trace(t, *columns: tuple[Column, object]) -> Trace:
    t = np.asarray(t, dtype=float)
    return Trace.of(t, [(column, np.broadcast_to(y, t.shape) if np.ndim(y) == 0 else y) for column, y in columns])


def sine(step: float, *, delay: float = 0.0, gain: float = 1.0, stop: float = 10.0) -> Trace:
    t = np.arange(0.0, stop + step / 2, step)
    return trace(t, (Column("A.y", "m"), gain * np.sin(np.maximum(t - delay, 0.0))))


def test_a_trace_agrees_with_itself_without_any_tolerance():
    comparison = compare_traces(sine(0.01), sine(0.01), tolerance=Tolerance(relative=0.0))
    assert comparison.agrees
    assert comparison.signals[0].deviation == 0.0


def test_the_largest_deviation_of_an_amplified_sine_is_at_its_crest():
    """(1.1 − 1) sin t is largest, 0.1, at π/2; the nearest sample is at most half a step (5e-4) away."""
    one = compare_traces(sine(1e-3, gain=1.1, stop=3.0), sine(1e-3, stop=3.0)).signals[0]
    assert one.verdict is SignalVerdict.DIFFERS
    assert one.deviation == pytest.approx(0.1, rel=1e-6)
    assert one.at == pytest.approx(np.pi / 2, abs=1e-3)


def test_a_signal_leaves_its_tube_where_the_formula_says():
    """0.1 sin t > 0.05 from t = π/6 on."""
    one = compare_traces(
        sine(1e-3, gain=1.1, stop=3.0), sine(1e-3, stop=3.0), tolerance=Tolerance(absolute=0.05, relative=0.0)
    ).signals[0]
    assert one.first_outside == pytest.approx(np.pi / 6, abs=1.1e-3)
    assert one.excess == pytest.approx(0.05, rel=1e-5)


@pytest.mark.parametrize(("allowed", "agrees"), [(0.1, True), (0.09, False)])
def test_a_late_signal_agrees_if_so_much_delay_is_allowed(allowed, agrees):
    tolerance = Tolerance(relative=1e-5, time=allowed)  # 1e-5: lines between samples at 1e-2 are off by h²/8
    assert compare_traces(sine(0.01, delay=0.1), sine(0.01), tolerance=tolerance).agrees is agrees


def test_traces_on_different_grids_are_compared_at_the_points_of_both():
    """A reference with a peak between two rows of the trace: seen only at the reference's own time."""
    peak = trace([0, 1, 2], (Column("y"), [0, 1, 0]))
    flat = trace([0, 2], (Column("y"), [0, 0]))
    assert compare_traces(flat, peak).signals[0].at == 1.0
    assert compare_traces(peak, flat).signals[0].at == 1.0


@pytest.mark.parametrize("type", ["Boolean", "Int32", "Enumeration"])
def test_a_discrete_signal_is_held_and_must_be_equal(type):
    early = trace([0, 1, 2], (Column("n", type=type), [0, 1, 1]))
    late = trace([0, 1.5, 2], (Column("n", type=type), [0, 1, 1]))
    assert compare_traces(early, early).agrees
    assert compare_traces(early, late).signals[0].first_outside == 1.0
    allowed = [ToleranceFor("n", Tolerance(relative=0.0, time=0.5))]
    assert compare_traces(early, late, special=allowed).agrees


def test_the_last_pattern_that_fits_gives_the_tolerance():
    reference = trace([0, 1], (Column("A.y[1]"), 1.0), (Column("A.z"), 1.0))
    found = trace([0, 1], (Column("A.y[1]"), 1.5), (Column("A.z"), 1.5))
    wide, tight = Tolerance(absolute=1.0), Tolerance(absolute=0.1)
    by_name = {
        one.signal: one.verdict
        for one in compare_traces(
            found, reference, special=[ToleranceFor("A.*", tight), ToleranceFor("A.y[1]", wide)]
        ).signals
    }
    assert by_name == {"A.y[1]": SignalVerdict.AGREES, "A.z": SignalVerdict.DIFFERS}


@pytest.mark.parametrize(
    ("column", "verdict", "word"),
    [
        (Column("A.y", "kg"), SignalVerdict.OTHER_UNIT, "kg"),
        (Column("A.y", "m", "Boolean"), SignalVerdict.OTHER_TYPE, "Boolean"),
        (Column("A.yy", "m"), SignalVerdict.MISSING, "A.yy"),
    ],
)
def test_what_cannot_be_compared_does_not_agree_and_says_why(column, verdict, word):
    comparison = compare_traces(trace([0, 10], (column, 0)), sine(0.1))
    assert not comparison.agrees
    assert comparison.signals[0].verdict is verdict
    assert word in comparison_text(comparison)


def test_a_trace_that_ends_early_does_not_agree():
    comparison = compare_traces(sine(0.01, stop=8.0), sine(0.01))
    assert comparison.signals[0].verdict is SignalVerdict.AGREES
    assert not comparison.agrees
    assert "ends at 8 s" in comparison_text(comparison)


def test_a_value_that_is_no_number_does_not_agree():
    good, bad = trace([0, 1], (Column("y"), [0, 0])), trace([0, 1], (Column("y"), [0, np.nan]))
    comparison = compare_traces(bad, good)
    assert not comparison.agrees
    assert json.loads(comparison_json(comparison))["signals"][0]["excess"] == "INF"


def test_the_worst_signals_come_first():
    reference = trace([0, 1], *((Column(name), 1.0) for name in "abc"))
    found = trace([0, 1], (Column("a"), 1.1), (Column("b"), 1.3), (Column("c"), 1.0))
    assert [one.signal for one in compare_traces(found, reference).signals] == ["b", "a", "c"]


def test_a_pattern_that_fits_nothing_is_refused_with_what_is_near():
    with pytest.raises(UnknownName, match=r"A\.x.*did you mean A\.y"):
        compare_traces(sine(0.1), sine(0.1), patterns=["A.x"])
    with pytest.raises(WrongValue, match="without rows"):
        compare_traces(trace([], (Column("A.y"), [])), sine(0.1))


@pytest.mark.parametrize("wrong", [{"absolute": -1.0}, {"relative": float("nan")}, {"time": float("inf")}])
def test_a_tolerance_is_finite_and_not_negative(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Tolerance(**wrong)


# -- types -----------------------------------------------------------------------------------------------------


def test_texts_agree_if_they_are_equal_however_wide_the_tube():
    text = Column("A.s", type="String")
    reference = trace([0.0, 1.0, 2.0], (text, ["off", "on", "on"]))
    assert compare_traces(trace([0.0, 1.0, 1.5, 2.0], (text, ["off", "on", "on", "on"])), reference).agrees
    late = trace([0.0, 1.0, 1.5, 2.0], (text, ["off", "off", "on", "on"]))
    one = compare_traces(late, reference, tolerance=Tolerance(absolute=1e9)).signals[0]
    assert (one.verdict, one.first_outside, one.remark) == (SignalVerdict.DIFFERS, 1.0, "'off' instead of 'on'")
    special = [ToleranceFor("A.s", Tolerance(relative=0.0, time=0.6))]
    assert compare_traces(late, reference, special=special).agrees
    assert "outside since 1 s: 'off' instead of 'on'" in comparison_text(compare_traces(late, reference))


@pytest.mark.parametrize(("kind", "large"), [("Int64", 2**63 - 1), ("UInt64", 2**64 - 1), ("Int64", -(2**60))])
def test_integers_that_are_one_double_are_still_two_values(kind, large):
    column = Column("A.n", type=kind)
    other = large - 1 if large > 0 else large + 1
    assert float(large) == float(other)
    reference = trace([0.0, 1.0], (column, [large, 0]))
    assert compare_traces(reference, reference).agrees
    one = compare_traces(trace([0.0, 1.0], (column, [other, 0])), reference).signals[0]
    assert (one.verdict, one.at, one.remark) == (SignalVerdict.DIFFERS, 0.0, f"{other} instead of {large}")


def test_booleans_are_held_and_must_be_equal():
    column = Column("A.b", type="Boolean")
    reference = trace([0.0, 1.0, 2.0], (column, [False, True, True]))
    assert compare_traces(trace([0.0, 1.0, 2.0], (column, [False, True, True])), reference).agrees
    assert not compare_traces(trace([0.0, 0.9, 2.0], (column, [False, True, True])), reference).agrees


def test_discrete_real_numbers_are_held():
    """A staircase from 0 to 1 at t = 2 is at 1 from the line between its samples."""
    reference = trace([0.0, 2.0], (Column("A.y", discrete=True), [0.0, 1.0]))
    assert compare_traces(trace([0.0, 1.0, 2.0], (Column("A.y", discrete=True), [0.0, 0.0, 1.0])), reference).agrees
    assert not compare_traces(trace([0.0, 1.0, 2.0], (Column("A.y"), [0.0, 0.5, 1.0])), reference).agrees


def test_a_text_is_not_compared_with_a_number():
    reference = trace([0.0], (Column("A.s", type="String"), ["1"]))
    one = compare_traces(trace([0.0], (Column("A.s", type="Int32"), [1])), reference).signals[0]
    assert one.verdict is SignalVerdict.OTHER_TYPE


def test_common_units_are_converted():
    """1500 rpm = 50 π rad/s; 20 degC = 293.15 K; 1 bar = 100 kPa."""
    found = trace([0, 1], (Column("w", "rpm"), 1500.0), (Column("T", "degC"), 20.0), (Column("p", "bar"), 1.0))
    wanted = trace([0, 1], (Column("w", "rad/s"), 50 * np.pi), (Column("T", "K"), 293.15), (Column("p", "kPa"), 100.0))
    comparison = compare_traces(found, wanted, tolerance=Tolerance(relative=1e-12))
    assert comparison.agrees
    assert {one.signal: (one.unit, one.remark) for one in comparison.signals} == {
        "w": ("rad/s", "converted from rpm"),
        "T": ("K", "converted from degC"),
        "p": ("kPa", "converted from bar"),
    }
    assert "converted from rpm" in comparison_text(comparison)


@pytest.mark.parametrize("unit", ["N", "furlong"])
def test_units_that_cannot_be_converted_are_told(unit):
    one = compare_traces(trace([0, 1], (Column("y", unit), 1.0)), trace([0, 1], (Column("y", "m"), 1.0))).signals[0]
    assert one.verdict is SignalVerdict.OTHER_UNIT
    assert one.remark == f"it is in {unit}, its reference in m"


@pytest.mark.parametrize("kind", ["Boolean", "Int32", "UInt8", "Enumeration"])
def test_a_reference_that_does_not_tell_types_has_those_of_the_trace_if_its_values_have(kind):
    """Compared as what they are: held between samples, and equal."""
    machine = bool if kind == "Boolean" else int
    found = trace([0, 1, 2], (Column("y", type=kind), np.array([0, 1, 1], dtype=machine)))
    assert compare_traces(found, trace([0, 1, 2], (Column("y"), [0.0, 1.0, 1.0]))).agrees
    assert compare_traces(trace([0, 1, 2], (Column("y"), [0.0, 1.0, 1.0])), found).agrees
    late = compare_traces(found, trace([0, 1, 2], (Column("y"), [0.0, 0.0, 1.0]))).signals[0]
    assert late.verdict is SignalVerdict.DIFFERS
    assert late.first_outside == 1.0
    assert compare_traces(found, trace([0, 1, 2], (Column("y"), [0.0, 0.5, 1.0]))).signals[0].verdict is (
        SignalVerdict.OTHER_TYPE
    )


def test_names_with_another_tools_prefix_are_recognized():
    found, wanted = trace([0, 1], (Column("A.y"), 1.0)), trace([0, 1], (Column("model.root.A.y"), 1.0))
    one = compare_traces(found, wanted).signals[0]
    assert one.verdict is SignalVerdict.MISSING
    assert one.remark == "it is called A.y there: drop the prefix model.root."
    assert ssptool.compare(found, wanted, drop_prefix="model.root.").agrees


def test_times_that_go_back_are_refused():
    with pytest.raises(WrongValue, match="times of the reference go back: 2 s is followed by 1 s"):
        compare_traces(trace([0, 1, 2], (Column("y"), 0.0)), trace([0, 2, 1], (Column("y"), 0.0)))


def test_notebooks_show_a_comparison_as_a_table():
    found = trace([0, 1], (Column("<A>.y", "m"), 1.0), (Column("b", "m"), 2.0))
    text = compare_traces(found, trace([0, 1], (Column("<A>.y", "m"), 1.0), (Column("b", "m"), 1.0)))._repr_html_()
    assert "differs: 1 of 2 signals" in text
    assert text.index('<td style="text-align: left">b</td>') < text.index("&lt;A&gt;.y")


def test_a_csv_file_alone_is_compared_in_units(tmp_path):
    for name, unit, values in ("a", "m", [0.0, 1.0]), ("b", "mm", [0.0, 1000.0]):
        writer = open_writer(tmp_path / f"{name}.csv", [Column("x", unit)])
        writer.write(np.column_stack([[0.0, 1.0], values]))
        writer.close("{}")
        (tmp_path / f"{name}.csv.json").unlink()
    comparison = compare_traces(read_trace(tmp_path / "a.csv"), read_trace(tmp_path / "b.csv"))
    assert comparison.agrees
    assert comparison.signals[0].remark == "converted from m"
