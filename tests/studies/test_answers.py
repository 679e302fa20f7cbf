"""Answers at the end of studies: extremes, ranks, enough runs, best runs, and commands that can be pasted."""

import json
import re
import shlex
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.cli import main
from ssptool.studies.designs import Range
from ssptool.studies.enough_runs import INDEX_TOLERANCE, too_few_runs
from ssptool.studies.sensitivity import Morris, Saltelli, sensitivity
from tests.fmus import build as fmus
from tests.studies.test_sensitivity import FIRST, SOURCES, TOTAL, ishigami

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR, MASS = SYSTEMS / "dual_mass_oscillator", SYSTEMS / "one_dof_oscillator"


def judged(design, function=ishigami, sources=SOURCES):
    found = sensitivity(design, list(sources), "y", function(design.columns(sources, {})))
    return found, too_few_runs(design, found)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_advised_number_of_runs_gives_indices_to_the_tolerance(seed):
    """From 16 points up, as advised, until nothing is said: the indices of the Ishigami function are known then."""
    runs, used = 16, []
    while True:
        found, few = judged(Saltelli(runs, seed))
        used.append(runs)
        if few is None:
            break
        assert few.key == "runs" and few.wanted > runs and few.runs == 5 * few.wanted
        runs = few.wanted
    assert 1 < len(used) <= 4
    for name, exact in (("S1", FIRST), ("ST", TOTAL)):
        for one, truth in zip(found.measures[name], exact, strict=True):
            assert one.high - one.low <= 2 * INDEX_TOLERANCE
            assert one.value == pytest.approx(truth, abs=INDEX_TOLERANCE)
    assert found.ranking == (0, 1, 2)  # ST: 0.56, 0.44, 0.24
    assert [found.ranks(place) for place in range(3)] == [(1, 1), (2, 2), (3, 3)]


def test_ranks_of_few_runs_are_ranges_that_hold_the_true_rank():
    found, few = judged(Saltelli(32, 1))
    assert few is not None
    assert all(low <= true <= high for true, (low, high) in enumerate(map(found.ranks, range(3)), 1))
    assert any(low < high for low, high in map(found.ranks, range(3)))


def test_intervals_that_are_narrow_enough_and_overlap_between_equal_factors_are_enough():
    """y = a + b on equal ranges: no number of runs ranks them, and both indices are 0.5."""
    sources = {"a": Range(0.0, 1.0), "b": Range(3.0, 4.0)}

    def total(columns):
        return np.array(columns["a"]) + np.array(columns["b"])

    found, few = judged(Saltelli(2048, 1), total, sources)
    assert few is None and found.ranks(0) == found.ranks(1) == (1, 2)
    assert [one.value for one in found.measures["ST"]] == pytest.approx([0.5, 0.5], abs=0.02)


def test_trajectories_of_a_linear_function_are_enough_and_those_of_a_product_are_not():
    sources = {"a": Range(0.0, 1.0), "b": Range(0.0, 1.0)}
    linear, few = judged(Morris(4, 1), lambda columns: 3 * np.array(columns["a"]) - 5 * np.array(columns["b"]), sources)
    assert few is None and [linear.factors[place] for place in linear.ranking] == ["b", "a"]
    _, few = judged(Morris(4, 1), lambda columns: np.array(columns["a"]) * np.array(columns["b"]), sources)
    assert few is not None and few.key == "trajectories" and few.runs == 3 * few.wanted


SPRING = {
    "system": str(MASS),
    "settings": {"step_size": "2ms", "stop_time": 0.31},
    "results": {"speed": 'max("Mass.v")', "same": "4.5"},
}


def facts(results):
    return json.loads(ssptool.renderers.STUDY_RENDERERS["json"](results))


def test_extremes_of_a_grid_are_those_of_the_closed_form(tmp_path):
    """The largest speed of an undamped oscillator is z √(k/m)."""
    factors = {"Mass.m": [0.02, 0.05], "SpringDamper.k": [20.0, 120.0], "Mass.z": {"values": [1.5, 3], "unit": "mm"}}
    units = {"mm": {"m": 1, "factor": 1e-3}}
    found = ssptool.study({**SPRING, "factors": factors, "units": units}, tmp_path / "grid.study", workers=1)
    answer = facts(found)["results"]["speed"]
    assert answer["min"]["factors"] == {"Mass.m": 0.05, "SpringDamper.k": 20.0, "Mass.z": 1.5}
    assert answer["max"]["factors"] == {"Mass.m": 0.02, "SpringDamper.k": 120.0, "Mass.z": 3}
    assert answer["min"]["results"]["speed"] == pytest.approx(0.0015 * sqrt(20 / 0.05), rel=5e-3)
    assert answer["max"]["results"]["speed"] == pytest.approx(0.003 * sqrt(120 / 0.02), rel=5e-3)
    text = str(found)
    assert f"{answer['max']['results']['speed']:.6g}" in text
    assert re.search(r"same +always +4.5\n", text)


def pasted(command, monkeypatch, capsys):
    """Exit status and output of a command as a shell reads it."""
    words = shlex.split(command, comments=True)
    assert words[0] == "ssptool"
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as ended:
        main.main()
    return ended.value.code or 0, capsys.readouterr().out


