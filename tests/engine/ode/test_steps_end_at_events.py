"""Macro steps end at events of model exchange, where all others are then: at time events always."""

from dataclasses import replace

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from ssptool.network.network import Conversion
from ssptool.renderers import call_sequence
from tests.accuracy.parts import Part, write_part
from tests.engine.dual_mass import Folder, network
from tests.engine.ode.systems import beside, both_sides, bounce_times, check_same, saved_and_resumed
from tests.engine.running import run

STEPS = pytest.mark.parametrize("step", (0.03, 0.07, 0.1, 0.25))
CONTROLLER = Part(
    inputs={"y": 1.0},
    outputs={"u": "u"},
    kept={"u": -5.0, "count": 0.0},
    event="if (time >= count * 0.1 - 1e-9) { u = -5 * y; count = count + 1; } next = count * 0.1;",
    exchange=True,
    co_simulation=False,
)
PLANT = Part(inputs={"u": 0.0}, states={"level": (1.0, "u + 1")}, outputs={"y": "level"})
SAMPLES = 0.1 * np.arange(21)


@pytest.fixture(params=(2, 3), ids=lambda version: f"fmi{version}")
def version(request):
    return request.param


def coupled(folder, parts, wires, version, **settings):
    """A run, and its FMUs in the folder: name → part; from, to, factor and offset of wires."""
    return run(planned(folder, parts, wires, version, **settings), Folder(folder))


def planned(folder, parts, wires, version, **settings):
    for name, part in parts.items():
        if not (folder / f"{name}.fmu").exists():
            write_part(folder / f"{name}.fmu", part, version=version)
    net = network({name: f"{name}.fmu" for name in parts}, [wire[:2] for wire in wires], folder=folder)
    converted = (
        wire._replace(conversion=Conversion(*stated[2:])) for wire, stated in zip(net.wires, wires, strict=True)
    )
    net = beside(replace(net, wires=tuple(converted)), *(name for name, part in parts.items() if part.exchange))
    return make_plan(net, Settings(**{"stop_time": 2.0} | settings))


def sampled(factor=1.0, offset=0.0, gain=1.0, shift=0.0):
    """y at the samples (21,), where the controller sees gain · y + shift and the plant gets factor · u + offset."""
    y = [1.0]
    for _ in SAMPLES[1:]:
        y.append(y[-1] + 0.1 * (factor * -5 * (gain * y[-1] + shift) + offset + 1))
    return np.array(y)


def control(*conversion):
    return [("C.u", "P.u", *conversion[:2]), ("P.y", "C.y", *conversion[2:])]


CONVERTED = (0.25, -0.5, 3.0, 0.5)


def at_samples(trace):
    """Rows (21, 2) before and after each of the samples, the first of which is that of the start."""
    after = [int(np.flatnonzero(np.abs(trace.t - t) < 1e-12)[-1]) for t in SAMPLES]
    return np.array([[max(row - 1, 0) if place else row, row] for place, row in enumerate(after)])


@STEPS
@pytest.mark.parametrize("conversion", ((), CONVERTED), ids=("plain", "converted"))
@pytest.mark.parametrize("settings", ({}, {"master": "gauss-seidel"}, {"approximation": "hold"}), ids=str)
def test_a_sampled_controller_is_exact_with_any_step(tmp_path, version, step, conversion, settings):
    """The plant cannot be taken back: the next event is known in advance."""
    parts = {"C": CONTROLLER, "P": PLANT}
    result = coupled(tmp_path, parts, control(*conversion), version, step_size=step, **settings)
    trace = result.unwrap()
    rows = at_samples(trace)
    assert trace.t[rows] == pytest.approx(np.stack([SAMPLES, SAMPLES], axis=1), abs=1e-15)
    exact = sampled(*conversion)
    assert trace["P.y"][rows] == pytest.approx(np.stack([exact, exact], axis=1), abs=1e-12)
    u = -5 * trace["C.y"][rows[:, 1]]
    assert trace["C.u"][rows[:, 1]] == pytest.approx(u, abs=1e-12)
    assert trace["C.u"][rows[1:, 0]] == pytest.approx(u[:-1], abs=1e-12)
    assert result.statistics.events == 20
    grid = {round(k * step, 12) for k in range(int(2 / step + 1e-9) + 1)} | set(SAMPLES.round(12).tolist()) | {2.0}
    assert np.unique(trace.t.round(12)).tolist() == sorted(grid)
    assert len(trace.t) == len(grid) + 20
    assert trace.points is None and result.notes == ()


