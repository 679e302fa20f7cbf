"""Integration far from time zero: as good as at zero, as long as doubles can tell times apart."""

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from tests.engine.dual_mass import FMI2, FMI3, Folder, oscillator
from tests.engine.ode.systems import both_sides, bounce_times, couple, integrate, oscillation
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu

STARTS = pytest.mark.parametrize("start", (1e3, 1e6, 1e9))
STEP = 1e-3


def oscillate(start, sources=FMI2, **settings):
    settings = {"start_time": start, "stop_time": start + 0.5, "step_size": STEP, "tolerance": 1e-9} | settings
    plan = make_plan(oscillator(sources), Settings(implementation="me", **settings))
    return run(plan, Folder())


def error(trace, start):
    """Of the first mass; times after the start are exact differences of doubles."""
    exact = oscillation(trace.t - start)
    return max(np.max(np.abs(trace[f"System1.{name}1"] - exact[row])) for name, row in (("x", 0), ("v", 2)))


@STARTS
@pytest.mark.parametrize("sources", (FMI2, FMI3), ids=("fmi2", "fmi3"))
@pytest.mark.parametrize("integrator", ("bdf", "adams"))
def test_an_oscillator_swings_as_well_as_at_time_zero(start, sources, integrator):
    """It does not depend on the time, so the integrator takes the very same steps. A communication point is rounded by
    half of what doubles resolve, and the acceleration of at most 10 m/s² moves the velocity in that time.
    """
    first = oscillate(0.0, sources, integrator=integrator)
    later = oscillate(start, sources, integrator=integrator)
    assert later.statistics.evaluations == first.statistics.evaluations
    assert error(later.unwrap(), start) <= error(first.unwrap(), 0.0) + 10 * np.spacing(start)


@STARTS
@pytest.mark.parametrize("integrator", ("bdf", "adams"))
def test_a_ball_bounces_when_it_should(models, start, integrator):
    """To what doubles resolve; a flight that begins so much too late or too early lasts as long."""
    settings = {"start_time": start, "stop_time": start + 2.0, "tolerance": 1e-10, "integrator": integrator}
    trace = integrate(models, {"Ball": "BouncingBall"}, **settings).unwrap()
    events = both_sides(trace)
    assert trace.t[events] - start == pytest.approx(bounce_times(4), abs=1e-8 + 4 * np.spacing(start))


QUARTERS = "v->count++; e->has_next = true; e->next = (floor(v->time * 4) + 1) / 4; return OK;"


@STARTS
@pytest.mark.parametrize("version", (2, 3))
def test_time_events_come_at_their_time(tmp_path, start, version):
    """Each quarter of a second, which doubles hold exactly; the macro step is not part of that."""
    count = Var("count", "output", "Int32", start=0, initial="exact", needs=[])
    make_fmu(tmp_path / "Counter.fmu", [count], version=version, cs=None, event=QUARTERS)
    settings = {"start_time": start, "stop_time": start + 0.875, "step_size": 0.109375}
    trace = integrate(tmp_path, {"A": "Counter"}, **settings).unwrap()
    assert trace.t[both_sides(trace)].tolist() == [start + 0.25, start + 0.5, start + 0.75]
    assert trace["A.count"][-1] == 4


@STARTS
def test_beside_co_simulation_an_ode_is_as_good(models, start):
    """A lag follows an input of 1 from 0: x = 1 - exp(-t/T) with T = 0.5 s."""
    settings = {"start_time": start, "stop_time": start + 1.0, "step_size": STEP, "tolerance": 1e-9}
    trace = couple(models, {"A": "Lag"}, {"B": "Lag"}, [("A.x", "B.u")], {"A.u": 1.0}, **settings).unwrap()
    assert trace["A.x"] == pytest.approx(1 - np.exp(-(trace.t - start) / 0.5), abs=1e-8 + 2 * np.spacing(start))


def test_a_step_that_doubles_cannot_tell_from_none_is_refused():
    with pytest.raises(ValueError, match=r"must be at least 4.8e-07 s, because times .* cannot be told apart"):
        oscillate(1e9, step_size=4e-7)


@pytest.mark.parametrize(
    ("start", "words"), ((0.0, ()), (1e9, ()), (1e11, ("1.5e-05 s only", "1.5 % of a macro step")))
)
def test_where_times_are_coarse_the_run_says_so(start, words):
    result = oscillate(start)
    assert result.ok
    assert bool(words) == any("can be told apart" in note for note in result.notes)
    assert all(any(word in note for note in result.notes) for word in words)
