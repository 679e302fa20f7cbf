"""Thinned curves keep what one would see: every peak, and both ends."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from ssptool.drawing.plot_model import Curve, thinned

VALUES = st.floats(-1e6, 1e6) | st.just(float("nan"))


@given(of_numpy.arrays(float, st.integers(1, 400), elements=VALUES), st.integers(4, 60))
def test_a_thinned_curve_is_part_of_the_curve_with_its_extremes(y, most):
    curve = Curve("y", "m", np.arange(float(len(y))), y)
    found = thinned(curve, most)
    places = found.t.astype(int)
    assert (np.diff(places) > 0).all()
    np.testing.assert_array_equal(found.y, y[places])
    assert {places[0], places[-1]} == {0, len(y) - 1}
    if not np.isnan(y).any():
        assert (found.y.min(), found.y.max()) == (y.min(), y.max())
        assert len(places) <= max(most, min(len(y), 2 * (most // 2) + 2))
