"""Simulations with components of model exchange, stopped and started."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.saved import NotSavable
from ssptool.engine.stepping.simulation import SteppedRun
from tests.engine.dual_mass import FMI2, FMI3, MIXED, Folder, network, oscillator
from tests.engine.ode.systems import beside, bounce_times, check_same, lacking, oscillation, saved_and_resumed
from tests.engine.running import run

KINDS = pytest.mark.parametrize(
    "exchange", (("System1", "System2"), ("System1",), ("System2",)), ids=("alone", "System1", "System2")
)
HEAVY = 5 / 3


def plan(exchange, sources=FMI2, **settings):
    settings = {"stop_time": 0.5, "step_size": 0.01, "tolerance": 1e-9} | settings
    return make_plan(beside(oscillator(sources, System2__m_c=HEAVY), *exchange), Settings(**settings))


def ball(models, *, beside_lag=False, **settings):
    settings = {"stop_time": 1.5, "step_size": 0.01, "tolerance": 1e-11} | settings
    names = {"Ball": "BouncingBall.fmu"} | ({"Lag": "Lag.fmu", "Echo": "Lag.fmu"} if beside_lag else {})
    wires = [("Ball.h", "Lag.u"), ("Lag.x", "Echo.u")] if beside_lag else []
    net = network(names, wires, folder=models)
    return make_plan(beside(net, "Ball", "Echo"), Settings(**settings))


@KINDS
@pytest.mark.parametrize("sources", (FMI2, FMI3, MIXED), ids=("fmi2", "fmi3", "mixed"))
def test_a_simulation_that_goes_on_has_the_bits_of_the_one_that_was_saved(tmp_path, exchange, sources):
    planned = plan(exchange, sources)
    expected, resumed = saved_and_resumed(planned, Folder(), tmp_path / "state", 17)
    check_same(expected, resumed)
    assert len(resumed.t) == 51 - 17


@KINDS
def test_saving_changes_a_trace_by_no_more_than_the_tolerance(tmp_path, exchange):
    """The integrator starts anew where it is saved."""
    planned = plan(exchange)
    expected, _ = saved_and_resumed(planned, Folder(), tmp_path / "state", 17)
    assert expected.y == pytest.approx(run(planned, Folder()).unwrap().y, abs=1e-6)
    if len(exchange) == 2:
        assert expected["System1.x1"] == pytest.approx(oscillation(expected.t, HEAVY)[0], abs=1e-7)


@pytest.mark.parametrize("settings", ({}, {"adaptive": 1e-4}), ids=("equal", "adaptive"))
@KINDS
def test_a_simulation_can_be_saved_at_its_end(tmp_path, exchange, settings):
    """The one that goes on from there is finished as well."""
    planned = plan(exchange, **({} if len(exchange) == 2 else settings))
    with SteppedRun(planned, Folder()) as simulation:
        list(simulation)
        simulation.save(tmp_path / "state")
    with SteppedRun(planned, Folder(), saved=tmp_path / "state") as resumed:
        assert resumed.finished
        assert list(resumed) == []
    assert resumed.trace.t.tolist() == [0.5]
    assert np.array_equal(resumed.trace.cells[0], simulation.trace.cells[-1])


@pytest.mark.parametrize("steps", (20, 45, 46, 47, 110))
def test_a_ball_bounces_on_where_it_was_saved(tmp_path, models, steps):
    """Before a bounce, at its two rows, after it, and after the second one."""
    planned = ball(models)
    expected, resumed = saved_and_resumed(planned, Folder(models), tmp_path / "state", steps)
    check_same(expected, resumed)
    times = expected.t[:-1][np.diff(expected["Ball.bounces"]) > 0]
    assert times == pytest.approx(bounce_times(2), abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("steps", (20, 46))
@pytest.mark.parametrize(
    "settings", ({"acceleration": "iqn-ils"}, {"master": "jacobi"}, {"adaptive": 1e-4}), ids=lambda s: "-".join(s)
)
def test_it_does_so_beside_co_simulation(tmp_path, models, steps, settings):
    planned = ball(models, beside_lag=True, **settings)
    steps = steps // 2 if "adaptive" in settings else steps
    expected, resumed = saved_and_resumed(planned, Folder(models), tmp_path / "state", steps)
    check_same(expected, resumed)
    times = expected.t[:-1][np.diff(expected["Ball.bounces"]) > 0]
    assert times == pytest.approx(bounce_times(2), abs=1e-7)


@pytest.mark.parametrize("time", (0.2, 0.35, 0.7))
def test_time_events_come_when_they_would_have_come(tmp_path, models, time):
    net = network({"Pulse": "Pulse.fmu", "Lag": "Lag.fmu"}, [("Pulse.y", "Lag.u")], folder=models)
    planned = make_plan(beside(net, "Pulse", "Lag"), Settings(stop_time=1.0, step_size=0.01, tolerance=1e-9))
    with SteppedRun(planned, Folder(models)) as simulation:
        simulation.run_until(time)
        simulation.save(tmp_path / "state")
    with SteppedRun(planned, Folder(models), saved=tmp_path / "state") as resumed:
        list(resumed)
        events = resumed.trace.t[:-1][np.diff(resumed.trace.t) == 0]
    assert events == pytest.approx([0.3 * k for k in (1, 2, 3) if 0.3 * k > time], abs=1e-12)


@KINDS
def test_it_goes_on_in_another_process(tmp_path, exchange):
    with SteppedRun(plan(exchange), Folder()) as simulation:
        simulation.step(20)
        simulation.save(tmp_path / "state")
        list(simulation)
        expected = simulation.trace.y[20:]
    program = f"""
import sys
import numpy as np
from tests.engine.ode.test_saving import Folder, SteppedRun, plan
with SteppedRun(plan({exchange!r}), Folder(), saved=sys.argv[1]) as simulation:
    list(simulation)
    np.save(sys.argv[2], simulation.trace.y)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "state"), str(tmp_path / "rows.npy")]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[3])
    assert np.array_equal(np.load(tmp_path / "rows.npy"), expected)


def test_an_fmu_that_cannot_serialize_is_refused_by_name(tmp_path):
    net = lacking(beside(oscillator(), "System1", "System2"), "System2", serializes_state=False)
    planned = make_plan(net, Settings(stop_time=0.5, step_size=0.01))
    with SteppedRun(planned, Folder()) as simulation, pytest.raises(NotSavable, match="FMU of System2"):
        simulation.save(tmp_path / "state")
