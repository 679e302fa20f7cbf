"""What components can do to an integration: refuse, discard, end it, ask for events."""

import ctypes

import numpy as np
import pytest

from ssptool.engine.failure import Ending
from tests.engine.ode.systems import both_sides, complete_steps, integrate, refuse_after, replace_function


def test_an_error_ends_the_run_with_component_and_function(models3, monkeypatch):
    refuse_after(monkeypatch, 3, 0.5)
    result = integrate(models3, {"Lag": "Lag"}, values={"Lag.u": 1.0})
    assert result.status is Ending.FMI
    assert (result.failure.component, result.failure.function) == ("Lag", "fmi3SetTime")
    assert result.trace.t[-1] <= 0.5
    assert len(result.trace.t) > 1


def test_a_discarded_point_is_avoided_until_no_step_is_left(models3, monkeypatch):
    refuse_after(monkeypatch, 2, 0.5)
    result = integrate(models3, {"Lag": "Lag"}, values={"Lag.u": 1.0})
    assert result.status is Ending.INTEGRATION
    assert result.failure.component == "Lag"
    assert "fmi3SetTime returned discard" in result.failure.message
    assert result.failure.time == pytest.approx(0.5, abs=1e-3)
    trace = result.trace
    assert trace.t[-1] == pytest.approx(0.49, abs=0.011)
    assert trace["Lag.x"] == pytest.approx(1 - np.exp(-trace.t / 0.5), abs=1e-4)


def test_a_component_that_asks_for_the_end_gets_it(models3, monkeypatch):
    complete_steps(monkeypatch, lambda name: (False, name == "B"))
    result = integrate(models3, {"A": "Lag", "B": "Lag"})
    assert (result.ok, result.status) == (True, Ending.TERMINATED)
    assert result.notes[-1] == f"component B ended the simulation at t = {result.last_time:.12g} s"


def test_an_event_after_a_step_is_one(models3, monkeypatch):
    asked = []

    def once(name):
        asked.append(name)
        return len(asked) == 20, False

    complete_steps(monkeypatch, once)
    trace = integrate(models3, {"Lag": "Lag"}, values={"Lag.u": 1.0}, tolerance=1e-9).unwrap()
    assert len(both_sides(trace)) == 1
    assert trace["Lag.x"] == pytest.approx(1 - np.exp(-trace.t / 0.5), abs=1e-7)


def test_a_nan_in_an_output_is_named(models3):
    """y = a √u + sin w with u < 0."""
    result = integrate(models3, {"A": "Stateless"}, values={"A.u": -1.0})
    assert result.status is Ending.NONFINITE
    assert result.failure.component == "A"


def test_jacobians_that_a_component_refuses_end_the_run(models3, monkeypatch):
    signature = ctypes.CFUNCTYPE(ctypes.c_int)  # whatever it is given
    replace_function(monkeypatch, "GetDirectionalDerivative", lambda _name, _original: signature(lambda: 3))
    result = integrate(models3, {"Lag": "Lag"}, values={"Lag.u": 1.0})
    assert result.status is Ending.FMI
    assert result.failure.function == "fmi3GetDirectionalDerivative"
