"""Signals of all types between components of model exchange, and between these and components of co-simulation."""

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.run.make_plan import make_plan
from tests.engine.dual_mass import Folder, network
from tests.engine.ode.systems import beside, both_sides, check_same, couple, integrate, saved_and_resumed
from tests.engine.running import run

VALVE = {"Tank": "Vessel", "Valve": "Switch", "Log": "Clerk"}
"""A tank is filled by 1/s, and emptied by 3/s through a valve that opens at 0.75 and shuts at 0.25; a clerk writes."""
OLD_TYPES = ("on", "mode", "count", "text", "level")
TYPES = {2: OLD_TYPES, 3: (*OLD_TYPES, "bytes", "single", "tiny", "big", "unsigned_big")}
VALUES = {"Tank.fill": 1.0, "Tank.drain": 3.0}
SWITCHES = [0.75, 1.0, 1.5, 1.75, 2.25, 2.5]
"""x rises for 0.5 from 0.25 to 0.75 after the first time, and falls for 0.25."""


def wires(folder):
    kinds = TYPES[int(folder.name[-1])]
    return [("Tank.x", "Valve.u"), ("Valve.on", "Tank.open"), *((f"Valve.{kind}", f"Log.{kind}") for kind in kinds)]


def values_of(number):
    """What the valve tells in every type when it has switched so often."""
    return {
        "on": number % 2 == 1,
        "mode": 2 if number % 2 else 1,
        "count": number,
        "text": f"{'on' if number % 2 else 'off'} {number}",
        "level": 0.75 if number % 2 else 0.25,
        "bytes": bytes([0, number]),
        "single": float(np.float32(0.1) * np.float32(number)),
        "tiny": -number,
        "big": 2**60 + number,
        "unsigned_big": 2**63 + number,
    }


def tank(folder, **settings):
    settings = {"stop_time": 2.9, "step_size": 0.1, "tolerance": 1e-9} | settings
    return integrate(folder, VALVE, wires(folder), VALUES, **settings)


# -- all of them one ODE -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ("bdf", "adams"))
def test_a_valve_with_hysteresis_switches_when_it_should(hybrids, integrator):
    trace = tank(hybrids, integrator=integrator).unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx(SWITCHES, abs=1e-8)
    assert trace["Tank.x"][events] == pytest.approx([0.75, 0.25] * 3, abs=1e-8)
    assert trace["Tank.open"][events].tolist() == [False, True] * 3
    assert trace["Tank.open"][events + 1].tolist() == [True, False] * 3
    assert trace["Tank.flow"][events + 1].tolist() == [3.0, 0.0] * 3


@pytest.mark.parametrize("integrator", ("bdf", "adams"))
def test_a_thermostat_switches_when_it_should(hybrids, integrator):
    """x' = 1 − x while it is off, x' = −x while it is on: ln 4 until 0.75, then ln 3 from level to level."""
    values = {"Tank.fill": 1.0, "Tank.drain": 1.0, "Tank.loss": 1.0}
    links = [("Tank.x", "Valve.u"), ("Valve.on", "Tank.open")]
    sources = {"Tank": "Vessel", "Valve": "Switch"}
    settings = {"stop_time": 8.0, "step_size": 0.5, "tolerance": 1e-11, "integrator": integrator}
    trace = integrate(hybrids, sources, links, values, **settings).unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx(np.log(4) + np.log(3) * np.arange(7), abs=1e-8)
    assert trace["Tank.open"][events + 1].tolist() == [True, False] * 3 + [True]
    assert np.array_equal(np.unique(trace.t[np.isclose(trace.t % 0.5, 0.0)]), np.arange(17) * 0.5)


def test_values_of_every_type_arrive_at_the_event_itself_as_they_are(hybrids):
    trace = tank(hybrids).unwrap()
    events = both_sides(trace)
    for kind in TYPES[int(hybrids.name[-1])]:
        expected = [values_of(number)[kind] for number in range(1, 7)]
        for name in (f"Valve.{kind}", f"Log.{kind}", f"Log.told_{kind}"):
            found = trace[name][events + 1].tolist()
            assert found == (pytest.approx(expected, abs=1e-8) if kind == "level" else expected), name
    assert trace["Log.changes"][-1] == 6


