"""Runs that are to be as accurate as asked for, against their true errors."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import ssptool
from ssptool.engine.run.refinement import RefinedRuns, TookTooLong
from tests.accuracy import systems, thermostat
from tests.accuracy.measured import true_error as exact_error
from tests.accuracy.measured import written
from tests.accuracy.systems import hysteresis, late, thermal
from tests.accuracy.test_runs import OSCILLATOR, SYSTEMS, exact_oscillator, true_error

pytestmark = pytest.mark.one_in(3)


def saving(made):
    """The same with FMUs that save their states."""
    return replace(made, parts={name: part.able(saves=True) for name, part in made.parts.items()})


VARIABLE = 'canHandleVariableCommunicationStepSize="true"'


@pytest.fixture(scope="module")
def heating(tmp_path_factory):
    return thermostat.write_system(tmp_path_factory.mktemp("heating") / "system", more=VARIABLE)


def own_error(result):
    """The true error of the oscillator with these values; its rows may be at any times."""
    grid = np.linspace(0, 4, 4001)
    exact = exact_oscillator(grid, m1=1.7, c1=0.4)
    return true_error(result, {name: CubicSpline(grid, each)(result.t) for name, each in exact.items()})


def oscillator(accuracy, **settings):
    values = {"System1.m1": 1.7, "System1.c1": 0.4}
    return ssptool.simulate(OSCILLATOR, accuracy=accuracy, start_values=values, stop_time=4, **settings)


COUPLINGS = [
    {},
    {"step_size": 0.02, "master": "jacobi", "approximation": "hold"},
    {"step_size": 0.1, "master": "iterated", "approximation": "interpolate"},
    {"adaptive": 1e-2},
    {"implementation": "me", "tolerance": 1e-3},
]


@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
@pytest.mark.parametrize("wanted", [1e-2, 1e-4])
def test_the_true_error_is_within_three_times_the_one_asked_for(wanted, coupling):
    result = oscillator(wanted, **coupling)
    assert result.accuracy.met and result.accuracy.wanted == wanted
    assert own_error(result) <= 3 * wanted


@pytest.mark.parametrize("coupling", COUPLINGS[1:], ids=str)
def test_the_setting_that_was_chosen_gives_the_same_run_again(coupling):
    result = oscillator(1e-3, **coupling)
    name = next(one for one in ("adaptive", "tolerance", "step_size") if one in coupling)
    chosen = next(one for one in result.choices if one.setting == name)
    assert "0.001" in chosen.reason
    number = float(re.findall(r"[\d.]+(?:e-?\d+)?", chosen.value)[-1])
    again = oscillator("off", **{**coupling, name: number})
    assert np.array_equal(result.trace.cells, again.trace.cells)


def test_a_coarser_step_is_taken_where_that_suffices():
    settings = {"step_size": 1e-4, "master": "iterated", "approximation": "interpolate"}
    result = oscillator(1e-2, **settings)
    assert len(result.t) < 4 / 1e-4 / 8
    assert own_error(result) <= 3e-2


def test_adaptive_steps_are_checked_by_their_tolerance():
    """The true error of the run itself, whose steps are not a grid for the finer ones."""
    for tolerance in (1e-2, 1e-4):
        result = oscillator("check", adaptive=tolerance)
        assert result.accuracy.method == "adaptive"
        true = own_error(result)
        assert true / 3 <= result.accuracy.error <= 30 * true


def test_adaptive_steps_through_jumps_of_inputs_are_checked_too():
    """The accuracy is that of both sides of the jump; the finer runs meet the times of the rows."""
    part = OSCILLATOR / "resources" / "System1.fmu"
    force = ssptool.types.Table((0.0, 0.33, 0.33, 1.0), (1.0, 2.0, 4.0, 4.0))
    result = ssptool.simulate(part, inputs={"System1.F": force}, stop_time=1, adaptive=1e-4, accuracy="check")
    assert result.accuracy.method and result.accuracy.error < 1e-4


def test_switches_are_as_exact_as_asked_for(heating):
    result = ssptool.simulate(heating, accuracy=1e-3, stop_time=200, record=["Room.T", "Thermostat.on"])
    exact = thermostat.switching_times(200)
    found = result.t[1:][np.diff(result["Thermostat.on"].astype(float)) != 0]
    assert result.accuracy.met and len(found) == len(exact) > 10
    assert np.max(np.abs(found - exact)) <= 3e-3 * 200
    assert np.max(np.abs(result["Room.T"] - thermostat.temperature(result.t))) <= 3e-3 * 4


ADAPTIVE = {
    "stiff": thermal(1e6, saves=True, follows=True),
    "switches": saving(systems.thermostat()),
    "triangle": saving(hysteresis()),
    "strike": saving(late(1.9019)),
}
"""Fixed steps fall short of 1e-4 here: they damp, or notice switches and jumps at their ends."""


@pytest.mark.parametrize("name", ADAPTIVE)
def test_steps_are_adaptive_where_fixed_ones_do_not_lead_to_the_error(tmp_path, name):
    result = simulated(ADAPTIVE[name], tmp_path)
    (chosen,) = (one for one in result.choices if one.setting == "adaptive")
    assert "chosen for an accuracy of 0.0001" in chosen.reason
    assert result.accuracy.met and result.accuracy.method == "adaptive"
    assert exact_error(ADAPTIVE[name], result)[0] <= 3e-4
    assert result.statistics.steps < 10_000


@pytest.mark.parametrize("made", [saving(systems.oscillator()), hysteresis()], ids=["smooth", "not saved"])
def test_fixed_steps_stay_where_they_suffice_or_no_state_is_saved(tmp_path, made):
    result = simulated(made, tmp_path, accuracy=0.01)
    assert "adaptive" not in [one.setting for one in result.choices]


def test_a_step_that_was_asked_for_is_refined(tmp_path):
    result = simulated(ADAPTIVE["strike"], tmp_path, step_size=0.004, accuracy=0.3)
    assert "adaptive" not in [one.setting for one in result.choices]


def simulated(made, folder, **options):
    return ssptool.simulate(written(made, folder), output=None, settings_file=False, **{"accuracy": 1e-4, **options})


@pytest.mark.slow
def test_what_is_not_reached_is_said_and_the_best_result_kept(tmp_path):
    output = tmp_path / "r.csv"
    settings = {"master": "jacobi", "approximation": "hold", "step_size": 0.1, "output": output}
    result = oscillator(1e-13, **settings)
    assert result.ok and not result.accuracy.met
    assert "1e-13" in result.accuracy.remark
    assert result.accuracy.steps[0] < 0.1
    assert own_error(result) <= 3 * result.accuracy.error
    told = json.loads((tmp_path / "r.csv.json").read_text())
    assert told["accuracy"]["wanted"] == 1e-13
    assert told["settings"]["step_size"] == pytest.approx(result.accuracy.steps[0])


def test_constant_steps_are_divided_by_whole_numbers(tmp_path):
    """2 s are 20 steps of 0.1 s: half of them are 40 steps; twice the step 10, and four times 5, which leaves none."""
    system = thermostat.write_system(tmp_path / "constant")
    result = ssptool.simulate(system, accuracy=1e-5, stop_time=2, step_size=0.1)
    parts = 0.1 / np.diff(result.t)
    assert np.allclose(parts, round(parts[0]))


def test_the_command_line_takes_an_error_and_tells_by_its_exit_status(tmp_path):
    def run(error):
        command = [sys.executable, "-m", "ssptool", "run", SYSTEMS / "one_dof_oscillator", "--stop-time", "1"]
        more = [
            "--master",
            "jacobi",
            "--approximation",
            "hold",
            "--accuracy",
            error,
            "--output",
            tmp_path / "r.csv",
            "-v",
        ]
        return subprocess.run([*command, *more], capture_output=True, text=True, check=False)

    good = run("1e-2")
    assert good.returncode == 0, good.stderr
    assert "0.01" in next(line for line in good.stdout.splitlines() if line.startswith("step size"))
    assert run("nearly").returncode == run("2").returncode == 2


@pytest.mark.parametrize("wrong", [0, -1e-3, 1, float("nan"), "2", True])
def test_errors_that_cannot_be_asked_for_are_refused(wrong):
    with pytest.raises(ssptool.exceptions.WrongArgument, match="accuracy"):
        oscillator(wrong)


def test_a_run_that_cannot_be_repeated_is_made_once_and_not_as_accurate_as_asked_for():
    calls = []
    part = OSCILLATOR / "resources" / "System1.fmu"
    settings = {"step_size": 0.01, "stop_time": 0.05, "accuracy": 1e-3}
    result = ssptool.simulate(part, inputs={"System1.F": lambda t: calls.append(t) or 2 * t}, **settings)
    assert result.ok and not result.accuracy.met and "function" in result.accuracy.remark
    assert calls == sorted(calls)


EXAMPLES = ("mass_spring_damper", "one_dof_oscillator", "rotational_spring_mass_damper", "flyball_governor")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_systems_are_as_accurate_as_asked_for(name):
    """Against one ODE that is integrated far more exactly than asked for."""
    result = ssptool.simulate(SYSTEMS / name, accuracy=1e-4, stop_time=1)
    exact = {"implementation": "me", "tolerance": 1e-11, "stop_time": 1, "step_size": result.t[1]}
    reference = ssptool.simulate(SYSTEMS / name, **exact)
    rows = np.searchsorted(reference.t, result.t - 1e-12)
    assert result.accuracy.met
    for signal in result:
        if (span := np.ptp(reference[signal])) > 1e-9:
            assert np.max(np.abs(reference[signal][rows] - result[signal])) <= 3e-4 * span, signal


@pytest.mark.parametrize(
    ("left", "bounded", "most"), [(100.0, True, 75.0), (90.0, True, 65.0), (1e3, True, 150.0), (100.0, False, np.inf)]
)
def test_a_search_ends_runs_that_would_leave_no_time_for_its_result(left, bounded, most):
    """A run has taken 25 s; one with half the step takes about 50 s, and is ended after 150 s at the latest."""
    allowed = []

    def carry_out(plan, met, seconds):
        allowed.append(seconds)
        raise TookTooLong

    plan = ssptool.plan(OSCILLATOR, master="jacobi")
    levels = RefinedRuns(plan, lambda settings: plan, carry_out, lambda: left, bounded=bounded)
    levels.traces[0] = ssptool.simulate(OSCILLATOR, master="jacobi", accuracy="off").trace
    levels.seconds[0] = 25.0
    assert levels.accuracy(0).error is None
    assert allowed == [most]
