"""Clocks of model exchange and of co-simulation that trigger each other, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.failure import Ending, UnsupportedByFmu
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from tests.engine.dual_mass import Folder, network
from tests.engine.event_mode.test_clocks import bounces
from tests.engine.ode.systems import beside, both_sides, check_same, couple, lacking, saved_and_resumed
from tests.engine.running import run

MASTERS = pytest.mark.parametrize("master", ("jacobi", "gauss-seidel", "iterated"))
SETTINGS = {"tolerance": 1e-9}


@pytest.fixture
def fmus(engine_models):
    return engine_models.parent / "fmi3"


def changes(trace, name):
    """Times at which a signal changes, and what it is then."""
    at = np.flatnonzero(np.diff(trace[name]))
    return trace.t[at], trace[name][at + 1]


# -- from model exchange to co-simulation ------------------------------------------------------------------------


@pytest.mark.parametrize("step", (0.25, 0.1, 0.03125))
def test_a_periodic_clock_of_an_ode_triggers_co_simulation(fmus, step):
    """Every 0.1 s, wherever macro steps end; of both, the tick is at the same instant."""
    wires = [("Sampler.tick", "Counter.tick")]
    trace = couple(fmus, {"Sampler": "Sampler"}, {"Counter": "Counter"}, wires, step_size=step).unwrap()
    t, count = changes(trace, "Counter.count")
    assert t == approx(np.arange(1, 11) / 10, abs=1e-15)
    assert count.tolist() == list(range(2, 12))
    assert (trace["Sampler.samples"] == trace["Counter.count"]).all()


@MASTERS
def test_a_clock_that_ticks_at_a_state_event_ends_the_step_of_co_simulation(fmus, master):
    """x' = 1.5 reaches 1 every 2/3 s; a free mass of co-simulation goes back to there."""
    wires = [("Tank.full", "Counter.tick")]
    simulation = {"Counter": "Counter", "Plant": "../fmi2/Mass"}
    values = {"Tank.u": 1.5, "Plant.m": 1.0, "Plant.v": 3.0}
    settings = {"stop_time": 4.5, "step_size": 0.25, "master": master} | SETTINGS
    result = couple(fmus, {"Tank": "Cistern"}, simulation, wires, values, **settings)
    trace = result.unwrap()
    t, count = changes(trace, "Counter.count")
    assert t == approx(np.arange(1, 7) * 2 / 3, abs=1e-8)
    assert count.tolist() == [1, 2, 3, 4, 5, 6]
    assert (trace["Tank.fills"] == trace["Counter.count"]).all()
    assert trace["Plant.z"] == approx(0.0016 + 3 * trace.t, abs=1e-9)
    assert result.statistics.events >= 6


def test_an_output_clock_of_an_ode_brings_its_values(fmus):
    """Every third sample of x = t is at 0.2, 0.5 and 0.8; the follower is co-simulated, but in event mode."""
    wires = [("Tank.x", "Sampler.u"), ("Sampler.third", "Counter.tick"), ("Sampler.samples", "Counter.add")]
    exchange = {"Tank": "Cistern", "Sampler": "Sampler"}
    trace = couple(
        fmus, exchange, {"Counter": "Counter"}, wires, {"Tank.top": 2.0}, step_size=0.25, **SETTINGS
    ).unwrap()
    t, count = changes(trace, "Counter.count")
    assert t == approx([0.2, 0.5, 0.8], abs=1e-15)
    # At a tick two, five and eight samples have been taken before: 2, 2 + 5, 2 + 5 + 8.
    assert count.tolist() == [2, 7, 15]


# -- from co-simulation to model exchange ------------------------------------------------------------------------


