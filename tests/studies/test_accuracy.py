"""Checks of runs of studies by finer runs, against true errors and true parameters."""

import subprocess
import sys

import numpy as np
import pytest

import ssptool
from ssptool.engine.trace import Column
from ssptool.studies.calibration import read_fit
from ssptool.studies.study_file import study_table
from ssptool.types import Trace
from tests.accuracy import thermostat
from tests.studies.conftest import OSCILLATOR
from tests.systems.exact_dual_mass import DualMass

STIFFNESSES = [13.0, 5.0, 8.0, 40.0]
COARSE = {"step_size": 0.02, "stop_time": 4, "master": "jacobi", "approximation": "hold"}
STUDY = {
    "system": str(OSCILLATOR),
    "settings": COARSE,
    "start_values": {"System1.m1": 1.7},
    "factors": {"System2.k2": STIFFNESSES, "System1.c1": [0.4]},
    "results": {"peak": 'max("System1.x1")'},
    "accuracy": "check",
}


def exact(stiffness, t):
    return DualMass(m1=1.7, c1=0.4, k2=stiffness).signals(t)["x1"]


def measured(stiffness=13.0):
    t = np.linspace(0, 4, 201)
    return Trace.of(t, [(Column("System1.x1", "m"), exact(stiffness, t))])


def rows_of(results):
    return {row["System2.k2"]: row for row in results.rows()}


def test_the_first_run_and_the_extremes_have_their_true_error(tmp_path):
    results = ssptool.study({**STUDY, "traces": {"signals": ["System1.x1"]}}, tmp_path / "out")
    rows = rows_of(results)
    assert {stiffness for stiffness, row in rows.items() if row["accuracy_remark"]} == {13.0, 5.0, 40.0}
    assert rows[8.0]["accuracy"] is None
    for stiffness in (13.0, 5.0, 40.0):
        trace = results.trace(rows[stiffness]["run"])
        truth = exact(stiffness, trace.t)
        error = np.max(np.abs(trace["System1.x1"] - truth)) / np.ptp(truth)
        assert error / 3 <= rows[stiffness]["accuracy"] <= 3 * error
    assert results.accuracy.met
    largest = max(results.accuracy.checked, key=lambda row: row["accuracy"])
    assert any(f"run {largest['number']}:" in line for line in results.text(2).splitlines())


def test_rows_that_miss_the_stated_error_are_marked(tmp_path):
    rows = rows_of(ssptool.study(STUDY, tmp_path / "all"))
    errors = sorted(row["accuracy"] for row in rows.values() if row["accuracy"] is not None)
    stated = (errors[-2] + errors[-1]) / 2
    results = ssptool.study({**STUDY, "accuracy": stated}, tmp_path / "out")
    assert not results.accuracy.met
    (missed,) = results.accuracy.missed
    assert missed["accuracy"] == pytest.approx(errors[-1])
    assert " !" in results.accuracy.mark(missed)
    page = ssptool.studies.report_study(results).html
    assert f"{stated:g}" in page


def test_checks_are_made_once_and_made_up_for(tmp_path):
    unchecked = ssptool.study({**STUDY, "accuracy": "off"}, tmp_path / "out")
    assert not unchecked.accuracy.checked
    results = ssptool.study(STUDY, tmp_path / "out")
    assert len(results.accuracy.checked) == 3
    before = [path.stat().st_mtime_ns for path in results.runs.iterdir()]
    again = ssptool.study(STUDY, tmp_path / "out")
    assert [path.stat().st_mtime_ns for path in again.runs.iterdir()] == before
    grown = {**STUDY, "factors": {**STUDY["factors"], "System2.k2": [*STIFFNESSES, 60.0]}}
    assert len(ssptool.study(grown, tmp_path / "out").accuracy.checked) == 4


def test_by_default_the_environment_decides(tmp_path, monkeypatch):
    study = {name: value for name, value in STUDY.items() if name != "accuracy"}
    assert not ssptool.study(study, tmp_path / "off").accuracy.checked
    monkeypatch.delenv("SSPTOOL_ACCURACY")
    assert len(ssptool.study(study, tmp_path / "auto").accuracy.checked) == 3


def test_settings_that_vary_are_checked_with_their_own_step(tmp_path):
    factors = {"step": {"setting": "step_size", "values": [0.02, 0.005]}}
    results = ssptool.study({**STUDY, "factors": factors}, tmp_path / "out")
    coarse, fine = (row["accuracy"] for row in results.rows())
    assert coarse / fine == pytest.approx(4, rel=0.3)  # of order 1


def test_what_cannot_be_repeated_says_so(tmp_path):
    system = thermostat.write_system(tmp_path / "system", more='needsExecutionTool="true"')
    factors = {"free": {"free": True, "values": [1, 2]}}
    study = {"system": str(system), "settings": {"stop_time": 20}, "factors": factors}
    study["results"] = {"T": 'final("Room.T")'}
    results = ssptool.study({**study, "accuracy": "auto"}, tmp_path / "out")
    assert results.status.ok
    checked = [row for row in results.rows() if row["accuracy_remark"]]
    assert checked and all(row["accuracy"] is None and "tool" in row["accuracy_remark"] for row in checked)
    assert all("--accuracy" not in row["accuracy_remark"] for row in checked)
    results = ssptool.study({**study, "accuracy": "check"}, tmp_path / "checked")
    assert not any("tool" in row["accuracy_remark"] for row in results.rows())


