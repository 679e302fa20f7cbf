"""Models without states, stiff ones, and what the integrator makes of them."""

import numpy as np
import pytest

from tests.engine.ode.systems import integrate
from tests.engine.small.fmus import Var, make_fmu


def test_a_system_without_states_follows_time(models):
    trace = integrate(models, {"A": "Stateless"}, values={"A.u": 4.0, "A.w": 0.5}).unwrap()
    assert trace["A.z"] == pytest.approx(trace.t**2, abs=1e-14)
    assert trace["A.y"] == pytest.approx(np.full_like(trace.t, 3 * 2 + np.sin(0.5)), abs=1e-14)


@pytest.mark.parametrize("integrator", ["bdf", "rosenbrock"])
def test_a_stiff_model_costs_no_more_steps_than_its_solution_needs(models, integrator):
    """Explicit formulas with λ = 8000 are bound to steps below 2/λ, hence to 4000 of them per second."""
    result = integrate(models, {"A": "Stiff"}, tolerance=1e-8, integrator=integrator)
    trace = result.unwrap()
    assert result.statistics.evaluations < 1000
    assert np.max(np.abs(trace["A.x"] - np.cos(trace.t))) < 1e-6


def test_chains_of_components_pass_states_on_within_one_evaluation(models3):
    """Three equal lags in a row after a unit input: x3 = 1 − e^(−s) (1 + s + s²/2) with s = t/T."""
    wires = [("A.x", "B.u"), ("B.x", "C.u")]
    sources = {"C": "Lag", "A": "Lag", "B": "Lag"}
    trace = integrate(models3, sources, wires, {"A.u": 1.0}, tolerance=1e-9).unwrap()
    s = trace.t / 0.5
    assert trace["C.x"] == pytest.approx(1 - np.exp(-s) * (1 + s + s**2 / 2), abs=1e-7)


@pytest.mark.parametrize("integrator", ["bdf", "adams"])
@pytest.mark.parametrize("speed", (10, 100))
def test_slopes_that_jump_without_an_indicator_do_not_let_the_solution_run_away(tmp_path, speed, integrator):
    """x' = c (cos(t)/2 - sign x) from 1 comes to 0 before t = 2/c, and slides there."""
    x = Var("x", "state", start=1.0)
    variables = (x, Var("dx", "der", of="x", needs=["x"]), Var("y", "output", needs=["x"]))
    calc = f"v->dx = {speed} * (0.5 * cos(v->time) - (v->x > 0 ? 1 : -1)); v->y = v->x;"
    make_fmu(tmp_path / "Pulled.fmu", variables, version=3, cs=None, calc=calc)
    settings = {"stop_time": 4 / speed, "step_size": 0.1 / speed, "tolerance": 1e-3, "integrator": integrator}
    trace = integrate(tmp_path, {"A": "Pulled"}, **settings).unwrap()
    assert np.max(np.abs(trace["A.y"][trace.t > 2.1 / speed])) < 1e-2


@pytest.mark.parametrize("integrator", ["bdf", "rosenbrock"])
def test_a_border_of_the_domain_is_no_obstacle_to_differences(tmp_path, integrator):
    """x' = -x from 1, where the FMU knows no x > 1."""
    x = Var("x", "state", start=1.0)
    variables = (x, Var("dx", "der", of="x", needs=["x"]), Var("y", "output", needs=["x"]))
    functions = {"calc": "v->dx = -v->x; v->y = v->x;", "check": "return v->x > 1 ? DISCARD : OK;"}
    make_fmu(tmp_path / "Bounded.fmu", variables, version=3, cs=None, **functions)
    trace = integrate(tmp_path, {"A": "Bounded"}, integrator=integrator, tolerance=1e-6).unwrap()
    assert trace["A.y"] == pytest.approx(np.exp(-trace.t), abs=1e-5)