@STEPS
def test_a_simulation_stops_at_points_of_the_grid_and_can_be_saved_there(tmp_path, version, step):
    parts = {"C": CONTROLLER.able(saves=True), "P": PLANT.able(saves=True)}
    whole = coupled(tmp_path, parts, control(), version, step_size=step).unwrap()
    plan = planned(tmp_path, parts, control(), version, step_size=step)
    expected, resumed = saved_and_resumed(plan, Folder(tmp_path), tmp_path / "state", 3)
    check_same(expected, resumed)
    assert np.array_equal(expected.y, whole.y)


def test_adaptive_steps_end_at_the_samples(tmp_path, version):
    parts = {"C": CONTROLLER, "P": PLANT.able(saves=True)}
    result = coupled(tmp_path, parts, control(), version, step_size=0.03, adaptive=1e-6)
    assert result.unwrap()["P.y"][at_samples(result.trace)[:, 1]] == pytest.approx(sampled(), abs=1e-12)
    assert result.statistics.events == 20


def test_steps_of_one_size_are_not_cut(tmp_path, version):
    """Where a sample is at the end of a step all the same, the controller sees what is there."""
    parts = {"C": CONTROLLER, "P": PLANT.able(varies=False)}
    exact = coupled(tmp_path, parts, control(), version, step_size=0.05)
    assert exact.unwrap()["P.y"][at_samples(exact.trace)] == pytest.approx(np.stack([sampled()] * 2, axis=1), abs=1e-12)
    between = coupled(tmp_path, parts, control(), version, step_size=0.04)
    assert between.trace.points is not None
    (note,) = (note for note in between.notes if "between communication points" in note)
    assert note.startswith("P: ") and "P accepts steps of one size only" in note


@pytest.mark.parametrize("varies", (True, False))
def test_the_plan_says_where_steps_end(tmp_path, version, varies):
    parts = {"C": CONTROLLER, "P": PLANT.able(varies=varies)}
    said = "\n".join(call_sequence(planned(tmp_path, parts, control(), version, step_size=0.05)))
    assert ("the step ends at the next time event of the ODE" in said) is varies


BALL = Part(
    states={"height": (1.0, "speed"), "speed": (0.0, "-9.81")},
    outputs={"n": "bounces", "x": "height", "w": "speed"},
    kept={"bounces": 0.0},
    indicators=("height",),
    event="if (height <= 0 && speed < 0) { speed = -0.7 * speed; bounces = bounces + 1; }",
    exchange=True,
    co_simulation=False,
)
TOTAL = Part(inputs={"u": 0.0}, states={"sum": (0.0, "u")}, outputs={"y": "sum"}, saves=True)
BOUNCES = bounce_times(4)  # until 2 s


def bounced(t, factor=1.0, offset=0.0):
    """The integral (n,) of factor · bounces + offset."""
    return factor * np.maximum(0, t[:, np.newaxis] - BOUNCES).sum(axis=1) + offset * t


