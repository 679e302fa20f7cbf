"""Events that follow each other ever faster: those without end are reported, those that come to rest are not."""

import numpy as np
import pytest

from ssptool.engine.failure import Ending
from tests.engine.event_mode.systems import simulate, write_system
from tests.engine.ode.systems import both_sides, couple, integrate
from tests.engine.small.fmus import Var, make_fmu

GRAVITY = 9.81
STEPS = pytest.mark.parametrize("step", (1e-3, 1e-2, 0.1))
INTEGRATORS = pytest.mark.parametrize("integrator", ("bdf", "adams"))


def end_of_bounces(restitution):
    """When a ball that is dropped from 1 m and never rests comes to its infinite bounce [s]: the sum of all flights."""
    return np.sqrt(2 / GRAVITY) * (1 + 2 * restitution / (1 - restitution))


def check_reported(result, name="Ball", restitution=0.7):
    """Near the end of all bounces; flights lower than the tolerance of 1e-6 m are not resolved, the first of
    which lasts 1e-3 s; and nothing has fallen through the ground by more than the tolerance."""
    assert result.status is Ending.EVENTS, result.status
    assert result.failure.component == name
    for words in ("accumulate", f"event indicator 0 of {name}", "between the last two", "come to rest", "stop before"):
        assert words in str(result.failure)
    assert result.failure.time == pytest.approx(end_of_bounces(restitution), rel=1e-2)
    assert result.trace[f"{name}.h"].min() > -1e-5


@STEPS
@INTEGRATORS
@pytest.mark.parametrize("tolerance", (1e-6, 1e-9))
def test_a_ball_without_rest_does_not_fall_through_the_ground(models, step, integrator, tolerance):
    settings = {"step_size": step, "stop_time": 3.0, "tolerance": tolerance, "integrator": integrator}
    check_reported(integrate(models, {"Ball": "BouncingBall"}, values={"Ball.v_min": 0.0}, **settings))


@pytest.mark.parametrize("restitution", (0.01, 0.1, 0.4, 0.9))
@STEPS
def test_however_elastic_it_is(models3, step, restitution):
    values = {"Ball.v_min": 0.0, "Ball.e": restitution}
    stop = np.ceil(end_of_bounces(restitution) + 1)
    result = integrate(models3, {"Ball": "BouncingBall"}, values=values, step_size=step, stop_time=stop)
    check_reported(result, restitution=restitution)


@STEPS
def test_beside_co_simulation_too(models, step):
    settings = {"step_size": step, "stop_time": 3.0}
    values = {"Ball.v_min": 0.0}
    wires = [("Ball.h", "Lag.u")]
    check_reported(couple(models, {"Ball": "BouncingBall"}, {"Lag": "Lag"}, wires, values, **settings))


BALL = (
    *(Var("h", "state", start=1.0), Var("dh", "der", of="h", needs=["v"])),
    *(Var("v", "state", start=0.0), Var("dv", "der", of="v", needs=[])),
    *(Var("gap", "indicator"), Var("height", "output", needs=["h"])),
)


@pytest.mark.parametrize("sign", (1, -1))
@pytest.mark.parametrize("version", (2, 3))
@STEPS
def test_a_ball_whose_height_is_not_set_at_a_bounce_neither(tmp_path, version, step, sign):
    """It is where the root was found, a little below the ground; the indicator falls or rises."""
    calc = f"v->dh = v->v; v->dv = -9.81; v->gap = {sign} * v->h; v->height = v->h;"
    event = "if (v->h <= 0 && v->v < 0) { v->v *= -0.7; e->states = true; } return OK;"
    make_fmu(tmp_path / "Ball.fmu", BALL, version=version, cs=None, calc=calc, event=event)
    result = simulate(write_system(tmp_path / "system", tmp_path, {"Ball": "Ball"}), 3.0, step)
    assert result.status == "events without end"
    assert result.failure.time == pytest.approx(end_of_bounces(0.7), rel=1e-2)
    assert result.trace["Ball.height"].min() > -1e-5


@STEPS
@INTEGRATORS
@pytest.mark.parametrize("bounces", (20, 50))
def test_a_ball_that_comes_to_rest_is_not_accused(models, step, integrator, bounces):
    """By its model, after so many bounces if each were exact; those lower than the tolerance are not, but end too."""
    values = {"Ball.v_min": np.sqrt(2 * GRAVITY) * 0.7 ** (bounces + 0.5)}
    settings = {"step_size": step, "stop_time": 3.0, "tolerance": 1e-9, "integrator": integrator}
    trace = integrate(models, {"Ball": "BouncingBall"}, values=values, **settings).unwrap()
    assert trace["Ball.h"][-1] == trace["Ball.v"][-1] == 0.0
    assert trace["Ball.h"].min() > -1e-8


SWITCH = (
    *(Var("x", "state", start=0.5), Var("dx", "der", of="x", needs=[])),
    *(Var("width", "parameter", start=1.0), Var("y", "output", "Int32", start=1, initial="exact", needs=[])),
    *(Var("low", "indicator"), Var("high", "indicator"), Var("count", "output", "Int32", start=0, initial="exact")),
)


@pytest.mark.parametrize("width", (1e-2, 1e-4))
@INTEGRATORS
def test_a_controller_that_switches_often_is_not_accused(tmp_path, width, integrator):
    """x' = ±1 between 0 and a width, 1000 times in a time of 1000 widths; communication points are further apart."""
    calc = "v->dx = v->y ? 1 : -1; v->low = v->x; v->high = v->x - v->width;"
    event = "int y = v->x >= v->width ? 0 : v->x <= 0 ? 1 : v->y; v->count += y != v->y; v->y = y; return OK;"
    variables = [Var("x", "state", start=width / 2) if one.name == "x" else one for one in SWITCH]
    make_fmu(tmp_path / "Switch.fmu", variables, version=3, cs=None, calc=calc, event=event)
    folder = write_system(
        tmp_path / "system",
        tmp_path,
        {"A": "Switch"},
        parameters=f'<ssv:Parameter name="A.width"><ssv:Real value="{width}"/></ssv:Parameter>',
    )
    result = simulate(folder, 300 * width, 100 * width, integrator=integrator)
    assert result.unwrap()["A.count"][-1] == 300
    assert result.notes == ()


def test_a_fast_clock_is_not_accused(tmp_path):
    """1000 time events in a communication step."""
    count = Var("count", "output", "Int32", start=0, initial="exact", needs=[])
    event = "v->count++; e->has_next = true; e->next = v->count * 1e-4; return OK;"
    make_fmu(tmp_path / "Counter.fmu", [count], version=3, cs=None, event=event)
    trace = simulate(write_system(tmp_path / "system", tmp_path, {"A": "Counter"}), 0.2, 0.1).unwrap()
    assert trace["A.count"][-1] == 2001


def test_time_events_that_accumulate_are_reported(tmp_path):
    """At 1 - 0.5^n: none of them is in the past, and none of them is at 1 s."""
    count = Var("count", "output", "Int32", start=0, initial="exact", needs=[])
    event = "v->count++; e->has_next = true; e->next = 1 - pow(0.5, v->count); return OK;"
    make_fmu(tmp_path / "Counter.fmu", [count], version=3, cs=None, event=event)
    result = simulate(write_system(tmp_path / "system", tmp_path, {"A": "Counter"}), 2.0, 0.1)
    assert result.status == "events without end"
    assert result.failure.time == pytest.approx(1.0, abs=1e-6)
    for words in ("events of component A accumulate", "time event of A"):
        assert words in str(result.failure)
    assert both_sides(result.trace).size > 10
