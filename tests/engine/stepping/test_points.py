"""With every master: after each step all that a simulation gives and takes is that of its FMUs at its time.

Two rooms exchange heat, A.y' = 0.1 (A.p − A.y) + A.u and likewise B, with A.p = B.y and B.p = A.y: A.y − B.y decays as
exp(−0.2 t), A.y + B.y grows by the inputs alone. Each FMU integrates its own time too, which leads nowhere: `own`. Held
inputs p of a step of 0.02 s miss 0.1 · 0.02²/2 = 2e-5 of u in each of 25 steps, hence the tolerance of 1e-3.
"""

from itertools import pairwise

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.method_names import AccelerationName
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.selection import select
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.errors import WrongValue
from tests.engine.dual_mass import Folder, network, oscillator
from tests.engine.event_mode.systems import write_system
from tests.engine.event_mode.test_adaptive_steps import COUPLED, PAIR, VALUES
from tests.engine.event_mode.test_adaptive_steps import oscillation as swing
from tests.engine.masters.test_adaptive import without
from tests.engine.ode.systems import beside, oscillation, unsaved
from tests.engine.small.fmus import Var, make_fmu

pytestmark = pytest.mark.one_in(3)

STEP, STOP = 0.02, 0.5
WIRES = [("A.y", "B.p"), ("B.y", "A.p")]
ROOM = (
    *(Var("p", "input", start=0.0), Var("u", "input", start=0.0)),
    *(Var("x", "state", start=0.0), Var("dx", "der", of="x", needs=["x", "p", "u"])),
    *(Var("own", "state", start=0.0), Var("down", "der", of="own", needs=[])),
    Var("y", "output", needs=["x"]),
)
CALC = "v->dx = 0.1 * (v->p - v->x) + v->u; v->down = 1; v->y = v->x;"

