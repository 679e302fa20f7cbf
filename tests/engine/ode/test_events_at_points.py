"""State events at communication points, up to rounding: who stands beside hears of them in the very same step."""

import numpy as np
import pytest

import ssptool
from ssptool.engine.time_grid import grid_times
from tests.engine.event_mode.systems import write_system
from tests.engine.ode.systems import both_sides
from tests.engine.small.fmus import Var, make_fmu

EVERY = 3
"""Macro steps from one crossing to the next."""

RAMP = (
    *(Var("x", "state", start=0.0), Var("dx", "der", of="x", needs=[])),
    *(Var("every", "parameter", start=1.0), Var("z", "indicator")),
    Var("y", "output", "Int32", start=0, initial="exact", needs=[]),
)
FOLLOWER = (
    *(Var("u", "input", "Int32", start=0), Var("s", "state", start=0.0), Var("ds", "der", of="s", needs=["u"])),
    Var("out", "output", needs=["s"]),
)
EVENTFUL = {"cs": 'hasEventMode="true"', "me": None}


@pytest.fixture
def system(tmp_path):
    """A ramp x = ±t for model exchange, which counts how often it has gone on by `every`, and a follower that sums up
    the count over time."""

    def write(version, step, *, sign=1, follower=None):
        ramp = {"calc": f"v->dx = {sign}; v->z = v->x - {sign} * (v->y + 1) * v->every;"}
        ramp["event"] = f"if ({sign} * v->z >= 0) {{ v->y++; calc(v); }} return OK;"
        make_fmu(tmp_path / "Ramp.fmu", RAMP, version=version, cs=None, **ramp)
        follows = "v->ds = v->u; v->out = v->s;"
        make_fmu(tmp_path / "Follower.fmu", FOLLOWER, version=version, calc=follows, **(follower or {"me": None}))
        every = f'<ssv:Parameter name="R.every"><ssv:Real value="{EVERY * step!r}"/></ssv:Parameter>'
        components = {"R": "Ramp", "F": "Follower"}
        return write_system(tmp_path / "system", tmp_path, components, [("R.y", "F.u")], every)

    return write


COUPLING = {"approximation": "hold", "master": "jacobi"}


def simulate(folder, step, integrator, coupling=COUPLING):
    settings = ssptool.Settings(stop_time=20 * step, step_size=step, integrator=integrator, **coupling)
    return ssptool.simulate(folder, settings=settings).unwrap()


def sums(t, step):
    """Of max(0, t - τ) over all crossings τ."""
    crossings = EVERY * step * np.arange(1, 20)
    return np.maximum(0.0, t[:, None] - crossings).sum(axis=1)


STEPS = pytest.mark.parametrize("step", (0.1, 0.01, 0.003, 0.0007, 1 / 3, 0.3))
INTEGRATORS = pytest.mark.parametrize("integrator", ("bdf", "adams"))
VERSIONS = pytest.mark.parametrize("version", (2, 3))


@pytest.mark.slow
@STEPS
@INTEGRATORS
@VERSIONS
def test_the_follower_sees_them_in_the_very_same_step(system, version, integrator, step):
    """One step late is a sum that is too small by a step each time; the tolerance is far below that."""
    trace = simulate(system(version, step), step, integrator)
    assert trace["F.out"] == pytest.approx(sums(trace.t, step), abs=1e-6 * step)
    assert trace["R.y"][-1] == 20 // EVERY


@pytest.mark.slow
@STEPS
@pytest.mark.parametrize("sign", (1, -1))
def test_they_take_the_place_of_the_communication_point(system, step, sign):
    """Which has two rows then, at its very time, and there are no others."""
    trace = simulate(system(3, step, sign=sign), step, "bdf")
    assert np.unique(trace.t).tolist() == grid_times(0.0, step, range(21)).tolist()
    at = both_sides(trace)
    assert trace.t[at].tolist() == grid_times(0.0, step, range(EVERY, 21, EVERY)).tolist()
    assert (trace["R.y"][at + 1] - trace["R.y"][at]).tolist() == [1] * len(at)


@pytest.mark.slow
@STEPS
@INTEGRATORS
def test_in_events_of_the_whole_system_too(system, step, integrator):
    """The follower is in event mode with the ramp."""
    trace = simulate(system(3, step, follower=EVENTFUL), step, integrator)
    assert trace["F.out"] == pytest.approx(sums(trace.t, step), abs=1e-6 * step)
    assert trace.t[both_sides(trace)] == pytest.approx(EVERY * step * np.arange(1, 7), abs=1e-9 * step)


@pytest.mark.slow
@STEPS
def test_all_as_one_ode_they_take_the_place_of_the_communication_point(system, step):
    trace = simulate(system(3, step, follower={"cs": None}), step, "bdf", coupling={})
    assert trace["F.out"] == pytest.approx(sums(trace.t, step), abs=1e-6 * step)
    assert np.unique(trace.t).tolist() == grid_times(0.0, step, range(21)).tolist()
