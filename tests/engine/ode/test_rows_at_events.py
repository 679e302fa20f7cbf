"""Rows at events between communication points, where components of co-simulation never were."""

import re
from dataclasses import replace

import numpy as np
import pytest

import ssptool
from ssptool.engine.recording.decimation import Grid
from ssptool.engine.run import execution
from ssptool.engine.run.recorder import Recording
from tests.accuracy.measured import carried_out, true_error, written
from tests.accuracy.parts import write_part
from tests.accuracy.systems import sampled
from tests.engine.ode.systems import both_sides, couple

CLOCKED = sampled(clocked=True)
SAMPLED = replace(CLOCKED, parts=CLOCKED.parts | {"P": CLOCKED.parts["P"].able(varies=False)})
"""The plant takes steps of one size only: none ends at the samples."""
LAG = [("Ball.h", "Lag.u")]


@pytest.fixture(scope="module")
def control(tmp_path_factory):
    """FMUs of a controller with events at each 0.1 s, and of an integrator that takes steps of one size."""
    folder = tmp_path_factory.mktemp("control")
    for name, part in SAMPLED.parts.items():
        write_part(folder / f"{name}.fmu", part.able(saves=True))
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return written(SAMPLED, tmp_path_factory.mktemp("package"))


def controlled(folder, step, **settings):
    return couple(folder, {"C": "C"}, {"P": "P"}, SAMPLED.wires, stop_time=2.0, step_size=step, **settings)


def last_points(trace, inner, step):
    """For each row, that of the last communication point until then; `inner` (n,) are rows at events between two."""
    points = np.flatnonzero(~inner)
    assert trace.t[points] == pytest.approx(np.round(trace.t[points] / step) * step, abs=1e-9) or trace.t[-1]
    return points[np.searchsorted(points, np.arange(len(trace.t)), side="right") - 1]


@pytest.mark.parametrize("step", (0.04, 0.0625, 0.08))
def test_an_integrator_keeps_its_last_value_at_events_between_its_points(control, step):
    result = controlled(control, step)
    trace = result.unwrap()
    inner = ~trace.points
    grid = np.round(trace.t / step)
    assert np.array_equal(inner, (np.abs(trace.t - grid * step) > 1e-9) & (trace.t < 2.0 - 1e-9))
    assert inner.sum() >= 20
    assert np.array_equal(trace["P.y"], trace["P.y"][last_points(trace, inner, step)])
    assert len(set(trace["P.y"].tolist())) > 15
    assert np.array_equal(trace["P.u"], trace["C.u"])
    after = both_sides(trace) + 1
    after = after[inner[after]]
    assert trace["C.u"][after] == pytest.approx(-5 * trace["C.y"][after], abs=1e-12)


@pytest.mark.parametrize("settings", ({}, {"master": "iterated"}, {"adaptive": 1e-4}))
@pytest.mark.parametrize("room", (1, 2, 7))
def test_rows_do_not_depend_on_how_many_there_is_room_for(control, models, monkeypatch, room, settings):
    """Nor do those of a run that fails between two events of the same macro step."""

    def runs():
        if "adaptive" not in settings:
            yield controlled(control, 0.0625, **settings)
        for speed in (0.0, 0.1):  # below which the ball rests; or it is never at rest
            least = {"Ball.v_min": speed}
            yield couple(models, {"Ball": "BouncingBall"}, {"Lag": "Lag"}, LAG, least, stop_time=3.5, **settings)

    def inner(trace):
        return [] if trace.points is None else np.flatnonzero(~trace.points).tolist()

    whole = list(runs())
    assert {one.ok for one in whole} == {True, False} and ("adaptive" in settings or inner(whole[0].trace))
    monkeypatch.setattr(execution, "FIRST_CHUNK", room)
    monkeypatch.setattr(execution, "CHUNK_GROWTH", 1)
    for one, other in zip(whole, runs(), strict=True):
        assert (one.trace.t == other.trace.t).all() and (one.trace.cells == other.trace.cells).all()
        assert inner(one.trace) == inner(other.trace)
        assert one.failure == other.failure and one.notes == other.notes
        assert one.statistics.events == other.statistics.events


