"""Inputs and scenarios that act on what is exchanged at events only: Booleans, integers, texts, clocked values.

An action at t is an event of the system at t: its left row has what was, its right row what is.
"""

import numpy as np
import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.engine.stimuli.inputs import resolve_inputs
from ssptool.engine.stimuli.scenario import resolve_scenario
from ssptool.engine.stimuli.stimuli import NO_STIMULI, Stimuli
from ssptool.types import Event, Function, Scenario, Table
from tests.engine.dual_mass import Folder, network
from tests.engine.event_mode.test_clocks_beside_an_ode import changes
from tests.engine.ode.systems import beside, both_sides, check_same, saved_and_resumed
from tests.engine.running import run

TYPES = ("on", "mode", "count", "text", "level", "single", "tiny", "big", "unsigned_big")
OTHER = {"on": True, "mode": 2, "count": 7, "text": "fault", "level": 0.25, "single": 0.5, "tiny": -3, "big": 2**60 + 1}
OTHER["unsigned_big"] = 2**63 + 1
CHAIN = [(f"First.told_{kind}", f"Second.{kind}") for kind in TYPES]
KINDS = {
    "event mode": ("Scribe", "Scribe", ()),
    "one ODE": ("Clerk", "Clerk", ("First", "Second")),
    "ODE behind event mode": ("Scribe", "Clerk", ("Second",)),
    "ODE before event mode": ("Clerk", "Scribe", ("First",)),
    "ODE behind co-simulation": ("Clerk", "Clerk", ("Second",)),
}
EVERYWHERE = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def fmus(engine_models):
    return engine_models.parent / "fmi3"


def planned(fmus, files, wires=(), values=None, exchange=(), events=(), inputs=None, **settings):
    net = beside(network({name: f"{fmu}.fmu" for name, fmu in files.items()}, wires, values, folder=fmus), *exchange)
    stimuli = NO_STIMULI if inputs is None else Stimuli(resolve_inputs(inputs, net, {}))
    if events:
        stimuli = resolve_scenario(Scenario(tuple(Event(*one) for one in events)), net, stimuli.sources, 0.0)
    return make_plan(net, Settings(**{"stop_time": 1.0, "step_size": 0.1} | settings), stimuli)


def simulate(fmus, *arguments, **settings):
    return run(planned(fmus, *arguments, **settings), Folder(fmus))


def at(trace, name, t):
    """On both sides of an instant."""
    rows = np.flatnonzero(np.isclose(trace.t, t, atol=1e-12))
    return trace[name][rows[0]], trace[name][rows[-1]]


# -- actions on connections ----------------------------------------------------------------------------------------


@EVERYWHERE
@pytest.mark.parametrize("end", ("First.told_{}", "Second.{}"), ids=("source", "destination"))
def test_connections_of_every_type_are_overridden_and_reset_at_the_very_time(fmus, kind, end):
    """At 0.25 and 0.55, which are inside of macro steps."""
    first, second, exchange = KINDS[kind]
    events = [(0.25, end.format(one), "override", OTHER[one]) for one in TYPES]
    events += [(0.55, end.format(one), "reset", None) for one in TYPES]
    trace = simulate(fmus, {"First": first, "Second": second}, CHAIN, None, exchange, events).unwrap()
    for one in TYPES:
        usual = trace[f"First.told_{one}"][0]
        for name in (f"Second.{one}", f"Second.told_{one}"):
            assert at(trace, name, 0.25) == (usual, OTHER[one]), name
            assert at(trace, name, 0.55) == (OTHER[one], usual), name
        assert (trace[f"First.told_{one}"] == usual).all()
    assert trace["Second.changes"][-1] == 2


@EVERYWHERE
def test_numbers_are_shifted(fmus, kind):
    first, second, exchange = KINDS[kind]
    numbers = ("count", "level", "single", "tiny", "big", "unsigned_big")
    events = [(0.25, f"Second.{one}", "bias", 5) for one in numbers] + [(0.5, "Second.count", "bias", -2)]
    values = {"First.count": 3, "First.level": 0.5}
    trace = simulate(fmus, {"First": first, "Second": second}, CHAIN, values, exchange, events).unwrap()
    for one in numbers:
        usual = trace[f"First.told_{one}"][0]
        assert at(trace, f"Second.told_{one}", 0.25) == (usual, usual + 5), one
    assert at(trace, "Second.told_count", 0.5) == (8, 1)


def test_an_integer_that_becomes_too_large_for_its_type_ends_the_run_with_its_name(fmus):
    events = [(0.25, "Second.tiny", "bias", 100)]
    result = simulate(fmus, {"First": "Scribe", "Second": "Scribe"}, CHAIN, {"First.tiny": 100}, (), events)
    assert result.status is Ending.FMI and result.failure.component == "Second"
    assert "Second.tiny cannot be 200, because it is of type Int8" in result.failure.message
    assert result.failure.time == approx(0.25)


@pytest.mark.parametrize("exchange", ((), ("Second",)), ids=("event mode", "ODE"))
def test_what_belongs_to_a_clock_takes_effect_at_its_next_tick(fmus, exchange):
    """A sampled 4 is passed on every 0.1 s; from 0.25 to 0.55 as 9."""
    files = {"First": "SampledController", "Second": "Follower" if exchange else "SampledController"}
    trigger, taken = ("trigger", "v") if exchange else ("", "y")
    wires = [("First.u", f"Second.{taken}"), *([("First.sample", f"Second.{trigger}")] if trigger else [])]
    events = [(0.25, f"Second.{taken}", "override", 9.0), (0.55, f"Second.{taken}", "reset", None)]
    values = {"First.y": -2.0, "First.ki": 0.0}
    trace = simulate(fmus, files, wires, values, exchange, events).unwrap()
    t, found = changes(trace, f"Second.{taken}")
    assert t == approx([0.3, 0.6], abs=1e-12) and found.tolist() == [9.0, 4.0]


