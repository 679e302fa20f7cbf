"""The run that all components as one ODE are compared with: it may fail, and harms nothing."""

from dataclasses import replace

import pytest

import ssptool
from tests.accuracy.measured import true_error, written
from tests.accuracy.systems import bouncing
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import state_implementation, write_system

VARIABLES = [
    Var("x", "state", start=3.0),
    Var("der_x", "der", of="x", needs=["x"]),
    Var("y", "output", needs=["x"]),
]


@pytest.mark.parametrize("completed", ["abort();", "return ERROR;", "for (;;);"], ids=["crashes", "fails", "hangs"])
def test_an_fmu_may_be_good_for_co_simulation_only(completed, tmp_path):
    calc = "v->der_x = -2 * v->x; v->y = 5 * v->x + 1;"
    make_fmu(tmp_path / "A.fmu", VARIABLES, calc=calc, completed=f"{completed} return OK;")
    system = write_system(tmp_path / "system", tmp_path, {"A": "A"}, [])
    result = ssptool.simulate(system, accuracy="auto", isolated=False, step_size=0.1)
    assert result.ok and result["A.y"][-1] == pytest.approx(5 * 3 * 0.1353352832366127 + 1)
    assert result.accuracy.method == "halved"


def test_a_switch_that_ends_a_macro_step_is_known_to_the_bit(tmp_path):
    """The other run integrates both components, so that all of its rows count, those of events too."""
    on = Var("on", "output", "Boolean", start=False, initial="exact", variability="discrete", needs=[])
    make_fmu(
        tmp_path / "Clock.fmu",
        [on],
        own="double next;",
        event="if (v->time >= v->next - 1e-12) { v->on = !v->on; v->next = v->time + 0.95; } "
        "e->has_next = true; e->next = v->next; return OK;",
        on_exit_init="v->next = 0.95; return OK;",
    )
    passing = [
        Var("u", "input", "Boolean", start=False, variability="discrete"),
        Var("y", "output", "Boolean", needs=["u"], variability="discrete"),
    ]
    make_fmu(tmp_path / "Through.fmu", passing, calc="v->y = v->u;")
    components = {"Clock": "Clock", "Through": "Through"}
    system = write_system(tmp_path / "system", tmp_path, components, [("Clock.on", "Through.u")], 5.0)
    state_implementation(system, "Clock")
    result = ssptool.simulate(system, accuracy="check", isolated=False, step_size=0.7)
    assert result.ok and next(round(t, 12) for t, on in zip(result.t, result["Through.y"], strict=True) if on) == 0.95
    assert result.accuracy.error is None or result.accuracy.error <= 1e-12, str(result.accuracy)


@pytest.mark.parametrize("step_size", [0.002, 0.00045])
def test_a_ball_on_a_table_that_saves_its_state_bounces_at_the_very_time(tmp_path, step_size):
    """Steps end at the bounces. At the second one, the table moves down, so that the crossing with extrapolated inputs
    is before the one with those that are found: by less than the resolution of time, within which no step leads closer.
    """
    made = bouncing(saves=True)
    result = ssptool.simulate(
        written(made, tmp_path), output=None, step_size=step_size, accuracy="off", settings_file=False, timeout=60
    )
    assert true_error(made, result)[0] < 1e-9
    assert len(result.unwrap().t) < 2.0 / step_size + 20


@pytest.mark.parametrize("steps", [{"adaptive": 1e-3}, {"adaptive": 1e-4}, {"step_size": 0.002}], ids=str)
@pytest.mark.parametrize("within", ["1e-9", "1e-12"])
def test_a_ball_bounces_however_close_it_must_be_for_that(tmp_path, steps, within):
    """At an event, the ball is where the time leads it to that the table has reached: it is below then, if both are
    within the resolution of time.
    """
    made = bouncing(saves=True)
    ball = made.parts["Ball"]
    ball = replace(ball, event=ball.event.replace("1e-9", within))
    made = replace(made, parts={**made.parts, "Ball": ball})
    result = ssptool.simulate(written(made, tmp_path), output=None, **steps, accuracy="off", timeout=60)
    assert true_error(made, result)[0] < 1e-9
    assert len(result.unwrap().t) < 12000
