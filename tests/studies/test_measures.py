"""Measures against closed forms of straight lines, and of a sine."""

import numpy as np
import pytest
from pytest import approx

from ssptool.engine.trace import Column
from ssptool.studies import expressions
from ssptool.studies.expressions import NoValue, functions_of
from ssptool.types import Trace

T = np.linspace(0.0, 2 * np.pi, 20001)
SINE = np.sin(T)
# The error of straight lines through a sine is h²/8 at most, with h = 2π/20000.
ATOL = 2e-8


def test_a_sine_has_the_measures_of_a_sine():
    assert expressions.mean(T, SINE) == approx(0, abs=ATOL)
    assert expressions.rms(T, SINE) == approx(np.sqrt(0.5), abs=ATOL)
    assert expressions.integral(T[:10001], SINE[:10001]) == approx(2, abs=ATOL)
    assert expressions.time_of_max(T, SINE) == approx(np.pi / 2, abs=1e-3)
    assert expressions.crossing(T, SINE, 0.5, "up") == approx(np.pi / 6, abs=ATOL)
    assert expressions.crossing(T, SINE, 0.5, "down") == approx(5 * np.pi / 6, abs=ATOL)
    assert expressions.crossing(T, SINE, 0.5, "any", -1) == approx(5 * np.pi / 6, abs=ATOL)


def test_means_are_over_time_and_not_over_rows():
    """y = t on [0, 1], with rows that crowd at the start: mean 1/2, rms 1/√3."""
    t = np.linspace(0, 1, 30) ** 3
    assert expressions.mean(t, t) == approx(0.5, rel=1e-14)
    assert expressions.rms(t, t) == approx(1 / np.sqrt(3), rel=1e-14)


def test_between_rows_a_signal_is_a_line():
    t, y = np.array([0.0, 1.0, 3.0]), np.array([1.0, 3.0, -1.0])
    assert expressions.at(t, y, 2.0) == 1.0
    assert expressions.crossing(t, y, 2.0) == 0.5
    assert expressions.crossing(t, y, 2.0, "down") == 1.5
    assert expressions.crossing(t, y, 2.0, number=2) == 1.5
    assert (expressions.initial(t, y), expressions.final(t, y), expressions.minimum(t, y)) == (1.0, -1.0, -1.0)


def test_a_signal_that_touches_a_level_or_begins_there_does_not_cross_it():
    t = np.arange(5.0)
    with pytest.raises(NoValue):
        expressions.crossing(t, np.array([0.0, 1.0, 2.0, 1.0, 0.0]), 2.0)
    with pytest.raises(NoValue):
        expressions.crossing(t, np.array([1.0, 2.0, 3.0, 3.0, 3.0]), 1.0)


def test_a_signal_that_runs_along_a_level_crosses_it_once_where_it_gets_there():
    t = np.arange(5.0)
    assert expressions.crossing(t, np.array([0.0, 1.0, 1.0, 1.0, 2.0]), 1.0) == 1.0
    with pytest.raises(NoValue, match="only 1 time; there is no crossing 2"):
        expressions.crossing(t, np.array([0.0, 1.0, 1.0, 1.0, 2.0]), 1.0, "any", 2)


def test_outside_of_the_run_there_is_no_value():
    with pytest.raises(NoValue, match="3 s"):
        expressions.at(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 3.0)
    with pytest.raises(NoValue):
        expressions.mean(np.array([0.0]), np.array([1.0]))


def test_min_and_max_take_a_signal_or_numbers():

    trace = Trace(np.array([0.0, 1.0]), np.array([[1.0], [3.0]]), (Column("A.y"),))
    functions = expressions.functions_of(trace, {"k": 5.0})
    assert functions["max"]("A.y") == 3.0
    assert functions["max"](1.0, 2.0) == 2.0
    assert functions["value"]("k") == 5.0
    with pytest.raises(ValueError, match="signal in quotes"):
        functions["final"](3.0)


def test_booleans_are_measured_as_numbers_and_texts_are_not():
    columns = [(Column("A.b", type="Boolean"), [False, True]), (Column("A.s", type="String"), ["on", "off"])]
    functions = functions_of(Trace.of([0.0, 1.0], columns), {})
    assert functions["max"]("A.b") == 1.0
    with pytest.raises(NoValue, match=r"A\.s is a String or Binary signal; max takes numbers"):
        functions["max"]("A.s")
