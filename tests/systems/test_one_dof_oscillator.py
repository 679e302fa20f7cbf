"""A mass and its spring-damper, coupled in several ways: how much the oscillation grows that should not."""

from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings

SYSTEM = Path(__file__).parents[2] / "systems" / "one_dof_oscillator"
M, K, D, Z0 = 0.03575, 69.48, 0.0039, 0.0016
W0 = np.sqrt(K / M)
UNDAMPED, DAMPED = None, "OneDofOscillatorDamped"

HELD = {"master": "jacobi", "input": "hold"}
LATE = HELD | {"exchange": "late"}
EXTRAPOLATED = {"master": "jacobi", "input": "extrapolate", "input_order": 1}
END_VALUE = {"master": "iterated", "input": "hold"}
INTERPOLATED = {"master": "iterated", "input": "interpolate", "input_order": 1}


def simulate(variant: str | None, **settings):
    result = ssptool.simulate(SYSTEM, variant=variant, settings=Settings(**settings))
    assert result.ok
    return result.trace


def exact(t, d: float):
    """Position [m] and velocity [m/s] after a start at rest."""
    s = d / (2 * M)
    w = np.sqrt(W0**2 - s**2)
    decay = np.exp(-s * t)
    return Z0 * decay * (np.cos(w * t) + s / w * np.sin(w * t)), -Z0 * decay * W0**2 / w * np.sin(w * t)


def amplitude(trace, row: int = -1) -> float:
    """Of the oscillation, relative to that at the start; without damping, and exactly solved, it stays 1."""
    return float(np.hypot(trace["Mass.z"][row], trace["Mass.v"][row] / W0) / Z0)


@pytest.mark.parametrize(
    ("t", "d", "z", "v"),
    [
        (0.01, 0.0, 1.4470221421341e-03, -3.0098439154601e-02),
        (0.01, D, 1.4470775738795e-03, -3.0082027812156e-02),
        (1.0, 0.0, 1.5915518433284e-03, -7.2389206015582e-03),
        (1.0, D, 1.5072626188683e-03, -6.8524092019947e-03),
    ],
)
def test_the_closed_form_has_the_values_of_an_independent_computation(t, d, z, v):
    assert exact(t, d) == approx((z, v), rel=1e-12)


@pytest.mark.parametrize(("variant", "d"), [(UNDAMPED, 0.0), (DAMPED, D)])
def test_model_exchange_gives_the_closed_form(variant, d):
    """1e-8 of the amplitude: the tolerance of 1e-11 per step adds up over some hundred steps of the integrator."""
    trace = simulate(variant, implementation="me", integrator="adams", tolerance=1e-11)
    z, v = exact(trace.t, d)
    assert np.max(np.abs(trace["Mass.z"] - z)) <= 1e-8 * Z0
    assert np.max(np.abs(trace["Mass.v"] - v)) <= 1e-8 * Z0 * W0


@pytest.mark.parametrize("step", [1e-3, 5e-4])
def test_extrapolated_and_interpolated_couplings_follow_the_closed_form(step):
    """Their phase errors grow with h²: 1.72e-2 and 3.43e-3 of the amplitude at 1e-3 s."""
    for coupling, error in ((EXTRAPOLATED, 1.72e-2), (INTERPOLATED, 3.43e-3)):
        trace = simulate(UNDAMPED, step_size=step, **coupling)
        deviation = np.max(np.abs(trace["Mass.z"] - exact(trace.t, 0.0)[0]))
        assert deviation == approx(error * (step / 1e-3) ** 2 * Z0, rel=0.02)


GROWTH = [
    pytest.param(HELD, (1.623556497, 1.274250603, 1.537597725, 1.206766402), id="held"),
    pytest.param(LATE, (4.272503106, 2.068580708, 4.047037790, 1.959120400), id="late"),
    pytest.param(EXTRAPOLATED, (1.000634929, 1.000079746, 0.947573238, 0.947094801), id="extrapolated"),
    pytest.param(END_VALUE, (0.615931765, 0.784774991, 0.583321622, 0.743213487), id="end-value"),
    pytest.param(INTERPOLATED, (0.999999205, 0.999999790, 0.947046888, 0.947037991), id="interpolated"),
]
CASES = [(UNDAMPED, 1e-3), (UNDAMPED, 5e-4), (DAMPED, 1e-3), (DAMPED, 5e-4)]


@pytest.mark.parametrize("case", range(4), ids=["undamped-1e-3", "undamped-5e-4", "damped-1e-3", "damped-5e-4"])
@pytest.mark.parametrize(("coupling", "factors"), GROWTH)
def test_amplitude_after_one_second_is_that_of_the_difference_equation(coupling, factors, case):
    """The figures are powers of the amplification matrix of the ideal coupling (exact: 1 and 0.947035038); 1e-6 leaves
    room for the tolerance of the iteration.
    """
    variant, step = CASES[case]
    assert amplitude(simulate(variant, step_size=step, **coupling)) == approx(factors[case], rel=1e-6)


@pytest.mark.parametrize(
    ("coupling", "limit"),
    [pytest.param(HELD, 1.122625e-4, id="held"), pytest.param(LATE, 3.742077e-5, id="late")],
)
def test_explicit_coupling_needs_damping_that_outweighs_the_delay(coupling, limit):
    """A force with the mean delay tau is a negative damping k tau: stable for d > k tau, tau = h/2 held, 3h/2 late.

    5 % off the limit, the amplitude changes by exp(0.05 · 0.0545 · 2) = 1.005 in 2 s; as measured here, it varies by no
    more than the damping ratio, 0.0012, within a period.
    """

    def grows(step: float) -> float:
        return amplitude(simulate(DAMPED, step_size=step, stop_time=round(2 / step) * step, **coupling))

    assert grows(0.95 * limit) < 1 < grows(1.05 * limit)


def test_iterated_coupling_conserves_energy_over_seventy_periods():
    """Inputs that are linear over the step make the coupling Newmark's method with beta = 1/6, gamma = 1/2, whose
    invariant is v² + w0² (1 − w0² h²/12) z². 1e-10 is what iteration to 1e-8 of a small correction may leave.
    """
    h = 1e-3
    trace = simulate(UNDAMPED, step_size=h, stop_time=10.0, **INTERPOLATED)
    invariant = trace["Mass.v"] ** 2 + W0**2 * (1 - (W0 * h) ** 2 / 12) * trace["Mass.z"] ** 2
    assert np.ptp(invariant) <= 1e-10 * invariant[0]