def test_two_tanks_share_a_valve(hybrids):
    """The upper one, filled by 1/s, drains into the lower one at 2/s while the switch of the lower one is off; the
    lower one loses 1/s. From x = 0 the lower one rises by 1/s until 0.75, then falls by 1/s until 0.25.
    """
    sources = {"Upper": "Vessel", "Lower": "Vessel", "Gauge": "Switch", "Not": "Clerk"}
    values = {"Upper.fill": 1.0, "Upper.drain": 2.0, "Lower.drain": 1.0, "Lower.open": True, "Not.negate": 0.0}
    links = [
        ("Lower.x", "Gauge.u"),
        ("Gauge.on", "Not.on"),
        ("Not.told_on", "Upper.open"),
        ("Upper.flow", "Lower.fill"),
    ]
    trace = integrate(hybrids, sources, links, values, stop_time=2.5, tolerance=1e-9).unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx([0.75, 1.25, 1.75, 2.25], abs=1e-8)
    assert trace["Upper.open"][events + 1].tolist() == [False, True, False, True]
    net = np.where(trace["Upper.open"], -1.0, 1.0)
    upper = np.concatenate([[0.0], np.cumsum(np.diff(trace.t) * net[:-1])])
    assert trace["Upper.x"] == pytest.approx(upper, abs=1e-8)


def test_a_float32_that_is_continuous_flows_between_events(hybrids3):
    trace = integrate(hybrids3, {"Tank": "Vessel", "Log": "Clerk"}, [("Log.told_moving", "Tank.fill")]).unwrap()
    assert trace["Tank.x"].tolist() == [0.0] * 101
    values = {"Log.moving": 0.5}
    trace = integrate(hybrids3, {"Tank": "Vessel", "Log": "Clerk"}, [("Log.told_moving", "Tank.fill")], values).unwrap()
    assert trace["Tank.x"] == pytest.approx(0.5 * trace.t, abs=1e-9)


def test_what_changes_all_the_time_is_taken_at_communication_points_where_it_is_discrete(hybrids):
    """A clerk may be told a level at events only."""
    trace = integrate(
        hybrids, {"Tank": "Vessel", "Log": "Clerk"}, [("Tank.x", "Log.level")], {"Tank.fill": 1.0}, step_size=0.25
    ).unwrap()
    events = both_sides(trace)
    assert trace.t[events].tolist() == [0.25, 0.5, 0.75, 1.0]
    assert trace["Log.told_level"][events] == pytest.approx([0.0, 0.25, 0.5, 0.75], abs=1e-6)
    assert trace["Log.told_level"][events + 1] == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=1e-6)


def test_a_discrete_input_has_its_start_value_where_nothing_feeds_it(hybrids):
    trace = integrate(hybrids, {"Tank": "Vessel"}, (), {"Tank.open": True}).unwrap()
    assert trace["Tank.x"] == pytest.approx(-trace.t, abs=1e-6)
    assert trace["Tank.open"].all()


# -- beside co-simulation ----------------------------------------------------------------------------------------


def mixed(folder, *exchange, **settings):
    inside = {name: fmu for name, fmu in VALVE.items() if name in exchange}
    outside = {name: fmu for name, fmu in VALVE.items() if name not in exchange}
    settings = {"stop_time": 3.0, "step_size": 0.1, "tolerance": 1e-9} | settings
    return couple(folder, inside, outside, wires(folder), VALUES, **settings)


def test_values_of_every_type_leave_an_ode_at_communication_points(hybrids):
    """A valve that switches at 0.75 is told of in co-simulation at 0.8."""
    trace = mixed(hybrids, "Tank", "Valve", stop_time=2.9).unwrap()
    assert np.unique(np.round(trace.t[both_sides(trace)], 9)).tolist() == SWITCHES
    points = [int(np.flatnonzero(np.isclose(trace.t, t))[-1]) for t in (0.8, 1.1, 1.6, 1.8, 2.3, 2.6)]
    for kind in TYPES[int(hybrids.name[-1])]:
        expected = [values_of(number)[kind] for number in range(1, 7)]
        found = trace[f"Log.told_{kind}"][points].tolist()
        assert found == (pytest.approx(expected, abs=1e-8) if kind == "level" else expected), kind


def test_values_of_every_type_enter_an_ode_at_communication_points(hybrids):
    """In co-simulation the valve sees the level every 0.05 s. It switches at the first point where x is at least 0.75,
    or at most 0.25, and all hear of that at once; a point that is hit up to rounding may be the one or the next.
    """
    trace = mixed(hybrids, "Tank", "Log", step_size=0.05).unwrap()
    events = both_sides(trace)
    assert np.all(np.isclose(trace.t[events] / 0.05, np.round(trace.t[events] / 0.05)))
    assert len(events) >= 4
    for number, event in enumerate(events, start=1):
        for kind in set(TYPES[int(hybrids.name[-1])]) - {"level"}:
            assert trace[f"Log.told_{kind}"][event + 1] == values_of(number)[kind]
        assert trace["Tank.open"][event + 1] == trace["Valve.on"][event] == trace["Valve.on"][event + 1]
        assert trace["Tank.open"][event] != trace["Tank.open"][event + 1]
    slope = np.where(trace["Tank.open"], -2.0, 1.0)
    assert trace["Tank.x"] == pytest.approx(np.concatenate([[0.0], np.cumsum(np.diff(trace.t) * slope[:-1])]), abs=1e-7)


