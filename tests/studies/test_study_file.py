"""What is wrong with a study file is told all at once, with its line."""

import math
import re
from dataclasses import fields

import pytest

import ssptool
from ssptool.engine.settings import Kind
from ssptool.exceptions import BadData
from ssptool.studies import prepared, read_study
from ssptool.studies.definition import make_points
from ssptool.studies.designs import Levels, Range
from ssptool.studies.prepared import configuration, settings_of
from ssptool.studies.study_file import key_lines, study_from, study_table
from tests.studies.conftest import OSCILLATOR


@pytest.fixture
def findings(tmp_path):
    """(line, key, message) of everything that is wrong with a text, with the system on its first line."""

    def find(text):
        path = tmp_path / "study.toml"
        path.write_text(f'system = "{OSCILLATOR}"\n{text}', encoding="utf-8")
        with pytest.raises(BadData) as caught:
            ssptool.study(path, tmp_path / "results")
        assert not (tmp_path / "results").exists()
        return [(found.line, found.column, found.message) for found in caught.value.findings]

    return find


def test_a_study_is_what_its_file_says(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        f'system = "{OSCILLATOR}"\n[factors]\n"System2.k2" = [1, 2.5]\n'
        'c = {variable = "System1.c1", low = 0, high = 1}'
        "\n[results]\npeak = 'max(\"System1.x1\")'\n",
        encoding="utf-8",
    )
    study = read_study(path)
    assert study.name == "study" and study.system == OSCILLATOR
    assert study.factor("System2.k2").source == Levels((1.0, 2.5))
    assert study.factor("c").sets == ("System1.c1",)
    assert study.factor("c").source == Range(0.0, 1.0)


def test_everything_is_found_at_once_with_its_line(findings):
    found = findings(
        "[settings]\n"
        "step_sise = 0.1\n"
        'master = "jacoby"\n'
        "[factors]\n"
        "a = {low = 3, high = 1}\n"
        'b = {distribution = "gauss"}\n'
        'c = {values = [1, "x"]}\n'
        'd = "1 +"\n'
        "[design]\n"
        'kind = "sobol"\n'
        "runs = 0\n"
        "[results]\n"
        'x = "y z"\n'
        "y = 'max(\"System1.x11\") + a'\n"
    )
    assert {(line, key) for line, key, _ in found} == {
        (3, "settings.step_sise"),
        (4, "settings.master"),
        (6, "factors.a.high"),
        (7, "factors.b.distribution"),
        (8, "factors.c.values"),
        (9, "factors.d.expression"),
        (10, "design"),
        (12, "design.runs"),
        (14, "results.x"),
        (15, "results.y"),
    }
    messages = " ".join(message for _, _, message in found)
    assert "step_size" in messages and "jacobi" in messages and "lognormal" in messages


@pytest.mark.parametrize("text", ["System2.k2,n\n2.5,1\n5,2\n", "sep=;\nSystem2.k2;n\n2,5;1\n5;2\n"])
def test_points_of_a_study_come_from_the_file_of_any_spreadsheet(tmp_path, text):
    (tmp_path / "points.csv").write_text(text)
    path = tmp_path / "study.toml"
    path.write_text(f'system = "{OSCILLATOR}"\n[design]\nkind = "table"\nfile = "points.csv"\n', encoding="utf-8")
    assert dict(read_study(path).design.values) == {"System2.k2": [2.5, 5.0], "n": [1, 2]}


