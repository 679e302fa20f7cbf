"""The rotational spring-mass-damper, each part a component: against its closed form, and how each coupling of its
parts departs from that.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest import approx

import ssptool
from ssptool import Settings
from tests.systems.exact_linear import states

SYSTEM = Path(__file__).parents[2] / "systems" / "rotational_spring_mass_damper"
SIGNALS = ("inertia1.phi", "inertia1.w", "inertia2.phi", "inertia2.w")
J1, J2, C1, C2, D1, D2 = 0.4, 1.0, 11.0, 5.0, 0.2, 1.0
MATRIX = np.array(
    [
        [0, 1, 0, 0],
        [-C1 / J1, -D1 / J1, C1 / J1, D1 / J1],
        [0, 0, 0, 1],
        [C1 / J2, D1 / J2, -(C1 + C2) / J2, -(D1 + D2) / J2],
    ]
)
START = np.array([0.0, 0.0, 1.0, 0.0])

HELD = {"master": "jacobi", "input": "hold"}
LATE = HELD | {"exchange": "late"}
EXTRAPOLATED = {"master": "jacobi", "input": "extrapolate", "input_order": 1}
GAUSS_SEIDEL = {"master": "gauss-seidel", "input": "hold"}
END_VALUE = {"master": "iterated", "input": "hold"}
INTERPOLATED = {"master": "iterated", "input": "interpolate", "input_order": 1}


def run(settings: Settings | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (n,) and the four states (n, 4) of a run that reaches its end."""
    result = ssptool.simulate(SYSTEM, settings=settings)
    assert result.ok
    return result.trace.t, np.stack([result.trace[signal] for signal in SIGNALS], axis=1)


def angle_error(**settings) -> float:
    """Largest deviation of an angle from the closed form over 10 s [rad]."""
    t, y = run(Settings(**settings))
    return float(np.max(np.abs(y - states(MATRIX, START, t))[:, [0, 2]]))


