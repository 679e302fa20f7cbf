"""Jumps that runs with steps of several sizes notice at the same point, and all of them late."""

import zipfile

import numpy as np
import pytest

from ssptool.engine.run.accuracy import first_late, noticed_jumps, points_before
from ssptool.engine.trace import Column
from ssptool.types import Trace
from tests.accuracy.measured import carried_out, true_error, written
from tests.accuracy.parts import Part
from tests.accuracy.systems import System, late

FORCE, SPEED, ON = Column("Strike.force", "N"), Column("Motor.speed", "rad/s"), Column("Room.on", type="Boolean")
STEPS = (0.1, 0.05, 0.025)


def runs(*columns):
    traces = []
    for h in STEPS:
        t = np.linspace(0.5, 2.5, round(2 / h) + 1)
        traces.append(Trace.of(t, [(column, values(t)) for column, values in columns]))
    return traces


@pytest.mark.parametrize("omega", [2.0, 6.0, 20.0])
def test_what_moves_fast_does_not_jump(omega):
    assert noticed_jumps(runs((SPEED, lambda t: 700 + 30 * np.cos(omega * t + 0.3))), 0.1) == ()


def test_a_jump_on_a_fast_motion_is_found_where_all_runs_notice_it():
    def force(t):
        return 40 * np.cos(3 * t) + np.where(t > 1.19, -25.0, 0.0)

    (jump,) = noticed_jumps(runs((SPEED, lambda t: np.sin(3 * t)), (FORCE, force)), 0.1)
    assert jump.signal == "Strike.force" and jump.time == pytest.approx(1.2)


def test_a_jump_that_finer_runs_notice_earlier_shows_in_their_differences():
    assert noticed_jumps(runs((FORCE, lambda t: np.where(t > 1.12, 25.0, 3.0))), 0.1) == ()


def test_the_time_of_a_jump_with_a_row_on_each_side_is_known():
    traces = []
    for h in STEPS:
        t = np.linspace(0.5, 2.5, round(2 / h) + 1)
        at = round(0.7 / h)
        t = np.insert(t, at, t[at])
        values = np.where(np.arange(len(t)) > at, 25.0, 3.0)
        traces.append(Trace.of(t, [(FORCE, values), (ON, values > 10)]))
    assert noticed_jumps(traces, 0.1) == ()


def test_switches_are_jumps():
    (jump,) = noticed_jumps(runs((ON, lambda t: t > 1.59)), 0.1)
    assert jump.signal == "Room.on" and jump.time == pytest.approx(1.6)


def test_of_many_jumps_some_from_all_over_the_run_are_looked_into():
    h = 1e-3
    t = np.arange(0, 20 + h / 2, h)
    saw = Trace.of(t, [(FORCE, np.floor(t / 0.02 + 1e-6) % 2 * 7.0)])
    found = noticed_jumps([saw, saw], h)
    assert len(found) == 100
    assert found[0].time < 0.1 and found[-1].time > 19.9


def test_points_come_closer_to_a_jump_by_halves():
    jumps = noticed_jumps(runs((ON, lambda t: t > 1.59)), 0.1)
    distances = 1.6 - np.array(points_before(jumps))
    assert distances[0] == pytest.approx(0.0125) and distances[-1] < 1e-6
    assert distances[:-1] / distances[1:] == pytest.approx(2.0)


@pytest.mark.parametrize("when", [1.9019, 1.86365, 1.9019999])
@pytest.mark.parametrize("ramp", [False, True])
def test_the_cost_of_the_delay_is_stated(tmp_path, when, ramp):
    system = late(when, ramp)
    result = carried_out(system, written(system, tmp_path), accuracy="auto", step_size=0.002, record=["One.x"])
    error = true_error(system, result)[0]
    assert error / 3 <= result.accuracy.error <= 3 * error
    assert "Strike.force" in result.accuracy.remark


@pytest.mark.parametrize("settings", [{"step_size": 0.005}, {"adaptive": 1e-3}, {"adaptive": 1e-4}])
def test_a_jump_in_the_last_step_costs_what_is_stated(tmp_path, settings):
    """x is the integral of sin t, which jumps to 1000 a moment before the end."""
    when = 0.99985
    source = Part(outputs={"y": f"time > {when} ? 1000 : sin(time)"})
    integral = Part(inputs={"u": 0.0}, states={"x": (0.0, "u")}, outputs={"y": "x"})
    parts, wires = {"Source": source, "Integral": integral}, [("Source.y", "Integral.u")]
    system = System(parts, wires, 1.0, lambda t: {"Integral.y": 1 - np.cos(t) + 1000 * np.maximum(t - when, 0)})
    result = carried_out(system, written(system, tmp_path), accuracy="check", record=["Integral.y"], **settings)
    error = true_error(system, result)[0]
    assert error > 0.1
    assert error / 3 <= result.accuracy.error <= 3 * error
    assert result.accuracy.remark


