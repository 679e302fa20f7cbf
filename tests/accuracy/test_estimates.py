"""Errors that are estimated from traces of known error."""

import numpy as np
import pytest
from pytest import approx

from ssptool.engine.run.accuracy import AccuracyMethod, estimated
from ssptool.engine.run.refinement import compared_times
from ssptool.engine.trace import Column
from ssptool.types import Trace


def runs(*columns, steps=(0.1, 0.05, 0.025), stop=2.0):
    """Traces with these steps [s]: columns with their values as functions of the times and of the step."""
    traces = []
    for h in steps:
        t = np.linspace(0.5, 0.5 + stop, round(stop / h) + 1)
        traces.append(Trace.of(t, [(column, values(t, h)) for column, values in columns]))
    return traces


def accuracy(*columns, steps=(0.1, 0.05, 0.025), **more):
    return estimated(runs(*columns, steps=steps, **more), AccuracyMethod.HALVED, steps, steps[0])


SPEED, POSITION, ON = Column("Motor.speed", "rad/s"), Column("Motor.x", "mm"), Column("Room.on", type="Boolean")


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_error_of_a_method_is_found_with_its_order(order):
    """3 + 40 sin 2t with the error 7 h^p (t − 0.5): at the end of two seconds 14 h^p."""
    found = accuracy((SPEED, lambda t, h: 3 + 40 * np.sin(2 * t) + 7 * h**order * (t - 0.5)))
    assert found.order == approx(order, abs=1e-6)
    assert found.signal == "Motor.speed" and found.time == approx(2.5)
    assert found.error == approx(14 * 0.1**order / np.ptp(40 * np.sin(2 * np.linspace(0.5, 2.5, 81))), rel=0.02)


def test_the_error_is_relative_to_the_range_of_each_signal_not_to_its_size():
    """A motion of 2 mm about 5000 mm with an error of 0.2 mm is off by a tenth, a speed of 100 rad/s by a hundredth."""
    found = accuracy(
        (SPEED, lambda t, h: 50 * np.cos(np.pi * (t - 0.5)) + 10 * h),
        (POSITION, lambda t, h: 5000 + np.cos(np.pi * (t - 0.5)) + 2 * h),
    )
    assert (found.signal, found.order) == ("Motor.x", approx(1.0, abs=1e-6))
    assert found.error == approx(0.1, rel=0.1)


def test_without_a_third_run_order_one_is_assumed():
    found = accuracy((SPEED, lambda t, h: t + 8 * h**2), steps=(0.1, 0.05))
    assert found.order is None
    assert found.error == approx(2 * 8 * (0.1**2 - 0.05**2) / 2, rel=1e-9)


def test_an_error_that_does_not_fall_is_reported_as_that():
    found = accuracy((SPEED, lambda t, h: t * np.cos(1 / h)))
    assert found.order < 0.5 and found.remark == "it does not fall with smaller steps"
    assert found.error > 0.1


def test_of_a_large_difference_the_order_is_not_trusted():
    """The error 300 h^2 of a range of 2 is 1.5 of it; half the step leaves a quarter, and what else is not known."""
    found = accuracy((SPEED, lambda t, h: (t - 0.5) * (1 + 150 * h**2)))
    assert "too large" in found.remark and "--step-size" not in str(found)
    assert found.error >= 1.5 * 0.1**2 * 100 * 0.9


def test_a_signal_that_does_not_move_has_no_error_but_its_rounding():
    signals = [(SPEED, lambda t, h: np.full(len(t), 1e6) * (1 + 1e-15 * h)), (POSITION, lambda t, h: t + h)]
    assert accuracy(*signals).signal == "Motor.x"


def test_results_that_do_not_depend_on_the_step_say_nothing_of_errors_inside_of_fmus():
    found = accuracy((SPEED, lambda t, h: 1 + np.floor(10 * t)))
    assert found.error is None and "inside the FMUs" in str(found)


def test_a_shifted_switch_counts_by_its_time():
    """After 1.53 s + 2 h: seen at 1.8 s with steps of 0.1 s, and at 1.65 s with half of them; of two seconds."""
    found = accuracy((ON, lambda t, h: t > 1.53 + 2 * h), steps=(0.1, 0.05))
    assert (found.signal, found.time, found.remark) == ("Room.on", approx(1.8), "")
    assert found.error == approx(2 * 0.15 / 2)  # order 1 is assumed


def test_a_switch_is_not_more_exact_than_the_distance_of_rows_around_it():
    """After 1.79 s: all runs see it at 1.8 s. The finest has a row at 1.775 s before."""
    assert accuracy((ON, lambda t, h: t > 1.79)).error == approx(0.025 / 2)


def test_another_number_of_switches_is_a_whole_error():
    found = accuracy((SPEED, lambda t, h: t), (ON, lambda t, h: np.sin((9 if h > 0.07 else 12) * t) > 0))
    assert (found.error, found.signal) == (1.0, "Room.on")
    assert "6 times" in found.remark and "8 times" in found.remark  # multiples of π in 4.5 … 22.5 and in 6 … 30


