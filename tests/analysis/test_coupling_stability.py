"""Spectral radii of masters against closed forms, tables that were derived apart, and runs."""

from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool import analysis
from tests.analysis.systems import pendulum, thermal_chain

SYSTEMS = Path(__file__).parents[2] / "systems"
ROTATIONAL = SYSTEMS / "rotational_spring_mass_damper"
ONE_DOF = SYSTEMS / "one_dof_oscillator"


def test_largest_stable_steps_of_the_rotational_system():
    """Derived apart, with inertias that are exact for torques linear in a step."""
    found = analysis.stability(ROTATIONAL, step_size=0.1, master="jacobi")
    assert found.largest_step["jacobi, hold"] == pytest.approx(0.052312, abs=1e-6)
    assert found.largest_step["jacobi, hold, exchange late"] == pytest.approx(0.017295, abs=1e-6)
    assert found.largest_step["jacobi, extrapolate (order 1)"] == pytest.approx(0.132718, abs=1e-6)
    assert found.largest_step["iterated, interpolate (order 1)"] == pytest.approx(0.547255, abs=1e-6)
    assert found.largest_step["iterated, hold"] == np.inf
    assert found.master == "jacobi, extrapolate (order 1)"
    assert found.radius["jacobi, hold"] > 1 > found.radius["jacobi, extrapolate (order 1)"]


def test_growth_of_an_undamped_oscillator():
    """Amplitude after 1 s in 1000 steps."""
    found = analysis.stability(ONE_DOF, step_size=1e-3, master="iterated")
    growth = {name: radius**1000 for name, radius in found.radius.items()}
    assert growth["jacobi, hold"] == pytest.approx(1.623556497, rel=2e-3)
    assert growth["jacobi, hold, exchange late"] == pytest.approx(4.272503106, rel=2e-3)
    assert growth["jacobi, extrapolate (order 1)"] == pytest.approx(1.000634929, rel=1e-5)
    assert growth["iterated, hold"] == pytest.approx(0.615931765, rel=2e-3)
    assert growth["iterated, interpolate (order 1)"] == pytest.approx(1, rel=1e-9)
    assert any("undamped" in note for note in found.notes)


def test_damping_that_a_delay_outweighs():
    found = analysis.stability(ONE_DOF, parameters=ONE_DOF / "resources" / "damped.ssv", step_size=1e-3)
    assert found.largest_step["jacobi, hold"] == pytest.approx(1.122625e-4, rel=3e-6)
    assert found.largest_step["jacobi, hold, exchange late"] == pytest.approx(3.742077e-5, rel=1e-5)


def test_a_thermal_node_with_held_flows(tmp_path):
    """T' = -1.5 (T - T0), with the flows of the start of a step: a factor 1 - 1.5 h."""
    found = analysis.stability(thermal_chain(tmp_path, 1), step_size=0.4, master="jacobi", approximation="hold")
    assert found.radius["jacobi, hold"] == pytest.approx(abs(1 - 1.5 * 0.4), rel=1e-9)
    assert found.largest_step["jacobi, hold"] == pytest.approx(2 / 1.5, rel=1e-6)
    assert found.radius["iterated, hold"] == pytest.approx(1 / (1 + 1.5 * 0.4), rel=1e-9)
    assert found.radius["iterated, mean"] == pytest.approx((1 - 0.75 * 0.4) / (1 + 0.75 * 0.4), rel=1e-9)
    assert found.master == "jacobi, hold"


@pytest.mark.parametrize(("master", "approximation"), [("jacobi", "hold"), ("jacobi", "extrapolate")])
def test_runs_grow_and_decay_where_it_says_so(master, approximation):
    options = {"master": master, "approximation": approximation, "implementation": "cs"}
    found = analysis.stability(ROTATIONAL, step_size=0.01, **options)
    limit = found.largest_step[found.master]
    for factor in (0.97, 1.03):
        step = limit * factor
        result = ssptool.simulate(ROTATIONAL, step_size=step, stop_time=800 * step, **options)
        motion = np.abs(result["inertia1.phi"])
        assert (motion[-50:].max() > motion[350:400].max()) == (factor > 1)


def test_what_is_not_known_is_told(tmp_path):
    found = analysis.stability(ROTATIONAL, master="gauss-seidel")
    assert found.master == ""
    assert any("gauss-seidel" in note for note in found.notes)
    with pytest.raises(ssptool.exceptions.Unsupported, match="System1"):
        analysis.stability(SYSTEMS / "dual_mass_oscillator" / "FMI1.ssd")
    inverted = analysis.stability(pendulum(tmp_path), start_values={"P.phi": 3.0})
    assert any("unstable" in note for note in inverted.notes)
