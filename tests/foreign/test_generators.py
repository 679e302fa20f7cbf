"""FMUs that other people's tools made, in systems with one of ours, against closed forms."""

import math

import numpy as np
import pytest

import ssptool
from tests.foreign.generators import container, lag, python_fmu, without_backend
from tests.systems.peers import SYSTEMS, where_wheels_are

pytestmark = where_wheels_are
MASS = SYSTEMS / "one_dof_oscillator" / "resources" / "Mass.fmu"
K, M, Z0 = 69.48, 0.03575, 0.0016


def system(path, *fmus, connections):
    """A system of these FMUs, made as a user makes it."""
    with ssptool.new(path) as made:
        made.add(*fmus)
        for source, destination in connections:
            made.connect(source, destination)
    return path


def error(path, signal, exact, **settings):
    """The largest deviation of a signal from the closed form, over [0, 1] s."""
    result = ssptool.simulate(path, stop_time=1.0, isolated=True, **settings)
    assert result.ok, result
    return float(np.max(np.abs(result.trace[signal] - exact(result.trace.t))))


def order(path, signal, exact, step, **settings):
    """The order of convergence from halving the step."""
    coarse, fine = (error(path, signal, exact, step_size=h, **settings) for h in (step, step / 2))
    return math.log2(coarse / fine)


@pytest.mark.parametrize(("course", "expected"), [("hold", 1), ("extrapolate", 2)])
@pytest.mark.parametrize("fmi", [2, 3])
def test_a_sine_from_python_drives_our_lag(fmi, course, expected, tmp_path):
    """der(x) = sin t - x, x(0) = 0  ⇒  x = (sin t - cos t + exp(-t)) / 2."""
    wave = python_fmu("Wave", fmi, tmp_path)
    path = system(tmp_path / "driven", wave, lag(2, tmp_path), connections=[("Wave.y", "Lag.u")])

    def exact(t):
        return (np.sin(t) - np.cos(t) + np.exp(-t)) / 2

    assert order(path, "Lag.y", exact, 0.02, input=course) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_spring_from_python_and_our_mass_oscillate(fmi, tmp_path):
    """m z'' = -k z  ⇒  z = z0 cos(√(k/m) t). The FMU from Python cannot save its state, so steps are not repeated."""
    spring = python_fmu("Spring", fmi, tmp_path)
    path = system(tmp_path / "loop", MASS, spring, connections=[("Mass.z", "Spring.z"), ("Spring.F", "Mass.F")])
    start = {"Mass.m": M, "Mass.z": Z0, "Spring.k": K}

    def exact(t):
        return Z0 * np.cos(math.sqrt(K / M) * t)

    assert order(path, "Mass.z", exact, 5e-5, start_values=start) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_container_of_two_lags_behind_one_of_ours(fmi, tmp_path):
    """Three lags in a row, u = 1  ⇒  y = 1 - (1 + t + t²/2) exp(-t)."""

    def exact(t):
        return 1 - (1 + t + t**2 / 2) * np.exp(-t)

    deviations = []
    for step in (0.02, 0.01):
        folder = tmp_path / str(step)
        fmus = lag(2, folder), container(fmi, folder, step)
        path = system(folder / "row", *fmus, connections=[("Lag.y", "Container.u")])
        deviations.append(error(path, "Container.y", exact, step_size=step, start_values={"Lag.u": 1.0}))
    assert math.log2(deviations[0] / deviations[1]) == pytest.approx(1, abs=0.1)


def test_an_fmu_that_never_comes_back_from_instantiate_costs_no_more_than_the_timeout(tmp_path):
    path = without_backend(tmp_path)
    result = ssptool.simulate(path, stop_time=1.0, isolated=True, timeout=5.0)
    assert not result.ok
    assert "Instantiate" in str(result.failure) and "Waiting" in str(result.failure)