@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-4])
def test_adaptive_runs_that_notice_a_jump_equally_late_state_it(tmp_path, rtol):
    """x is the integral of a source that jumps from sin t to 5; by chance, two tolerances are late by the same time."""
    when = 0.61803
    source = Part(outputs={"y": f"time > {when} ? 5 : sin(time)"})
    integral = Part(inputs={"u": 0.0}, states={"x": (0.0, "u")}, outputs={"y": "x"})

    def exact(t):
        return {"Integral.y": np.where(t > when, 1 - np.cos(when) + 5 * (t - when), 1 - np.cos(t))}

    system = System({"Source": source, "Integral": integral}, [("Source.y", "Integral.u")], 1.0, exact)
    result = carried_out(system, written(system, tmp_path), accuracy="check", record=["Integral.y"], adaptive=rtol)
    error = true_error(system, result)[0]
    assert error / 2 <= result.accuracy.error <= 3 * error


@pytest.mark.parametrize("phase", np.linspace(0, 0.05, 6).tolist())
@pytest.mark.parametrize("omega", [2.0, 6.0, 20.0])
def test_smooth_values_do_not_jump_in_the_last_step(omega, phase):
    """The extremum moves over the last two steps of the finest run."""
    assert noticed_jumps(runs((SPEED, lambda t: 700 + 30 * np.cos(omega * (t - 2.5 + phase)))), 0.1) == ()
    assert noticed_jumps(runs((SPEED, lambda t: np.exp(omega * t))), 0.1) == ()


def test_the_jump_that_is_noticed_late_is_named():
    """One at the communication point 0.8 s, one between two others, which closer points show before 1.2 s."""

    def force(t):
        return np.where(t >= 0.8 - 1e-9, 20.0, 1.0) + np.where(t > 1.19, -25.0, 0.0)

    jumps = noticed_jumps(runs((FORCE, force)), 0.1)
    assert [jump.time for jump in jumps] == pytest.approx([0.8, 1.2])
    t = np.unique([*np.linspace(0.5, 2.5, 21), *points_before(jumps)])
    closer = Trace.of(t, [(FORCE, force(t))])
    assert first_late(jumps, closer) == jumps[1]
    assert first_late(jumps[:1], closer) == jumps[0]


def rigid(fmu):
    """Take from an FMU that it takes steps of any size."""
    with zipfile.ZipFile(fmu) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    ability = b'canHandleVariableCommunicationStepSize="true"'
    assert ability in files["modelDescription.xml"]
    files["modelDescription.xml"] = files["modelDescription.xml"].replace(ability, b"")
    with zipfile.ZipFile(fmu, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def test_where_no_step_can_end_closer_the_delay_is_said_to_be_unknown(tmp_path):
    system = late(1.9019)
    folder = written(system, tmp_path)
    rigid(folder / "resources" / "One.fmu")
    result = carried_out(system, folder, accuracy="auto")
    assert {"Strike.force", "One"} <= set(result.accuracy.remark.replace(":", "").split())


@pytest.mark.slow
def test_an_error_that_is_asked_for_is_not_reached_where_a_jump_may_be_late(tmp_path):
    """The estimate of what is seen would do; the delay costs 250 times as much."""
    system = late(1.9001)
    folder = written(system, tmp_path)
    rigid(folder / "resources" / "One.fmu")
    result = carried_out(system, folder, accuracy=1e-5)
    assert true_error(system, result)[0] > 1e-5
    assert not result.accuracy.met


def test_runs_that_agree_state_no_error_where_all_may_be_late(tmp_path):
    system = late(1.8999)
    folder = written(system, tmp_path)
    rigid(folder / "resources" / "One.fmu")
    result = carried_out(system, folder, accuracy="auto", record=["Strike.force"])
    assert result.accuracy.error is None
    assert "Strike.force" in result.accuracy.remark


def turned_at(height):
    """x' = 1.5 from 0 to this height, where a relay of model exchange turns it to −0.5."""
    relay = Part(
        inputs={"x": 0.0},
        outputs={"u": "u"},
        kept={"u": 1.5},
        event=f"if (x >= {height!r}) u = -0.5;",
        indicators=(f"x - {height!r}",),
        exchange=True,
        co_simulation=False,
    )
    plant = Part(inputs={"u": 1.5}, states={"level": (0.0, "u")}, outputs={"x": "level"})

    def exact(t):
        return {"P.x": np.minimum(1.5 * t, height - 0.5 * (t - height / 1.5))}

    return System({"R": relay, "P": plant}, [("R.u", "P.u"), ("P.x", "R.x")], 1.0, exact)


def test_an_event_of_model_exchange_of_which_all_runs_learn_at_the_same_point(tmp_path):
    """At 0.4956 s, while the plant cannot go back: with steps of 4, 2 and 1 ms it turns at 0.496 s."""
    system = turned_at(0.7434)
    folder = written(system, tmp_path)
    result = carried_out(system, folder, step_size=0.004, accuracy="check")
    true = _error_at_points(system, result)
    assert true == pytest.approx(2 * 0.0004 / 0.7434, rel=0.01)
    assert true / 3 <= result.accuracy.error <= 3 * true
    assert "R.u" in result.accuracy.remark


def _error_at_points(system, result):
    """The rows of the event repeat what the plant had at the communication point before."""
    rows = result.trace.rows(result.trace.points)
    exact = system.exact(rows.t)["P.x"]
    return np.max(np.abs(rows["P.x"] - exact)) / np.ptp(exact)
