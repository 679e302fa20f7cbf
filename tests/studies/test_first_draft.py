"""Studies to begin with, and sweeps without a file."""

import importlib
import shutil
import tomllib
from dataclasses import replace

import pytest
from pytest import approx

import ssptool
from ssptool.cli.app import command
from ssptool.errors import WrongValue
from ssptool.network.inventory import VariableEntry
from ssptool.studies.first_draft import StudiedSystem, StudyKind, first_draft, values_from
from tests.engine.dual_mass import RESOURCES

SYSTEM = RESOURCES.parent
PEAK = 'max("System1.x1")'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(SYSTEM, tmp_path / "plant")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["ssptool", *words])
    with pytest.raises(SystemExit) as end:
        command()
    return end.value.code


@pytest.mark.parametrize("kind", [kind for kind in StudyKind if kind is not StudyKind.CALIBRATE])
def test_a_first_draft_is_a_study_that_can_be_run(folder, kind):
    file = ssptool.studies.new_study("plant", f"{kind}.toml", design=kind)
    study = ssptool.studies.read_study(file)
    assert study.system.resolve() == (folder / "plant").resolve() and study.results
    assert {"System1.m1", "System1.k1"} <= {factor.name for factor in study.factors}


def test_ranges_are_around_the_values_of_the_system_and_within_the_limits_of_the_fmu(folder):
    with ssptool.edit("plant") as system:
        system.set({"System1.k1": 8.0})
    factors = tomllib.loads(ssptool.studies.new_study("plant").read_text())["factors"]
    assert factors["System1.k1"] == {"low": approx(6.4), "high": approx(9.6), "count": 3}
    assert "# 8 N/m" in (folder / "plant.toml").read_text()


def test_a_first_calibration_finds_the_value_that_the_measurement_was_made_with(folder):
    truth = {"System1.m1": 1.25, "System1.k1": 8.5}
    ssptool.simulate("plant", start_values=truth, output="measured.csv", stop_time=5)
    file = ssptool.studies.new_study("plant", design="calibrate", data="measured.csv")
    file.write_text(file.read_text().replace("# stop_time = 10", "stop_time = 5"))
    fit = ssptool.calibrate(file)
    assert {one.name: one.value for one in fit.estimates} == approx(truth, rel=1e-4)


def test_a_first_calibration_needs_its_measurement(folder):
    """Without it the study would fail later, and its runs would have no stop time."""
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        ssptool.studies.new_study("plant", design="calibrate", data="nowhere.csv")
    assert not (folder / "plant.toml").exists()


@pytest.mark.parametrize(("last", "stop"), [(5, None), (12.5, 12.5)])
def test_runs_of_a_first_calibration_are_as_long_as_the_measurement(folder, last, stop):
    """The system states 10 s."""
    ssptool.simulate("plant", output="measured.csv", stop_time=last)
    study = ssptool.studies.read_study(ssptool.studies.new_study("plant", design="calibrate", data="measured.csv"))
    assert study.settings.stop_time == stop


def test_a_first_study_has_the_stop_time_that_is_given(folder, monkeypatch):
    """The system states 10 s."""
    assert not ended(monkeypatch, "study", "new", "plant", "--stop-time", "500ms")
    assert ssptool.studies.read_study("plant.toml").settings.stop_time == 0.5


def test_names_with_quotation_marks_stay_valid():
    entry = VariableEntry(
        "A.'k \"1\"'", "A", "'k'", "parameter", "fixed", "Float64", "N/m", -2.0, None, None, None, "line\nbreak"
    )
    output = replace(entry, name="A.'y'", causality="output", start=None)
    text = first_draft(StudiedSystem("é \\ a.ssp", 'B".ssd'), [entry, output], StudyKind.OPTIMIZE, "s.toml")
    table = tomllib.loads(text)
    assert table["factors"] == {entry.name: {"low": -4.0, "high": -1.0}}
    assert table["system"] == "é \\ a.ssp" and table["variant"] == 'B".ssd'
    assert table["results"] == {table["design"]["minimize"]: "max(\"A.'y'\")"}


def test_nothing_to_vary_is_said_so():
    with pytest.raises(WrongValue, match="no parameter"):
        first_draft(StudiedSystem("a.ssp", None), [], StudyKind.GRID, "s.toml")


def test_an_existing_file_stays(folder):
    (folder / "plant.toml").write_text("mine")
    with pytest.raises(FileExistsError, match=r"plant\.toml"):
        ssptool.studies.new_study("plant")
    assert (folder / "plant.toml").read_text() == "mine"


