"""Discrete linear models of co-simulation, against the map of a macro step in closed form."""

import re
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.exceptions import Unsupported, WrongValue
from tests.analysis.systems import A, B, C, D, H, exact, plant
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu


@pytest.mark.parametrize("saves", [True, False])
def test_a_plant_with_a_held_input_is_its_matrix_exponential(tmp_path, saves):
    system = plant(tmp_path, saves=saves)
    phi, gamma = exact(A, B)
    model = ssptool.linearize(system, step_size=H, at=4 * H)
    assert (model.step, len(model.states), model.time) == (H, 2, 4 * H)
    (mode,) = model.modes
    expected = max(np.linalg.eigvals(A), key=lambda one: one.imag)
    assert abs(mode.eigenvalue - expected) < max(mode.error, 1e-12) < 1e-6
    found = np.array([model.D] + [model.C @ np.linalg.matrix_power(model.A, k) @ model.B for k in range(50)])
    true = np.array([[[D]]] + [C @ np.linalg.matrix_power(phi, k) @ gamma for k in range(50)])
    assert np.abs(found - true).max() <= model.error * np.abs(true).max() + 1e-12
    assert model.error < 1e-8
    z = np.exp(2j * np.pi * 0.8 * H)
    assert model.response(0.8)[0, 0, 0] == pytest.approx((C @ np.linalg.solve(z * np.eye(2) - phi, gamma))[0, 0] + D)


def test_states_are_named_after_the_outputs_that_they_become(tmp_path):
    model = ssptool.linearize(lags(tmp_path), step_size=H, master="jacobi", approximation="hold")
    assert len({one.name for one in model.states}) == len(model.states) == 2
    outputs = [one.name for one in model.outputs]
    for place, state in enumerate(model.states):
        name, later = re.fullmatch(r"(.*) after (\d+) steps?", state.name).groups()
        row = (model.C @ np.linalg.matrix_power(model.A, int(later)))[outputs.index(name)]
        assert row == pytest.approx(np.eye(2)[place], abs=1e-9)
        assert state.unit == model.outputs[outputs.index(name)].unit == "K"


LAGS = {"First": (0.4, 1.8), "Second": (0.9, -2.5)}
"""Name → time constant [s] and gain of T x' = gain a + 1.5 u - x, whose steps are exact for held inputs."""


def lags(folder: Path) -> Path:
    """Two lags, each of which feeds the other one: the inputs u of both are free."""
    for name, (T, gain) in LAGS.items():
        p = float(np.exp(-H / T))
        variables = (
            Var("a", "input", start=0.0),
            Var("u", "input", start=0.5),
            Var("x", "local", start=0.25),
            Var("y", "output", unit="K"),
        )
        step = f"v->x = {p!r} * v->x + {1 - p!r} * ({gain!r} * v->a + 1.5 * v->u); return OK;"
        make_fmu(
            folder / f"{name}.fmu", variables, me=None, calc="v->y = 2 * v->x + 0.7;", step=step, units={"K": 'K="1"'}
        )
    return write_system(
        folder / "lags", folder, {one: one for one in LAGS}, [("First.y", "Second.a"), ("Second.y", "First.a")]
    )


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_modes_of_coupled_lags_are_those_of_the_map_of_the_master(tmp_path, master):
    """With values held: of both from the step before, or of the first one from the same step."""
    (p1, k1), (p2, k2) = ((float(np.exp(-H / T)), 2 * gain * (1 - np.exp(-H / T))) for T, gain in LAGS.values())
    held = np.array([[p1, k1], [k2, p2]])
    after = np.array([[p1, k1], [k2 * p1, p2 + k2 * k1]])
    model = ssptool.linearize(lags(tmp_path), step_size=H, master=master, approximation="hold")
    expected = np.linalg.eigvals(held if master == "jacobi" else after)
    found = np.linalg.eigvals(model.A)
    assert sorted(found, key=np.imag) == pytest.approx(sorted(expected, key=np.imag), abs=1e-9)


