"""Frequency responses by sine sweep, against transfer functions in closed form."""

from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool import analysis
from ssptool.exceptions import Unsupported, WrongValue
from tests.analysis.test_identified_models import single
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu
from tests.studies.conftest import OSCILLATOR

MASSES = OSCILLATOR.parent / "mass_spring_damper"


def check(found, expected):
    """Within 1 %, and within the stated errors, except for those of the closed form itself."""
    expected = np.reshape(expected, found.response.shape)
    wrong = np.abs(found.response - expected)
    assert (wrong <= 0.01 * np.abs(expected)).all()
    assert (wrong <= found.errors + 1e-9 * np.abs(expected)).all()


def two_masses(f):
    """x1 / F1 of two masses of 1 and 2 kg between springs of 20, 10 and 30 N/m and dampers of 0.7, 0.5 and 0.8 Ns/m."""
    s = 2j * np.pi * f
    one, other, between = s**2 + 1.2 * s + 30, 2 * s**2 + 1.3 * s + 40, 0.5 * s + 10
    return other / (one * other - between**2)


def oscillator(folder: Path) -> Path:
    """The two masses in one FMU for co-simulation that saves no state; its steps are fine, by the midpoint rule."""
    states = (("a", 0.1), ("b", -0.2), ("v", 0.0), ("w", 0.3))
    variables = (Var("F", "input", start=1.5), *(Var(n, "local", start=x) for n, x in states), Var("y", "output"))
    step = """
        double d = h / 64; int k; for (k = 0; k < 64; k++) { double a = v->a, b = v->b, p = v->v, q = v->w, c = d / 2;
        int half;
        for (half = 0; half < 2; half++) {
        double f = v->F - 20 * a - 0.7 * p + 10 * (b - a) + 0.5 * (q - p), g = -30 * b - 0.8 * q - 10 * (b - a) -
        0.5 * (q - p), x = p, z = q; a = v->a + c * x; b = v->b + c * z; p = v->v + c * f; q = v->w + c * g / 2;
        c = d; }
        v->a = a; v->b = b; v->v = p; v->w = q; } return OK;"""
    make_fmu(folder / "Masses.fmu", variables, me=None, calc="v->y = 3 * v->a + 0.7;", step=step, saves=False)
    return write_system(folder / "masses", folder, {"P": "Masses"})


def test_a_first_order_lag(tmp_path):
    found = analysis.frequency_response(single(tmp_path, "2 * v->x + 0.7", -2.0), [2.0, 0.07, 0.7], step_size=0.01)
    check(found, 2 / (2j * np.pi * found.frequencies + 2))
    assert found.frequencies == pytest.approx([0.07, 0.7, 2.0], rel=1e-3)
    assert (found.inputs[0].value, found.amplitudes[0]) == (0.4, pytest.approx(0.004))
    assert found.distortions.max() < 1e-3


def test_two_masses_at_and_beside_their_resonances(tmp_path):
    found = analysis.frequency_response(oscillator(tmp_path), [0.3, 0.59, 1.6], at="1s", step_size=0.01)
    check(found, 3 * two_masses(found.frequencies))
    assert (found.settled > 5).all()


def test_a_delay_is_a_phase(tmp_path):
    """Inputs and the middles of the steps over which they are held are kept for 40 s, and read between these."""
    line = "static double at[40000], given[40000]; static int n;"
    variables = (Var("u", "input", start=0.4), Var("y", "output"), Var("z", "local", start=0.4))
    step = f"""{line} int k, j; double wanted = v->time + h - 0.3; if (v->time < 1e-9) n = 0;
        if (n == 40000) {{ n = 1000;
        for (k = 0; k < n; k++) {{ at[k] = at[k + 39000]; given[k] = given[k + 39000]; }} }}
        at[n] = v->time + h / 2; given[n++] = v->u; v->z = given[0];
        for (k = n - 1; k > 0; k--) if (at[k - 1] <= wanted) {{ j = k - 1;
        v->z = given[j] + (given[k] - given[j]) * (wanted - at[j]) / (at[k] - at[j]); break; }} return OK;"""
    make_fmu(tmp_path / "Line.fmu", variables, me=None, calc="v->y = 5 * v->z + 0.7;", step=step, saves=False)
    system = write_system(tmp_path / "line", tmp_path, {"P": "Line"})
    found = analysis.frequency_response(system, [0.2, 0.9, 2.0], step_size=0.01)
    check(found, 5 * np.exp(-2j * np.pi * found.frequencies * 0.3))


def test_coupled_components_have_the_response_of_their_linear_model():
    names = {"input": "first.mass.F", "measure": "first.mass.s"}
    found = analysis.frequency_response(MASSES, [0.25, 0.8], step_size=0.01, **names)
    check(found, ssptool.linearize(MASSES, **names).response(found.frequencies))


def test_one_over_s_has_a_drift_that_is_no_part_of_the_response(tmp_path):
    found = analysis.frequency_response(single(tmp_path, "2 * v->x + 0.7", 1e-9), [0.2, 1.0], step_size=0.01)
    check(found, 2 / (2j * np.pi * found.frequencies))