FIXED = [
    {"master": "jacobi"},
    {"master": "jacobi", "approximation": "hold"},
    {"master": "jacobi", "substeps": {"A": 3}},
    {"master": "gauss-seidel"},
    *({"master": "iterated", "acceleration": name.value} for name in AccelerationName),
    {"master": "iterated", "iterations": 3},
    {"master": "jacobi", "log_coupling": "log.csv"},
]
ADAPTIVE = [
    {"adaptive": 1e-4, "master": "jacobi"},
    {"adaptive": 1e-4, "master": "jacobi", "substeps": {"B": 2}},
    {"adaptive": 1e-4, "master": "gauss-seidel"},
    {"adaptive": 1e-4, "master": "iterated"},
    {"adaptive": 1e-4, "master": "iterated", "acceleration": "newton"},
]
INTEGRATED = [{"implementation": "me"}, {"implementation": "me", "integrator": "dormand-prince"}]
BESIDE = [{"ode": "A"}, {"ode": "B", "master": "jacobi"}, {"ode": "A", "adaptive": 1e-4}]
EVERY = pytest.mark.parametrize("settings", [*FIXED, *ADAPTIVE, *INTEGRATED, *BESIDE], ids=str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rooms")
    make_fmu(path / "Room.fmu", ROOM, calc=CALC, step="int n = (int)(h / 1e-3) + 1; for (int i = 0; i < n; i++) "
             "rk4(s, t + i * h / n, h / n); return OK;")  # fmt: skip
    return path


def rooms(folder, settings, monkeypatch, tmp_path):
    """A simulation of both, in which the inputs u are free and only the outputs are recorded."""
    monkeypatch.chdir(tmp_path)
    settings = dict(settings)
    exchange = [settings.pop("ode")] if "ode" in settings else []
    net = network({"A": "Room.fmu", "B": "Room.fmu"}, WIRES, folder=folder)
    net = beside(net, *exchange) if exchange else net
    plan = make_plan(net, Settings(stop_time=STOP, step_size=STEP, **settings))
    return lambda **more: SteppedRun(select(plan, ("A.y", "B.y")), Folder(folder), **more)


def watched(simulation):
    """What observers are told."""
    seen = []
    simulation.observe(lambda time, values: seen.append((time, dict(values))))
    return seen


def check_point(simulation, seen, names):
    """Last row, values and what an observer was told are one."""
    trace = simulation.trace
    assert seen[-1][0] == simulation.time == trace.t[-1]
    for name in names:
        value = simulation.get(name)
        assert value == trace[name][-1] == seen[-1][1][name], name


@EVERY
def test_a_controller_reads_and_sets_the_fmus_where_the_simulation_is(folder, monkeypatch, tmp_path, settings):
    """u = 1 − y, held from point to point, for the mean y of both: it grows by h u and never passes 1."""
    with rooms(folder, settings, monkeypatch, tmp_path)() as simulation:
        seen, mean, time = watched(simulation), 0.0, 0.0
        while not simulation.finished:
            u = 1.0 - (simulation.get("A.y") + simulation.get("B.y")) / 2
            for name in ("A.u", "B.u"):
                simulation.set(name, u)
            mean, before = mean + (simulation.step() - time) * u, time
            time = simulation.time
            check_point(simulation, seen, ("A.y", "B.y"))
            assert time > before
            for name in ("A", "B"):
                assert simulation.get(f"{name}.own") == approx(time, abs=1e-9)
                assert simulation.get(f"{name}.y") == approx(mean, abs=1e-3)
        assert time == STOP and mean < 1.0
        assert mean == approx(1 - np.exp(-STOP), abs=0.01)
        assert [t for t, _ in seen] == sorted({t for t, _ in seen})


@EVERY
@pytest.mark.parametrize("until", [0.1234, 0.3])
def test_what_is_saved_goes_on_with_the_same_values(folder, monkeypatch, tmp_path, settings, until):
    """A.u = 1 from the start, and 3 from the time of saving: half of A.y − B.y goes to u/0.4."""
    started = rooms(folder, settings, monkeypatch, tmp_path)
    with started() as simulation:
        simulation.set("A.u", 1.0)
        saved = simulation.run_until(until)
        assert saved == until
        for name in ("A", "B"):
            assert simulation.get(f"{name}.own") == approx(saved, abs=1e-9)
        simulation.set("A.u", 3.0)
        simulation.save(tmp_path / "state")
        list(simulation)
    with started(saved=tmp_path / "state") as resumed:
        assert resumed.time == saved
        list(resumed)
    trace = simulation.trace
    assert np.array_equal(resumed.trace.cells, trace.cells[-len(resumed.trace.t) :])
    past = np.maximum(trace.t - saved, 0.0)
    mean = trace.t / 2 + past
    half = ((1 - np.exp(-0.2 * trace.t)) + 2 * (1 - np.exp(-0.2 * past))) / 0.4
    assert trace["A.y"] == approx(mean + half, abs=2e-3)
    assert trace["B.y"] == approx(mean - half, abs=2e-3)


@EVERY
def test_running_until_a_time_between_points_ends_there(folder, monkeypatch, tmp_path, settings):
    """A.u = 1 from the start: half of A.y − B.y goes to 2.5."""
    ends = (0.0123, 0.1234, 0.1299, 0.26, 0.4999)
    with rooms(folder, settings, monkeypatch, tmp_path)() as simulation:
        simulation.set("A.u", 1.0)
        seen = watched(simulation)
        for until in ends:
            assert simulation.run_until(until) == simulation.time == until
            check_point(simulation, seen, ("A.y", "B.y"))
            assert [simulation.run_until(earlier) for earlier in (until, until - 0.01, -1.0)] == [until] * 3
        with pytest.raises(WrongValue):
            simulation.run_until(STOP + 1e-3)
        assert not simulation.finished
        assert simulation.run_until(STOP) == STOP and simulation.finished
        trace = simulation.trace
    assert set(ends) <= set(trace.t.tolist())
    half = (1 - np.exp(-0.2 * trace.t)) / 0.4
    assert trace["A.y"] == approx(trace.t / 2 + half, abs=1e-3)
    assert trace["B.y"] == approx(trace.t / 2 - half, abs=1e-3)


@pytest.mark.parametrize("settings", [*FIXED, *INTEGRATED, *BESIDE[:2]], ids=str)
@pytest.mark.parametrize("observed", [True, False])
def test_after_a_cut_step_the_grid_goes_on(folder, monkeypatch, tmp_path, settings, observed):
    with rooms(folder, settings, monkeypatch, tmp_path)() as simulation:
        if observed:
            watched(simulation)
        simulation.run_until(0.13)
        assert simulation.step() == 7 * STEP
        assert simulation.step(3) == 10 * STEP
        simulation.run_until(0.49)
        assert simulation.step() == STOP and simulation.finished
        with pytest.raises(WrongValue):
            simulation.step()
        times = simulation.trace.t
    assert times.tolist() == sorted([*(STEP * k for k in range(25)), 0.13, 0.49, STOP])


@EVERY
def test_running_until_a_point_of_the_grid_is_a_run_of_whole_steps(folder, monkeypatch, tmp_path, settings):
    """The clock of the caller is another sum: 0.06 is not 3 · 0.02."""
    started = rooms(folder, settings, monkeypatch, tmp_path)
    with started() as one, started() as other:
        list(one)
        for k in range(1, 26):
            assert other.run_until(k / 50) == approx(k * STEP, abs=1e-15)
        if "adaptive" not in settings:
            assert np.array_equal(one.trace.cells, other.trace.cells)


@pytest.mark.parametrize("settings", ADAPTIVE, ids=str)
def test_setting_a_value_begins_anew_with_the_first_step_size(folder, monkeypatch, tmp_path, settings):
    settings = {**settings, "adaptive": 1e-2, "max_step_size": 0.05}
    with rooms(folder, settings, monkeypatch, tmp_path)() as simulation:
        for name in ("A.u", "B.u"):
            simulation.set(name, 1.0)
        simulation.run_until(0.2)
        grown = simulation.step() - 0.2
        assert grown > 3 * STEP or settings.get("acceleration") == "newton"  # of order 1: inputs are held at their end
        simulation.set("A.u", 1.1)
        before = simulation.time
        assert simulation.step() - before <= 2 * STEP * (1 + 1e-9)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_steps_by_energy_residuals_end_where_they_are_asked_to(master):
    net = without(oscillator(), "System2", saves_state=False)
    bonds = (("System1.v1", "System2.F"),)
    settings = Settings(stop_time=1.0, step_size=0.01, adaptive=1e-2, power_bonds=bonds, master=master)
    with SteppedRun(make_plan(net, settings), Folder()) as simulation:
        seen = watched(simulation)
        assert simulation.run_until(0.1234) == 0.1234
        for _ in simulation:
            check_point(simulation, seen, simulation.trace.signals)
            found = [simulation.get(name) for name in ("System1.x1", "System2.x2")]
            assert found == approx(oscillation(np.array([simulation.time]))[:2, 0], abs=0.02)
        assert simulation.time == 1.0


INPUTS = {"A.u": ssptool.types.Table((0.0, 0.2, 0.2, 0.5), (1.0, 1.0, 4.0, 4.0))}


@pytest.mark.parametrize(
    "settings", [{"master": "jacobi"}, {"master": "iterated"}, {"adaptive": 1e-4}, {"implementation": "me"}], ids=str
)
def test_inputs_that_jump_are_those_of_the_side_that_is_reached(folder, settings):
    system = write_system(folder / "-".join(settings.values() if "adaptive" not in settings else ["adaptive"]),
                          folder, {"A": "Room", "B": "Room"}, WIRES)  # fmt: skip
    options = Settings(stop_time=STOP, step_size=STEP, **settings)
    with ssptool.Simulation(system, settings=options, inputs=INPUTS) as simulation:
        seen = watched(simulation)
        assert [simulation.run_until(t) for t in (0.1234, 0.19, 0.2, 0.2345)] == [0.1234, 0.19, 0.2, 0.2345]
        for time in simulation:
            check_point(simulation, seen, simulation.trace.signals)
            assert simulation.get("A.own") == approx(time, abs=1e-9)
            assert simulation.get("A.u") == (1.0 if time < 0.2 - 1e-9 else 4.0)
            sum_ = time + 3 * max(time - 0.2, 0.0)
            assert simulation.get("A.y") + simulation.get("B.y") == approx(sum_, abs=2e-3)
        sides = [4.0] if "implementation" in settings else [1.0, 4.0]
        assert [value["A.u"] for t, value in seen if t == 0.2] == sides


@pytest.mark.parametrize("settings", [{}, {"master": "jacobi"}, {"adaptive": 1e-3}], ids=str)
def test_events_and_ticks_are_read_at_the_side_that_is_reached(engine_models, tmp_path, settings):
    """A mass on a spring, while a ball bounces and a clock ticks."""
    fmus = {**PAIR, "Ball": "fmi3/Ball", "Controller": "fmi3/SampledController"}
    system = write_system(tmp_path / "system", engine_models.parent, fmus, COUPLED)
    options = Settings(stop_time=0.5, step_size=1e-3, **settings)
    with ssptool.Simulation(system, settings=options, start_values=VALUES) as simulation:
        seen = watched(simulation)
        for time in simulation:
            check_point(simulation, seen, simulation.trace.signals)
            assert simulation.get("Mass.z") == approx(swing([time])[0], abs=6e-4)
        assert simulation.time == 0.5
    with ssptool.Simulation(system, settings=options, start_values=VALUES) as simulation:
        for time in (0.01234, 0.1, 0.17, 0.23456, 0.49999):
            assert simulation.run_until(time) == simulation.trace.t[-1] == time
            assert simulation.get("Mass.z") == approx(swing([time])[0], abs=6e-4)


@pytest.mark.parametrize("exchange", [("Ball",), ("Ball", "Lag")], ids=len)
def test_events_of_an_ode_between_points_are_no_places_to_stop(test_models, exchange):
    """A ball from 1 m, as h = 1 − g t²/2 until it bounces at 0.45 s."""
    net = network({"Ball": "BouncingBall.fmu", "Lag": "Lag.fmu"}, [("Ball.h", "Lag.u")], folder=test_models)
    settings = Settings(stop_time=1.0, step_size=0.0625, tolerance=1e-9)
    plan = make_plan(unsaved(beside(net, *exchange)), settings)
    with SteppedRun(plan, Folder(test_models)) as simulation:
        seen = watched(simulation)
        assert simulation.run_until(0.1) == simulation.trace.t[-1] == 0.1
        for time in simulation:
            check_point(simulation, seen, simulation.trace.signals)
            if time < 0.45:
                assert simulation.get("Ball.h") == approx(1 - 9.81 / 2 * time**2, abs=1e-6)
            else:
                assert time == approx(round(time / 0.0625) * 0.0625)
        bounces = [t for t, later in pairwise(simulation.trace.t) if t == later]
        assert bounces[0] == approx(np.sqrt(2 / 9.81), abs=1e-7)
        assert bounces[0] not in [t for t, _ in seen]
