"""Steady states against closed forms; runs that begin there stay there."""

from math import acos, pi
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import fsolve

import ssptool
from tests.analysis.systems import drive, pendulum, thermal_chain
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu
from tests.systems.reference_flyball_governor import J_HUB, axis_moment, derivatives

SYSTEMS = Path(__file__).parents[2] / "systems"
CHAIN = SYSTEMS / "mass_spring_damper"


def values(variables):
    return {one.name: one.value for one in variables}


def test_springs_rest_where_their_force_carries_the_weight():
    """s = -m g sin(theta)/c in both; the parameters s0 start there."""
    point = ssptool.trim(CHAIN)
    assert point.found
    assert values(point.states) == pytest.approx(
        {"first.mass.s": -0.1962, "first.mass.v": 0, "second.mass.s": -0.1962, "second.mass.v": 0}, abs=1e-15
    )
    assert point.start_values == pytest.approx({"first.mass.s0": -0.1962, "second.mass.s0": -0.1962})


@pytest.mark.parametrize("start", [1.5, 4.0])
def test_a_system_comes_to_rest_where_newton_stays_in_a_valley(tmp_path, start):
    """x' = -(x + 2) (x² - 2 x + 2) flows to -2, past a smallest |x'| of 3 near x = 0.8; y' = 3 (x - y)."""
    variables = (
        Var("x", "state", start=start),
        Var("dx", "der", of="x", needs=["x"]),
        Var("y", "state", start=0.5),
        Var("dy", "der", of="y", needs=["x", "y"]),
        Var("z", "output", needs=["y"]),
    )
    calc = "v->dx = -(v->x + 2) * (v->x * v->x - 2 * v->x + 2); v->dy = 3 * (v->x - v->y); v->z = 2 * v->y + 1;"
    make_fmu(tmp_path / "Valley.fmu", variables, calc=calc)
    point = ssptool.trim(write_system(tmp_path / "valley", tmp_path, {"A": "Valley"}))
    assert point.found
    assert values(point.states) == pytest.approx({"A.x": -2.0, "A.y": -2.0}, rel=1e-12)
    assert point.model.stable


def test_co_simulation_comes_to_rest():
    """s = -m g sin(theta)/c of both springs."""
    point = ssptool.trim(CHAIN, implementation="cs", step_size=0.01)
    assert point.found and point.model is None
    assert values(point.outputs)["first.mass.s"] == pytest.approx(-0.1962, rel=1e-7)
    assert values(point.outputs)["second.mass.s"] == pytest.approx(-0.1962, rel=1e-7)
    with pytest.raises(ssptool.exceptions.Unsupported, match="model exchange"):
        ssptool.trim(CHAIN, implementation="cs", free="first.mass.F", target={"first.mass.s": 0.1})


def test_co_simulation_with_text_beside_its_numbers_comes_to_rest(tmp_path):
    """x' = 3 - 2 x."""
    variables = (Var("x", "local", start=0.5), Var("y", "output"), Var("name", "output", "String", start=""))
    step = "v->x += (1 - exp(-2 * h)) * (1.5 - v->x); return OK;"
    make_fmu(tmp_path / "Lag.fmu", variables, me=None, calc="v->y = 2 * v->x + 0.7;", step=step)
    point = ssptool.trim(write_system(tmp_path / "lag", tmp_path, {"A": "Lag"}), step_size=0.05)
    assert point.found
    assert values(point.outputs) == pytest.approx({"A.y": 3.7}, rel=1e-8)


def test_co_simulation_without_rest_is_told():
    """An oscillator without damping."""
    point = ssptool.trim(SYSTEMS / "one_dof_oscillator", implementation="cs", stop_time=1.0)
    assert not point.found
    assert max(point.residuals.values()) > 1e-3


