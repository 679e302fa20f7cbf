"""The integration of the kernel against its twin: the same decisions, and the same bits of every row."""

import numpy as np
import pytest

from ssptool import Event, Scenario, Table
from ssptool.engine.method_names import IntegratorName
from ssptool.engine.simulate import run
from ssptool.engine.stimuli.time_signals import Action
from tests.engine.dual_mass import Folder, oscillator, simulate
from tests.engine.ode.systems import both_sides, couple, integrate, refuse_after
from tests.engine.ode.test_beside import simulate as simulate_beside
from tests.engine.ode.test_clocks import sampled
from tests.engine.ode.test_discrete import mixed, tank
from tests.engine.ode.test_driven import plan

INTEGRATORS = pytest.mark.parametrize("integrator", list(IntegratorName))


def check_twins(simulated):
    """Ends, rows, events and effort of `simulated(native)` are the same for both kernels; returns the trace."""
    one, other = simulated(True), simulated(False)
    assert (one.status, one.failure, one.notes) == (other.status, other.failure, other.notes)
    assert one.statistics.events == other.statistics.events
    assert one.statistics.evaluations == other.statistics.evaluations
    assert np.array_equal(one.trace.t, other.trace.t)
    for name in one.trace.signals:
        assert np.array_equal(one.trace[name], other.trace[name]), name
    return one.trace


@INTEGRATORS
def test_a_loop_inside_f(integrator):
    settings = {"implementation": "me", "tolerance": 1e-7, "step_size": 0.01, "stop_time": 1.0}
    system = oscillator(System2__m_c=2.0)
    check_twins(lambda native: simulate(system, native=native, integrator=integrator, **settings))


@INTEGRATORS
def test_state_events(models, integrator):
    settings = {"stop_time": 2.25, "tolerance": 1e-8, "integrator": integrator}
    trace = check_twins(lambda native: integrate(models, {"Ball": "BouncingBall"}, native=native, **settings))
    assert len(both_sides(trace)) >= 6


def test_events_that_accumulate(models):
    values = {"Ball.v_min": 0.0}
    check_twins(lambda native: integrate(models, {"Ball": "BouncingBall"}, values=values, native=native, stop_time=3.0))


def test_time_events(models):
    sources, wires = {"Pulse": "Pulse", "Lag": "Lag"}, [("Pulse.y", "Lag.u")]
    trace = check_twins(lambda native: integrate(models, sources, wires, native=native))
    assert both_sides(trace).size


@INTEGRATORS
def test_discrete_signals(hybrids, integrator):
    trace = check_twins(lambda native: tank(hybrids, native=native, integrator=integrator))
    assert both_sides(trace).size >= 6


@pytest.mark.parametrize("exchange", (("Tank", "Valve"), ("Valve",), ("Tank", "Log")), ids="".join)
def test_discrete_signals_beside_co_simulation(hybrids, exchange):
    assert both_sides(check_twins(lambda native: mixed(hybrids, *exchange, native=native))).size


def test_clocks(hybrids3):
    assert both_sides(check_twins(lambda native: sampled(hybrids3, native=native))).size


@pytest.mark.parametrize("master", ("jacobi", "gauss-seidel", "iterated"))
def test_events_that_are_those_of_the_whole_system(hybrids3, master):
    simulation = {"Counter": "Counter", "Plant": "../fmi2/Mass"}
    values = {"Tank.u": 1.5, "Plant.m": 1.0, "Plant.v": 3.0}
    settings = {"stop_time": 4.5, "step_size": 0.25, "master": master, "tolerance": 1e-9}
    wires = [("Tank.full", "Counter.tick")]
    trace = check_twins(
        lambda native: couple(hybrids3, {"Tank": "Cistern"}, simulation, wires, values, native=native, **settings)
    )
    assert trace["Counter.count"][-1] >= 6


@pytest.mark.parametrize("settings", ({"master": "jacobi"}, {"master": "iterated"}, {"adaptive": 1e-5}), ids=str)
@pytest.mark.parametrize("exchange", ("System1", "System2"))
def test_one_of_two_masses(exchange, settings):
    check_twins(lambda native: simulate_beside(exchange, stop_time=0.3, native=native, **settings))


@pytest.mark.parametrize("exchange", (("A",), ("A", "B")), ids="".join)
@pytest.mark.parametrize("drive", (Table((0.0, 0.355), (0.0, 1.0), "hold"), lambda t: t * t), ids=("jump", "function"))
def test_inputs(models, exchange, drive):
    planned = plan(models, exchange, {"A.u": drive})
    check_twins(lambda native: run(planned, Folder(models), native=native))


def test_a_scenario(models):
    scenario = Scenario((Event(0.3, "A.g", Action.OVERRIDE, 0.0),))
    settings = {"sources": ("BouncingBall", "Lag"), "wires": (("A.h", "B.u"),), "stop_time": 0.45}
    planned = plan(models, ("A", "B"), None, scenario, **settings)
    check_twins(lambda native: run(planned, Folder(models), native=native))


@pytest.mark.parametrize("status", (2, 3))
def test_refusals(models, monkeypatch, status):
    refuse_after(monkeypatch, status, 0.5)
    check_twins(lambda native: integrate(models, {"Lag": "Lag"}, values={"Lag.u": 1.0}, native=native))


def test_values_that_are_no_numbers(models):
    check_twins(lambda native: integrate(models, {"A": "Stateless"}, values={"A.u": -1.0}, native=native))