def test_the_error_includes_what_is_not_linear(tmp_path):
    """y = x + x³ of a lag at rest at x = 0.2: the slope of the small response, and harmonics of the large one."""
    system = single(tmp_path, "v->x + v->x * v->x * v->x", -2.0)
    found = analysis.frequency_response(system, 0.3, amplitude=0.3, step_size=0.01, at=10)
    small = analysis.frequency_response(system, 0.3, amplitude=1e-3, step_size=0.01, at=10)
    expected = (1 + 3 * 0.2**2) / (2j * np.pi * found.frequencies[0] + 2)
    assert abs(small.response[0, 0, 0] - expected) <= small.errors[0, 0, 0] < 2e-3 * abs(expected)
    assert abs(found.response[0, 0, 0] / expected - 1) > 1e-3 and found.distortions[0, 0, 0] > 0.01
    assert abs(found.response[0, 0, 0] - expected) <= found.errors[0, 0, 0]


def test_points_that_cannot_be_measured_have_a_reason(tmp_path):
    """A response that grows is never periodic; one as small as the resolution of its output has large errors."""
    with pytest.raises(Unsupported, match=r"P\.y / P\.u at 0\.5 Hz: not periodic"):
        analysis.frequency_response(single(tmp_path, "2 * v->x + 0.7", 0.02), 0.5, step_size=0.05)
    (tmp_path / "round").mkdir()
    system = single(tmp_path / "round", "round(50 * v->x) / 50 + 0.7", -2.0)
    found = analysis.frequency_response(system, [0.1, 2.0], step_size=0.0125, amplitude=0.3)
    assert np.isfinite(found.response[:, 0, 0]).tolist() == [True, False]
    assert "2 Hz: an error of" in found.notes[0]
    with pytest.raises(Unsupported, match="--amplitude"):
        analysis.frequency_response(system, 2.0, step_size=0.0125, amplitude=0.3)
    check(analysis.frequency_response(system, 2.0, step_size=0.0125, amplitude=60.0), 1 / (4j * np.pi + 2))


def test_a_system_of_model_exchange_is_swept_as_it_is_integrated():
    names = {"input": "first.mass.F", "measure": "first.mass.s"}
    found = analysis.frequency_response(MASSES, 0.8, step_size=0.01, implementation="me", **names)
    check(found, ssptool.linearize(MASSES, **names).response(found.frequencies))


def test_an_output_that_does_not_depend_on_the_input_has_no_response():
    found = analysis.frequency_response(MASSES, 0.5, step_size=0.01, input="second.mass.F", measure="first.mass.s")
    assert found.response[0, 0, 0] == 0 and found.errors[0, 0, 0] == 0


@pytest.mark.parametrize(
    ("frequencies", "options", "reason"),
    [
        ([20.0], {}, r"at most 0\.00125 s"),
        ([-1.0], {}, "positive"),
        ([], {}, "no frequencies"),
        ([1e-9], {}, "larger macro steps"),
        ([1.0], {"adaptive": 1e-4}, "--step-size"),
        ([1.0], {"amplitude": 0.0}, "amplitude"),
        ([1.0], {"input": "first.spring_damper.s_a"}, "connected|driven"),
    ],
)
def test_what_cannot_be_swept_is_refused(frequencies, options, reason):
    steps = {} if "adaptive" in options else {"step_size": 0.01}
    with pytest.raises((Unsupported, WrongValue, ssptool.exceptions.BadData), match=reason):
        analysis.frequency_response(MASSES, frequencies, **steps, **options)


def test_fmus_that_refuse_half_steps_need_twice_the_step(tmp_path):
    """The message asks for it."""
    variables = (Var("u", "input", start=0.4), Var("x", "local", start=0.3), Var("y", "output"))
    step = "if (h < 0.0099) return ERROR; double p = exp(-2 * h); v->x = p * v->x + (1 - p) / 2 * v->u; return OK;"
    make_fmu(tmp_path / "Coarse.fmu", variables, me=None, calc="v->y = 2 * v->x;", step=step)
    system = write_system(tmp_path / "coarse", tmp_path, {"P": "Coarse"})
    with pytest.raises(Unsupported, match=r"--step-size 0\.02"):
        analysis.frequency_response(system, 0.5, step_size=0.01)
    found = analysis.frequency_response(system, 0.5, step_size=0.02)
    check(found, 2 / (2j * np.pi * found.frequencies + 2))


def test_files_and_pictures(tmp_path):
    found = analysis.frequency_response(single(tmp_path, "2 * v->x + 0.7", -2.0), [0.2, 0.7], step_size=0.01)
    found.save(tmp_path / "sweep.csv")
    rows = np.loadtxt(tmp_path / "sweep.csv", delimiter=",", skiprows=1)
    assert rows[:, 1] * np.exp(1j * np.radians(rows[:, 2])) == pytest.approx(found.response[:, 0, 0])
    found.save(tmp_path / "sweep.json")
    found.draw(tmp_path / "sweep.svg")
    assert found.to_dict()["real"] == found.response.real.tolist()
