"""Decimation of runs with events: ticks of clocks, both sides of events and jumps of inputs are recorded."""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.run.recorder import Recording
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import column
from tests.engine.running import run

FEWER = [{"every": 7}, {"output_step": 0.0173}, {"output_step": 50.0}]
BALL = {"Ball": "fmi3/Ball", "Counter": "fmi3/Counter"}
LOOP = [("Plant.z", "Controller.y"), ("Controller.u", "Plant.F")]


def simulate(path, recording=Recording(), **settings):  # noqa: B008
    plan = ssptool.plan(path, settings=ssptool.Settings(stop_time=2.0, step_size=0.01, **settings))
    return run(plan, Folder(path), recording=recording)


def rows(trace):
    return [tuple(row) for row in np.column_stack([trace.t, trace.cells]).tolist()]


def at_events(trace):
    """The rows whose time another row has too."""
    t = trace.t
    return trace.rows(np.isin(t, t[1:][np.diff(t) == 0]))


@pytest.mark.parametrize("fewer", FEWER, ids=str)
@pytest.mark.parametrize("options", [{}, {"adaptive": 1e-3}], ids=str)
def test_ticks_and_both_sides_of_events_are_recorded(system, fewer, options):
    folder = system(BALL, [("Ball.bounce", "Counter.tick")])
    whole = simulate(folder, **options).unwrap()
    part = simulate(folder, Recording(**fewer), **options).unwrap()
    assert len(at_events(whole)) >= 6
    assert rows(at_events(part)) == rows(at_events(whole))
    ticks = column(whole, "Ball.bounce").astype(bool)
    assert ticks.any()
    assert part.t[column(part, "Ball.bounce").astype(bool)].tolist() == whole.t[ticks].tolist()
    assert len(part) < len(whole) or fewer.get("output_step", 1.0) < 0.02


@pytest.mark.parametrize("fewer", FEWER, ids=str)
def test_ticks_are_recorded_where_no_clock_is(system, fewer):
    """The controller has a clock without a connector among the recorded signals; ticks are at each 0.1 s."""
    folder = system({"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController"}, LOOP)
    part = simulate(folder, Recording(signals=["Controller.u"], **fewer)).unwrap()
    t = part.t[1:][np.diff(part.t) == 0]
    assert t == approx(0.1 * np.arange(1, 21), abs=1e-12)


@pytest.mark.parametrize("fewer", FEWER, ids=str)
@pytest.mark.parametrize("ending", ["csv", "parquet", "mat"])
def test_files_have_the_sides_that_the_trace_has(system, tmp_path, fewer, ending):
    pytest.importorskip("pyarrow")
    folder, path = system(BALL, [("Ball.bounce", "Counter.tick")]), tmp_path / f"r.{ending}"
    kept = simulate(folder, Recording(path, **fewer)).unwrap()
    read = ssptool.read_trace(path)
    assert read.t.tolist() == kept.t.tolist()
    assert column(read, "Ball.v").tolist() == column(kept, "Ball.v").tolist()
    assert np.any(np.diff(read.t) == 0)


@pytest.mark.parametrize("fewer", FEWER, ids=str)
def test_both_sides_of_events_of_model_exchange_are_recorded(system, fewer):
    folder = system({"Ball": "fmi2/BouncingBall"})
    options = {"implementation": "me"}
    whole = simulate(folder, **options).unwrap()
    part = simulate(folder, Recording(**fewer), **options).unwrap()
    assert len(at_events(whole)) >= 6
    assert rows(at_events(part)) == rows(at_events(whole))


@pytest.mark.parametrize("fewer", FEWER, ids=str)
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_both_sides_of_a_jump_of_an_input_are_recorded(system, tmp_path, fewer, master):
    table, folder = tmp_path / "F.csv", system({"Plant": "fmi2/Mass"})
    table.write_text("time,Plant.F\n0,0\n0.153,0\n0.153,2.5\n2,2.5\n")
    options = {"inputs": table, "master": master, "stop_time": 2.0, "step_size": 0.01}
    whole, part = (ssptool.simulate(folder, **options, **one).unwrap() for one in ({}, fewer))
    assert at_events(whole)["Plant.F"].tolist() == [0.0, 2.5]
    assert rows(at_events(part)) == rows(at_events(whole))