def test_a_system_without_rest_is_told(tmp_path):
    """x' = 1 + x² has no steady state, and leaves every bound."""
    variables = (
        Var("x", "state", start=-1.0),
        Var("dx", "der", of="x", needs=["x"]),
        Var("y", "output", needs=["x"]),
    )
    make_fmu(tmp_path / "Away.fmu", variables, calc="v->dx = 1 + v->x * v->x; v->y = 2 * v->x;")
    point = ssptool.trim(write_system(tmp_path / "away", tmp_path, {"A": "Away"}))
    assert not point.found
    assert point.residuals["A.x'"] >= 1


def test_an_input_that_is_free_reaches_the_target_of_an_output(tmp_path):
    """k i = d w + load, u = R i + k w."""
    system = drive(tmp_path)
    point = ssptool.trim(system, free="u", target={"speed": 100.0})
    assert values(point.states) == pytest.approx({"A.i": 2.8, "R.w": 100.0}, rel=1e-14)
    assert values(point.inputs) == pytest.approx({"u": 29.2}, rel=1e-14)
    assert point.kinds == {"A.i": "free", "R.w": "free", "u": "free"}
    assert [one.name for one in point.model.inputs] == ["u"]
    assert point.model.slopes == pytest.approx([0, 0], abs=1e-11)


def test_a_run_that_begins_in_the_steady_state_stays_there(tmp_path):
    system = drive(tmp_path)
    ssptool.trim(system, free="u", target={"speed": 100.0}).save(tmp_path / "point.ssv")
    result = ssptool.simulate(system, parameters=tmp_path / "point.ssv", implementation="me", stop_time=2.0)
    assert result["speed"] == pytest.approx(100.0, rel=1e-12)
    assert result["A.torque"] == pytest.approx(0.25 * 2.8, rel=1e-12)


def test_fixed_states_and_slopes(tmp_path):
    """A drive that speeds up by 2 rad/s²: k i = d w + load + 2 J at w = 10 rad/s."""
    fixed = {"R.w": 10.0}
    point = ssptool.trim(drive(tmp_path), free="u", fix=fixed, slope={"R.w": 2.0})
    current = (0.002 * 10 + 0.5 + 0.05 * 2) / 0.25
    assert values(point.states) == pytest.approx({"A.i": current, "R.w": 10.0})
    assert values(point.inputs) == pytest.approx({"u": 1.5 * current + 2.5})
    assert point.kinds["R.w"] == "fixed"


def test_what_is_at_a_bound_is_told(tmp_path):
    point = ssptool.trim(drive(tmp_path), free={"u": (0.0, 10.0)}, target={"speed": 100.0})
    assert not point
    assert point.kinds["u"] == "at its bound"
    assert any("there is no steady state near the start" in note for note in point.notes)
    with pytest.raises(ssptool.exceptions.WrongValue, match="not found"):
        point.save(tmp_path / "point.ssv")


def test_a_nonlinear_steady_state_and_its_stability(tmp_path):
    system = pendulum(tmp_path)
    hanging = ssptool.trim(system)
    assert values(hanging.states) == pytest.approx({"P.phi": 0.0, "P.w": 0.0}, abs=1e-12)
    assert hanging.model.stable
    held = ssptool.trim(system, free="P.u", target={"P.height": 2.5})
    angle = values(held.states)["P.phi"]
    assert abs(angle) == pytest.approx(acos(-0.5))
    assert values(held.inputs)["P.u"] == pytest.approx(9.81 * np.sin(angle))
    assert not held.model.stable
    standing = ssptool.trim(system, start_values={"P.phi": 3.0, "P.w": 0.0})
    assert values(standing.states)["P.phi"] == pytest.approx(pi)
    assert not ssptool.trim(system, free="P.u", target={"P.height": 3.5})


def test_a_chain_takes_the_temperature_of_its_ambients(tmp_path):
    point = ssptool.trim(thermal_chain(tmp_path, 3), start_values={"L0.a": 10.0, "L3.b": 30.0})
    assert values(point.states) == pytest.approx({"N0.T": 15, "N1.T": 20, "N2.T": 25})