def energy(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kinetic and spring energy (n,) [J]."""
    phi1, w1, phi2, w2 = y.T
    return (J1 * w1**2 + J2 * w2**2 + C1 * (phi1 - phi2) ** 2 + C2 * phi2**2) / 2


def test_the_graph_has_no_algebraic_loop():
    """Inertias give angle and velocity, which are states: no torque depends on itself at the same instant."""
    assert all(cycle.loops == () for cycle in ssptool.graph(SYSTEM).cycles)


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        (0.1, (0.129223892390, 2.458130157428, 0.926152492456, -1.396792160189)),
        (1.0, (-0.409827992508, -1.154158083198, 0.263925448932, -1.091102392927)),
        (10.0, (0.013708334244, 0.036699117157, 0.016823728209, 0.030318067119)),
    ],
)
def test_the_closed_form_has_the_values_of_an_independent_computation(t, expected):
    """A matrix exponential with 40 digits; its figures are printed to half a unit of the twelfth decimal."""
    assert states(MATRIX, START, np.array([0.0, t]))[-1] == approx(expected, abs=1e-12)


def test_model_exchange_gives_the_closed_form():
    """All four states; 1e-10 is the tolerance per step, of which errors add up to less than a hundredfold."""
    t, y = run(Settings(implementation="me", integrator="adams", tolerance=1e-10))
    assert (t[0], t[-1], len(t)) == (0.0, 10.0, 10001)
    assert np.max(np.abs(y - states(MATRIX, START, t))) <= 1e-8


def test_model_exchange_loses_only_the_energy_that_the_dampers_dissipate():
    """E(0) = 8 J: both springs are wound up by 1 rad. Simpson's rule on 10 000 intervals adds less than 1e-10 J."""
    from scipy.integrate import simpson

    t, y = run(Settings(implementation="me", tolerance=1e-11))
    power = D1 * (y[:, 1] - y[:, 3]) ** 2 + D2 * y[:, 3] ** 2
    assert energy(y)[0] == approx(8.0, abs=1e-12)
    assert energy(y)[-1] == approx(1.489933452e-3, abs=1e-7)
    assert energy(y)[-1] + simpson(power, x=t) == approx(8.0, abs=1e-6)


def test_a_run_without_settings_is_right_from_start_to_end():
    """Iterated, interpolated inputs at 1e-3 s: 5.5e-6 rad (see the table below)."""
    t, y = run()
    assert np.max(np.abs(y - states(MATRIX, START, t))[:, [0, 2]]) <= 6e-6


ERRORS = [
    pytest.param(HELD, 0.01, 6.473e-2, id="held-1e-2"),
    pytest.param(HELD, 0.001, 5.969e-3, id="held-1e-3"),
    pytest.param(LATE, 0.01, 2.526e-1, id="late-1e-2"),
    pytest.param(LATE, 0.001, 1.824e-2, id="late-1e-3"),
    pytest.param(EXTRAPOLATED, 0.1, 3.398e-1, id="extrapolated-1e-1"),
    pytest.param(EXTRAPOLATED, 0.01, 2.933e-3, id="extrapolated-1e-2"),
    pytest.param(EXTRAPOLATED, 0.001, 2.940e-5, id="extrapolated-1e-3"),
    pytest.param(GAUSS_SEIDEL, 0.01, 7.761e-2, id="gauss-seidel-1e-2"),
    pytest.param(GAUSS_SEIDEL, 0.001, 7.355e-3, id="gauss-seidel-1e-3"),
    pytest.param(END_VALUE, 0.1, 3.364e-1, id="end-value-1e-1"),
    pytest.param(END_VALUE, 0.01, 5.428e-2, id="end-value-1e-2"),
    pytest.param(END_VALUE, 0.001, 5.865e-3, id="end-value-1e-3"),
    pytest.param(INTERPOLATED, 0.1, 5.329e-2, id="interpolated-1e-1"),
    pytest.param(INTERPOLATED, 0.01, 5.490e-4, id="interpolated-1e-2"),
    pytest.param(INTERPOLATED, 0.001, 5.491e-6, id="interpolated-1e-3"),
]


@pytest.mark.parametrize(("coupling", "step", "expected"), ERRORS)
def test_each_coupling_has_the_error_that_theory_predicts(coupling, step, expected):
    """The figures come from difference equations of the ideal coupling, printed with four digits; 0.1 % covers the last
    of them and the tolerances of iteration and integration.
    """
    assert angle_error(step_size=step, **coupling) == approx(expected, rel=1e-3)


LIMITS = [
    pytest.param(HELD, 0.052312, 2000, id="held"),
    pytest.param(LATE, 0.017295, 2000, id="late"),
    pytest.param(EXTRAPOLATED, 0.132718, 2000, id="extrapolated"),
    pytest.param(GAUSS_SEIDEL, 0.065894, 2000, id="gauss-seidel"),
    pytest.param(INTERPOLATED, 0.547255, 200, id="interpolated"),
]


def growth(step: float, count: int, **coupling) -> float:
    """Amplitude of the last fifth of a run over that of the second fifth, when only the slowest mode is left."""
    _, y = run(Settings(step_size=step, stop_time=step * count, **coupling))
    return float(np.max(np.abs(y[-count // 5 :])) / np.max(np.abs(y[count // 5 : 2 * count // 5])))


@pytest.mark.parametrize(("coupling", "limit", "count"), LIMITS)
def test_each_coupling_is_stable_up_to_its_limit_and_not_beyond(coupling, limit, count):
    """Limits: spectral radius 1 of the difference equations. 1 % off, the amplitude changes visibly."""
    assert growth(0.99 * limit, count, **coupling) < 1 < growth(1.01 * limit, count, **coupling)


@pytest.mark.parametrize("step", [0.1, 1.0, 5.0])
def test_iteration_to_end_values_is_stable_at_any_step(step):
    assert growth(step, 200, **END_VALUE) < 1


@pytest.mark.parametrize(
    ("coupling", "limit"),
    [pytest.param(END_VALUE, 0.197943, id="end-value"), pytest.param(INTERPOLATED, 0.348637, id="interpolated")],
)
def test_plain_repetition_contracts_up_to_its_limit_and_acceleration_goes_beyond(coupling, limit):
    """Limits: spectral radius 1 of one repetition. Just below, it takes some hundred repetitions per step."""

    def converges(step: float, **more) -> bool:
        settings = Settings(step_size=step, stop_time=20 * step, max_iterations=2000, **coupling, **more)
        return ssptool.simulate(SYSTEM, settings=settings).ok

    assert converges(0.98 * limit, acceleration="none")
    assert not converges(1.02 * limit, acceleration="none")
    assert converges(1.5 * limit)


FLANGES = [
    ("inertia1.flange_b", "spring1.flange_a"),
    ("inertia1.flange_b2", "damper1.flange_a"),
    ("spring1.flange_b", "inertia2.flange_a"),
    ("damper1.flange_b", "inertia2.flange_a2"),
    ("inertia2.flange_b", "spring2.flange_a"),
    ("inertia2.flange_b2", "damper2.flange_a"),
    ("spring2.flange_b", "ground.flange"),
    ("damper2.flange_b", "ground.flange"),
]


def wires(path: Path) -> set[tuple[str, str]]:
    return {(str(wire.source), str(wire.destination)) for wire in ssptool.flatten(path).wires}


def test_connecting_the_flanges_makes_all_connections_of_the_system(tmp_path):
    """Each flange is a terminal of an FMU: motion goes one way and torque the other."""
    rewired = shutil.copytree(SYSTEM, tmp_path / "rewired")
    expected = wires(SYSTEM)
    with ssptool.edit(rewired) as system:
        for a, b in FLANGES:
            system.disconnect(a, b)
    assert not wires(rewired)
    with ssptool.edit(rewired) as system:
        for a, b in FLANGES:
            system.connect(a, b)
    assert wires(rewired) == expected
    settings = Settings(stop_time=0.1)
    traces = [ssptool.simulate(path, settings=settings).trace for path in (SYSTEM, rewired)]
    assert np.array_equal(traces[0].y, traces[1].y)
