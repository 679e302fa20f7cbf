"""Macro steps of varying size and events, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.linalg import expm

import ssptool
from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from tests.engine.dual_mass import Folder, network
from tests.engine.event_mode.systems import before_and_after, column, simulate
from tests.engine.event_mode.test_clocks import LOOP, SAMPLE, bounces, sampled_loop
from tests.engine.event_mode.test_clocks_beside_an_ode import ROUND, changes
from tests.engine.masters.test_adaptive import without
from tests.engine.ode.systems import beside, both_sides, couple
from tests.engine.running import run

MASTERS = pytest.mark.parametrize("master", ("jacobi", "gauss-seidel", "iterated"))
PAIR = {"Mass": "fmi2/Mass", "Spring": "fmi2/SpringDamper"}
COUPLED = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]
M, C, K = 0.03575, 0.1, 1000.0
VALUES = {"Mass.m": str(M), "Spring.d": str(C), "Spring.k": str(K)}


def oscillation(t, z0=0.0016):
    """z of a mass on a spring with a damper."""
    matrix = np.array([[0, 1], [-K / M, -C / M]])
    return np.array([(expm(matrix * time) @ [z0, 0.0])[0] for time in t])


@pytest.mark.slow
@MASTERS
def test_ticks_and_bounces_are_where_they_are_with_fixed_steps(system, master):
    """A sampled loop, whose parts are exact, and a ball."""
    components = {"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController", "Ball": "fmi3/Ball"}
    settings = {"adaptive": 1e-3, "max_step_size": 1.0, "master": master}
    result = simulate(system(components, LOOP), 2.0, 0.02, {"Plant.m": "1"}, **settings)
    trace = result.unwrap()
    t, before, after = before_and_after(trace, "Ball.v")
    bounced = before != after
    assert t[bounced] == approx(bounces(0.7, 4), abs=1e-12)
    ticks, z = t[~bounced], before_and_after(trace, "Plant.z")[1][~bounced]
    assert ticks == approx(SAMPLE * np.arange(1, 21), abs=1e-12)
    assert z == approx(sampled_loop(21, m=1.0)[1:, 0], abs=1e-9)
    assert result.statistics.events == 24
    # Nothing but events limits steps, of which there are a few to each: a held input that jumps bends what follows it.
    assert result.statistics.steps <= 24 + 4 * 26


@pytest.mark.slow
@MASTERS
def test_the_error_between_events_follows_the_tolerance(system, master):
    """A coupled pair, while a ball bounces and a controller ticks: in proportion to it."""
    folder = system({**PAIR, "Ball": "fmi3/Ball", "Controller": "fmi3/SampledController"}, COUPLED)
    tolerances, errors = (1e-3, 1e-4, 1e-5), []
    for tolerance in tolerances:
        result = simulate(folder, 0.5, 1e-3, VALUES, adaptive=tolerance, master=master)
        trace = result.unwrap()
        errors.append(np.max(np.abs(column(trace, "Mass.z") - oscillation(trace.t))))
        assert errors[-1] <= tolerance * result.statistics.steps
        t, before, after = before_and_after(trace, "Ball.v")
        assert t[before != after] == approx([np.sqrt(2 / 9.81)], abs=1e-12)
        assert t[before == after] == approx(SAMPLE * np.arange(1, 6), abs=1e-12)
    assert np.diff(np.log10(errors)) == approx([-1, -1], abs=0.35)


def test_after_an_event_steps_are_as_large_as_before(system):
    """Short steps to a tick say nothing of how large steps may be: they need not grow again from there."""
    trace = simulate(system({"Controller": "fmi3/SampledController"}), 10.0, 0.01, adaptive=1e-3).unwrap()
    steps = np.diff(trace.t)
    assert steps[steps > 0][-20:] == approx(np.full(20, 0.025))


@pytest.mark.parametrize("step", (0.01, 0.4))
def test_inputs_that_move_inside_a_step_move_until_it_ends_early(system, step):
    """v = t fills a tank of size 1, which is then emptied: at √(2 n)."""
    folder = system({"Plant": "fmi2/Mass", "Tank": "fmi3/Tank"}, [("Plant.v", "Tank.u")])
    values = {"Plant.m": "1", "Plant.F": "1"}
    trace = simulate(folder, 4.0, step, values, master="iterated", adaptive=1e-4).unwrap()
    t, before, after = before_and_after(trace, "Tank.x")
    assert t == approx(np.sqrt(2 * np.arange(1, 9)), abs=1e-9)
    assert before == approx(np.ones(8), abs=1e-9) and after == approx(np.zeros(8), abs=1e-9)


def test_inputs_that_jump_end_steps_too(system):
    """A free mass of 1 kg under F = 6 t, and twice that from 0.6 s, beside a ball."""
    force = {"Plant.F": ssptool.types.Table((0.0, 0.6, 0.6, 1.0), (0.0, 3.6, 7.2, 12.0))}
    folder, values = system({"Ball": "fmi3/Ball", "Plant": "fmi2/Mass"}), {"Plant.m": "1", "Plant.v": "0"}
    trace = simulate(folder, 1.0, 0.1, values, inputs=force, adaptive=1e-3).unwrap()
    past = np.maximum(trace.t - 0.6, 0.0)
    assert column(trace, "Plant.v") == approx(3 * np.minimum(trace.t, 0.6) ** 2 + 7.2 * past + 6 * past**2, abs=1e-12)
    assert before_and_after(trace, "Plant.F")[0] == approx([np.sqrt(2 / 9.81), 0.6], abs=1e-12)


@pytest.mark.parametrize("until", (0.05, 0.25, 0.4516, 0.5))
def test_a_simulation_goes_on_from_a_file_with_the_same_bits(system, tmp_path, until):
    """Between two steps, and where an event waits."""
    folder = system({**PAIR, "Ball": "fmi3/Ball", "Controller": "fmi3/SampledController"}, COUPLED)
    settings = ssptool.Settings(stop_time=0.6, step_size=1e-3, adaptive=1e-3)
    with ssptool.Simulation(folder, settings=settings) as whole:
        whole.run_until(until)
        whole.save(tmp_path / "saved")
        whole.run_until(0.6)
        expected = whole.trace
    with ssptool.Simulation(folder, settings=settings, saved=tmp_path / "saved") as rest:
        rest.run_until(0.6)
        found = rest.trace
    count = len(found.t)
    assert np.array_equal(found.t, expected.t[-count:]) and np.array_equal(found.y, expected.y[-count:])


def test_clocks_lead_to_an_ode_and_back(engine_models):
    """x' = 1 is sampled and halved every 0.1 s, and a second one of 1.5 is full every 2/3 s, which is counted."""
    wires = [*ROUND, ("Other.full", "Counter.tick")]
    values = {"Controller.kp": -0.5, "Controller.ki": 0.0, "Tank.top": 10.0, "Other.u": 1.5}
    exchange = {"Tank": "Cistern", "Other": "Cistern"}
    simulation = {"Controller": "SampledController", "Counter": "Counter"}
    settings = {"stop_time": 1.9, "step_size": 0.01, "adaptive": 1e-3, "tolerance": 1e-9}
    trace = couple(engine_models.parent / "fmi3", exchange, simulation, wires, values, **settings).unwrap()
    t, count = changes(trace, "Counter.count")
    assert t == approx(np.arange(1, 3) * 2 / 3, abs=1e-8) and count.tolist() == [1, 2]
    events = both_sides(trace)
    ticks = events[
        np.isclose(trace.t[events] % 0.1, 0.0, atol=1e-9) | np.isclose(trace.t[events] % 0.1, 0.1, atol=1e-9)
    ]
    after = 0.1 * (1 - 0.5 ** np.arange(1, 20))
    assert trace.t[ticks] == approx(np.arange(1, 20) / 10, abs=1e-12)
    assert trace["Tank.x"][ticks + 1] == approx(after, abs=1e-7)


