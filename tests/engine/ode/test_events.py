"""State events, time events, their iteration over wires, and events without end."""

from dataclasses import replace

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.method_names import IntegratorName
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.time_grid import grid_times
from ssptool.network.network import Conversion
from tests.engine.dual_mass import Folder, network
from tests.engine.ode.systems import both_sides, bounce_times, integrate
from tests.engine.running import run

INTEGRATORS = pytest.mark.parametrize("integrator", list(IntegratorName))


def bounces(trace):
    """Left rows of those events that the ball takes part in."""
    events = both_sides(trace)
    return events[np.diff(trace["Ball.bounces"])[events] > 0]


@INTEGRATORS
def test_a_ball_bounces_when_it_should(models, integrator):
    result = integrate(models, {"Ball": "BouncingBall"}, stop_time=2.25, tolerance=1e-10, integrator=integrator)
    trace = result.unwrap()
    events = bounces(trace)
    assert len(events) == result.statistics.events == 6
    assert trace.t[events] == pytest.approx(bounce_times(6), abs=1e-8)


def test_both_sides_of_an_event_are_recorded(models):
    trace = integrate(models, {"Ball": "BouncingBall"}, values={"Ball.e": 0.5}, tolerance=1e-9).unwrap()
    event = bounces(trace)[0]
    before, after = trace["Ball.v"][event : event + 2]
    assert before == pytest.approx(-np.sqrt(2 * 9.81), abs=1e-7)
    assert after == -0.5 * before
    assert trace["Ball.h"][event + 1] == 0.0
    assert trace["Ball.bounces"][event : event + 2].tolist() == [0.0, 1.0]


def test_communication_points_stay_where_they_are(models):
    trace = integrate(models, {"Ball": "BouncingBall"}, stop_time=2.0).unwrap()
    between = np.isin(trace.t, grid_times(0.0, 0.01, range(201)), invert=True)
    assert np.array_equal(np.unique(trace.t[~between]), grid_times(0.0, 0.01, range(201)))
    assert np.all(np.diff(trace.t) >= 0)


def test_a_ball_comes_to_rest_on_the_ground(models):
    """Until it is slower than v_min; the number of bounces is that of the factors 0.7 until then."""
    trace = integrate(models, {"Ball": "BouncingBall"}, stop_time=3.0, tolerance=1e-8).unwrap()
    speeds = np.sqrt(2 * 9.81) * 0.7 ** np.arange(1, 40)
    assert trace["Ball.bounces"][-1] == 1 + np.sum(speeds >= 0.01)
    assert trace["Ball.h"][-1] == trace["Ball.v"][-1] == 0.0


def test_bounces_without_end_are_called_chattering(models):
    result = integrate(models, {"Ball": "BouncingBall"}, values={"Ball.v_min": 0.0}, stop_time=3.0, tolerance=1e-9)
    assert result.status is Ending.EVENTS
    assert result.failure.component == "Ball"
    assert "event indicator 0" in result.failure.message
    end = np.sqrt(2 / 9.81) * (1 + 2 * 0.7 / 0.3)  # the sum of all flights
    assert result.failure.time == pytest.approx(end, abs=1e-3)
    assert result.trace.t[-1] <= result.failure.time


def test_a_relay_that_switches_without_end_is_reported_with_its_indicator(models):
    result = integrate(models, {"Good": "Lag", "Bad": "Relay"})
    assert result.status is Ending.EVENTS
    assert result.failure.time == pytest.approx(0.5, abs=1e-6)
    for word in ("Bad", "chatters", "event indicator 0", "hysteresis"):
        assert word in str(result.failure)
    assert result.trace["Bad.x"][-1] == pytest.approx(0.0, abs=1e-6)


def test_an_event_iteration_without_end_is_reported(models):
    result = integrate(models, {"Bad": "Restless"})
    assert result.status is Ending.EVENTS
    assert result.failure.time == 0.5
    assert "Bad still needs new discrete states" in result.failure.message
    assert result.trace.t[-1] == 0.5


