"""The example systems in ecos, a program of others.

`mass_spring_damper` is not among them: ecos knows components only, no systems in systems.
"""

import numpy as np
import pytest

from tests.systems.peers import FLAT, in_ecos, late, packed_for_peers, where_wheels_are

pytestmark = where_wheels_are
STEPS = 1000
STATELESS = {
    "flyball_governor": ("Coupler.F", "Coupler.tau"),
    "one_dof_oscillator": ("SpringDamper.F",),
    "rotational_spring_mass_damper": ("spring1.tau_a", "damper1.tau_b", "spring2.tau_a", "damper2.tau_a"),
}
MOTIONS = {
    "dual_mass_oscillator": ("System1.x1", "System1.v1"),
    "one_dof_oscillator": ("Mass.z", "Mass.v"),
    "rotational_spring_mass_damper": ("inertia1.phi", "inertia1.w", "inertia2.phi", "inertia2.w"),
    "flyball_governor": ("Arms.alpha", "Arms.alphaDot", "Slider.s", "Slider.sDot"),
}


@pytest.mark.parametrize("name", FLAT)
def test_bodies_move_as_with_late_exchange_to_the_last_bit(name, tmp_path):
    ours = late(name, STEPS)
    theirs = in_ecos(packed_for_peers(name, tmp_path), FLAT[name], MOTIONS[name], STEPS)
    for signal in MOTIONS[name]:
        assert np.array_equal(theirs[signal], ours[signal]), signal


@pytest.mark.parametrize("name", STATELESS)
def test_forces_are_read_there_when_inputs_have_arrived_and_sent_on_a_step_later(name, tmp_path):
    """What it shows of an output with direct feedthrough belongs to the instant; what the others get is of the one
    before. Of a component without states, the one is the other a step later.
    """
    ours = late(name, STEPS)
    theirs = in_ecos(packed_for_peers(name, tmp_path), FLAT[name], STATELESS[name], STEPS)
    for signal in STATELESS[name]:
        assert np.array_equal(theirs[signal][:-1], ours[signal][1:]), signal