BEST = """
system = "{system}"

[start_values]
"System1.m1" = 1.5

[settings]
step_size = 0.02
stop_time = 3

[factors]
"System1.c1" = {{low = 0.01, high = 1.5, unit = "N.s/m"}}
k = {{free = true, low = 8, high = 40}}
"System2.k2" = "1.25 * k + 1"

[results]
peak = 'max("System1.x1")'
damping = "value('System1.c1')"

[design]
kind = "optimize"
minimize = "damping"
constraints = ["peak <= 0.16", "k > 2"]
runs = 60
seed = 1
"""


def test_the_command_for_the_best_run_gives_its_result(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("best.toml").write_text(BEST.format(system=OSCILLATOR), encoding="utf-8")
    found = ssptool.study("best.toml", workers=1, allow_outside=OSCILLATOR)
    answer = facts(found)
    (best,) = answer["optimum"]["front"]
    sides = best["constraints"]["peak <= 0.16"]
    assert sides == {"smaller": best["results"]["peak"], "larger": 0.16}
    assert best["constraints"]["k > 2"] == {"smaller": 2.0, "larger": best["factors"]["k"]}
    (command,) = (line for line in answer["next"] if line.startswith("ssptool run"))
    assert pasted(command, monkeypatch, capsys)[0] == 0
    trace = ssptool.read_trace("dual_mass_oscillator.csv")
    assert trace["System1.x1"].max() == pytest.approx(best["results"]["peak"], rel=1e-6)
    assert trace.t[-1] == 3.0 and "ssptool run" in str(found)


def test_commands_that_follow_can_be_pasted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = """
system = "{system}"
[settings]
step_size = 0.05
stop_time = 0.5
[factors]
"System1.c1" = {{low = 0.01, high = 2}}
"System2.k2" = {{low = 8, high = 40, scale = "log"}}
[results]
peak = 'max("System1.x1")'
[design]
kind = "morris"
trajectories = 3
seed = 1
"""
    Path("my screening.toml").write_text(text.format(system=OSCILLATOR), encoding="utf-8")
    command = f"ssptool study 'my screening.toml' --workers 1 --allow-outside {OSCILLATOR}"
    assert pasted(command, monkeypatch, capsys)[0] == 0
    answer = facts(ssptool.studies.study_results("my screening.study"))
    wanted = answer["sensitivities"][0]["too_few_runs"]["wanted"]
    more = text.replace("trajectories = 3", f"trajectories = {wanted}")
    Path("my screening.toml").write_text(more.format(system=OSCILLATOR), encoding="utf-8")
    assert len(answer["next"]) == 3
    for command in answer["next"]:
        assert pasted(command, monkeypatch, capsys)[0] == 0
    assert facts(ssptool.studies.study_results("my screening.study"))["runs"] > answer["runs"]


def test_answers_as_json_and_failures(misbehaving, tmp_path, monkeypatch, capsys):
    study = misbehaving([fmus.NOTHING, fmus.NOT_A_NUMBER], values=[1.0, 2.0])
    found = ssptool.study(study, tmp_path / "bad.study", workers=1)
    answer = facts(found)
    assert (answer["completed"], answer["failed"]) == (found.status.completed, found.status.failed)
    assert sum(one["runs"] for one in answer["failures"]) == answer["failed"] > 0
    assert f"ssptool study resume {found.folder} --retry-failed" in answer["next"]
    status, out = pasted(f"ssptool study results {found.folder} --format json", monkeypatch, capsys)
    assert status == 0 and json.loads(out) == answer


def test_what_was_calibrated_is_printed_with_its_residual_and_the_run_of_it(tmp_path, monkeypatch, capsys):
    """Data of the model itself: nothing is left of the residuals, and the command gives the data again."""
    monkeypatch.chdir(tmp_path)
    settings = {"step_size": 0.02, "stop_time": 2.0}
    values = {"System1.c1": 0.27, "System2.k2": 13.0}
    ssptool.simulate(
        OSCILLATOR, **settings, start_values=values, record="System1.x1", output="data.csv", accuracy="off"
    )
    factors = {"System1.c1": {"low": 0.1, "high": 0.5}, "System2.k2": {"low": 5, "high": 20}}
    study = {"system": str(OSCILLATOR), "settings": settings, "factors": factors}
    fit = ssptool.calibrate(study, tmp_path / "fit.study", data="data.csv", workers=1)
    answer = json.loads(ssptool.renderers.FIT_RENDERERS["json"](fit))
    assert {one["name"]: one["value"] for one in answer["estimates"]} == pytest.approx(values, rel=1e-4)
    assert fit.residual_rms < 1e-4 and f"{fit.residual_rms:.3g}" in str(fit)
    for command in answer["next"]:
        assert pasted(command, monkeypatch, capsys)[0] == 0
        assert command in str(fit)
    found, data = ssptool.read_trace("dual_mass_oscillator.csv"), ssptool.read_trace("data.csv")
    assert found["System1.x1"] == pytest.approx(data["System1.x1"], abs=1e-5)
