"""What acts from outside on components of model exchange that stand beside components of co-simulation."""

import numpy as np
import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.planning.stimuli import resolve
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stimuli.time_signals import Action
from ssptool.types import Event, Scenario, Table
from tests.engine.dual_mass import Folder, network
from tests.engine.ode.systems import beside, check_same, saved_and_resumed
from tests.engine.running import run

EXCHANGE = pytest.mark.parametrize("exchange", (("A",), ("B",), ("A", "B")), ids="".join)


def plan(models, exchange, inputs=None, scenario=None, *, sources=("Lag", "Lag"), wires=(("A.x", "B.u"),), **settings):
    """By default two lags with T = 0.5 s in a row."""
    net = beside(network(dict(zip("AB", (f"{s}.fmu" for s in sources), strict=True)), wires, folder=models), *exchange)
    asked = Settings(**{"stop_time": 1.0, "step_size": 0.01, "tolerance": 1e-10} | settings)
    return make_plan(net, asked, resolve(net, asked, inputs, None, scenario, {}))


@EXCHANGE
@pytest.mark.parametrize("settings", ({"master": "jacobi"}, {"master": "iterated"}, {"adaptive": 1e-5}), ids=str)
def test_an_input_of_either_kind_jumps_when_it_should(models, exchange, settings):
    if exchange == ("A", "B"):
        settings = {}
    inputs = {"A.u": Table((0.0, 0.355), (0.0, 1.0), "hold")}
    trace = run(plan(models, exchange, inputs, **settings), Folder(models)).unwrap()
    s = np.maximum(0.0, trace.t - 0.355) / 0.5
    jump = np.flatnonzero(trace.t == 0.355)
    assert trace["A.u"][jump].tolist() == [0.0, 1.0]
    assert trace["A.x"] == approx(1 - np.exp(-s), abs=1e-7)
    # The step after a jump knows no past, so B sees A held: h²/(2 T²).
    assert trace["B.x"] == approx(1 - np.exp(-s) * (1 + s), abs=3e-4)


def test_a_ramp_into_model_exchange_is_followed_within_the_steps(models):
    """T x' = t − x from rest: x = t − T + T exp(−t/T)."""
    inputs = {"A.u": lambda t: t}
    trace = run(plan(models, ("A",), inputs, master="jacobi", step_size=0.1), Folder(models)).unwrap()
    assert trace["A.x"] == approx(trace.t - 0.5 + 0.5 * np.exp(-trace.t / 0.5), abs=1e-7)


@pytest.mark.parametrize("exchange", (("A",), ("A", "B")), ids="".join)
def test_a_parameter_of_a_scenario_changes_in_event_mode(models, exchange):
    """A ball that loses its weight at t = 0.3 flies on as it was."""
    scenario = Scenario((Event(0.3, "A.g", Action.OVERRIDE, 0.0),))
    settings = {"sources": ("BouncingBall", "Lag"), "wires": (("A.h", "B.u"),), "stop_time": 0.45}
    trace = run(plan(models, exchange, None, scenario, **settings), Folder(models)).unwrap()
    falling = trace.t <= 0.3
    speed = np.where(falling, -9.81 * trace.t, -9.81 * 0.3)
    assert trace["A.v"] == approx(speed, abs=1e-8)
    assert trace["A.h"][-1] == approx(1 - 9.81 / 2 * 0.3**2 - 9.81 * 0.3 * 0.15, abs=1e-8)


def test_an_input_that_jumps_over_a_level_is_an_event_at_once(models):
    inputs = {"A.u": Table((0.0, 0.355), (0.0, 2.0), "hold")}
    settings = {"sources": ("Comparator", "Lag"), "wires": (("A.y", "B.u"),), "master": "jacobi"}
    trace = run(plan(models, ("A",), inputs, **settings), Folder(models)).unwrap()
    switched = np.flatnonzero(np.diff(trace["A.y"]))
    assert trace.t[switched].tolist() == [0.355]
    assert trace["A.y"][0] == 0.0 and trace["A.y"][-1] == 1.0


@pytest.mark.parametrize("exchange", (("A",), ("B",)), ids="".join)
def test_a_driven_simulation_goes_on_where_it_was_saved(models, exchange, tmp_path):
    planned = plan(models, exchange, {"A.u": Table((0.0, 0.355), (0.0, 1.0), "hold")}, master="iterated")
    check_same(*saved_and_resumed(planned, Folder(models), tmp_path / "state", 20))
