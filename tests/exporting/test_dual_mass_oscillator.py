"""The dual-mass oscillator as one FMU, against its exact solution: algebraic loops and stiff coupling inside."""

import numpy as np
import pytest

import ssptool
from tests.engine.dual_mass import RESOURCES
from tests.exporting.fmus import SYSTEMS, assert_same_bits, exported, in_fmpy
from tests.systems.exact_dual_mass import DualMass

SYSTEM = SYSTEMS / "dual_mass_oscillator"


def test_error_and_initial_force(tmp_path):
    found = in_fmpy(exported(SYSTEM, tmp_path), 0.001)
    assert found["System2.F"][0] == pytest.approx(5.0, abs=1e-9)
    assert np.max(np.abs(found["System1.x1"] - DualMass().signals(found["time"])["x1"])) <= 1e-6


def test_with_a_heavy_flange_whose_loop_gain_is_minus_2(tmp_path):
    """Iteration without Newton's method diverges there: F(0) = 5/3 N."""
    parameters = RESOURCES / "heavy_flange.ssv"
    run = ssptool.simulate(SYSTEM, parameters=parameters).unwrap()
    found = in_fmpy(exported(SYSTEM, tmp_path, parameters=parameters), 0.001)
    assert found["System2.F"][0] == pytest.approx(5.0 / 3.0, abs=1e-9)
    assert found["time"][-1] == 10.0
    assert_same_bits(found, run)


@pytest.mark.parametrize("variant", ["FMI3", "Mixed"])
def test_with_parts_of_fmi_3(variant, tmp_path):
    run = ssptool.simulate(SYSTEM, variant=variant, stop_time=1.0).unwrap()
    assert_same_bits(in_fmpy(exported(SYSTEM, tmp_path, variant=variant, stop_time=1.0), 0.001), run)