def test_a_run_that_failed_is_not_checked(misbehaving, tmp_path):
    results = ssptool.study({**study_table(misbehaving(what=(0, 1))), "accuracy": "check"}, tmp_path / "out")
    failed = [row for row in results.rows() if row["status"] == "failed"]
    assert failed and not any(row["accuracy_remark"] for row in failed)


@pytest.mark.parametrize(
    ("settings", "part"),
    [(COARSE, 1 / 2), ({**COARSE, "step_size": 0.1, "master": "iterated", "approximation": "interpolate"}, 3 / 4)],
)
def test_estimates_move_as_far_as_half_the_step_takes_of_the_true_bias(settings, part, tmp_path):
    """Half of it with order 1 in the step, three quarters with order 2."""
    factors = {"System2.k2": {"low": 5, "high": 40}, "System1.c1": {"low": 0.1, "high": 2}}
    fit = ssptool.calibrate({**STUDY, "settings": settings, "factors": factors}, tmp_path / "out", data=measured())
    for name, true in (("System2.k2", 13.0), ("System1.c1", 0.4)):
        place = [one.name for one in fit.estimates].index(name)
        assert fit.verification.moves[place] == pytest.approx(part * (true - fit[name].value), rel=0.15)
    assert fit.verification.error > 0.01
    assert read_fit(tmp_path / "out").verification == fit.verification
    assert f"{fit.verification.moves[0]:+.2g}" in str(fit)


def test_the_minimum_of_a_calibration_is_repeated(tmp_path):
    """With order 1 the result moves by half of its error."""
    factors = {"System2.k2": {"low": 5, "high": 40}}
    values = {"System1.m1": 1.7, "System1.c1": 0.4}
    study = {**STUDY, "factors": factors, "start_values": values, "results": {"end": 'final("System1.x1")'}}
    fit = ssptool.calibrate(study, minimize="end")
    true = exact(fit["System2.k2"].value, np.linspace(0, 4, 401))[-1]
    found = fit.verification
    assert found.after - found.before == pytest.approx((true - found.before) / 2, rel=0.2)


def test_an_optimum_is_repeated_and_says_which_constraint_it_misses(tmp_path):
    study = {
        **STUDY,
        "factors": {"System1.c1": {"low": 0.01, "high": 2}},
        "results": {"damping": "value('System1.c1')", "peak": 'max("System1.x1")'},
        "design": {
            "kind": "optimize",
            "minimize": "damping",
            "constraints": ["peak <= 0.12"],
            "runs": 60,
            "seed": 3,
        },
    }
    results = ssptool.study(study, tmp_path / "out")
    best = results.optimum()
    assert best.best["accuracy_remark"]
    assert "damping is" in best.verified and "peak is" in best.verified
    assert len(results.accuracy.checked) <= 4
    again = ssptool.study(study, tmp_path / "out").optimum()
    assert again.verified == best.verified


def test_the_command_line_tells_by_its_exit_status(tmp_path):
    (tmp_path / "s.toml").write_text(
        f"system = '{OSCILLATOR}'\naccuracy = 1e-9\n[settings]\nstep_size = 0.02\nstop_time = 1\n"
        "[factors]\n'System2.k2' = [5, 10, 20]\n[results]\npeak = 'max(\"System1.x1\")'\n"
    )

    def run():
        command = [sys.executable, "-m", "ssptool", "study", "s.toml", "--allow-outside", OSCILLATOR]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    missed = run()
    assert missed.returncode == 1 and "1e-09" in missed.stdout
    text = (tmp_path / "s.toml").read_text()
    (tmp_path / "s.toml").write_text(text.replace("1e-9", "2"))
    wrong = run()
    assert wrong.returncode == 1 and "s.toml:2" in wrong.stderr


def test_runs_that_no_step_changes_keep_every_error(tmp_path):
    """One FMU alone, a mass that falls: neither a coupling error nor one inside, as model exchange tells."""
    mass = OSCILLATOR.parent / "one_dof_oscillator" / "resources" / "Mass.fmu"
    study = {
        "system": str(mass),
        "settings": {"stop_time": 1, "step_size": 0.1, "implementation": "cs"},
        "factors": {"free": {"free": True, "values": [1, 2]}},
        "results": {"z": 'final("Mass.z")'},
        "accuracy": 1e-6,
    }
    results = ssptool.study(study, tmp_path / "out")
    assert results.accuracy.met and len(results.accuracy.checked) == 2
    assert all(row["accuracy"] < 1e-12 and "inside" not in row["accuracy_remark"] for row in results.rows())
