"""The dual-mass oscillator as one ODE, against its closed form."""

from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.method_names import IntegratorName
from ssptool.engine.run import frozen_integration
from ssptool.engine.time_grid import grid_times
from tests.engine.dual_mass import FMI2, FMI3, MIXED, NO_FLANGE, oscillator, simulate
from tests.engine.ode.systems import oscillation
from tests.engine.test_plan import with_experiment

SOURCES = pytest.mark.parametrize("sources", (FMI2, FMI3, MIXED, NO_FLANGE), ids=("fmi2", "fmi3", "mixed", "no flange"))
INTEGRATORS = pytest.mark.parametrize("integrator", list(IntegratorName))


def run(sources=FMI2, flange=None, **settings):
    values = {} if flange is None else {"System2__m_c": flange}
    settings = {"implementation": "me", "tolerance": 1e-9, "step_size": 0.01} | settings
    result = simulate(oscillator(sources, **values), **settings)
    return result.unwrap()


def error(trace, flange=0.0):
    exact = oscillation(trace.t, flange)
    return max(np.max(np.abs(trace["System1.x1"] - exact[0])), np.max(np.abs(trace["System1.v1"] - exact[2])))


@SOURCES
@INTEGRATORS
def test_position_is_exact_to_1e_7_over_ten_seconds(sources, integrator):
    trace = run(sources, integrator=integrator)
    assert trace.t[-1] == 10.0
    assert np.max(np.abs(trace["System1.x1"] - oscillation(trace.t)[0])) <= 1e-7


@INTEGRATORS
@pytest.mark.parametrize("flange", (0.5, 2.0, 100.0, 1e4))
def test_a_loop_inside_f_is_solved_whatever_its_gain(flange, integrator):
    """Its gain is −flange. A heavier flange makes everything slower, so the error stays below that without."""
    assert error(run(flange=flange, integrator=integrator), flange) <= 1e-7


@INTEGRATORS
def test_a_smaller_tolerance_gives_a_smaller_error(integrator):
    errors = [error(run(tolerance=tolerance, integrator=integrator)) for tolerance in (1e-4, 1e-6, 1e-8)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_the_stricter_of_the_default_and_the_tolerances_that_fmus_recommend_is_taken():
    """Truth is the matrix exponential: a careless FMU costs no accuracy, a careful one brings it."""

    def with_recommended(*tolerances):
        net = oscillator()
        for name, tolerance in zip(net.components, tolerances, strict=True):
            net = with_experiment(net, name, tolerance=tolerance)
        return error(simulate(net, implementation="me", step_size=0.1).unwrap())

    usual = with_recommended(None, None)
    assert with_recommended(1e-3, None) == usual
    assert with_recommended(1e-3, 1e-11) < 0.1 * usual


def test_rows_are_at_the_communication_points_exactly():
    trace = run(step_size=0.05)
    assert np.array_equal(trace.t, grid_times(0.0, 0.05, range(201)))


def test_signals_of_a_row_belong_to_one_instant():
    """Interpolated states must not stand beside outputs of another time: F = m1 a1 + k1 x1 + c1 v1 in every row."""
    trace = run(flange=2.0)
    force = trace["System1.a1"] + 10 * trace["System1.x1"] + 0.2 * trace["System1.v1"]
    assert trace["System1.F"] == pytest.approx(force, abs=1e-12)
    assert np.array_equal(trace["System1.F"], trace["System2.F"])


def test_differences_do_as_well_as_directional_derivatives(monkeypatch):
    """With a heavy flange, whose loop is solved to 1e-12 only, increments must be far above that."""
    chosen = frozen_integration.integrator_of

    def without(plan):
        assert chosen(plan).directional
        return replace(chosen(plan), directional=False)

    monkeypatch.setattr(frozen_integration, "integrator_of", without)
    for flange in (0.0, 100.0):
        trace = run(flange=flange)
        assert np.max(np.abs(trace["System1.x1"] - oscillation(trace.t, flange)[0])) <= 1e-7
