"""A mass-spring-damper as a part, used twice: what the claims about it rest on, and two readings of its start."""

import numpy as np
import pytest
from pytest import approx

from tests.systems.claims.mass_spring_damper import THETA, USES, VALUES, C, G, M, exact, position


@pytest.mark.parametrize("case", VALUES)
def test_the_closed_form_has_the_values_of_an_independent_computation(case):
    times = np.array(list(VALUES[case]))
    assert exact(times, USES[case][1]) == approx(list(VALUES[case].values()), abs=1e-12)


def test_both_readings_of_the_start_agree_where_the_acceleration_is_the_consistent_one():
    """With the stretch 0 the mass starts with a0 = (F + f)/m − g sin(theta) = −12.405 m/s2; the stretch found from that
    a0 is 0 again.
    """
    s0, v0, d = 0.3, 0.0, 4.0
    a0 = -(C * s0 + d * v0) / M - G * np.sin(THETA)
    assert a0 == approx(-12.405, abs=1e-12)
    stretch = -s0 - (M * (a0 + G * np.sin(THETA)) + d * v0) / C
    _, given = position("first")
    _, found = position("first", overrides={"spring_damper.stretch": repr(float(stretch))})
    assert np.max(np.abs(given - found)) <= 1e-14
