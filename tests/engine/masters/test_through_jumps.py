"""Dense jumps of tables, on the grid of the steps and beside it."""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.failure import Ending
from tests.engine.dual_mass import Folder
from tests.engine.running import run
from tests.engine.stimuli.pushed_mass import MASS, write_pushed_mass


@pytest.fixture
def pushed(engine_models, tmp_path):
    return write_pushed_mass(tmp_path / "pushed", engine_models)


def same(one, other):
    return np.array_equal(one.t, other.t) and np.array_equal(one.cells, other.cells)


def tables(seed, count=60):
    """Jumps on the grid of 0.01 s, beside it, several in one step and in both tables at once."""
    random = np.random.default_rng(seed)
    times = np.sort(np.concatenate([random.uniform(0.0, 1.0, count), random.integers(0, 100, count) / 100]))
    times = (0.0, *times.tolist())
    return ssptool.types.Table(times, tuple(random.normal(size=len(times)).tolist()), "hold")


def test_held_and_linear_pieces_between_dense_jumps_are_integrated_exactly(pushed):
    """F is a saw: from 0 to 1 within each 0.02 s; half of it is the mean."""
    times = np.repeat(np.arange(51) / 50, 2)[1:-1]
    saw = ssptool.types.Table(tuple(times.tolist()), tuple(np.tile([0.0, 1.0], 50).tolist()))
    trace = ssptool.simulate(pushed, inputs={"push": saw}, settings=ssptool.Settings(step_size=0.005)).unwrap()
    assert trace["Mass.v"][-1] == approx(0.5 / MASS, rel=1e-12)
    assert np.count_nonzero(np.diff(trace.t) == 0) == 49


def test_loops_that_the_kernel_does_not_solve_are_solved_on_the_way(system):
    """u³ − 3 u + 3 = w, with roots so far apart that a frozen Jacobian does not lead from one to the next."""
    folder = system({"C": "Cubic", "S": "Affine"}, [("C.y", "S.u"), ("S.y", "C.u")])
    times = tuple((np.arange(12) * 0.07).tolist())
    plan = ssptool.plan(
        folder,
        inputs={"S.w": ssptool.types.Table(times, (0.0, 25.0, -40.0) * 4, "hold")},
        start_values={"S.b": "1", "C.u": "-2"},
        settings=ssptool.Settings(step_size=0.05),
    )
    result = run(plan, Folder(folder))
    trace = result.unwrap()
    u, w = trace["C.u"], trace["S.w"]
    assert u**3 - 3 * u + 3 == approx(w, abs=1e-6)
    assert result.statistics.loops_rescued > 3


def test_a_component_that_fails_on_the_way_ends_the_run_there(pushed):
    """So large a force that the mass is at infinity before the next row but one."""
    times = tuple((np.arange(10) * 0.05).tolist())
    values = (0.0,) * 5 + (1e308,) * 5
    settings = ssptool.Settings(step_size=0.05, stop_time=1e3)
    table = ssptool.types.Table(times, tuple(value * (-1) ** k for k, value in enumerate(values)), "hold")
    result = ssptool.simulate(pushed, inputs={"push": table}, settings=settings, isolated=False)
    assert result.failure is not None and result.failure.ending is Ending.NONFINITE


def test_a_simulation_that_is_stepped_goes_through_the_same_rows(pushed):
    facts = {"inputs": {"push": tables(7)}, "settings": ssptool.Settings(step_size=0.01)}
    whole = ssptool.simulate(pushed, **facts).unwrap()
    with ssptool.Simulation(pushed, **facts) as simulation:
        while not simulation.finished:
            simulation.step()
        assert same(simulation.trace, whole)