@pytest.mark.parametrize("step", (0.04, 0.0625, 0.08))
def test_the_step_size_of_the_remark_has_a_point_at_each_event(control, step):
    """y(k+1) = y(k) + 0.1 (1 − 5 y(k)) then holds to rounding."""
    result = controlled(control, step)
    (note,) = [note for note in result.notes if "between communication points" in note]
    assert note.startswith("P: ") and "t = 0.1 s" in note
    size = float(re.search(r"--step-size ([\d.]+)", note)[1])
    assert size <= step
    better = controlled(control, size)
    trace = better.unwrap()
    assert not any("between communication points" in note for note in better.notes)
    assert trace.points is None
    assert trace["P.y"] == pytest.approx(SAMPLED.exact(trace.t)["P.y"], abs=1e-12)


def test_no_step_size_is_advised_where_none_has_points_at_the_events(models):
    """The ball bounces at irrational times."""
    exchange, settings = {"Ball": "BouncingBall"}, {"stop_time": 2.0, "step_size": 0.01}
    result = couple(models, exchange, {"Lag": "Lag"}, LAG, saved=False, **settings)
    (note,) = [note for note in result.notes if "between communication points" in note]
    assert note.startswith("Lag: ") and "t = 0.451524 s" in note
    assert re.search(r"--step-size [\d.]", note) is None
    trace = result.unwrap()
    bounce = both_sides(trace)
    assert np.array_equal(trace["Lag.x"][bounce], trace["Lag.x"][bounce - 1])
    assert np.array_equal(trace["Lag.x"][bounce + 1], trace["Lag.x"][bounce - 1])


def test_observers_and_get_see_what_was(package):
    """After each step the plant is at a communication point."""
    seen = []
    with ssptool.Simulation(package, step_size=0.04, stop_time=1.0) as simulation:
        simulation.observe(lambda t, values: seen.append((t, values["P.y"])))
        while not simulation.finished:
            t = simulation.step()
            assert seen[-1] == (t, simulation.get("P.y"))
        trace, notes = simulation.trace, simulation.notes
    points = trace.rows(trace.points)
    assert [t for t, _ in seen] == points.t[1:].tolist()
    assert [y for _, y in seen] == points["P.y"][1:].tolist()
    assert set(trace["P.y"].tolist()) == set(points["P.y"].tolist())
    assert any(note.startswith("P: ") and "t = 0.1 s" in note for note in notes)


def test_accuracy_compares_components_where_they_were(package):
    """Held values of a row at an event are as old as the step says."""
    result = carried_out(SAMPLED, package, step_size=0.0625, accuracy="check")
    points = result.trace.rows(result.trace.points)
    error = np.max(np.abs(points["P.y"] - SAMPLED.exact(points.t)["P.y"])) / np.ptp(points["P.y"])
    assert result.accuracy.order == pytest.approx(2.0, abs=0.5)
    assert error / 3 < result.accuracy.error < 3 * error
    fine = carried_out(SAMPLED, package, step_size=0.025)
    assert true_error(SAMPLED, fine)[0] < 1e-9


@pytest.mark.parametrize("size", (1, 2, 3, 7))
def test_a_grid_takes_lines_between_points_for_what_has_values_there_only(size):
    """y = 5 t at 0, 1, 2, … s, with events at 0.4 and 1.4 s, where x = 7 t jumps by one and y keeps its last value."""
    rows = np.array(
        [[0, 0, 0], [0.4, 2.8, 0], [0.4, 3.8, 0], [1, 8, 5], [1.4, 10.8, 5], [1.4, 11.8, 5], [2, 16, 10]], dtype=float
    )
    points = np.array([True, False, False, True, False, False, True])
    grid = Grid(0.0, 0.25, of_points=[False, True])
    blocks = [
        block
        for first in range(0, len(rows), size)
        for block in grid.keep(rows[first : first + size], points[first : first + size])
    ]
    found = np.concatenate([*blocks, grid.rest()])
    t = np.sort(np.concatenate([np.arange(9) * 0.25, rows[~points, 0]]))
    left = np.append(np.diff(t) == 0, False)
    assert found[:, 0] == pytest.approx(t)
    assert found[:, 2] == pytest.approx(5 * t)
    assert found[:, 1] == pytest.approx(7 * t + (t > 0.39) + (t > 1.39) - left)


def test_recorded_rows_at_a_distance_are_on_lines_between_points(control):
    whole = controlled(control, 0.04).unwrap()
    points = whole.rows(whole.points)
    grid = controlled(control, 0.04, recording=Recording(output_step=0.025)).unwrap()
    assert grid["P.y"] == pytest.approx(np.interp(grid.t, points.t, points["P.y"]), abs=1e-12)