@MASTERS
def test_a_clock_that_ticks_inside_a_step_of_co_simulation_triggers_an_ode(fmus, master):
    """A ball bounces; at each bounce the ODE gets its height and drops by what it is told."""
    wires = [("Ball.bounce", "Follower.trigger"), ("Ball.v", "Follower.v")]
    settings = {"stop_time": 2.0, "step_size": 0.25, "master": master} | SETTINGS
    exchange = {"Follower": "Follower", "Tank": "Cistern"}
    trace = couple(fmus, exchange, {"Ball": "Ball"}, wires, {"Tank.top": 10.0}, **settings).unwrap()
    t, ticks = changes(trace, "Follower.ticks")
    assert t == approx(bounces(0.7, len(t)), abs=1e-12) and len(t) == 4
    assert ticks.tolist() == [1, 2, 3, 4]
    assert trace["Tank.x"] == approx(trace.t, abs=1e-9)
    # Values of the first event iteration: the ball arrives with them, and leaves with less.
    fall = np.sqrt(2 * 9.81) * 0.7 ** np.arange(4)
    assert changes(trace, "Follower.last")[1] == approx(-fall, abs=1e-9)


@pytest.mark.parametrize("step", (0.1, 0.25, 0.04))
def test_a_tick_goes_around_both_at_one_instant(fmus, step):
    """A controller samples x every 0.1 s and takes half of it away: x becomes (x + 0.1) / 2 from tick to tick."""
    wires = [
        ("Tank.x", "Controller.y"),
        ("Controller.sample", "Tank.drop"),
        ("Controller.u", "Tank.amount"),
    ]
    values = {"Controller.kp": -0.5, "Controller.ki": 0.0, "Tank.top": 10.0}
    settings = {"step_size": step} | SETTINGS
    trace = couple(fmus, {"Tank": "Cistern"}, {"Controller": "SampledController"}, wires, values, **settings).unwrap()
    events = both_sides(trace)
    assert trace.t[events] == approx(np.arange(1, 11) / 10, abs=1e-15)
    after = 0.1 * (1 - 0.5 ** np.arange(1, 11))
    assert trace["Tank.x"][events + 1] == approx(after, abs=1e-8)
    assert trace["Tank.x"][events] == approx(2 * after, abs=1e-8)
    assert trace["Controller.u"][events + 1] == approx(after, abs=1e-8)


@pytest.mark.parametrize("late", (0, 1))
def test_a_chain_leads_from_an_ode_through_co_simulation_and_back(fmus, late):
    """Late, the counter ticks in the next event iteration, at the same instant."""
    wires = [
        ("Sampler.third", "Counter.tick"),
        ("Counter.carry", "Follower.trigger"),
        ("Counter.count", "Follower.v"),
    ]
    exchange = {"Sampler": "Sampler", "Follower": "Follower"}
    trace = couple(fmus, exchange, {"Counter": "Counter"}, wires, {"Counter.late": late}, step_size=0.25).unwrap()
    t, last = changes(trace, "Follower.last")
    assert t == approx([0.2, 0.5, 0.8], abs=1e-15)
    assert last.tolist() == [1, 2, 3]


def test_clocks_without_end_are_reported_with_those_of_the_ode(fmus):
    wires = [("A.carry", "B.tick"), ("B.carry", "A.tick"), ("A.carry", "Follower.trigger")]
    values = {"A.late": 2, "B.late": 1}
    result = couple(fmus, {"Follower": "Follower"}, {"A": "Counter", "B": "Counter"}, wires, values)
    assert result.failure is not None and result.failure.ending is Ending.EVENTS
    assert "the event iteration does not converge" in result.failure.message
    assert "Follower.trigger" in result.failure.message


# -- discrete signals without clocks -----------------------------------------------------------------------------


def test_what_an_event_of_an_ode_changes_is_heard_of_at_that_event(fmus):
    """No clock leads across. Of ten fills in a step of co-simulation each is told."""
    wires = [("Tank.fills", "Scribe.count"), ("Scribe.told_count", "Other.count")]
    links, exchange = {"Scribe": "Scribe"}, {"Tank": "Cistern", "Other": "Clerk"}
    trace = couple(fmus, exchange, links, wires, {"Tank.u": 20.5}, step_size=0.5, **SETTINGS).unwrap()
    t, told = changes(trace, "Other.told_count")
    assert t == approx(np.arange(1, 21) / 20.5, abs=1e-8)
    assert told.tolist() == list(range(1, 21))
    for name in ("Tank.fills", "Scribe.count", "Scribe.told_count", "Other.count"):
        assert (trace[name] == trace["Other.told_count"]).all(), name