def test_steps_by_energy_residuals_end_at_ticks(engine_models):
    """Of FMUs that cannot save their state; no step can be taken back, and none leads over a tick."""
    files = {"Mass": "../fmi2/Mass.fmu", "Spring": "../fmi2/SpringDamper.fmu", "Controller": "SampledController.fmu"}
    values = {"Mass.m": M, "Spring.d": C, "Spring.k": K}
    folder = engine_models.parent / "fmi3"
    net = without(network(files, COUPLED, values, folder=folder), "Mass", saves_state=False)
    settings = Settings(stop_time=0.5, step_size=1e-3, adaptive=1e-3, power_bonds=(("Mass.v", "Spring.F"),))
    result = run(make_plan(net, settings), Folder(folder))
    trace = result.unwrap()
    assert trace.t[both_sides(trace)] == approx(SAMPLE * np.arange(1, 6), abs=1e-12)
    assert np.max(np.abs(trace["Mass.z"] - oscillation(trace.t))) < 0.05 * 0.0016


def test_steps_by_energy_residuals_end_at_state_events(engine_models):
    """A cistern of model exchange, which cannot save its state, is full at 2/3 s, beside a bond of FMUs that can."""
    files = {"Mass": "../fmi2/Mass.fmu", "Spring": "../fmi2/SpringDamper.fmu", "Other": "Cistern.fmu"}
    values = {"Mass.m": M, "Spring.d": C, "Spring.k": K, "Other.u": 1.5}
    folder = engine_models.parent / "fmi3"
    net = beside(network(files, COUPLED, values, folder=folder), "Other")
    other = net.components["Other"].description
    exchange = replace(other.model_exchange, saves_state=False)
    other = replace(net.components["Other"], description=replace(other, model_exchange=exchange))
    net = replace(net, components={**net.components, "Other": other})
    settings = Settings(stop_time=1.0, step_size=1e-3, adaptive=1e-3, power_bonds=(("Mass.v", "Spring.F"),))
    planned = make_plan(net, settings)
    assert planned.event_modes.rolls_back and "energy" in planned.master.name
    trace = run(planned, Folder(folder)).unwrap()
    filled = 1.5 * trace.t
    before = trace.t < 2 / 3 - 1e-6
    assert trace["Other.x"][before] == approx(filled[before], abs=1e-7)
    after = trace.t > 2 / 3 + 1e-6
    assert trace["Other.x"][after] == approx(filled[after] - 1.0, abs=1e-7)
    assert trace.t[both_sides(trace)] == approx([2 / 3], abs=1e-8)


