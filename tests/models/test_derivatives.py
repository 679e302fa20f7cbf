"""Directional and output derivatives against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

VERSIONS = pytest.mark.parametrize("version", (2, 3))
INTERFACES = pytest.mark.parametrize("interface", ("cs", "me"))


@pytest.mark.slow
@VERSIONS
@INTERFACES
def test_derivatives_of_system1_are_its_coefficients(make, version, interface):
    instance = make("System1", version, interface).start(m1=4.0, k1=10.0, c1=0.2, F=3.0, x1_start=0.3)
    unknowns = ["a1", "der(x1)", "der(v1)", "x1", "v1"]
    expected = {
        "F": [0.25, 0, 0.25, 0, 0],
        "x1": [-2.5, 0, -2.5, 1, 0],
        "v1": [-0.05, 1, -0.05, 0, 1],
    }
    for known, column in expected.items():
        np.testing.assert_allclose(instance.directional_derivative(unknowns, {known: 1.0}), column, rtol=1e-15)


@VERSIONS
@INTERFACES
def test_the_derivative_of_the_force_with_respect_to_a1_is_minus_the_flange_mass(make, version, interface):
    instance = make("System2", version, interface).start(m_c=2.0)
    seed = {"x1": 0.5, "v1": -1.0, "a1": 3.0}
    assert instance.directional_derivative(["F"], {"a1": 1.0})[0] == -2.0
    assert instance.directional_derivative(["F"], seed)[0] == pytest.approx(-5 + 0.5 - 6, abs=1e-14)


@INTERFACES
def test_adjoint_derivatives_are_the_rows_of_what_directional_ones_are_columns_of(make, interface):
    """a1 = (F − k1 x1 − c1 v1)/m1, weighted by 2, and x1' = v1, weighted by 3."""
    instance = make("System1", 3, interface).start(m1=4.0, k1=10.0, c1=0.2, F=3.0, x1_start=0.3)
    found = instance.adjoint_derivative({"a1": 2.0, "der(x1)": 3.0}, ["F", "x1", "v1"])
    np.testing.assert_allclose(found, [0.5, -5.0, -0.1 + 3.0], rtol=1e-15)


@VERSIONS
def test_a_direction_may_be_very_long_or_very_short(make, version):
    instance = make("System1", version).start()
    for length in (1e-150, 1e-8, 1e8, 1e150):
        assert instance.directional_derivative(["a1"], {"F": length})[0] == pytest.approx(length, rel=1e-14)


@VERSIONS
def test_derivatives_with_respect_to_tunable_parameters(make, version):
    """a1 = F/m1 at rest, so da1/dm1 = -F/m1^2."""
    instance = make("System1", version).start(F=3.0, m1=2.0)
    assert instance.directional_derivative(["a1"], {"m1": 1.0})[0] == pytest.approx(-0.75, abs=1e-15)


@VERSIONS
def test_in_initialization_mode_derivatives_reach_through_the_initial_states(make, version):
    instance = make("System1", version).enter(x1_start=0.3)
    derivative = instance.directional_derivative(["x1", "a1", "der(v1)"], {"x1_start": 1.0})
    np.testing.assert_allclose(derivative, [1, -10, -10], rtol=1e-15)
    spindle = make("Spindle", version).enter(m_r=0.0, m_s=3.0, B=1.0, J_arms=1.0, Omega0=2.0)
    np.testing.assert_allclose(spindle.directional_derivative(["h", "Omega"], {"J_arms": 1.0}), [2, 0], atol=1e-15)


@VERSIONS
def test_derivatives_of_nonlinear_equations_are_exact(make, version):
    """y = a sqrt(u) + sin(w): dy/du = a/(2 sqrt u), dy/dw = cos w."""
    instance = make("Stateless", version).start(a=3.0, u=2.0, w=0.7)
    assert instance.directional_derivative(["y"], {"u": 1.0})[0] == pytest.approx(1.5 / np.sqrt(2), rel=1e-15)
    assert instance.directional_derivative(["y"], {"w": 1.0})[0] == pytest.approx(np.cos(0.7), rel=1e-15)


@VERSIONS
@pytest.mark.parametrize(
    ("unknown", "known", "word"),
    [("F", "x1", "F"), ("a1", "a1", "a1"), ("a1", "x1_start", "x1_start"), ("m1", "F", "m1")],
)
def test_what_is_not_unknown_or_not_known_is_refused(make, version, unknown, known, word):
    instance = make("System1", version).start()
    with pytest.raises(FMICallException):
        instance.directional_derivative([unknown], {known: 1.0})
    assert word in instance.log[-1]


@VERSIONS
def test_output_derivatives_are_the_time_derivatives(make, version):
    """dx1/dt = v1, dv1/dt = a1, da1/dt = (F' - k1 v1 - c1 a1)/m1, with F held."""
    instance = make("System1", version).start(F=5.0)
    instance.step(0.0, 0.2)
    v1, a1 = instance.get("v1", "a1")
    expected = [v1, a1, -10 * v1 - 0.2 * a1]
    np.testing.assert_allclose(instance.output_derivatives("x1", "v1", "a1"), expected, rtol=1e-14)


def test_output_derivatives_use_the_slope_of_the_input_at_the_end_of_the_step(make):
    instance = make("System1", 2).start(F=5.0)
    instance.set_derivatives("F", 2.0, 3.0)
    instance.step(0.0, 0.2)
    v1, a1 = instance.get("v1", "a1")
    expected = (2.0 + 3.0 * 0.2) - 10 * v1 - 0.2 * a1
    assert instance.output_derivatives("a1")[0] == pytest.approx(expected, rel=1e-14)
    instance.set(F=1.0)  # a new value without slope
    v1, a1 = instance.get("v1", "a1")
    assert instance.output_derivatives("a1")[0] == pytest.approx(-10 * v1 - 0.2 * a1, rel=1e-14)


@VERSIONS
def test_output_derivatives_include_explicit_time(make, version):
    instance = make("Stateless", version).start(start=1.5)
    np.testing.assert_allclose(instance.output_derivatives("y", "z"), [0, 3.0], rtol=1e-15)


@VERSIONS
def test_output_derivatives_agree_with_small_steps(make, version):
    """Central difference with h = 1e-5: its own error is about h^2 and 1e-16/h."""
    h = 1e-5
    instance = make("System2", version).start(x1=0.1, v1=0.2)
    instance.step(0.0, 0.3)
    before = instance.value("F")
    instance.step(0.3, h)
    slope = instance.output_derivatives("F")[0]
    instance.step(0.3 + h, h)
    assert slope == pytest.approx((instance.value("F") - before) / (2 * h), abs=1e-7)
