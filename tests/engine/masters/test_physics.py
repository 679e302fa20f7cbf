"""What a way of coupling does to the energy of an oscillation.

A force that acts with a mean delay τ is a damping of −k τ: half a step where inputs are held, one and a half where
outputs are one step late, none where inputs are interpolated to their values at the end of the step.
"""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from tests.engine.systems import write_system

K, M, Z0 = 69.48, 0.03575, 0.0016
HELD = {"master": "jacobi", "approximation": "hold"}
LATE = {"exchange": "late"}
EXTRAPOLATED = {"master": "jacobi", "approximation": "extrapolate"}
END_VALUE = {"master": "iterated", "approximation": "hold"}
INTERPOLATED = {"master": "iterated", "approximation": "interpolate"}

GROWTH = [
    # coupling, growth of the amplitude in 1 s at d = 0 with h = 1e-3 and 5e-4, at d = 0.0039 N.s/m with the same
    (HELD, 1.623556497, 1.274250603, 1.537597725, 1.206766402),
    (LATE, 4.272503106, 2.068580708, 4.047037790, 1.959120400),
    (EXTRAPOLATED, 1.000634929, 1.000079746, 0.947573238, 0.947094801),
    (END_VALUE, 0.615931765, 0.784774991, 0.583321622, 0.743213487),
    (INTERPOLATED, 0.999999205, 0.999999790, 0.947046888, 0.947037991),
]
"""Of the recursions for exact integration within a step; the same numbers follow from products of 2×2 matrices."""


@pytest.fixture(scope="module")
def mass_on_a_spring(engine_models, tmp_path_factory):
    wires = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]
    folder = tmp_path_factory.mktemp("mass") / "system"
    return write_system(folder, engine_models, {"Mass": "Mass", "Spring": "SpringDamper"}, wires)


def growth(system, h, d, **settings):
    start_values = {"Spring.d": repr(d)}
    trace = ssptool.simulate(
        system, start_values=start_values, settings=Settings(stop_time=1.0, step_size=h, **settings)
    )
    z, v = trace.unwrap()["Mass.z"], trace.unwrap()["Mass.v"]
    return float(np.hypot(z[-1], v[-1] / np.sqrt(K / M)) / Z0)


@pytest.mark.parametrize(("coupling", "coarse", "fine", "damped", "damped_fine"), GROWTH)
def test_the_amplitude_after_a_second_is_that_of_the_coupling(
    mass_on_a_spring, coupling, coarse, fine, damped, damped_fine
):
    """Nine digits of the recursion are met; asked for are 1e-3."""
    for h, d, expected in ((1e-3, 0.0, coarse), (5e-4, 0.0, fine), (1e-3, 0.0039, damped), (5e-4, 0.0039, damped_fine)):
        assert growth(mass_on_a_spring, h, d, **coupling) == approx(expected, rel=1e-8)


@pytest.mark.parametrize(("coupling", "delay"), [(HELD, 0.5), (LATE, 1.5), (INTERPOLATED, 0.0), (END_VALUE, -0.5)])
def test_a_delay_of_the_force_is_a_negative_damping(mass_on_a_spring, coupling, delay):
    """Growth exp(ω² τ/2) with τ = delay · h; the next term is smaller by ω² τ², below 5e-3 of the exponent here."""
    h = 2e-4
    assert np.log(growth(mass_on_a_spring, h, 0.0, **coupling)) == approx(K / M * delay * h / 2, rel=1e-2, abs=1e-5)
