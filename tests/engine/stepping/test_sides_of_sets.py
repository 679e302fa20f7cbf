"""Rows of the trace where a program sets values: one before and one after, at the same time."""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from tests.engine.dual_mass import Folder, network
from tests.engine.event_mode.systems import write_system
from tests.engine.ode.systems import beside, unsaved

TWO = {"A": "fmi2/Mass", "B": "fmi3/Mass"}
KINDS = [
    {"master": "jacobi"},
    {"master": "gauss-seidel"},
    {"master": "iterated"},
    {"adaptive": 1e-4},
]


@pytest.fixture(scope="module")
def models(test_models):
    return test_models.parent / "fmi2"


def pushed(folder, fmus, settings, at=0.5):
    """Two masses of 0.5 kg, set in motion at `at` s with the forces 2 N and 3 N, which are set twice there."""
    path = write_system(folder / "system", fmus, TWO)
    starts = {f"{name}.{variable}": value for name in TWO for variable, value in (("m", 0.5), ("z", 0), ("v", 0))}
    with ssptool.Simulation(path, stop_time=1.0, step_size=0.02, start_values=starts, **settings) as simulation:
        simulation.run_until(at)
        for name, forces in {"A": (1.0, 2.0), "B": (7.0, 3.0)}.items():
            for force in forces:
                simulation.set(f"{name}.F", force)
        simulation.run_until(1.0)
        return simulation.trace


@pytest.mark.parametrize("settings", KINDS, ids=str)
@pytest.mark.parametrize("at", [0.0, 0.5, 0.4567, 1.0])
def test_the_row_before_is_kept_and_all_that_is_set_at_one_time_is_one_more(tmp_path, engine_models, settings, at):
    trace = pushed(tmp_path, engine_models.parent, settings, at)
    (left,) = np.flatnonzero(np.diff(trace.t) == 0)
    assert trace.t[left] == at
    assert [trace[f"{name}.F"][left : left + 2].tolist() for name in TWO] == [[0.0, 2.0], [0.0, 3.0]]
    passed = np.maximum(trace.t - at, 0.0)
    for name, force in (("A", 2.0), ("B", 3.0)):
        assert trace[f"{name}.z"] == approx(force / 0.5 * passed**2 / 2, abs=1e-9)
        assert trace[f"{name}.F"][: left + 1].tolist() == [0.0] * (left + 1)


@pytest.mark.parametrize("exchange", [("A", "B"), ("A",), ("B",)], ids="".join)
def test_both_sides_are_rows_with_model_exchange(models, exchange):
    net = beside(network({"A": "Lag.fmu", "B": "Lag.fmu"}, [("A.x", "B.u")], folder=models), *exchange)
    planned = make_plan(net, Settings(stop_time=1.0, step_size=0.01, tolerance=1e-9))
    with SteppedRun(planned, Folder(models)) as simulation:
        simulation.step(20)
        simulation.set("A.u", 5.0)
        simulation.set("A.u", 3.0)
        list(simulation)
        trace = simulation.trace
    (left,) = np.flatnonzero(np.diff(trace.t) == 0)
    assert left == 20 and trace["A.u"][19:23].tolist() == [0.0, 0.0, 3.0, 3.0]
    assert trace["A.x"] == approx(3 * (1 - np.exp(-np.maximum(trace.t - 0.2, 0.0) / 0.5)), abs=1e-7)


def test_a_second_time_after_a_step_and_after_a_new_start_is_a_row_of_its_own(tmp_path, engine_models):
    path, state = write_system(tmp_path / "system", engine_models.parent, {"A": "fmi2/Mass"}), tmp_path / "state"
    options = {"stop_time": 1.0, "step_size": 0.25}
    with ssptool.Simulation(path, **options) as simulation:
        for force in (2.0, 3.0):
            simulation.step()
            simulation.set("A.F", force)
        simulation.save(state)
        assert simulation.trace.t.tolist() == [0.0, 0.25, 0.25, 0.5, 0.5]
        assert simulation.trace["A.F"].tolist() == [0.0, 0.0, 2.0, 2.0, 3.0]
    with ssptool.Simulation(path, saved=state, **options) as resumed:
        resumed.set("A.F", 4.0)
        resumed.set("A.F", 5.0)
        resumed.step()
        assert resumed.trace.t.tolist() == [0.5, 0.5, 0.75]
        assert resumed.trace["A.F"].tolist() == [3.0, 5.0, 5.0]


def test_rows_at_events_after_a_set_begin_at_what_was_set(models):
    """The ball bounces at sqrt(2 h/g) = 0.4515 s, in the step from 0.45 s, where the input of the lag is set to 4."""
    net = unsaved(beside(network({"Ball": "BouncingBall.fmu", "Lag": "Lag.fmu"}, folder=models, wires=[]), "Ball"))
    with SteppedRun(make_plan(net, Settings(stop_time=0.6, step_size=0.15, tolerance=1e-9)), Folder(models)) as one:
        one.step(3)
        one.set("Lag.u", 4.0)
        one.step()
        trace = one.trace
    assert trace.t[4:6] == approx([0.45, (2 / 9.81) ** 0.5], abs=1e-6)
    assert trace["Lag.u"].tolist() == [0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0]


def test_clocks_and_events_keep_their_sides(tmp_path, engine_models):
    """The controller samples at each 0.1 s; its input is set at a tick, which is an event before it."""
    path = write_system(tmp_path / "system", engine_models.parent, {"C": "fmi3/SampledController"})
    with ssptool.Simulation(path, stop_time=0.5, step_size=0.05) as simulation:
        simulation.run_until(0.25)
        simulation.set("C.y", 3.0)
        list(simulation)
        trace = simulation.trace
    t = trace.t[1:][np.diff(trace.t) == 0]
    assert t == approx([0.1, 0.2, 0.25, 0.3, 0.4, 0.5])
