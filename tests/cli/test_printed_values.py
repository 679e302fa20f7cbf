"""`str` of what a function of the API returns is what the command of that name prints."""

import re
import shutil
from pathlib import Path

import pytest

import ssptool as api

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR, FLYBALL = SYSTEMS / "dual_mass_oscillator", SYSTEMS / "flyball_governor"
SHORT = {"stop_time": 0.1, "step_size": 0.05, "master": "jacobi"}


@pytest.mark.parametrize(
    ("command", "value"),
    [
        (("validate", OSCILLATOR), lambda: api.validate(OSCILLATOR)),
        (("validate", FLYBALL), lambda: api.validate(FLYBALL)),
        (("info", OSCILLATOR), lambda: api.info(OSCILLATOR)),
        (("info", OSCILLATOR, "System1"), lambda: api.info(OSCILLATOR, component="System1")),
        (
            ("explain", OSCILLATOR, "System1.m1", "System1.F"),
            lambda: api.explain(OSCILLATOR, "System1.m1", "System1.F"),
        ),
        (("explain", OSCILLATOR, "System1.F"), lambda: api.explain(OSCILLATOR, "System1.F")[0]),
        (("explain", FLYBALL, "--all"), lambda: api.explain(FLYBALL)),
        (("graph", OSCILLATOR), lambda: api.graph(OSCILLATOR)),
        (("plan", OSCILLATOR, "--master", "jacobi"), lambda: api.plan(OSCILLATOR, master="jacobi")),
        (("diff", OSCILLATOR, FLYBALL), lambda: api.diff(OSCILLATOR, FLYBALL)),
    ],
)
def test_the_text_of_a_value_is_what_its_command_prints(ssptool, command, value):
    _, out, err = ssptool(*command)
    assert err == ""
    assert str(value()) == out.rstrip("\n")


def test_the_text_of_a_parameter_that_matches_nothing_names_it_and_its_place(tmp_path):
    shutil.copytree(OSCILLATOR, tmp_path / "plant")
    file = tmp_path / "plant/resources/dual_mass_oscillator.ssv"
    file.write_text(file.read_text(encoding="utf-8").replace('"System1.m1"', '"System1.mm1"'), encoding="utf-8")
    (unmatched,) = api.explain(tmp_path / "plant", "System1.mm1")
    assert "System1.mm1" in str(unmatched)
    assert "dual_mass_oscillator.ssv:7" in str(unmatched)


def test_the_text_of_a_comparison_and_of_a_reproduction(ssptool, tmp_path):
    for name, step in {"fine.csv": 0.01, "coarse.csv": 0.05}.items():
        api.simulate(OSCILLATOR, output=tmp_path / name, **{**SHORT, "step_size": step})
    fine, coarse = tmp_path / "fine.csv", tmp_path / "coarse.csv"
    assert str(api.compare(coarse, fine)) == ssptool("compare", coarse, fine)[1].rstrip("\n")
    assert str(api.reproduce(coarse)) == ssptool("reproduce", coarse)[1].rstrip("\n")


def test_the_text_of_a_run(ssptool, tmp_path):
    def timeless(text):
        return re.sub(r"completed in .*", "completed", text.rstrip("\n"))

    file = tmp_path / "run.csv"
    printed = ssptool("run", OSCILLATOR, "--stop-time", "0.1", "--output", file)[1]
    file.unlink()
    result = api.simulate(OSCILLATOR, stop_time=0.1, output=file, accuracy="off")
    assert timeless(str(result)) == timeless(printed) and "run.csv" in printed
    assert "DualMassOscillator" in str(api.report(file)) and "<html" not in repr(api.report(file))


def test_the_text_of_the_results_of_a_study(ssptool, tmp_path):
    folder = tmp_path / "springs.study"
    factors, results = {"System2.k2": {"values": [5.0, 10.0, 15.0]}}, {"peak": 'max("System1.x1")'}
    study = {"system": str(OSCILLATOR), "settings": SHORT, "factors": factors, "results": results}
    found = api.study({**study, "accuracy": "check"}, folder)
    table, _, answer = ssptool("study", "results", folder)[1].rstrip("\n").partition("\n\n")
    assert str(found) == answer == ssptool("study", "resume", folder)[1].rstrip("\n")
    assert found.text(20) == f"{table}\n\n{answer}"
    assert str(found.accuracy) in answer and found.ok
    assert "SYSTEM2.k2" in found and list(found["SYSTEM2.k2"]) == [5.0, 10.0, 15.0]
    for file in found.runs.glob("*"):
        file.unlink()
    assert str(found) == f"{folder}: no run has finished yet"