def test_a_clocked_output_is_overridden_where_it_leads_to_a_continuous_input(fmus):
    """x' is what the sampler of the same ODE says, 2 · 0.5, and 3 from 0.25 to 0.5; beside co-simulation or not."""
    wires = [("Sampler.y", "Tank.fill")]
    events = [(0.25, "Tank.fill", "override", 3.0), (0.5, "Tank.fill", "reset", None)]
    files = {"Sampler": "Sampler", "Tank": "Vessel", "Other": "Clerk"}
    for exchange in (("Sampler", "Tank"), tuple(files)):
        trace = simulate(fmus, files, wires, {"Sampler.u": 0.5}, exchange, events, tolerance=1e-9).unwrap()
        past = np.clip(trace.t, 0.25, 0.5) - 0.25
        assert trace["Tank.x"] == approx(trace.t + 2 * past, abs=1e-8), exchange


# -- driven inputs -------------------------------------------------------------------------------------------------


@EVERYWHERE
def test_inputs_of_every_type_are_driven_at_the_very_time(fmus, kind):
    first, second, exchange = KINDS[kind]
    start = {"on": False, "mode": 1, "text": "start"}
    inputs = {f"First.{one}": Table((0.0, 0.35), (start.get(one, 0), OTHER[one]), "hold") for one in TYPES}
    trace = simulate(fmus, {"First": first, "Second": second}, CHAIN, None, exchange, inputs=inputs).unwrap()
    for one in TYPES:
        for name in (f"First.{one}", f"First.told_{one}", f"Second.{one}", f"Second.told_{one}"):
            assert at(trace, name, 0.35) == (start.get(one, 0), OTHER[one]), name


@EVERYWHERE
def test_driven_inputs_are_overridden_and_reset(fmus, kind):
    first, second, exchange = KINDS[kind]
    inputs = {"First.count": Table((0.0, 0.5), (1, 2), "hold")}
    events = [(0.25, "First.count", "override", 7), (0.75, "First.count", "reset", None)]
    files = {"First": first, "Second": second}
    trace = simulate(fmus, files, CHAIN, None, exchange, events, inputs=inputs).unwrap()
    for name in ("First.count", "Second.told_count"):
        assert at(trace, name, 0.25) == (1, 7) and at(trace, name, 0.75) == (7, 2), name


@pytest.mark.parametrize("kind", ("event mode", "one ODE", "ODE before event mode"))
def test_what_moves_is_taken_at_communication_points_where_it_is_discrete(fmus, kind):
    """A discrete number on a line, and a function of time as an integer."""
    first, second, exchange = KINDS[kind]
    inputs = {
        "First.level": Table((0.0, 1.0), (0.0, 1.0)),
        "First.count": Function(lambda t: int(10 * t + 1e-9), interpolation="hold"),
    }
    trace = simulate(fmus, {"First": first, "Second": second}, CHAIN, None, exchange, inputs=inputs).unwrap()
    for point in range(1, 11):
        for name in ("First.told_level", "Second.told_level"):
            assert at(trace, name, point / 10)[1] == approx(point / 10, abs=1e-12), (name, point)
        assert at(trace, "Second.told_count", point / 10)[1] == point
    assert at(trace, "Second.told_level", 0.5)[0] == approx(0.4)


@pytest.mark.parametrize("master", ("jacobi", "gauss-seidel", "iterated"))
@pytest.mark.parametrize("adaptive", (None, 1e-3))
def test_what_an_fmu_without_event_mode_changes_is_taken_at_communication_points(fmus, master, adaptive):
    """A tank of co-simulation fills; a scribe, who is told at events only, writes down how far."""
    wires, values = [("Tank.x", "Scribe.level")], {"Tank.fill": 1.0}
    settings = {"master": master, "adaptive": adaptive}
    trace = simulate(fmus, {"Tank": "Vessel", "Scribe": "Scribe"}, wires, values, **settings).unwrap()
    events = both_sides(trace)
    assert len(events) == len(np.unique(trace.t[events]))
    assert trace["Scribe.told_level"][events + 1] == approx(trace.t[events], abs=1e-9)
    assert trace["Scribe.told_level"][-1] == approx(1.0, abs=1e-9)


@pytest.mark.parametrize("kind", ("event mode", "ODE behind event mode", "one ODE"))
def test_a_simulation_goes_on_elsewhere_with_the_same_bits(fmus, kind, tmp_path):
    first, second, exchange = KINDS[kind]
    events = [(0.25, "Second.count", "override", 7), (0.55, "Second.count", "reset", None)]
    plan = planned(fmus, {"First": first, "Second": second}, CHAIN, None, exchange, events)
    for steps in (3, 5):
        check_same(*saved_and_resumed(plan, Folder(fmus), tmp_path / "saved", steps))


def test_what_is_set_goes_through_what_a_scenario_does(fmus):
    """Free inputs can be set; the connection behind them adds 5."""
    plan = planned(fmus, {"First": "Scribe", "Second": "Scribe"}, CHAIN, None, (), [(0.25, "Second.count", "bias", 5)])
    with SteppedRun(plan, Folder(fmus)) as simulation:
        simulation.run_until(0.5)
        simulation.set("First.count", 10)
        assert simulation.get("Second.told_count") == 15
