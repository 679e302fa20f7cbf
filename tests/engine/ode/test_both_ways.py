"""Runs of model exchange that systems carry out are the same as in Python; tests with closed forms are beside."""

import ctypes

import pytest

import ssptool
from ssptool.engine.method_names import IntegratorName
from ssptool.studies.checking import check_study
from ssptool.studies.study_file import study_from
from tests.engine import both_ways
from tests.engine.dual_mass import FMI3, MIXED, RESOURCES, oscillator, simulate
from tests.engine.ode.systems import (
    beside,
    both_sides,
    complete_steps,
    couple,
    integrate,
    refuse_after,
    replace_function,
)
from tests.engine.ode.test_discrete import mixed
from tests.engine.systems import state_implementation, write_system

pytestmark = pytest.mark.one_in(3)

SYSTEM = RESOURCES.parent
INTEGRATORS = pytest.mark.parametrize("integrator", list(IntegratorName))


def test_a_system_carries_out_plans_of_model_exchange():
    plan = ssptool.plan(SYSTEM, settings=ssptool.Settings(stop_time=1.0, implementation="me"))
    assert plan.is_one_ode


@INTEGRATORS
@pytest.mark.parametrize("flange", (0.0, 2.0))
def test_the_oscillator(integrator, flange, compared):
    result = simulate(oscillator(MIXED, System2__m_c=flange), implementation="me", integrator=integrator, stop_time=2.0)
    assert result.ok and result.statistics.evaluations > 0
    assert compared()


@pytest.mark.parametrize("stop", (0.25, 0.3, 0.0))
def test_a_stop_beside_the_grid(stop, compared):
    result = simulate(oscillator(FMI3), implementation="me", stop_time=stop, step_size=0.1)
    assert result.ok and result.trace.t[-1] == stop
    assert compared()


@INTEGRATORS
def test_rows_on_both_sides_of_events(models, integrator, compared):
    result = integrate(models, {"Ball": "BouncingBall"}, stop_time=2.25, integrator=integrator)
    assert len(both_sides(result.unwrap())) > 3 and result.statistics.events > 3
    assert compared()


def test_more_rows_than_there_is_room_for(models, compared):
    """Steps larger than the run leave one row of a point among many of events."""
    result = integrate(models, {"Ball": "BouncingBall"}, stop_time=2.25, step_size=2.25)
    assert result.ok and compared()


@pytest.mark.parametrize("status", (2, 3))
def test_a_refusal_during_the_integration(models, status, monkeypatch, compared):
    refuse_after(monkeypatch, status, 0.5)
    result = integrate(models, {"Ball": "BouncingBall"}, values={"Ball.h": 100.0})
    assert not result.ok and "SetTime returned" in str(result.failure)
    assert compared()


def test_the_end_of_a_simulation_after_a_step(models3, monkeypatch, compared):
    complete_steps(monkeypatch, lambda name: (False, True))
    result = integrate(models3, {"Ball": "BouncingBall"})
    assert result.status == "ended by a component"
    assert compared()


def test_directional_derivatives_that_are_refused(monkeypatch, compared):
    signature = ctypes.CFUNCTYPE(ctypes.c_int)
    replace_function(monkeypatch, "GetDirectionalDerivative", lambda _name, _original: signature(lambda: 3))
    simulate(oscillator(FMI3), implementation="me", stop_time=0.5)
    assert compared()


@pytest.mark.parametrize("reuse", (True, False))
def test_runs_of_a_study(reuse, compared):
    """One system integrates them, one after the other; each is that of its own parameters."""
    checked = check_study(
        study_from(
            {
                "system": str(SYSTEM),
                "settings": {"step_size": 0.01, "stop_time": 0.5, "implementation": "me"},
                "design": {"kind": "latin-hypercube", "runs": 4, "seed": 1},
                "factors": {"System2.k2": {"low": 5.0, "high": 15.0}},
                "results": {"peak": 'max("System1.x1")'},
            }
        )
    )
    assert both_ways.runs_of_a_study(checked, reuse) == compared()


# -- beside co-simulation ----------------------------------------------------------------------------------------

MASTERS = [
    {"master": "jacobi", "approximation": "hold"},
    {"master": "jacobi"},
    {"master": "gauss-seidel"},
    {"master": "iterated"},
    {"master": "iterated", "iterations": 2},
    {"master": "iterated", "integrator": "rosenbrock"},
]
LAG = [("Ball.h", "Lag.u")]


@pytest.mark.parametrize("settings", MASTERS, ids=str)
@pytest.mark.parametrize("exchange", ("System1", "System2"))
def test_the_oscillator_beside_co_simulation(exchange, settings, compared):
    net = beside(oscillator(System2__m_c=0.5), exchange)
    result = simulate(net, stop_time=0.5, step_size=0.01, **settings)
    assert result.ok and result.statistics.evaluations > 0
    assert compared()


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("settings", MASTERS[1:3], ids=str)
def test_events_inside_of_macro_steps(test_models, settings, threads, compared):
    """Rows on both sides, and a remark on the component that has no values there."""
    result = couple(
        test_models,
        {"Ball": "BouncingBall"},
        {"Lag": "Lag"},
        LAG,
        saved=False,
        stop_time=2.0,
        threads=threads,
        **settings,
    )
    assert len(both_sides(result.unwrap())) > 2
    assert any("rows repeat the values of the communication point before" in note for note in result.notes)
    assert compared()


@pytest.mark.parametrize("exchange", (("A",), ("A", "B")), ids=("beside", "alone"))
def test_columns_that_are_only_observed(test_models, exchange, tmp_path, compared):
    folder = write_system(tmp_path / "all", test_models, {"A": "Lag", "B": "Lag"}, [("A.x", "B.u")])
    state_implementation(folder, *exchange)
    result = ssptool.simulate(folder, record=["*"], stop_time=1.0, step_size=0.01, isolated=False)
    assert result.ok and len(result.trace.signals) > 4
    assert compared()


@pytest.mark.parametrize("after", (-1.0, 0.455))
@pytest.mark.parametrize("status", (2, 3))
def test_a_refusal_beside_co_simulation(test_models, status, after, monkeypatch, compared):
    refuse_after(monkeypatch, status, after, "Ball")
    result = couple(test_models, {"Ball": "BouncingBall"}, {"Lag": "Lag"}, LAG, values={"Ball.h": 100.0})
    assert not result.ok
    assert compared()


def test_the_end_of_a_simulation_beside_co_simulation(models3, monkeypatch, compared):
    """The lag, which asks for nothing, drives nothing."""
    complete_steps(monkeypatch, lambda name: (False, True))
    result = couple(models3, {"Ball": "BouncingBall"}, {"Lag": "Lag"})
    assert result.status == "ended by a component"
    assert compared()


@pytest.mark.parametrize("exchange", (("Tank", "Valve"), ("Tank", "Log")), ids=("leaving", "entering"))
def test_signals_that_are_exchanged_at_events_only(hybrids, exchange, compared):
    result = mixed(hybrids, *exchange, step_size=0.05)
    assert result.ok and len(both_sides(result.trace)) >= 4
    assert compared()
