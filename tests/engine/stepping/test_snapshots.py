"""With every master: from a snapshot a simulation goes on twice with the same bits, and after a reset as at first."""

from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool import Settings
from ssptool.engine.run.saved import NotSavable
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.errors import WrongUsage, WrongValue
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
from tests.engine.event_mode.test_adaptive_steps import COUPLED, PAIR, VALUES
from tests.engine.ode.test_saving import ball
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.stepping.test_points import EVERY, INPUTS, STEP, STOP, WIRES, folder, rooms  # noqa: F401

pytestmark = pytest.mark.one_in(3)

SYSTEM = Path(__file__).parents[3] / "systems/dual_mass_oscillator"


def gone_on_twice(simulation):
    """The trace from here to the end, which is the same both times."""
    snapshot, before = simulation.snapshot(), simulation.trace
    found = []
    for _ in range(2):
        list(simulation)
        found.append(simulation.trace)
        assert simulation.restore(snapshot) == snapshot.time == simulation.time
        now = simulation.trace
        assert np.array_equal(now.cells, before.cells) and np.array_equal(now.t, before.t)
    list(simulation)
    for trace in (found[1], simulation.trace):
        assert np.array_equal(trace.t, found[0].t) and np.array_equal(trace.cells, found[0].cells)
    return found[0]


@EVERY
@pytest.mark.parametrize("until", [0.1234, 0.3])
def test_a_simulation_goes_back_and_begins_anew(folder, monkeypatch, tmp_path, settings, until):  # noqa: F811
    with rooms(folder, settings, monkeypatch, tmp_path)() as simulation:
        traces = []
        for _ in range(2):
            simulation.set("A.u", 1.0)
            simulation.run_until(until)
            simulation.set("A.u", 3.0)
            traces.append(gone_on_twice(simulation))
            assert len(simulation.overrides) == 2
            simulation.reset()
            assert simulation.time == 0.0 and len(simulation.trace.t) == 1 and simulation.overrides == ()
        assert np.array_equal(traces[0].t, traces[1].t) and np.array_equal(traces[0].cells, traces[1].cells)


@EVERY
def test_a_fork_goes_on_with_the_same_bits_and_leaves_its_origin_alone(folder, monkeypatch, tmp_path, settings):  # noqa: F811
    with rooms(folder, settings, monkeypatch, tmp_path)() as simulation:
        simulation.set("A.u", 1.0)
        simulation.run_until(0.1234)
        with simulation.fork() as same, simulation.fork() as other:
            other.set("A.u", 5.0)
            list(other)
            list(same)
            list(simulation)
        found, own = same.trace, simulation.trace
    assert np.array_equal(own.t[-len(found.t) :], found.t)
    assert np.array_equal(own.cells[-len(found.t) :], found.cells)
    assert not np.array_equal(other.trace.cells[-1], found.cells[-1])


def test_what_was_set_after_a_snapshot_is_forgotten(folder, monkeypatch, tmp_path):  # noqa: F811
    with rooms(folder, {"master": "jacobi"}, monkeypatch, tmp_path)() as simulation:
        simulation.set("A.u", 1.0)
        simulation.run_until(0.1)
        snapshot = simulation.snapshot()
        simulation.set("A.u", 5.0)
        simulation.run_until(0.2)
        simulation.restore(snapshot)
        assert simulation.get("A.u") == 1.0 and len(simulation.overrides) == 1
        simulation.set("A.u", 2.0)  # in the place of the row that is set at this time already, where there is one
        again = simulation.snapshot()
        simulation.set("A.u", 7.0)
        simulation.restore(again)
        assert simulation.get("A.u") == 2.0 and len(simulation.overrides) == 2


@pytest.mark.parametrize(
    "settings", [{"master": "jacobi"}, {"master": "iterated"}, {"adaptive": 1e-4}, {"implementation": "me"}], ids=str
)
@pytest.mark.parametrize("until", [0.0, 0.19, 0.2, 0.2345])
def test_before_and_after_jumps_of_inputs(folder, tmp_path, settings, until):  # noqa: F811
    system = write_system(tmp_path / "system", folder, {"A": "Room", "B": "Room"}, WIRES)
    options = Settings(stop_time=STOP, step_size=STEP, **settings)
    with ssptool.Simulation(system, settings=options, inputs=INPUTS) as simulation:
        simulation.run_until(until)
        trace = gone_on_twice(simulation)
    assert trace.t[-1] == STOP


@pytest.mark.parametrize("settings", [{}, {"master": "jacobi"}, {"adaptive": 1e-4}], ids=str)
@pytest.mark.parametrize("until", [0.01234, 0.25])
def test_between_events_and_ticks(engine_models, tmp_path, settings, until):
    fmus = {**PAIR, "Ball": "fmi3/Ball", "Controller": "fmi3/SampledController"}
    system = write_system(tmp_path / "system", engine_models.parent, fmus, COUPLED)
    options = Settings(stop_time=0.5, step_size=1e-3, **settings)
    with ssptool.Simulation(system, settings=options, start_values=VALUES) as simulation:
        simulation.run_until(until)
        trace = gone_on_twice(simulation)
        simulation.reset()
        simulation.run_until(until)
        simulation.snapshot()
        list(simulation)
        assert np.array_equal(simulation.trace.cells, trace.cells)


@pytest.mark.parametrize("steps", (20, 45, 46, 47, 110))
def test_a_ball_that_bounces(test_models, steps):
    """Before a bounce, at its two rows, after it, and after the second one."""
    models = test_models.parent / "fmi3"
    with SteppedRun(ball(models), Folder(models)) as simulation:
        simulation.step(steps)
        gone_on_twice(simulation)


def test_snapshots_are_of_one_simulation_since_its_beginning():
    with ssptool.Simulation(SYSTEM, stop_time=0.01, step_size=1e-3) as one:
        snapshot = one.snapshot()
        assert repr(snapshot) == "<Snapshot at t = 0 s>"
        with ssptool.Simulation(SYSTEM, stop_time=0.01, step_size=1e-3) as other, pytest.raises(WrongValue):
            other.restore(snapshot)
        one.reset()
        new = one.snapshot()
        with pytest.raises(WrongValue, match="before a reset"):
            one.restore(snapshot)
        del snapshot
        assert one.step() == 1e-3 and one.restore(new) == 0.0
    with pytest.raises(WrongUsage):
        one.restore(new)


def test_fmus_must_be_able_to_save_their_state(tmp_path):
    make_fmu(tmp_path / "Plain.fmu", (Var("y", "output", start=1.0),), saves=False)
    with ssptool.Simulation(tmp_path / "Plain.fmu", stop_time=1.0, step_size=0.1) as simulation:
        with pytest.raises(NotSavable, match="canGetAndSetFMUState"):
            simulation.snapshot()
        assert simulation.step() == 0.1
        simulation.reset()
        assert simulation.time == 0.0
