"""The example systems in libcosim, a program of others.

`mass_spring_damper` is not among them: libcosim knows components only, no systems in systems.
"""

import numpy as np
import pytest

from tests.systems.peers import FLAT, in_libcosim, late, packed_for_peers, where_wheels_are

pytestmark = where_wheels_are
STEPS = 1000
STIFF = {"flyball_governor": 8e5 * 1e-15}
"""[N] What a spring of 8e5 N/m makes of a length that is round-off away."""


@pytest.mark.parametrize("name", FLAT)
def test_it_gives_the_trace_of_late_exchange(name, tmp_path):
    """To round-off: its times are whole nanoseconds and ours multiples of the step, so that lengths of steps differ in
    the last bit; over a thousand steps that makes at most 1e-13 of the largest value.
    """
    ours = late(name, STEPS)
    theirs = in_libcosim(packed_for_peers(name, tmp_path), FLAT[name], list(ours), STEPS)
    for signal, values in ours.items():
        allowed = 1e-13 * max(1.0, np.max(np.abs(values))) + STIFF.get(name, 0.0)
        assert np.max(np.abs(theirs[signal][1:] - values[1:])) <= allowed, signal