def lag(t, start, target, since):
    return target + (start - target) * np.exp(-(t - since) / 0.5)


@INTEGRATORS
def test_a_square_wave_from_time_events_through_a_lag(models, integrator):
    wires = [("Pulse.y", "Lag.u")]
    settings = {"tolerance": 1e-9, "stop_time": 1.2, "integrator": integrator}
    trace = integrate(models, {"Pulse": "Pulse", "Lag": "Lag"}, wires, **settings).unwrap()
    expected = np.zeros_like(trace.t)
    switches = (0.3, 0.6, 0.9)
    for number, since in enumerate(switches):
        start = lag(since, start_of(expected, trace.t, since), (number + 1) % 2, since)
        later = trace.t >= since
        expected[later] = lag(trace.t[later], start, (number + 1) % 2, since)
    assert trace["Lag.x"] == pytest.approx(expected, abs=1e-7)


def start_of(values, t, since):
    return values[np.searchsorted(t, since)]


def test_an_event_at_a_communication_point_takes_its_place(models):
    trace = integrate(models, {"Pulse": "Pulse"}, step_size=0.1, stop_time=0.9).unwrap()
    events = both_sides(trace)
    assert np.array_equal(trace.t[events], [0.3, 0.6, 0.9])
    assert len(trace.t) == 10 + 3
    assert trace["Pulse.y"][events].tolist() == [0.0, 1.0, 0.0]
    assert trace["Pulse.y"][events + 1].tolist() == [1.0, 0.0, 1.0]


def test_an_event_between_communication_points_has_two_rows_of_its_own(models):
    trace = integrate(models, {"Pulse": "Pulse"}, values={"Pulse.period": 0.35}, step_size=0.1, stop_time=0.6).unwrap()
    assert trace.t.tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.35, 0.35, 0.4, 0.5, 0.6])


def test_a_state_of_one_component_triggers_an_event_in_another(models):
    """The comparator sees the ball fall through 0.25 m, and rise and fall through it again after a bounce."""
    sources = {"Ball": "BouncingBall", "High": "Comparator"}
    values = {"High.level": 0.25}
    trace = integrate(models, sources, [("Ball.h", "High.u")], values, tolerance=1e-10).unwrap()
    switches = both_sides(trace)
    switches = switches[np.diff(trace["High.y"])[switches] != 0]
    fall, (first, _) = np.sqrt(2 * 0.75 / 9.81), bounce_times(2)
    speed = 0.7 * np.sqrt(2 * 9.81)
    root = np.sqrt(speed**2 - 2 * 9.81 * 0.25)
    up, down = first + (speed - root) / 9.81, first + (speed + root) / 9.81
    assert trace.t[switches] == pytest.approx([fall, up, down], abs=1e-8)
    assert trace["High.y"][0] == 1.0


def test_events_of_one_instant_reach_all_components_along_the_wires(models):
    """A time event switches a comparator, which switches a second one, at the same time and in the same row."""
    sources = {"Third": "Comparator", "Second": "Comparator", "First": "Pulse"}
    wires = [("First.y", "Second.u"), ("Second.y", "Third.u")]
    trace = integrate(models, sources, wires).unwrap()
    for event in both_sides(trace):
        left, right = ([trace[f"{name}.y"][row] for name in sources] for row in (event, event + 1))
        assert len(set(left)) == len(set(right)) == 1
        assert left != right


def test_a_discrete_cycle_that_contradicts_itself_is_reported(models):
    """Each comparator follows the other's output, the second one negated: no values satisfy both."""
    net = network({"A": "Comparator.fmu", "B": "Comparator.fmu"}, [("A.y", "B.u"), ("B.y", "A.u")], folder=models)
    negated = net.wires[1]._replace(conversion=Conversion(-1.0, 1.0))
    net = replace(net, wires=(net.wires[0], negated))
    result = run(make_plan(net, Settings(stop_time=1.0, implementation="me")), Folder(models))
    assert not result.ok
    assert result.failure.time == 0.0