@pytest.mark.parametrize("step", (0.03, 0.07, 0.1))
@pytest.mark.parametrize("conversion", ((), (2.5, -0.5)), ids=("plain", "converted"))
@pytest.mark.parametrize("master", ("jacobi", "gauss-seidel", "iterated"))
def test_bounces_of_a_ball_are_those_of_what_integrates_them(tmp_path, version, step, conversion, master):
    """Steps are taken back to state events."""
    parts = {"B": BALL, "T": TOTAL}
    settings = {"step_size": step, "master": master, "tolerance": 1e-10}
    result = coupled(tmp_path, parts, [("B.n", "T.u", *conversion)], version, **settings)
    trace = result.unwrap()
    events = both_sides(trace)
    assert result.statistics.events == len(events) == len(BOUNCES) == 4
    assert trace.t[events] == pytest.approx(BOUNCES, abs=1e-9)
    assert trace["B.n"][events].tolist() == [0, 1, 2, 3]
    assert trace["B.n"][events + 1].tolist() == [1, 2, 3, 4]
    assert trace["T.y"] == pytest.approx(bounced(trace.t, *conversion), abs=1e-9)
    assert trace.points is None and result.notes == ()


THERMOSTAT = Part(
    inputs={"y": 21.0},
    outputs={"u": "heat"},
    kept={"heat": 1.0},
    indicators=("22 - y + 4 * (1 - heat)", "y - 20 + 4 * heat"),
    event="if (heat > 0.5 && y >= 22) heat = 0; else if (heat < 0.5 && y <= 20) heat = 1;",
    saves=True,
    exchange=True,
    co_simulation=False,
)
ROOM = Part(inputs={"u": 1.0}, states={"temp": (21.0, "0.1 * (10 + 30 * u - temp)")}, outputs={"y": "temp"}, saves=True)


def switches(until):
    """Times at which heating goes off, on, off … from 21 °C, towards 40 or 10 °C with a time constant of 10 s."""
    t, temp, times, heat = 0.0, 21.0, [], True
    while t < until:
        goal, at = (40.0, 22.0) if heat else (10.0, 20.0)
        t += 10 * np.log((temp - goal) / (at - goal))
        times.append(t)
        temp, heat = at, not heat
    return np.array(times[:-1])


@pytest.mark.parametrize("master", ("jacobi", "gauss-seidel", "iterated"))
def test_times_of_switches_are_of_second_order_at_least(tmp_path, version, master):
    """The room is exact between switches, and the thermostat sees a line or a parabola between points."""
    exact, errors = switches(10.0), []
    for step in (0.1, 0.05):
        parts, wires = {"C": THERMOSTAT, "P": ROOM}, [("C.u", "P.u"), ("P.y", "C.y")]
        settings = {"step_size": step, "master": master, "stop_time": 10.0, "tolerance": 1e-10}
        result = coupled(tmp_path, parts, wires, version, **settings)
        trace = result.unwrap()
        events = both_sides(trace)
        assert len(events) == len(exact) == result.statistics.events
        errors.append(np.max(np.abs(trace.t[events] - exact)))
        assert trace["P.y"][events] == pytest.approx(np.where(trace["C.u"][events] > 0.5, 22, 20), abs=2e-3)
    print(master, errors)
    assert max(errors) < 1e-6


@pytest.mark.parametrize("level", (0.5, 0.5 + 1e-12, 0.5 - 1e-12, 0.5 + 1e-9, 0.47), ids=str)
@pytest.mark.parametrize("master", ("jacobi", "iterated"))
def test_an_input_that_crosses_a_level_at_a_communication_point_does_so_once(tmp_path, version, level, master):
    """y = t, and what is above the level counts from there on."""
    above = Part(
        inputs={"y": 0.0},
        parameters={"level": level},
        outputs={"u": "above"},
        kept={"above": 0.0},
        indicators=("y - level",),
        event="above = y > level;",
        exchange=True,
        co_simulation=False,
    )
    ramp = Part(states={"rise": (0.0, "1.0")}, outputs={"y": "rise"}, saves=True)
    parts = {"R": ramp, "C": above, "T": TOTAL}
    wires = [("R.y", "C.y"), ("C.u", "T.u")]
    trace = coupled(tmp_path, parts, wires, version, step_size=0.1, stop_time=1.0, master=master).unwrap()
    at = np.flatnonzero(np.diff(trace["C.u"]))
    assert len(at) == 1 and trace.t[at + 1] == pytest.approx([level], abs=2e-9)
    assert trace["T.y"][-1] == pytest.approx(1 - level, abs=1e-8)
