"""Intervals that are not a whole number of steps: the last one is shorter."""

import numpy as np
import pytest

import ssptool
from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recording
from tests.engine.dual_mass import FMI1, FMI2, FMI3, MIXED, RESOURCES, Folder, oscillator
from tests.engine.running import run
from tests.systems.exact_dual_mass import DualMass

pytestmark = pytest.mark.one_in(3)

H, STOP = 0.003, 1.0  # 333 steps and a third
MASTERS = [
    {"master": "jacobi", "approximation": "hold"},
    {"master": "jacobi", "approximation": "extrapolate"},
    {"master": "gauss-seidel"},
    {"master": "iterated"},
    {"master": "iterated", "acceleration": "newton"},
    {"master": "jacobi", "exchange": "late"},
    {"substeps": {"System1": 2}},
    {"implementation": "me"},
    {},
]


def simulate(net, stop=STOP, isolated=False, recording=None, **settings):
    made = make_plan(net, Settings(stop_time=stop, step_size=H, **settings))
    return run(made, Folder(), isolated=isolated, recording=recording)


@pytest.mark.parametrize("settings", MASTERS, ids=str)
def test_all_steps_but_the_last_are_those_of_a_whole_number_and_it_leads_to_the_stop(settings):
    """Where it ends, its error is at most that of a step more."""
    part, whole = simulate(oscillator(), **settings).unwrap(), simulate(oscillator(), stop=334 * H, **settings).unwrap()
    assert part.t[-1] == STOP and part.t[-2] == 333 * H and len(part.t) == 335
    # An integrator looks ahead, up to the stop time.
    same = {"abs": 1e-5} if "implementation" in settings else {"rel": 0, "abs": 0}
    assert part.y[:-1] == pytest.approx(whole.y[:-1], **same)
    exact = DualMass().signals  # at equal distances
    before = np.abs(whole["System1.x1"] - exact(whole.t)["x1"])[-2:]
    assert abs(part["System1.x1"][-1] - exact(np.array([0.0, STOP]))["x1"][-1]) <= 1.5 * before.max() + 1e-9


@pytest.mark.parametrize("settings", MASTERS[:6], ids=str)
@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED])
def test_a_child_process_gives_the_same_bits(settings, sources):
    one = simulate(oscillator(sources), stop=0.1, **settings).trace
    child = simulate(oscillator(sources), isolated=True, stop=0.1, **settings).trace
    assert one.t.tobytes() == child.t.tobytes()
    assert one.y.tobytes() == child.y.tobytes()


def test_fmi_1_does_it_too():
    trace = simulate(oscillator(FMI1), stop=0.1).unwrap()
    assert (trace.t[-1], len(trace.t)) == (0.1, 35)


def test_rows_at_equal_distances_end_at_the_stop():
    every = simulate(oscillator(), stop=0.1).unwrap()
    grid = simulate(oscillator(), stop=0.1, recording=Recording(output_step=0.02)).unwrap()
    assert grid.t == pytest.approx([0.0, 0.02, 0.04, 0.06, 0.08, 0.1])
    assert grid.y[-1] == pytest.approx(every.y[-1], rel=1e-12)
    tenth = simulate(oscillator(), stop=0.1, recording=Recording(every=10)).unwrap()
    assert tenth.t == pytest.approx([0.0, 0.03, 0.06, 0.09, 0.1])


def test_a_simulation_in_steps_goes_there_and_is_saved_and_goes_on(tmp_path):
    settings = ssptool.Settings(stop_time=0.1, step_size=H)
    with ssptool.Simulation(RESOURCES.parent, settings=settings) as simulation:
        simulation.run_until(0.05)
        simulation.save(tmp_path / "state")
        assert simulation.run_until(0.1) == 0.1 and simulation.finished
        end = simulation.get("System1.x1")
    with ssptool.Simulation(RESOURCES.parent, settings=settings, saved=tmp_path / "state") as simulation:
        times = list(simulation)
        assert (times[-1], simulation.get("System1.x1")) == (0.1, end)
