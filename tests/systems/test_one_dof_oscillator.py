"""A mass and its spring-damper: what the claims about it rest on, and what they leave out."""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from tests.systems.claims.couplings import HELD, INTERPOLATED
from tests.systems.claims.one_dof_oscillator import (
    NEWMARK,
    SYMPLECTIC,
    SYSTEM,
    W0,
    K,
    M,
    amplitude,
    exact,
    grown,
    outer,
    simulate,
)


@pytest.mark.parametrize(
    ("t", "damped", "z", "v"),
    [
        (0.01, False, 1.4470221421341e-03, -3.0098439154601e-02),
        (0.01, True, 1.4470775738795e-03, -3.0082027812156e-02),
        (1.0, False, 1.5915518433284e-03, -7.2389206015582e-03),
        (1.0, True, 1.5072626188683e-03, -6.8524092019947e-03),
    ],
)
def test_the_closed_form_has_the_values_of_an_independent_computation(t, damped, z, v):
    assert exact(t, damped) == approx((z, v), rel=1e-12)


@pytest.mark.parametrize("damped", [False, True])
def test_model_exchange_gives_the_velocity_of_the_closed_form(damped):
    """1e-8 of its amplitude: the tolerance of 1e-11 per step adds up over some hundred steps of the integrator."""
    trace = simulate(damped=damped, implementation="me", integrator="adams", tolerance=1e-11)
    assert np.max(np.abs(trace["Mass.v"] - exact(trace.t, damped)[1])) <= 1e-8 * 0.0016 * W0


def test_the_variant_with_damping_is_the_one_without_and_a_parameter_set():
    settings = Settings(stop_time=0.1, **HELD)
    variant = ssptool.simulate(SYSTEM, variant="OneDofOscillatorDamped", settings=settings).trace
    assert np.array_equal(variant.y, simulate(damped=True, stop_time=0.1, **HELD).y)


def test_a_newmark_step_is_that_of_the_formulas():
    """From rest under −k z0: a = a+ = −k z0/m, so that z = z0 + h² a/2 and v = h a, for any beta and gamma."""
    h, z0 = 1e-3, 0.0016
    trace = simulate(NEWMARK, step_size=h, stop_time=h, **HELD)
    a = -K * z0 / M
    assert (trace["Mass.z"][-1], trace["Mass.v"][-1]) == approx((z0 + h * h * a / 2, h * a), rel=1e-14)


@pytest.mark.parametrize("damped", [False, True])
def test_one_iteration_from_the_present_point_is_held_exchange(damped):
    one = simulate(NEWMARK, damped, stop_time=0.1, **outer(1))
    assert np.array_equal(one["Mass.z"], simulate(NEWMARK, damped, stop_time=0.1, **HELD)["Mass.z"])


def test_more_outer_iterations_come_ever_nearer_to_the_converged_scheme():
    """Each multiplies what is missing by (w0 h)²/4 = 4.9e-4 here."""
    converged = grown(NEWMARK, True, step_size=1e-3, master="iterated", approximation="hold", tolerance=1e-13)
    missing = [abs(grown(NEWMARK, True, step_size=1e-3, **outer(count)) - converged) for count in (1, 2, 3)]
    assert missing[1] < 1e-3 * missing[0]
    assert missing[2] < 1e-3 * missing[1]


def test_the_symplectic_scheme_keeps_its_energy_without_end():
    """Held exchange of positions and forces in turn is the scheme itself: z² (1 − (w0 h)²/4) + (v/w0)² is constant."""
    h = 1e-3
    trace = simulate(SYMPLECTIC, step_size=h, stop_time=10.0, **HELD)
    invariant = trace["Mass.z"] ** 2 * (1 - (W0 * h) ** 2 / 4) + (trace["Mass.v"] / W0) ** 2
    assert np.ptp(invariant) <= 1e-12 * invariant[0]


def test_iterated_coupling_is_neutral_where_held_coupling_doubles_the_amplitude():
    assert amplitude(simulate(step_size=2e-3, **HELD)) > 2
    assert amplitude(simulate(step_size=2e-3, **INTERPOLATED)) == approx(1.0, abs=1e-4)
