"""Clocks and events of FMI 3.0 co-simulation, against closed forms."""

import numpy as np
import pytest
from pytest import approx
from scipy.linalg import expm

import ssptool
from ssptool.engine.failure import Ending
from tests.engine.event_mode.systems import before_and_after, column, simulate

SAMPLE = 0.1
LOOP = [("Plant.z", "Controller.y"), ("Controller.u", "Plant.F")]


def sampled_loop(count, z0=0.0016, m=0.03575, kp=2.0, ki=0.5):
    """z and v of a mass at the ticks under u = −kp z − ki s, s ← s + z, held from tick to tick: with the exponential of
    the matrix of the continuous part, each interval is exact.
    """
    grown = expm(SAMPLE * np.array([[0, 1, 0], [0, 0, 1 / m], [0, 0, 0]]))
    x, s, found = np.array([z0, 0.0]), 0.0, []
    for _ in range(count):
        u = -kp * x[0] - ki * s
        found.append((x[0], x[1], u))
        s += x[0]
        x = grown[:2, :2] @ x + grown[:2, 2] * u
    return np.array(found)


@pytest.mark.parametrize("plant", ["fmi2/Mass", "fmi3/Mass"])
@pytest.mark.parametrize("step", [0.1, 0.02, 0.04, 0.25])
def test_a_sampled_controller_gives_the_discrete_time_closed_form(system, plant, step):
    """Whether the macro step divides the interval, equals it, or is larger."""
    folder = system({"Plant": plant, "Controller": "fmi3/SampledController"}, LOOP)
    trace = simulate(folder, 1.0, step, {"Plant.m": "1"}).unwrap()
    t, z, _ = before_and_after(trace, "Plant.z")
    expected = sampled_loop(11, m=1.0)
    assert t == approx(SAMPLE * np.arange(1, 11), abs=1e-15)
    assert z == approx(expected[1:, 0], abs=1e-9)
    assert before_and_after(trace, "Controller.u")[2] == approx(expected[1:, 2], abs=1e-9)
    assert column(trace, "Controller.u")[0] == approx(expected[0, 2], abs=1e-12)  # the first tick is at the start


def test_what_belongs_to_a_clock_is_held_between_its_ticks(system):
    folder = system({"Plant": "fmi3/Mass", "Controller": "fmi3/SampledController"}, LOOP)
    trace = simulate(folder, 1.0, 0.01, {"Plant.m": "1"}).unwrap()
    for name in ("Controller.y", "Controller.u", "Plant.F"):
        t, before, after = before_and_after(trace, name)
        assert len(t) == 10
        assert before[1:].tolist() == after[:-1].tolist(), name


def test_ticks_of_a_tenth_do_not_drift(system):
    folder = system({"Controller": "fmi3/SampledController"})
    trace = simulate(folder, 100.0, 100.0).unwrap()
    ticks = before_and_after(trace, "Controller.u")[0]
    assert ticks.tolist() == [n / 10 for n in range(1, 1001)]


def bounces(e, count, g=9.81, h=1.0):
    """Times of the bounces of a ball dropped from h, which loses 1 − e of its speed at each."""
    first = np.sqrt(2 * h / g)
    return first * (1 + 2 * np.cumsum([0.0, *(e ** np.arange(1, count))]))


def test_a_step_ends_where_the_ball_bounces(system):
    trace = simulate(system({"Ball": "fmi3/Ball"}), 2.0, 0.25).unwrap()
    t, before, after = before_and_after(trace, "Ball.v")
    assert t == approx(bounces(0.7, len(t)), abs=1e-12)
    assert len(t) == np.count_nonzero(bounces(0.7, 50) <= 2.0)
    assert after == approx(-0.7 * before, rel=1e-14)


def test_everybody_else_goes_back_to_the_event(system):
    """A free mass moves as if there were no ball, and has rows where the ball bounces."""
    folder = system({"Ball": "fmi3/Ball", "Plant": "fmi2/Mass"})
    trace = simulate(folder, 2.0, 0.25, {"Plant.m": "1", "Plant.v": "3"}).unwrap()
    t, before, after = before_and_after(trace, "Plant.z")
    assert t == approx(bounces(0.7, len(t)), abs=1e-12)
    assert before == approx(0.0016 + 3 * t, abs=1e-9)
    assert after.tolist() == before.tolist()


