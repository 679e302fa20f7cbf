"""The tube is what it claims to be: every value that the reference takes nearby, and nothing more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from ssptool.results.comparison import SampledCurve, tube

BOTH = st.booleans()
"""Lines between the samples, or held."""


@st.composite
def curves(draw, kinds=BOTH) -> SampledCurve:
    """Samples on a grid of quarters, so that times are exact; some times twice, as at events."""
    n = draw(st.integers(1, 12))
    t = np.sort(draw(of_numpy.arrays(int, n, elements=st.integers(0, 40)))) / 4
    y = draw(of_numpy.arrays(int, n, elements=st.integers(-9, 9))).astype(float)
    return SampledCurve(t, y, draw(kinds))


def brute_force(curve: SampledCurve, t: float, time: float) -> tuple[float, float]:
    """Extremes over the window: its ends, and every sample in it."""
    values = [*curve.at(np.array([t - time, t + time])), *curve.y[(curve.t >= t - time) & (curve.t <= t + time)]]
    return min(values), max(values)


@given(curves(), st.lists(st.integers(-4, 44), min_size=1, max_size=9), st.integers(0, 45))
def test_a_tube_has_all_values_within_its_window(reference, times, quarters):
    t, time = np.array(times) / 4, quarters / 4
    found = tube(reference, t, 0.0, time)
    expected = [brute_force(reference, one, time) for one in t]
    assert list(zip(found.lower, found.upper, strict=True)) == expected


@given(curves(st.just(False)), st.integers(0, 45))
def test_a_shift_in_time_is_inside_a_tube_of_that_time(curve, quarters):
    shift = quarters / 4
    inside = (curve.t + shift <= curve.t[-1]) | (shift == 0)
    excess = tube(curve, curve.t[inside] + shift, 0.0, shift).excess(curve.y[inside])
    assert (excess == 0.0).all()


def test_both_sides_of_an_event_are_in_the_tube():
    reference = SampledCurve(np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.0, 5.0, 5.0]))
    found = tube(reference, np.array([0.5, 1.0, 1.5]), 0.0, 0.0)
    assert list(found.lower) == [0.0, 0.0, 5.0]
    assert list(found.upper) == [0.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("reference", "value", "excess"),
    [
        (1.0, 1.5, 0.0),
        (1.0, 2.0, 0.5),
        (1.0, 0.25, 0.25),
        (1.0, np.nan, np.inf),
        (np.nan, 1.0, np.inf),
        (np.nan, np.nan, 0.0),
        (np.inf, np.inf, 0.0),
        (np.inf, 1.0, np.inf),
        (np.inf, -np.inf, np.inf),
        (1.0, np.inf, np.inf),
    ],
)
def test_how_far_a_value_is_outside(reference, value, excess):
    at = np.array([0.0])
    assert tube(SampledCurve(at, np.array([reference])), at, 0.5, 0.0).excess(np.array([value]))[0] == excess