@pytest.mark.parametrize("exchange", ((), ("Tank", "Valve"), ("Tank", "Log")), ids=("alone", "leaving", "entering"))
def test_a_simulation_that_goes_on_elsewhere_gives_the_same_bits(hybrids3, exchange, tmp_path):
    files = {name: f"{fmu}.fmu" for name, fmu in VALVE.items()}
    net = beside(network(files, wires(hybrids3), VALUES, folder=hybrids3), *(exchange or VALVE))
    plan = make_plan(net, Settings(stop_time=3.0, step_size=0.1))
    for steps in (9, 12):
        check_same(*saved_and_resumed(plan, Folder(hybrids3), tmp_path / "saved", steps))


def test_adaptive_steps_do_not_take_the_bits_of_integers_for_numbers(hybrids3):
    """Those of −1 are the bits of nan."""
    trace = mixed(hybrids3, "Tank", "Log", step_size=0.05, stop_time=1.0, master="iterated", adaptive=1e-4).unwrap()
    assert trace["Valve.tiny"].min() == -1
    assert trace.t[-1] == 1.0


# -- what has no end, and what is refused ------------------------------------------------------------------------

LOOP = [("A.told_on", "B.on"), ("B.told_on", "A.on")]


@pytest.mark.parametrize("beside_it", ((), ("B",)), ids=("one ODE", "beside co-simulation"))
def test_discrete_signals_that_chase_each_other_end_the_run_with_their_names(hybrids, beside_it):
    """A says what B says, and B the contrary of what A says, once there is an event after t = 0.5."""
    sources = {"A": "Clerk", "B": "Clerk", "Beat": "Beats"}
    files = {name: f"{fmu}.fmu" for name, fmu in sources.items()}
    links = [*LOOP, ("Beat.beats", "A.count"), ("Beat.beats", "B.count")]
    net = network(files, links, {"A.negate": 0.5}, folder=hybrids)
    net = beside(net, *(name for name in sources if name not in beside_it))
    result = run(make_plan(net, Settings(stop_time=1.0, step_size=0.1)), Folder(hybrids))
    assert result.status is Ending.EVENTS
    assert "the event iteration does not converge" in result.failure.message
    assert "on" in result.failure.message
    assert result.failure.time == pytest.approx(0.6)
    assert result.trace.t[-1] == pytest.approx(0.6)


def test_an_event_in_the_past_is_refused(hybrids):
    result = integrate(hybrids, {"Beat": "Beats"}, (), {"Beat.late": 0.5})
    assert result.status is Ending.EVENTS
    assert result.failure.component == "Beat"
    assert "asks for a time event at t = 0.25 s, which has passed" in result.failure.message
    assert result.failure.time == pytest.approx(0.6)


def test_a_derivative_that_is_nan_ends_the_run_with_its_name(hybrids):
    result = integrate(hybrids, {"Tank": "Vessel"}, (), {"Tank.broken": 0.505})
    assert result.status is Ending.NONFINITE
    assert "component Tank: der(x) is nan" in result.failure.message
    assert result.failure.time == pytest.approx(0.505, abs=1e-2)


@pytest.mark.parametrize("inside", (True, False), ids=("one ODE", "beside co-simulation"))
def test_a_value_that_is_refused_at_an_event_ends_the_run_with_the_call(hybrids, inside):
    sources, links, values = {"Beat": "Beats", "Log": "Clerk"}, [("Beat.beats", "Log.count")], {"Log.most": 1}
    if inside:
        result = integrate(hybrids, sources, links, values)
    else:
        result = couple(hybrids, {"Log": "Clerk"}, {"Beat": "Beats"}, links, values)
    assert result.status is Ending.FMI
    assert result.failure.component == "Log"
    assert result.failure.function == {"2": "fmi2SetInteger", "3": "fmi3SetInt32"}[hybrids.name[-1]]
    assert any("more than the most" in message for message in result.failure.messages)
    assert result.failure.time == pytest.approx(0.6, abs=0.01)
