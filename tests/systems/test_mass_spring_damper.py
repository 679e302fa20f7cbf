"""A mass-spring-damper as a part, used twice: both uses against their closed forms."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest import approx

import ssptool
from ssptool import Settings
from tests.systems.exact_linear import states

SYSTEM = Path(__file__).parents[2] / "systems" / "mass_spring_damper"
CRITICAL = SYSTEM / "resources" / "critical.ssv"
EQUILIBRIUM = SYSTEM / "resources" / "equilibrium.ssv"
CHAIN = "MassSpringDamperChain"
M, C, G, THETA, S0 = 2.0, 50.0, 9.81, np.pi / 6, 0.3
EXACT = Settings(implementation="me", integrator="adams", tolerance=1e-11, step_size=0.01)
WITHIN = 1e-8
"""[m], of runs with EXACT: as in the other systems, the tolerance of each step adds up a hundredfold."""


def exact(t: NDArray[np.float64], d: float) -> NDArray[np.float64]:
    """Positions (n,) [m] of a mass that starts at rest, held by a spring-damper at a wall."""
    rest = -M * G * np.sin(THETA) / C
    k, q = d / (2 * M), C / M - (d / (2 * M)) ** 2
    w = np.sqrt(abs(q))
    if q > 0:
        cosine, sine = np.cos(w * t), np.sin(w * t) / w
    elif q < 0:
        cosine, sine = np.cosh(w * t), np.sinh(w * t) / w
    else:
        cosine, sine = np.ones_like(t), t
    return rest + np.exp(-k * t) * (S0 - rest) * (cosine + k * sine)


def position(name: str, settings: Settings = EXACT, **given) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and positions of the mass of one of the parts."""
    result = ssptool.simulate(SYSTEM, settings=settings, **given)
    assert result.ok
    return result.trace.t, result.trace[f"{name}.mass.s"]


@pytest.mark.parametrize(
    ("d", "at_half_second", "at_five_seconds"),
    [
        pytest.param(4, -0.388707089400, -0.193920380924, id="underdamped"),
        pytest.param(20, -0.053642982890, -0.196199999821, id="critical"),
        pytest.param(52, 0.117300457690, -0.192717323645, id="overdamped"),
    ],
)
def test_the_closed_form_has_the_values_of_an_independent_computation(d, at_half_second, at_five_seconds):
    assert exact(np.array([0.5, 5.0]), d) == approx([at_half_second, at_five_seconds], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "d", "parameters"),
    [
        pytest.param("first", 4, [], id="underdamped"),
        pytest.param("first", 20, [CRITICAL], id="critical"),
        pytest.param("second", 52, [], id="overdamped"),
    ],
)
def test_each_use_follows_the_closed_form_of_its_own_parameters(name, d, parameters):
    """The same part, with other values: those of the second come by another mapping and from other units."""
    t, s = position(name, parameters=parameters)
    assert np.max(np.abs(s - exact(t, d))) <= WITHIN


@pytest.mark.parametrize(("name", "d"), [("first", 4), ("second", 52)])
def test_a_run_without_settings_is_right_from_start_to_end_and_of_second_order(name, d):
    """Inputs are interpolated: half the step, a quarter of the error. A micrometre is what is asked of 1e-3 s."""
    t, s = position(name, Settings())
    _, coarse = position(name, Settings(step_size=2e-3))
    error, of_coarse = np.max(np.abs(s - exact(t, d))), np.max(np.abs(coarse - exact(t[::2], d)))
    assert (len(t), t[-1]) == (5001, 5.0)
    assert error <= 1e-6
    assert of_coarse / error == approx(4, rel=0.02)


def test_a_mass_whose_spring_is_relaxed_to_suit_stays_where_it_starts():
    """The stretch that follows from a0 = 0: −s0 − m g sin(theta)/c; 1e-12 m is round-off of that sum, integrated."""
    _, s = position("first", parameters=[EQUILIBRIUM])
    assert np.max(np.abs(s - S0)) <= 1e-12


@pytest.mark.parametrize(("t", "expected"), [(0.5, 0.235726813335), (1.0, 0.240332724119), (5.0, 0.248156997125)])
def test_a_stretch_found_from_the_initial_acceleration_gives_that_motion(t, expected):
    """a0 = −1.5 m/s2 and v0 = 0.1 m/s need the stretch −s0 − (m (a0 + g sin(theta)) + d v0)/c = −0.4442 m."""
    overrides = {"first.spring_damper.stretch": "-0.4442", "first.mass.v0": "0.1"}
    times, s = position("first", overrides=overrides)
    assert s[np.searchsorted(times, t - 1e-9)] == approx(expected, abs=WITHIN)


def test_a_level_light_mass_with_initial_velocity():
    """m = 1, c = 10, d = 0.5, theta = 0, s0 = 0.1, v0 = 1."""
    mass = {"m": "1", "theta": "0", "s0": "0.1", "v0": "1"}
    overrides = {f"first.mass.{name}": value for name, value in mass.items()}
    _, s = position("first", overrides=overrides | {"first.spring_damper.c": "10", "first.spring_damper.d": "0.5"})
    assert s[[100, -1]] == approx([-0.080607165314, -0.033631007470], abs=WITHIN)


def test_in_a_chain_the_second_pulls_at_the_mass_of_the_first():
    """The matrix exponential of both masses' positions and velocities, and of 1 for the constant weight."""
    d1, d2, weight = 4.0, 52.0, -G * np.sin(THETA)
    pull = np.array([-C, -d2, C, d2, 0]) / M  # of the second spring-damper on the first mass, per mass
    first = pull + np.array([-C / M, -d1 / M, 0, 0, weight])
    second = -pull + np.array([0, 0, 0, 0, weight])
    matrix = np.array([[0, 1, 0, 0, 0], first, [0, 0, 0, 1, 0], second, np.zeros(5)])
    start = np.array([S0, 0, S0, 0, 1])
    for name, column in (("first", 0), ("second", 2)):
        t, s = position(name, variant=CHAIN)
        assert np.max(np.abs(s - states(matrix, start, t)[:, column])) <= WITHIN