def test_a_clock_counts_the_bounces(system):
    folder = system({"Ball": "fmi3/Ball", "Counter": "fmi3/Counter"}, [("Ball.bounce", "Counter.tick")])
    trace = simulate(folder, 2.0, 0.1).unwrap()
    t, before, after = before_and_after(trace, "Counter.count")
    assert t == approx(bounces(0.7, len(t)), abs=1e-12)
    assert after.tolist() == [n + 1 for n in range(len(t))]
    assert before.tolist() == list(range(len(t)))
    assert column(trace, "Ball.bounces")[-1] == len(t)


@pytest.mark.parametrize("late", [0, 1])
def test_a_tick_goes_through_a_chain_of_clocks_at_one_instant(system, late):
    """At each bounce A adds 1 and B what A has counted: 1, 3, 6 … Late, B follows in the next event iteration."""
    chain = [("Ball.bounce", "A.tick"), ("A.carry", "B.tick"), ("A.count", "B.add")]
    folder = system({"Ball": "fmi3/Ball", "A": "fmi3/Counter", "B": "fmi3/Counter"}, chain)
    trace = simulate(folder, 2.0, 0.1, {"A.late": str(late)}).unwrap()
    _, _, a = before_and_after(trace, "A.count")
    _, _, b = before_and_after(trace, "B.count")
    assert b.tolist() == np.cumsum(a).tolist()


def test_clocks_that_trigger_each_other_for_ever_are_reported_by_name(system):
    folder = system({"A": "fmi3/Counter", "B": "fmi3/Counter"}, [("A.carry", "B.tick"), ("B.carry", "A.tick")])
    result = simulate(folder, 1.0, 0.1, {"A.late": "2", "B.late": "1"})
    assert result.failure is not None and result.failure.ending is Ending.EVENTS
    assert "the event iteration does not converge" in result.failure.message
    assert "still needs new discrete states; clocks that tick: " in result.failure.message
    assert result.failure.component in "AB" and result.failure.time == 0.0


def test_a_ring_of_clocks_that_tick_at_one_instant_settles(system):
    """A clock ticks once in an event iteration, wherever the tick comes from."""
    folder = system({"A": "fmi3/Counter", "B": "fmi3/Counter"}, [("A.carry", "B.tick"), ("B.carry", "A.tick")])
    result = simulate(folder, 1.0, 0.1, {"A.late": "0", "B.late": "0"})
    assert result.ok


def test_changing_and_countdown_clocks_tick_when_the_fmu_says(system):
    """The beat comes after 0.1 s, and then 0.1, 0.2, 0.3 s later; the alarm 0.05 s after each beat."""
    trace = simulate(system({"Alarm": "fmi3/Alarm"}), 1.2, 0.6).unwrap()
    t, before, after = before_and_after(trace, "Alarm.beats")
    assert t[after > before] == approx([0.1, 0.2, 0.4, 0.7, 1.1], abs=1e-12)
    t, before, after = before_and_after(trace, "Alarm.alarms")
    assert t[after > before] == approx([0.15, 0.25, 0.45, 0.75, 1.15], abs=1e-12)


def test_a_clock_that_ticks_again_at_once_chatters(system):
    result = simulate(system({"Alarm": "fmi3/Alarm"}), 1.2, 0.6, {"Alarm.pause": "0"})
    assert result.failure is not None and result.failure.ending is Ending.EVENTS
    assert "chatters" in result.failure.message and "clock alarm of Alarm" in result.failure.message
    assert result.failure.time == approx(0.1)


def test_clocks_of_a_lone_fmu_have_its_own_names(engine_models):
    """u = −kp y − ki s with a driven y = 3: −3 kp at the first tick, and 3 ki less at each one after it."""
    fmu = engine_models.parent / "fmi3" / "SampledController.fmu"
    result = ssptool.simulate(fmu, output=None, stop_time=0.3, step_size=0.1, inputs={"y": 3.0})
    assert set(result) == {"sample", "y", "u"}
    assert result["sample"][result.t == 0.2].tolist() == [False, True]
    assert result["u"][result["sample"]][:3] == approx([-2 * 3.0 - 0.5 * 3.0 * n for n in range(3)], abs=1e-12)