def single(folder: Path, y: str, rate: float, **more) -> Path:
    """x' = rate x + u, whose steps are exact for a held input."""
    variables = (Var("u", "input", start=0.4), Var("x", "local", start=0.3), Var("y", "output"))
    step = f"double p = exp({rate!r} * h); v->x = p * v->x + (p - 1) / ({rate!r}) * v->u; return OK;"
    make_fmu(folder / "Single.fmu", variables, me=None, calc=f"v->y = {y};", step=step, **more)
    return write_system(folder / "single", folder, {"P": "Single"})


@pytest.mark.parametrize(
    ("y", "rate", "h"),
    [
        ("2 * v->x + 0.7", 2.0, 0.05),
        ("2 * v->x + 0.7", 1.5, 1.0),
        ("2 * v->x + 0.7", -0.01, 0.001),
        ("2 * v->x + 0.7", 1e-9, 0.05),
        ("2 * v->x + 0.7", -30.0, 0.5),
        ("round(2e7 * v->x) / 1e7 + 0.7", -2.0, 0.05),
        ("2 * sin(0.3 * v->x) + 0.7", -40.0, 0.01),
    ],
    ids=["grows", "grows fast", "slow", "integrates", "fast", "noisy", "at rest"],
)
def test_the_error_of_a_mode_is_stated(tmp_path, y, rate, h):
    at = 100 * h if "sin" in y else 0.0
    model = ssptool.linearize(single(tmp_path, y, rate), step_size=h, at=at)
    (mode,) = model.modes
    assert abs(mode.eigenvalue - rate) < mode.error < 0.15 * max(abs(rate), 1e-6)
    assert model.stable is (None if abs(rate) < 1e-6 else rate < 0)


@pytest.mark.parametrize("h", [0.003, 0.03])
def test_a_system_that_leaves_its_linear_model_during_the_responses_is_refused(tmp_path, h):
    """x' = u - 0.3 x |x| moves from 0.3 to 3.65, and the rate of its small deviations from -0.18 to -2.2. A model with
    a few more states follows the responses, and its eigenvalues mean nothing.
    """
    variables = (Var("u", "input", start=4.0), Var("x", "local", start=0.3), Var("y", "output"))
    step = "v->x += h * (v->u - 0.3 * v->x * fabs(v->x)); return OK;"
    make_fmu(tmp_path / "P.fmu", variables, me=None, calc="v->y = 2 * v->x + 0.7;", step=step)
    system = write_system(tmp_path / "drag", tmp_path, {"P": "P"})
    with pytest.raises(Unsupported, match="not at rest"):
        ssptool.linearize(system, step_size=h)
    (mode,) = ssptool.linearize(system, step_size=h, at=600 * h + 9).modes
    assert abs(mode.eigenvalue - np.log(1 - 2 * np.sqrt(1.2) * h) / h) < mode.error < 0.1


def test_what_decays_beside_fast_growth_is_a_mode(tmp_path):
    """After 400 steps the growth would be a factor of 1e173, and all else lost."""
    h, rates = 0.5, (2.0, -0.3)
    grown, kept = (float(np.exp(rate * h)) for rate in rates)
    variables = (*(Var(name, "local", start=0.3) for name in "ab"), Var("u", "input", start=0.4), Var("y", "output"))
    step = f"v->a = {grown!r} * v->a + 0.8 * v->u; v->b = {kept!r} * v->b + 1.7 * v->u; return OK;"
    make_fmu(tmp_path / "Two.fmu", variables, me=None, calc="v->y = 2 * v->a + v->b + 0.7;", step=step)
    model = ssptool.linearize(write_system(tmp_path / "two", tmp_path, {"P": "Two"}), step_size=h)
    assert sorted((one.eigenvalue.real for one in model.modes), reverse=True) == pytest.approx(rates, abs=1e-3)
    assert not model.stable and model.error < 1e-3


