"""Simulations with components of model exchange, step by step, with values set in between."""

import numpy as np
import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.failure import RunError
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmiError, FmuInstance
from tests.engine.dual_mass import Folder, network, oscillator
from tests.engine.ode.systems import beside

KINDS = pytest.mark.parametrize(
    "exchange", (("System1", "System2"), ("System1",), ("System2",)), ids=("alone", "System1", "System2")
)


def plan(net, exchange, **settings):
    return make_plan(beside(net, *exchange), Settings(**{"stop_time": 1.0, "step_size": 0.01} | settings))


def lags(models, exchange, **settings):
    """A follows its free input u, B follows A, both with T = 0.5 s."""
    net = network({"A": "Lag.fmu", "B": "Lag.fmu"}, [("A.x", "B.u")], folder=models)
    return plan(net, exchange, tolerance=1e-9, **settings)


def test_a_step_ends_at_a_communication_point_whatever_happens_in_between(models):
    """The pulse switches at 0.3, which is one of them, and at 0.35."""
    for period, rows in ((0.3, 5), (0.35, 7)):
        net = network({"Pulse": "Pulse.fmu"}, [], {"Pulse.period": period}, folder=models)
        with SteppedRun(plan(net, ("Pulse",), step_size=0.1, stop_time=0.6), Folder(models)) as simulation:
            assert simulation.step(3) == approx(0.3)
            assert simulation.get("Pulse.y") == simulation.trace["Pulse.y"][-1] == float(period == 0.3)
            assert simulation.step() == approx(0.4)
            assert simulation.get("Pulse.y") == 1.0
            assert len(simulation.trace.t) == rows + (period == 0.3)


def test_running_until_an_event_ends_behind_it(models):
    net = network({"Pulse": "Pulse.fmu"}, [], folder=models)
    with SteppedRun(plan(net, ("Pulse",), step_size=0.1, stop_time=0.6), Folder(models)) as simulation:
        assert simulation.run_until(0.3) == approx(0.3)
        assert simulation.trace["Pulse.y"][-2:].tolist() == [0.0, 1.0]


@KINDS
def test_a_tunable_parameter_can_be_set_and_the_loop_is_solved_anew(exchange):
    """At t = 0 with m_c = 0: a1 = F/m1 = 5/m1; then (m1 + m_c) a1 = 5."""
    with SteppedRun(plan(oscillator(), exchange), Folder()) as simulation:
        simulation.set("System1.m1", 2.0)
        assert simulation.get("System1.a1") == approx(2.5, abs=1e-11)
        simulation.set("System2.m_c", 2.0)
        assert simulation.get("System1.a1") == approx(5 / 4, abs=1e-11)
        simulation.step()
        trace = simulation.trace
        assert 2 * trace["System1.a1"][-1] == approx(
            trace["System1.F"][-1] - 10 * trace["System1.x1"][-1] - 0.2 * trace["System1.v1"][-1], abs=1e-9
        )


@pytest.mark.parametrize("exchange", (("A", "B"), ("A",), ("B",)), ids="".join)
def test_a_free_input_can_be_set(models, exchange):
    with SteppedRun(lags(models, exchange), Folder(models)) as simulation:
        simulation.step(20)
        simulation.set("A.u", 1.0)
        assert simulation.trace["A.u"][-1] == 1.0
        simulation.step(80)
        trace = simulation.trace
    s = np.maximum(0.0, trace.t - 0.2) / 0.5
    assert trace["A.x"] == approx(1 - np.exp(-s), abs=1e-7)
    # Over the first step after what was set nothing is known of the past: B sees A held, which costs h²/(2 T²).
    assert trace["B.x"] == approx(1 - np.exp(-s) * (1 + s), abs=1e-7 if exchange == ("A", "B") else 2.1e-4)


@pytest.mark.parametrize("exchange", (("A", "B"), ("A",)), ids="".join)
def test_a_free_input_can_be_set_at_the_end(models, exchange):
    with SteppedRun(lags(models, exchange), Folder(models)) as simulation:
        list(simulation)
        simulation.set("A.u", 3.0)
        assert (simulation.get("A.u"), simulation.trace["A.u"][-1]) == (3.0, 3.0)


@pytest.mark.parametrize("exchange", (("Ball",), ("Ball", "Lag")), ids="-".join)
def test_what_is_set_can_be_an_event(models, exchange):
    """Without gravity from the moment on at which the ball is at h = 0.5, it goes on as it was."""
    net = network({"Ball": "BouncingBall.fmu", "Lag": "Lag.fmu"}, [("Ball.h", "Lag.u")], folder=models)
    with SteppedRun(plan(net, exchange, tolerance=1e-10), Folder(models)) as simulation:
        simulation.run_until(0.3)
        before = simulation.get("Ball.v")
        simulation.set("Ball.g", 0.0)
        simulation.step(10)
        assert simulation.get("Ball.v") == approx(before, abs=1e-12)
        h = 1 - 9.81 / 2 * 0.3**2 - 9.81 * 0.3 * 0.1
        assert simulation.get("Ball.h") == approx(h, abs=1e-8)


@KINDS
def test_what_is_not_the_users_to_choose_is_refused(exchange):
    with SteppedRun(plan(oscillator(), exchange), Folder()) as simulation:
        for name, reason in (("System1.F", r"driven by System2\.F"), ("System1.x1_start", "fixed parameter")):
            with pytest.raises(WrongValue, match=reason):
                simulation.set(name, 1.0)


def test_a_value_that_a_component_refuses_ends_the_simulation(models, monkeypatch):
    with SteppedRun(lags(models, ("A", "B")), Folder(models)) as simulation:
        simulation.step()

        def refuse(self, _values):
            function = "fmi2SetReal" if self.description.fmi_major == 2 else "fmi3SetFloat64"
            raise FmiError(self.name, function, 3, ())

        monkeypatch.setattr(FmuInstance, "set", refuse)
        with pytest.raises(RunError, match=r"fmi(2SetReal|3SetFloat64) returned error"):
            simulation.set("A.u", 2.0)
