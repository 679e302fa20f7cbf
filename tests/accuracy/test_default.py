"""Runs for which nobody states a check: the first one with the same settings is checked, the others say so."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

import ssptool
from tests.accuracy.test_runs import OSCILLATOR, exact_oscillator, true_error

SETTINGS = {"step_size": 0.02, "stop_time": 2, "master": "jacobi", "approximation": "hold"}


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A copy, which no other test has run, and no word on accuracy in the environment."""
    monkeypatch.delenv("SSPTOOL_ACCURACY")
    return shutil.copytree(OSCILLATOR, tmp_path / "oscillator")


def simulate(system, mass, **options):
    return ssptool.simulate(system, start_values={"System1.m1": mass}, **{**SETTINGS, **options})


def test_the_first_run_of_a_loop_is_checked_and_the_others_state_its_error(system, tmp_path):
    first, *others = (simulate(system, mass, output=tmp_path / f"{mass}.csv") for mass in (1.7, 1.8, 2.9))
    true = true_error(first, exact_oscillator(first.t, m1=1.7))
    assert true / 3 <= first.accuracy.error <= 3 * true
    for other in others:
        assert other.accuracy.error is None and str(first.accuracy) in other.accuracy.remark
    assert str(first.accuracy) in json.loads((tmp_path / "2.9.csv.json").read_text())["accuracy"]["remark"]


def test_other_settings_and_changed_systems_are_checked_again(system):
    coarse, fine = simulate(system, 1.7), simulate(system, 1.7, step_size=0.01)
    assert coarse.accuracy.error / fine.accuracy.error == pytest.approx(2, rel=0.3)  # order 1
    assert simulate(system, 1.7, record="*.x1").accuracy.error is not None
    assert simulate(system, 1.7).accuracy.error is None
    document = system / "SystemStructure.ssd"
    document.write_text(document.read_text() + "\n")
    assert simulate(system, 1.7).accuracy.error is not None


def test_a_package_is_known_by_its_file(system, tmp_path):
    package = shutil.make_archive(str(tmp_path / "packed"), "zip", system)
    package = shutil.move(package, tmp_path / "packed.ssp")
    assert simulate(package, 1.7).accuracy.error is not None
    assert simulate(package, 1.8).accuracy.error is None


def test_a_check_that_is_asked_for_is_made_each_time(system):
    errors = [simulate(system, mass, accuracy="check").accuracy.error for mass in (1.7, 2.9)]
    assert errors[0] != errors[1]


def test_a_settings_file_states_the_check_of_all_runs(system, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ssptool.toml").write_text('accuracy = "off"\n')
    assert not simulate(system, 1.7).accuracy.asked
    assert simulate(system, 1.7, settings_file=False).accuracy.error is not None
    (tmp_path / "ssptool.toml").write_text("accuracy = 1e-3\n")
    assert simulate(system, 1.7).accuracy.met
    (tmp_path / "ssptool.toml").write_text("accuracy = 1\n")
    with pytest.raises(ssptool.exceptions.InvalidSettings, match="accuracy is 1"):
        simulate(system, 1.7)


def test_the_environment_states_it_for_all_without_a_settings_file(system, monkeypatch):
    monkeypatch.setenv("SSPTOOL_ACCURACY", "off")
    assert not simulate(system, 1.7).accuracy.asked
    monkeypatch.setenv("SSPTOOL_ACCURACY", "maybe")
    with pytest.raises(ssptool.exceptions.WrongArgument, match=r"SSPTOOL_ACCURACY.*'maybe'"):
        simulate(system, 1.7)


def test_the_command_line_checks_by_default(system, tmp_path):
    def lines(**environment):
        command = [sys.executable, "-m", "ssptool", "run", system, "--stop-time", "0.5", "--output", tmp_path / "r.csv"]
        environment = {**os.environ, **environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()

    assert any(line.startswith("accuracy ") and "coupling error" in line for line in lines())
    assert "accuracy  not checked" in lines(SSPTOOL_ACCURACY="off")


def test_functions_and_a_clock_are_not_repeated(system):
    timed = simulate(system, 1.7, stop_time=0.1, realtime=10)
    assert timed.accuracy.error is None and "clock" in timed.accuracy.remark
    assert simulate(system, 1.7, stop_time=0.1).accuracy.error is not None


def in_tools(system):
    """The system with FMUs that say that they need their tool."""
    for fmu in (system / "resources").glob("*.fmu"):
        with zipfile.ZipFile(fmu) as old:
            entries = {name: old.read(name) for name in old.namelist()}
        description = entries["modelDescription.xml"].replace(
            b"<CoSimulation", b'<CoSimulation needsExecutionTool="true"'
        )
        with zipfile.ZipFile(fmu, "w") as new:
            for name, content in {**entries, "modelDescription.xml": description}.items():
                new.writestr(name, content)
    return system


def test_runs_in_tools_are_checked_if_that_is_asked_for(system):
    in_tools(system)
    start = simulate(system, 1.7)
    assert start.accuracy.error is None and "--accuracy check" in str(start.accuracy)
    checked = simulate(system, 1.7, accuracy="check")
    true = true_error(checked, exact_oscillator(checked.t, m1=1.7))
    assert true / 3 <= checked.accuracy.error <= 3 * true
    wanted = {**SETTINGS, "step_size": None, "accuracy": 1e-2}
    found = ssptool.simulate(system, start_values={"System1.m1": 1.7}, **wanted)
    assert found.accuracy.met
    assert true_error(found, exact_oscillator(found.t, m1=1.7)) <= 3e-2