def test_the_governor_rests_where_its_equations_do():
    """At the momentum of the start, with an angle that goes on."""
    point = ssptool.trim(SYSTEMS / "flyball_governor", fix=["Spindle.h", "Spindle.phi"], slope={"Spindle.phi": None})
    assert point.found
    found = values(point.states)
    momentum = found["Spindle.h"]

    def equations(y):
        omega = momentum / (J_HUB + 2 * axis_moment(y[0]))
        slopes = derivatives(0, np.array([y[0], 0, y[1], 0, omega]))
        return [slopes[1], slopes[3]]

    alpha, s = fsolve(equations, [0.4, 0.6], xtol=1e-13)
    assert found["Arms.alpha"] == pytest.approx(alpha, rel=1e-9)
    assert found["Slider.s"] == pytest.approx(s, rel=1e-9)
    assert point.start_values is None
    assert "has no start value" in point.notes[0]


@pytest.mark.parametrize("speed", [5.0, 6.0, 9.0])
def test_the_governor_turns_at_a_stated_speed(speed):
    """The stiff link between arms and slider makes the way there a narrow valley of residuals."""
    point = ssptool.trim(SYSTEMS / "flyball_governor", fix="Spindle.phi", slope={"Spindle.phi": speed})

    def equations(y):
        slopes = derivatives(0, np.array([y[0], 0, y[1], 0, speed]))
        return [slopes[1], slopes[3]]

    alpha, s = fsolve(equations, [0.4, 0.6], xtol=1e-13)
    momentum = speed * (J_HUB + 2 * axis_moment(alpha))
    expected = {"Arms.alpha": alpha, "Slider.s": s, "Spindle.h": momentum}
    assert point.found
    assert {name: values(point.states)[name] for name in expected} == pytest.approx(expected, rel=1e-8)


def test_advice_about_a_part_that_turns_steadily_leads_to_the_steady_state():
    system = SYSTEMS / "flyball_governor"
    advised = "--fix Spindle.phi --slope Spindle.phi=any"
    with pytest.raises(ssptool.exceptions.WrongValue, match=advised):
        ssptool.trim(system)
    turning = ssptool.trim(system, fix="Spindle.h")
    assert not turning.found
    assert advised in turning.notes[-1]
    assert ssptool.trim(system, fix=["Spindle.h", "Spindle.phi"], slope={"Spindle.phi": None})


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ({"free": "u"}, "underdetermined: 2 equations .* for 3 unknowns"),
        ({"target": {"speed": 1.0}}, "overdetermined: 3 equations .* for 2 unknowns"),
        ({"fix": ["A.i"]}, "overdetermined"),
        ({"free": "A.w"}, "A.w cannot be free: a connection feeds it"),
        ({"free": {"u": (1.0, 0.0)}}, "lower bound"),
        ({"fix": ["A.j"]}, "no state 'A.j'"),
        ({"target": {"velocity": 1.0}}, "no connector 'velocity'"),
    ],
)
def test_problems_that_do_not_fit_are_refused_by_name(tmp_path, conditions, told):
    with pytest.raises(ssptool.exceptions.WrongUsage, match=told):
        ssptool.trim(drive(tmp_path), **conditions)


def test_a_family_of_steady_states_is_refused(tmp_path):
    """Two tanks that level out: only the difference of their levels is determined."""
    variables = (
        *(Var(f"h{k}", "state", start=float(k)) for k in (1, 2)),
        *(Var(f"dh{k}", "der", of=f"h{k}", needs=["h1", "h2"]) for k in (1, 2)),
        Var("flow", "output", needs=["h1", "h2"]),
    )
    make_fmu(
        tmp_path / "Tanks.fmu", variables, calc="v->dh1 = 3 * (v->h2 - v->h1); v->dh2 = -v->dh1; v->flow = v->dh2;"
    )
    system = write_system(tmp_path / "tanks", tmp_path, {"T": "Tanks"})
    with pytest.raises(ssptool.exceptions.WrongValue, match=r"not unique: T\.h1, T\.h2"):
        ssptool.trim(system)
    point = ssptool.trim(system, fix={"T.h1": 4.0}, slope={"T.h2": None})
    assert values(point.states) == pytest.approx({"T.h1": 4.0, "T.h2": 4.0})
