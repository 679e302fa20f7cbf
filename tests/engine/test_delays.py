"""Connections that a run delays: x' = -k x(t - d) has a closed form, piece by piece."""

from math import factorial

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.exceptions import WrongArgument, WrongValue
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

K, DELAY, START = 1.4, 0.5, 3.0
NAMES = ["B.y", "A.u", "b.Y"]
WIRES = [("A.x", "B.u"), ("B.y", "A.u")]


def exact(t):
    """Bellman and Cooke 1963, "Differential-difference equations", §3.2 (method of steps); x is 3 before the start."""
    pieces = range(1, int(t[-1] / DELAY) + 2)
    reached = [np.where(t >= (n - 1) * DELAY, t - (n - 1) * DELAY, 0.0) for n in pieces]
    return START * (1 + sum((-K) ** n * s**n / factorial(n) for n, s in zip(pieces, reached, strict=True)))


@pytest.fixture
def loop(tmp_path):
    """A: x' = -k u / 2; B: y = 2 u, at the same instant."""
    state = [Var("u", "input"), Var("x", "state", start=START), Var("der_x", "der", of="x", needs=["u"])]
    shown = Var("y", "output", needs=["x"])
    follows = {
        "cs": 'canInterpolateInputs="true"',
        "own": "double slope;",
        "lead": "if (order != 1) return ERROR; v->slope = x; return OK;",
    }
    make_fmu(
        tmp_path / "A.fmu",
        [*state, shown],
        calc=f"v->der_x = -{K / 2} * v->u; v->y = v->x;",
        step=f"v->x -= {K / 2} * (v->u + v->slope * h / 2) * h; v->u += v->slope * h; v->time = t + h; return OK;",
        **follows,
    )
    make_fmu(
        tmp_path / "B.fmu",
        [Var("u", "input"), Var("y", "output", needs=["u"])],
        calc="v->y = 2 * v->u;",
        step="v->u += v->slope * h; v->time = t + h; return OK;",
        **follows,
    )
    wires = [("A.y", "B.u"), ("B.y", "A.u")]
    return write_system(tmp_path / "system", tmp_path, {"A": "A", "B": "B"}, wires, 3.0)


@pytest.mark.parametrize("master", ["auto", "jacobi", "iterated"])
@pytest.mark.parametrize("name", NAMES)
def test_a_delayed_loop_follows_the_closed_form(loop, name, master):
    result = ssptool.simulate(loop, delay={name: DELAY}, step_size=0.01, master=master, isolated=False).unwrap()
    assert result.signals == ("A.u", "A.y", "B.u", "B.y")
    assert result["A.y"] == approx(exact(result.t), abs=2e-4 * START)


def test_the_error_falls_with_the_square_of_the_step(loop):
    errors = []
    for step in (0.05, 0.025, 0.0125):
        result = ssptool.simulate(loop, delay={"B.y": DELAY}, step_size=step, isolated=False).unwrap()
        errors.append(np.abs(result["A.y"] - exact(result.t)).max())
    assert np.log2(np.divide(errors[:-1], errors[1:])) == approx([2.0, 2.0], abs=0.3)


def test_a_delay_of_one_step_is_the_difference_equation(loop):
    """Held inputs: x(n + 1) = x(n) - k h x(n - 1), where x(-1) = x(0)."""
    h = 0.125
    result = ssptool.simulate(
        loop, delay={"A.u": "step"}, step_size=h, master="jacobi", approximation="hold", isolated=False
    ).unwrap()
    found = result["A.y"]
    before = np.append(found[0], found[:-2])
    assert found[1:] == approx(found[:-1] - K * h * before, abs=1e-13)


def test_until_the_delay_has_passed_the_input_has_the_value_of_the_start(loop):
    result = ssptool.simulate(loop, delay={"B.y": 1.0}, step_size=0.125, isolated=False).unwrap()
    assert (result["A.u"][result.t < 1.0] == 2 * START).all()
    assert result["B.y"] == approx(2 * result["A.y"], abs=1e-12)


def test_discrete_signals_are_held(tmp_path):
    """Three steps late, to the bit, although 0.3 - 0.1 is less than 0.2."""
    calc = "v->y = floor(10 * v->time + 0.5);"
    make_fmu(tmp_path / "A.fmu", [Var("y", "output", variability="discrete", needs=[])], calc=calc)
    make_fmu(tmp_path / "B.fmu", [Var("u", "input"), Var("y", "output", needs=["u"])], calc="v->y = v->u;")
    system = write_system(tmp_path / "system", tmp_path, {"A": "A", "B": "B"}, [("A.y", "B.u")], 2.0)
    result = ssptool.simulate(system, delay={"A.y": 0.3}, step_size=0.1, isolated=False).unwrap()
    assert result["B.y"].tolist() == [0.0] * 3 + result["A.y"][:-3].tolist()


def test_a_saved_simulation_goes_on_with_the_same_bits(loop, tmp_path):
    settings = {"delay": {"B.y": DELAY}, "step_size": 0.01}
    whole = ssptool.simulate(loop, isolated=False, **settings).unwrap()["A.y"][-1]
    with ssptool.Simulation(loop, **settings) as simulation:
        simulation.run_until(1.23)
        simulation.save(tmp_path / "state.npz")
        kept = simulation.snapshot()
        simulation.run_until(3.0)
        assert simulation["A.y"] == whole
        simulation.restore(kept)
        simulation.run_until(3.0)
        assert simulation["A.y"] == whole
    with ssptool.Simulation(loop, saved=tmp_path / "state.npz", **settings) as simulation:
        simulation.run_until(3.0)
        assert simulation["A.y"] == whole


def test_adaptive_steps_are_no_longer_than_the_delay(loop):
    result = ssptool.simulate(loop, delay={"B.y": DELAY}, adaptive=1e-5, max_step_size=0.05, isolated=False).unwrap()
    assert np.diff(result.t).max() <= 0.05 + 1e-12
    assert result["A.y"] == approx(exact(result.t), abs=2e-3 * START)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delay": {"B.y": 0.005}}, r"delay of B\.y must be at least a macro step of 0\.01 s, found 0\.005 s"),
        ({"delay": {"B.x": 0.5}}, "'B.x' is not an end of a connection between components; there are B.y"),
        ({"delay": {"B.y": "step"}, "adaptive": 1e-3}, "with adaptive steps"),
        ({"delay": {"B.y": 0.1}, "adaptive": 1e-3, "max_step_size": 0.2}, "max_step_size 0.1 allows it"),
        ({"delay": {"B.y": 0.5}, "approximation": "mid-step"}, "use approximation auto"),
        ({"delay": {"B.y": "soon"}}, "found 'soon'"),
        ({"delay": 0.5}, "a mapping from ends of connections to times"),
    ],
    ids=str,
)
def test_a_delay_that_cannot_be_is_refused(loop, settings, message):
    with pytest.raises((WrongValue, WrongArgument), match=message):
        ssptool.simulate(loop, isolated=False, **{"step_size": 0.01, **settings})


def test_only_real_numbers_are_delayed(tmp_path):
    on = Var("on", "output", "Boolean", start=True, initial="exact", needs=[])
    make_fmu(tmp_path / "A.fmu", [on])
    make_fmu(tmp_path / "B.fmu", [Var("u", "input", "Boolean", start=False)])
    system = write_system(tmp_path / "system", tmp_path, {"A": "A", "B": "B"}, [("A.on", "B.u")])
    with pytest.raises(WrongValue, match=r"A\.on is of type Boolean; only connections of real numbers"):
        ssptool.simulate(system, delay={"A.on": 0.5}, isolated=False)
