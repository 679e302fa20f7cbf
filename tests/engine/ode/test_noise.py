"""State derivatives with noise, as those of a solver inside an FMU that stops early: x' = -x + a n, -1 <= n <= 1."""

import numpy as np
import pytest

from tests.engine.dual_mass import Folder, network
from tests.engine.ode.systems import integrate
from tests.engine.ode.test_jacobian import steps_of

CASES = (("bdf", 0.5), ("bdf", 0.05), ("bdf", 1e-3), ("adams", 0.5), ("dormand-prince", 0.5), ("rosenbrock", 1e-3))


def decay(models3, a, **settings):
    return integrate(models3, {"A": "Noisy"}, values={"A.a": a}, **settings)


@pytest.mark.parametrize(("integrator", "a"), CASES)
def test_it_does_not_let_the_solution_drift(models3, integrator, a):
    """The mean of n is zero, so what it leaves is far below a: with differences over which f is noise it was 0.4."""
    trace = decay(models3, a, integrator=integrator, tolerance=1e-6).unwrap()
    assert trace["A.x"] == pytest.approx(np.exp(-trace.t), abs=1e-4 + a / 50)


@pytest.mark.parametrize(("a", "within"), ((1e-6, 0.2), (0.05, 10)))
def test_it_does_not_get_into_the_jacobian(models3, a, within):
    """A difference over 1.5e-8 would be wrong by up to a/1e-8."""
    net = network({"A": "Noisy.fmu"}, (), {"A.a": a}, folder=models3)
    with steps_of(net, Folder(models3)) as found:
        for t in np.linspace(0, 1, 20):
            assert found.jacobian(t, np.ones(1))[0, 0] == pytest.approx(-1, abs=within)


def test_small_noise_does_not_make_directional_derivatives_seem_wrong(models3):
    result = decay(models3, 1e-5, integrator="bdf")
    assert result.ok
    assert result.notes == ()


def test_the_derivative_in_time_is_not_that_of_noise(models3):
    """It would keep the steps of Rodas5P 100 times as short."""
    result = decay(models3, 5e-3, integrator="rosenbrock", tolerance=1e-6, stop_time=0.01)
    assert result.ok
    assert result.statistics.evaluations < 10_000