# -- with everything else ----------------------------------------------------------------------------------------

ROUND = [("Tank.x", "Controller.y"), ("Controller.sample", "Tank.drop"), ("Controller.u", "Tank.amount")]


def test_a_simulation_goes_on_elsewhere_with_the_same_bits(fmus, tmp_path):
    files = {name: f"{name}.fmu" for name in ("Cistern", "SampledController", "Ball", "Follower")}
    links = [
        (
            a.replace("Tank", "Cistern").replace("Controller", "SampledController"),
            b.replace("Tank", "Cistern").replace("Controller", "SampledController"),
        )
        for a, b in ROUND
    ]
    links += [("Ball.bounce", "Follower.trigger"), ("Ball.v", "Follower.v")]
    net = beside(network(files, links, folder=fmus), "Cistern", "Follower")
    plan = make_plan(net, Settings(stop_time=1.0, step_size=0.05))
    for steps in (4, 9, 10, 13):
        check_same(*saved_and_resumed(plan, Folder(fmus), tmp_path / "saved", steps))


@pytest.mark.parametrize("at", [0.5, 0.4567])
def test_what_is_set_is_an_event_of_all(fmus, at):
    """x = t until u becomes 4, at a point of the grid or between two: a quarter of the rest later it is 1, and every
    0.25 s from there.
    """
    files = {"Tank": "Cistern.fmu", "Counter": "Counter.fmu"}
    net = beside(network(files, [("Tank.full", "Counter.tick")], folder=fmus), "Tank")
    with SteppedRun(make_plan(net, Settings(stop_time=1.0, step_size=0.1, tolerance=1e-9)), Folder(fmus)) as simulation:
        assert simulation.run_until(at) == simulation.trace.t[-1] == at
        simulation.set("Tank.u", 4.0)
        simulation.run_until(1.0)
        trace = simulation.trace
    full = at + (1 - at) / 4
    assert changes(trace, "Counter.count")[0] == approx([full, full + 0.25], abs=1e-8)
    assert trace["Tank.fills"][-1] == 2


def test_without_a_way_back_clocks_across_are_refused_by_name(fmus):
    """A macro step would have to be taken back to where the ODE ticks."""
    files = {"Tank": "Cistern.fmu", "Counter": "Counter.fmu", "Plant": "Mass.fmu"}
    net = beside(network(files, [("Tank.full", "Counter.tick")], folder=fmus), "Tank")
    plant = net.components["Plant"]
    interface = replace(plant.description.co_simulation, saves_state=False)
    plant = replace(plant, description=replace(plant.description, co_simulation=interface))
    net = replace(net, components={**net.components, "Plant": plant})
    with pytest.raises(UnsupportedByFmu, match=r"Plant: the connection Tank\.full → Counter\.tick of clocks.*saves"):
        make_plan(net, Settings(stop_time=1.0, step_size=0.1))


def test_an_ode_whose_fmu_saves_no_state_has_events_with_all_others(fmus):
    """It is taken back by its integrator, over a time in which it has no events."""
    files = {"Tank": "Cistern.fmu", "Counter": "Counter.fmu"}
    net = network(files, [("Tank.full", "Counter.tick")], {"Tank.u": 1.5}, folder=fmus)
    net = lacking(beside(net, "Tank"), "Tank", saves_state=False)
    trace = run(make_plan(net, Settings(stop_time=3.0, step_size=0.25, tolerance=1e-9)), Folder(fmus)).unwrap()
    assert changes(trace, "Counter.count")[0] == approx(np.arange(1, 5) * 2 / 3, abs=1e-8)