def test_fmus_that_cannot_go_back_do_no_step_twice(engine_models):
    """Nor do the others of a ball that bounces: that is handled where the step of all of them ends."""
    files = {"Ball": "Ball.fmu", "Plant": "../fmi2/Mass.fmu"}
    folder = engine_models.parent / "fmi3"
    net = without(network(files, [], {"Plant.m": 2.0, "Plant.F": 3.0}, folder=folder), "Ball", saves_state=False)
    trace = run(make_plan(net, Settings(stop_time=1.0, step_size=0.02, adaptive=1e-3)), Folder(folder)).unwrap()
    assert trace["Plant.v"] == approx(trace["Plant.v"][0] + 1.5 * trace.t, abs=1e-12)
    fall = np.sqrt(2 / 9.81)
    flying = (trace.t > fall) & (trace.t < 1.0)
    assert trace["Ball.v"][flying] == approx(9.81 * (1.7 * fall - trace.t[flying]), abs=1e-9)


@pytest.mark.parametrize("master", ("jacobi", "gauss-seidel"))
@pytest.mark.parametrize("saves", (True, False))
@pytest.mark.parametrize("adaptive", (None, 1e-3))
def test_a_ball_alone_bounces_in_time_although_it_cannot_go_back(engine_models, master, saves, adaptive):
    folder = engine_models.parent / "fmi3"
    net = without(network({"Ball": "Ball.fmu"}, [], folder=folder), "Ball", saves_state=saves)
    settings = Settings(stop_time=2.0, step_size=0.02, adaptive=adaptive, master=master)
    t, before, after = before_and_after(run(make_plan(net, settings), Folder(folder)).unwrap(), "Ball.v")
    assert t[before != after] == approx(bounces(0.7, 4), abs=1e-12)