def test_unknown_names_come_with_near_ones(findings):
    found = findings(
        '[factors]\n"System2.k22" = [1.0]\nx = {variable = "System1.c1", values = [0.1]}\n'
        '[results]\npeak = \'max("System1.x11")\'\nq = "peek + 1"\nr = \'maxx("System1.x1")\'\n'
    )
    assert {line for line, _, _ in found} == {3, 6, 7, 8}
    messages = {line: message for line, _, message in found}
    assert "System2.k2" in messages[3]
    assert "System1.x1" in messages[6]
    assert "peak" in messages[7]
    assert "max" in messages[8]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[factors]\n"System1.m1" = ["heavy"]', 3, "a number"),
        ('[factors]\n"System1.x1" = [1.0]', 3, "calculates"),
        ('[factors]\nm = {variable = "System1.m1", values = [1.0], unit = "s"}', 3, "cannot be converted|not known"),
        ('[factors]\nm = {variable = "System1.m1", values = [1.0], unit = "stone"}', 3, "not known"),
        ('[factors]\n"System1.m1" = {low = 1, high = 2, count = 100000000}', 1, "runs"),
        ('[factors]\n"System1.m1" = {distribution = "normal", mean = 1, std = 1}', 3, "grid"),
        ('[factors]\nv = {variant = true, values = ["Nothing"]}', 1, "FMI3"),
        ('[factors]\nf = {fmu = "System1", values = ["missing.fmu"]}', 2, "missing.fmu"),
        ('[factors]\ns = {setting = "step_size", values = [-0.1]}', 2, "step"),
        ('[factors]\na = "b"\nb = "a"\n', 3, "need each other"),
        ('[factors]\nstatus = [1.0]', 3, "column"),
        ('[factors]\na = {variable="System1.m1", values=[1]}\nb = {variable="System1.m1", values=[1]}', 4, "set by"),
        ('[design]\nkind = "sobol"\nruns = 10\nseed = 1\n[factors]\n"System1.m1" = [1.0]', 4, "power of 2"),
        ('[design]\nkind = "latin-hypercube"\nruns = 10\n', 2, "seed"),
        ('[design]\nkind = "table"\nfile = "no.csv"', 4, "cannot be read"),
        ('[design]\nkind = "spiral"', 3, "one-at-a-time"),
        ("[traces]\nsignals = ['System3.*']", 3, "System3"),
        ("[traces]\noutput_step = -0.5", 3, "greater than 0"),
        ("[start_values]\n'System1.m11' = 3", 3, "System1.m1"),
        ("parameters = ['no.ssv']", 2, "does not exist"),
        ("steps = 3", 2, "no key of a study"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_the_first_run(findings, text, line, words):
    found = findings(text)
    assert any(re.search(words, message) for _, _, message in found), found
    assert any(abs(at - line) <= 1 for at, _, _ in found), found


def test_a_file_that_is_no_toml_says_where(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("a = 1\nb = = 2\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"study\.toml:2"):
        read_study(path)


def test_lines_of_keys_are_found_in_all_ways_to_write_them():
    lines = key_lines('a = 1\n[t]\nb.c = 2\n"d e" = 3\n[t."x.y"]\nz = [\n 1,\n]\n# q = 1\n')
    assert lines[("a",)] == 1
    assert lines[("t",)] == 2
    assert lines[("t", "b", "c")] == 3
    assert lines[("t", "d e")] == 4
    assert lines[("t", "x.y", "z")] == 6
    assert ("t", "x.y", "q") not in lines


def test_every_setting_of_a_run_has_a_type_in_studies():
    """So that one that is new is not read as something else."""
    assert set(Kind) == set(prepared._READERS)
    assert sorted((*prepared.SETTINGS, *prepared.LOGS)) == sorted(one.name for one in fields(ssptool.Settings))


def test_settings_are_fixed_or_varied():
    bonds = [["System1.v1", "System2.F"], "System2.v, System1.F"]
    study = study_from(
        {
            "system": str(OSCILLATOR),
            "settings": {"power_bonds": bonds, "substeps": {"System1": 2}, "adaptive": 1e-3, "threads": 2},
            "factors": {
                "n": {"setting": "substeps.System2", "values": [1, 4]},
                "tight": {"setting": "convergence.absolute", "values": [1e-3, 1e-6]},
                "bond": {"setting": "power_bonds", "values": ["System1.v1,System2.F", "a.v,b.F; c.v,d.F"]},
                "integrator": {"setting": "integrator", "values": ["bdf", "adams"]},
            },
        }
    )
    assert study.settings.power_bonds == (("System1.v1", "System2.F"), ("System2.v", "System1.F"))
    points = make_points(study, {})
    last = settings_of(study, configuration(study, points.at(len(points) - 1)))
    assert last.substeps == {"System1": 2, "System2": 4} and last.convergence == {"absolute": 1e-6}
    assert last.power_bonds == (("a.v", "b.F"), ("c.v", "d.F")) and last.integrator == "adams"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[settings]\npower_bonds = ["System1.v1"]', "two names of signals"),
        ('[settings]\nlog_loops = "x.csv"', "runs would all write it"),
        ('[settings]\nfmu_log_level = "warning"', "name the file"),
        ('[settings]\nfmu_log = "x.csv"\nfmu_log_level = "loud"', "one of ok, warning"),
        ('[factors]\nl = {setting = "fmu_log", values = ["x.csv", "y.csv"]}', "cannot be varied"),
        ('[settings]\nsubsteps = {System1 = "two"}', "whole number"),
        ('[settings]\ntolerance = "tight"', "expected a number"),
        ('[factors]\ns = {setting = "stepsize", values = [0.1]}', "did you mean step_size"),
        ('[factors]\ns = {setting = "substeps", values = [2]}', "substeps.System1"),
        ('[factors]\ns = {setting = "step_size", values = ["fast"]}', "such as 10 or 1ms; found 'fast'"),
        ('[factors]\ns = {setting = "threads", values = [1.5]}', "whole number"),
        ('[factors]\ns = {setting = "master", values = ["jacobi", "jacoby"]}', "jacoby"),
        ('[factors]\ns = {setting = "power_bonds", values = ["System1.v1"]}', "two names of signals"),
    ],
)
def test_settings_that_are_none_are_refused(findings, text, words):
    found = findings(text)
    assert any(words in message for _, _, message in found), found


def test_values_are_checked_in_every_configuration(findings, monkeypatch):
    """Of a hundred step sizes the last is wrong, and m1 in a third of the runs."""
    # How many are planned before the first run depends on the speed of the machine by default.
    monkeypatch.setattr("ssptool.studies.checking.CHECK_SECONDS", math.inf)
    sizes = ", ".join(repr(10 / (1000 + k)) for k in range(99))
    found = findings(
        f'[factors]\nh = {{setting = "step_size", values = [{sizes}, -0.1]}}\n"System1.m1" = [1, 2, inf]\n'
    )
    assert {(line, key) for line, key, _ in found} == {(3, "factors.h"), (4, "factors.System1.m1")}
    assert len(found) == 2 and any("step_size = -0.1" in message for _, _, message in found)


def test_a_setting_that_is_no_number_of_its_kind_is_found_however_little_time_a_check_has(findings, monkeypatch):
    """Only the first of two hundred configurations is planned; the wrong value is the last."""
    monkeypatch.setattr("ssptool.studies.checking.CHECK_SECONDS", 0.0)
    threads = ", ".join(map(str, range(1, 101)))
    found = findings(
        '[factors]\nh = {setting = "step_size", values = [0.1, 0.2]}\n'
        f'n = {{setting = "threads", values = [{threads}, 1.5]}}\n'
    )
    assert [(line, key) for line, key, _ in found] == [(4, "factors.n")]


def test_messages_of_fmus_go_to_a_file_for_each_run(tmp_path):
    """Level and categories are stated for all components or by component; the table of a study gives it again."""
    (tmp_path / "study.toml").write_text(
        f'system = "{OSCILLATOR}"\n[settings]\nfmu_log = "fmu.csv"\nfmu_log_level = "warning"\n'
        'fmu_log_categories = {System1 = ["logEvents"]}\n[factors]\n"System1.m1" = [1.0, 2.0]\n',
        encoding="utf-8",
    )
    settings = read_study(tmp_path / "study.toml").settings
    assert settings.fmu_log == tmp_path / "fmu.csv"
    assert settings.fmu_log_level == {"*": "warning"} and settings.fmu_log_categories == {"System1": ("logEvents",)}
    assert prepared.fmu_log_of_run(settings, 17).fmu_log == tmp_path / "fmu-17.csv"
    again = study_from(study_table(read_study(tmp_path / "study.toml")))
    assert again.settings == settings