def test_growth_that_hides_all_within_a_few_steps_is_refused(tmp_path):
    system = single(tmp_path, "2 * v->x + 0.7", 4.0)
    with pytest.raises(Unsupported, match="smaller steps"):
        ssptool.linearize(system, step_size=1.0, stop_time=10.0)
    assert ssptool.linearize(system, step_size=0.25, stop_time=10.0).modes[0].eigenvalue == pytest.approx(4, abs=1e-6)


def test_what_vanishes_within_a_step_is_no_mode(tmp_path):
    model = ssptool.linearize(single(tmp_path, "2 * v->x + 0.7", -1e3), step_size=0.05)
    assert model.modes == () and model.stable
    assert model.step_response([0.0, 0.05, 0.1])[:, 0, 0] == pytest.approx([0, 2e-3, 2e-3])


def test_a_delay_has_no_modes_of_its_own(tmp_path):
    """Its eigenvalues are 0, and what rounding makes of them is within their errors."""
    line = [Var(f"b{k}", "local") for k in range(6)]
    shift = "".join(f"v->b{k} = v->b{k - 1};" for k in range(5, 0, -1)) + "v->b0 = v->x;"
    variables = (Var("u", "input", start=0.4), Var("x", "local", start=0.3), *line, Var("y", "output"))
    step = f"{shift} double p = exp(-2 * h); v->x = p * v->x + (1 - p) / 2 * v->u; return OK;"
    make_fmu(tmp_path / "Line.fmu", variables, me=None, calc="v->y = v->b5 + 0.7;", step=step)
    model = ssptool.linearize(write_system(tmp_path / "line", tmp_path, {"P": "Line"}), step_size=H)
    assert len(model.states) == 7
    assert [one.eigenvalue for one in model.modes] == pytest.approx([-2], abs=1e-9)


def test_files_and_packages_know_the_step(tmp_path):
    model = ssptool.linearize(plant(tmp_path), step_size=H)
    assert model.to_scipy().dt == model.to_dict()["step"] == H
    model.draw_modes(tmp_path / "modes.svg")
    model.draw_response(tmp_path / "response.svg")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"open": "Second.a"}, "opened"),
        ({"adaptive": 1e-4}, "--step-size"),
        ({"input": "Second.a"}, "driven"),
    ],
)
def test_what_no_response_tells_is_refused(tmp_path, options, reason):
    with pytest.raises((Unsupported, WrongValue), match=reason):
        ssptool.linearize(lags(tmp_path), **options)


def test_a_system_without_inputs_is_refused(tmp_path):
    parts = {"First": "First", "Second": "Second"}
    lags(tmp_path)
    wires = [("First.y", "Second.a"), ("Second.y", "First.a"), ("First.y", "Second.u"), ("Second.y", "First.u")]
    with pytest.raises(Unsupported, match="unconnected input"):
        ssptool.linearize(write_system(tmp_path / "closed", tmp_path, parts, wires))


def test_a_time_within_a_step_is_refused_with_the_nearest_end(tmp_path):
    with pytest.raises(WrongValue, match=r"nearest is at 0\.15"):
        ssptool.linearize(plant(tmp_path), step_size=H, at=0.16)


def test_steps_that_events_end_are_refused(tmp_path):
    variables = (
        Var("u", "input", start=0.4),
        Var("x", "local", start=0.3),
        Var("y", "output"),
        Var("count", "output", "Int32", start=0, initial="exact", needs=[]),
    )
    make_fmu(
        tmp_path / "Timed.fmu",
        variables,
        version=3,
        me=None,
        cs='hasEventMode="true"',
        calc="v->y = 2 * v->x + 0.7;",
        event="v->count++; e->has_next = v->time < 0.22 - 1e-9; e->next = 0.22; return OK;",
        step="double p = exp(-2 * h); v->x = p * v->x + (1 - p) / 2 * v->u; return OK;",
    )
    system = write_system(tmp_path / "timed", tmp_path, {"P": "Timed"})
    with pytest.raises(Unsupported, match=r"events of P.*model exchange"):
        ssptool.linearize(system, step_size=H)
