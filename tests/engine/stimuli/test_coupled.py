"""A mass on a spring, cut in two components that feed each other, pushed from outside: m z'' + k z = F.

After a jump of F from 0 to F0 at t0 the mass swings about F0/k: z = F0/k (1 − cos ω (t − t0)), ω² = k/m.
"""

import numpy as np
import pytest
from pytest import approx

import ssptool
from tests.engine.systems import state_implementation

AT, HEIGHT, STIFFNESS, MASS = 0.1037, 0.05, 69.48, 0.03575
OMEGA = (STIFFNESS / MASS) ** 0.5


def largest_error(swing, h, **settings):
    """Relative to the amplitude, over 0.3 s."""
    trace = ssptool.simulate(
        swing,
        inputs={"Sum.w": ssptool.types.Table((0.0, AT), (0.0, HEIGHT), "hold")},
        start_values={"Mass.z": "0", "Sum.b": "1"},
        settings=ssptool.Settings(step_size=h, stop_time=0.3, **settings),
    ).unwrap()
    past = np.maximum(trace.t - AT, 0.0)
    exact = HEIGHT / STIFFNESS * (1 - np.cos(OMEGA * past))
    assert trace["Mass.z"][trace.t <= AT] == approx(0.0, abs=1e-15)
    return np.max(np.abs(trace["Mass.z"] - exact)) / (HEIGHT / STIFFNESS)


@pytest.mark.parametrize(
    ("settings", "order"),
    [
        ({"master": "jacobi", "approximation": "hold"}, 1),
        ({"master": "jacobi", "approximation": "extrapolate"}, 2),
        ({"master": "gauss-seidel"}, 2),
        ({"master": "iterated"}, 2),
    ],
    ids=str,
)
def test_a_jump_between_communication_points_costs_no_order_of_accuracy(swing, settings, order):
    """What is lost at the jump, where nothing is extrapolated, is one step of the lower order, as at the start."""
    coarse, fine = largest_error(swing, 2e-3, **settings), largest_error(swing, 5e-4, **settings)
    assert np.log(coarse / fine) / np.log(4) == approx(order, abs=0.35)


def test_adaptive_steps_start_anew_at_a_jump(swing):
    assert largest_error(swing, 1e-3, adaptive=1e-6, approximation="interpolate") < 1e-3


def test_the_ode_of_all_three_goes_through_an_event_at_the_jump(swing):
    assert largest_error(swing, 1e-3, implementation="me", tolerance=1e-9) < 1e-5


@pytest.mark.parametrize(("component", "master"), [("Mass", "jacobi"), ("Sum", "jacobi"), ("Mass", "iterated")])
def test_model_exchange_beside_co_simulation_sees_the_jump(swing, component, master):
    """With the order that the coupling has where all components are of co-simulation."""
    state_implementation(swing, component)
    coarse, fine = (largest_error(swing, h, master=master, tolerance=1e-9) for h in (2e-3, 5e-4))
    assert np.log(coarse / fine) / np.log(4) == approx(2, abs=0.35)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_without_a_jump_driving_changes_no_bit(swing, master):
    """Of a run in which the input is the constant that it is driven with."""
    settings = ssptool.Settings(step_size=1e-3, stop_time=0.1, master=master, approximation="hold")
    stated = ssptool.simulate(swing, start_values={"Sum.w": "0.05", "Sum.b": "1"}, settings=settings).unwrap()
    driven = ssptool.simulate(swing, inputs={"Sum.w": 0.05}, start_values={"Sum.b": "1"}, settings=settings).unwrap()
    assert np.array_equal(stated.t, driven.t)
    assert stated["Mass.z"] == approx(driven["Mass.z"], rel=1e-6 if master == "iterated" else 0, abs=0)
