"""Predicted errors of masters against those of runs, and these against closed forms."""

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

import ssptool
from ssptool import analysis
from tests.analysis.systems import drive, pendulum
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

SYSTEMS = Path(__file__).parents[2] / "systems"
HELD = ("jacobi, hold", "jacobi, mid-step (extrapolated)", "iterated, hold", "iterated, mean")
METHODS = {
    "jacobi, hold": {"master": "jacobi", "approximation": "hold"},
    "jacobi, mid-step (extrapolated)": {"master": "jacobi", "approximation": "mid-step"},
    "jacobi, extrapolate (order 1)": {"master": "jacobi", "approximation": "extrapolate"},
    "jacobi, extrapolate (order 2)": {"master": "jacobi", "approximation": "extrapolate", "input_order": 2},
    "iterated, hold": {"master": "iterated", "approximation": "hold"},
    "iterated, mean": {"master": "iterated", "approximation": "mid-step"},
    "iterated, interpolate (order 1)": {"master": "iterated", "approximation": "interpolate"},
    "iterated, interpolate (order 2)": {"master": "iterated", "approximation": "interpolate", "input_order": 2},
}


def speed_and_torque(t):
    """Of the drive, in closed form: its states from their start, with 0 V and a load of 0.5."""
    A = np.array([[-1.5 / 0.01, -0.25 / 0.01, 0.0], [0.25 / 0.05, -0.002 / 0.05, -0.5 / 0.05], [0.0, 0.0, 0.0]])
    states = np.array([expm(A * each) @ [2.0, 3.0, 1.0] for each in t])
    return states[:, 1], 0.25 * states[:, 0]


def error_of_drive(system, h, **options):
    result = ssptool.simulate(system, step_size=h, stop_time=0.2, implementation="cs", accuracy="off", **options)
    found = [(result["R.speed"], result["A.torque"]), speed_and_torque(result.t)]
    return max(np.abs(one - true).max() / np.ptp(true) for one, true in zip(*found, strict=True))


@pytest.mark.parametrize("method", HELD)
def test_the_error_of_a_drive_is_predicted(tmp_path, method):
    system = drive(tmp_path)
    for h in (0.004, 0.0005):
        options = METHODS[method]
        found = analysis.advise(system, step_size=h, stop_time=0.2, **options)
        assert found.master == method
        assert found.error == pytest.approx(error_of_drive(system, h, **options), rel=0.05)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in HELD])
def test_the_error_where_inputs_are_followed(method):
    system, options = SYSTEMS / "dual_mass_oscillator", {"step_size": 0.02, "stop_time": 2.0}
    found = analysis.advise(system, **options, **METHODS[method])
    true = ssptool.simulate(system, implementation="me", tolerance=1e-12, accuracy="off", **options)
    run = ssptool.simulate(system, implementation="cs", accuracy="off", **options, **METHODS[method])
    errors = [np.abs(run[name] - true[name]).max() / np.ptp(true[name]) for name in true if np.ptp(true[name]) > 0]
    assert found.error == pytest.approx(max(errors), rel=0.05)


def test_an_advised_step_reaches_the_error_and_a_much_larger_one_does_not(tmp_path):
    system = drive(tmp_path)
    found = analysis.advise(system, error=3e-4, stop_time=0.2)
    told = {one.master: one for one in found.steps}
    assert set(told) == set(HELD)
    for method in HELD[:3]:
        one = told[method]
        assert error_of_drive(system, one.step_size, **METHODS[method]) <= 3.2e-4
        assert error_of_drive(system, 3 * one.step_size, **METHODS[method]) > 3e-4
    assert [one.calls for one in found.steps] == sorted(one.calls for one in found.steps)
    assert told["jacobi, hold"].calls == pytest.approx(2 * 0.2 / told["jacobi, hold"].step_size)


def test_the_connection_that_limits_the_step():
    """A spring to the wall that is a hundred times as stiff as the one between the masses."""
    system = SYSTEMS / "mass_spring_damper"
    found = analysis.advise(system, error=1e-9, stop_time=1.0, start_values={"first.spring_damper.c": 5000.0})
    assert next(iter(found.links)) == ("first.mass", "first.spring_damper")
    assert min(found.links.values()) < 0.1 * found.error


def test_what_cannot_be_predicted_is_told(tmp_path):
    with pytest.raises(ssptool.exceptions.Unsupported, match="linear model"):
        analysis.advise(pendulum(tmp_path), stop_time=5.0)
    with pytest.raises(ssptool.exceptions.WrongValue, match="rounding"):
        analysis.advise(SYSTEMS / "dual_mass_oscillator", error=0.0)
    for options in ({"master": "gauss-seidel"}, {"step_size": 1e-6}):
        found = analysis.advise(SYSTEMS / "dual_mass_oscillator", **options)
        assert np.isnan(found.error)
        assert any("not predicted" in note for note in found.notes)


def test_a_system_at_rest_is_moved():
    """An undamped oscillator without a deviation."""
    found = analysis.advise(SYSTEMS / "one_dof_oscillator", start_values={"Mass.z": 0.0, "Mass.v": 0.0})
    assert any("at rest" in note for note in found.notes)
    assert 0 < found.error < 1


def test_a_system_that_depends_on_time_is_refused(tmp_path):
    """A source y = 0.3 sin(2 t) + 1.5 and a lag: at its start nothing says that it will move."""
    source = (Var("y", "output"), Var("dummy", "state", start=0.0), Var("ddummy", "der", of="dummy"))
    lag = (
        Var("u", "input", start=1.5),
        Var("x", "state", start=1.5),
        Var("dx", "der", of="x", needs=["u", "x"]),
        Var("y", "output", needs=["x"]),
    )
    make_fmu(tmp_path / "Source.fmu", source, calc="v->y = 0.3 * sin(2 * v->time) + 1.5; v->ddummy = 0;")
    make_fmu(tmp_path / "Lag.fmu", lag, calc="v->dx = 4 * (v->u - v->x); v->y = v->x;")
    system = write_system(tmp_path / "s", tmp_path, {"S": "Source", "L": "Lag"}, [("S.y", "L.u")])
    with pytest.raises(ssptool.exceptions.Unsupported, match="linear model"):
        analysis.advise(system, stop_time=1.0)