@pytest.mark.parametrize("kind", ["String", "Binary"])
def test_texts_and_bytes_are_compared_by_content(kind):
    def mode(t, h):
        words = (
            ["idle", "run", "off" if h > 0.07 else "hold"]
            if kind == "String"
            else [b"\0", b"\1\2", bytes([int(h > 0.07)])]
        )
        return [words[min(int(one), 2)] for one in t]

    assert accuracy((Column("A.mode", type=kind), mode)).error == 1.0
    assert accuracy((Column("A.mode", type=kind), lambda t, h: mode(t, 1.0)), (POSITION, lambda t, h: t + h)).error < 1


def test_a_run_that_leaves_the_finite_numbers_is_wrong_without_bound():
    found = accuracy((SPEED, lambda t, h: np.where((t > 2) & (h > 0.07), np.inf, t)))
    assert found.error == np.inf and "not finite" in found.remark


def test_at_a_jump_the_values_after_it_are_compared():
    """Two rows at 1.5 s: before the jump both runs differ, after it they agree."""
    traces = [Trace.of([0.5, 1.5, 1.5, 2.5], [(SPEED, [0.0, one, 7.0, 9.0])]) for one in (3.0, 4.0)]
    assert estimated(traces, AccuracyMethod.TOLERANCE, (1e-4, 1e-6), 1.0).error == 0.0


def test_runs_without_a_common_time_say_so():
    traces = [Trace.of(t, [(SPEED, [1.0, 2.0])]) for t in ([0.0, 1.0], [0.3, 1.3])]
    found = estimated(traces, AccuracyMethod.HALVED, (1.0, 0.5), 1.0)
    assert found.error is None and "no time in common" in found.remark


def step_at(when):
    """A ramp that begins at the first communication point after this time, as a held input makes it."""
    return lambda t, h: np.maximum(t - (0.5 + h * np.ceil((when - 0.5) / h)), 0)


def test_a_jump_that_two_runs_see_at_the_same_time_is_seen_by_the_third():
    """It happens at 1.56 s: both 0.1 and 0.05 s see it at 1.6 s, 0.025 s at 1.575 s; the true end is off by 0.04 s."""
    found = accuracy((SPEED, step_at(1.56)))
    assert found.remark == "it does not fall with smaller steps"
    assert found.error * (2.5 - 1.575) >= 0.04


def compared(base, exact, column=SPEED):
    """Of two runs with rows (times, values) each, of which the second counts as exact."""
    traces = [
        Trace.of(np.array(t), [(column, np.array(values, dtype=int if column is ON else float))])
        for t, values in (base, exact)
    ]
    return estimated(traces, AccuracyMethod.MODEL_EXCHANGE, (0.1, 1e-9), 0.1)


def test_the_whole_difference_to_model_exchange_is_error():
    found = compared(([0, 0.1, 0.2], [3, 4, 5.5]), ([0, 0.1, 0.2], [3, 4, 5]))
    assert found.error == approx(0.25) and found.time == approx(0.2) and found.order is None


def test_at_an_event_the_value_before_it_is_as_right_as_the_one_after_it():
    exact = ([0, 0.1, 0.1, 0.2], [3, 4, 9, 9])
    assert compared(([0, 0.1, 0.2], [3, 4, 9]), exact).error == 0
    assert compared(([0, 0.1, 0.2], [3, 9, 9]), exact).error == 0
    assert compared(([0, 0.1, 0.2], [3, 9.6, 9]), exact).error == approx(0.1)


def test_a_switch_is_as_wrong_as_its_distance_to_that_of_model_exchange():
    times = [0, 0.1, 0.2, 0.3, 0.4]
    exact = ([0, 0.1, 0.18, 0.18, 0.2, 0.3, 0.4], [0, 0, 0, 1, 1, 1, 1])
    assert compared((times, [0, 0, 0, 1, 1]), exact, ON).error == approx(0.12 / 0.4)
    assert compared((times, [0, 0, 0, 0, 0]), exact, ON).error == 1


def test_runs_are_compared_all_along_and_where_steps_are_small():
    """Of 20 000 steps, 19 900 are taken in the first thousandth of 2 s."""
    burst = np.concatenate((np.linspace(0.5, 0.501, 9_950), np.linspace(0.501, 0.502, 9_950)))
    trace = Trace.of(t := np.concatenate((burst, np.linspace(0.502, 2.5, 101))), [(SPEED, np.sin(t))])
    times = np.array(compared_times(trace))
    assert set(times.tolist()) <= set(t.tolist())
    assert times[0] == 0.5 and times[-1] == 2.5 and np.diff(times).max() <= 2 * 2.0 / 100
    assert np.sum(times < 0.502) >= 50
    rung = Trace.of(t, [(SPEED, np.sin(t) + 0.03 * (np.arange(len(t)) == 4_321))])
    assert t[4_321] in compared_times(rung) and t[4_321] not in times
    few = Trace.of(t[::200], [(SPEED, np.sin(t[::200]))])
    assert list(compared_times(few)) == np.unique(t[::200]).tolist()