def test_a_sweep_gives_what_single_runs_give(folder):
    found = ssptool.sweep(
        "plant", {"System1.c1": {"low": 0.25, "high": 0.75, "count": 2}}, PEAK, stop_time=1.0, workers=1
    )
    for value, peak in zip(found["System1.c1"], found[PEAK], strict=True):
        alone = ssptool.simulate(
            "plant", start_values={"System1.c1": value}, stop_time=1.0, output=None, accuracy="off"
        )
        assert peak == max(alone["System1.x1"])
    assert list(found["System1.c1"]) == [0.25, 0.75] and found.folder.name == "plant.sweep"


def test_another_sweep_has_a_folder_of_its_own_and_the_same_one_is_kept(folder):
    def swept(name, *values):
        return ssptool.sweep("plant", {name: [0.5, *values]}, PEAK, settings={"stop_time": 0.1}, workers=1)

    first = swept("System1.c1", 2.0)
    assert swept("System1.m1", 2.0).folder.name == "plant-2.sweep"
    assert swept("System1.c1", 2.0).folder == first.folder
    other = swept("System1.c1", 1.5)
    assert other.folder.name == "plant-3.sweep" and other["System1.c1"].tolist() == [0.5, 1.5]
    assert swept("System1.c1", 1.0, 2.0).folder == first.folder
    assert ssptool.studies.study_results(first.folder)["number"].tolist() == [0, 1, 2]


def test_a_sweep_is_checked_once_however_many_folders_there_are(folder, monkeypatch):
    for name in ("System1.c1", "System1.m1"):
        ssptool.sweep("plant", {name: [0.5, 2.0]}, PEAK, settings={"stop_time": 0.1}, workers=1)
    module, calls = importlib.import_module("ssptool.api.study"), []
    check = module.check_study
    monkeypatch.setattr(module, "check_study", lambda *given: calls.append(given) or check(*given))
    found = ssptool.sweep("plant", {"System2.k2": [5.0, 20.0]}, PEAK, settings={"stop_time": 0.1}, workers=1)
    assert found.folder.name == "plant-3.sweep" and len(calls) == 1


def test_a_setting_of_the_run_can_be_swept(folder, monkeypatch, capsys):
    assert ended(monkeypatch, "sweep", "plant", "step_size=0.01,0.02", "--stop-time", "0.1", "--workers", "1") == 0
    told = capsys.readouterr().out
    assert "System2_F_max" in told and "plant.sweep" in told
    assert list(ssptool.studies.study_results("plant.sweep")["step_size"]) == [0.01, 0.02]


@pytest.mark.parametrize("words", [["c"], ["c="], ["c=1:2"], ["c=1:2:x"]])
def test_a_factor_that_cannot_be_read_is_named(folder, monkeypatch, capsys, words):
    assert ended(monkeypatch, "sweep", "plant", *words) == 2
    assert words[0] in capsys.readouterr().err


def test_a_new_study_from_the_command_line(folder, monkeypatch, capsys):
    assert ended(monkeypatch, "study", "new", "plant", "--design", "lhs", "-o", "s.toml") == 0
    assert "ssptool study s.toml" in capsys.readouterr().out
    assert ssptool.studies.read_study("s.toml").design.runs == 50
    assert ended(monkeypatch, "study", "new", "plant", "--design", "spiral") == 2
    assert "saltelli" in capsys.readouterr().err


def variable(kind="Float64"):
    nothing = dict.fromkeys(("unit", "start", "value", "minimum", "maximum"))
    return VariableEntry("A.k", "A", "k", "parameter", "tunable", kind, description="", **nothing)


@pytest.mark.parametrize(
    ("kind", "typed", "values"),
    [
        ("Float64", "5, 10,20", [5, 10, 20]),
        ("Float64", "1e-3", [0.001]),
        ("Int32", "007", [7]),
        ("Boolean", "true, False", [True, False]),
        ("Enumeration", 'hot, "cold"', ["hot", '"cold"']),
        ("String", "5", ["5"]),
        ("Float64", "8 to 12", {"low": 8, "high": 12}),
        ("Float64", "-1e3 to .5 in 5", {"low": -1000, "high": 0.5, "count": 5}),
    ],
)
def test_typed_values_are_those_of_the_file(kind, typed, values):
    assert tomllib.loads(f"k = {values_from(variable(kind), typed)}") == {"k": values}


def test_whole_numbers_stay_whole():
    assert values_from(variable("Int32"), "007, -5, +2") == "[7, -5, 2]"
    assert values_from(variable("Int64"), "9007199254740993") == "[9007199254740993]"


@pytest.mark.parametrize("typed", ["", ",", "12 to 8", "low to high", "nan to 3", "nan", "5, soft", "true"])
def test_typed_values_that_are_none_are_refused(typed):
    with pytest.raises(WrongValue, match=r"A\.k"):
        values_from(variable(), typed)
